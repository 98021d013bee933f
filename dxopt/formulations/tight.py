"""The tight-constraints mechanism (ECP14 §6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import NoTightMechanism, UnsupportedError
from dxopt.formulations.contract import Candidate, Claim
from dxopt.partition import Partition
from dxopt.problem import Problem
from dxopt.program import Dual, LinearSystem, Solution
from dxopt.solvers.weighting import solve_weighting

_NAMED = 5


@dataclass(frozen=True, eq=False)
class CompiledTight:
    """Φ on the classes of points at distance 0."""

    program: LinearSystem
    problem: Problem
    partition: Partition


class Tight:
    """K[x, z] = e^{-εd(x, z)} w_z with Φw = 1.

    Poses
        Φw = 1 and, for the bound, μΦ = π.
    Requires
        Symmetric distances, the secrets as reports, and w ≥ 0 (otherwise there is no such mechanism).
    Guarantees
        A private channel. Exact for binary loss where π is regular (μ ≥ 0), for any such π.
    Size
        One dense k × k system for k classes.
    Reference
        ECP14, Definition 6, Propositions 6 to 8, Theorems 2 and 4.
    """

    name: ClassVar[str] = "tight"
    claim: ClassVar[Claim] = "valid"

    def refuses(self, problem: Problem) -> str | None:
        if not problem.space.symmetric:
            return "needs symmetric distances"
        if not problem.reports.secrets:
            return "needs the secrets themselves as reports"
        return None

    def compile(self, problem: Problem) -> CompiledTight:
        partition = Partition.joining(problem.space.distances == 0)
        kept = partition.representatives
        phi = np.exp(-problem.budgets[np.ix_(kept, kept)])
        return CompiledTight(LinearSystem(phi), problem, partition)

    def recover(self, compiled: CompiledTight, solution: tuple[Solution, float]) -> Candidate | None:
        """The mechanism, or None where Φ is singular or a weight is negative beyond its error."""
        solved, error = solution
        if solved.primal is None or solved.primal.min() < -error:
            return None
        problem, kept = compiled.problem, compiled.partition.representatives
        channel = np.zeros(problem.shape)
        kernel = np.exp(-problem.budgets[:, kept])
        channel[:, kept] = kernel * np.maximum(solved.primal, 0.0)
        dual = self._dual(compiled)
        return Candidate(channel, dual, self.claim if dual is None else "exact")

    def _dual(self, compiled: CompiledTight) -> Dual | None:
        """For binary loss and regular π = μΦ: multiplier μ_x on e^{-d(z, x)} K[z, z] ≤ K[x, z] (ECP14, Thm 2)."""
        problem = compiled.problem
        if not problem.loss.is_binary or not compiled.partition.trivial:
            return None
        mu = _regular_weights(compiled.program.matrix, problem.prior.probabilities)
        if mu is None:
            return None
        x, z = np.nonzero(np.isfinite(problem.budgets) & ~np.eye(len(mu), dtype=bool))
        return Dual(problem.prior.probabilities - mu, z, z, x, mu[x])


def _regular_weights(phi: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """μ ≥ 0 with μΦ = π up to rounding, or None."""
    mu = np.linalg.solve(phi.T, prior)
    error = 1e3 * np.abs(phi.T @ mu - prior).max() + 1e-15
    return None if mu.min() < -error else np.maximum(mu, 0.0)


def tight_candidate(problem: Problem, *, diagnose: bool = True) -> Candidate:
    """Compile, solve and recover in one go.

    Parameters
    ----------
    diagnose : bool
        Where there is no such mechanism, search for a level from which there is.

    Raises
    ------
    UnsupportedError
        If the problem is refused.
    NoTightMechanism
        If there is none.
    """
    tight = Tight()
    reason = tight.refuses(problem)
    if reason:
        raise UnsupportedError("method", f"tight {reason}", "use method: optimal")
    compiled = tight.compile(problem)
    solution = solve_weighting(compiled.program)
    candidate = tight.recover(compiled, solution)
    if candidate is None:
        raise _missing(compiled, solution, _exists_from(compiled) if diagnose else None)
    return candidate


def _missing(
    compiled: CompiledTight, solution: tuple[Solution, float], exists_from: float | None
) -> NoTightMechanism:
    labels, error = compiled.problem.space.labels, solution[1]
    weights = solution[0].primal
    below = np.zeros(0, dtype=np.int64) if weights is None else np.flatnonzero(weights < -error)
    negative = tuple(labels[compiled.partition.representatives[i]] for i in below)
    shown = ", ".join(negative[:_NAMED]) + (f" and {len(negative) - _NAMED} more" if len(negative) > _NAMED else "")
    where = f"the weight of {shown} is negative" if negative else "the constraint matrix is singular"
    found = "" if exists_from is None else f"it exists at epsilon = {exists_from:.7g}, or "
    return NoTightMechanism(
        "method",
        f"no tight-constraints mechanism exists at epsilon = {compiled.problem.epsilon:g}: {where}",
        f"{found}use method: optimal",
        negative=negative,
        exists_from=exists_from,
    )


def _exists_from(compiled: CompiledTight, doublings: int = 12, halvings: int = 30) -> float | None:
    """The upper end of a bracket of the level at which min w turns non-negative, above the problem's ε.

    Sampled at the doublings of ε and bisected from there; min w need not be monotone in between.
    """
    kept = compiled.partition.representatives
    distances = compiled.problem.space.distances[np.ix_(kept, kept)]

    def exists(epsilon: float) -> bool:
        solved, error = solve_weighting(LinearSystem(np.exp(-epsilon * distances)))
        return solved.primal is not None and solved.primal.min() >= -error

    low = high = compiled.problem.epsilon
    for _ in range(doublings):
        low, high = high, 2 * high
        if exists(high):
            break
    else:
        return None
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if exists(middle) else (middle, high)
        if high - low <= 1e-7 * high:
            break
    return high
