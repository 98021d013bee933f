"""The level of privacy that a problem file asks for: one, a family, or one that is searched for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from dxopt.errors import SpecError
from dxopt.model.privacy import checked_level
from dxopt.numerics.number_syntax import is_plain
from dxopt.spaces.geo.levels import Level, level
from dxopt.spaces.space import MetricSpace
from dxopt.spec import fields as f
from dxopt.spec.fields import bad
from dxopt.studies.levels import FINEST
from dxopt.studies.questions import EpsilonFrontier, SmallestEpsilon

MAX_FAMILY = 10_000
_STEPS = ("resolution", "step")


def _require_bearable(level: float) -> float:
    """Return a level; refuse one that is too small or too large to be computed with in doubles."""
    try:
        return checked_level(level)
    except SpecError as error:
        raise bad(error.wrong, error.fix) from None


Bearable = Annotated[f.Positive, AfterValidator(_require_bearable)]


class Privacy(f.Section):
    """A level of indistinguishability within a radius."""

    level: f.Positive = Field(description="Largest privacy loss, such as ln(4), between locations one radius apart.")
    radius: f.Positive = Field(description="The distance at which `level` holds.")
    between: Annotated[str, f.OneOf(("places", "positions"))] = Field(
        "places",
        alias="for",
        description="Whether the level is between points of the space, or between positions in its cells.",
    )

    @property
    def epsilon(self) -> float:
        """Level per unit of distance, between points."""
        return self.level / self.radius

    @property
    def beside_epsilon(self) -> str:
        """Tell for positions, whose level between points of the space is lower than `epsilon`."""
        return self.between if self.between == "positions" else ""

    def on(self, space: MetricSpace) -> Level:
        """Return the level per unit of distance of a space; SpecError for positions where it has no cells."""
        return level(self.level, self.radius, space=space if self.between == "positions" else None)


OfEach = Annotated[
    Annotated[list[f.NonNegative], Field(min_length=1, max_length=f.MAX_LOCATIONS)] | f.Text, f.Shapes()
]


class _Elastic(f.Section):
    """Elastic privacy: a level for each place, in a metric of its own, of which ε is 1."""

    epsilon: ClassVar[float] = 1.0

    @property
    def beside_epsilon(self) -> dict[str, Any]:
        """Levels as given, or what they follow from."""
        return self.model_dump()


class PlaceLevels(_Elastic):
    """A level for each place."""

    levels: OfEach = Field(
        description="ε of each place per unit of distance: a column of the file of the space, or numbers above 0."
    )


class DensityLevels(_Elastic):
    """A level for each place, as full of people as it is."""

    level: f.Positive = Field(
        description="Largest privacy loss, such as ln(4), within the radius in which so many people are."
    )
    people: f.Positive = Field(description="How many people, of those that `weights` counts.")
    weights: OfEach = Field(
        description="How many there are at each place: a column of the file of the space, or numbers."
    )


class Range(f.Section):
    """Evenly spaced values, both ends included."""

    start: Bearable = Field(alias="from", description="First value.")
    to: Bearable = Field(description="Last value; the steps may stop short of it.")
    step: f.Positive = Field(description="Distance from one value to the next.")
    forms: ClassVar[tuple[str, ...]] = _STEPS

    @model_validator(mode="after")
    def _require_few_values(self) -> Self:
        if self.to < self.start:
            raise bad(f"is {self.to:g}, below from: {self.start:g}", "give the larger end", "to")
        if (self.to - self.start) / self.step >= MAX_FAMILY:
            raise bad(f"makes more than {MAX_FAMILY:,} values", "give a larger step", "step")
        return self

    def values(self) -> list[float]:
        """Return the values, each the double nearest to what the decimals written in the file give."""
        # In exact decimals, so that 0.1, 0.2, 0.3 are the doubles that a file would write. The slack is for ends such
        # as 1/3, which no decimal gives: a value that close to the end is the end.
        start, to, step = (Fraction(repr(value)) for value in (self.start, self.to, self.step))
        slack = step / 10**9
        count = math.floor((to - start + slack) / step) + 1
        reached = [start + index * step for index in range(count)]
        return [float(to if abs(value - to) <= slack else value) for value in reached]


class RisingRange(f.Section):
    """Both ends of a range over which a curve is proven, and how closely."""

    start: f.Number = Field(alias="from", description="Smallest value.")
    to: f.Number = Field(description="Largest value.")
    resolution: f.Fraction

    @model_validator(mode="after")
    def _require_rising(self) -> Self:
        if not self.start < self.to:
            raise bad(f"is {self.to:g}, not above from: {self.start:g}", "give a larger one", "to")
        return self


class Frontier(RisingRange):
    """The least loss at every level of a range."""

    start: Bearable = Field(alias="from", description="Smallest level.")
    to: Bearable = Field(description="Largest level.")
    # a falling curve takes as many solves as the inverse of the share, and some more
    resolution: Annotated[float, Field(ge=1 / MAX_FAMILY, lt=1), f.Written()] = Field(
        description="How closely the loss is proven, as a share of its whole fall."
    )
    forms: ClassVar[tuple[str, ...]] = _STEPS

    @property
    def sweep(self) -> EpsilonFrontier:
        """The question that this range asks, answered by many solves."""
        return EpsilonFrontier(self.start, self.to, self.resolution)


class Smallest(f.Section):
    """The smallest level at which a loss is possible."""

    max_loss: f.Number = Field(description="The loss that is to be possible.")
    accuracy: Annotated[float, Field(ge=FINEST, lt=1), f.Written()] = Field(
        1e-6, description="How closely the level is proven, relative."
    )

    @property
    def sweep(self) -> SmallestEpsilon:
        """The question that this search asks, answered by many solves."""
        return SmallestEpsilon(self.max_loss, self.accuracy)


_ENDS = ("from", "to", "step")


def read_levels(text: str) -> tuple[float, ...]:
    """Read levels from the command line: `FROM:TO:STEP`, ends included, or `A,B,C`; numbers as in a problem file.

    Raises
    ------
    SpecError
        If there is anything else, a level is not positive or given twice, or there are more than 10,000.
    """
    written = text.split(":")
    try:
        if len(written) == 1:
            values = [_parse_level(part.strip()) for part in text.split(",")]
        elif len(written) == 3:
            levels = {end: _parse_level(part.strip(), end) for end, part in zip(_ENDS, written, strict=True)}
            values = Range(**levels).values()
        else:
            raise SpecError("epsilon", f"is {text!r}", "give levels as FROM:TO:STEP, or as A,B,C")
    except PydanticCustomError as error:
        raise _option_error(error.context or {}) from None
    except ValidationError as error:
        raise _option_error(error.errors()[0].get("ctx", {})) from None
    if len(values) > MAX_FAMILY:
        raise SpecError("epsilon", f"makes more than {MAX_FAMILY:,} values", "give fewer")
    return tuple(values)


def read_level(text: str) -> float:
    """Read one level from the command line, a number as in a problem file; SpecError where it is none, or several."""
    levels = read_levels(text)
    if len(levels) != 1:
        raise SpecError("epsilon", f"has {len(levels)} levels", "give one, or use dxopt sweep, which takes several")
    (level,) = levels
    return level


def _parse_level(text: str, *at: str) -> float:
    """Return a level that is written on the command line; an error is about the end `at` of a range, where given."""
    # `f.number` takes text for an expression such as ln(2), and refuses plain numbers as text
    value = f.number(float(text) if is_plain(text) else text)
    if not value > 0:
        raise bad(f"is {text}", "give a number above 0", *at)
    return value


def _option_error(context: dict[str, Any]) -> SpecError:
    """Return the SpecError of the option `epsilon` for an error that `bad` made, from the context of that."""
    at = "".join(f".{part}" for part in context["at"])
    return SpecError(f"epsilon{at}", context["wrong"], context["fix"])


def _epsilon_kind(value: Any) -> str:
    """Return the tag of the form in which a level is written, from its shape and keys."""
    if isinstance(value, list):
        return "list"
    if not isinstance(value, dict):
        return "number"
    # a mapping with no key of a range is checked as a search, whose error names max_loss
    if "max_loss" in value or value.keys().isdisjoint(("from", "to", "step", "resolution")):
        return "smallest"
    return "range resolution" if "resolution" in value and "step" not in value else "range step"


def _privacy_kind(value: Any) -> str:
    """Return the tag of the form in which privacy is written, from its keys."""
    keys = value if isinstance(value, dict) else ()
    return "of places" if "levels" in keys else "by density" if "people" in keys or "weights" in keys else "within"


OfPrivacy = Annotated[
    Annotated[Privacy, Tag("within")]
    | Annotated[PlaceLevels, Tag("of places")]
    | Annotated[DensityLevels, Tag("by density")],
    Discriminator(_privacy_kind),
]
Epsilon = Annotated[
    Annotated[Bearable, Tag("number")]
    | Annotated[list[Bearable], Field(min_length=1, max_length=MAX_FAMILY), Tag("list")]
    | Annotated[Range, Tag("range step")]
    | Annotated[Frontier, Tag("range resolution")]
    | Annotated[Smallest, Tag("smallest")],
    Discriminator(_epsilon_kind),
]
