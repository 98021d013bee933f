"""One contract for every mechanism known in closed form, and for the functions that make them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.classic.catalogue import CLASSICS
from dxopt.model.mechanism import MatrixMechanism
from dxopt.solving.routes.choice import METHODS
from tests.judges.exact import row_sum_errors, violations
from tests.material.checks import assert_proven
from tests.material.classics import EXAMPLES

FUNCTIONS = {name: getattr(dx.classic, name) for name in CLASSICS}

SPACES = {
    "line": dx.line(5),
    "two": dx.line(2),
    "uneven": dx.MetricSpace.from_points([0.0, 3.0, 1.0, 1.5]),
    "categories": dx.MetricSpace.from_points(list("abcd"), "discrete"),
    "sums": dx.MetricSpace.from_distances(-(-np.abs(np.subtract.outer(np.arange(12), np.arange(12))) // 5)),
    "euclidean": dx.grid((3, 3)),
    "manhattan": dx.grid((3, 3), metric="manhattan"),
    "chebyshev": dx.grid((3, 3), metric="chebyshev"),
    "rectangle": dx.grid((2, 5)),
    "large": dx.grid((20, 20)),
    "scattered": dx.MetricSpace.from_points([[0.0, 0.0], [1.0, 0.3], [0.2, 2.0], [3.0, 1.0]]),
    "collinear": dx.MetricSpace.from_points([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]]),
    "cube": dx.grid((2, 3, 2)),
    "tree": dx.MetricSpace.from_graph(nx.balanced_tree(2, 2)),
    "one_way": dx.MetricSpace.from_graph(nx.DiGraph([(0, 1), (1, 2), (2, 0), (1, 0), (2, 3), (3, 2)])),
    "globe": dx.MetricSpace.from_points([[45.5, 179.99], [45.51, -179.98], [45.52, 179.97]], "haversine"),
}
TIGHT = {
    "exponential": (),
    "geometric": ("line", "two", "uneven", "sums", "euclidean", "manhattan", "chebyshev", "rectangle"),
    "graph_exponential": ("tree", "one_way"),
    "laplace": ("line", "uneven", "sums", "euclidean", "manhattan", "chebyshev", "collinear"),
    "multivariate_laplace": ("cube",),
    "planar_laplace": ("euclidean", "rectangle", "large", "scattered", "collinear", "globe"),
    "randomised_response": tuple(name for name in SPACES if name != "large"),
    "staircase": ("line", "uneven", "sums"),
    "truncated_exponential": (),
}
LOOSE = {
    "exponential": (tuple(SPACES), "half of the level is left for the sums by which rows are divided"),
    "geometric": ((), "rows are divided by the same sum"),
    "graph_exponential": ((), "the rate is raised until the level is reached"),
    "laplace": (("two", "rectangle", "scattered"), "no cell lies beyond the secrets that bind"),
    "multivariate_laplace": ((), "the noise is scaled until the level is reached"),
    "planar_laplace": ((), "the noise is scaled until the level is reached"),
    "randomised_response": ((), "the level of the nearest secrets is reached"),
    "staircase": (("two",), "the border between the cells lies within a step"),
    "truncated_exponential": (tuple(SPACES), "half of the level is left, as for the exponential mechanism"),
}


@pytest.mark.parametrize("name", list(CLASSICS))
def test_the_level_is_used_up_where_theory_says_so(name: str) -> None:
    """Not private at 0.99 of the level where it is tight, and private there where it is not."""
    used, (left, _) = TIGHT[name], LOOSE[name]
    assert used or left
    for space_name in (*used, *left):
        space = SPACES[space_name]
        matrix = FUNCTIONS[name](space, epsilon=0.9).matrix
        assert (violations(matrix, space.distances, 0.99 * 0.9) != []) is (space_name in used), space_name


@pytest.mark.parametrize("name", list(CLASSICS))
def test_classic_keeps_its_contract(name: str) -> None:
    classic = CLASSICS.get(name)()
    examples = EXAMPLES[name]()
    assert classic.name == name
    assert name in METHODS
    assert examples
    for problem in examples:
        assert classic.refuses(problem) is None
        channel = classic.channel(problem)
        assert channel.shape == problem.shape
        assert channel.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
        report = dx.solve(problem, method=name)
        assert_proven(report)
        assert report.mechanism.matrix == pytest.approx(channel, abs=1e-12)
        assert report.claim == "valid"
        assert report.delivered


@pytest.mark.parametrize("name", list(CLASSICS))
def test_the_function_gives_the_same_mechanism_proven_private(name: str) -> None:
    for problem in EXAMPLES[name]():
        if not problem.reports.secrets:
            continue
        mechanism = FUNCTIONS[name](problem.space, epsilon=problem.epsilon)
        matrix, distances = mechanism.matrix, problem.space.distances
        assert mechanism.reports.secrets
        assert mechanism.name == f"{name.replace('_', ' ')} mechanism"
        assert matrix == pytest.approx(CLASSICS.get(name)().channel(problem), abs=1e-12)
        assert mechanism.privacy is not None
        assert mechanism.privacy.epsilon <= problem.epsilon
        assert violations(matrix, distances, mechanism.privacy.epsilon) == []
        assert max(abs(error) for error in row_sum_errors(matrix)) < 1e-12


@pytest.mark.parametrize("name", list(CLASSICS))
def test_a_level_that_is_none_is_refused(name: str) -> None:
    for level in (0.0, -1.0, float("nan"), float("inf")):
        for shape in ((2, 2), (30, 30)):
            with pytest.raises(dx.SpecError, match=r"^epsilon: "):
                FUNCTIONS[name](dx.grid(shape), epsilon=level)


@pytest.mark.parametrize("name", ["geometric", "planar_laplace"])
def test_refused_where_reports_are_no_secrets(name: str) -> None:
    space = dx.grid((2, 2))
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=np.ones((4, 3)))
    with pytest.raises(dx.UnsupportedError, match=rf"^method: {name} needs the secrets .* use method: optimal$"):
        dx.solve(problem, method=name)


@pytest.mark.parametrize("loss", ["distance", pytest.param("binary", marks=pytest.mark.full)])
def test_long_lines_are_solved_and_compared_without_a_matrix(loss: str) -> None:
    space = dx.line(1_000)
    problem = dx.Problem(space, epsilon=0.5, prior=dx.Prior.uniform(space), loss=loss)
    report = dx.solve(problem, method="geometric")
    mechanism = dx.classic.geometric(space, epsilon=0.5)
    assert not isinstance(report.mechanism, MatrixMechanism)
    assert np.array_equal(report.mechanism.row(index=7), mechanism.row(index=7))
    worth = dx.evaluate.expected_loss(mechanism, problem.prior, loss)
    assert (report.certificate.private, report.certificate.value) == (True, pytest.approx(worth, rel=1e-12))
    row = dx.compare(problem, ["geometric"]).rows[1]
    assert (row.private, row.value) == (True, pytest.approx(worth, rel=1e-12))
    worst = dx.solve(problem.but(objective="worst_loss"), method="geometric").certificate
    assert worst.value == pytest.approx(dx.evaluate.worst_loss(mechanism, loss), abs=1e-8)
