"""Amounts of privacy as rationals, and the doubles on either side of them."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from dxopt.numerics.exact_rational import amount_of, float_above, float_below, level_of


def test_doubles_on_either_side_are_the_nearest() -> None:
    rng = np.random.default_rng(0)
    for _ in range(500):
        exact = (
            Fraction(float(rng.random())) * Fraction(float(rng.random())) * Fraction(2) ** int(rng.integers(-1080, 9))
        )
        below, above = float_below(exact), float_above(exact)
        assert Fraction(below) <= exact <= Fraction(above)
        assert above in (below, math.nextafter(below, math.inf))
    for number in (0.1, 5e-324, sys.float_info.max):
        assert float_below(Fraction(number)) == float_above(Fraction(number)) == number
    beyond = Fraction(sys.float_info.max) + 1
    assert float_above(beyond) == math.inf
    assert float_below(beyond) == sys.float_info.max


def test_a_level_that_no_double_is_below_is_none() -> None:
    assert Fraction(level_of(Fraction(1, 3), "epsilon")) <= Fraction(1, 3)
    for small in (Fraction(1, 1 << 2000), Fraction(0)):
        with pytest.raises(dx.SpecError, match=r"^epsilon: "):
            level_of(small, "epsilon")


def test_text_is_so_many_releases_of_a_double() -> None:
    assert amount_of("10x0.1", "total") == 10 * Fraction(0.1)
    assert amount_of("0.1", "total") == amount_of(0.1, "total") == Fraction(0.1)
    assert amount_of(f"{sys.maxsize}x1", "total") == sys.maxsize
    with pytest.raises(dx.SpecError, match=r"^total: "):
        amount_of(f"{10 * sys.maxsize}x0.1", "total")
