"""Linear algebra on fractions: what solves a system, and whether something of no negative entry does.

An independent judge, as `exact`: it imports nothing from the package it judges.
"""

from __future__ import annotations

from fractions import Fraction

Row = list[Fraction]


def feasible(matrix: list[Row], right: Row) -> bool:
    """Whether some μ ≥ 0 has matrix · μ = right > 0: phase one of the simplex method on fractions (Bland)."""
    size = len(right)
    units = [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]
    table = [[*row, *unit, b] for row, unit, b in zip(matrix, units, right, strict=True)]
    basis = list(range(size, 2 * size))
    cost = [-sum((row[j] for row in table), Fraction(0)) for j in range(2 * size + 1)]
    for j in range(size, 2 * size):
        cost[j] += 1
    while True:
        entering = next((j for j in range(2 * size) if cost[j] < 0), None)
        if entering is None:
            return cost[-1] == 0
        ratios = [(row[-1] / row[entering], basis[i], i) for i, row in enumerate(table) if row[entering] > 0]
        leaving = min(ratios)[2]
        pivot = [entry / table[leaving][entering] for entry in table[leaving]]
        table[leaving], basis[leaving] = pivot, entering
        for row in (*(r for i, r in enumerate(table) if i != leaving), cost):
            factor = row[entering]
            if factor:
                row[:] = [a - factor * b for a, b in zip(row, pivot, strict=True)]


def solved(matrix: list[Row], right: Row) -> Row | None:
    """The solution of a system by exact elimination, or None where the matrix is singular."""
    table = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for column in range(len(table)):
        found = next((i for i in range(column, len(table)) if table[i][column]), None)
        if found is None:
            return None
        table[column], table[found] = table[found], table[column]
        table[column] = [entry / table[column][column] for entry in table[column]]
        for i, row in enumerate(table):
            if i != column and row[column]:
                table[i] = [a - row[column] * b for a, b in zip(row, table[column], strict=True)]
    return [row[-1] for row in table]
