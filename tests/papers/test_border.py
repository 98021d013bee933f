"""ECP14 Corollary 3 fails on the border of the regular priors: an exact counterexample."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.spec import load
from tests.judges import systems
from tests.judges.systems import Row
from tests.material.files import PROBLEMS

EDGES = [(0, 1), (0, 5), (0, 6), (1, 2), (1, 4), (2, 3), (2, 5), (3, 4), (4, 5), (5, 6)]
POINTS, BORDER = range(7), 5


def solved(matrix: list[Row], right: Row) -> Row:
    """The solution of a regular system, exactly."""
    found = systems.solved(matrix, right)
    assert found is not None
    return found


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


def test_six_points_are_enough() -> None:
    """K₃,₃ with e^{-ε} = 2/3 for each edge and one more of 17/27: μ is 0 on one side, and 1/180 is slack there.

    What is slack goes to the next report of that side. Again no remap is tight, as reports stand for one point each,
    and the only tight mechanism never says that side.
    """
    six, power = range(6), Fraction(2, 3)
    phi = [[Fraction(x == y) or (power**2 if (x < 3) == (y < 3) else power) for y in six] for x in six]
    phi[3][4] = phi[4][3] = Fraction(17, 27)
    assert all(phi[x][y] * phi[y][z] <= phi[x][z] for x, y, z in itertools.product(six, repeat=3))
    weights = solved(phi, [Fraction(1)] * 6)
    assert weights == [*[Fraction(0)] * 3, Fraction(9, 20), Fraction(9, 20), Fraction(3, 5)]
    diagonal = [*[Fraction(1, 20)] * 3, Fraction(81, 200), Fraction(81, 200), Fraction(27, 50)]
    matrix = [[phi[y][z] * diagonal[z] for z in six] for y in six]
    for y in range(3):
        assert sum(matrix[y]) == 1 - Fraction(1, 180)
        matrix[y][(y + 1) % 3] += Fraction(1, 180)
    assert all(sum(row) == 1 and min(row) > 0 for row in matrix)
    assert all(phi[x][y] * matrix[y][z] <= matrix[x][z] for x, y, z in itertools.product(six, repeat=3))
    assert sum(matrix[y][y] for y in six) == sum(weights) == Fraction(3, 2)
    assert all(matrix[z][z] > matrix[y][z] for y, z in itertools.permutations(six, 2))
    (task,) = load(PROBLEMS / "corrections-ecp14-corollary-3.yaml")
    space = task.problem.space
    order = [space.labels.index(name) for name in "abcdef"]
    written = np.exp(-space.distances)[np.ix_(order, order)]
    assert written == pytest.approx(np.array(phi, dtype=float), rel=1e-14)
    found = dx.Mechanism.from_matrix(space, np.array(matrix, dtype=float)[np.argsort(order)][:, np.argsort(order)])
    assert dx.evaluate.utility(found, dx.Prior.uniform(space)) == pytest.approx(0.25, abs=1e-15)
    assert dx.evaluate.smallest_epsilon(found) == pytest.approx(1.0, rel=1e-12)
    assert dx.regularity.is_optimal_on_region(found, 1.0 + 1e-12).status == "not optimal"
