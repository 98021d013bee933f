"""Laplace noise moved to the nearest report: its cells, the level it takes, and where it does not exist."""

from __future__ import annotations

import math
import sys
from decimal import Decimal, localcontext
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad

import dxopt as dx
from dxopt.mechanisms.classic.catalogue import laplace
from tests.judges.exact import row_sum_errors, violations


def mass(low: float, high: float, rate: float) -> float:
    """The mass of an interval of offsets, by quadrature of the density."""
    ends = sorted({max(low, -60 / rate), 0.0 if low < 0 < high else max(low, -60 / rate), min(high, 60 / rate)})
    return math.fsum(
        quad(lambda t: rate / 2 * math.exp(-rate * abs(t)), a, b, epsabs=1e-15)[0] for a, b in pairwise(ends)
    )


def by_hand(secrets: list[float], values: list[float], rate: float) -> np.ndarray:
    """Each number with noise, to the nearest of the ascending values."""
    edges = [-math.inf, *((a + b) / 2 for a, b in pairwise(values)), math.inf]
    return np.array([[mass(a - x, b - x, rate) for a, b in pairwise(edges)] for x in secrets])


@pytest.mark.parametrize("numbers", [[0.0, 1.0, 2.0, 3.0, 4.0], [-3.0, -2.5, 0.0, 4.0]])
def test_on_a_line_entries_are_integrals(numbers: list[float]) -> None:
    space = dx.MetricSpace.from_points(numbers)
    mechanism = laplace(space, epsilon=0.7)
    assert mechanism.matrix == pytest.approx(by_hand(numbers, numbers, 0.7), abs=1e-11)
    assert violations(mechanism.matrix, space.distances, 0.7) == []
    assert violations(mechanism.matrix, space.distances, 0.99 * 0.7) != []
    assert mechanism.privacy is not None
    assert mechanism.privacy.epsilon == pytest.approx(0.7, rel=1e-9)
    assert max(map(abs, row_sum_errors(mechanism.matrix))) < 1e-15


def test_far_out_entries_are_relatively_accurate() -> None:
    matrix = laplace(dx.line(40), epsilon=3.0).matrix
    with localcontext() as context:
        context.prec = 50
        for z in range(1, 39):
            near, far = (Decimal(-3.0 * (z + half)).exp() for half in (-0.5, 0.5))
            assert matrix[0, z] == pytest.approx(float((near - far) / 2), rel=1e-12)
        assert matrix[0, 39] == pytest.approx(float(Decimal(-3.0 * 38.5).exp() / 2), rel=1e-12)


def test_two_points_need_less_than_is_asked() -> None:
    privacy = laplace(dx.line(2), epsilon=1.0).privacy
    assert privacy is not None
    assert privacy.epsilon == pytest.approx(math.log(2 * math.exp(0.5) - 1), rel=1e-9)


@pytest.mark.parametrize(
    ("metric", "share"), [("manhattan", 1.0), ("euclidean", 1 / math.sqrt(2)), ("chebyshev", 0.5)]
)
def test_a_grid_coordinate_by_coordinate(metric: str, share: float) -> None:
    space = dx.grid((3, 4), spacing=2.0, metric=metric)
    matrix = laplace(space, epsilon=0.4).matrix
    first, second = (by_hand(axis, axis, 0.4 * share) for axis in ([2.0 * i for i in range(size)] for size in (3, 4)))
    assert matrix == pytest.approx(np.kron(first, second), abs=1e-11)
    assert violations(matrix, space.distances, 0.4) == []
    assert violations(matrix, space.distances, 0.99 * 0.4) != []


def scattered(secrets: np.ndarray, reports: np.ndarray, rate: float) -> np.ndarray:
    """The rule for points in the plane, cell by cell."""
    axes = [sorted(set(column)) for column in reports.T.tolist()]
    masses = [by_hand(list(column), values, rate) for column, values in zip(secrets.T, axes, strict=True)]
    matrix = np.zeros((len(secrets), len(reports)))
    for i, j in product(*(range(len(values)) for values in axes)):
        apart = [abs(axes[0][i] - report[0]) + abs(axes[1][j] - report[1]) for report in reports]
        matrix[:, apart.index(min(apart))] += masses[0][:, i] * masses[1][:, j]
    return matrix


