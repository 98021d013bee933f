"""Reductions: one chain that applies them in order and lifts the solution in reverse.

Merging points that are at distance 0 in one direction only can leave a way round that is shorter than the direct one;
column generation relies on the triangle inequality. A constraint along a path follows from those of its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.tropical import implied, product
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.duals import Dual
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution

Smaller = TypeVar("Smaller")


@dataclass(frozen=True, eq=False)
class Reduced(Generic[Smaller]):
    """Something smaller to solve, and the way back.

    Attributes
    ----------
    smaller : ChannelProgram, or problems
    lift : callable
        From a solution of the smaller one to one of the whole. It changes nothing in the value.
    records : tuple of AppliedReduction
        What was applied, whether it is exact, and what it saved or costs.
    """

    smaller: Smaller
    lift: Callable[[Any], Any]
    records: tuple[AppliedReduction, ...]


Reduction = Callable[[ChannelProgram], Reduced[ChannelProgram] | str]
"""Makes a program smaller, or says why there is nothing to gain."""


def reduce(program: ChannelProgram, *reductions: Reduction) -> Reduced[ChannelProgram]:
    """Apply reductions one after another, leaving out those that gain nothing; lift solutions in reverse order."""
    smaller = program
    applied: list[Reduced[ChannelProgram]] = []
    for reduction in reductions:
        found = reduction(smaller)
        if isinstance(found, Reduced):
            applied.append(found)
            smaller = found.smaller
    records = tuple(record for found in applied for record in found.records)

    def lift(solution: ChannelSolution) -> ChannelSolution:
        for found in reversed(applied):
            solution = found.lift(solution)
        return replace(solution, reductions=(*records, *solution.reductions))

    return Reduced(smaller, lift, records)


def geodesic_pairs(whole: ChannelProgram) -> Reduced[ChannelProgram] | str:
    """Remove each pair (a, b) with some c strictly between: d(a, c) + d(c, b) ≤ d(a, b). It follows from those two.

    The sum is compared up to 1e-12 relative, so that metrics in floating point count as geodesic; the channel
    is proven on all pairs afterwards, which makes that harmless. On graph and Manhattan metrics only the edges
    remain. Takes O(k³) time in O(k²) memory.
    """
    kept = np.where(implied(whole.budgets), np.inf, whole.budgets)
    np.fill_diagonal(kept, 0.0)
    smaller = whole.with_budgets(kept)
    before = len(whole.pairs[0])
    after = len(smaller.pairs[0])
    if before == after:
        return "no point lies between two others"
    record = AppliedReduction("geodesic pairs", True, before, after, "implied by points in between")
    return Reduced(smaller, lambda solution: solution, (record,))


SLACK = 1e-12
"""Ways round that are shorter by less, relatively, are so by rounding."""


def shortest_paths(whole: ChannelProgram) -> Reduced[ChannelProgram] | str:
    """Replace budgets by the lengths of shortest paths, as column generation needs the triangle inequality."""
    from scipy.sparse.csgraph import floyd_warshall

    factors = np.exp(-whole.budgets)
    if not (product(factors, factors) > factors * (1 + SLACK)).any():
        return "no way round is shorter, up to 1e-12"
    lengths, before = floyd_warshall(whole.budgets, return_predecessors=True)
    smaller = whole.with_budgets(lengths)

    def lift(solution: ChannelSolution) -> ChannelSolution:
        """Carry multipliers of paths back to the pairs along them."""
        dual = solution.dual
        return solution if dual is None else replace(solution, dual=_dual_of_steps(dual, whole.budgets, before))

    pairs = len(whole.pairs[0]), len(smaller.pairs[0])
    record = AppliedReduction("shortest paths", True, *pairs, "paths of several pairs")
    return Reduced(smaller, lift, (record,))


def _dual_of_steps(dual: Dual, budgets: NDArray[np.float64], before: NDArray[np.int32]) -> Dual:
    """Return multipliers of steps instead of paths: λ(v_b - E_ab v_a) = λ(v_b - E_pb v_p) + λE_pb (v_p - E_ap v_a).

    Here E = e^{-d}, with d the length of a path or step, and p = before[a, b] is the last stop before b on a shortest
    path from a. Multipliers of pairs that no path joins prove nothing and are left out.
    """
    joined = before[dual.first, dual.second] >= 0
    report, first, second, multiplier = (entry[joined] for entry in dual.entries)
    # from the end of all paths backwards, one step a pass, until the last stop is the start
    found: list[tuple[NDArray[Any], ...]] = [(report[:0], first[:0], second[:0], multiplier[:0])]
    while len(report):
        stop = before[first, second].astype(np.int64)
        found.append((report, stop, second, multiplier))
        on = stop != first
        multiplier = (multiplier * np.exp(-budgets[stop, second]))[on]
        report = report[on]
        first = first[on]
        second = stop[on]
    return Dual(dual.prices, *map(np.concatenate, zip(*found, strict=True)))
