"""Noise for a step: its interface, and noise on a real line or plane."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, UnsupportedError
from dxopt.mechanisms.noise import Laplace, PlanarLaplace

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
        """The points of a trace in the form that the other methods take; SpecError if one is off the space."""
        ...

    def checked(self, report: Any) -> Hashable:
        """A predicted report in the form of `secrets`; SpecError if there is no such report."""
        ...

    def distance(self, secret: Hashable, report: Hashable) -> float:
        """d(x, z)."""
        ...

    def draw(self, secret: Hashable, level: float, rng: np.random.Generator | None) -> Hashable:
        """Draw a report of x."""
        ...

    def probabilities(self, secret: Hashable, level: float) -> Iterable[tuple[Hashable, Any]]:
        """All reports of x with their probabilities; UnsupportedError where they are not finitely many."""
        ...

    def error_quantile(self, probability: float, level: float) -> float:
        """An r with P[d(x, z) ≤ r] ≥ probability for all x."""
        ...

    def level_for(self, error: float, probability: float) -> float:
        """A level, as low as is known, with P[d(x, z) ≤ error] ≥ probability for all x."""
        ...

    def position(self, report: Hashable) -> NDArray[np.float64]:
        """Coordinates `(k,)` of a report."""
        ...

    def nearest(self, position: NDArray[np.float64]) -> Hashable:
        """The report at coordinates `(k,)`, or the first of those nearest to them."""
        ...


@dataclass(frozen=True)
class Continuous:
    """Laplace noise on a real line, or planar Laplace noise with the Euclidean distance.

    Privacy is that of real numbers: as doubles, reports leak some digits of the secret (Mironov 2012).

    Parameters
    ----------
    dimension : {1, 2}

    Raises
    ------
    SpecError
        If the dimension is another.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.traces.Continuous(2) == dx.traces.on_plane())
    True
    """

    dimension: int

    def __post_init__(self) -> None:
        if self.dimension not in (1, 2):
            raise SpecError("dimension", f"is {self.dimension!r}", "give 1 or 2")

    @property
    def distances(self) -> None:
        """None: they are any numbers."""
        return None

    def at(self, level: float) -> Laplace | PlanarLaplace:
        """The noise at a level."""
        return Laplace(level) if self.dimension == 1 else PlanarLaplace(level)

    def secrets(self, trace: ArrayLike) -> list[Hashable]:
        try:
            points = np.array(trace, dtype=float)
        except (TypeError, ValueError):
            raise SpecError("trace", "is not all numbers", "give one row of coordinates per step") from None
        points = points[:, None] if self.dimension == 1 and points.ndim == 1 else points
        if points.ndim != 2 or points.shape[1] != self.dimension:
            raise SpecError("trace", f"has shape {np.shape(trace)}", f"give {self.dimension} coordinate(s) per step")
        if not np.isfinite(points).all():
            row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
            raise SpecError("trace", f"step {row} has a coordinate that is not finite", "remove or mend it")
        return [tuple(point) for point in points.tolist()]

    def checked(self, report: Any) -> Point:
        try:
            point = np.array(report, dtype=float).reshape(-1)
        except (TypeError, ValueError):
            raise SpecError("prediction", f"is {report!r}", "predict coordinates, or None") from None
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
        return self.error_quantile(probability, 1.0) / error

    def position(self, report: Any) -> NDArray[np.float64]:
        return np.array(report)

    def nearest(self, position: NDArray[np.float64]) -> Point:
        return tuple(position.tolist())


def on_line() -> Continuous:
    """Laplace noise on real numbers, whose rate is the level.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(round(dx.traces.on_line().error_quantile(0.95, level=1.0), 3))
    2.996
    """
    return Continuous(1)


def on_plane() -> Continuous:
    """Planar Laplace noise, of density ε²/(2π)·e^{-εr} (Cha13).

    Examples
    --------
    >>> import dxopt as dx
    >>> print(round(dx.traces.on_plane().error_quantile(0.95, level=1.0), 3))
    4.744
    """
    return Continuous(2)
