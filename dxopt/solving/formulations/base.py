"""The contract of formulations, and what they share: a unit for costs, classes of points, and the dual carried back.

Privacy is K[b, z] ≥ e^{-εd(a, b)} K[a, z] for all points a, b and reports z. A dual (`Dual`) has multipliers λ ≥ 0
for some of these, listed with a as `first` and b as `second`, and a price y(x) for each point. The residual of x in
report z is r[x, z] = c[x, z] - Σ_a λ(a, x, z) + Σ_b λ(x, b, z) e^{-εd(x, b)}: a multiplier lowers it at `second` and
raises it at `first`. Where y(x) ≤ r[x, z] for all z, the dual proves that no channel costs less than Σ_x y(x).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SolveError
from dxopt.model.problem import Problem
from dxopt.numerics.partition import Partition
from dxopt.numerics.rounding import ALIKE, totals
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.duals import Dual
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution

SMALLEST_SHARE = 1e-40
"""Of the largest cost: with a much smaller unit, costs or their powers would overflow."""


def cost_unit(optimum: float, largest: float) -> float:
    """Return the number that costs are divided by, so that solvers see an optimum near 1.

    It is the given estimate of the optimum, raised to 1e-40 of the size of the largest cost; where the optimum is 0
    it is that size, and where that is 0 as well it is 1.
    """
    if not optimum:
        return float(largest) or 1.0
    return float(max(optimum, SMALLEST_SHARE * largest))


class Formulation(Protocol):
    """One way to pose a problem as a channel program, and to recover its channel and dual from a solution.

    Docstrings have the sections Poses, Requires, Guarantees, Size, Reference.
    """

    def apply(self, problem: Problem) -> Compiled: ...
    def recover(self, compiled: Compiled, solution: ChannelSolution) -> Candidate: ...


@dataclass(frozen=True, eq=False)
class Compiled:
    """A channel program on the classes of points to be reported alike, its costs shifted and scaled.

    A value v of the program is the value `offset + sign · scale · v` of the problem, with the objective's sign.

    `shift` `(k,)` was taken off each row of the costs.
    """

    smaller: ChannelProgram
    problem: Problem
    formulation: Formulation
    partition: Partition
    offset: float
    scale: float
    shift: NDArray[np.float64]

    @cached_property
    def alike(self) -> bool:
        """True if the points of each class have the same budgets to and from all points, as at the same place."""
        budgets = self.problem.budgets
        chosen = self.partition.representatives
        others = np.setdiff1d(np.arange(len(self.partition.index)), chosen)
        same = chosen[self.partition.index[others]]
        return np.array_equal(budgets[others], budgets[same]) and np.array_equal(budgets[:, others], budgets[:, same])

    def lift(self, solution: ChannelSolution) -> Candidate:
        """Return the candidate for the problem, with the reductions that changed a size."""
        candidate = self.formulation.recover(self, solution)
        points = len(self.partition.index)
        merged = AppliedReduction("merged points", True, points, self.partition.size, "points at distance 0")
        records = (merged, *solution.reductions)
        return replace(candidate, reductions=tuple(one for one in records if one.before != one.after))

    def channel_of(self, solution: ChannelSolution) -> NDArray[np.float64]:
        """Return the channel `(n, m)` of the problem, given one of its program; SolveError where there is none."""
        if solution.channel is None:
            raise SolveError(solution.message)
        return self.partition.expand(solution.channel)


Array = NDArray[np.float64]


def classes_of_points(problem: Problem) -> tuple[Partition, Array]:
    """Return classes of points at distance (nearly) 0, one way or both, or by chains, and budgets εd between them.

    d(a, b) = 0 gives K[b, z] ≥ K[a, z] in every report, and both rows sum to 1, so that they are equal. As all rows
    of a class are, of the budgets between the members of two classes the least is the one that binds.
    """
    # With δ, distance 0 does not make rows equal: each point is a class of its own. Nor are points merged with pairs
    # of beliefs, which may give the members of a class different weights.
    if problem.delta or problem.beliefs is not None:
        return Partition(np.arange(len(problem.space))), problem.budgets
    partition = Partition.joining(problem.budgets <= ALIKE)
    budgets = partition.least(problem.budgets)
    np.fill_diagonal(budgets, 0.0)
    return partition, budgets


def dual_of_problem(dual: Dual | None, compiled: Compiled, shift: Array, costs: Array) -> Dual | None:
    """Return the dual of a problem from one of its program: carried from classes to points.

    The costs of the program are (C - shift) / scale, where C `(k, m)` are the sums over the points of each class of
    the costs c `(n, m)`, which have the prior or other weights of the points in them.
    """
    if dual is None:
        return None
    # 1. undo the scale and the shift of the costs: with costs C, the residuals of each class are its price or more
    # (what overflows is infinite or no number, and proves nothing)
    with np.errstate(over="ignore"):
        prices = shift + compiled.scale * dual.prices
        multiplier = compiled.scale * dual.multiplier
    partition = compiled.partition
    budgets = compiled.problem.budgets
    # where every class is a single point, the two may still be numbered in another order
    if partition.trivial:
        first = partition.representatives[dual.first]
        second = partition.representatives[dual.second]
        return Dual(prices[partition.index], dual.report, first, second, multiplier)
    # 2. a pair of classes is represented by its two closest members, whose budget is that of the classes, so that in
    #    each report the residuals of the members sum to that of the class; prices are 0 here and set in
    #    `_within_classes`
    if compiled.alike:
        first, second = (partition.representatives[classes] for classes in (dual.first, dual.second))
    else:
        first, second = (points[dual.first, dual.second] for points in partition.closest(budgets))
    lifted = Dual(np.zeros(len(partition.index)), dual.report, first, second, multiplier)
    with np.errstate(over="ignore", invalid="ignore"):
        return _within_classes(lifted, prices, costs, budgets, partition)


def _within_classes(dual: Dual, class_prices: Array, costs: Array, budgets: Array, partition: Partition) -> Dual:
    """Return the dual of the points, with multipliers within the classes, that proves the bound of the classes.

    Given is that in each report the residuals of the members of a class sum to the price of the class or more. But
    each point needs a residual of its own price or more. So the residual of every point but one, the root of its
    class, is made the same number in all reports, which is its price; what it was above or below that is moved to the
    root along distances of 0, which leaves the sums as they are. The price of the root is that of the class less the
    other ones, so that its residual is no less, and the prices of the class sum to its price.

    Distances that are only nearly 0, with budgets up to 2^-26, count as 0 here. The bound is then proven up to about
    2^-26 of the multipliers: whoever certifies it computes it again from λ.
    """
    # the residual c - A'λ of every point in every report, without multipliers within the classes
    back = dual.multiplier * np.exp(-budgets[dual.first, dual.second])
    residual = costs - totals((dual.second, dual.report), dual.multiplier, costs.shape)
    residual += totals((dual.first, dual.report), back, costs.shape)
    # A class is a tree of points at distance 0, one way or both. From the leaves on, so that a child has received all
    # from its own children, the difference of its residual and its price moves to its parent, report by report:
    # - where d(parent, child) is 0, by multipliers of (parent, child), which lower the child and raise the parent;
    #   being ≥ 0, they bring the child to its least residual over the reports;
    # - else d(child, parent) is 0: by those of (child, parent), which raise the child to its largest residual and
    #   lower the parent.
    prices = np.zeros(len(partition.index))
    reports = np.arange(residual.shape[1])
    entries: list[tuple[NDArray[Any], ...]] = [dual.entries]
    for which in np.flatnonzero(np.bincount(partition.index) > 1):
        members = partition.members(int(which))
        for child, parent in reversed(_tree_pairs(budgets, members)):
            lowered = budgets[parent, child] <= ALIKE
            first, second = (parent, child) if lowered else (child, parent)
            prices[child] = residual[child].min() if lowered else residual[child].max()
            moved = np.abs(residual[child] - prices[child])
            residual[parent] += residual[child] - prices[child]
            entries.append((reports, np.full(len(reports), first), np.full(len(reports), second), moved))
        prices[members[0]] = class_prices[which] - prices[members[1:]].sum()
    singles = np.bincount(partition.index)[partition.index] == 1
    prices[singles] = class_prices[partition.index][singles]
    return Dual(prices, *map(np.concatenate, zip(*entries, strict=True)))


def _tree_pairs(budgets: Array, members: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return (child, parent) pairs at distance (nearly) 0, one way or both, that join the members to the first one.

    In breadth-first order: each parent is the first member, or the child of an earlier pair.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    alike = csr_array(budgets[np.ix_(members, members)] <= ALIKE)
    reached, above = breadth_first_order(alike, 0, directed=False)
    return [(int(members[child]), int(members[above[child]])) for child in reached[1:]]
