"""Hard numbers: every channel that is returned passes the exact judge, and raw solver answers do not."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array, eye_array, kron

import dxopt as dx
from tests.judges.exact import infinite_leakage, violations
from tests.material.checks import assert_proven, weights
from tests.material.few import few

LINES = [
    *[(20, width) for width in (1.0, 8.0, 24.0, 60.0)],
    *[(40, width) for width in (1.0, 20.0, 60.0)],
    *[(80, width) for width in (1.0, 24.0, 60.0)],
]


@pytest.mark.parametrize("solver", ["clarabel", "highs"])
@pytest.mark.parametrize(("size", "width"), LINES)
def test_lines(size: int, width: float, solver: str) -> None:
    space = dx.line(size)
    problem = dx.Problem(space, epsilon=width / (size - 1), prior=weights(space))
    report = dx.solve(problem, method="optimal", solver=solver)
    assert_proven(report)
    assert report.status == "optimal"


@pytest.mark.parametrize("width", [1.0, 24.0, 60.0])
def test_long_lines(width: float) -> None:
    space = dx.line(160)
    problem = dx.Problem(space, epsilon=width / 159, prior=dx.Prior.uniform(space))
    report = dx.solve(problem, method="optimal", solver="clarabel")
    assert_proven(report)
    assert report.status == "optimal"


def test_long_line_tight() -> None:
    space = dx.line(160)
    problem = dx.Problem(space, epsilon=0.3, prior=dx.Prior.uniform(space), loss="binary")
    report = dx.solve(problem)
    assert_proven(report)
    assert report.route == "tight-constraints mechanism"
    assert report.certificate.gap <= 1e-9


@pytest.mark.parametrize("seed", few(range(4)))
def test_random_euclidean(seed: int) -> None:
    generator = np.random.default_rng(seed)
    space = dx.MetricSpace.from_points(generator.random((22, 2)) * 10)
    problem = dx.Problem(space, epsilon=[0.3, 1.0, 2.0, 5.0][seed], prior=weights(space))
    assert_proven(dx.solve(problem))


@pytest.mark.parametrize("seed", range(3))
def test_weighted_graphs(seed: int) -> None:
    graph = nx.gnm_random_graph(18, 40, seed=seed)
    generator = np.random.default_rng(seed)
    for _, _, attributes in graph.edges(data=True):
        attributes["length"] = float(generator.random() * 4)
    space = dx.MetricSpace.from_graph(graph, "length")
    report = dx.solve(dx.Problem(space, epsilon=1.3, prior=weights(space), loss="binary"), method="optimal")
    assert_proven(report)
    assert report.status == "optimal"


@pytest.mark.parametrize("seed", few(range(4)))
def test_directed_graphs(seed: int) -> None:
    graph = nx.gnp_random_graph(14, 0.25, seed=seed, directed=True)
    generator = np.random.default_rng(seed)
    for _, _, attributes in graph.edges(data=True):
        attributes["length"] = float(generator.random() * 3 + 0.1)
    space = dx.MetricSpace.from_graph(graph, "length")
    assert not space.symmetric
    loss = generator.random((14, 14))
    report = dx.solve(dx.Problem(space, epsilon=2.0, prior=weights(space), loss=loss))
    assert_proven(report)
    assert report.status == "optimal"


def two_islands(size: int) -> dx.MetricSpace:
    line = dx.line(size).distances
    distances = np.full((2 * size, 2 * size), np.inf)
    distances[:size, :size] = distances[size:, size:] = line
    return dx.MetricSpace.from_distances(distances)


@pytest.mark.parametrize("solver", ["clarabel", "highs"])
def test_islands(solver: str) -> None:
    space = two_islands(5)
    positions = np.arange(10.0)
    for loss in ("binary", np.abs(positions[:, None] - positions[None, :]), positions[:, None] * [[1.0, -1.0]]):
        problem = dx.Problem(space, epsilon=0.7, prior=weights(space), loss=loss)
        report = dx.solve(problem, method="optimal", solver=solver)
        assert_proven(report)
        assert report.status == "optimal"


def test_islands_are_as_good_as_each_alone() -> None:
    space, alone = two_islands(5), dx.line(5)
    both = dx.solve(dx.Problem(space, epsilon=0.7, prior=dx.Prior.uniform(space), loss="binary"))
    one = dx.solve(dx.Problem(alone, epsilon=0.7, prior=dx.Prior.uniform(alone), loss="binary"))
    assert both.certificate.value == pytest.approx(one.certificate.value, abs=1e-9)


@pytest.mark.parametrize("solver", ["clarabel", "highs"])
def test_points_at_distance_zero(solver: str) -> None:
    places = np.array([0.0, 0.0, 1.0, 2.5, 2.5, 2.5, 4.0])
    space = dx.MetricSpace.from_points(places)
    report = dx.solve(dx.Problem(space, epsilon=1.1, prior=weights(space)), solver=solver)
    assert_proven(report)
    assert report.status == "optimal"
    matrix = report.mechanism.matrix
    assert np.array_equal(matrix[0], matrix[1])
    assert np.array_equal(matrix[3], matrix[4])
    assert np.array_equal(matrix[4], matrix[5])


@pytest.mark.parametrize("seed", few(range(6)))
def test_zero_in_one_direction_only(seed: int) -> None:
    generator = np.random.default_rng(seed)
    lengths = generator.random((7, 7)) * 2 + 0.05
    lengths[generator.random((7, 7)) < 0.3] = np.inf
    for a, b in ((0, 1), (2, 3), (3, 4)):
        lengths[a, b] = 0.0
        lengths[b, a] = 1.5 if seed % 2 else np.inf
    np.fill_diagonal(lengths, 0.0)
    space = dx.MetricSpace.from_distances(lengths, close=True)
    assert space.distances[0, 1] == 0 < space.distances[1, 0]
    problem = dx.Problem(space, epsilon=1.0, prior=weights(space), loss=generator.random((7, 5)) - 0.3)
    report = dx.solve(problem)
    assert_proven(report)
    assert report.status == "optimal"
    assert np.array_equal(report.mechanism.matrix[0], report.mechanism.matrix[1])
    assert np.array_equal(report.mechanism.matrix[2], report.mechanism.matrix[4])


@pytest.mark.parametrize("loss", ["distance", "binary"])
@pytest.mark.parametrize("places", [[1, 0, 1, 3, 0, 1], [1, 1e-300, 1, 0, 2, 1], [1, 1e-17, 1, 1e-9, 5, 1e-300]])
def test_priors_with_next_to_nothing(places: list[float], loss: str) -> None:
    space = dx.line(6)
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.from_weights(space, places), loss=loss))
    assert_proven(report)
    assert report.status == "optimal"


@pytest.mark.parametrize("loss", ["distance", "binary"])
@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 1e-8, 1e-4, 30.0, 1e3, 1e300])
def test_extreme_levels(epsilon: float, loss: str) -> None:
    space = dx.line(6)
    assert_proven(dx.solve(dx.Problem(space, epsilon=epsilon, prior=weights(space), loss=loss)))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("loss", ["distance", "binary"])
@pytest.mark.parametrize("epsilon", [1e-300, 1e110, 1e306])
@pytest.mark.parametrize(
    "space",
    [
        dx.line(3),
        dx.grid((3, 3)),
        dx.line(3, step=1e10),
        dx.grid((3, 3), spacing=1e10),
        dx.grid((3, 3), metric="manhattan", spacing=1e10),
        dx.MetricSpace.from_points([[0, 0], [1e10, 2], [3e12, 1], [2, 2.5]]),
    ],
    ids=str,
)
def test_levels_at_both_ends_overflow_nowhere(space: dx.MetricSpace, epsilon: float, loss: str) -> None:
    report = dx.solve(dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), loss=loss))
    assert_proven(report)
    assert report.explanation
    assert str(report)


@pytest.mark.parametrize("apart", [4e-16, 1e-13, 1e-12, 1e-11, 1e-9, 1e-7, 1e-5])
def test_points_next_to_each_other(apart: float) -> None:
    """Closeness must not cost anything: the optimum moves continuously as two points meet."""
    together = dx.MetricSpace.from_points([0.0, 1.0, 1.0, 2.0])
    nearly = dx.MetricSpace.from_points([0.0, 1.0, 1.0 + apart, 2.0])
    limit = dx.solve(dx.Problem(together, epsilon=1.0, prior=dx.Prior.uniform(together)))
    report = dx.solve(dx.Problem(nearly, epsilon=1.0, prior=dx.Prior.uniform(nearly)), method="optimal")
    assert_proven(report)
    assert report.status == "optimal"
    assert report.certificate.value == pytest.approx(limit.certificate.value, abs=1e-6 + 2 * apart)


@pytest.mark.parametrize("scale", [1e-200, 1e-6, 1e6, 1e200])
def test_units_of_the_loss_do_not_matter(scale: float) -> None:
    space = dx.line(5)
    plain = dx.solve(dx.Problem(space, epsilon=1.0, prior=weights(space)))
    scaled = dx.solve(dx.Problem(space, epsilon=1.0, prior=weights(space), loss=scale * space.distances))
    assert_proven(scaled)
    assert scaled.certificate.value == pytest.approx(scale * plain.certificate.value, rel=1e-6)


@pytest.mark.parametrize("loss", [np.zeros((5, 3)), np.zeros((5, 5)), np.ones((5, 1))])
def test_nothing_to_choose(loss: np.ndarray) -> None:
    space = dx.line(5)
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=weights(space), loss=loss))
    assert_proven(report)
    assert report.certificate.value == pytest.approx(loss.max(), abs=1e-12)
    assert report.status == "optimal"


def test_a_secret_that_is_known_costs_nothing() -> None:
    space = dx.line(5)
    prior = dx.Prior.from_weights(space, [0, 0, 1, 0, 0])
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=prior))
    assert_proven(report)
    assert report.certificate.value == pytest.approx(0.0, abs=1e-9)
    assert report.status == "optimal"


def raw_channel(size: int, epsilon: float) -> np.ndarray:
    """What HiGHS calls optimal on a line with edges only, clipped at 0 and normalised."""
    places = np.arange(size)
    costs = np.abs(places[:, None] - places[None, :]) / size
    first = np.concatenate([places[:-1], places[1:]])
    second = np.concatenate([places[1:], places[:-1]])
    rows = np.arange(len(first))
    up = coo_array((np.full(len(rows), np.exp(-epsilon / 2)), (rows, first)), shape=(len(rows), size))
    down = coo_array((np.full(len(rows), -np.exp(epsilon / 2)), (rows, second)), shape=(len(rows), size))
    found = linprog(
        costs.ravel(),
        A_ub=kron(up + down, eye_array(size), format="csr"),
        b_ub=np.zeros(len(rows) * size),
        A_eq=kron(eye_array(size), np.ones((1, size)), format="csr"),
        b_eq=np.ones(size),
        method="highs-ds",
    )
    assert found.success
    channel = np.maximum(found.x.reshape(size, size), 0.0)
    return channel / channel.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("size", "epsilon"), [(40, 0.5), (60, 0.5), (20, 2.0)])
def test_raw_solver_answers_fail_the_same_check(size: int, epsilon: float) -> None:
    channel = raw_channel(size, epsilon)
    distances = dx.line(size).distances
    assert violations(channel, distances, epsilon) != []


def test_raw_solver_answers_leak_without_bound() -> None:
    channel = raw_channel(60, 0.5)
    assert infinite_leakage(channel, dx.line(60).distances) != []


def test_losses_next_to_nothing_end() -> None:
    """Two points at a budget of 25: the least loss is 1.4e-11, below what solvers of linear programs can tell."""
    space = dx.line(2)
    problem = dx.Problem(space, epsilon=25.0, prior=dx.Prior.uniform(space), loss="binary")
    report = dx.solve(problem, method="optimal", solver="highs", time_limit=60)
    assert report.status in ("optimal", "feasible")
    assert report.certificate.bound <= 1 / (1 + np.exp(25.0)) * (1 + 1e-9) <= report.certificate.value * (1 + 1e-9)
