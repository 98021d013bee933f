"""The truncated geometric mechanism: its weights, the level it takes, and where it does not exist."""

from __future__ import annotations

import math
import sys

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.classic.catalogue import geometric
from dxopt.mechanisms.kernel import KernelMechanism
from dxopt.mechanisms.noise import Geometric
from tests.judges.exact import violations
from tests.material.checks import weights


def by_hand(numbers: list[float], rate: float) -> np.ndarray:
    """The mechanism on ascending numbers, entry by entry."""
    last = len(numbers) - 1
    matrix = np.zeros((last + 1, last + 1))
    for z, number in enumerate(numbers):
        p = [math.exp(-rate * (number - numbers[z - 1]))] if z > 0 else []
        p += [math.exp(-rate * (numbers[z + 1] - number))] if z < last else []
        weight = 1 / (1 + p[0]) if len(p) == 1 else (1 - p[0] * p[1]) / ((1 + p[0]) * (1 + p[1]))
        matrix[:, z] = [math.exp(-rate * abs(x - number)) * weight for x in numbers]
    return matrix


def test_a_line_of_three() -> None:
    p = 0.5
    expected = [
        [1 / (1 + p), (1 - p) / (1 + p) * p, p * p / (1 + p)],
        [p / (1 + p), (1 - p) / (1 + p), p / (1 + p)],
        [p * p / (1 + p), (1 - p) / (1 + p) * p, 1 / (1 + p)],
    ]
    assert geometric(dx.line(3), epsilon=math.log(2)).matrix == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("numbers", [[0.0, 1.0], [0.0, 1.0, 2.0, 3.0, 4.0], [-3.0, -2.5, 0.0, 4.0]])
def test_on_a_line_it_is_the_tight_mechanism(numbers: list[float], epsilon: float) -> None:
    space = dx.MetricSpace.from_points(numbers)
    mechanism = geometric(space, epsilon=epsilon)
    problem = dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), loss="binary")
    assert mechanism.matrix == pytest.approx(by_hand(numbers, epsilon), abs=1e-12)
    assert mechanism.matrix == pytest.approx(dx.tight_constraints(space, epsilon).matrix, abs=1e-10)
    assert mechanism.matrix == pytest.approx(dx.solve(problem, method="tight").mechanism.matrix, abs=1e-10)


def test_with_a_remap_it_is_optimal_on_a_line() -> None:
    space = dx.MetricSpace.from_points([0.0, 1.0, 1.5, 3.0, 4.0])
    prior = weights(space)
    best = dx.solve(dx.Problem(space, epsilon=0.6, prior=prior), method="optimal")
    assert dx.evaluate.adversary_error(geometric(space, epsilon=0.6), prior) == pytest.approx(
        best.certificate.value, abs=1e-6
    )


def test_the_order_of_the_points_does_not_matter() -> None:
    order = [2, 0, 3, 1]
    shuffled = dx.MetricSpace.from_points([[0.0, 3.0, 1.0, 1.5][i] for i in order])
    straight = dx.MetricSpace.from_points([0.0, 3.0, 1.0, 1.5])
    expected = geometric(straight, epsilon=1.0).matrix[np.ix_(order, order)]
    assert geometric(shuffled, epsilon=1.0).matrix == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("metric", "share"), [("manhattan", 1.0), ("euclidean", 1 / math.sqrt(2)), ("chebyshev", 0.5)]
)
def test_a_grid_coordinate_by_coordinate(metric: str, share: float) -> None:
    space = dx.grid((3, 4), spacing=2.0, metric=metric)
    mechanism = geometric(space, epsilon=0.4)
    first, second = (by_hand([2.0 * i for i in range(size)], 0.4 * share) for size in (3, 4))
    assert mechanism.matrix == pytest.approx(np.kron(first, second), abs=1e-12)
    assert mechanism.privacy is not None
    assert mechanism.privacy.epsilon == pytest.approx(0.4, rel=1e-9)


def test_a_sum_query_by_its_labels() -> None:
    adjacent = nx.Graph((i, j) for i in range(8) for j in range(i + 1, min(i + 4, 8)))
    space = dx.MetricSpace.from_graph(adjacent)
    expected = by_hand([float(label) for label in range(8)], 0.9 / 3)
    order = [int(label) for label in space.labels]
    assert geometric(space, epsilon=0.9).matrix == pytest.approx(expected[np.ix_(order, order)], abs=1e-12)


def test_asymmetric_distances_count_in_their_smaller_direction() -> None:
    distances = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    one_way = np.where(np.tri(4, dtype=bool), distances, 2 * distances)
    mechanism = geometric(dx.MetricSpace.from_distances(one_way), epsilon=0.8)
    assert mechanism.matrix == pytest.approx(by_hand([0.0, 1.0, 2.0, 3.0], 0.8), abs=1e-12)
    assert violations(mechanism.matrix, one_way, 0.8) == []


