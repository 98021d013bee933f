"""Lines: the truncated geometric mechanism with its optimal remap, and prices that prove it optimal.

With Φ[x, i] = e^{-εd(x, i)} and Φw = 1, report i of K = Φ·diag(w) is best replaced by the z that attains
b_i = min_z Σ_x π_x l(x, z) Φ[x, i]. The value is then Σ w_i b_i, which is also the sum of the row prices y = Φ⁻¹b.
Where the loss grows with the distance the prices are dual feasible, so that no private channel does better (Ghosh,
Roughgarden and Sundararajan 2009); whatever the loss is, `line_bound` proves how good they are. Everything takes
O(nm) time, by blocks of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import UnsupportedError
from dxopt.mechanisms.kernel import (
    PAIRED_POINTS,
    KernelMechanism,
    costs_of_reports,
    epsilon_of_base,
    epsilon_of_weights,
    kernel_mechanism,
    remapped,
)
from dxopt.model.mechanism import post_processed
from dxopt.model.problem import Problem
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.duals import LineDual
from dxopt.solving.reductions.chain import Reduced
from dxopt.spaces.kernels import ROOM, Path
from dxopt.spaces.kernels.systems import system
from dxopt.spaces.lattices import coordinates_of_line, line_steps

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
NAME = "line: truncated geometric mechanism with optimal remap"
WITHOUT_REMAP = "line: truncated geometric mechanism"
TO_SOME = "line: truncated geometric mechanism with the best remap to some of the reports"
NOTE = (
    "n weights and a remap are optimal where the loss grows with the distance (Ghosh, Roughgarden and Sundararajan "
    "2009); proven here by their own dual"
)
_LARGEST_BUDGET = 1e300
"""Larger products of a level and a distance count as this one, so that none overflows."""
_TIED = 1e-13
"""Costs of reports that differ by less than this part are taken as equal."""
_SOON_CELLS = 5_000_000
"""Pairs of secrets and reports that a solve which was stopped goes through all the same."""


@dataclass(frozen=True, eq=False)
class LineOptimum:
    """The optimum of a line: the remap `(n,)` to reports, and the point whose report costs least if always given."""

    table: Indices
    safest: int
    dual: LineDual


def on_line(whole: Problem, *, written: bool) -> Reduced[Problem] | str:
    """Return the problem itself, with a `lift` from the answer of `best_remap` to a mechanism; or why it has none.

    The mechanism is a matrix where it is to be `written`; otherwise it is implicit, at a level lowered by a hair.
    """
    size = len(whole.space)
    if coordinates_of_line(whole.space) is None:
        return "the space is no line"
    if whole.variables > PAIRED_POINTS**2 or size > PAIRED_POINTS:
        return f"would go through {whole.variables:,} pairs, over the limit of {PAIRED_POINTS**2:,}"
    if not np.isfinite(line_steps(whole.space)).all():
        return "some points are further apart than doubles can say"
    record = AppliedReduction("line", True, whole.variables, size, NOTE, "variables")

    def as_matrix(found: LineOptimum) -> Candidate:
        """Return the mechanism with its remap written out."""
        kernel = np.exp(-whole.budgets)
        weights = np.maximum(system(whole.space, whole.epsilon).approximate(np.ones(size)), 0.0)
        channel = post_processed(kernel * weights, found.table, whole.shape[1])
        return Candidate(channel, found.dual, "exact", NAME)

    if written:
        return Reduced(whole, as_matrix, (record,))
    try:
        base = _geometric(whole)
    except UnsupportedError as error:
        return error.wrong

    def implicit(found: LineOptimum) -> Candidate:
        """Return the mechanism without a matrix; what its rows lack of 1 goes to the report of the safest point."""
        mechanism = remapped(replace(base, slack=found.safest), found.table, whole.reports, whole.epsilon)
        return Candidate(mechanism, found.dual, "exact", NAME)

    return Reduced(whole, implicit, (record,))


def _geometric(problem: Problem) -> KernelMechanism:
    """Return the truncated geometric mechanism Φ'·diag(w), private at a level ε' at which it can be remapped.

    Rounding of weights and products needs room as well: Φ' has a still lower level in the place of ε.
    """
    space = problem.space
    epsilon = epsilon_of_base(space, problem.epsilon)
    lowered = epsilon_of_weights(space, epsilon, system(space, epsilon))
    kernel = system(space, lowered)
    weights = np.maximum(kernel.approximate(np.ones(len(space))), 0.0)
    return replace(kernel_mechanism(space, epsilon, kernel, lowered, weights), name="truncated geometric")


def quick_candidate(problem: Problem) -> Candidate:
    """Return a candidate for a solve that was stopped, without looking at all pairs: the best remap to some reports.

    Where the mechanism without any remap costs no more, it is that one.
    Half of those reports are where the prior has its mass, the others spread evenly over all.
    """
    prior = problem.prior.probabilities
    base = _geometric(problem)
    size, count = problem.shape
    some = max(1, _SOON_CELLS // size)
    if some < count:
        places = (np.arange(some) + 0.5) / some
        mass = 0.5 * prior.cumsum() + 0.5 * np.arange(1, size + 1) / size
        secrets = np.minimum(np.searchsorted(mass, places), size - 1)
        near = secrets if problem.reports.secrets else problem.loss.rows(secrets).argmin(axis=1)
        reports = np.unique(near)
    else:
        reports = np.arange(count)
    along = coordinates_of_line(problem.space)
    assert along is not None
    # (n, k): what the k reports cost in place of each output of the mechanism
    costs = costs_of_reports(Path(along, base.epsilon, 0.0), base.weights, prior, problem.loss, reports)
    best = costs.argmin(axis=1)
    value = float(costs[np.arange(size), best].sum())
    if problem.reports.secrets and base.structured(problem.loss) and base.cost(prior, problem.loss) <= value:
        return Candidate(base, route=WITHOUT_REMAP)
    mechanism = remapped(base, reports[best], problem.reports, problem.epsilon)
    return Candidate(mechanism, route=TO_SOME)


def best_remap(problem: Problem, should_stop: Callable[[], bool], tell: Callable[[str], None]) -> LineOptimum | None:
    """Return the optimal remap of the truncated geometric mechanism on a line and its prices, or None if stopped."""
    along = coordinates_of_line(problem.space)
    if along is None:
        raise UnsupportedError("space", "is no line", "use method: optimal")
    # e^{-εd} from each point to the next one; none underflows
    factors = np.exp(-problem.epsilon * np.minimum(line_steps(problem.space), ROOM / problem.epsilon))
    starts: list[Array] = []
    # 1. forward: Σ_{x' ≤ x} e^{-εd(x', x)} π_x' l(x', z) for all reports z, of which only the sum before each block
    #    is kept; and for each report the secret where it costs least, and its cost if it is always given
    ahead = np.zeros(problem.shape[1])
    cheapest = np.zeros(problem.shape[1], np.int64)
    least = np.full(problem.shape[1], np.inf)
    totals = np.zeros(problem.shape[1])
    tell("optimal remap on the line, pass 1 of 2")
    for rows, costs in problem.cost_blocks():
        if should_stop():
            return None
        starts.append(ahead)
        ahead = _running_sums(costs, factors, rows, ahead)[-1].copy()
        _note_cheapest(costs, rows, least, cheapest)
        totals += costs.sum(axis=0)
    # 2. backward: the same sums again, with those from the other side; the least over z is b_x, at its best remap; of
    #    remaps that are as good, a secret that is its own report stays
    behind = np.zeros(problem.shape[1])
    best = np.zeros(len(problem.space))
    least_at = np.zeros(len(problem.space), np.int64)
    table = np.zeros(len(problem.space), np.int64)
    tell("optimal remap on the line, pass 2 of 2")
    for (rows, costs), start in zip(problem.cost_blocks(backwards=True), reversed(starts), strict=True):
        if should_stop():
            return None
        sums = _running_sums(costs, factors, rows, start)
        for row in range(len(rows) - 1, -1, -1):
            x = int(rows[row])
            sums[row] += behind
            behind = (costs[row] + behind) * (factors[x - 1] if x else 0.0)
        least_at[rows] = sums.argmin(axis=1)
        best[rows] = sums[np.arange(len(rows)), least_at[rows]]
        table[rows] = least_at[rows]
        if problem.reports.secrets:
            stays = sums[np.arange(len(rows)), rows] <= best[rows] + _TIED * np.abs(best[rows])
            table[rows[stays]] = rows[stays]
    # 3. row prices y = Φ⁻¹b
    prices = Path(along, problem.epsilon, 0.0).approximate(best)
    level = min(problem.epsilon, _LARGEST_BUDGET / max(1.0, float(np.abs(along).max())))
    roots = _central_points(least_at, best, level * along, cheapest)
    return LineOptimum(table, int(totals[table].argmin()), LineDual(prices, roots))


def _running_sums(costs: Array, factors: Array, rows: Indices, start: Array) -> Array:
    """Return Σ_{x' ≤ x} e^{-εd(x', x)} costs[x'], `(k, m)`, from the sum at the point before the first row."""
    sums = np.empty_like(costs)
    carry = start
    for row, x in enumerate(rows.tolist()):
        carry = costs[row] + carry * (factors[x - 1] if x else 0.0)
        sums[row] = carry
    return sums


def _note_cheapest(costs: Array, rows: Indices, least: Array, cheapest: Indices) -> None:
    """Note in place, for each report, the secret of a block where it costs least, if less than in blocks before.

    Costs count relative to the mean of the secret's: `least` is the least ratio so far, `cheapest` its secret.
    """
    mean = costs.mean(axis=1, keepdims=True)
    relative = np.where(mean > 0, costs / np.where(mean > 0, mean, 1.0), np.inf)
    which = relative.argmin(axis=0)
    found = relative[which, np.arange(len(which))]
    better = found < least
    least[better] = found[better]
    cheapest[better] = rows[which[better]]


def _central_points(table: Indices, best: Array, along: Array, cheapest: Indices) -> Indices:
    """Return the root of each report: a central point of those remapped to it; without any, where it costs least.

    Rounding at x is about b_x and may grow by e^{εd(x, r)} on the way to the root r. The largest product is least
    where the largest ln b_x + ε(x - r) and ln b_x - ε(x - r) are equal. `table` is the report of each point, `best`
    is b, and `along` are coordinates times ε; `cheapest` is the point where each report costs least.
    """
    roots = cheapest.copy()
    order = np.argsort(table, kind="stable")
    used, first = np.unique(table[order], return_index=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(best > 0, np.log(best), -1e300)  # a point with b_x = 0 has no rounding to count
    for report, points in zip(used.tolist(), np.split(order, first[1:]), strict=True):
        ahead = (worth[points] + along[points]).max()
        behind = (worth[points] - along[points]).max()
        roots[report] = points[np.abs(along[points] - 0.5 * (ahead - behind)).argmin()]
    return roots
