"""The tight-constraints mechanism: closed forms, thresholds, and when it is taken or refused."""

from __future__ import annotations

import re

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from tests.material.checks import assert_proven, weights


def tight(space: dx.MetricSpace, epsilon: float, prior: dx.Prior | None = None) -> dx.Report:
    prior = prior or dx.Prior.uniform(space)
    return dx.solve(dx.Problem(space, epsilon=epsilon, prior=prior, loss="binary"), method="tight")


@pytest.mark.parametrize(("size", "step", "epsilon"), [(2, 1.0, 0.3), (5, 1.0, 1.0), (20, 0.5, 2.0), (40, 2.0, 0.4)])
def test_line_is_the_truncated_geometric_mechanism(size: int, step: float, epsilon: float) -> None:
    report = tight(dx.line(size, step=step), epsilon)
    assert_proven(report)
    ratio = np.exp(-epsilon * step)
    weight = np.full(size, (1 - ratio) / (1 + ratio))
    weight[[0, -1]] = 1 / (1 + ratio)
    places = np.arange(size)
    expected = ratio ** np.abs(places[:, None] - places[None, :]) * weight
    assert report.mechanism.matrix == pytest.approx(expected, abs=1e-12)
    assert report.certificate.value == pytest.approx(1 - weight.sum() / size, abs=1e-12)
    assert report.certificate.gap <= 1e-9
    assert report.certificate.epsilon == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("size", [2, 3, 4, 7])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_discrete_metric(size: int, epsilon: float) -> None:
    report = tight(dx.MetricSpace.from_points(range(size), "discrete"), epsilon)
    assert_proven(report)
    top = 1 / (1 + (size - 1) * np.exp(-epsilon))
    expected = np.where(np.eye(size) == 1, top, top * np.exp(-epsilon))
    assert report.mechanism.matrix == pytest.approx(expected, abs=1e-12)
    assert report.certificate.gap <= 1e-9


def test_cycles_weigh_every_point_alike() -> None:
    for size in (3, 6, 7):
        report = tight(dx.MetricSpace.from_graph(nx.cycle_graph(size)), 0.9)
        assert_proven(report)
        around = np.minimum(np.arange(size), size - np.arange(size))
        assert np.diagonal(report.mechanism.matrix) == pytest.approx(1 / np.exp(-0.9 * around).sum())


def test_product_under_manhattan_is_the_kronecker_product() -> None:
    grid = tight(dx.grid((3, 4), metric="manhattan"), 0.8).mechanism.matrix
    sides = [tight(dx.line(size), 0.8).mechanism.matrix for size in (3, 4)]
    assert grid == pytest.approx(np.kron(*sides), abs=1e-12)


def sum_query(answers: int, reach: int) -> dx.MetricSpace:
    """Answers 0..answers, neighbours when at most `reach` apart."""
    places = np.arange(answers + 1)
    return dx.MetricSpace.from_distances(np.ceil(np.abs(places[:, None] - places[None, :]) / reach))


THRESHOLDS = {
    "euclidean 4x4": (dx.grid((4, 4)), 0.686311),
    "euclidean 8x8": (dx.grid((8, 8)), 0.665579),
    "two counts 0..5": (dx.grid((6, 6), metric="chebyshev"), 1.134614),
    "sum 0..100 by 2": (sum_query(100, 2), 0.2812),
}


@pytest.mark.parametrize("name", THRESHOLDS)
def test_exists_from_the_known_level(name: str) -> None:
    space, threshold = THRESHOLDS[name]
    report = tight(space, threshold + 0.01)
    assert_proven(report)
    assert report.mechanism.matrix.min() >= 0
    with pytest.raises(dx.NoTightMechanism) as caught:
        tight(space, threshold - 0.05)
    with pytest.raises(dx.NoTightMechanism):
        tight(space, threshold - 1e-4)
    assert caught.value.exists_from == pytest.approx(threshold, abs=1e-5)
    level = caught.value.exists_from
    said = re.search(r"it exists \w+ epsilon = ([\d.]+)", str(caught.value))
    assert level is not None
    assert said is not None
    assert float(said[1]) == pytest.approx(level, abs=1e-6)
    assert_proven(tight(space, level))


