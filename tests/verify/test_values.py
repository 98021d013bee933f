"""Values that the verifier encloses, and numbers that agree with them: against rationals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dxopt.verify.values import AGREEMENT, Enclosed, Worth
from dxopt.verify.verdict import Unproved

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
