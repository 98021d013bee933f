"""Calibrate noise in coordinates: the largest rate at which a discretised mechanism is private, found and proven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.model.problem import Problem
from dxopt.numerics.coerce import as_numbers
from dxopt.numerics.rounding import ALIKE, UNIT
from dxopt.numerics.tropical import product
from dxopt.proofs.repair import NOTHING
from dxopt.spaces.distances import between
from dxopt.spaces.metrics import Manhattan
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
_WIDEST = 1e100
"""Squares of larger lengths, or of the inverse of such, are no doubles."""


@dataclass(frozen=True, eq=False)
class Positioned:
    """Base class of mechanisms that perturb coordinates.

    Parameters
    ----------
    positions : (n,) or (n, k) array, optional
        Coordinates of the secrets; by default those of the space, or its labels where they are numbers.
    """

    positions: ArrayLike | None = field(default=None, kw_only=True)

    def coordinates(self, space: MetricSpace) -> Array | None:
        """Return the coordinates of the secrets `(n, k)`, or None where there are none.

        Raises
        ------
        SpecError
            If the given positions are no coordinates, one row for each secret.
        """
        if self.positions is None:
            if space.points is not None and np.issubdtype(space.points.dtype, np.number):
                return finite_points(space.points)
            try:
                labels = np.array([[float(label)] for label in space.labels])
            except ValueError:
                return None
            return finite_points(labels)
        located = as_numbers(self.positions, "positions", "give (n,) or (n, k) coordinates")
        located = located[:, None] if located.ndim == 1 else located
        if located.ndim != 2 or len(located) != len(space) or not located.size:
            wrong = f"have shape {np.shape(self.positions)} for {len(space)} secrets"
            raise SpecError("positions", wrong, "give one per secret")
        if finite_points(located) is None:
            raise SpecError("positions", "are not all finite", "give finite coordinates")
        return located

    def required_coordinates(self, space: MetricSpace) -> Array:
        """Return the coordinates `(n, k)` of secrets that `refuses` found to have some."""
        found = self.coordinates(space)
        assert found is not None
        return found


def finite_points(points: NDArray | None) -> Array | None:
    """Return points that are all finite numbers, or None."""
    if points is None or not np.issubdtype(points.dtype, np.number):
        return None
    return points if np.isfinite(points).all() else None


def coordinates_of_reports(problem: Problem, secrets: Array) -> Array | None:
    """Return the coordinates `(m, k)` of the reports; None where they have none, or not k each as the secrets."""
    if problem.reports.secrets:
        return secrets
    points = finite_points(problem.reports.points)
    return points if points is not None and points.shape[1:] == secrets.shape[1:] else None


def refused_extent(points: Array) -> str | None:
    """Return the reason why places are too near or too far apart for squares of lengths in doubles, or None."""
    with np.errstate(over="ignore"):
        extent = float(np.ptp(points, axis=0).max())
    if extent == 0 or 1 / _WIDEST < extent < _WIDEST:
        return None
    return f"needs an extent from {1 / _WIDEST} to {_WIDEST}"


def manhattan(positions: Array) -> Array:
    """Return d_1 between all positions, `(n, n)`."""
    return between(positions, positions, Manhattan())


def largest_rate(budgets: Array, apart: Array) -> float:
    """Return the largest c with c·apart ≤ budget for all pairs `(n, n)`; infinite where nothing binds."""
    pairs = apart > 0
    with np.errstate(over="ignore"):
        return float((budgets[pairs] / apart[pairs]).min(initial=np.inf))


def normalised(weights: Array) -> Array:
    """Divide each row of weights `(n, m)` by its sum."""
    return weights / weights.sum(axis=1, keepdims=True)


def checked_rate(rate: float, most: float, name: str) -> float:
    """Return a rate that a user gave; SpecError where it is above `most`, the largest private one, named `name`."""
    if rate > most:
        wrong = f"is {rate}, above {name} = {most}"
        raise SpecError("rate", wrong, "give at most that, or none for the largest that is private")
    return rate


CALIBRATED_BELOW = 1_000
"""For so many secrets and more, no rate is looked for."""
_CALIBRATED = 1e-7
_DOUBLINGS = 6
_TRIALS = 60


def largest_private_rate(
    channel: Callable[[float], Array],
    space: MetricSpace,
    epsilon: float,
    safe: float,
    *,
    resolution: float = 4 * UNIT,
) -> float:
    """Return a rate, `safe` or larger, at which the realised ε of a channel is the given ε or a hair less.

    At the safe rate the channel is private at ε; it is returned where no two secrets are apart. The rate is raised no
    further where that does not raise the realised ε, nor above 64 times the safe one. Where the realised ε jumps, the
    rate returned is within `resolution`, relative, of one at which the channel is not private.
    """
    # Pairs that count as one point bind nothing.
    distances = space.distances
    counted = distances > ALIKE / epsilon
    if not counted.any():
        return safe

    def realised(rate: float) -> float:
        """Return the ε of the matrix: the largest log(max_z K[x, z] / K[x', z]) / d(x, x')."""
        # `product` takes the maximum over z where a matrix product takes the sum
        masses = np.maximum(channel(rate), NOTHING)
        return float((np.log(product(masses, 1 / masses.T)[counted]) / distances[counted]).max())

    # 1. Raise the rate until the realised ε exceeds ε: in proportion to what is left, by a factor of 2 at most. At
    # the rate `low` the realised ε is `least`, at most ε; at `high` it is `most`, above ε.
    enough = epsilon * (1 - _CALIBRATED)
    low = safe
    least = realised(safe)
    for _ in range(_DOUBLINGS):
        if least >= enough:
            return low
        high = low * (min(2.0, 2 * epsilon / least - 1) if least > 0 else 2.0)
        most = realised(high)
        if most > epsilon:
            break
        # A larger rate has no effect any more.
        if most <= least * (1 + _CALIBRATED):
            return low
        low = high
        least = most
    else:
        return low

    # 2. Close in by secants aimed between `enough` and ε, with a bisection each third time so that it surely ends.
    for trial in range(_TRIALS):
        if least >= enough or high - low <= resolution * high:
            break
        part = 0.5 if trial % 3 == 2 else (0.5 * (epsilon + enough) - least) / (most - least)
        rate = low + part * (high - low)
        found = realised(rate)
        if found <= epsilon:
            low = rate
            least = found
        else:
            high = rate
            most = found
    return low
