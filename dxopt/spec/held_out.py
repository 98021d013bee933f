"""The key `evaluate`: measures by name, and data that the prior was not made of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dxopt.analysis.observed import Observed, observed
from dxopt.results.measures import MEASURES
from dxopt.spaces.geo.located import known
from dxopt.spaces.space import MetricSpace
from dxopt.spec import fields as f
from dxopt.spec import quantities as q
from dxopt.spec.quantities import bad
from dxopt.spec.source import FieldPath, Source, stem
from dxopt.spec.tables import Table

NAMES = ", or give {file: ..., columns: [...]}"


class HeldOut(f.Section):
    """Data that the prior was not made of."""

    file: f.File = Field(description="CSV file with a header line and one row per observation.")
    columns: f.Columns | None = Field(
        None,
        description="Columns that hold the coordinates, which count for the nearest point; (lat, lon) on the Earth.",
    )
    label: f.Text | None = Field(None, description="Instead of columns: the column that holds the label of a point.")
    weight: f.Text | None = Field(None, description="Column that holds how much each counts; 1 by default.")
    count: f.Text | None = Field(None, description="Column that holds how many observations a row stands for.")
    within: q.Positive | None = Field(None, description="What is further than this from all points is outside.")
    positions: bool = Field(
        False,
        description="Also the loss between the positions themselves and the reports, which is not proven again, as "
        "positions are not saved.",
    )
    name: f.Title | None = Field(None, description="What the data are called; the name of the file by default.")

    @model_validator(mode="after")
    def _located(self) -> Self:
        if self.columns is None and self.label is None:
            raise bad("is missing", "add columns or label", "columns")
        if self.columns is not None and self.label is not None:
            raise bad("is given beside columns", "keep one of the two", "label")
        for name in ("within", "positions"):
            if self.label is not None and getattr(self, name):
                raise bad("goes with columns only", "leave it out", name)
        return self

    @property
    def title(self) -> str:
        """Return the name of the data."""
        return self.name or stem(Path(self.file))


Entry = Annotated[
    Annotated[str, f.OneOf(tuple(MEASURES), NAMES)] | HeldOut,
    f.Shapes(),
]
Evaluate = Annotated[
    HeldOut | list[Entry],
    f.Shapes(),
]


def listed(asked: HeldOut | list[str | HeldOut]) -> Iterator[tuple[FieldPath, str | HeldOut]]:
    """Yield each entry with its place below `evaluate`."""
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
        (_built(source, entry, space, "evaluate", *where), entry.positions)
        for where, entry in listed(asked)
        if isinstance(entry, HeldOut)
    )


def _built(source: Source, asked: HeldOut, space: MetricSpace, *where: str | int) -> Observed:
    table = Table.read(source.resolve(asked.file), source.blame(*where, "file"))
    weights = None if asked.weight is None else table.weights(asked.weight, source.blame(*where, "weight"))
    counts = None if asked.count is None else table.weights(asked.count, source.blame(*where, "count"))
    given: dict[str, Any] = {"weights": weights, "counts": counts, "within": asked.within, "name": asked.title}
    if asked.columns is None:
        given["label"] = table.column(asked.label or "", source.blame(*where, "label"))
    else:
        blames = [source.blame(*where, "columns", index) for index in range(len(asked.columns))]
        given["point"] = table.places(asked.columns, blames, earth=known(space) is not None)
    with source.within(*where):
        return observed(space, **given)
