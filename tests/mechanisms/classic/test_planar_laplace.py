"""Planar Laplace noise: the masses of cells, the level that is used up, and privacy with and without a matrix."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

import dxopt as dx
from dxopt.mechanisms.classic.catalogue import planar_laplace
from dxopt.mechanisms.classic.on_grid import FLOOR, OnGrid
from dxopt.mechanisms.classic.planar_laplace import IMPLICIT_FROM, PlanarLaplace, noise_rate
from dxopt.mechanisms.classic.voronoi import Voronoi
from dxopt.spaces.positions import local_plane
from tests.judges.exact import infinite_leakage, row_sum_errors, violations
from tests.material.checks import assert_proven

RANDOM = np.random.default_rng(8)
TOWN = 45.5 + RANDOM.random((30, 2)) * [0.06, 0.09] - [0.0, 119.0]
SPACES = {
    "two": dx.MetricSpace.from_points([[0.0, 0.0], [1.0, 0.0]]),
    "3 by 3": dx.grid((3, 3)),
    "row": dx.grid((1, 5), spacing=0.7),
    "8 by 8": dx.grid((8, 8)),
    "unequal": dx.MetricSpace.from_points([[x, y] for x in (0.0, 1.0, 4.0) for y in (0.0, 0.5, 0.6, 3.0)]),
    "scattered": dx.MetricSpace.from_points(RANDOM.random((25, 2)) * 5),
    "collinear": dx.MetricSpace.from_points(np.outer([0.0, 1.0, 3.0, 7.0], [0.6, 0.8])),
    "globe": dx.MetricSpace.from_points(TOWN, "haversine"),
}


def asked(space: dx.MetricSpace, epsilon: float, reports: dx.Reports | None = None) -> dx.Problem:
    return dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), reports=reports)


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
            -far if at == 0 else 2.0 * (at - mine) - 1,
            far if at == 4 else 2.0 * (at - mine) + 1,
        )
        for at, mine in zip(report, secret, strict=True)
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


@pytest.mark.parametrize("epsilon", [1e3, 1e160])
def test_the_steepest_noise_says_the_secret(epsilon: float) -> None:
    mechanism = planar_laplace(dx.grid((20, 20)), epsilon=epsilon)
    assert isinstance(mechanism, OnGrid)
    np.testing.assert_allclose(mechanism.matrix, np.eye(400), rtol=0, atol=1e-12)
    assert mechanism.matrix.min() == pytest.approx(FLOOR, rel=1e-12)


def test_the_same_with_and_without_a_matrix() -> None:
    space = dx.grid((4, 6), spacing=0.5)
    explicit = planar_laplace(space, epsilon=1.2)
    implicit = OnGrid.of(space, noise_rate(asked(space, 1.2)))
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
        dx.MetricSpace.from_points([[0.0, 0.0], [1.0, 0.3], [0.2, 2.0]], "manhattan"),
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
    with pytest.raises(dx.UnsupportedError, match=r"^space: "):
        planar_laplace(space, epsilon=1.0)


def test_too_little_noise_to_lower() -> None:
    with pytest.raises(dx.UnsupportedError, match="epsilon times spacing above 1e-11"):
        planar_laplace(dx.grid((20, 20)), epsilon=1e-12)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 6.0])
@pytest.mark.parametrize("name", SPACES)
def test_all_of_the_level_is_used(name: str, epsilon: float) -> None:
    space = SPACES[name]
    mechanism = planar_laplace(space, epsilon=epsilon)
    assert mechanism.privacy is not None
    assert epsilon * (1 - 1e-6) <= mechanism.privacy.epsilon <= epsilon
    assert violations(mechanism.matrix, space.distances, mechanism.privacy.epsilon) == []
    assert violations(mechanism.matrix, space.distances, 0.99 * epsilon) != []
    assert max(abs(error) for error in row_sum_errors(mechanism.matrix)) < 1e-12


@pytest.mark.parametrize("name", SPACES)
def test_noise_of_the_rate_that_is_stated(name: str) -> None:
    problem = asked(SPACES[name], 1.3)
    points = np.asarray(problem.space.points)
    located = local_plane(points) if name == "globe" else points
    rate = noise_rate(problem)
    masses = Voronoi.of(located).masses(located, rate)
    channel = PlanarLaplace().channel(problem)
    assert channel == pytest.approx(masses, rel=1e-12, abs=0)
    assert np.array_equal(channel, PlanarLaplace().channel(problem))
    mechanism = planar_laplace(problem.space, epsilon=1.3)
    assert np.array_equal(mechanism.matrix, planar_laplace(problem.space, epsilon=1.3).matrix)
    assert mechanism.matrix == pytest.approx(channel, abs=1e-12)


def test_how_much_less_noise_few_reports_need() -> None:
    """The rates of the docstring, over ε, and that of two half-planes: F(h)/(1 - F(h)) = e^{-ε}, F by quadrature."""
    assert noise_rate(asked(SPACES["3 by 3"], 1.0)) == pytest.approx(1.0179, abs=1e-4)
    assert 1 < noise_rate(asked(dx.grid((10, 10)), 1.0)) < 1.0005
    rate = noise_rate(asked(SPACES["two"], 1.0))
    shared = quad(lambda s: (1 + rate / 2 * math.cosh(s)) * math.exp(-rate / 2 * math.cosh(s)) / math.cosh(s), 0, 8)[
        0
    ]
    beyond = shared / math.pi
    assert math.log((1 - beyond) / beyond) == pytest.approx(1.0, abs=1e-6)
    assert rate == pytest.approx(1.6986, abs=1e-4)


def test_noise_that_is_not_raised() -> None:
    assert noise_rate(asked(dx.grid((1, 1)), 2.0)) == 2.0
    assert noise_rate(asked(dx.MetricSpace.from_points([[1.0, 1.0], [1.0, 1.0]]), 2.0)) == 2.0
    assert noise_rate(asked(dx.grid((3, 3)), 2.0, dx.Reports.at([[0.0, 0.0]]))) == 2.0
    assert 2.0 <= noise_rate(asked(dx.grid((3, 3), spacing=300.0), 2.0)) <= 4.0  # where masses end below 1e-150
    beside = dx.Reports.at([[-50.0, 0.0], [-50.0, 8.0]])
    row = dx.MetricSpace.from_points([[0.0, 0.0], [3.0, 0.0]])
    assert noise_rate(asked(row, 2.0, beside)) <= 2.0 * 64


def test_large_sets_that_are_no_grid_keep_the_rate() -> None:
    """Less than 0.1 % of the level is left unused, as cells are many."""
    space = dx.MetricSpace.from_points(np.random.default_rng(4).random((IMPLICIT_FROM, 2)) * 20)
    assert noise_rate(asked(space, 1.0)) == 1.0
    mechanism = planar_laplace(space, epsilon=1.0)
    assert mechanism.privacy is not None
    assert 0.999 < mechanism.privacy.epsilon <= 1.0
    globe = dx.MetricSpace.from_points(np.asarray(space.points), "haversine")
    far = dx.Reports.at([[0.0, 5.0], [10.0, 5.0]])
    problem = asked(globe, 1.0, far)
    assert noise_rate(problem) < 1.0
    assert PlanarLaplace().channel(problem).shape == (IMPLICIT_FROM, 2)


def test_reports_that_are_no_secrets() -> None:
    space, reports = dx.grid((3, 3)), dx.Reports.at([[0.5, 0.5], [1.5, 1.0], [9.0, 9.0]])
    report = dx.solve(asked(space, 1.0, reports), method="planar_laplace")
    assert_proven(report)
    assert report.certificate.epsilon == pytest.approx(1.0, rel=1e-6)
    nearest = np.hypot(*(np.asarray(space.points)[:, None] - np.asarray(reports.points)).transpose(2, 0, 1))
    sharp = PlanarLaplace().channel(asked(space, 400.0, reports))
    ties = np.abs(nearest[:, 0] - nearest[:, 1]) < 1e-9
    assert np.array_equal(sharp[~ties].argmax(axis=1), nearest[~ties].argmin(axis=1))


def test_the_globe_near_by_is_a_plane() -> None:
    """Places within 10 m: distances agree to 1e-9 or so, and so do the channels."""
    town = 45.5 + RANDOM.random((12, 2)) * 1e-4
    globe = dx.MetricSpace.from_points(town, "haversine")
    plane = dx.MetricSpace.from_points(local_plane(town))
    on_globe, in_plane = (planar_laplace(space, epsilon=300.0).matrix for space in (globe, plane))
    assert on_globe == pytest.approx(in_plane, rel=1e-4, abs=0)


def test_rate_on_the_globe_is_private_by_the_triangle_inequality() -> None:
    """In a wide set, distances in the plane are longer than those of the globe, and the noise stronger for it."""
    wide = RANDOM.random((IMPLICIT_FROM, 2)) * [30.0, 60.0] + [20.0, 150.0]
    space = dx.MetricSpace.from_points(wide, "haversine")
    plane = dx.MetricSpace.from_points(local_plane(wide)).distances
    rate = noise_rate(asked(space, 0.01))
    assert rate < 0.0095
    assert (rate * plane <= 0.01 * space.distances * (1 + 1e-12)).all()


def test_places_that_no_plane_shows() -> None:
    around = dx.MetricSpace.from_points([[80.0, 0.0], [80.0, 120.0], [80.0, 240.0]], "haversine")
    with pytest.raises(dx.UnsupportedError, match=r"^space: "):
        planar_laplace(around, epsilon=1.0)
    square = dx.grid((2, 2))
    uniform = dx.Prior.uniform(square)
    labelled = dx.Problem(square, epsilon=1.0, prior=uniform, loss=np.ones((4, 3)))
    assert PlanarLaplace().refuses(labelled)
    many = asked(dx.grid((3000, 12)), 1.0, dx.Reports.at(RANDOM.random((3000, 2))))
    assert "100,000,000" in (PlanarLaplace().refuses(many) or "")
    words = dx.Reports.at([["here", "there"]])
    problem = dx.Problem(square, epsilon=1.0, prior=uniform, loss=np.ones((4, 1)), reports=words)
    assert PlanarLaplace().refuses(problem)


@pytest.mark.parametrize("spacing", [1e-200, 1e200])
def test_places_whose_squares_are_no_doubles_are_refused(spacing: float) -> None:
    with pytest.raises(dx.UnsupportedError, match=r"^space: "):
        planar_laplace(dx.grid((3, 3), spacing=spacing), epsilon=1 / spacing)
    assert planar_laplace(dx.grid((2, 2), spacing=1e-90), epsilon=1e90).privacy is not None
