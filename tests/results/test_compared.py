"""Differences between mechanisms, in words and cells that can be read."""

from __future__ import annotations

import pytest

from dxopt.results.compared import excess_cell, losses_of


@pytest.mark.parametrize(
    ("best", "value", "told"),
    [
        (2.0, 2.0, "other loses 2 km on average, as much as best"),
        (2.0, 2.0001, "other loses 2 km on average, less than 0.01 % more than best"),
        (2.0, 1.9999, "other loses 2 km on average, less than 0.01 % less than best"),
        (2.0, 2.5, "other loses 2.5 km on average, 0.5 more (+25 %) than best"),
        (2e-9, 2.5, "other loses 2.5 km on average, 2.5 more than best"),
    ],
)
def test_a_percentage_is_told_where_it_can_be_read(best: float, value: float, told: str) -> None:
    assert losses_of([("best", best, 0.0), ("other", value, (value - best) / best)], "km") == [told]


def test_cells_of_differences() -> None:
    shares = (None, 0.0, 0.256, 12.0, 1e12)
    assert [excess_cell(share) for share in shares] == ["", "+0.0%", "+25.6%", "over +1000%", "over +1000%"]