def test_nothing_to_hide_is_told_as_it_is() -> None:
    apart = np.full((3, 3), np.inf)
    np.fill_diagonal(apart, 0.0)
    assert np.array_equal(geometric(dx.MetricSpace.from_distances(apart), epsilon=1.0).matrix, np.eye(3))
    assert np.array_equal(geometric(dx.line(1), epsilon=1.0).matrix, np.eye(1))


def test_positions_take_the_place_of_labels() -> None:
    grid = dx.grid((2, 3), metric="manhattan")
    space = dx.MetricSpace.from_distances(grid.distances, labels="abcdef")
    expected = geometric(grid, epsilon=0.5).matrix
    assert geometric(space, epsilon=0.5, positions=grid.points).matrix == pytest.approx(expected, abs=1e-12)
    with pytest.raises(dx.UnsupportedError, match="needs numbers for coordinates or labels; give positions"):
        geometric(space, epsilon=0.5)


@pytest.mark.parametrize("positions", [[0, 1], ["a", "b", "c"], [0, 1, np.nan]])
def test_positions_that_are_none(positions: list) -> None:
    with pytest.raises(dx.SpecError) as caught:
        geometric(dx.line(3), epsilon=1.0, positions=positions)
    assert caught.value.field == "positions"


@pytest.mark.parametrize(
    "points", [[[0, 0], [0, 1], [1, 0]], [[0, 0], [1, 1]], [[0], [1], [1]], [[0, 0], [0, 0], [1, 1], [1, 1]]]
)
def test_no_full_grid(points: list) -> None:
    with pytest.raises(dx.UnsupportedError, match="needs points on a line, all different, or a full grid of points"):
        geometric(dx.MetricSpace.from_points(points), epsilon=1.0)


@pytest.mark.parametrize(("epsilon", "step", "last"), [(0.7, 1.0, 5), (0.3, 2.5, 3), (4.0, 0.1, 8), (1.0, 1.0, 1)])
def test_on_the_multiples_of_a_step_it_is_that_of_the_figure(epsilon: float, step: float, last: int) -> None:
    """CABP13, Figure 2 (iv), with q[0..k]: its e^{qe} over e^{qe} + 1 at the ends, e^{qe} - 1 over it between."""
    factor = math.exp(step * epsilon)
    matrix = geometric(dx.line(last + 1, step=step), epsilon=epsilon).matrix
    assert dx.tight_constraints(dx.line(last + 1, step=step), epsilon).matrix == pytest.approx(matrix, abs=1e-12)
    for y in range(last + 1):
        for z in range(last + 1):
            scale = (factor if z in (0, last) else factor - 1) / (factor + 1)
            assert matrix[y, z] == pytest.approx(scale * math.exp(-epsilon * step * abs(y - z)), rel=1e-11)


def test_it_is_unbounded_noise_cut_off_at_the_ends() -> None:
    epsilon, step, last = 0.4, 1.5, 6
    noise, beyond = Geometric(epsilon, step), np.arange(1, 200)
    matrix = geometric(dx.line(last + 1, step=step), epsilon=epsilon).matrix
    for y in range(last + 1):
        expected = noise.mass(np.arange(last + 1) - y)
        expected[0] += noise.mass(-beyond - y).sum()
        expected[last] += noise.mass(last + beyond - y).sum()
        assert matrix[y] == pytest.approx(expected, abs=1e-13)
        assert matrix[y, 0] == pytest.approx(noise.cdf(-y), abs=1e-13)


def test_it_needs_the_whole_level() -> None:
    space = dx.line(5)
    assert violations(geometric(space, epsilon=0.7).matrix, space.distances, 0.99 * 0.7) != []


@pytest.mark.parametrize("uneven", [False, True])
def test_many_points_on_a_line_are_not_written_down(uneven: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["dxopt.mechanisms.classic.geometric"], "IMPLICIT_FROM", 60)
    numbers = np.cumsum(1.0 + np.arange(60) % 7 * uneven)[::-1]
    space = dx.MetricSpace.from_points(numbers)
    mechanism = geometric(space, epsilon=0.2)
    assert isinstance(mechanism, KernelMechanism)
    assert mechanism.name == "geometric mechanism"
    assert mechanism.matrix == pytest.approx(by_hand(numbers[::-1].tolist(), 0.2)[::-1, ::-1], abs=1e-10)
    assert violations(mechanism.matrix, space.distances, 0.2) == []
    assert violations(mechanism.matrix, space.distances, 0.99 * 0.2) != []
    few = geometric(dx.MetricSpace.from_points(numbers[:59]), epsilon=0.2)
    assert not isinstance(few, KernelMechanism)


def test_many_points_too_close_for_that_are_written_down() -> None:
    mechanism = geometric(dx.line(1_000, step=1e-9), epsilon=1.0)
    assert not isinstance(mechanism, KernelMechanism)
    assert mechanism.matrix[:, 0] == pytest.approx(0.5 * np.ones(1_000), abs=1e-5)


def test_very_many_points() -> None:
    mechanism = geometric(dx.line(200_000, step=0.5), epsilon=0.1)
    row = mechanism.row(index=100_000)
    assert row[100_000:100_004] == pytest.approx(math.tanh(0.025) * np.exp(-0.05 * np.arange(4)), rel=1e-8)
