"""The level of privacy that a problem file asks for: one, a family, or one that is searched for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any, Self

from pydantic import Discriminator, Field, Tag, model_validator

from dxopt.spec import fields as f
from dxopt.spec import quantities as q
from dxopt.spec.quantities import bad
from dxopt.sweeps import EpsilonFrontier, SmallestEpsilon

MAX_FAMILY = 10_000


class Privacy(f.Section):
    """A level of indistinguishability within a radius: epsilon = level / radius."""

    level: q.Positive = Field(description="Largest privacy loss, such as ln(4), between points one radius apart.")
    radius: q.Positive = Field(description="The distance at which `level` holds.")

    @property
    def epsilon(self) -> float:
        """Per unit of distance."""
        return self.level / self.radius


class Range(f.Section):
    """Evenly spaced values, both ends included."""

    start: q.Positive = Field(alias="from", description="First value.")
    to: q.Positive = Field(description="Last value; the steps may stop short of it.")
    step: q.Positive = Field(description="Distance from one value to the next.")

    @model_validator(mode="after")
    def _finite(self) -> Self:
        if self.to < self.start:
            raise bad(f"is {self.to:g}, below from: {self.start:g}", "give the larger end", "to")
        if (self.to - self.start) / self.step >= MAX_FAMILY:
            raise bad(f"makes more than {MAX_FAMILY:,} values", "give a larger step", "step")
        return self

    def values(self) -> list[float]:
        """The values, each the double nearest to what the decimals written in the file give."""
        start, to, step = (Fraction(repr(value)) for value in (self.start, self.to, self.step))
        slack = step / 10**9
        count = math.floor((to - start + slack) / step) + 1
        reached = [start + index * step for index in range(count)]
        return [float(to if abs(value - to) <= slack else value) for value in reached]


class Frontier(f.Section):
    """The least loss at every level of a range."""

    start: q.Positive = Field(alias="from", description="Smallest level.")
    to: q.Positive = Field(description="Largest level.")
    resolution: q.Fraction = Field(description="How closely the loss is proven, as a share of its whole fall.")

    @model_validator(mode="after")
    def _rising(self) -> Self:
        require_rising(self.start, self.to)
        return self

    @property
    def sweep(self) -> EpsilonFrontier:
        """What is asked."""
        return EpsilonFrontier(self.start, self.to, self.resolution)


class Smallest(f.Section):
    """The smallest level at which a loss is possible."""

    max_loss: q.Number = Field(description="The loss that is to be possible.")
    accuracy: q.Fraction = Field(1e-6, description="How closely the level is proven, relative.")

    @property
    def sweep(self) -> SmallestEpsilon:
        """What is asked."""
        return SmallestEpsilon(self.max_loss, self.accuracy)


def require_rising(start: float, to: float) -> None:
    """Refuse a range that does not rise."""
    if not start < to:
        raise bad(f"is {to:g}, not above from: {start:g}", "give a larger one", "to")


def _epsilon_kind(value: Any) -> str:
    if isinstance(value, list):
        return "list"
    if not isinstance(value, dict):
        return "number"
    if "max_loss" in value or value.keys().isdisjoint(("from", "to", "step", "resolution")):
        return "smallest"
    return "range resolution" if "resolution" in value and "step" not in value else "range step"


Epsilon = Annotated[
    Annotated[q.Positive, Tag("number")]
    | Annotated[list[q.Positive], Field(min_length=1), Tag("list")]
    | Annotated[Range, Tag("range step")]
    | Annotated[Frontier, Tag("range resolution")]
    | Annotated[Smallest, Tag("smallest")],
    Discriminator(_epsilon_kind),
]
