"""Distances on the ellipsoid, as the verifier derives them."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.metrics import Geodesic
from dxopt.verify.metrics import ACCURACY, Measured, geodesics
from dxopt.verify.verdict import Broken

Geod = pytest.importorskip("pyproj").Geod
# Karney (2013), Tables 2, 3 and 4; four pairs of the tests of GeographicLib
PUBLISHED = [
    ([40, 0], [41.79331020506, 137.84490004377], 10_000_000.0, 1e-5),
    ([-30.12345, 0], [-30.12344, 0.00005], 4.944208, 1e-6),
    ([-30, 0], [29.9, 179.8], 19_989_832.827610, 1e-6),
    ([35.60777, -139.44815], [-11.17491, -69.95921], 8_935_244.5604818305, 1e-7),
    ([55.52454, 106.05087], [77.03196, 197.18234], 4_105_086.1713924406, 1e-7),
    ([-21.97856, 142.59065], [41.84138, 98.56635], 8_394_328.894657671, 1e-7),
    ([-66.99028, 112.2363], [-12.70631, 285.90344], 11_150_344.2312080241, 1e-7),
]


@pytest.mark.parametrize(("start", "end", "metres", "digits"), PUBLISHED)
def test_published_values(start: list[float], end: list[float], metres: float, digits: float) -> None:
    here, there = (np.array([place], dtype=float) for place in (start, end))
    assert geodesics(here[0], there) == pytest.approx(metres, abs=digits, rel=0)
    assert geodesics(there[0], here) == pytest.approx(metres, abs=digits, rel=0)
    assert Geodesic("m").block(here, there) == pytest.approx(metres, abs=digits, rel=0)


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_pyproj(seed: int) -> None:
    """Far and near, near the antipode, on parallels, meridians and the equator, and from poles."""
    rng = np.random.default_rng(seed)
    here = rng.uniform([-90, -180], [90, 180])
    here[0] = [here[0], 0.0, -90.0, 90.0, here[0].round(), 10.0 ** rng.uniform(-12, -3)][seed % 6]
    antipode = np.array([-here[0], here[1] - 180])
    size = 10.0 ** rng.uniform(-12, 0, (300, 1))
    others = np.vstack(
        [
            rng.uniform([-90, -180], [90, 180], (300, 2)),
            here + rng.normal(size=(300, 2)) * size,
            antipode + rng.normal(size=(300, 2)) * size,
            np.stack([rng.choice([1, -1], 300) * here[0], rng.uniform(-180, 180, 300)], axis=1),
            np.stack([rng.uniform(-90, 90, 300), rng.choice([here[1], antipode[1]], 300)], axis=1),
            np.stack([rng.normal(size=300) * size[:, 0], rng.uniform(-180, 180, 300)], axis=1),
            np.array([antipode, here, [90, 1], [-90, 2], [0, here[1] + 180], [here[0], here[1] + 180]]),
        ]
    ).clip([-90, -360], [90, 360])
    _, _, known = Geod(ellps="WGS84").inv(
        np.full(len(others), here[1]), np.full(len(others), here[0]), others[:, 1], others[:, 0]
    )
    assert np.abs(geodesics(here, others) - known).max() <= ACCURACY


@pytest.mark.parametrize("unit", ["km", "m", "mi"])
def test_claims_of_geodesic_distances(unit: str) -> None:
    """What dxopt computes is derived again; a part in ten million more is not, nor are great circles."""
    points = np.random.default_rng(1).uniform([-80, -170], [80, 170], (9, 2))
    measured = Measured("geodesic", {"unit": unit}, points, points)
    rounder = dx.geo.points(points, unit=unit).distances
    for x, row in enumerate(dx.geo.points(points, unit=unit, metric="geodesic").distances):
        assert not len(measured.off(x, row))
        assert len(measured.off(x, row * (1 + 1e-7))) == 8
        assert len(measured.off(x, rounder[x])) == 8


def test_claims_of_conservative_great_circles() -> None:
    points = np.random.default_rng(2).uniform([-80, -170], [80, 170], (9, 2))
    measured = Measured("conservative_haversine", {"unit": "km"}, points, points)
    longer = dx.geo.points(points).distances
    for x, row in enumerate(dx.geo.points(points, metric="conservative_haversine").distances):
        assert not len(measured.off(x, row))
        assert len(measured.off(x, longer[x])) == 8


def test_no_place_on_the_earth() -> None:
    with pytest.raises(Broken, match="no latitude"):
        Measured("geodesic", {"unit": "m"}, np.zeros((1, 2)), np.array([[91.0, 0.0]]))
