"""Masses of Voronoi cells under planar Laplace noise, against quadrature along rays and against that on grids."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.integrate import quad

import dxopt as dx
from dxopt.mechanisms.classic.on_grid import OnGrid
from dxopt.mechanisms.classic.voronoi import Voronoi

RING = np.column_stack([np.cos(np.arange(12) * math.pi / 6), np.sin(np.arange(12) * math.pi / 6)])
SCATTERED = np.random.default_rng(5).normal(size=(9, 2)) * 2
GRID = np.stack(np.meshgrid(np.arange(5) * 0.1, np.arange(4) * 0.1), axis=-1).reshape(-1, 2)
TURN = np.array([[math.cos(0.7), math.sin(0.7)], [-math.sin(0.7), math.cos(0.7)]])
SETS = {
    "scattered": SCATTERED,
    "collinear": np.outer([0.0, 3.0, 1.0, 7.0], [1.0, 2.0]) + 0.1,
    "almost collinear": np.column_stack([np.arange(9.0), np.random.default_rng(1).random(9) * 1e-11]),
    "thin": np.column_stack([np.arange(30.0), np.random.default_rng(1).random(30) * 5e-8]),
    "two": np.array([[0.0, 0.0], [1.0, 2.0]]),
    "one": np.array([[3.0, 4.0]]),
    "ring": RING,
    "ring and centre": np.concatenate([RING, [[0.0, 0.0]]]),
    "turned grid": GRID @ TURN,
    "unequal spacings": np.stack(np.meshgrid([0, 1, 5, 5.5], [0, 0.1, 3]), axis=-1).reshape(-1, 2),
    "coincident": np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [2.0, 0.0]]),
    "almost coincident": np.concatenate([SCATTERED, SCATTERED[:1] + 1e-13]),
    "a cluster": np.concatenate([SCATTERED * 1e-6, [[1.0, 1.0], [5.0, 0.0]]]),
}


def mass(sites: np.ndarray, cell: int, secret: np.ndarray, rate: float) -> float:
    """∫ over directions of the mass between where a ray enters the cell and where it leaves it."""
    apart = np.delete(sites, cell, axis=0) - sites[cell]
    room = 0.5 * ((np.delete(sites, cell, axis=0) ** 2).sum(axis=1) - (sites[cell] ** 2).sum()) - apart @ secret

    def left(reach: float) -> float:
        return (1 + rate * reach) * math.exp(-rate * reach) if reach < math.inf else 0.0

    def within(angle: float) -> float:
        speed = apart @ [math.cos(angle), math.sin(angle)]
        enters = max([0.0, *(room[speed < 0] / speed[speed < 0])])
        leaves = min([math.inf, *(room[speed > 0] / speed[speed > 0])])
        return left(enters) - left(leaves) if enters < leaves else 0.0

    corners = [np.linalg.solve(apart[[i, j]], room[[i, j]]) for i, j in combinations(range(len(room)), 2)]
    turns = [math.atan2(y, x) for x, y in corners]
    turns += [math.atan2(y, x) + side for x, y in apart for side in (-math.pi / 2, math.pi / 2)]
    ends = sorted({-math.pi, math.pi, *((turn + math.pi) % (2 * math.pi) - math.pi for turn in turns)})
    parts = [quad(within, a, b, epsabs=0, epsrel=1e-12, limit=200)[0] for a, b in pairwise(ends) if b - a > 1e-12]
    return math.fsum(parts) / (2 * math.pi)


@pytest.mark.parametrize("rate", [0.05, 0.7, 6.0])
def test_masses_of_cells_of_scattered_sites(rate: float) -> None:
    secrets = np.concatenate([SCATTERED[[0, 4]], [[0.3, -0.2], [9.0, 9.0]]])
    masses = Voronoi.of(SCATTERED).masses(secrets, rate)
    for secret, row in zip(secrets, masses, strict=True):
        for cell in range(0, 9, 2):
            expected = mass(SCATTERED, cell, secret, rate)
            assert row[cell] == pytest.approx(expected, rel=1e-10, abs=1e-280)


def test_a_half_plane() -> None:
    """Two sites: what is beyond the bisector at distance h is the mass of a half-plane."""
    sites, rate = np.array([[0.0, 0.0], [0.0, 3.0]]), 0.8

    def density(height: float) -> float:
        """∫ β²/(2π) e^{-β√(t² + h²)} dt, by s with t = h sinh s."""
        rays = quad(lambda s: math.cosh(s) * math.exp(-rate * height * math.cosh(s)), 0, 12, epsabs=0, epsrel=1e-12)
        return rate**2 / math.pi * height * rays[0]

    beyond = quad(density, 1.5, 60, epsabs=0, epsrel=1e-11)[0]
    assert Voronoi.of(sites).masses(sites[:1], rate)[0, 1] == pytest.approx(beyond, rel=1e-10, abs=0)


@pytest.mark.parametrize("rate", [0.02, 0.5, 3.0, 30.0, 100.0, 300.0])
@pytest.mark.parametrize("shape", [(5, 6), (1, 4), (6, 1), (2, 2), (10, 10)])
def test_as_the_quadrature_on_grids(shape: tuple[int, int], rate: float) -> None:
    """Relative to masses however small, down to the floor of the quadrature."""
    space = dx.grid(shape)
    masses = Voronoi.of(np.asarray(space.points)).masses(np.asarray(space.points), rate)
    lowered = OnGrid.of(space, rate).matrix  # its rate is lowered by 1e-9 relative and 1e-11
    seen = masses > 1e-240
    assert masses[seen] == pytest.approx(lowered[seen], rel=1e-6, abs=0)
    exact = OnGrid.of(space, (rate + 1e-11) / (1 - 1e-9)).matrix
    assert masses[seen] == pytest.approx(exact[seen], rel=1e-10, abs=0)
    assert exact[~seen].max(initial=0.0) <= 1.001e-240


@pytest.mark.parametrize("rate", [1e-6, 0.1, 1.0, 10.0, 300.0])
@pytest.mark.parametrize("name", SETS)
def test_nothing_is_lost(name: str, rate: float) -> None:
    sites = SETS[name]
    middles = 0.5 * (sites + np.roll(sites, 1, axis=0))
    secrets = np.concatenate([sites, middles, [[0.0, 0.0], [0.15, 0.15], [-7.0, 3.0]]])
    cells = Voronoi.of(sites)
    masses = cells._masses_of_block(secrets - cells.centre, rate)
    assert masses.sum(axis=1) == pytest.approx(1.0, abs=1e-13)
    assert masses.min() >= -1e-15
    assert cells.masses(secrets, rate).sum(axis=1) == pytest.approx(1.0, abs=1e-14)


def test_the_first_of_sites_that_coincide_has_the_cell() -> None:
    sites, secrets = SETS["coincident"], np.array([[0.0, 0.0], [5.0, 5.0]])
    masses = Voronoi.of(sites).masses(secrets, 1.0)
    assert (masses[:, 2:4] == 0).all()
    assert np.array_equal(masses[:, [0, 1, 4]], Voronoi.of(sites[[0, 1, 4]]).masses(secrets, 1.0))
    alike = Voronoi.of(np.ones((3, 2))).masses(np.zeros((2, 2)), 1.0)
    assert np.array_equal(alike, [[1.0, 0.0, 0.0]] * 2)


@pytest.mark.parametrize("apart", [1e-5, 1e-7, 3e-8])
def test_sites_hardly_apart_share_their_cell(apart: float) -> None:
    cluster = np.concatenate(
        [SCATTERED, SCATTERED[:1] + np.array([[apart, 0.0], [-apart, apart], [apart, 3 * apart]])]
    )
    masses = Voronoi.of(cluster).masses(cluster, 1.1)
    merged = Voronoi.of(SCATTERED).masses(cluster, 1.1)
    assert masses[:, 1:9] == pytest.approx(merged[:, 1:], abs=1e-6 + 2 * apart)
    assert masses[:, [0, 9, 10, 11]].sum(axis=1) == pytest.approx(merged[:, 0], abs=1e-6 + 2 * apart)
    assert masses[:, [0, 9, 10, 11]].min() > 0


def test_a_grid_too_small_for_its_surroundings() -> None:
    """Its inner cell has the area of a square, although the others are 10^7 times as far away as its neighbours."""
    step = 2e-7
    inner = np.stack(np.meshgrid(np.arange(3) * step, np.arange(3) * step), axis=-1).reshape(-1, 2)
    sites = np.concatenate([inner, SCATTERED + 9]).astype(np.float64)
    masses = Voronoi.of(sites).masses(np.array([[2.0, 0.0]]), 1.1)[0]
    assert masses[4] == pytest.approx(1.1**2 / (2 * math.pi) * math.exp(-2.2) * step**2, rel=1e-2, abs=0)


def test_a_secret_where_cells_meet() -> None:
    sites = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    for rate in (1e-3, 1.0, 50.0):
        cells = Voronoi.of(sites)
        assert cells.masses(np.array([[0.5, 0.5]]), rate) == pytest.approx(0.25, abs=1e-15)
        on_border = cells.masses(np.array([[0.5, 0.0]]), rate)[0]
        assert on_border[0] == pytest.approx(on_border[1], rel=1e-14, abs=0)


def test_a_small_cell_keeps_its_mass() -> None:
    """At a low rate it is density times area: 1/(2π) β² for a unit square."""
    sites = np.asarray(dx.grid((5, 5)).points)
    masses = Voronoi.of(sites).masses(sites, 1e-8).reshape(25, 5, 5)
    assert masses[:, 1:4, 1:4] == pytest.approx(1e-16 / (2 * math.pi), rel=1e-7, abs=0)


def test_far_away_cells_keep_their_digits() -> None:
    sites = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 30.0], [40.0, 40.0]])
    masses = Voronoi.of(sites).masses(sites[:1], 2.0)[0]
    assert 0 < masses[3] < 1e-27
    for cell in range(4):
        assert masses[cell] == pytest.approx(mass(sites, cell, sites[0], 2.0), rel=1e-10, abs=0)


def test_motions_scales_and_orders() -> None:
    rate = 0.9
    masses = Voronoi.of(SCATTERED).masses(SCATTERED, rate)
    moved = SCATTERED @ TURN + np.array([70.0, -30.0])
    assert Voronoi.of(moved).masses(moved, rate) == pytest.approx(masses, rel=1e-11, abs=0)
    assert Voronoi.of(SCATTERED * 1e3).masses(SCATTERED * 1e3, rate / 1e3) == pytest.approx(masses, rel=1e-12, abs=0)
    order = np.random.default_rng(0).permutation(len(SCATTERED))
    again = Voronoi.of(SCATTERED[order]).masses(SCATTERED[order], rate)
    assert again == pytest.approx(masses[np.ix_(order, order)], rel=1e-12, abs=0)


def test_too_many_cells() -> None:
    with pytest.raises(dx.UnsupportedError, match="100,000,000 at most"):
        Voronoi.of(SCATTERED).masses(np.zeros((12_000_000, 2)), 1.0)
