"""Coordinates of secrets, and the largest level per unit of them that is private for the distances of the space."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.model.problem import Problem
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]


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
        """The coordinates of the secrets `(n, k)`, or None where there are none."""
        return coordinates(space, self.positions)

    def required(self, space: MetricSpace) -> Array:
        """The coordinates of the secrets `(n, k)`; SpecError where there are none, so that `refuses` has a reason."""
        found = self.coordinates(space)
        if found is None:
            raise SpecError("positions", "are missing", "ask `refuses` first")
        return found


def coordinates(space: MetricSpace, positions: ArrayLike | None = None) -> Array | None:
    """The given positions, the points of the space, or its labels where they are numbers: `(n, k)`.

    Raises
    ------
    SpecError
        If the given positions are no coordinates, one row for each secret.
    """
    if positions is not None:
        return _checked(positions, len(space))
    if space.points is not None and np.issubdtype(space.points.dtype, np.number):
        return space.points if np.isfinite(space.points).all() else None
    try:
        labels = np.array([float(label) for label in space.labels])
    except ValueError:
        return None
    return labels[:, None] if np.isfinite(labels).all() else None


def coordinates_of_reports(problem: Problem, secrets: Array) -> Array | None:
    """The secrets where they are the reports, or the points of the reports `(m, k)`; None if there are none."""
    points = problem.reports.points
    if problem.reports.secrets:
        return secrets
    if points is None or not np.issubdtype(points.dtype, np.number) or points.shape[1:] != secrets.shape[1:]:
        return None
    return points if np.isfinite(points).all() else None


def manhattan(positions: Array) -> Array:
    """d_1 between all positions, `(n, n)`."""
    apart = np.zeros((len(positions), len(positions)))
    for column in positions.T:
        apart += np.abs(column[:, None] - column[None, :])
    return apart


def largest_rate(budgets: Array, apart: Array) -> float:
    """The largest c with c·apart ≤ budget for all pairs `(n, n)`; infinite where nothing binds."""
    pairs = apart > 0
    with np.errstate(over="ignore"):
        return float((budgets[pairs] / apart[pairs]).min(initial=np.inf))


def _checked(positions: ArrayLike, size: int) -> Array:
    try:
        located = np.array(positions, dtype=float)
    except (TypeError, ValueError):
        raise SpecError("positions", "are not all numbers", "give (n,) or (n, k) coordinates") from None
    located = located[:, None] if located.ndim == 1 else located
    if located.ndim != 2 or len(located) != size or not located.size:
        raise SpecError("positions", f"have shape {np.shape(positions)} for {size} secrets", "give one per secret")
    if not np.isfinite(located).all():
        raise SpecError("positions", "are not all finite", "give finite coordinates")
    return located
