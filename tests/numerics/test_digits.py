"""Numbers in messages that differ also differ as text."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dxopt.numerics.number_syntax import at_most, digits_down, digits_up, factor, floor_of, ordered_texts, texts_apart


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.5, 0.75, ("0.5", "0.75")),
        (1 / 3, 2 / 3, ("0.3333333", "0.6666667")),
        (1.0, 1.0000000001, ("1", "1.0000000001")),
        (0.0001, 0.42454724, ("0.0001", "0.4245473")),
        (-1.0, 0.1, ("-1", "0.1")),
        (-1.0, 5.6644723e-18, ("-1", "5.664473e-18")),
        (1.0, math.inf, ("1", "inf")),
        (0.4, 0.39999999999999997 + 1e-16, ("0.4", "0.4000000000000001")),
        (1.0, float(np.nextafter(1.0, 2.0)), ("1", "1.0000000000000002")),
        (-2.0, -1.9999999999, ("-2", "-1.9999999999")),
    ],
)
def test_as_many_digits_as_tell_them_apart(low: float, high: float, texts: tuple[str, str]) -> None:
    assert low < high
    assert ordered_texts(low, high) == texts
    assert float(texts[0]) < float(texts[1]) and float(texts[1]) >= high


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (1.386, math.log(4), ("1.38", "1.39")),
        (0.37412, 0.37443, ("0.3741", "0.3745")),
        (0.0, 0.5, ("0", "0.5")),
        (99.95, 100.2, ("99.9", "101")),
        (1234.5, 1240.0, ("1230", "1240")),
        (5.0, 5.0000001, ("5", "5.0000001")),
    ],
)
def test_what_is_proven_on_both_sides_is_told_apart(low: float, high: float, texts: tuple[str, str]) -> None:
    assert texts_apart(low, high) == texts
    down, up = (float(text) for text in texts)
    assert down <= low < high <= up


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4.0, "4"),
        (3.99999, "4"),
        (26.96, "27.0"),
        (26.96**2, "727"),
        (1.996, "2.00"),
        (1.5, "1.5"),
        (2.7182, "2.72"),
        (999.6, "1,000"),
        (1024.0, "1,024"),
        (4.0**10, "1.05·10^6 (hardly anything is hidden)"),
    ],
)
def test_a_factor_that_was_rounded_shows_its_digits(value: float, text: str) -> None:
    assert factor(math.log(value)) == text


@pytest.mark.parametrize("value", [5e-324, 1e-320, 1e-308, 1e-300, 0.12345, 26.96])
def test_bounds_to_three_digits_are_bounds_however_small(value: float) -> None:
    assert float(at_most(value)) >= value * (1 - 1e-9)
    assert 0 < floor_of(value) <= value * (1 + 1e-9)


@pytest.mark.parametrize("digits", [1, 2, 7, 10])
def test_a_printed_bound_is_one(digits: int) -> None:
    rng = np.random.default_rng(5)
    for value in [0.0, 0.1, 1e-6, 5e-324, 1e300, *(rng.random(200) * 10.0 ** rng.integers(-300, 300, 200)).tolist()]:
        below, above = digits_down(value, digits), digits_up(value, digits)
        assert float(f"{below:.{digits}g}") == below <= value <= above == float(f"{above:.{digits}g}")
        assert above - below <= value * 10.0 ** (1 - digits) * (1 + 1e-12)
    assert digits_up(math.inf, digits) == math.inf
