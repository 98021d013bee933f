"""Sums of rows, against exact arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dxopt.numerics.rounding import deficit, row_sums


@pytest.mark.parametrize("terms", [0, 1, 2, 3, 7, 1000, 4097])
def test_sums_are_right_to_a_unit(terms: int) -> None:
    rng = np.random.default_rng(terms)
    rows = rng.normal(size=(5, terms)) * 10.0 ** rng.integers(-12, 12, (5, terms))
    right = np.array([math.fsum(row) for row in rows])
    assert (np.abs(row_sums(rows) - right) <= np.spacing(np.abs(right))).all()


def test_a_small_deficit_keeps_its_digits() -> None:
    row = np.random.default_rng(1).random(3001)
    row *= (1 - 1e-13) / row.sum()
    assert deficit(row) == pytest.approx(math.fsum([1.0, *(-row)]), rel=1e-12)
