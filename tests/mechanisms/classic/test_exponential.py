"""The exponential mechanism is what its formula says and needs no repair."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.classic.catalogue import exponential
from dxopt.mechanisms.classic.exponential import Exponential
from tests.judges.exact import violations
from tests.material.checks import assert_proven, weights
from tests.material.instances import space_of


@pytest.mark.parametrize("space", [dx.line(6), dx.grid((3, 4)), dx.torus((5,))])
def test_formula(space: dx.MetricSpace) -> None:
    problem = dx.Problem(space, epsilon=1.3, prior=weights(space))
    report = dx.solve(problem, method="exponential")
    assert_proven(report)
    kernel = np.exp(-0.5 * 1.3 * space.distances)
    assert report.mechanism.matrix == pytest.approx(kernel / kernel.sum(axis=1, keepdims=True), abs=1e-12)
    assert dx.classic.exponential(space, epsilon=1.3).matrix == pytest.approx(report.mechanism.matrix, abs=1e-12)
    assert report.claim == "valid"
    assert report.delivered


@pytest.mark.parametrize("kind", ["symmetric", "asymmetric", "extended", "pseudo"])
def test_private_as_it_is(kind: str) -> None:
    for seed in range(5):
        space = space_of(kind, 7, np.random.default_rng(seed))
        problem = dx.Problem(space, epsilon=2.0, prior=weights(space), loss="binary")
        report = dx.solve(problem, method="exponential")
        assert_proven(report)
        assert report.mechanism.matrix == pytest.approx(Exponential().channel(problem), abs=1e-12)


def test_reports_elsewhere() -> None:
    space = dx.line(4)
    reports = dx.Reports.at([[0.5], [2.5]])
    problem = dx.Problem(space, epsilon=1.0, prior=weights(space), reports=reports)
    report = dx.solve(problem, method="exponential")
    assert_proven(report)
    kernel = np.exp(-0.5 * np.abs(np.arange(4)[:, None] - [0.5, 2.5]))
    assert report.mechanism.matrix == pytest.approx(kernel / kernel.sum(axis=1, keepdims=True), abs=1e-12)


def test_far_away_reports_do_not_underflow() -> None:
    space = dx.line(3)
    problem = dx.Problem(space, epsilon=50.0, prior=weights(space), reports=dx.Reports.at([[1e3], [2e3]]))
    assert_proven(dx.solve(problem, method="exponential"))


def test_refused_where_reports_have_no_place() -> None:
    space = dx.line(3)
    problem = dx.Problem(space, epsilon=1.0, prior=weights(space), loss=np.ones((3, 2)))
    with pytest.raises(dx.UnsupportedError, match="distances between secrets and reports"):
        dx.solve(problem, method="exponential")


def by_hand(space: dx.MetricSpace, scores: np.ndarray, epsilon: float) -> np.ndarray:
    """The mechanism of finite scores, with a loop over all pairs."""
    pairs = [(x, y) for x in range(len(scores)) for y in range(len(scores)) if (scores[x] != scores[y]).any()]
    rate = min(epsilon * space.distances[x, y] / (2 * np.abs(scores[x] - scores[y]).max()) for x, y in pairs)
    kernel = np.exp(rate * scores)
    return kernel / kernel.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("kind", ["symmetric", "asymmetric"])
def test_any_score_takes_the_largest_factor(kind: str) -> None:
    rng = np.random.default_rng(6)
    space = space_of(kind, 6, rng)
    scores = rng.normal(size=(6, 4))
    mechanism = exponential(space, epsilon=2.0, score=scores)
    assert mechanism.matrix == pytest.approx(by_hand(space, scores, 2.0), abs=1e-12)
    assert len(mechanism.reports) == 4
    assert violations(mechanism.matrix, space.distances, 2.0) == []
    assert mechanism.privacy is not None
    assert mechanism.privacy.epsilon <= 2.0


def test_the_factor_two_is_needed_by_some_scores() -> None:
    """Where the report that gains is unlikely, and the likely one loses, normalising costs as much again."""
    balanced = exponential(dx.line(2), epsilon=1.0, score=np.eye(2)).matrix
    assert balanced[0, 0] / balanced[1, 0] == pytest.approx(math.exp(0.5), rel=1e-12)
    opposed = exponential(dx.line(2), epsilon=1.0, score=[[0.0, 19.0], [1.0, 18.0]])
    ratio = opposed.matrix[1, 0] / opposed.matrix[0, 0]
    assert math.exp(0.99) < ratio <= math.e


def test_a_score_may_be_a_function_and_shifts_do_not_matter() -> None:
    space = dx.grid((2, 3))
    reports = dx.Reports.at([[0.5, 0.5], [1.5, 0.0]])
    square = lambda x, z: 7.0 - float(((x - z) ** 2).sum())  # noqa: E731
    scores = np.array([[-((x - z) ** 2).sum() for z in np.asarray(reports.points)] for x in np.asarray(space.points)])
    mechanism = exponential(space, epsilon=0.8, score=square, reports=reports)
    assert mechanism.matrix == pytest.approx(by_hand(space, scores, 0.8), abs=1e-12)
    assert mechanism.reports is reports


def test_distances_are_the_score_by_default() -> None:
    space = dx.line(5)
    same = exponential(space, epsilon=1.3, score=-space.distances)
    assert same.matrix == pytest.approx(exponential(space, epsilon=1.3).matrix, abs=1e-14)
    reports = dx.Reports.at([[0.5], [2.5]])
    elsewhere = exponential(space, epsilon=1.3, reports=reports)
    kernel = np.exp(-0.65 * np.abs(np.arange(5)[:, None] - [0.5, 2.5]))
    assert elsewhere.matrix == pytest.approx(kernel / kernel.sum(axis=1, keepdims=True), abs=1e-12)


@pytest.mark.parametrize("largest", [1e308, 1.7e308])
def test_differences_of_scores_beyond_doubles_are_refused(largest: float) -> None:
    with pytest.raises(dx.SpecError) as caught:
        exponential(dx.line(2), epsilon=1.0, score=[[largest, 0.0], [-largest, 0.0]])
    assert (caught.value.field, "distance 0" in caught.value.wrong) == ("score", False)


def test_scores_that_bind_nothing() -> None:
    apart = np.full((2, 2), np.inf)
    np.fill_diagonal(apart, 0.0)
    free = exponential(dx.MetricSpace.from_distances(apart), epsilon=1.0, score=[[3, 1, 3], [0, 1, 0]])
    assert free.matrix == pytest.approx(np.array([[0.5, 0, 0.5], [0, 1, 0]]), abs=1e-15)
    alike = dx.MetricSpace.from_distances([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    matrix = exponential(alike, epsilon=1.0, score=[[1, 0], [1, 0], [0, 0]]).matrix
    assert np.array_equal(matrix[0], matrix[1])


@pytest.mark.parametrize(
    "score",
    [
        np.ones((2, 3)),
        np.ones(3),
        [["a", "b"]] * 3,
        "distance",
        [[0, np.nan]] * 3,
        [[0, np.inf]] * 3,
        lambda x, z: float("-inf"),
        [[0, 1], [0, 2], [0, 2]],
    ],
)
def test_scores_that_are_none(score: Any) -> None:
    space = dx.MetricSpace.from_distances([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    with pytest.raises(dx.SpecError, match=r"^score: "):
        exponential(space, epsilon=1.0, score=score)


def test_reports_without_a_place_need_a_score() -> None:
    with pytest.raises(dx.UnsupportedError, match="distances between secrets and reports"):
        exponential(dx.line(3), epsilon=1.0, reports=dx.Reports("ab"))
    named = exponential(dx.line(3), epsilon=1.0, score=np.eye(3)[:, :2], reports=dx.Reports("ab"))
    assert list(named.reports.labels) == ["a", "b"]


@pytest.mark.parametrize("largest", [1e-320, 1e308])
def test_scores_of_any_size_make_no_noise(largest: float) -> None:
    space = dx.line(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mechanism = exponential(space, epsilon=1.0, score=largest * np.array([[1.0, -1.0]] * 3))
        exponential(space, epsilon=1.0, score=largest * np.eye(3))
    assert mechanism.matrix == pytest.approx(np.array([[1.0, 0.0]] * 3), abs=1e-12)
