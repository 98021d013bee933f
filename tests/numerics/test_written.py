"""Numbers as people write them."""

from __future__ import annotations

import math

import pytest

import dxopt as dx
from dxopt.numerics.number_syntax import is_expression, number_of, shortened


def test_long_texts_are_quoted_in_part() -> None:
    assert shortened("7" * 60) == repr("7" * 60)
    assert shortened("7" * 61) == repr("7" * 57 + "...")
    with pytest.raises(dx.SpecError, match=r"^epsilon: "):
        number_of("a" * 100, "epsilon")


VALUES = {
    "ln(2)/3": math.log(2) / 3,
    "sqrt( 2 ) / 4": math.sqrt(2) / 4,
    "log2(8)": 3.0,
    "-1/8": -0.125,
    "1e-3": 0.001,
}


@pytest.mark.parametrize("text", VALUES)
def test_a_number_may_be_divided(text: str) -> None:
    assert number_of(text, "epsilon") == VALUES[text]
    assert is_expression(text) is ("(" in text or "/" in text)


@pytest.mark.parametrize("text", ["ln(2)/0", "ln(0)/2", "2/ln(2)", "ln(2", "2)", "ln(2)/3/4"])
def test_what_else_is_divided_is_refused(text: str) -> None:
    with pytest.raises(dx.SpecError) as refused:
        number_of(text, "epsilon")
    assert refused.value.field == "epsilon"
