"""Discretised Laplace noise in many dimensions: private whatever the nodes are, and near the continuous noise."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import gamma

import dxopt as dx
from dxopt.mechanisms.classic.catalogue import multivariate_laplace
from dxopt.mechanisms.classic.multivariate_laplace import MultivariateLaplace, Nodes, nodes_around
from dxopt.mechanisms.classic.voronoi import Voronoi
from dxopt.verify import Outcome, verify
from tests.judges.exact import exp_enclosure, violations
from tests.material.files import PROBLEMS

MODULE = sys.modules["dxopt.mechanisms.classic.multivariate_laplace"]
RANDOM = np.random.default_rng(11)
POINTS = RANDOM.normal(size=(8, 6))
SPACE = dx.MetricSpace.from_points(POINTS)


def by_hand(nodes: Nodes, rate: float) -> np.ndarray:
    """The discretised mechanism from its definition, node by node: a_y e^{-β‖y - x‖}, to the nearest report."""
    weights = []
    targets = []
    for x, offsets in zip(nodes.secrets, nodes.offsets, strict=True):
        for offset in offsets:
            place = x + offset / rate
            kernel = np.exp(-rate * np.linalg.norm(place - nodes.secrets, axis=1))
            weights.append(kernel / kernel.mean())
            targets.append(int(np.linalg.norm(place - nodes.reports, axis=1).argmin()))
    masses = np.zeros((len(nodes.secrets), len(nodes.reports)))
    for weight, target in zip(weights, targets, strict=True):
        masses[:, target] += weight / len(weights)
    return masses


@pytest.mark.parametrize("rate", [0.4, 2.0, 9.0])
def test_masses_are_sums_over_nodes(rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes.around(POINTS, RANDOM.normal(size=(5, 6)), each=20)
    expected = by_hand(nodes, rate)
    assert nodes.masses(rate) == pytest.approx(expected, abs=1e-12)
    monkeypatch.setattr(MODULE, "_BLOCK", 600)
    assert nodes.masses(rate) == pytest.approx(expected, abs=1e-12)
    assert nodes.channel(rate).sum(axis=1) == pytest.approx(1.0, abs=1e-14)


def test_sums_over_nodes_are_private_before_they_are_divided() -> None:
    """At the rate of the noise, by exact arithmetic, for few and badly chosen nodes: the triangle inequality."""
    nodes = Nodes.around(POINTS, POINTS, each=2)
    rate = 1.5
    masses = nodes.masses(rate)
    assert abs(masses.sum(axis=1) - 1).max() > 0.01
    for x in range(len(POINTS)):
        for other in range(len(POINTS)):
            if x != other:
                _, most = exp_enclosure(Fraction(rate) * Fraction(float(SPACE.distances[x, other])))
                for z in np.flatnonzero(masses[x]):
                    assert Fraction(float(masses[x, z])) <= most * Fraction(float(masses[other, z])) * (
                        1 + Fraction(1, 10**9)
                    )
    # Dividing rows at most doubles the exponent: half of the rate is safe.
    assert violations(nodes.channel(rate), SPACE.distances, 2 * rate) == []


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 8.0])
def test_the_matrix_is_private_and_uses_the_level_up(epsilon: float) -> None:
    mechanism = multivariate_laplace(SPACE, epsilon=epsilon)
    assert mechanism.privacy is not None
    assert violations(mechanism.matrix, SPACE.distances, epsilon) == []
    assert violations(mechanism.matrix, SPACE.distances, 0.98 * epsilon) != []
    paper = multivariate_laplace(SPACE, epsilon=epsilon, rate=epsilon)
    assert violations(paper.matrix, SPACE.distances, epsilon) == []
    prior = dx.Prior.uniform(SPACE)
    assert dx.evaluate.expected_loss(mechanism, prior) < dx.evaluate.expected_loss(paper, prior)


def test_in_the_plane_it_estimates_the_exact_masses_of_cells() -> None:
    """Within five standard errors of the masses of Voronoi cells; a variance is below n K[x, z] / nodes."""
    plane = RANDOM.uniform(0, 3, (7, 2))
    each = 3_000
    estimated = Nodes.around(plane, plane, each=each).masses(1.2)
    exact = Voronoi.of(plane).masses(plane, 1.2)
    errors = np.sqrt(exact / each)
    assert (np.abs(estimated - exact) <= 5 * errors).all()
    assert np.abs(estimated - exact).max() > 1e-6
    assert estimated.sum(axis=1) == pytest.approx(1.0, abs=5 / np.sqrt(each))


@pytest.mark.parametrize("dimensions", [3, 10])
def test_two_points_in_many_dimensions(dimensions: int) -> None:
    """The mass beyond the plane between them, by quadrature along their axis and across it."""
    rate, apart, each = 1.1, 2.0, 20_000
    points = np.zeros((2, dimensions))
    points[1, 0] = apart
    estimated = Nodes.around(points, points, each=each).masses(rate)
    noise = dx.noise.MultivariateLaplace(rate, dimensions)
    across = 2 * np.pi ** ((dimensions - 1) / 2) / gamma((dimensions - 1) / 2)

    def density(r: float, t: float) -> float:
        offset = np.zeros(dimensions)
        offset[:2] = t, r
        return across * r ** (dimensions - 2) * float(noise.density(offset))

    beyond = dblquad(density, apart / 2, 40 / rate, 0, 60 / rate, epsabs=1e-6)[0]
    assert estimated[0, 1] == pytest.approx(beyond, abs=5 * np.sqrt(beyond / each))
    assert estimated[1, 0] == pytest.approx(beyond, abs=5 * np.sqrt(beyond / each))


def test_reports_elsewhere_and_words_that_coincide() -> None:
    reports = dx.Reports.at(RANDOM.normal(size=(3, 6)), ["a", "b", "c"])
    mechanism = multivariate_laplace(SPACE, epsilon=1.0, reports=reports)
    assert list(mechanism.reports.labels) == ["a", "b", "c"]
    assert violations(mechanism.matrix, SPACE.distances, 1.0) == []
    twice = dx.MetricSpace.from_points(np.concatenate([POINTS, POINTS[:1]]))
    matrix = multivariate_laplace(twice, epsilon=1.0).matrix
    assert np.array_equal(matrix[0], matrix[8])
    assert matrix[:, 8].max() < 1e-12
    assert multivariate_laplace(dx.MetricSpace.from_points([[1.0, 2.0, 3.0]]), epsilon=1.0).matrix.tolist() == [[1.0]]


def test_from_1000_words_on_the_rate_is_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "CALIBRATED_BELOW", 5)
    problem = dx.Problem(SPACE, epsilon=1.0, prior=dx.Prior.uniform(SPACE))
    expected = Nodes.around(POINTS, POINTS).channel(1.0)
    assert np.array_equal(MultivariateLaplace().channel(problem), expected)
    assert violations(multivariate_laplace(SPACE, epsilon=1.0).matrix, SPACE.distances, 1.0) == []


def test_nodes_are_many_for_few_words_and_bounded() -> None:
    assert [nodes_around(size, 50) for size in (2, 100, 1_000, 4_000)] == [1024, 600, 8, 8]
    assert nodes_around(100, 300) == 333


def test_what_is_refused() -> None:
    def refused(space: dx.MetricSpace, **options: object) -> str:
        with pytest.raises(dx.SpecError) as error:
            multivariate_laplace(space, epsilon=1.0, **options)  # pyright: ignore[reportArgumentType]
        return str(error.value)

    assert "needs points with Euclidean distances; use exponential" in refused(dx.grid((2, 2, 2), metric="manhattan"))
    assert "for three coordinates or more, as laplace and planar_laplace" in refused(dx.grid((3, 3)))
    assert "reports with as many coordinates" in refused(SPACE, reports=dx.Reports.at([[0.0, 1.0]]))
    assert "needs an extent from" in refused(dx.MetricSpace.from_points(POINTS * 1e120))
    assert refused(SPACE, rate=1.5).startswith("rate: is 1.5, above ε = 1.0; give at most that")
    assert refused(SPACE, rate=-1.0).startswith("rate: is -1; give a positive")


def test_on_real_words_saved_and_proven_again(tmp_path: Path) -> None:
    space = dx.embedding(PROBLEMS / "glove-300.txt", top=25)
    problem = dx.Problem(space, epsilon=2.0, prior=dx.Prior.uniform(space))
    report = dx.solve(problem, method="multivariate_laplace")
    assert report.certificate.private
    assert verify(report.save(tmp_path / "out")).outcome is not Outcome.FAILS
