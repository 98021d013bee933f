"""Planar Laplace noise on a grid: the masses of its cells, and privacy with and without a matrix."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exact import infinite_leakage, violations
from scipy.integrate import dblquad

import dxopt as dx
from dxopt.classic import planar_laplace
from dxopt.classic.cells import FLOOR
from dxopt.classic.planar_laplace import IMPLICIT_FROM, OnGrid


def mass(epsilon: float, rows: tuple[float, float], columns: tuple[float, float]) -> float:
    """∫ ε²/(2π) e^{-εr} over a rectangle, by adaptive quadrature."""

    def density(column: float, row: float) -> float:
        return epsilon**2 / (2 * math.pi) * math.exp(-epsilon * math.hypot(row, column))

    pieces = [
        (a, b, c, d)
        for a, b in ((rows[0], min(rows[1], 0)), (max(rows[0], 0), rows[1]))
        for c, d in ((columns[0], min(columns[1], 0)), (max(columns[0], 0), columns[1]))
        if a < b and c < d
    ]
    return math.fsum(dblquad(density, a, b, c, d, epsabs=1e-14, epsrel=1e-12)[0] for a, b, c, d in pieces)


@pytest.mark.parametrize("report", [(1, 2), (2, 2), (3, 3), (0, 2), (4, 1), (0, 4)])
def test_entries_are_the_masses_of_cells(report: tuple[int, int]) -> None:
    space, secret, far = dx.grid((5, 5), spacing=2.0), (1, 2), 120.0
    matrix = OnGrid.of(space, 0.4).matrix
    ends = [
        (
            -far if place == 0 else 2.0 * (place - mine) - 1,
            far if place == 4 else 2.0 * (place - mine) + 1,
        )
        for place, mine in zip(report, secret, strict=True)
    ]
    entry = matrix[space.index(str(secret)), space.index(str(report))]
    assert entry == pytest.approx(mass(0.4, *ends), rel=1e-8)


@pytest.mark.parametrize("epsilon", [1e-7, 1e-3, 0.1, 1.0, 9.0, 80.0, 3000.0])
@pytest.mark.parametrize("shape", [(4, 5), (1, 6), (1, 1), (2, 2)])
def test_rows_sum_to_1_before_they_are_scaled(shape: tuple[int, int], epsilon: float) -> None:
    mechanism = OnGrid.of(dx.grid(shape), epsilon)
    assert mechanism.totals == pytest.approx(1.0, abs=1e-13)
    assert mechanism.matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("epsilon", [1e-6, 0.05, 1.0, 30.0, 400.0])
@pytest.mark.parametrize("spacing", [1.0, 0.1, 1 / 3])
def test_private_in_doubles_without_repair(spacing: float, epsilon: float) -> None:
    space = dx.grid((4, 3), spacing=spacing)
    mechanism = OnGrid.of(space, epsilon / spacing)
    assert mechanism.privacy is not None
    assert violations(mechanism.matrix, space.distances, mechanism.privacy.epsilon) == []
    assert infinite_leakage(mechanism.matrix, space.distances) == []


def test_the_level_is_used_up() -> None:
    space = dx.grid((8, 8))
    assert violations(OnGrid.of(space, 2.0).matrix, space.distances, 1.99) != []


def test_nothing_underflows() -> None:
    mechanism = OnGrid.of(dx.grid((3, 3), spacing=500.0), 1.0)
    assert mechanism.matrix.min() == pytest.approx(FLOOR, rel=1e-12)


def test_the_same_with_and_without_a_matrix() -> None:
    space = dx.grid((4, 6), spacing=0.5)
    explicit, implicit = planar_laplace(space, epsilon=1.2), OnGrid.of(space, 1.2)
    assert not isinstance(explicit, OnGrid)
    assert implicit.matrix == pytest.approx(explicit.matrix, abs=1e-9)
    secrets = np.array([7, 0, 23, 7])
    assert np.array_equal(implicit.rows(secrets), implicit.matrix[secrets])


def test_it_is_symmetric() -> None:
    matrix = OnGrid.of(dx.grid((4, 5)), 0.7).matrix.reshape(4, 5, 4, 5)
    assert np.allclose(matrix, matrix[::-1, :, ::-1, :], rtol=1e-14, atol=0)
    assert np.allclose(matrix, matrix[:, ::-1, :, ::-1], rtol=1e-14, atol=0)
    turned = OnGrid.of(dx.grid((5, 4)), 0.7).matrix.reshape(5, 4, 5, 4)
    assert np.allclose(matrix, turned.transpose(1, 0, 3, 2), rtol=1e-12, atol=0)


def test_a_large_grid_needs_no_matrix() -> None:
    space = dx.grid((40, 50))
    mechanism = planar_laplace(space, epsilon=1.0)
    assert len(space) >= IMPLICIT_FROM
    assert mechanism.privacy is not None
    assert mechanism.privacy.epsilon == 1.0
    assert "lowered" in mechanism.privacy.how
    uniform = dx.Prior.uniform(space)
    utility = dx.evaluate.utility(mechanism, uniform)
    assert utility == pytest.approx(float(np.diagonal(mechanism.matrix).sum()) / 2000, rel=1e-12)
    assert utility > dx.evaluate.utility(planar_laplace(space, epsilon=0.9), uniform)
    drawn = mechanism.sample("(20, 25)", 4000, np.random.default_rng(3))
    steps = np.hypot(*(np.stack(np.divmod(drawn, 50)) - [[20], [25]]))
    assert steps.mean() == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    "space",
    [
        dx.MetricSpace.from_points([[0.0, 0.0], [1.0, 0.3], [0.2, 2.0]]),
        dx.grid((3, 3), metric="manhattan"),
        dx.grid((25, 25), metric="chebyshev"),
        dx.torus((3, 3)),
        dx.line(4),
        dx.grid((2, 2, 2)),
        dx.MetricSpace.from_distances([[0, 1], [1, 0]]),
    ],
    ids=repr,
)
def test_other_spaces_are_refused(space: dx.MetricSpace) -> None:
    with pytest.raises(dx.UnsupportedError, match=r"^space: planar_laplace needs a grid .*; use exponential, or"):
        planar_laplace(space, epsilon=1.0)


def test_too_little_noise_to_lower() -> None:
    with pytest.raises(dx.UnsupportedError, match="epsilon times spacing above 1e-11"):
        planar_laplace(dx.grid((2, 2)), epsilon=1e-12)
