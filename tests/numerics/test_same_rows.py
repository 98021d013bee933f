"""Rows of pandas that belong together have one index, wherever two objects are taken side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dxopt as dx
from dxopt.analysis.held_out import observed

PLACES = pd.DataFrame({"lat": [45.5, 45.5, 45.6], "lon": [-73.6, -73.5, -73.6]}, index=["w", "e", "n"])
TOWN = dx.geo.points(PLACES)
LINE = dx.line(3)
WORDS = dx.MetricSpace.from_points(["w", "e", "n"], "discrete", labels=["w", "e", "n"])


def _private(rows: Any, beside: Any, _: Path) -> Any:
    return dx.Prior.private(TOWN, PLACES.loc[rows.index], beside, epsilon=1, per_person=1)


def _private_labels(rows: Any, beside: Any, _: Path) -> Any:
    return dx.Prior.private(WORDS, pd.Series(rows.index, rows.index), beside, epsilon=1, per_person=1)


def _check_ins(rows: Any, beside: Any, _: Path) -> Any:
    return dx.Prior.from_check_ins(TOWN, PLACES.loc[rows.index], beside, unusable="drop")


def _keyed(rows: Any, beside: Any, _: Path) -> Any:
    table = dx.integer_table(dx.classic.geometric(LINE, epsilon=1.0))
    return table.sample_for(beside, index=rows, key=dx.Key(bytes(32)), release="May")


def _charged(rows: Any, beside: Any, folder: Path) -> Any:
    with dx.Budgets.open(folder / "ledger.sqlite", create=True, default=9, unit="per km") as ledger:
        ledger.set_per("day", 3, zone="Europe/Paris")
        ledger.charge(ledger.begin("one"), 0, rows, 1, unit="per km", times=beside)


NUMBERS = pd.Series([1, 2, 0], index=["w", "e", "n"])
DAYS = pd.Series(["2026-01-01", "2026-01-02", "2026-01-03"], index=["w", "e", "n"])
CASES: dict[str, tuple[Callable[[Any, Any, Path], Any], Any, str]] = {
    "private": (_private, NUMBERS, "persons"),
    "private, labels": (_private_labels, NUMBERS, "persons"),
    "check-ins": (_check_ins, NUMBERS, "weights"),
    "keyed": (_keyed, NUMBERS, "persons"),
    "weights": (lambda rows, beside, _: observed(LINE, index=rows, weights=beside), NUMBERS, "weights"),
    "counts": (lambda rows, beside, _: observed(LINE, index=rows, counts=beside), NUMBERS, "counts"),
    "labels": (lambda rows, beside, _: dx.MetricSpace.from_points(rows, labels=beside), NUMBERS, "labels"),
    "places": (lambda _, beside, __: dx.geo.points(PLACES, labels=beside), NUMBERS, "labels"),
    "times": (_charged, DAYS, "times"),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_with_another_index_are_refused(case: str, tmp_path: Path) -> None:
    call, beside, field = CASES[case]
    for other in (beside.iloc[::-1], beside.set_axis([7, 8, 9]), beside.reset_index(drop=True)):
        with pytest.raises(dx.SpecError) as caught:
            call(NUMBERS, other, tmp_path)
        assert caught.value.field == field
        assert caught.value.fix
        (tmp_path / "ledger.sqlite").unlink(missing_ok=True)


@pytest.mark.parametrize("case", CASES)
def test_rows_with_the_same_index_or_without_one_are_taken(case: str, tmp_path: Path) -> None:
    call, beside, _ = CASES[case]
    for other in (beside.copy(), beside.tolist(), beside.to_numpy()):
        call(NUMBERS, other, tmp_path)
        (tmp_path / "ledger.sqlite").unlink(missing_ok=True)
