"""Fewer rows, for a bound on the optimum: some points bear the costs of the others.

For a point x and a seed s the cone says v_x ≥ E v_s in every column v, with E = e^{-d(s, x)}. Costs are 0 or more, so
that a program in which seeds bear E c_z(x) in each report z, and x costs nothing, has an optimum that is no greater;
its columns have entries at the seeds alone. Which seed bears a cost may be chosen for each report. Columns fall from
the point r at which their report costs least, about as e^{-d(r, ·)}, so it is the one that is next to x on the way
there: the seed of largest E e^{-d(r, s)}. What the bound lacks is then of x near r, where costs are small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.duals import Dual
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution
from dxopt.solving.reductions.chain import Reduced

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
_NEAREST = 8
"""Seeds near a point of which one bears its cost."""


def fewer_rows(whole: ChannelProgram, count: int) -> Reduced[ChannelProgram]:
    """Return the program of so many seeds, whose bound is one of the whole; its channels are none of the whole.

    The budgets are to fulfil the triangle inequality; rows have no classes, and nothing else couples the columns. A
    solution is lifted to the dual of the whole, without a channel.
    """
    bearers = _Bearers.of(whole, count)
    seeds = bearers.seeds
    costs = np.ascontiguousarray(whole.costs[seeds])
    for report, bearer, shares in bearers.of_reports():
        borne = shares * whole.costs[bearers.others, report]
        costs[:, report] += np.bincount(bearer, borne, minlength=len(seeds))
    smaller = ChannelProgram(costs, np.ascontiguousarray(whole.budgets[np.ix_(seeds, seeds)]), offset=whole.offset)
    before = len(whole.costs)
    record = AppliedReduction(
        "fewer rows", False, before, len(seeds), "near rows bear the others, for the bound alone"
    )

    def lift(solution: ChannelSolution) -> ChannelSolution:
        status = Status.FEASIBLE if solution.status is Status.OPTIMAL else solution.status
        dual = solution.dual
        return replace(solution, status=status, channel=None, dual=dual and bearers.dual_of_whole(dual, whole.costs))

    return Reduced(smaller, lift, (record,))


@dataclass(frozen=True, eq=False)
class _Bearers:
    """The seeds, in increasing order, and what may bear the costs of other rows.

    Attributes
    ----------
    near : (_NEAREST, o) array
        For each other point the seeds nearest to it, by their place among the seeds.
    shares : (_NEAREST, o) array
        E of these.
    from_roots : (m, k) array
        e^{-d(r, s)} from the point r where each report costs least to each seed.
    """

    seeds: Indices
    others: Indices
    near: Indices
    shares: Array
    from_roots: Array

    @classmethod
    def of(cls, whole: ChannelProgram, count: int) -> _Bearers:
        """Choose seeds, the next one being that whose cost the bound lacks most."""
        # 1. seeds: what is borne of a column that falls from x itself is E² of its cost
        sizes = whole.costs.mean(axis=1)
        lacking = sizes.copy()
        chosen = np.zeros(len(sizes), dtype=bool)
        for _ in range(count):
            seed = int(np.where(chosen, -1.0, lacking).argmax())
            chosen[seed] = True
            lacking = np.minimum(lacking, sizes * -np.expm1(-2 * whole.budgets[seed]))
        seeds, others = np.flatnonzero(chosen), np.flatnonzero(~chosen)

        # 2. the seeds near other points, and E of them
        to_others = whole.budgets[np.ix_(seeds, others)]
        kept = min(_NEAREST, count)
        near = np.argpartition(to_others, kept - 1, axis=0)[:kept]
        shares = np.exp(-np.take_along_axis(to_others, near, axis=0))

        # 3. the roots of reports
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(sizes[:, None] > 0, whole.costs / sizes[:, None], np.inf)
        return cls(seeds, others, near, shares, np.exp(-whole.budgets[relative.argmin(axis=0)][:, seeds]))

    def of_reports(self) -> Iterator[tuple[int, Indices, Array]]:
        """Yield each report, the seed that bears each other point in it, and E of the two."""
        every = np.arange(len(self.others))
        for report, from_root in enumerate(self.from_roots):
            best = (self.shares * from_root[self.near]).argmax(axis=0)
            yield report, self.near[best, every], self.shares[best, every]

    def dual_of_whole(self, dual: Dual, costs: Array) -> Dual:
        """Return the dual of the whole: prices of other points are 0, and their costs are moved to seeds."""
        prices = np.zeros(len(costs))
        prices[self.seeds] = dual.prices
        own, size, reports = len(dual.report), len(self.others), costs.shape[1]
        entries = tuple(np.empty(own + reports * size, one.dtype) for one in dual.entries)
        report, first, second, multiplier = entries
        report[:own], multiplier[:own] = dual.report, dual.multiplier
        first[:own], second[:own] = self.seeds[dual.first], self.seeds[dual.second]
        for which, bearer, _ in self.of_reports():
            rows = slice(own + which * size, own + (which + 1) * size)
            report[rows], first[rows], second[rows] = which, self.seeds[bearer], self.others
            multiplier[rows] = costs[self.others, which]
        return Dual(prices, report, first, second, multiplier)
