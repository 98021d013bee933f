"""The tight-constraints mechanism of a space, at any size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dxopt.errors import UnsupportedError
from dxopt.formulations.tight import feasible, missing
from dxopt.kernel import kernel_mechanism, lowered_level
from dxopt.mechanism import Mechanism
from dxopt.prior import Prior
from dxopt.problem import Problem, checked_level
from dxopt.regularity.systems import structured, system
from dxopt.regularity.weights import weights
from dxopt.solving import solve
from dxopt.spaces.space import MetricSpace

WRITTEN_POINTS = 1_000
PREFER_WRITTEN = 300


def tight_constraints(
    space: MetricSpace,
    epsilon: float,
    *,
    diagnose: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Mechanism:
    """The mechanism K[x, z] = e^{-εd(x, z)} w_z with Φw = 1, proven private (ECP14, Def 6, Props 6 to 9).

    Optimal for binary gain and for min-entropy leakage on every regular prior (ECP14, Thm 4). On lines, trees,
    products, lattices and tori, and above 300 points, it is implicit: rows, samples and evaluations are computed on
    demand from n weights, at a level lowered by a hair against rounding. It is a matrix for few points, and where
    points are too close, or distances known too roughly, for that proof; then up to 1,000 points will do.

    Parameters
    ----------
    space : MetricSpace
        n points with symmetric distances. Of a lattice n may be many millions; without structure up to 20,000.
    epsilon : float
        Privacy level per unit of distance.
    diagnose : bool
        Where there is none, search for the level from which there is one.
    progress : callable, optional
        Given a line of text now and then.

    Returns
    -------
    Mechanism
        Its `privacy` says what was proven, and how.

    Raises
    ------
    NoTightMechanism
        If a weight is negative; the error names the points, and a level from which there is a mechanism.
    UnsupportedError
        If the distances are not symmetric, there are too many points for want of structure, or the existence of the
        mechanism cannot be told within the error of the arithmetic.
    SpecError
        If ε is not a positive finite number.
    """
    level, tell = checked_level(epsilon), progress or (lambda line: None)
    if not space.symmetric:
        raise UnsupportedError("space", "tight needs symmetric distances", "make the distances symmetric")
    try:
        lowered = lowered_level(space, level, system(space, level))
        kernel = system(space, lowered)
    except UnsupportedError:
        if len(space) > WRITTEN_POINTS:
            raise
        return _written(space, level, progress)
    if len(space) <= PREFER_WRITTEN and structured(space, level) is None:
        return _written(space, level, progress)
    tell(f"solving for the weights of {len(space):,} points")
    ones = np.ones(len(space))
    found = feasible(space, lowered, weights(space, lowered, ones, kernel))
    if found is None:
        solution = weights(space, level, ones)
        if solution.values is None or len(solution.negative):
            raise missing(space, level, solution, diagnose=diagnose, progress=tell)
        raise UnsupportedError(
            "space", "it cannot be told whether a tight-constraints mechanism exists here", "try another epsilon"
        )
    tell("proving privacy")
    return kernel_mechanism(space, level, kernel, lowered, found)


def _written(space: MetricSpace, epsilon: float, progress: Callable[[str], None] | None) -> Mechanism:
    """As a matrix, repaired and proven entry by entry."""
    problem = Problem(space, epsilon=epsilon, prior=Prior.uniform(space), loss="binary")
    return solve(problem, method="tight", progress=progress).mechanism
