"""Linear programs in rationals, and what refinement means: exact, and without a line of the package that it judges.

The simplex method on a tableau of fractions, by Bland's rule, which never cycles. For small programs alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Row = list[Fraction]


def maximum(gain: Sequence[Fraction], rows: Sequence[Sequence[Fraction]], most: Sequence[Fraction]) -> Fraction:
    """The maximum of gain·v over v ≥ 0 with rows·v ≤ most, where most is 0 or more and the maximum is finite."""
    size = len(rows)
    tableau: list[Row] = [
        [*map(Fraction, row), *(Fraction(i == j) for j in range(size)), Fraction(side)]
        for i, (row, side) in enumerate(zip(rows, most, strict=True))
    ]
    basis = [len(gain) + i for i in range(size)]
    reduced: Row = [*map(Fraction, gain), *[Fraction(0)] * (size + 1)]
    while True:
        entering = next((j for j, amount in enumerate(reduced[:-1]) if amount > 0), None)
        if entering is None:
            return -reduced[-1]
        ratios = [(row[-1] / row[entering], basis[i], i) for i, row in enumerate(tableau) if row[entering] > 0]
        leaving = min(ratios)[2]
        pivot = tableau[leaving][entering]
        tableau[leaving] = [entry / pivot for entry in tableau[leaving]]
        for row in [*(row for i, row in enumerate(tableau) if i != leaving), reduced]:
            factor = row[entering]
            if factor:
                row[:] = [a - factor * b for a, b in zip(row, tableau[leaving], strict=True)]
        basis[leaving] = entering


def fractions(matrix: Matrix) -> list[Row]:
    """Doubles as the rationals that they are."""
    return [[Fraction(entry) for entry in row] for row in np.asarray(matrix).tolist()]


def shortfall(better: Matrix, worse: Matrix) -> Fraction:
    """min over channels R of max_x Σ_w max(0, B[x, w] - (AR)[x, w]), by the dual program.

    max Σ y·B - Σ_z u_z over y, u, θ ≥ 0 with Σ_x y[x, w] A[x, z] ≤ u_z, y[x, w] ≤ θ_x and Σ θ ≤ 1. It is 0 exactly
    where B = AR for a channel R.
    """
    one, other = fractions(better), fractions(worse)
    n, a, b = len(one), len(one[0]), len(other[0])
    total = n * b + a + n
    gain = [other[x][w] for x in range(n) for w in range(b)] + [Fraction(-1)] * a + [Fraction(0)] * n
    rows: list[Row] = []
    for z in range(a):
        for w in range(b):
            row = [Fraction(0)] * total
            for x in range(n):
                row[x * b + w] = one[x][z]
            row[n * b + z] = Fraction(-1)
            rows.append(row)
    for x in range(n):
        for w in range(b):
            row = [Fraction(0)] * total
            row[x * b + w] = Fraction(1)
            row[n * b + a + x] = Fraction(-1)
            rows.append(row)
    rows.append([Fraction(0)] * (n * b + a) + [Fraction(1)] * n)
    return maximum(gain, rows, [Fraction(0)] * (len(rows) - 1) + [Fraction(1)])


def advantage(better: Matrix, worse: Matrix, gains: Matrix) -> Fraction:
    """(Σ_w max_y (Y'B)[y, w] - Σ_z max_y (Y'A)[y, z]) / Σ_x max_y Y[x, y]."""
    return (gained(worse, gains) - gained(better, gains)) / sum(max(row) for row in fractions(gains))


def gained(channel: Matrix, gains: Matrix) -> Fraction:
    """Σ_z max_y Σ_x Y[x, y] K[x, z]."""
    entries, worth = fractions(channel), fractions(gains)
    guesses = range(len(worth[0]))
    return sum(
        (
            max(sum((worth[x][y] * entries[x][z] for x in range(len(worth))), Fraction(0)) for y in guesses)
            for z in range(len(entries[0]))
        ),
        Fraction(0),
    )


def missing(better: Matrix, worse: Matrix, remap: Matrix) -> Fraction:
    """max_x Σ_w max(0, B[x, w] - Σ_z A[x, z] R[z, w])."""
    one, other, through = fractions(better), fractions(worse), fractions(remap)
    short = []
    for row, wanted in zip(one, other, strict=True):
        made = [sum((p * r[w] for p, r in zip(row, through, strict=True)), Fraction(0)) for w in range(len(wanted))]
        short.append(sum((max(Fraction(0), aim - got) for aim, got in zip(wanted, made, strict=True)), Fraction(0)))
    return max(short)
