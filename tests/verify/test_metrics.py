"""Distances on great circles, as the verifier encloses them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dxopt as dx
from dxopt.verify.metrics import Measured, _Ends, _reduced, on_sphere
from dxopt.verify.verdict import Broken


@pytest.mark.parametrize("seed", range(20))
def test_great_circles_agree_with_the_formula(seed: int) -> None:
    """Distances by the haversine formula agree with the points, near and far; a billionth more does not."""
    rng = np.random.default_rng(seed)
    start = np.array([rng.uniform(-90, 90), rng.uniform(-360, 360)])
    spread = 10.0 ** rng.uniform(-6, 2)
    points = start + rng.uniform(-spread, spread, (12, 2))
    points = np.stack([points[:, 0].clip(-90, 90), points[:, 1].clip(-360, 360)], axis=1)
    distances = dx.MetricSpace.from_points(points, "haversine").distances
    measured = Measured("haversine", {"unit": "km"}, points, points)
    for x, row in enumerate(distances):
        assert not len(measured.off(x, row))
        far = (row > 1) & (row < 19_000)
        assert set(np.flatnonzero(far)) <= set(measured.off(x, row * (1 + 1e-7)).tolist())


@pytest.mark.parametrize(
    ("degrees", "vector"),
    [
        ([90, 17], [0, 0, 1]),
        ([-90, 17], [0, 0, -1]),
        ([0, 180], [-1, 0, 0]),
        ([0, -180], [-1, 0, 0]),
        ([0, 270], [0, -1, 0]),
        ([0, 360], [1, 0, 0]),
        ([0, -90], [0, -1, 0]),
        ([30, 150], [-0.75, 3**0.5 / 4, 0.5]),
    ],
)
def test_points_on_the_sphere(degrees: list[float], vector: list[float]) -> None:
    assert on_sphere(np.array([degrees], dtype=float))[0] == pytest.approx(vector, abs=1e-15, rel=0)


@pytest.mark.parametrize("degrees", [[90.5, 0.0], [-91.0, 10.0], [0.0, 360.5], [45.0, -361.0], [91.0, 361.0]])
def test_points_beyond_the_poles_or_a_turn_are_none(degrees: list[float]) -> None:
    with pytest.raises(Broken, match="point 1 is no latitude and longitude"):
        on_sphere(np.array([[90.0, -360.0], degrees]))


def test_the_longitude_gained_is_differentiated() -> None:
    """By differences of ways on the ellipsoid, whose azimuth at the southern end is turned a little."""
    rng = np.random.default_rng(0)
    south = rng.uniform(-80, -20, 200)
    ends = _Ends(*_reduced(south), *_reduced(rng.uniform(-0.9, 0.9, 200) * south))
    azimuths = rng.uniform(0.1, math.pi - 0.1, 200)
    before, _, after = ways = [
        ends.reached(np.sin(a), np.cos(a)) for a in azimuths + np.array([[-1e-5], [0], [1e-5]])
    ]
    assert ways[1][1] == pytest.approx((after[0] - before[0]) / 2e-5, rel=1e-6)
