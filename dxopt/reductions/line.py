"""Lines: the truncated geometric mechanism with its optimal remap, and prices that prove it optimal.

With Φ[x, i] = e^{-εd(x, i)} and Φw = 1, report i of K = Φ·diag(w) is best replaced by the z that attains
b_i = min_z Σ_x π_x l(x, z) Φ[x, i]. The value is then Σ w_i b_i, which is also the sum of the row prices y = Φ⁻¹b.
Where the loss grows with the distance the prices are dual feasible, so that no private channel does better (Ghosh,
Roughgarden and Sundararajan 2009); whatever the loss is, `line_bound` proves how good they are. Everything takes
O(nm) time, by blocks of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import UnsupportedError
from dxopt.problem import Problem
from dxopt.rounding import SMALLEST, UNIT, factor_below
from dxopt.solvers.weighting import ROOM, Path
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Places = NDArray[np.int64]
_STEPS_AT_ONCE = 64
_BLOCK_CELLS = 2_000_000
_NOISE = 32 * UNIT
_NOTHING = 64 * SMALLEST


@dataclass(frozen=True, eq=False)
class LineDual:
    """What proves a bound on a line; the multipliers follow from it.

    Attributes
    ----------
    prices : (n,) array
        Row prices y.
    roots : (m,) array
        For each report the secret at which what is left of its reduced cost is gathered.
    """

    prices: Array
    roots: Places


@dataclass(frozen=True, eq=False)
class LineOptimum:
    """The optimum of a line.

    Attributes
    ----------
    table : (n,) array
        The remap, from places to reports.
    safest : int
        The place whose report costs least if it is always given.
    dual : LineDual
    """

    table: Places
    safest: int
    dual: LineDual


def coordinates_of_line(space: MetricSpace) -> Array | None:
    """The coordinate `(n,)` along which the points of a line are sorted, or None where the space is no line.

    A grid with one axis of more than one point is a line.
    """
    kind, long = space.structure.kind, [axis for axis, size in enumerate(space.structure.shape) if size > 1]
    if space.points is None or not (kind == "path" or (kind == "lattice" and len(long) < 2)):
        return None
    return space.points[:, long[0] if long else 0]


def line_steps(space: MetricSpace) -> Array:
    """The distances `(n - 1,)` between neighbours, as the space gives them."""
    starts = range(0, len(space) - 1, _STEPS_AT_ONCE)
    blocks = (np.arange(start, min(start + _STEPS_AT_ONCE, len(space) - 1)) for start in starts)
    return np.concatenate([np.zeros(0), *(space.block(at, at + 1).diagonal() for at in blocks)])


def best_on_line(
    problem: Problem, should_stop: Callable[[], bool], tell: Callable[[str], None]
) -> LineOptimum | None:
    """The optimal remap of the truncated geometric mechanism and its prices, or None if stopped.

    Parameters
    ----------
    problem : Problem
        On a line of n secrets with m reports.
    should_stop : callable
        Asked once a block.
    tell : callable
        Given a line of text for each pass.

    Raises
    ------
    UnsupportedError
        If the space is no line.
    """
    line = coordinates_of_line(problem.space)
    if line is None:
        raise UnsupportedError("space", "is no line", "use method: optimal")
    factors = np.exp(-np.minimum(problem.epsilon * line_steps(problem.space), ROOM))
    starts: list[Array] = []
    ahead, places = np.zeros(problem.shape[1]), np.zeros(problem.shape[1], np.int64)
    least, totals = np.full(problem.shape[1], np.inf), np.zeros(problem.shape[1])
    tell("line: costs from one side")
    for rows, costs in _blocks(problem):
        if should_stop():
            return None
        starts.append(ahead)
        ahead = _summed(costs, factors, rows, ahead)[-1].copy()
        _cheapest(costs, rows, least, places)
        totals += costs.sum(axis=0)
    behind = np.zeros(problem.shape[1])
    best, table = np.zeros(len(problem.space)), np.zeros(len(problem.space), np.int64)
    tell("line: best remap")
    for (rows, costs), start in zip(_blocks(problem, backwards=True), reversed(starts), strict=True):
        if should_stop():
            return None
        sums = _summed(costs, factors, rows, start)
        for place in range(len(rows) - 1, -1, -1):
            x = int(rows[place])
            sums[place] += behind
            behind = (costs[place] + behind) * (factors[x - 1] if x else 0.0)
        table[rows] = sums.argmin(axis=1)
        best[rows] = sums[np.arange(len(rows)), table[rows]]
    prices = Path(line, problem.epsilon, 0.0).approximate(best)
    return LineOptimum(
        table, int(totals[table].argmin()), LineDual(prices, _roots(table, best, problem.epsilon * line, places))
    )


def line_bound(problem: Problem, dual: LineDual) -> float:
    """A proven lower bound on the expected loss of every private channel on a line, from prices of any quality.

    Weak duality (see `duality`) with the constraints between neighbours alone. In the column of report z
    the reduced costs r = π·l(·, z) - y are eliminated one by one from both ends towards the root of z: what has
    gathered at x moves on along the step of length d as λ = ρ on v_x ≥ e^{-εd} v_next where ρ > 0, and as
    λ = |ρ|e^{εd} on v_next ≥ e^{-εd} v_x where ρ < 0, which is the best that multipliers can do. Instead of ρ a
    double L below it is moved, with every rounding counted against it; moving less leaves a residual of 0 or more
    behind. Where L < 0 is but rounding, or e^{εd} overflows, L stays at x. The bound is Σ y plus, for each x, the
    least of 0, what stays there, and what gathers at roots there: what arrives grows with what is moved, so that
    lower bounds stay lower bounds.
    """
    at_root, left = np.zeros(len(dual.roots)), np.zeros(len(problem.space))
    shrink = factor_below(problem.epsilon, line_steps(problem.space))
    with np.errstate(divide="ignore"):
        grow = np.where(shrink > 0, (1 + 4 * UNIT) / shrink, np.inf)
    for backwards in (False, True):
        gathered = np.zeros(len(dual.roots))
        for rows, costs in _blocks(problem, backwards=backwards):
            for place in range(len(rows))[:: -1 if backwards else 1]:
                x = int(rows[place])
                here = dual.roots == x
                if backwards:
                    at_root[here] = _below(at_root[here], gathered[here], np.abs(at_root[here]))
                    active = dual.roots < x
                    step = x - 1
                else:
                    active = dual.roots >= x
                    step = x
                price = dual.prices[x]
                size = np.abs(costs[place]) + abs(price)
                low = _below(costs[place] - price, gathered, size)
                if not backwards:
                    at_root[here] = low[here]
                    active = active & ~here
                if not active.any():
                    continue
                least = _NOISE * (size + np.abs(gathered)) + _NOTHING if grow[step] < np.inf else np.inf
                noise = (low < 0) & (low > -least)
                left[x] = min(left[x], float(np.min(low, where=active & noise, initial=0.0)))
                moved = np.where(active & ~noise, low, 0.0)
                with np.errstate(over="ignore"):
                    gathered = moved * np.where(moved < 0, grow[step] if grow[step] < np.inf else 0.0, shrink[step])
    np.minimum.at(left, dual.roots, at_root)
    if not np.isfinite(left).all():
        return -math.inf
    total = math.fsum([*dual.prices.tolist(), *left.tolist()])
    return total - 4 * UNIT * abs(total)


def _below(number: Array, other: Array, size: Array) -> Array:
    """A lower bound on the sum of two numbers: the first rounded up to three times from terms of a total `size`."""
    return number + other - (8 * UNIT * (size + np.abs(other)) + SMALLEST)


def _blocks(problem: Problem, *, backwards: bool = False) -> Iterator[tuple[Places, Array]]:
    """Secrets, some at a time, and their costs π_x l(x, z), `(k, m)`."""
    size, reports = problem.shape
    step = max(math.isqrt(size) + 1, _BLOCK_CELLS // reports)
    prior = problem.prior.probabilities
    for start in range(0, size, step)[:: -1 if backwards else 1]:
        rows = np.arange(start, min(start + step, size))
        with np.errstate(invalid="ignore"):
            costs = prior[rows, None] * problem.loss.rows(rows)
        costs[prior[rows] == 0] = 0.0
        yield rows, costs


def _summed(costs: Array, factors: Array, rows: Places, start: Array) -> Array:
    """Σ_{x' ≤ x} e^{-εd(x', x)} costs[x'], `(k, m)`, from the sum at the point before the first row."""
    sums, carry = np.empty_like(costs), start
    for place, x in enumerate(rows.tolist()):
        carry = costs[place] + carry * (factors[x - 1] if x else 0.0)
        sums[place] = carry
    return sums


def _cheapest(costs: Array, rows: Places, least: Array, places: Places) -> None:
    """Note for each report the secret for which it costs least, against the mean of the secret's costs."""
    mean = costs.mean(axis=1, keepdims=True)
    relative = np.where(mean > 0, costs / np.where(mean > 0, mean, 1.0), np.inf)
    which = relative.argmin(axis=0)
    found = relative[which, np.arange(len(which))]
    better = found < least
    least[better], places[better] = found[better], rows[which[better]]


def _roots(table: Places, best: Array, along: Array, cheapest: Places) -> Places:
    """Of the places that a report stands for a central one; for one never used, the secret where it costs least.

    Rounding at x is about b_x and may grow by e^{εd(x, r)} on the way to the root r. The largest product is least
    where the largest ln b_x + ε(x - r) and ln b_x - ε(x - r) are equal. `along` are coordinates times ε.
    """
    roots = cheapest.copy()
    order = np.argsort(table, kind="stable")
    used, first = np.unique(table[order], return_index=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(best > 0, np.log(best), -1e300)
    for report, places in zip(used.tolist(), np.split(order, first[1:]), strict=True):
        ahead, behind = (worth[places] + along[places]).max(), (worth[places] - along[places]).max()
        roots[report] = places[np.abs(along[places] - 0.5 * (ahead - behind)).argmin()]
    return roots
