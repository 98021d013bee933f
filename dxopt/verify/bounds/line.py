"""Bounds on lines: multipliers between neighbours that follow from row prices and a root for each report.

- c[x, z]: costs of report z in secret x, of which Σ c K is bounded from below; K: any private channel
- y(x): row prices, roots: a secret for each report; any of both prove a bound
- ρ: what is left of c - y at x in one report, with what has arrived there; λ: the multipliers that move it on

Statement, as in `multipliers`: for any prices y, Σ c K = Σ y + Σ (c - y) K, as rows of K sum to 1. In each report ρ
is moved from neighbour to neighbour towards the root:

- where ρ > 0 as λ = ρ on K[x, z] ≥ e^{-εd(next, x)} K[next, z], which adds ρ e^{-εd} to the next;
- where ρ < 0 as λ = |ρ| e^{εd(x, next)} on K[next, z] ≥ e^{-εd(x, next)} K[x, z], which takes λ off the next.

Both leave 0 at x. What is below 0 by no more than rounding of the prices stays where it is, as moving it would
magnify it. In the end each secret is worth its price and the least of what stays there.

Few costs are moved in integers, by `line_bound`; many in doubles, by `rough_line_bound`, where a double L ≤ ρ is
moved instead: that leaves ρ - L ≥ 0 behind, and what arrives grows with what is moved, so that lower bounds stay
lower bounds. A cost is a product, from which a price is taken and to which what has arrived is added: three
roundings, of which each is at most 2^-53 of |c| + |y| and the size of what has arrived; 4·2^-53 of these are taken
off, and 2 more of what is moved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.exact import BITS, HUGE, exp_bounds
from dxopt.verify.verdict import Unproved

Array = NDArray[np.float64]
_ROUNDING = (52, 48, 44, 40, 1 << 20)
"""Amounts below 0 count as rounding up to 2^-52 of their size, or 2^-48 and so on; with the last one none do."""
_UNIT = 2.0**-53
_NOISE = (32 * _UNIT, 8 * _UNIT, 256 * _UNIT)
"""The same for doubles, in the order in which they are tried."""
_NOTHING = 2.0**-1000
_FAR = 600
Rows = Sequence[Sequence[int]]
Steps = Sequence[Fraction]
Factors = tuple[list[float], list[float]]
Roots = NDArray[np.int64]


def line_bound(costs: Rows, prices: Sequence[int], roots: Sequence[int], ahead: Steps, back: Steps) -> int:
    """Return the best lower bound on Σ c K in the units of costs `(n, m)` and prices `(n,)`.

    `ahead` and `back` are ε times the distances between neighbours `(n - 1,)`, upwards and downwards.
    """
    _require_near(HUGE, [*ahead, *back])
    # c - y for each report, and the size of what it was computed from.
    left = [[cost - price for cost in row] for row, price in zip(costs, prices, strict=True)]
    columns = list(zip(*left, strict=True))
    sizes = [max(map(abs, row)) + abs(price) for row, price in zip(costs, prices, strict=True)]
    # Upper bounds on 2^128 e^{εd}: up[x] of the step from x to x + 1, down[x] of that from x to x - 1.
    up = [exp_bounds(step)[1] for step in ahead] + [0]
    down = [0] + [exp_bounds(step)[1] for step in back]
    # Any choice of what counts as rounding gives a bound, as it only decides what is moved: the best one is returned.
    found = []
    for shift in _ROUNDING:
        small = [size >> shift for size in sizes]
        least = [_gather_at_root(column, root, small, up, down) for column, root in zip(columns, roots, strict=True)]
        found.append(sum(prices) + sum(map(min, zip(*least, strict=True))))
    return max(found)


def _require_near(farthest: int, steps: Steps) -> None:
    """Unproved where a step is a larger budget than `farthest`, up to which e^{εd} can be computed."""
    if any(step > farthest for step in steps):
        raise Unproved(f"neighbours on the line are further apart than a budget of {farthest}")


def _gather_at_root(column: Sequence[int], root: int, small: list[int], up: list[int], down: list[int]) -> list[int]:
    """Return lower bounds on what stays at each point of a column c - y once all is moved to its root.

    What is below 0 by no more than `small` stays; `up` and `down` are upper bounds on e^{εd} to the neighbours.
    """
    rest = list(column)
    # From both ends to the root, so that whatever arrives at a point is moved on with what it has.
    for step, points in ((1, range(root)), (-1, range(len(rest) - 1, root, -1))):
        away, towards = (up, down) if step == 1 else (down, up)
        for x in points:
            over = rest[x]
            if -small[x] <= over < 0:
                continue
            # ρ > 0 arrives as ρ / e^{εd(next, x)}, ρ < 0 as ρ e^{εd(x, next)}: both with the upper bound on e^{εd},
            # and rounded down, so that no more arrives than what is moved.
            moved = (over << BITS) // towards[x + step] if over > 0 else (over * away[x]) >> BITS
            rest[x + step] += moved
            rest[x] = 0
    return rest


def rough_line_bound(
    prior: Array, losses: Callable[[int], Array], prices: Array, roots: Roots, steps: Steps, wanted: float
) -> Fraction:
    """Return a lower bound on Σ π l K by doubles, from rows of losses `(m,)`.

    Several choices of what counts as rounding are tried, until one gives `wanted` or more; else the best is returned.
    """
    _require_near(_FAR, steps)
    # Doubles above e^{εd}, by which what is below 0 grows, and below e^{-εd}, by which what is above 0 shrinks.
    enclosed = [exp_bounds(step) for step in steps]
    grow = [float(np.nextafter(float(Fraction(high, 1 << BITS)), np.inf)) for _, high in enclosed]
    shrink = [float(np.nextafter(float(Fraction(1 << BITS, high)), 0.0)) for _, high in enclosed]
    found = []
    for noise in _NOISE:
        found.append(_bound_in_doubles(prior, losses, prices, roots, (grow, shrink), noise))
        if found[-1] >= wanted:
            break
    return max(found)


def _bound_in_doubles(
    prior: Array, losses: Callable[[int], Array], prices: Array, roots: Roots, factors: Factors, noise: float
) -> Fraction:
    """Return the bound for one choice of what counts as rounding, `noise`: all reports at once, from both ends."""
    grow, shrink = factors
    size = len(prior)
    left = np.zeros(size)
    at_root = np.zeros(len(roots))
    for step in (1, -1):
        # Lower bounds on what has arrived at x in each report, from below and then from above.
        gathered = np.zeros(len(roots))
        for x in range(size)[::step]:
            here = np.flatnonzero(roots == x)
            # 1. A lower bound on ρ = c - y + what has arrived: each of its roundings is at most 2^-53 of `room`.
            cost = prior[x] * losses(x)
            room = np.abs(cost) + abs(prices[x]) + np.abs(gathered)
            # 2. At roots nothing is moved: the first pass keeps ρ there, and the second adds what it has gathered.
            if step == -1:
                arrived = at_root[here] + gathered[here]
                at_root[here] = arrived - 2 * _UNIT * (np.abs(at_root[here]) + np.abs(gathered[here])) - _NOTHING
            low = (cost - prices[x]) + gathered - (4 * _UNIT * room + _NOTHING)
            if step == 1:
                at_root[here] = low[here]
            # 3. This pass moves the reports whose root lies further on.
            active = roots > x if step == 1 else roots < x
            edge = x if step == 1 else x - 1
            if not 0 <= edge < size - 1:
                continue
            # 4. What is below 0 by rounding alone stays at x, in `left`, the least of all reports.
            stays = active & (low < 0) & (low > -(noise * room + _NOTHING))
            left[x] = min(left[x], float(np.min(low, where=stays, initial=0.0)))
            low[~active | stays] = 0.0
            # 5. All else is moved on: below 0 it grows, above 0 it shrinks, each time downwards past the roundings of
            #    the products.
            with np.errstate(over="ignore"):
                gathered = np.where(low < 0, low * grow[edge] * (1 + 2 * _UNIT), low * shrink[edge] * (1 - 2 * _UNIT))
    # Each secret is worth its price and the least of what stays; `fsum` rounds once, and what it rounds is taken off.
    np.minimum.at(left, roots, at_root)
    if not np.isfinite(left).all():  # an overflow proves nothing
        return Fraction(-(10**300))
    total = math.fsum([*prices.tolist(), *left.tolist()])
    return Fraction(total) - Fraction(abs(total)) / (1 << 52)
