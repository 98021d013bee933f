"""What integer tables refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dxopt as dx
from dxopt.release.tables import IntegerTable, integer_table


@pytest.mark.parametrize("bits", [64.0, "64", np.int64(64), 0, 96, 320])
def test_totals_that_are_none(bits: object) -> None:
    with pytest.raises(dx.SpecError, match="bits"):
        IntegerTable(dx.line(1), dx.Reports(("a",)), np.array([[2**64]], dtype=object), bits, 1.0)  # pyright: ignore


@pytest.mark.parametrize("number", [-1.0, math.nan, math.inf, "1", None])
def test_levels_that_are_none(number: float) -> None:
    counts = np.array([[2**64]], dtype=object)
    with pytest.raises(dx.SpecError, match="epsilon"):
        IntegerTable(dx.line(1), dx.Reports(("a",)), counts, 64, number)
    with pytest.raises(dx.SpecError, match="delta"):
        IntegerTable(dx.line(1), dx.Reports(("a",)), counts, 64, 1.0, number)


def test_what_is_no_mechanism_or_prior() -> None:
    mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    table = integer_table(mechanism)
    for given in (np.eye(3), table, None):
        with pytest.raises(dx.SpecError, match="mechanism: is of type"):
            integer_table(given)  # pyright: ignore[reportArgumentType]
    with pytest.raises(dx.SpecError, match="prior: sums to 3; give probabilities that sum to 1"):
        integer_table(mechanism, prior=[1, 1, 1])  # pyright: ignore
    with pytest.raises(dx.SpecError, match="report: there is no report True"):
        table.probability(0, True)
