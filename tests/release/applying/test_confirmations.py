"""What is published confirms no guess of the data: whoever tries candidates with dxopt finds nothing to compare."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from tests.material.people import counts

KEY = dx.Key(bytes(range(32)))
OPENED: dict[str, Any] = {"plain": {}, "hashed": {"key": KEY}}


def run_of(folder: Path, **opened: Any) -> tuple[str, Path]:
    """The name of the run that a sidecar has, from a new ledger, and the ledger."""
    folder.mkdir()
    data, output = folder.parent / "people.csv", dx.Output(folder.parent / "public.csv", force=True)
    data.write_text("who,beds,name\na,3,ann\nb,4,bob\n", encoding="utf-8")
    with dx.Budgets.open(folder / "l.sqlite", create=True, unit="per unit", default=9, **opened) as ledger:
        done = dx.apply(counts(), data, output, column="beds", within=0, person="who", ledger=ledger)
    return done.said["budgets"]["run"][0], folder / "l.sqlite"


@pytest.mark.parametrize("opened", OPENED)
def test_the_name_of_a_run_is_no_function_of_the_data(tmp_path: Path, opened: str) -> None:
    name, _ = run_of(tmp_path / "seen", **OPENED[opened])
    other = {"key": dx.Key(bytes(32))} if OPENED[opened] else {}
    tried, _ = run_of(tmp_path / "tried", **other)
    assert name != tried


@pytest.mark.parametrize("opened", OPENED)
def test_a_ledger_keeps_no_digest_of_data_once_a_run_is_finished(tmp_path: Path, opened: str) -> None:
    name, ledger = run_of(tmp_path / "seen", **OPENED[opened])
    db = sqlite3.connect(ledger)
    kept = [str(cell) for row in db.execute("SELECT * FROM runs") for cell in row]
    assert kept and not any(name.rpartition(" ")[2] in cell for cell in kept)
    db.close()
