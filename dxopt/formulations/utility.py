"""The prior-specific optimum: least expected loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SolveError
from dxopt.formulations.contract import Candidate, Claim
from dxopt.partition import Partition
from dxopt.problem import Problem
from dxopt.program import ChannelProgram, ChannelSolution, Dual
from dxopt.rounding import ALIKE, totals


@dataclass(frozen=True, eq=False)
class CompiledUtility:
    """A channel program on the classes of points to be reported alike, its rows shifted and scaled.

    The problem's cost of class row X is `shift[X] + scale · program.costs[X]`.
    """

    program: ChannelProgram
    problem: Problem
    partition: Partition
    shift: NDArray[np.float64]
    scale: float


class Utility:
    """Least expected loss over all private channels.

    Poses
        min Σ_x π_x Σ_z K[x, z] l(x, z) over channels K with K[x, z] ≤ e^{εd(x, x')} K[x', z].
    Requires
        Nothing. Points at distance 0, in either direction, must have equal rows and are merged first; so are
        points that only rounding keeps apart.
    Guarantees
        Exact.
    Size
        k·m variables for k classes and m reports, k equalities, one row per ordered pair and report.
    Reference
        CABP13 §4.2, ECP14 §3.4.
    """

    name: ClassVar[str] = "utility"
    claim: ClassVar[Claim] = "exact"

    def refuses(self, problem: Problem) -> str | None:
        return None

    def compile(self, problem: Problem) -> CompiledUtility:
        partition = Partition.joining(problem.budgets <= ALIKE)
        costs = partition.totals(problem.costs)
        shift = costs.min(axis=1)
        costs = costs - shift[:, None]
        budgets = partition.least(problem.budgets)
        np.fill_diagonal(budgets, 0.0)
        scale = _scale(costs, budgets)
        return CompiledUtility(ChannelProgram(costs / scale, budgets), problem, partition, shift, scale)

    def recover(self, compiled: CompiledUtility, solution: ChannelSolution) -> Candidate:
        if solution.channel is None:
            raise SolveError(solution.message)
        channel = compiled.partition.expand(solution.channel)
        return Candidate(channel, _recover_dual(compiled, solution.dual), self.claim)


def _scale(costs: NDArray[np.float64], budgets: NDArray[np.float64]) -> float:
    """About the optimum: the loss of the normalised kernel e^{-d} with the best remap, or a constant report."""
    kernel = np.exp(-budgets)
    kernel /= kernel.sum(axis=1, keepdims=True)
    constant, remapped = costs.sum(axis=0).min(), (costs.T @ kernel).min(axis=0).sum()
    return float(min(constant, remapped)) or float(costs.max()) or 1.0


def _recover_dual(compiled: CompiledUtility, dual: Dual | None) -> Dual | None:
    """The dual of the problem from one of the program: unscaled, and carried from classes to points."""
    if dual is None:
        return None
    prices = compiled.shift + compiled.scale * dual.prices
    multiplier = compiled.scale * dual.multiplier
    partition, budgets = compiled.partition, compiled.problem.budgets
    if partition.trivial:
        first, second = partition.representatives[dual.first], partition.representatives[dual.second]
        return Dual(prices[partition.index], dual.report, first, second, multiplier)
    first, second = (points[dual.first, dual.second] for points in partition.closest(budgets))
    lifted = Dual(np.zeros(len(partition.index)), dual.report, first, second, multiplier)
    return _within_classes(compiled, lifted, prices)


def _within_classes(compiled: CompiledUtility, dual: Dual, prices: NDArray[np.float64]) -> Dual:
    """Move each class's residual to one point along distances of (nearly) 0, so that the classes' bound is kept.

    A point's residual is levelled to the same number in every report, which the least (or largest) of them over
    the reports makes possible with multipliers of one sign.
    """
    problem, partition = compiled.problem, compiled.partition
    back = dual.multiplier * np.exp(-problem.budgets[dual.first, dual.second])
    residual = problem.costs - totals((dual.second, dual.report), dual.multiplier, problem.shape)
    residual += totals((dual.first, dual.report), back, problem.shape)
    levels = np.zeros(len(partition.index))
    reports = np.arange(residual.shape[1])
    extra: list[tuple[NDArray[np.int64], int, int, NDArray[np.float64]]] = []
    for which in np.flatnonzero(np.bincount(partition.index) > 1):
        members = partition.members(int(which))
        for child, parent in reversed(_tree(problem.budgets, members)):
            downward = problem.budgets[parent, child] <= ALIKE
            first, second = (parent, child) if downward else (child, parent)
            levels[child] = residual[child].min() if downward else residual[child].max()
            moved = np.abs(residual[child] - levels[child])
            residual[parent] += residual[child] - levels[child]
            extra.append((reports, first, second, moved))
        levels[members[0]] = prices[which] - levels[members[1:]].sum()
    singles = np.bincount(partition.index)[partition.index] == 1
    levels[singles] = prices[partition.index][singles]
    return Dual(
        levels,
        np.concatenate([dual.report, *(report for report, _, _, _ in extra)]),
        np.concatenate([dual.first, *(np.full(len(reports), a) for _, a, _, _ in extra)]),
        np.concatenate([dual.second, *(np.full(len(reports), b) for _, _, b, _ in extra)]),
        np.concatenate([dual.multiplier, *(moved for _, _, _, moved in extra)]),
    )


def _tree(budgets: NDArray[np.float64], members: NDArray[np.int64]) -> list[tuple[int, int]]:
    """(child, parent) pairs at distance (nearly) 0 that join the members, parents first, from the first member."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    alike = csr_array(budgets[np.ix_(members, members)] <= ALIKE)
    reached, above = breadth_first_order(alike, 0, directed=False)
    return [(int(members[child]), int(members[above[child]])) for child in reached[1:]]
