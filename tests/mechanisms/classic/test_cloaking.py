"""Cloaking: what it reports, what it costs, and that it protects nothing at the borders of its regions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.classic.catalogue import BASELINES, cloaking
from dxopt.spaces.positions import local_plane
from tests.judges.exact import infinite_leakage, violations
from tests.material.classics import EXAMPLES


def test_squares_of_a_grid() -> None:
    mechanism = cloaking(dx.grid((4, 4)), side=2.0)
    assert mechanism.regions.reshape(4, 4).tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]
    assert mechanism.representatives.tolist() == [0, 2, 8, 10]
    assert mechanism.privacy is None
    assert mechanism.name == "cloaking"
    assert mechanism.matrix.sum(axis=1).tolist() == [1.0] * 16
    assert np.flatnonzero(mechanism.row("(1, 3)")).tolist() == [2]
    drawn = mechanism.sample(index=np.array([0, 5, 15]), size=3, rng=np.random.default_rng(0))
    assert drawn.tolist() == [[0, 0, 0], [0, 0, 0], [10, 10, 10]]


def test_the_middle_of_a_square_is_reported() -> None:
    mechanism = cloaking(dx.grid((6, 6), spacing=0.1), side=0.3)
    assert mechanism.representatives.tolist() == [7, 10, 25, 28]
    loss = dx.evaluate.expected_loss(mechanism, dx.Prior.uniform(mechanism.space), "distance")
    assert loss == pytest.approx(0.1 * (4 + 4 * math.sqrt(2)) / 9)


def test_the_secret_nearest_to_the_centroid() -> None:
    points = np.random.default_rng(3).random((40, 2))
    space = dx.MetricSpace.from_points(points)
    mechanism = cloaking(space, side=0.4)
    squares = np.floor((points - points.min(axis=0)) / 0.4)
    for region, chosen in enumerate(mechanism.representatives):
        members = np.flatnonzero(mechanism.regions == region)
        assert len(np.unique(squares[members], axis=0)) == 1
        centroid = points[members].mean(axis=0)
        assert chosen == members[np.hypot(*(points[members] - centroid).T).argmin()]
    assert len(mechanism.representatives) == len(np.unique(squares, axis=0))


def test_neighbours_across_a_border_are_told_apart() -> None:
    mechanism = cloaking(dx.line(6), side=3.0)
    distances = mechanism.space.distances
    assert mechanism.representatives.tolist() == [1, 4]
    assert (2, 3, 1) in infinite_leakage(mechanism.matrix, distances)
    assert all(x // 3 != other // 3 for x, other, _ in infinite_leakage(mechanism.matrix, distances))
    assert violations(mechanism.matrix, distances, 1e6) != []
    assert dx.evaluate.smallest_epsilon(mechanism) == math.inf
    assert dx.evaluate.smallest_delta(mechanism, 5.0) == pytest.approx(1.0, abs=1e-12)
    assert dx.evaluate.expected_loss(mechanism, dx.Prior.uniform(mechanism.space), "distance") == pytest.approx(4 / 6)


def test_a_secret_on_a_border_is_in_the_square_that_begins_there() -> None:
    """Although 0.3 / 0.1 is below 3 in doubles."""
    assert cloaking(dx.MetricSpace.from_points([0.0, 0.1, 0.2, 0.3]), side=0.1).regions.tolist() == [0, 1, 2, 3]


def test_a_single_region_says_nothing() -> None:
    mechanism = cloaking(dx.line(5), side=100.0)
    assert mechanism.representatives.tolist() == [2]
    assert dx.evaluate.smallest_epsilon(mechanism) < 1e-12


def test_regions_in_any_space() -> None:
    space = dx.MetricSpace.from_distances([[0, 1, 2, 9], [1, 0, 1, 9], [2, 1, 0, 9], [9, 9, 9, 0]])
    mechanism = cloaking(space, regions=[7, 7, 7, -1])
    assert mechanism.regions.tolist() == [1, 1, 1, 0]
    assert mechanism.matrix.argmax(axis=1).tolist() == [1, 1, 1, 3]


def test_squares_on_the_globe_are_those_of_the_plane() -> None:
    town = 45.5 + np.random.default_rng(4).random((30, 2)) * 0.1
    globe, plane = dx.MetricSpace.from_points(town, "haversine"), dx.MetricSpace.from_points(local_plane(town))
    found = cloaking(globe, side=3.0)
    assert np.array_equal(found.regions, cloaking(plane, side=3.0).regions)
    assert np.array_equal(found.representatives, cloaking(plane, side=3.0).representatives)
    assert len(found.representatives) > 4


@pytest.mark.parametrize("shape", [pytest.param((60, 60), marks=pytest.mark.full), (400,)])
def test_the_baseline_costs_about_as_much_as_the_noise(shape: tuple[int, ...]) -> None:
    """In a wide and fine grid: 2/ε in the plane and 1/ε on a line."""
    space = dx.grid(shape) if len(shape) == 2 else dx.line(shape[0])
    problem = dx.Problem(space, epsilon=0.2, prior=dx.Prior.uniform(space))
    channel = BASELINES.get("cloaking")().channel(problem)
    loss = float((channel * space.distances).sum() / len(space))
    assert loss == pytest.approx(len(shape) / 0.2, rel=0.1)


def test_the_baseline_keeps_its_contract() -> None:
    baseline = BASELINES.get("cloaking")()
    assert baseline.name == "cloaking"
    for problem in EXAMPLES["cloaking"]():
        assert baseline.refuses(problem) is None
        channel = baseline.channel(problem)
        assert channel.shape == problem.shape
        assert set(np.unique(channel)) == {0.0, 1.0}
        assert (channel.sum(axis=1) == 1).all()
        assert infinite_leakage(channel, problem.space.distances) != []
    small = dx.grid((3, 3))
    low = dx.Problem(small, epsilon=0.01, prior=dx.Prior.uniform(small))
    assert infinite_leakage(baseline.channel(low), small.distances) != []


def test_what_the_baseline_refuses() -> None:
    refuses = BASELINES.get("cloaking")().refuses
    cases = {
        "needs coordinates": dx.MetricSpace.from_distances([[0, 1], [1, 0]]),
        "squares: the space": dx.grid((2, 2), metric="manhattan"),
        "squares: the points": dx.MetricSpace.from_points([[90.0, 0.0]], "haversine"),
    }
    for reason, space in cases.items():
        assert reason in (refuses(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))) or "")
    space = dx.line(3)
    uniform = dx.Prior.uniform(space)
    other = dx.Problem(space, epsilon=1.0, prior=uniform, reports=dx.Reports.at([0.5]))
    assert "secrets themselves" in (refuses(other) or "")
    free = dx.Problem(space, epsilon=None, prior=uniform, objective=dx.AdversaryError(max_loss=1.0))
    assert refuses(free) == "needs an epsilon"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "^side: "),
        ({"side": 1.0, "regions": [0, 0, 0]}, "^side: "),
        ({"side": 0.0}, "^side: "),
        ({"side": math.inf}, "^side: "),
        ({"side": "wide"}, "^side: "),
        ({"regions": [0, 1]}, "^regions: "),
        ({"regions": [0.5, 1.0, 2.0]}, "^regions: "),
        ({"regions": [[0], [1, 2]]}, "^regions: "),
    ],
)
def test_bad_input(wrong: dict, message: str) -> None:
    with pytest.raises(dx.SpecError, match=message):
        cloaking(dx.line(3), **wrong)


def test_no_squares_without_coordinates() -> None:
    with pytest.raises(dx.UnsupportedError, match=r"^space: "):
        cloaking(dx.grid((2, 2, 2)), side=1.0)
