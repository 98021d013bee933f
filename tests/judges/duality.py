"""What multipliers prove, in rationals: an independent judge of bounds that imports nothing from dxopt.

For costs c[x, z] and multipliers λ ≥ 0 on K[b, z] ≥ e^{-t(a, b)} K[a, z], any private K has

    Σ c K ≥ Σ_x min_z r[x, z] - δ Σ_(a, b) e^{-t(a, b)} max_z λ(a, b, z),
    r[x, z] = c[x, z] - Σ_a λ(a, x, z) + Σ_b λ(x, b, z) e^{-t(x, b)}.

The numbers returned are at most 2^-150 relative above that: whoever claims more claims what is not proven.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

from tests.judges.exact import exp_enclosure

Rows = Sequence[Sequence[Fraction]]
_BITS = 256


def products(weights: Iterable[float], rows: Iterable[Iterable[float]]) -> list[list[Fraction]]:
    """w(x) l(x, z) of doubles."""
    return [
        [Fraction(weight) * Fraction(number) for number in row] for weight, row in zip(weights, rows, strict=True)
    ]


@lru_cache(maxsize=10_000)
def grown(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals below and above e^t."""
    return exp_enclosure(exponent, _BITS)


def by_multipliers(
    costs: Rows,
    exponents: Rows,
    triples: Iterable[tuple[int, int, int, float]],
    delta: Fraction = Fraction(0),
) -> Fraction:
    """The right side above, for triples (z, a, b, λ) that may repeat each other."""
    rest = [list(row) for row in costs]
    together: dict[tuple[int, int], dict[int, Fraction]] = {}
    for z, a, b, amount in triples:
        multiplier = Fraction(amount)
        low, _ = grown(exponents[a][b])
        rest[b][z] -= multiplier
        rest[a][z] += multiplier / low
        by_report = together.setdefault((a, b), {})
        by_report[z] = by_report.get(z, Fraction(0)) + multiplier
    lost = sum(
        (max(some.values()) / grown(exponents[a][b])[1] for (a, b), some in together.items()), start=Fraction(0)
    )
    return sum(map(min, rest), start=Fraction(0)) - delta * lost


def on_line(
    costs: Rows,
    prices: Iterable[float],
    roots: Sequence[int],
    ahead: Sequence[Fraction],
    back: Sequence[Fraction] | None = None,
) -> Fraction:
    """The right side for the multipliers of neighbours that leave 0 everywhere but at the root of each report.

    Each report takes its prices off its costs. What is left moves on from both ends to its root: what is above 0
    times e^{-t}, with t from there to here, and what is below times e^t, with t from here to there. `ahead` has t
    from each point to the next one, `back` from the next one to it, by default alike.
    """
    worth = list(map(Fraction, prices))
    up = [grown(step)[0] for step in ahead]
    down = [grown(step)[0] for step in ahead if back is None] + [grown(step)[0] for step in back or ()]
    stays: list[list[Fraction]] = [[] for _ in worth]
    for z, root in enumerate(roots):
        arrived = Fraction(0)
        for points in (range(root), range(len(worth) - 1, root, -1)):
            moved = Fraction(0)
            for x in points:
                away, towards = (up[x], down[x]) if x < root else (down[x - 1], up[x - 1])
                moved += costs[x][z] - worth[x]
                moved = moved / towards if moved > 0 else moved * away
                stays[x].append(Fraction(0))
            arrived += moved
        stays[root].append(costs[root][z] - worth[root] + arrived)
    return sum(worth, start=Fraction(0)) + sum(map(min, stays), start=Fraction(0))
