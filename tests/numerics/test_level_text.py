"""Levels as text: rounded up, so that what is typed pays for what was printed."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxopt.numerics.exact_rational import amount_of
from dxopt.numerics.number_syntax import level_text


@given(st.floats(1e-12, 1e12), st.integers(3, 12))
def test_a_level_that_is_typed_pays_for_the_one_that_was_printed(level: float, digits: int) -> None:
    typed = amount_of(level_text(level, digits), "level")
    assert Fraction(level) <= typed <= Fraction(level) * (1 + Fraction(10) ** (2 - digits))
    assert amount_of(f"7x{level_text(level, digits)}", "budget") // Fraction(level) == 7 or digits < 4


@pytest.mark.parametrize(
    ("level", "text"),
    [(0.1, "0.1"), (2.0, "2"), (math.log(4), "1.39"), (0.6192867, "0.62"), (0.1 + 0.2, "0.301"), (1234.5, "1235")],
)
def test_levels_are_as_they_were_given_or_rounded_up(level: float, text: str) -> None:
    assert level_text(level) == text


def test_no_level_is_none() -> None:
    assert level_text(math.inf) == "infinite"