@pytest.mark.parametrize(("metric", "cells"), [("manhattan", 4_000_000), ("euclidean", 20)])
def test_scattered_points_in_the_plane(metric: str, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["dxopt.mechanisms.classic.laplace"], "_BLOCK_CELLS", cells)
    points = np.round(np.random.default_rng(4).uniform(0, 4, (6, 2)), 1)
    space = dx.MetricSpace.from_points(points, metric)
    along = np.abs(points[:, None] - points).sum(axis=2)
    rate = 0.8 * min(space.distances[pair] / along[pair] for pair in zip(*np.nonzero(along), strict=True))
    mechanism = laplace(space, epsilon=0.8)
    assert mechanism.matrix == pytest.approx(scattered(points, points, rate), abs=1e-11)
    assert violations(mechanism.matrix, space.distances, 0.8) == []


def test_many_scattered_points() -> None:
    points = np.random.default_rng(0).uniform(0, 10, (249, 2))
    mechanism = laplace(dx.MetricSpace.from_points(points, "manhattan"), epsilon=1.0)
    assert mechanism.privacy is not None
    assert mechanism.privacy.epsilon <= 1.0
    assert mechanism.matrix.sum(axis=1) == pytest.approx(np.ones(249), abs=1e-14)
    assert (mechanism.matrix.argmax(axis=1) == np.arange(249)).mean() > 0.1


def test_reports_elsewhere() -> None:
    space, points = dx.line(4), [[2.5], [0.5], [9.0]]
    reports = dx.Reports.at(points)
    mechanism = laplace(space, epsilon=1.1, reports=reports)
    expected = by_hand([0.0, 1.0, 2.0, 3.0], [0.5, 2.5, 9.0], 1.1)[:, [1, 0, 2]]
    assert mechanism.matrix == pytest.approx(expected, abs=1e-11)
    assert mechanism.reports is reports
    problem = dx.Problem(space, epsilon=1.1, prior=dx.Prior.uniform(space), reports=reports)
    assert dx.solve(problem, method="laplace").mechanism.matrix == pytest.approx(expected, abs=1e-11)


def test_of_reports_at_one_place_the_first_is_taken() -> None:
    reports = dx.Reports.at([[0.0], [2.0], [0.0]])
    matrix = laplace(dx.line(3), epsilon=1.0, reports=reports).matrix
    assert matrix[:, :2] == pytest.approx(by_hand([0.0, 1.0, 2.0], [0.0, 2.0], 1.0), abs=1e-11)
    assert matrix[:, 2].max() < 1e-14


def test_numbers_from_labels_and_positions() -> None:
    order = [2, 0, 3, 1]
    distances = np.abs(np.subtract.outer(order, order)).astype(float)
    expected = laplace(dx.line(4), epsilon=1.0).matrix[np.ix_(order, order)]
    assert laplace(dx.MetricSpace.from_distances(distances, labels=order), epsilon=1.0).matrix == pytest.approx(
        expected
    )
    named = dx.MetricSpace.from_distances(distances, labels="abcd")
    assert laplace(named, epsilon=1.0, positions=order).matrix == pytest.approx(expected)
    with pytest.raises(dx.UnsupportedError, match="needs numbers for coordinates or labels; give positions"):
        laplace(named, epsilon=1.0)


def test_nothing_to_hide_is_moved_without_noise() -> None:
    apart = np.full((3, 3), np.inf)
    np.fill_diagonal(apart, 0.0)
    assert np.array_equal(laplace(dx.MetricSpace.from_distances(apart), epsilon=1.0).matrix, np.eye(3))
    assert np.array_equal(laplace(dx.line(1), epsilon=1.0).matrix, np.eye(1))


def test_refused_without_a_level(monkeypatch: pytest.MonkeyPatch) -> None:
    alike = dx.MetricSpace.from_distances([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    with pytest.raises(
        dx.UnsupportedError, match="needs a distance above 0 between secrets at different coordinates"
    ):
        laplace(alike, epsilon=1.0)
    together = laplace(alike, epsilon=1.0, positions=[0, 0, 1]).matrix
    assert np.array_equal(together[0], together[1])
    with pytest.raises(dx.UnsupportedError, match="reports with as many coordinates"):
        laplace(dx.line(3), epsilon=1.0, reports=dx.Reports.at([[0.0, 1.0]]))
    with pytest.raises(dx.UnsupportedError, match="reports with as many coordinates"):
        laplace(dx.line(3), epsilon=1.0, reports=dx.Reports("ab"))
    with pytest.raises(dx.SpecError, match=r"^positions: "):
        laplace(dx.line(3), epsilon=1.0, positions=[0, 1])
    monkeypatch.setattr(sys.modules["dxopt.mechanisms.classic.laplace"], "MOST_CELLS", 8)
    with pytest.raises(dx.UnsupportedError, match="at most 8 cells"):
        laplace(dx.grid((3, 3)), epsilon=1.0)
