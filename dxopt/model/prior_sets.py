"""Sets of priors: what an optimum must hold for where nobody knows the one prior."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.numerics.coerce import SUM, as_distributions, as_numbers
from dxopt.numerics.prior_polytope import Mixtures
from dxopt.runtime.archive import names_in
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
_NAMED = 3
"""A hull of more priors is named by their number."""


class PriorSet(ABC):
    """Priors on the n points of a space, where that is known; see `Prior.hull`, `Prior.ball` and `Prior.box`."""

    kind: ClassVar[str]
    name: str
    space: MetricSpace | None

    @cached_property
    @abstractmethod
    def centre(self) -> Array:
        """One prior of the set `(n,)`, which stands for the set where a measure is about a single prior."""

    @cached_property
    @abstractmethod
    def mixtures(self) -> Mixtures:
        """The set as all weights, within bounds, on a list of priors or secrets: as solvers and proofs take it."""

    @abstractmethod
    def arrays(self) -> dict[str, Any]:
        """Return the arrays from which `unpack_set`, given the centre as well, makes a saved set again."""

    def __len__(self) -> int:
        return len(self.centre)

    def __repr__(self) -> str:
        return f"<PriorSet {self.name} on {len(self)} points>"

    @property
    def reach(self) -> NDArray[np.bool_]:
        """Mask `(n,)` of the secrets to which some prior of the set gives positive probability."""
        return self.mixtures.reach

    def worst(self, losses: ArrayLike) -> Array:
        """Return the prior of the set `(n,)` under which most is lost, given what each secret loses `(n,)`."""
        known = as_numbers(losses, "losses", "give a number for each secret")
        return self.mixtures.prior(self.mixtures.extremes(np.where(self.reach, known, 0.0)))

    def largest(self, losses: ArrayLike) -> float:
        """Return the largest expected loss over the set, given what each secret loses `(n,)`."""
        return self.mixtures.largest(
            np.where(self.reach, as_numbers(losses, "losses", "give a number for each secret"), 0.0)
        )


@dataclass(frozen=True, eq=False, repr=False)
class Everyone(PriorSet):
    """All priors on n points: the largest expected loss is the worst loss."""

    size: int
    kind: ClassVar[str] = "everyone"
    name: str = "all priors"
    space: MetricSpace | None = None

    @cached_property
    def centre(self) -> Array:
        return np.full(self.size, 1 / self.size)

    @cached_property
    def mixtures(self) -> Mixtures:
        return Mixtures.everyone(self.size)

    @property
    def reach(self) -> NDArray[np.bool_]:
        return np.ones(self.size, dtype=bool)

    def arrays(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, eq=False, repr=False)
class Hull(PriorSet):
    """All mixtures of k priors, `members` `(k, n)`."""

    members: Array
    names: tuple[str, ...]
    space: MetricSpace | None = None
    kind: ClassVar[str] = "hull"

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        few = len(self.names) <= _NAMED
        return f"hull of {', '.join(self.names)}" if few else f"hull of {len(self.names)} priors"

    @cached_property
    def centre(self) -> Array:
        """Return the mean of the members."""
        mean = self.members.mean(axis=0)
        return mean / math.fsum(mean)

    @cached_property
    def mixtures(self) -> Mixtures:
        return Mixtures.hull(self.members)

    def arrays(self) -> dict[str, Any]:
        return {"members": self.members, "names": np.array(self.names)}


@dataclass(frozen=True, eq=False, repr=False)
class Ball(PriorSet):
    """All priors π with ½ Σ_x |π(x) - around(x)| at most a radius, more than 0 and less than 1."""

    around: Array
    radius: float
    name: str
    space: MetricSpace | None = None
    kind: ClassVar[str] = "ball"

    def __post_init__(self) -> None:
        if not 0 < self.radius < 1:
            raise SpecError("total_variation", f"is {self.radius:g}", "give a number between 0 and 1")

    @cached_property
    def centre(self) -> Array:
        return self.around

    @cached_property
    def mixtures(self) -> Mixtures:
        """Sums of a part of mass 1 - radius, no larger than the centre anywhere, and one of mass radius anywhere."""
        # each part has a mass, and for each secret the most of it that it may have
        anywhere = np.full(len(self.around), np.inf)
        return Mixtures.joined(len(self.around), [(self.radius, anywhere), (1 - self.radius, self.around)])

    def arrays(self) -> dict[str, Any]:
        return {"radius": self.radius}


@dataclass(frozen=True, eq=False, repr=False)
class Box(PriorSet):
    """All priors between two bounds `(n,)` on each probability, from 0 to 1, the first no more than the second."""

    lower: Array
    upper: Array
    name: str
    space: MetricSpace | None = None
    around: Array | None = None
    kind: ClassVar[str] = "box"

    def __post_init__(self) -> None:
        for name, bounds in (("lower", self.lower), ("upper", self.upper)):
            wrong = np.flatnonzero(~((bounds >= 0) & (bounds <= 1)))
            if len(wrong):
                raise SpecError(name, f"entry {wrong[0]} is {bounds[wrong[0]]:g}", "give probabilities, from 0 to 1")
        crossed = np.flatnonzero(self.lower > self.upper)
        if len(crossed):
            low, high = self.lower[crossed[0]], self.upper[crossed[0]]
            raise SpecError("lower", f"entry {crossed[0]} is {low:g}, above {high:g}", "keep it at or below upper")
        if math.fsum(self.lower) > 1 + SUM:
            raise SpecError("lower", f"sums to {math.fsum(self.lower):.12g}", "lower it, so that a prior fits")
        if math.fsum(self.upper) < 1 - SUM:
            raise SpecError("upper", f"sums to {math.fsum(self.upper):.12g}", "raise it, so that a prior fits")

    @cached_property
    def centre(self) -> Array:
        """The prior that the box is around, or the one at the same share of the way from lower to upper bounds."""
        if self.around is not None:
            return self.around
        least = math.fsum(self.lower)
        room = math.fsum(self.upper - self.lower)
        share = min(max((1 - least) / room, 0.0), 1.0) if room > 0 else 0.0
        between = self.lower + share * (self.upper - self.lower)
        return between / math.fsum(between)

    @cached_property
    def mixtures(self) -> Mixtures:
        """Sums of the lower bounds, and a part of the mass that is left, no larger than upper - lower anywhere."""
        least = math.fsum(self.lower)
        room = self.upper - self.lower
        left = min(max(1 - least, 0.0), math.fsum(room))
        return Mixtures.joined(len(self.lower), [(least, self.lower), (left, room)])

    def arrays(self) -> dict[str, Any]:
        return {"lower": self.lower, "upper": self.upper}


def unpack_set(kind: str, prior: Array, name: str, arrays: Mapping[str, Any]) -> PriorSet:
    """Make the set of a saved file again, from its kind, its centre `prior`, its name and `PriorSet.arrays`.

    Raises
    ------
    SpecError
        If the arrays do not describe such a set.
    """
    if kind == Hull.kind:
        names = tuple(names_in(arrays, "names", len(arrays["members"])))
        size = len(names), len(prior)
        return Hull(as_distributions(arrays["members"], "prior", "solve the problem again", *size), names)
    if kind == Ball.kind:
        return Ball(prior, float(arrays["radius"]), name)
    if kind == Box.kind:
        lower, upper = (np.array(arrays[key], dtype=float) for key in ("lower", "upper"))
        if lower.shape != prior.shape or upper.shape != prior.shape:
            raise SpecError("prior", "has bounds of another number of points", "solve the problem again")
        return Box(lower, upper, name, around=prior)
    raise SpecError("prior", f"there is no set of kind {kind!r}", "use a matching dxopt")


def frozen(arrays: Sequence[ArrayLike]) -> Array:
    """Copy rows into one read-only matrix of floats."""
    matrix = np.array(arrays, dtype=float)
    matrix.flags.writeable = False
    return matrix
