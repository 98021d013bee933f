"""The key `prior`: one prior, or a set of priors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from dxopt.analysis.regularity import corner_prior
from dxopt.errors import PlausibilityWarning, SpecError
from dxopt.model.observations import frequencies, numbers_of
from dxopt.model.prior import Prior as ModelPrior
from dxopt.model.prior_sets import PriorSet
from dxopt.model.private_counts import PrivateCounts
from dxopt.model.smoothing import KERNELS
from dxopt.model.smoothing import Smoothing as ModelSmoothing
from dxopt.spaces.geo.points import known as positions_on_earth
from dxopt.spaces.metrics import OnEarth
from dxopt.spaces.naming import SeveralPoints, is_written_otherwise
from dxopt.spaces.space import MetricSpace
from dxopt.spec import fields as f
from dxopt.spec.fields import MAX_LOCATIONS, bad
from dxopt.spec.locations import Secrets, point_named
from dxopt.spec.source import Blame, Source
from dxopt.spec.tables import Column, Table, columns_of


class Kernel(f.Section):
    """Pseudo-counts, a kernel, or both."""

    add: f.NonNegative = Field(0.0, description="Pseudo-counts for each point, in the unit of the weights.")
    kernel: Annotated[str, f.OneOf(tuple(KERNELS))] | None = Field(
        None, description="How each observation is spread over the points near it; with a bandwidth."
    )
    bandwidth: f.Positive | None = Field(None, description="Of the kernel, in the unit of the distances.")

    @model_validator(mode="after")
    def _require_smoothing(self) -> Self:
        """Refuse at the time of reading what the library would refuse, such as a kernel without a bandwidth."""
        try:
            self.smoothing  # noqa: B018
        except SpecError as error:
            raise bad(error.wrong, error.fix) from None
        return self

    @property
    def smoothing(self) -> ModelSmoothing:
        """The smoothing as an object of the library, which checks it."""
        return ModelSmoothing(self.add, self.kernel, self.bandwidth)


Smoothing = Annotated[Kernel | f.Positive, f.Shapes()]
SMOOTHING = "So that points where few were seen have no prior of 0: a number of pseudo-counts, or a section."


Unusable = Annotated[
    Literal["refuse", "drop"],
    Field(description="Whether rows with an empty cell, or no number, are an error or left out."),
]


class UniformPrior(f.Section):
    """The same probability everywhere."""

    kind: Literal["uniform"] = Field(description="The same probability everywhere.")


class ExplicitPrior(f.Section):
    """Probabilities written out."""

    kind: Literal["explicit"] = Field(description="Probabilities written out.")
    values: Annotated[list[f.NonNegative], Field(min_length=1)] = Field(
        description="One probability per point; they sum to 1."
    )


class ColumnPrior(f.CsvDialect):
    """Weights from a column of a CSV file."""

    kind: Literal["column"] = Field(description="Weights from a column of a CSV file.")
    column: f.Text = Field(description="Column that holds the weights.")
    file: f.File | None = Field(
        None, description="CSV file with one row per point, in their order; by default that of the space."
    )
    label: f.Text | None = Field(
        None, description="Column that holds the names of the points, by which rows are found; others are left out."
    )
    smoothing: Smoothing | None = Field(None, description=SMOOTHING)


class CornerPrior(f.Section):
    """The corner prior of a point, proportional to exp(-epsilon d(·, point))."""

    kind: Literal["corner"] = Field(description="Prior proportional to exp(-epsilon d(·, point)).")
    point: f.Named = Field(description="Label of the point.")


class SamplesPrior(f.CsvDialect):
    """The frequencies of observed points."""

    kind: Literal["samples"] = Field(description="Frequencies of observed points.")
    file: f.File = Field(description="CSV file with a header line and one row per observation.")
    columns: f.Columns = Field(description="Columns that hold the coordinates, or the label, of an observation.")
    smoothing: Smoothing | None = Field(None, description=SMOOTHING)


class CheckInsPrior(f.CsvDialect):
    """Frequencies of people near each point."""

    kind: Literal["check_ins"] = Field(description="Check-ins, each counted for the nearest point.")
    file: f.File = Field(description="CSV file with a header line and one row per check-in.")
    columns: f.Columns = Field(description="Columns that hold the coordinates; (lat, lon) on the Earth.")
    weight: f.Text | None = Field(None, description="Column that holds how much each counts; 1 by default.")
    within: f.Positive | None = Field(None, description="Leave out what is further than this from all points.")
    unusable: Unusable = "refuse"
    smoothing: Smoothing | None = Field(None, description=SMOOTHING)


class PrivatePrior(f.CsvDialect):
    """Frequencies of people near each point, with noise that hides whether any one person is among them."""

    kind: Literal["private"] = Field(description="Check-ins of people, counted with noise by `dxopt prior`.")
    file: f.File = Field(
        description="File of the noisy counts, which `dxopt prior` writes once and all else reads.",
        examples=["town-prior.json"],
    )
    check_ins: f.File = Field(description="CSV file with a header line and one row per check-in.")
    columns: f.Columns | None = Field(
        None, description="Columns that hold the coordinates; (lat, lon) on the Earth. Without coordinates the label."
    )
    label: f.Text | None = Field(
        None, description="Instead of columns: the column that holds the label of a point, such as a diagnosis."
    )
    person: f.Text = Field(description="Column that says whose check-in it is.")
    epsilon: f.Positive = Field(description="Level per person who is among them or not.")
    per_person: f.Count = Field(description="How many check-ins of a person count at most, chosen at random.")
    within: f.Positive | None = Field(None, description="Leave out what is further than this from all points.")
    unusable: Unusable = "refuse"
    smoothing: Smoothing | None = Field(None, description=SMOOTHING)

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        if self.columns is not None and self.label is not None:
            raise bad("does not go with columns", "keep one of the two", "label", at_key=True)
        if self.columns is None and self.label is None:
            raise bad("is missing", "add columns, or label for a column of labels", "columns")
        if self.label is not None and self.within is not None:
            raise bad("does not go with label", "keep one of the two", "within", at_key=True)
        return self

    @property
    def drawn(self) -> tuple[Any, ...]:
        """The keys that decide what is drawn: another value of one needs another draw, which costs again."""
        people = self.check_ins, self.columns, self.label, self.person, self.unusable
        return *people, self.epsilon, self.per_person, self.within


Single = (
    Annotated[str, f.OneOf(("uniform",), " or give a mapping with a kind")]
    | UniformPrior
    | ExplicitPrior
    | ColumnPrior
    | CornerPrior
    | SamplesPrior
    | CheckInsPrior
    | PrivatePrior
)
Prior = Annotated[Single, f.Kinds()]


def build_priors(
    source: Source, asked: Prior, secrets: Secrets, epsilons: Sequence[float | None], *where: str | int
) -> list[ModelPrior]:
    """Build the prior of the key at `where` for each of several levels; only a corner prior differs between them."""
    with source.within(*where):
        if isinstance(asked, CornerPrior):
            return [_corner_prior(source, asked, secrets, epsilon, where) for epsilon in epsilons]
        return [_prior_of_any_level(source, asked, secrets, partial(source.blame, *where))] * len(epsilons)


def _corner_prior(
    source: Source, asked: CornerPrior, secrets: Secrets, epsilon: float | None, where: tuple[str | int, ...]
) -> ModelPrior:
    """Build the corner prior of a point at a level; refuse a problem without one."""
    if epsilon is None:
        raise source.error(where, "corner needs an epsilon", "add epsilon, or give another prior")
    return corner_prior(secrets.space, epsilon, index=point_named(secrets.space, asked.point))


def _prior_of_any_level(source: Source, asked: Prior, secrets: Secrets, blame: Callable[..., Blame]) -> ModelPrior:
    """Build a prior that does not depend on the level; `blame` makes errors at keys of its section."""
    match asked:
        case ExplicitPrior():
            return _by_values(asked.values, secrets, blame("values"))
        case ColumnPrior():
            return _by_column(source, asked, secrets, blame)
        case SamplesPrior():
            return _by_samples(source, asked, secrets, blame)
        case CheckInsPrior():
            return _by_check_ins(source, asked, secrets, blame)
        case PrivatePrior():
            return _by_private_counts(source, asked, secrets, blame)
        case _:
            return ModelPrior.uniform(secrets.space)


def _by_values(values: Sequence[float], secrets: Secrets, blame: Blame) -> ModelPrior:
    """Return the probabilities that are written out, which sum to 1."""
    total = sum(values)
    if not abs(total - 1) <= 1e-9:
        divided = f": divide each by {total:.12g}" if 0 < total < math.inf else ""
        raise blame(f"sum to {total:.12g}", f"give probabilities that sum to 1{divided}")
    return ModelPrior.from_weights(secrets.space, values, name="explicit")


def _by_column(source: Source, asked: ColumnPrior, secrets: Secrets, blame: Callable[..., Blame]) -> ModelPrior:
    """Build a prior from a column of weights; rows of a file of its own are matched by label, or else by order."""
    table = secrets.table
    rows = secrets.rows
    if asked.file is not None:
        columns = (asked.column, asked.label)
        table = Table.read(source.resolve(asked.file), blame("file"), asked, columns, most_rows=MAX_LOCATIONS)
        rows = range(len(table))
    if asked.label is not None and table is not None:
        rows = _rows_by_label(table, asked.label, secrets, blame("label"))
    if table is None:
        raise blame("file")("is missing, as the space has no CSV file", "add file")
    if len(rows) != len(secrets.space):
        wrong = f"{table.name} has {len(rows):,} rows for {len(secrets.space):,} points"
        fix = "give one row per point; raw observations, one in each row, are read by kind: samples"
        raise blame("column")(wrong, fix)
    weights = table.weights(asked.column, blame("column"), rows)
    smoothing = _smoothing(asked.smoothing)
    found = ModelPrior.from_weights(secrets.space, weights, name=f"column {asked.column}", smoothing=smoothing)
    # only rows of a file of its own that are not matched by label may be in another order than the points
    return found if asked.file is None or asked.label else replace(found, concerns=_order_warnings(table, secrets))


def _order_warnings(table: Table, secrets: Secrets) -> tuple[PlausibilityWarning, ...]:
    """Return a warning where a column of the table names all points, but in another order than theirs."""
    labels = list(secrets.space.labels)
    for name, cells in zip(table.text.names, zip(*table.rows, strict=True), strict=True):
        named = [cell.strip() for cell in cells]
        if named != labels and sorted(named) == sorted(labels):
            seen = f"the rows of {table.name} are not in the order of the points, which its column {name!r} names"
            fix = f"write label: {name}, unless they are meant to count for the points in turn"
            return (PlausibilityWarning("rows_in_another_order", "prior", seen, fix),)
    return ()


def _rows_by_label(table: Table, column: str, secrets: Secrets, blame: Blame) -> list[int]:
    """Return the row of each point of the space, found by its name in a column; no name may be there twice."""
    found: dict[int | str, int] = {}
    for row, name in enumerate(table.labels(column, blame, secrets.space)):
        try:
            point = secrets.space.naming.with_label(name)
        except SeveralPoints:
            point = None
        if found.setdefault(name if point is None else point, row) != row:
            raise blame(f"{table.name} line {table.lines[row]} names {name!r} again", "keep one row for each")
    missing = next((name for point, name in enumerate(secrets.space.labels) if point not in found), None)
    if missing is not None:
        close = next((one for one in found if isinstance(one, str) and is_written_otherwise(one, missing)), None)
        fix = "add it" if close is None else f"write {missing!r} for {close!r}, if that is meant, or add it"
        raise blame(f"{table.name} has no row for {missing!r}", fix)
    return [found[point] for point in range(len(secrets.space))]


def _by_samples(source: Source, asked: SamplesPrior, secrets: Secrets, blame: Callable[..., Blame]) -> ModelPrior:
    """Build a prior from the frequencies of observed points, given by coordinates or by label."""
    columns = columns_of(asked.columns, blame)
    table = Table.read(
        source.resolve(asked.file), blame("file"), asked, [column.name for column in columns], whole=False
    )
    samples: Any
    if numbers_of(secrets.space) is None:
        samples = labels_in(table, columns, secrets.space)
    else:
        samples = table.places(columns, earth=isinstance(secrets.space.metric, OnEarth), axes=secrets.space.axes)
    counts = frequencies(secrets.space, samples, lambda row: f"{table.name} line {table.lines[row]}")
    return ModelPrior.from_weights(secrets.space, counts, name="samples", smoothing=_smoothing(asked.smoothing))


def labels_in(table: Table, columns: Sequence[Column], space: MetricSpace) -> list[str]:
    """Return the labels of points in the rows of a table; points with text in several columns have some as (a, b)."""
    cells = [table.labels(column.name, column.blame, space) for column in columns]
    return [_label_of(row) for row in zip(*cells, strict=True)]


def _label_of(cells: tuple[str, ...]) -> str:
    """Return the label of the cells of a row; "" where one is empty."""
    if "" in cells:
        return ""
    return cells[0] if len(cells) == 1 else f"({', '.join(cells)})"


def places_in(
    table: Table, columns: Sequence[Column], rows: Sequence[int], space: MetricSpace
) -> NDArray[np.float64]:
    """Return the coordinates `(m, k)` in the rows of a table, NaN in all but the given ones."""
    places = np.full((len(table), len(columns)), np.nan)
    places[rows] = table.places(columns, rows, earth=positions_on_earth(space) is not None, axes=space.axes)
    return places


def _by_check_ins(source: Source, asked: CheckInsPrior, secrets: Secrets, blame: Callable[..., Blame]) -> ModelPrior:
    """Build a prior from places of people, each of which counts for the nearest point."""
    columns = columns_of(asked.columns, blame)
    names = [asked.weight, *(column.name for column in columns)]
    table = Table.read(source.resolve(asked.file), blame("file"), asked, names, whole=False)
    weighed = [] if asked.weight is None else [Column(asked.weight, blame("weight"), told=True)]
    rows = table.usable([*columns, *weighed], drop=asked.unusable == "drop")
    places = places_in(table, columns, rows, secrets.space)
    weights = None
    for column in weighed:
        weights = np.full(len(table), np.nan)
        weights[rows] = table.weights(column.name, column.blame, rows)
    return ModelPrior.from_check_ins(
        secrets.space,
        places,
        weights,
        within=asked.within,
        smoothing=_smoothing(asked.smoothing),
        unusable=asked.unusable,
    )


def _by_private_counts(
    source: Source, asked: PrivatePrior, secrets: Secrets, blame: Callable[..., Blame]
) -> ModelPrior:
    """Build a prior from noisy counts that were drawn before; refuse those of another level."""
    path = source.resolve(asked.file)
    if not path.exists():
        raise blame("file")(f"there is no file {str(path)!r}", f"draw it: dxopt prior {source.path}")
    counts = PrivateCounts.load(path)
    for key in ("epsilon", "per_person"):
        if (made := getattr(counts, key)) != getattr(asked, key):
            wrong = f"is {getattr(asked, key):.12g}, but {path.name} was drawn with {made:.12g}"
            raise blame(key)(wrong, f"write {made!r}, or draw another file, which costs its level again")
    return ModelPrior.from_private_counts(secrets.space, counts, smoothing=_smoothing(asked.smoothing))


def _smoothing(asked: Smoothing | None) -> float | ModelSmoothing | None:
    """Return the smoothing as `Prior` takes it: a number of pseudo-counts, a kernel, or none."""
    return asked.smoothing if isinstance(asked, Kernel) else asked


class HullPriors(f.Section):
    """All mixtures of some priors."""

    kind: Literal["hull"] = Field(description="All mixtures of some priors.")
    priors: Annotated[list[Prior], Field(min_length=1)] = Field(description="The priors, each as under `prior`.")


class BallPriors(f.Section):
    """All priors near one in total variation."""

    kind: Literal["ball"] = Field(description="All priors within a total variation of one.")
    around: Prior = Field(description="The prior in the middle, as under `prior`.")
    total_variation: f.Fraction = Field(description="How much of its probability may be anywhere else.")


class BoxPriors(f.Section):
    """All priors between bounds on each probability."""

    kind: Literal["box"] = Field(description="All priors between bounds on each probability.")
    lower: list[f.NonNegative] | None = Field(None, description="One lower bound per point; 0 by default.")
    upper: list[f.NonNegative] | None = Field(None, description="One upper bound per point; 1 by default.")
    around: Prior | None = Field(None, description="Instead of bounds: the prior in the middle, with a ratio.")
    ratio: f.Positive | None = Field(
        None, description="How many times as large, or as small, each probability may be; above 1."
    )


class Total(f.Section):
    """The probability of a region, from one number to another."""

    points: Annotated[list[f.Named], Field(min_length=1)] = Field(description="The points of the region.")
    low: f.NonNegative = Field(0.0, description="The least probability of the region.")
    high: f.NonNegative = Field(1.0, description="The largest probability of the region.")


class FittingPriors(f.Section):
    """All priors that fit marginals and totals."""

    kind: Literal["fitting"] = Field(description="All priors that fit marginals, and totals of regions.")
    marginals: list[Annotated[list[f.NonNegative] | None, f.OrNull()]] | None = Field(
        None,
        description="For each coordinate of a grid or product the probabilities of its values, or `~` for any.",
    )
    totals: list[Total] = Field([], description="Regions, with the least and the largest probability of each.")
    within: f.Fraction = Field(1e-9, description="By how much a prior may miss each of them.")


PriorSection = HullPriors | BallPriors | BoxPriors | FittingPriors
Believed = Annotated[Single | PriorSection, f.Kinds()]
"""One prior, or a set of them."""


def depends_on_level(asked: Believed) -> bool:
    """Tell whether a prior is, or is made from, a corner prior, which changes with the level."""
    match asked:
        case HullPriors():
            return any(isinstance(prior, CornerPrior) for prior in asked.priors)
        case BallPriors() | BoxPriors():
            return isinstance(asked.around, CornerPrior)
    return isinstance(asked, CornerPrior)


def build_believed(
    source: Source, asked: Believed, secrets: Secrets, epsilons: Sequence[float | None]
) -> list[ModelPrior] | list[PriorSet]:
    """Build the prior of the key `prior`, or the set of them, for each of several levels."""
    if not isinstance(asked, PriorSection):
        return build_priors(source, asked, secrets, epsilons, "prior")
    if depends_on_level(asked):
        return [_build_set(source, asked, secrets, epsilon) for epsilon in epsilons]
    return [_build_set(source, asked, secrets, epsilons[0])] * len(epsilons)


def _build_set(source: Source, asked: PriorSection, secrets: Secrets, epsilon: float | None) -> PriorSet:
    """Build a set of priors; a corner prior in it is that of the level `epsilon`."""

    def one(prior: Prior, *where: str | int) -> ModelPrior:
        return build_priors(source, prior, secrets, [epsilon], "prior", *where)[0]

    with source.within("prior", keys=type(asked).model_fields):
        match asked:
            case HullPriors():
                return ModelPrior.hull([one(prior, "priors", place) for place, prior in enumerate(asked.priors)])
            case BallPriors():
                return ModelPrior.ball(one(asked.around, "around"), total_variation=asked.total_variation)
            case BoxPriors():
                size = len(secrets.space)
                for key, bounds in (("lower", asked.lower), ("upper", asked.upper)):
                    if bounds is not None and len(bounds) != size:
                        raise SpecError(key, f"has {len(bounds)} entries for {size:,} points", "give one per point")
                around = None if asked.around is None else one(asked.around, "around")
                return ModelPrior.box(asked.lower, asked.upper, around=around, ratio=asked.ratio)
            case FittingPriors():
                return _fitting(source, asked, secrets)


def _fitting(source: Source, asked: FittingPriors, secrets: Secrets) -> PriorSet:
    """Build the set of priors that fit marginals and totals; a region's points are marked by 1 in `counts`."""
    totals = []
    for place, total in enumerate(asked.totals):
        with source.within("prior", "totals", place):
            counts = np.zeros(len(secrets.space))
            counts[[point_named(secrets.space, name) for name in total.points]] = 1.0
            totals.append((counts, total.low, total.high))
    return ModelPrior.fitting(secrets.space, marginals=asked.marginals, totals=totals, within=asked.within)
