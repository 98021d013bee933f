"""The cost model: parts that are measured, and what they add up to on paper."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from benchmarks import model
from benchmarks.model import Machines, Work, cost, duration, power
from benchmarks.parts import PARTS, Parts, measured

PART = Parts(
    places=100,
    rounds=10,
    gap=0.1,
    first=0.1,
    price=0.01,
    pricings=2.0,
    systems=5.0,
    columns=4.0,
    sent=504.0,
    returned=1304.0,
    gram=1e9,
    cholesky=2e9,
)
TWICE = replace(PART, places=200, first=0.4, price=0.08, sent=1000.0, returned=2600.0)
WORK = Work(places=1000, window=1000, rounds=3, pricings=2, systems=4, columns=5)


def test_parts_are_measured() -> None:
    found = measured(30, rounds=3, limit=20.0)
    assert found.rounds >= 3
    assert found.first > 0
    assert found.price > 0
    assert found.sent == 30 * 5 + 5
    assert found.returned == 30 * 13 + 13
    assert found.columns > 1
    assert found.systems > 1
    assert min(found.gram, found.cholesky) > 1e7


def test_the_formulas() -> None:
    # by hand: a first pricing takes 10 s a report (x 10 places: x 100), a later one 10 s (x 10 places: x 1000)
    here = cost([PART, TWICE], WORK, Machines("", 1, False, 1e9, 2e9), 1e6, 0.5)
    assert here.pricing == pytest.approx(1000 * (10 + 5 * 10))
    assert here.link == 0
    assert here.master == pytest.approx(12 * (5 * 1e9 / 1e9 + 1e9 / 3 / 2e9))
    there = cost([PART, TWICE], WORK, Machines("", 60, True, 1e9, 2e9), 1e6, 0.5)
    assert there.pricing == pytest.approx(here.pricing / 60)
    assert there.link == pytest.approx(6 * (1e6 * 18 / 1e6 + 0.5))
    assert there.seconds == pytest.approx(there.pricing + there.link + there.master)
    easier = cost([PART, TWICE], replace(WORK, later=0.2), Machines("", 1, False, 1e9, 2e9), 1e6, 0.5)
    assert easier.pricing == pytest.approx(1000 * (10 + 5 * 2))
    windows = cost([PART, TWICE], replace(WORK, window=100), Machines("", 1, False, 1e9, 2e9), 1e6, 0.5)
    assert windows.pricing == pytest.approx(1000 * (0.1 + 5 * 0.01))
    assert windows.master == pytest.approx(12 * (5 * 1e7 / 1e9 + 1e9 / 3 / 2e9))
    assert windows.memory == pytest.approx(1e5 * (16 + 13 + 40) + 8e6)


def test_power_laws_and_words() -> None:
    assert power([(2, 12), (4, 48)]) == pytest.approx((3.0, 2.0))
    assert power([(5, 10)]) == pytest.approx((2.0, 1.0))
    told = [duration(seconds) for seconds in (0.0, 1.234, 119, 7199, 86400, 3e5, 1e9)]
    assert told == ["0 s", "1.2 s", "120 s", "120 min", "24 h", "3.5 days", "32 years"]


def command() -> typer.Typer:
    app = typer.Typer()
    app.command()(model.main)
    return app


def test_the_table_is_printed_and_bad_parts_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "parts.json").write_text(json.dumps([asdict(PART), asdict(TWICE)]), encoding="utf-8")
    asked = [
        "--parts",
        str(tmp_path / "parts.json"),
        "--places",
        "1000",
        "--window",
        "0",
        "--rounds",
        "3",
        "--workers",
        "7",
    ]
    found = CliRunner().invoke(command(), asked)
    assert found.exit_code == 0
    lines = found.output.splitlines()
    assert len(lines) == 2 + 5
    assert "| 1,000 | all | 7 workers price |" in found.output
    (tmp_path / "parts.json").write_text("[]", encoding="utf-8")
    found = CliRunner().invoke(command(), asked)
    assert found.exit_code == 2
    assert found.output.startswith("parts: ") and found.output.count("\n") == 1


def test_the_parts_that_are_kept_can_be_read() -> None:
    sizes = [Parts(**one).places for one in json.loads(PARTS.read_text("utf-8"))]
    assert sizes == sorted(sizes)
    assert len(sizes) >= 2
