"""Objectives, losses, measures and what an adversary learns, as a problem file describes them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from dxopt.analysis.held_out import Observed, observed
from dxopt.model.loss import LOSS_NAMES
from dxopt.model.objective import ExpectedLoss, WorstLoss, WorstRegret
from dxopt.results.measures import MEASURES, Beliefs
from dxopt.spaces.geo.points import known as positions_on_earth
from dxopt.spaces.naming import NotOnePoint
from dxopt.spaces.space import MetricSpace
from dxopt.spec import fields as f
from dxopt.spec.fields import bad
from dxopt.spec.levels import MAX_FAMILY, RisingRange
from dxopt.spec.locations import point_named
from dxopt.spec.source import FieldPath, Source, stem
from dxopt.spec.tables import Table, columns_of
from dxopt.studies.questions import LossFrontier

_PLAIN = (ExpectedLoss.name, WorstLoss.name, WorstRegret.name)

_UNIT = "What the losses are in, such as EUR; for texts alone."


class MatrixFile(f.MatrixCsv):
    """A matrix of losses from a file."""

    kind: Literal["matrix"] = Field(description="A matrix of losses.")
    file: f.File = Field(
        description="CSV file: a row per secret, a column per report or guess. Names in its first line, its first "
        "column or both are to be their labels, in the same order; they become those of reports that have none."
    )
    unit: f.Unit | None = Field(None, description=_UNIT)


class MatrixValues(f.Section):
    """A matrix of losses written out."""

    kind: Literal["matrix"] = Field(description="A matrix of losses.")
    values: f.Rows[f.Extended] = Field(
        description="A row per secret, a column per report or guess; `inf` is allowed where a loss may be infinite."
    )
    unit: f.Unit | None = Field(None, description=_UNIT)


class Beyond(f.Section):
    """A miss: 1 where a report is further from the secret than a distance, and 0 otherwise."""

    kind: Literal["beyond"] = Field(description="Whether the report is further away than a distance.")
    distance: f.NonNegative = Field(
        description="α, in the unit of the space: the loss is 1 beyond it, and the expected one a probability."
    )


Loss = Annotated[
    Annotated[str, f.OneOf(LOSS_NAMES, " or give a mapping with kind: matrix")] | Beyond | MatrixFile | MatrixValues,
    f.Kinds(),
]


class LeastLoss(f.Section):
    """Little loss, as expected or in the worst case, or little regret."""

    kind: Literal["expected_loss", "worst_loss", "regret"] = Field(
        description="Which loss is to be least; the regret is about a hull of priors."
    )


class Budgets(RisingRange):
    """The largest error at every loss budget of a range."""

    # a concave curve is proven to a share of its rise by about as many solves as the root of the inverse
    resolution: Annotated[float, Field(ge=1 / MAX_FAMILY**2, lt=1), f.Written()] = Field(
        description="How closely the error is proven, as a share of its whole rise."
    )

    @property
    def sweep(self) -> LossFrontier:
        """The question that this range asks, answered by many solves."""
        return LossFrontier(self.start, self.to, self.resolution)


Budget = Annotated[f.Number | Budgets, f.Shapes()]


class AdversaryError(f.Section):
    """An adversary who errs much, where the expected loss is bounded."""

    kind: Literal["adversary_error"] = Field(
        description="The expected error of an adversary who knows the prior is to be largest."
    )
    max_loss: Budget = Field(
        description="The most that the expected loss may be; {from, to, resolution} asks for a frontier."
    )
    adversary_loss: Loss = Field("distance", description="What a guess costs the adversary.")

    @property
    def budget(self) -> float:
        """The loss budget; of a range the smallest one, at which the first problem of a sweep is."""
        return self.max_loss.start if isinstance(self.max_loss, Budgets) else self.max_loss


Objective = Annotated[
    Annotated[str, f.OneOf(_PLAIN, ", or give {kind: adversary_error, max_loss: ...}")] | LeastLoss | AdversaryError,
    f.Kinds(),
]


class HeldOut(f.CsvDialect):
    """Data that the prior was not made of."""

    file: f.File = Field(description="CSV file with a header line and one row per observation.")
    columns: f.Columns | None = Field(
        None,
        description="Columns that hold the coordinates, which count for the nearest point; (lat, lon) on the Earth.",
    )
    label: f.Text | None = Field(None, description="Instead of columns: the column that holds the label of a point.")
    weight: f.Text | None = Field(None, description="Column that holds how much each counts; 1 by default.")
    count: f.Text | None = Field(None, description="Column that holds how many observations a row stands for.")
    within: f.Positive | None = Field(None, description="What is further than this from all points is outside.")
    positions: bool = Field(
        False,
        description="Also the loss between the positions themselves and the reports, which is not proven again, as "
        "positions are not saved.",
    )
    name: f.Title | None = Field(None, description="What the data are called; the name of the file by default.")

    @model_validator(mode="after")
    def _require_columns_or_label(self) -> Self:
        if self.columns is None and self.label is None:
            raise bad("is missing", "add columns or label", "columns")
        if self.columns is not None and self.label is not None:
            raise bad("is given beside columns", "keep one of the two", "label")
        if self.label is not None and self.positions:
            raise bad("goes with columns only", "leave it out", "positions")
        return self

    @property
    def title(self) -> str:
        """The name of the data, by default that of their file."""
        return self.name or stem(Path(self.file))


Entry = Annotated[
    Annotated[str, f.OneOf(tuple(MEASURES), ", or give {file: ..., columns: [...]}")] | HeldOut, f.Shapes()
]
Evaluate = Annotated[HeldOut | list[Entry], f.Shapes()]


def placed_entries(asked: HeldOut | list[str | HeldOut]) -> Iterator[tuple[FieldPath, str | HeldOut]]:
    """Yield each entry of `evaluate` with its path below that key, which is empty for a single mapping."""
    if isinstance(asked, HeldOut):
        yield (), asked
        return
    for index, entry in enumerate(asked):
        yield (index,), entry


def build_held_out(
    source: Source, asked: HeldOut | list[str | HeldOut], space: MetricSpace
) -> tuple[tuple[Observed, bool], ...]:
    """Read the data that are asked about, each with whether their positions count as well."""
    return tuple(
        (_read_held_out(source, entry, space, "evaluate", *where), entry.positions)
        for where, entry in placed_entries(asked)
        if isinstance(entry, HeldOut)
    )


def _read_held_out(source: Source, asked: HeldOut, space: MetricSpace, *where: str | int) -> Observed:
    """Read data from their CSV file and assign each row to a point of the space, by coordinates or by label."""
    blame = partial(source.blame, *where)
    columns = [] if asked.columns is None else columns_of(asked.columns, blame)
    names = [asked.label, asked.weight, asked.count, *(column.name for column in columns)]
    table = Table.read(source.resolve(asked.file), blame("file"), asked, names, whole=False)
    weights = None if asked.weight is None else table.weights(asked.weight, blame("weight"))
    counts = None if asked.count is None else table.weights(asked.count, blame("count"))
    given: dict[str, Any] = {"weights": weights, "counts": counts, "within": asked.within, "name": asked.title}
    with source.within(*where):
        if columns:
            earth = positions_on_earth(space) is not None
            given["point"] = table.places(columns, earth=earth, axes=space.axes)
        else:
            given["label"] = table.labels(asked.label or "", blame("label"), space)
        try:
            return observed(space, **given)
        except NotOnePoint as error:
            if error.position is None:
                raise
            line = f"{table.name} line {table.lines[error.position]}"
            raise error.at(error.field, f"{line} {error.said} {space.naming.noun}s") from None


Labels = Annotated[list[f.Named], Field(min_length=1)]
Mapped = Annotated[dict[f.Label, f.Named], Field(min_length=1)]
Pairs = Annotated[list[Annotated[list[f.Named], Field(min_length=2, max_length=2)]], Field(min_length=1)]
Instead = Annotated[Pairs | Mapped, f.Shapes()]


class Learns(f.Section):
    """Most that an adversary learns from a report, and what privacy promises of that."""

    within: Annotated[list[Labels], Field(min_length=1)] = Field(
        [], description="Who knows that the secret is one of some: labels or indices of points, for each of a list."
    )
    hiding: Annotated[list[Instead], Field(min_length=1)] = Field(
        [],
        description="Whether a secret was hidden: what takes the place of some points, for each of a list.",
    )


def build_beliefs(source: Source, asked: Learns | None, space: MetricSpace) -> tuple[Beliefs, ...]:
    """Build the adversary's beliefs that the key `learns` asks about; errors point at the labels of points."""
    if asked is None:
        return ()
    if not space.symmetric:
        raise source.error(("learns",), "needs symmetric distances", "leave it out")
    found = []
    for number, members in enumerate(asked.within):
        with source.within("learns", "within", number):
            indices = [point_named(space, label) for label in members]
        found.append(Beliefs(f"learns.within[{number}]", tuple(indices), hiding=False))
    for number, instead in enumerate(asked.hiding):
        indices = list(range(len(space)))  # what takes the place of each point, by default itself
        with source.within("learns", "hiding", number):
            for one, other in instead.items() if isinstance(instead, dict) else instead:
                indices[point_named(space, one)] = point_named(space, other)
        found.append(Beliefs(f"learns.hiding[{number}]", tuple(indices), hiding=True))
    return tuple(found)