def test_refusal_names_the_negative_points() -> None:
    space = dx.grid((4, 4))
    assert_proven(tight(space, 0.70))
    with pytest.raises(dx.NoTightMechanism) as caught:
        tight(space, 0.60)
    assert space.points is not None
    distances = np.linalg.norm(space.points[:, None] - space.points[None], axis=2)
    weight = np.linalg.solve(np.exp(-0.6 * distances), np.ones(16))
    expected = tuple(space.labels[int(i)] for i in np.flatnonzero(weight < 0))
    assert caught.value.negative == expected
    assert expected
    assert expected[0] in str(caught.value)
    assert "method: optimal" in str(caught.value)


def test_automatic_choice_takes_it_where_it_is_optimal() -> None:
    space = dx.line(12)
    for epsilon in (0.2, 1.0, 3.0):
        report = dx.solve(dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), loss="binary"))
        assert_proven(report)
        assert report.route == "tight-constraints mechanism"
        assert report.claim == "exact"
        assert report.status == "optimal"
        assert report.certificate.gap <= 1e-9
        assert "tight" in report.refused["optimal"]


@pytest.mark.parametrize("seed", range(3))
def test_optimal_on_every_regular_prior(seed: int) -> None:
    space = dx.line(8)
    phi = np.exp(-0.7 * space.distances)
    prior = dx.Prior.from_weights(space, np.random.default_rng(seed).random(8) @ phi)
    problem = dx.Problem(space, epsilon=0.7, prior=prior, loss="binary")
    report, program = dx.solve(problem), dx.solve(problem, method="optimal")
    assert report.route == "tight-constraints mechanism"
    assert report.certificate.gap <= 1e-9
    assert report.certificate.value == pytest.approx(program.certificate.value, abs=1e-7)


def test_irregular_prior_goes_to_the_program() -> None:
    space = dx.line(6)
    prior = dx.Prior.from_weights(space, [1, 50, 1, 1, 50, 1])
    problem = dx.Problem(space, epsilon=0.5, prior=prior, loss="binary")
    report = dx.solve(problem)
    assert_proven(report)
    assert "regular" in report.refused["tight"]
    assert report.status == "optimal"
    forced = dx.solve(problem, method="tight")
    assert_proven(forced)
    assert forced.claim == "valid"
    assert forced.status == "feasible"
    assert forced.certificate.value > report.certificate.value + 1e-3
    assert forced.certificate.bound <= report.certificate.value


def test_reasons_are_recorded() -> None:
    line = dx.line(4)
    prior = dx.Prior.uniform(line)
    by_distance = dx.solve(dx.Problem(line, epsilon=1.0, prior=prior))
    assert "binary loss only" in by_distance.refused["tight"]
    grid = dx.grid((4, 4))
    below = dx.solve(dx.Problem(grid, epsilon=0.6, prior=dx.Prior.uniform(grid), loss="binary"))
    assert "no tight-constraints mechanism exists" in below.refused["tight"]
    assert below.status == "optimal"
    with_spanner = dx.solve(dx.Problem(line, epsilon=1.0, prior=prior, loss="binary"), spanner=1.5)
    assert "spanner" in with_spanner.refused["tight"]


def test_asymmetric_distances_are_refused() -> None:
    space = dx.MetricSpace.from_distances([[0.0, 1.0], [2.0, 0.0]])
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary")
    with pytest.raises(dx.SpecError, match="symmetric"):
        dx.solve(problem, method="tight")
    report = dx.solve(problem)
    assert_proven(report)
    assert "symmetric" in report.refused["tight"]


def test_other_reports_are_refused() -> None:
    space = dx.line(3)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=np.ones((3, 2)))
    with pytest.raises(dx.SpecError, match="secrets themselves"):
        dx.solve(problem, method="tight")


def test_points_at_distance_zero_share_a_weight() -> None:
    space = dx.MetricSpace.from_points([0.0, 0.0, 1.0])
    report = tight(space, 1.0)
    assert_proven(report)
    assert np.array_equal(report.mechanism.matrix[0], report.mechanism.matrix[1])
    assert report.mechanism.matrix[0, :2].sum() == pytest.approx(1 / (1 + np.exp(-1.0)))


def test_islands_have_each_their_own() -> None:
    distances = np.full((5, 5), np.inf)
    distances[:2, :2] = dx.line(2).distances
    distances[2:, 2:] = dx.line(3).distances
    space = dx.MetricSpace.from_distances(distances)
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=weights(space, period=1), loss="binary"))
    assert_proven(report)
    assert report.route == "tight-constraints mechanism"
    ratio = np.exp(-1.0)
    top = [1 / (1 + ratio)] * 3 + [(1 - ratio) / (1 + ratio)] + [1 / (1 + ratio)]
    assert np.diagonal(report.mechanism.matrix) == pytest.approx(top)
