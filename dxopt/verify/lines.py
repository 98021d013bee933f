"""Bounds on lines: multipliers between neighbours that follow from row prices and a root for each report.

Statement, as in `bounds`: for any prices y, Σ c K = Σ y + Σ (c - y) K, as rows of K sum to 1. In each report what is
left of c - y at x, ρ, is moved on towards the root: where ρ > 0 as λ = ρ on K[x, z] ≥ e^{-εd(next, x)} K[next, z],
which adds ρ e^{-εd} to the next; where ρ < 0 as λ = |ρ| e^{εd(x, next)} on K[next, z] ≥ e^{-εd(x, next)} K[x, z],
which takes λ off it. What is below 0 by no more than rounding of the prices stays where it is, as moving it would
magnify it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dxopt.verify.exact import BITS, power
from dxopt.verify.privacy import Levels
from dxopt.verify.verdict import Broken

_ROUNDING = (52, 48, 44, 40)
Rows = Sequence[Sequence[int]]


def line_bound(costs: Rows, prices: Sequence[int], roots: Sequence[int], levels: Levels) -> int:
    """A lower bound on Σ c K in the units of costs `(n, m)` and prices `(n,)`: best of what counts as rounding."""
    left = [[cost - price for cost in row] for row, price in zip(costs, prices, strict=True)]
    columns = list(zip(*left, strict=True))
    sizes = [max(map(abs, row)) + abs(price) for row, price in zip(costs, prices, strict=True)]
    up, down = _powers(levels, 1), _powers(levels, -1)
    found = []
    for shift in _ROUNDING:
        small = [size >> shift for size in sizes]
        least = [_gathered(column, root, small, up, down) for column, root in zip(columns, roots, strict=True)]
        found.append(sum(prices) + sum(map(min, zip(*least, strict=True))))
    return max(found)


def _powers(levels: Levels, step: int) -> list[int]:
    """2^128 e^{εd(x, next)} or more, from each x to the next one upwards or downwards; 0 at the end."""
    places = np.arange(len(levels.bound))
    inside = places[:-1] if step == 1 else places[1:]
    if not levels.bound[inside, inside + step].all():
        raise Broken("distances: neighbours on the line are at infinite distance")
    found = [0] * len(places)
    for x in inside.tolist():
        found[x] = power(levels.exponents[levels.which[x, x + step]])[1]
    return found


def _gathered(column: Sequence[int], root: int, small: list[int], up: list[int], down: list[int]) -> list[int]:
    """Lower bounds on what stays at each place of a column once all is moved to its root."""
    rest = list(column)
    for step, places in ((1, range(root)), (-1, range(len(rest) - 1, root, -1))):
        away, towards = (up, down) if step == 1 else (down, up)
        for x in places:
            over = rest[x]
            if -small[x] <= over < 0:
                continue
            moved = (over << BITS) // towards[x + step] if over > 0 else (over * away[x]) >> BITS
            rest[x + step] += moved
            rest[x] = 0
    return rest
