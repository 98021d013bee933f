"""Noise for one step of a trace: on a line, in a plane, or as a matrix on a finite space."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, UnsupportedError, required
from dxopt.mechanisms.noise import Laplace, PlanarLaplace
from dxopt.mechanisms.traces.closeness import checked_base, checked_whole
from dxopt.model.mechanism import Mechanism
from dxopt.numerics.coerce import as_numbers, checked_count, require_values
from dxopt.numerics.draws import Coins
from dxopt.numerics.number_syntax import excluded_text
from dxopt.spaces.lattices import line
from dxopt.spaces.space import MetricSpace

Point = tuple[float, ...]


class StepNoise(Protocol):
    """Noise for one point at any level ε: the report of x is ε·d-private.

    Examples
    --------
    >>> import dxopt as dx
    >>> noise = dx.traces.on_line()
    >>> print(round(noise.error_quantile(0.95, level=1.0), 3))
    2.996
    >>> print(round(noise.level_for(error=3.0, probability=0.95), 3))
    0.999
    """

    @property
    def distances(self) -> NDArray[np.float64] | None:
        """All distances of a finite space `(n, n)`; None where they are any numbers."""
        ...

    def secrets(self, trace: Any) -> list[Hashable]:
        """Return the points of a trace in the form that the other methods take; SpecError if one is off the space."""
        ...

    def checked(self, report: Any) -> Hashable:
        """Return a report, predicted or of a saved state, in the form of `secrets`; SpecError if there is none."""
        ...

    def distance(self, secret: Hashable, report: Hashable) -> float:
        """Return d(x, z)."""
        ...

    def draw(self, secret: Hashable, level: float, rng: np.random.Generator | None) -> Hashable:
        """Draw a report of x."""
        ...

    def probabilities(self, secret: Hashable, level: float) -> Iterable[tuple[Hashable, Any]]:
        """Return all reports of x with their probabilities; UnsupportedError where they are not finitely many."""
        ...

    def error_quantile(self, probability: float, level: float) -> float:
        """Return an r with P[d(x, z) ≤ r] ≥ probability for all x."""
        ...

    def level_for(self, error: float, probability: float) -> float:
        """Return a level, as low as is known, with P[d(x, z) ≤ error] ≥ probability for all x."""
        ...

    def position(self, report: Hashable) -> NDArray[np.float64]:
        """Return the coordinates `(k,)` of a report."""
        ...

    def nearest(self, position: NDArray[np.float64]) -> Hashable:
        """Return the report at coordinates `(k,)`, or the first of those nearest to them."""
        ...


@dataclass(frozen=True)
class Continuous:
    """Laplace noise on a real line, or planar Laplace noise with the Euclidean distance.

    Privacy is that of real numbers: as doubles, reports leak some digits of the secret (Mironov 2012).

    Parameters
    ----------
    dimension : {1, 2}

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.traces.Continuous(2) == dx.traces.on_plane())
    True
    """

    dimension: int

    def __post_init__(self) -> None:
        checked_count("dimension", self.dimension, 1, 2)

    @property
    def distances(self) -> None:
        """None: they are any numbers."""
        return None

    def at(self, level: float) -> Laplace | PlanarLaplace:
        """Return the noise at a level."""
        return Laplace(level) if self.dimension == 1 else PlanarLaplace(level)

    def secrets(self, trace: ArrayLike) -> list[Hashable]:
        require_values(trace, "trace")
        try:
            points = np.array(trace, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise SpecError("trace", "is not all numbers", "give one row of coordinates per step") from None
        points = points[:, None] if self.dimension == 1 and points.ndim == 1 else points
        if points.ndim != 2 or points.shape[1] != self.dimension:
            raise SpecError("trace", f"has shape {np.shape(trace)}", f"give {self.dimension} coordinate(s) per step")
        if not np.isfinite(points).all():
            row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
            raise SpecError("trace", f"step {row} has a coordinate that is not finite", "remove or mend it")
        return [tuple(point) for point in points.tolist()]

    def checked(self, report: Any) -> Point:
        point = as_numbers(report, "prediction", "predict coordinates, or None").reshape(-1)
        if len(point) != self.dimension or not np.isfinite(point).all():
            raise SpecError("prediction", f"is {report!r}", f"predict {self.dimension} finite coordinate(s), or None")
        return tuple(point.tolist())

    def distance(self, secret: Any, report: Any) -> float:
        return math.dist(secret, report)

    def draw(self, secret: Any, level: float, rng: np.random.Generator | None) -> Point:
        values = np.array(secret) if self.dimension == 1 else np.array([secret])
        return tuple(self.at(level).sample(values, rng).reshape(-1).tolist())

    def probabilities(self, secret: Hashable, level: float) -> Iterable[tuple[Hashable, Any]]:
        raise UnsupportedError("noise", "has infinitely many reports", "use Finite noise, or run and evaluate")

    def error_quantile(self, probability: float, level: float) -> float:
        return float(self.at(level).error_quantile(probability))

    def level_for(self, error: float, probability: float) -> float:
        return self.error_quantile(probability, 1.0) / error  # errors are in proportion to 1/ε

    def position(self, report: Any) -> NDArray[np.float64]:
        return np.array(report)

    def nearest(self, position: NDArray[np.float64]) -> Point:
        return tuple(position.tolist())


def on_line() -> Continuous:
    """Return Laplace noise on real numbers, whose rate is the level.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(round(dx.traces.on_line().error_quantile(0.95, level=1.0), 3))
    2.996
    """
    return Continuous(1)


def on_plane() -> Continuous:
    """Return planar Laplace noise, of density ε²/(2π)·e^{-εr} (Cha13).

    Examples
    --------
    >>> import dxopt as dx
    >>> print(round(dx.traces.on_plane().error_quantile(0.95, level=1.0), 3))
    4.744
    """
    return Continuous(2)


_LEVEL_ACCURACY = 1e-3
_LARGEST_BUDGET = 600.0
_ROUNDING = 1e-12
"""A sum of probabilities that is this much below a probability reaches it."""


class OnSpace(ABC):
    """Noise whose reports are the points of a finite space; a point is given as for `MetricSpace.index`.

    A report is drawn with exactly its probability, a rational number, divided by the sum of its row.
    """

    space: MetricSpace

    @property
    def distances(self) -> NDArray[np.float64]:
        return self.space.distances

    @abstractmethod
    def channel(self, level: float) -> NDArray:
        """Return the probabilities `(n, n)` at a level."""

    def secrets(self, trace: Any) -> list[Hashable]:
        try:
            if isinstance(trace, str):
                raise TypeError  # a sequence of letters, which are no points
            points = list(trace)
        except TypeError:
            raise SpecError("trace", "is no sequence of points", "give indices or labels") from None
        secrets: list[Hashable] = []
        for place, point in enumerate(points):
            # The point itself, a secret, stays out of the message.
            try:
                secrets.append(self._index(point))
            except SpecError:
                fix = "give indices or labels; dx.geo.nearest(space, positions) finds the indices of positions"
                raise SpecError("trace", f"has an entry {place} that is no point of the space", fix) from None
        return secrets

    def checked(self, report: Any) -> int:
        try:
            return self._index(report)
        except SpecError as error:
            raise SpecError("prediction", error.wrong, "predict an index or label, or None") from None

    def _index(self, point: Any) -> int:
        """Return the index of a point: traces are of indices, as reports and predictions are, or of labels."""
        whole_number = isinstance(point, int | np.integer) and not isinstance(point, bool)
        return self.space.index(index=point) if whole_number else self.space.index(point)

    def distance(self, secret: Any, report: Any) -> float:
        return float(self.space.distances[secret, report])

    def draw(self, secret: Any, level: float, rng: np.random.Generator | None) -> int:
        # The row as whole numbers over a common denominator; a uniform whole number below their sum picks the report.
        row = [Fraction(likely) for likely in self.channel(level)[secret].tolist()]
        unit = math.lcm(*(likely.denominator for likely in row))
        sums = list(accumulate(int(likely * unit) for likely in row))
        return bisect_right(sums, Coins.of(rng).below(sums[-1]))

    def probabilities(self, secret: Any, level: float) -> Iterable[tuple[Hashable, Any]]:
        row = self.channel(level)[secret].tolist()
        return [(z, likely) for z, likely in enumerate(row) if likely]

    def error_quantile(self, probability: float, level: float) -> float:
        # For each secret, reports from near to far, and the first at which their probabilities reach the given one.
        order = np.argsort(self.space.distances, axis=1)
        apart = np.take_along_axis(self.space.distances, order, axis=1)
        reached = np.take_along_axis(self.channel(level), order, axis=1).cumsum(axis=1) >= probability - _ROUNDING
        first = np.where(reached.any(axis=1), reached.argmax(axis=1), len(self.space) - 1)
        return float(np.take_along_axis(apart, first[:, None], axis=1).max())

    def position(self, report: Any) -> NDArray[np.float64]:
        points = self.space.points
        if points is None or self.space.metric is None or not np.issubdtype(points.dtype, np.number):
            fix = "use repeat, or a prediction of yours"
            raise UnsupportedError("space", "has no coordinates to extrapolate", fix)
        return points[report]

    def nearest(self, position: NDArray[np.float64]) -> int:
        return int(self.space.distances_to(position[None, :])[:, 0].argmin())


@dataclass(frozen=True, eq=False)
class Finite(OnSpace):
    """A proven mechanism for each level, such as those of `dx.classic` or optimal ones; made once for a level.

    Parameters
    ----------
    space : MetricSpace
        n points with symmetric distances; the reports are the points.
    family : callable
        From a level to a Mechanism on the space, proven private at that level:
        `lambda level: dx.classic.exponential(space, epsilon=level)`.

    Raises
    ------
    SpecError
        If the distances are not symmetric, as the distance to a prediction is then not 1-Lipschitz; when a level is
        used, if its mechanism is on another space or not proven private at the level.

    Examples
    --------
    >>> import dxopt as dx
    >>> town = dx.grid((3, 3))
    >>> noise = dx.traces.Finite(town, lambda level: dx.classic.exponential(town, epsilon=level))
    >>> print(round(noise.error_quantile(0.9, level=2.0), 3))
    2.236
    """

    space: MetricSpace
    family: Callable[[float], Mechanism]
    _made: dict[float, Mechanism] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        required("space", self.space, MetricSpace, "give a MetricSpace")
        required("family", self.family, Callable, "give a function of a level")
        if not self.space.symmetric:
            raise SpecError("space", "has asymmetric distances", "make them symmetric: the test needs that")

    def at(self, level: float) -> Mechanism:
        """Return the mechanism at a level; SpecError unless it is on the space and proven at that level."""
        if level in self._made:
            return self._made[level]
        mechanism = self.family(level)
        required("family", mechanism, Mechanism, "return a Mechanism")
        same = mechanism.space is self.space or np.array_equal(mechanism.space.distances, self.space.distances)
        if not same or not mechanism.reports.secrets:
            raise SpecError("family", f"gives other points at {level:g}", "take space and reports from the noise")
        privacy = mechanism.privacy
        if privacy is None or privacy.delta or not privacy.epsilon <= level:
            fix = "give one of dx.classic, or dx.certify(mechanism, space, level)"
            raise SpecError("family", f"gives no mechanism proven private at {excluded_text(level)}", fix)
        self._made[level] = mechanism
        return mechanism

    def channel(self, level: float) -> NDArray[np.float64]:
        return self.at(level).matrix

    def level_for(self, error: float, probability: float) -> float:
        widest = float(np.max(self.space.distances, where=np.isfinite(self.space.distances), initial=0.0))

        # Double until the error is kept, ...
        high = 1.0
        while self.error_quantile(probability, high) > error:
            high *= 2
            if high * self.space.nearest > _LARGEST_BUDGET:
                raise UnsupportedError("error", f"{error:g} is not reached at any level", "allow a larger error")

        # ... halve until it is not, ...
        low = high / 2
        while self.error_quantile(probability, low) <= error:
            high = low
            low = low / 2
            if low * widest < _LEVEL_ACCURACY:
                raise SpecError("error", f"{error:g} is kept without any budget", "ask for a smaller error")

        # ... and bisect in between, on a logarithmic scale.
        while high > low * (1 + _LEVEL_ACCURACY):
            middle = math.sqrt(low * high)
            if self.error_quantile(probability, middle) <= error:
                high = middle
            else:
                low = middle
        return high


@dataclass(frozen=True, eq=False)
class RationalGeometric(OnSpace):
    """The truncated geometric mechanism on 0, 1, …, n - 1 with rational probabilities (CABP13, Theorem 10).

    K[x, z] = a^{|x-z|} w(z) with a = base^{-level}, w = 1/(1+a) at an end and (1-a)/(1+a) between: levels are whole
    multiples of ln(base).

    Parameters
    ----------
    size : int
        n, at least 2.
    base : Fraction
        Above 1.

    Raises
    ------
    SpecError
        If the size or base is out of range; when used, if a level is not whole (UnsupportedError).

    Examples
    --------
    >>> import dxopt as dx
    >>> noise = dx.traces.RationalGeometric(3)
    >>> print([str(likely) for report, likely in noise.probabilities(0, level=1)])
    ['2/3', '1/6', '1/6']
    """

    size: int
    base: Fraction = Fraction(2)
    _made: dict[float, NDArray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        checked_base(self.base)
        checked_count("size", self.size, 2)

    @cached_property
    def space(self) -> MetricSpace:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Points of the line."""
        return line(self.size)

    def channel(self, level: float) -> NDArray:
        if level not in self._made:
            factor = 1 / Fraction(self.base) ** checked_whole(level)
            inside = (1 - factor) / (1 + factor)
            ends = 1 / (1 + factor)
            weights = [ends, *[inside] * (self.size - 2), ends]
            rows = [[factor ** abs(x - z) * weight for z, weight in enumerate(weights)] for x in range(self.size)]
            self._made[level] = np.array(rows, dtype=object)
        return self._made[level]

    def level_for(self, error: float, probability: float) -> float:
        # Levels are whole: the first that keeps the error.
        level = 1.0
        while self.error_quantile(probability, level) > error:
            level += 1
        return level
