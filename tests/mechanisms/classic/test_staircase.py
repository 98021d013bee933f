"""Staircase noise moved to the nearest secret: its cells, its steps, and the level it takes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

import dxopt as dx
from dxopt.mechanisms.classic.catalogue import geometric, laplace, staircase
from tests.judges.exact import violations


def sums(size: int, widest: int) -> dx.MetricSpace:
    """Answers of which those up to `widest` apart are adjacent."""
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    return dx.MetricSpace.from_distances(np.ceil(apart / widest))


def mass(low: float, high: float, level: float, width: float, share: float) -> float:
    """The mass of an interval, from the density of Geng and Viswanath piece by piece."""
    fall = math.exp(-level)
    peak = (1 - fall) / (2 * width * (share + fall * (1 - share)))

    def density(offset: float) -> float:
        step, part = divmod(abs(offset) / width, 1.0)
        return peak * fall ** (step + (part >= share))

    reach = 40 * width / level
    low, high = max(low, -reach), min(high, reach)
    jumps = [
        side * width * (k + part) for k in range(-1, int(40 / level) + 1) for part in (0, share) for side in (-1, 1)
    ]
    ends = sorted({low, high, *(jump for jump in jumps if low < jump < high)})
    return math.fsum(quad(density, a, b)[0] for a, b in pairwise(ends))


def by_hand(numbers: list[float], level: float, width: float, share: float | None = None) -> np.ndarray:
    """The mechanism on ascending numbers."""
    share = 1 / (1 + math.exp(level / 2)) if share is None else share
    edges = [-math.inf, *((a + b) / 2 for a, b in pairwise(numbers)), math.inf]
    return np.array([[mass(a - x, b - x, level, width, share) for a, b in pairwise(edges)] for x in numbers])


@pytest.mark.parametrize("epsilon", [0.6, 2.0])
def test_on_sums_it_takes_the_whole_level_for_each_step(epsilon: float) -> None:
    space = sums(13, 5)
    mechanism = staircase(space, epsilon=epsilon)
    assert mechanism.matrix == pytest.approx(by_hand([float(x) for x in range(13)], epsilon, 5.0), abs=1e-10)
    assert violations(mechanism.matrix, space.distances, epsilon) == []
    assert violations(mechanism.matrix, space.distances, 0.99 * epsilon) != []


def test_on_sums_it_is_better_than_other_noise() -> None:
    space, epsilon = sums(101, 5), 3.0
    far = np.abs(np.arange(101) - 50)
    errors = {make: float(make(space, epsilon=epsilon).matrix[50] @ far) for make in (staircase, laplace, geometric)}
    assert errors[staircase] < 0.9 * min(errors[laplace], errors[geometric])


def test_on_a_line_each_step_is_one() -> None:
    numbers = [0.1 * i for i in range(6)]
    space = dx.MetricSpace.from_points(numbers)
    mechanism = staircase(space, epsilon=5.0)
    assert mechanism.matrix == pytest.approx(by_hand(numbers, 0.5, 0.1), abs=1e-10)
    assert violations(mechanism.matrix, space.distances, 5.0) == []
    assert violations(mechanism.matrix, space.distances, 0.99 * 5.0) != []


def test_steps_that_are_whole_but_for_rounding_are_whole() -> None:
    numbers = [0.1 * i for i in range(8)]
    space = dx.MetricSpace.from_distances(np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0))))
    mechanism = staircase(space, epsilon=0.5, sensitivity=0.1, positions=numbers)
    assert mechanism.matrix == pytest.approx(by_hand(numbers, 0.5, 0.1), abs=1e-10)


def test_uneven_steps_lower_the_level() -> None:
    numbers, epsilon = [0.0, 1.0, 1.5, 3.0], 0.9
    mechanism = staircase(dx.MetricSpace.from_points([0.0, 3.0, 1.0, 1.5]), epsilon=epsilon)
    level = epsilon * min(abs(a - b) / math.ceil(abs(a - b) / 0.5) for a in numbers for b in numbers if a != b)
    order = [0, 3, 1, 2]
    assert mechanism.matrix == pytest.approx(by_hand(numbers, level, 0.5)[np.ix_(order, order)], abs=1e-10)


def test_sensitivity_and_share_are_taken() -> None:
    space = dx.line(7)
    mechanism = staircase(space, epsilon=0.8, sensitivity=2.0, share=0.25)
    numbers = [float(x) for x in range(7)]
    assert mechanism.matrix == pytest.approx(by_hand(numbers, 0.8, 2.0, 0.25), abs=1e-10)
    assert violations(mechanism.matrix, space.distances, 0.8) == []


def test_of_secrets_with_one_number_the_first_is_reported() -> None:
    space = dx.MetricSpace.from_distances(sums(4, 2).distances)
    matrix = staircase(space, epsilon=1.0, positions=[0, 0, 1, 2]).matrix
    assert matrix[:, 1].max() < 1e-14
    assert matrix[:, [0, 2, 3]] == pytest.approx(by_hand([0.0, 1.0, 2.0], 1.0, 2.0)[[0, 0, 1, 2]], abs=1e-10)


def test_nothing_to_hide_is_told_as_it_is() -> None:
    apart = np.full((3, 3), np.inf)
    np.fill_diagonal(apart, 0.0)
    assert np.array_equal(staircase(dx.MetricSpace.from_distances(apart), epsilon=1.0).matrix, np.eye(3))
    assert np.array_equal(staircase(dx.line(1), epsilon=1.0).matrix, np.eye(1))


def test_refused() -> None:
    with pytest.raises(dx.UnsupportedError, match="needs one number for each secret"):
        staircase(dx.grid((2, 2)), epsilon=1.0)
    with pytest.raises(dx.UnsupportedError, match="needs one number for each secret"):
        staircase(dx.MetricSpace.from_points(["a", "b"], "discrete"), epsilon=1.0)
    with pytest.raises(dx.UnsupportedError, match="needs a distance above 0"):
        staircase(dx.MetricSpace.from_distances([[0, 0, 1], [0, 0, 1], [1, 1, 0]]), epsilon=1.0)
    space = dx.line(3)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=np.ones((3, 2)))
    with pytest.raises(dx.UnsupportedError, match="staircase needs the secrets themselves"):
        dx.solve(problem, method="staircase")


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"sensitivity": 0.0}, "^sensitivity: "),
        ({"sensitivity": math.nan}, "^sensitivity: "),
        ({"share": -0.1}, "^share: "),
        ({"positions": [0, 1]}, "^positions: "),
    ],
)
def test_parameters_that_are_none(arguments: dict, wrong: str) -> None:
    with pytest.raises(dx.SpecError, match=wrong):
        staircase(dx.line(3), epsilon=1.0, **arguments)
