"""Values that the verifier encloses, and numbers that agree with them: against rationals."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.results.measures import MEASURES
from dxopt.spaces.archive import pack
from dxopt.verify.comparison import _enclosed_solution
from dxopt.verify.folder import Result
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.measures import check_error_bound
from dxopt.verify.values import AGREEMENT, Enclosed, Worth
from dxopt.verify.verdict import Broken, Unproved
from tests.material.verified import KINDS

TINY = 2.0**-1060


@pytest.mark.parametrize("scale", [1.0, TINY])
def test_the_error_of_an_adversary_is_enclosed(scale: float) -> None:
    rng = np.random.default_rng(4)
    for size in (2, 5, 40):
        for _ in range(6):
            prior = rng.dirichlet(np.ones(size))
            matrix = rng.dirichlet(np.ones(3), size)
            guessed = scale * rng.random((size, 4))
            found = Worth(matrix, prior).adversary_error(guessed)
            exact = Fraction(0)
            for z in range(3):
                weighed = [
                    Fraction(a) * Fraction(b) for a, b in zip(prior.tolist(), matrix[:, z].tolist(), strict=True)
                ]
                exact += min(
                    sum((a * Fraction(b) for a, b in zip(weighed, column, strict=True)), Fraction(0))
                    for column in guessed.T.tolist()
                )
            assert found.low <= exact <= found.high
            assert found.high - found.low <= Fraction(scale) * Fraction(1, 10**10) + Fraction(1, 10**200)


def test_the_error_of_an_adversary_is_exact_where_doubles_are_not() -> None:
    """One guess costs so much where it is wrong that it says nothing in doubles of the others, which are tiny."""
    rng = np.random.default_rng(5)
    prior, matrix = np.array([0.5, 0.25, 0.25]), np.array([[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]])
    guessed = np.concatenate([1e-100 * rng.random((3, 3)), np.full((3, 1), 1e250)], axis=1)
    exact = Fraction(0)
    for z in range(2):
        weighed = [Fraction(a) * Fraction(b) for a, b in zip(prior.tolist(), matrix[:, z].tolist(), strict=True)]
        columns = guessed.T.tolist()
        exact += min(sum(a * Fraction(b) for a, b in zip(weighed, one, strict=True)) for one in columns)
    found = Worth(matrix, prior).adversary_error(guessed)
    assert found.low == found.high == found.size == exact


def test_guesses_that_are_infinitely_far_are_none() -> None:
    """A guess counts after the reports of secrets it is near to; where none is left, the error is infinite."""
    prior = np.array([0.5, 0.25, 0.25])
    matrix = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    guessed = np.array([[1.0, np.inf, np.inf, 3.0], [2.0, 1.0, np.inf, 2.0], [np.inf, 4.0, np.inf, 1.0]])
    found = Worth(matrix, prior).adversary_error(guessed)
    assert found.agrees(0.5 * 1 + 0.125 * 2 + min(0.125 * 1 + 0.25 * 4, 0.125 * 2 + 0.25 * 1))
    with pytest.raises(Unproved, match="no guess after report 1"):
        Worth(matrix, prior).adversary_error(guessed[:, [0, 2]])


def test_numbers_agree_up_to_what_is_said_and_no_further() -> None:
    third = Fraction(1, 3)
    exact = Enclosed(third, third, Fraction(2), Fraction(0))
    for side in (1, -1):
        assert exact.agrees(float(third + side * 2 * AGREEMENT * (1 - Fraction(1, 1000))))
        assert not exact.agrees(float(third + side * 2 * AGREEMENT * (1 + Fraction(1, 1000))))
    assert not exact.agrees(math.nan)
    assert not exact.agrees(math.inf)


@pytest.mark.parametrize("width", [0.01, 0.2])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e3])
def test_solutions_of_wide_systems_are_enclosed(scale: float, width: float) -> None:
    """1/a for every a of an interval, which is further from that of the middle than its residual."""
    for side in (-1, 1):
        system = np.array([[scale]])
        found = _enclosed_solution(system, width)
        assert found is not None
        true = 1 / (Fraction(scale) * (1 + side * Fraction(width)))
        assert Fraction(float(found[0][0])) <= true <= Fraction(float(found[1][0]))
    assert _enclosed_solution(np.ones((2, 2)), width) is None


def test_the_least_distance_is_the_least() -> None:
    rng = np.random.default_rng(12)
    spaces = [
        dx.MetricSpace.from_distances(np.array([[0.0, 1, 3], [1, 0, 2], [3, 2, 0]])),
        dx.MetricSpace.from_points(rng.random((5, 2))),
        dx.MetricSpace.from_points([0.0, 3.0, 3.5, 9.0]),
        dx.product(dx.line(3), dx.MetricSpace.from_distances(np.array([[0.0, 0.5], [0.5, 0]]))),
        dx.torus((3, 4)),
    ]
    for space in spaces:
        apart = space.distances[~np.eye(len(space), dtype=bool)]
        assert Space.read(pack(space)).nearest == pytest.approx(apart.min())


def test_error_bounds_are_about_symmetric_distances(tmp_path: Path) -> None:
    report = KINDS["program"]()
    result = Result.read(report.save(tmp_path / "out"))
    claimed = MEASURES["error_bound"](report.mechanism, report.problem)
    check_error_bound(result, claimed)
    with pytest.raises(Broken, match="error_bound is"):
        check_error_bound(result, claimed * (1 + 1e-9))
    distances = result.distances.copy()
    distances[0, 1] *= 1.5
    other = replace(result, problem={**result.problem, "distances": distances})
    with pytest.raises(Unproved, match="about symmetric distances"):
        check_error_bound(other, claimed)


def test_error_bounds_are_of_the_best_pair(tmp_path: Path) -> None:
    """d / (1 + e^d) is largest at 1.28; d / (2 + e^d), and so on, are largest at other distances."""
    space = dx.MetricSpace.from_points([0.0, 1.16, 100.0, 101.28])
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space)), method="exponential")
    result = Result.read(report.save(tmp_path / "out"))
    best, other = (length / (1 + math.exp(length)) for length in (101.28 - 100.0, 1.16))
    assert other < best == pytest.approx(MEASURES["error_bound"](report.mechanism, report.problem))
    check_error_bound(result, best)
    with pytest.raises(Broken, match="error_bound is"):
        check_error_bound(result, other)
