"""The tight-constraints mechanism (ECP14 §6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import NDArray

from dxopt.analysis.regularity import verdict
from dxopt.analysis.regularity.thresholds import epsilon_above
from dxopt.analysis.regularity.weights import Weights, weighting
from dxopt.errors import MethodRefused, NoTightMechanism, UnsupportedError
from dxopt.mechanisms.kernel import epsilon_of_weights, kernel_mechanism
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior
from dxopt.model.privacy import checked_level
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import Written, excluded_text, level_text
from dxopt.numerics.partition import Partition
from dxopt.numerics.rounding import ALIKE, UNIT
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import certify
from dxopt.proofs.duals import Dual
from dxopt.runtime.progress import Progress, or_silence, shows
from dxopt.spaces.kernels import System
from dxopt.spaces.kernels.systems import structured, system
from dxopt.spaces.space import MetricSpace, required_space

Array = NDArray[np.float64]
_NAMED = 5
_LARGER = "take a larger epsilon, or use method: optimal"
_NEARLY = 1e-6
"""Relative tolerance within which weights count as right."""
_UNDECIDED = 1e-7
"""Negative weights of at most this part of the largest weight cannot be told from 0."""


def tight_weights(
    space: MetricSpace, epsilon: float, solution: Weights, kernel: System | None = None
) -> Array | None:
    """Return the weights w ≥ 0 with Φw = 1 of a tight-constraints mechanism, or None where there are none.

    `solution` is a solution of Φw = 1, of any signs, with its error. The weights are within 1e-6 of exact ones,
    relative to the largest, or else Φw is within 1e-6 (1 - e^{-εd}) of 1 for the least distance d. Entries that
    cannot be told from 0 are taken as 0. Where Φ is singular, linear programming looks for a solution.
    UnsupportedError where doubles cannot tell whether there are such weights.
    """
    # Some weight is negative for certain, so that no such mechanism exists.
    if len(solution.negative):
        return None
    # The smaller ε is, the nearer all entries of Φ are to 1, and the nearer any w that sums to 1 comes to solving
    # Φw = 1. So the tolerance shrinks with how far the entry of the nearest two points is from 1.
    nearly = _NEARLY * -math.expm1(-epsilon * space.nearest)
    if solution.values is not None and solution.error is not None:
        found = np.maximum(solution.values, 0.0)
        if (found - solution.values).max() > _UNDECIDED * found.max():
            raise undecidable_error(epsilon)
        if solution.error.max() <= _NEARLY * found.max():
            return found
    else:
        # Φ is singular: any feasible point of {w ≥ 0, Φw = 1} will do.
        if len(space) * UNIT > nearly:
            raise undecidable_error(epsilon)
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
        raise undecidable_error(epsilon)
    return found


def undecidable_error(epsilon: float) -> UnsupportedError:
    """Return the error where doubles cannot tell whether there are such weights."""
    wrong = f"at {epsilon:g} doubles cannot tell whether a tight-constraints mechanism exists"
    return UnsupportedError("epsilon", wrong, _LARGER)


def nonexistence_error(
    space: MetricSpace,
    epsilon: float,
    solution: Weights,
    *,
    diagnose: bool,
    progress: Callable[[str], None] = lambda line: None,
) -> NoTightMechanism:
    """Return the error that names the offending points and, if asked, the ε from which on there is a mechanism."""
    exists_from = epsilon_above(space, np.ones(len(space)), epsilon, progress) if diagnose else None
    below = solution.negative
    values = solution.values
    # Where Φ is singular, the solution of the least norm is looked at.
    if values is None:
        values = np.linalg.lstsq(np.exp(-epsilon * space.distances), np.ones(len(space)), rcond=None)[0]
        below = np.flatnonzero(values < 0)
    # The labels of points of negative weight, the most negative first.
    worst = below[np.argsort(values[below], kind="stable")]
    negative = tuple(space.labels[int(point)] for point in worst)
    reasons = ["the constraint matrix is singular"] if solution.values is None or not negative else []
    if negative:
        more = f" and {len(negative) - _NAMED:,} more" if len(negative) > _NAMED else ""
        reasons.append(f"the weight of {', '.join(negative[:_NAMED])}{more} is negative")
    found = "" if exists_from is None else f"it exists from epsilon = {level_text(exists_from, 7)}, or "
    return NoTightMechanism(
        "method",
        f"no tight-constraints mechanism exists at epsilon = {excluded_text(epsilon)}: {', and '.join(reasons)}",
        f"{found}use method: optimal",
        negative=negative,
        exists_from=exists_from,
    )


WRITTEN_POINTS = 1_000
"""Up to this many points the mechanism may be a matrix where no implicit one can be proven."""
PREFER_WRITTEN = 300
"""Up to this many points it is a matrix where the space has no structure."""


def refuses_tight(problem: Problem) -> str | None:
    """Return the reason why the tight-constraints mechanism does not apply to a problem, or None."""
    if problem.delta or not problem.private:
        return f"does not apply, as {problem.why_coupled}"
    if not problem.space.symmetric:
        return "needs symmetric distances"
    if not problem.reports.secrets:
        return "needs the secrets themselves as reports"
    return None


def tight_candidate(problem: Problem, *, diagnose: bool = True) -> Candidate:
    """Make the channel K[x, z] = e^{-εd(x, z)} w_z with Φw = 1 and, where it is optimal, the dual that proves it.

    It is exact for binary loss and a regular prior (ECP14, Definition 6, Propositions 6 to 8, Theorems 2 and 4). If
    asked to diagnose, a search finds the ε from which on there is a mechanism where there is none (NoTightMechanism).
    UnsupportedError where the problem is refused, or ε is too small for doubles to tell, or to hold the mechanism.
    """
    reason = refuses_tight(problem)
    if reason:
        raise MethodRefused("tight", reason)
    # Points that `proofs.repair` would join, as their rows are next to alike, must not matter.
    budgets = problem.budgets
    index = Partition.joining(budgets <= ALIKE).index
    if budgets[index[:, None] == index].max() > _NEARLY * budgets[np.isfinite(budgets)].max():
        wrong = f"at {problem.epsilon:g} doubles cannot keep the rows of a tight-constraints mechanism apart"
        raise UnsupportedError("epsilon", wrong, _LARGER)
    solution = weighting(problem.space, problem.epsilon)
    found = tight_weights(problem.space, problem.epsilon, solution)
    if found is None:
        raise nonexistence_error(problem.space, problem.epsilon, solution, diagnose=diagnose)
    dual = _dual(problem)
    return Candidate(np.exp(-budgets) * found, dual, "valid" if dual is None else "exact")


def _dual(problem: Problem) -> Dual | None:
    """Return multipliers that prove the channel optimal; None where it need not be (ECP14, Thm 2).

    For binary loss and regular π = μΦ, the multiplier of e^{-εd(z, x)} K[z, z] ≤ K[x, z] is μ_x for all x ≠ z.
    """
    if problem.why_coupled is not None or not problem.loss.is_binary:
        return None
    # The prior is regular if μ ≥ 0; μ is known up to an error, and none of it may be surely negative.
    found = verdict(problem.prior, problem.space, problem.epsilon)
    if found.mu is None or found.error is None or (found.mu + found.error < 0).any():
        return None
    # The prices of the rows are π - μ; there is one multiplier for each pair x ≠ z that privacy binds.
    mu = np.maximum(found.mu, 0.0)
    # `Dual` takes the prices, then for each multiplier the report z and the pair (z, x).
    x, z = np.nonzero(np.isfinite(problem.budgets) & ~np.eye(len(mu), dtype=bool))
    return Dual(problem.prior.probabilities - mu, z, z, x, mu[x])


@shows
def tight_constraints(
    space: MetricSpace,
    epsilon: Written,
    *,
    diagnose: bool = True,
    progress: Progress | bool | None = None,
) -> Mechanism:
    """Make the mechanism K[x, z] = e^{-εd(x, z)} w_z with Φw = 1, proven private (ECP14, Def 6, Props 6 to 9).

    If only exact hits count, it is the best mechanism for all regular priors at once (`dx.regularity`); nor does any
    other leak more in min-entropy (ECP14, Thm 4). It may not exist at a small ε. On lines, trees, products, lattices
    and tori, and above 300 points, rows, samples and evaluations are computed on demand from n weights, at an ε
    lowered by a hair against rounding. It is a matrix for few points, and where points are too close, or distances
    known too roughly, for that proof; then there may be up to 1,000 points.

    Parameters
    ----------
    space : MetricSpace
        n points with symmetric distances. Of a lattice n may be many millions; without structure up to 20,000.
    epsilon : float
        Privacy level per unit of distance.
    diagnose : bool
        Where there is none, search for an ε from which on there is one.
    progress : bool or callable, optional
        True shows a bar, as in `dx.solve`; a callable is given a line of text now and then.

    Raises
    ------
    NoTightMechanism
        If it does not exist at this ε. The error has the points in its way, and an ε from which on it exists, where
        one is found.
    UnsupportedError
        If the distances are not symmetric, there are too many points for want of structure, or ε is so small that
        doubles cannot tell whether the mechanism exists, or cannot hold it.
    SpecError
        If ε is not a positive finite number.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.tight_constraints(dx.line(4), "ln(2)")
    >>> print(mechanism.matrix.round(3).tolist()[1])
    [0.333, 0.333, 0.167, 0.167]
    """
    required_space(space)
    epsilon = checked_level(epsilon)
    tell = or_silence(progress)
    if not space.symmetric:
        raise UnsupportedError("space", "tight needs symmetric distances", "make the distances symmetric")
    # An implicit mechanism is proven at ε by a kernel at a slightly smaller ε'. Where there is no such ε', and for
    # few points without structure, it is written as a matrix, which is proven entry by entry.
    try:
        lowered = epsilon_of_weights(space, epsilon, system(space, epsilon))
        kernel = system(space, lowered)
    except UnsupportedError:
        if len(space) > WRITTEN_POINTS:
            raise
        return _as_matrix(space, epsilon, tell)
    if len(space) <= PREFER_WRITTEN and structured(space, epsilon) is None:
        return _as_matrix(space, epsilon, tell)

    # The weights at ε'. If there are none, those at ε decide whether a mechanism exists at the ε that was asked.
    tell(f"solving for the weights of {len(space):,} points")
    found = tight_weights(space, lowered, weighting(space, lowered, kernel), kernel)
    if found is None:
        solution = weighting(space, epsilon)
        if tight_weights(space, epsilon, solution) is None:
            raise nonexistence_error(space, epsilon, solution, diagnose=diagnose, progress=tell)
        raise undecidable_error(epsilon)
    tell("proving privacy")
    try:
        return kernel_mechanism(space, epsilon, kernel, lowered, found)
    except UnsupportedError:
        if len(space) > WRITTEN_POINTS:
            raise
        return _as_matrix(space, epsilon, tell)


def _as_matrix(space: MetricSpace, epsilon: float, tell: Callable[[str], None]) -> Mechanism:
    """Make the mechanism as a matrix, repaired and proven entry by entry."""
    problem = Problem(space, epsilon=epsilon, prior=Prior.uniform(space), loss="binary")
    candidate = tight_candidate(problem)
    tell("proving privacy")
    return certify(problem, replace(candidate, name="tight-constraints mechanism")).mechanism
