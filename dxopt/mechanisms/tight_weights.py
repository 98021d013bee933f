"""Decide whether a tight-constraints mechanism has weights, and whether doubles can tell."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from dxopt.analysis.regularity.search import epsilon_above
from dxopt.analysis.regularity.weights import Weights
from dxopt.errors import NoTightMechanism, UnsupportedError
from dxopt.model.problem import Problem
from dxopt.numerics.partition import Partition
from dxopt.numerics.rounding import ALIKE, UNIT
from dxopt.spaces.kernels import System
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
_NAMED = 5
_LARGER = "take a larger epsilon, or use method: optimal"
_NEARLY = 1e-6
"""Relative tolerance within which weights count as right."""
_UNDECIDED = 1e-7
"""Negative weights of at most this part of the largest weight cannot be told from 0."""


def feasible(space: MetricSpace, epsilon: float, solution: Weights, kernel: System | None = None) -> Array | None:
    """Weights w ≥ 0 with Φw = 1, or None where there are none.

    They are within 1e-6 of exact ones, relative to the largest, or Φw is as near to 1 as that in proportion to how
    far entries of Φ are from 1. Entries that cannot be told from 0 are taken as 0. Where Φ is singular, linear
    programming looks for a solution.

    Raises
    ------
    UnsupportedError
        If doubles cannot tell whether there are such weights.
    """
    # Some weight is negative for certain, so that no such mechanism exists.
    if len(solution.negative):
        return None
    # Nearest points make the least difference between rows of Φ; with a smaller ε all of Φ comes close to 1, and so
    # close does anything that sums to 1 come to solving Φw = 1.
    nearly = _NEARLY * -math.expm1(-epsilon * space.nearest)
    if solution.values is not None and solution.error is not None:
        found = np.maximum(solution.values, 0.0)
        if (found - solution.values).max() > _UNDECIDED * found.max():
            raise untold(epsilon)
        if solution.error.max() <= _NEARLY * found.max():
            return found
    else:
        # Φ is singular: any feasible point of {w ≥ 0, Φw = 1} will do.
        if len(space) * UNIT > nearly:
            raise untold(epsilon)
        solved = scipy.optimize.linprog(
            np.zeros(len(space)), A_eq=np.exp(-epsilon * space.distances), b_eq=np.ones(len(space)), method="highs"
        )
        if solved.x is None:
            return None
        found = np.maximum(np.asarray(solved.x, dtype=float), 0.0)
    if kernel is None:
        product = np.exp(-epsilon * space.distances) @ found
        rounding = len(space) * UNIT
    else:
        product, rounding = kernel.apply(found)
    if not np.abs(product - 1).max() + rounding <= nearly:
        raise untold(epsilon)
    return found


def untold(epsilon: float) -> UnsupportedError:
    """The error where doubles cannot tell whether there are such weights."""
    wrong = f"at {epsilon:g} doubles cannot tell whether a tight-constraints mechanism exists"
    return UnsupportedError("epsilon", wrong, _LARGER)


def require_apart(problem: Problem) -> None:
    """UnsupportedError where `proofs.repair` would join points that matter, as their rows are next to alike."""
    budgets = problem.budgets
    index = Partition.joining(budgets <= ALIKE).index
    joined = budgets[index[:, None] == index]
    if joined.max() > _NEARLY * budgets[np.isfinite(budgets)].max():
        wrong = f"at {problem.epsilon:g} doubles cannot keep the rows of a tight-constraints mechanism apart"
        raise UnsupportedError("epsilon", wrong, _LARGER)


def missing(
    space: MetricSpace,
    epsilon: float,
    solution: Weights,
    *,
    diagnose: bool,
    progress: Callable[[str], None] = lambda line: None,
) -> NoTightMechanism:
    """The error that names the offending points and, if asked, the ε from which on there is a mechanism."""
    exists_from = epsilon_above(space, np.ones(len(space)), epsilon, progress) if diagnose else None
    where, negative = _offending(space, epsilon, solution)
    found = "" if exists_from is None else f"it exists from epsilon = {exists_from:.7g}, or "
    return NoTightMechanism(
        "method",
        f"no tight-constraints mechanism exists at epsilon = {epsilon:g}: {where}",
        f"{found}use method: optimal",
        negative=negative,
        exists_from=exists_from,
    )


def _offending(space: MetricSpace, epsilon: float, solution: Weights) -> tuple[str, tuple[str, ...]]:
    """Return why there is no mechanism, and the labels of points of negative weight, the most negative first."""
    below = solution.negative
    values = solution.values
    # Where Φ is singular, the solution of the least norm is looked at.
    if values is None:
        values = np.linalg.lstsq(np.exp(-epsilon * space.distances), np.ones(len(space)), rcond=None)[0]
        below = np.flatnonzero(values < 0)
    if not len(below):
        return "the constraint matrix is singular", ()
    worst = below[np.argsort(values[below], kind="stable")]
    labels = tuple(space.labels[int(point)] for point in worst)
    more = f" and {len(below) - _NAMED:,} more" if len(below) > _NAMED else ""
    singular = "the constraint matrix is singular, and " if solution.values is None else ""
    return f"{singular}the weight of {', '.join(labels[:_NAMED])}{more} is negative", labels
