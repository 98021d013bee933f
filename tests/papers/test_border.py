"""ECP14 Corollary 3 fails on the border of the regular priors: an exact counterexample."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np

import dxopt as dx

EDGES = [(0, 1), (0, 5), (0, 6), (1, 2), (1, 4), (2, 3), (2, 5), (3, 4), (4, 5), (5, 6)]
POINTS, BORDER = range(7), 5
Row = list[Fraction]


def solved(matrix: list[Row], right: Row) -> Row:
    """The solution of a regular system, exactly."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for place in range(len(rows)):
        pivot = next(k for k in range(place, len(rows)) if rows[k][place])
        rows[place], rows[pivot] = rows[pivot], rows[place]
        rows[place] = [value / rows[place][place] for value in rows[place]]
        for k in range(len(rows)):
            if k != place:
                rows[k] = [a - rows[k][place] * b for a, b in zip(rows[k], rows[place], strict=True)]
    return [row[-1] for row in rows]


def kernel() -> list[Row]:
    """Φ: 13/20 per edge of a graph, and one edge a little longer, so that a point has the weight 0."""
    steps = dict(nx.all_pairs_shortest_path_length(nx.Graph(EDGES)))
    phi = [[Fraction(13, 20) ** steps[x][y] for y in POINTS] for x in POINTS]
    phi[5][6] = phi[6][5] = Fraction(3332327, 5129200)
    return phi


def mechanism(phi: list[Row], weights: Row) -> list[Row]:
    """Rows are tight but for that of the point of weight 0, where 1/100 goes to a report that bears it."""
    less = solved(phi, [Fraction(int(y == BORDER)) for y in POINTS])
    diagonal = [weight - one / 100 for weight, one in zip(weights, less, strict=True)]
    matrix = [[phi[y][z] * diagonal[z] for z in POINTS] for y in POINTS]
    others = [y for y in POINTS if y != BORDER]
    room = [min(matrix[y][z] / phi[BORDER][y] - matrix[BORDER][z] for y in others) for z in POINTS]
    matrix[BORDER][room.index(max(room))] += Fraction(1, 100)
    return matrix


def test_optimal_for_the_uniform_prior_and_not_tight() -> None:
    """The uniform prior is regular, with μ = 0 at one point: what is slack there costs nothing, and Φ is indefinite.

    So a private mechanism attains Σμ for the uniform prior (Theorem 2), and no remap of it is tight: reports are the
    most likely for one point each, so that any remap that changes something is worse.
    """
    phi = kernel()
    assert all(phi[x][y] * phi[y][z] <= phi[x][z] for x, y, z in itertools.product(POINTS, repeat=3))
    weights = solved(phi, [Fraction(1)] * 7)
    assert [y for y in POINTS if weights[y] <= 0] == [BORDER]
    assert weights[BORDER] == 0
    matrix = mechanism(phi, weights)
    assert all(sum(row) == 1 and min(row) >= 0 for row in matrix)
    assert all(phi[x][y] * matrix[x][z] <= matrix[y][z] for x, y, z in itertools.product(POINTS, repeat=3))
    assert sum(matrix[y][y] for y in POINTS) == sum(weights)
    assert all(matrix[z][z] > matrix[y][z] for y, z in itertools.permutations(POINTS, 2))
    assert matrix[BORDER][BORDER] > Fraction(1, 10) > weights[BORDER]


def test_the_library_says_the_same() -> None:
    phi = kernel()
    matrix = mechanism(phi, solved(phi, [Fraction(1)] * 7))
    space = dx.MetricSpace.from_distances([[-math.log(value) for value in row] for row in phi])
    uniform = dx.Prior.uniform(space)
    found = dx.Mechanism.from_matrix(space, np.array(matrix, dtype=float))
    best = dx.solve(dx.Problem(space, epsilon=1.0, prior=uniform, loss="binary"), method="optimal").certificate
    assert abs(1 - dx.evaluate.utility(found, uniform) - best.bound) < 1e-6
    assert dx.regularity.is_optimal_on_region(found, 1.0).status == "not optimal"
    assert np.linalg.eigvalsh(dx.regularity.phi(space, 1.0)).min() < -0.01
