"""Nothing that is published, and nothing in a ledger, tells by trying which data it was made from."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from tests.material.carriers import Rows, csv_of, geojson_of, parquet_of
from tests.material.people import counts

KEYS = {"hashed": dx.Key(bytes(range(32))), "": None}
FILES: dict[str, Callable[[Path, Rows], Path]] = {"csv": csv_of, "parquet": parquet_of(), "geojson": geojson_of}
DRAWS: dict[str, dict[str, Any]] = {
    "new": {},
    "named": {"release": "May"},
    "key": {"key": dx.Key.new(), "release": "May"},
}


def leaves(content: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(content, dict | list | tuple):
        return {path: content}
    parts = content.items() if isinstance(content, dict) else enumerate(content)
    return {name: leaf for key, part in parts for name, leaf in leaves(part, f"{path}.{key}").items()}


def traces(
    folder: Path, notes: list[str], make: Callable[[Path, Rows], Path], key: Any, draws: Any
) -> dict[str, Any]:
    """What a sidecar and the runs of a new ledger say of the same rows with these notes, which are left out."""
    data = make(folder, {"person": ["ann", "bob"], "beds": [2.0, 5.0], "note": notes})
    ledger = folder / "ledger.sqlite"
    ledger.unlink(missing_ok=True)
    output = dx.Output(folder / f"out{data.suffix}", force=True)
    with dx.Budgets.open(ledger, create=True, default=1, key=key) as budgets:
        asked: dict[str, Any] = {"column": "beds", "person": "person", "ledger": budgets, **draws}
        found = dx.apply(counts(), data, output, columns=dx.Columns(drop=["note"]), **asked)
    with closing(sqlite3.connect(ledger)) as db:
        runs = db.execute("SELECT name, release, token FROM runs").fetchall()
    return leaves({"said": json.loads(found.sidecar.read_text(encoding="utf-8")), "runs": runs})


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("file", FILES)
def test_whoever_has_a_guess_of_the_data_cannot_confirm_it(file: str, key: str, draws: str, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    truth, same, other = (
        traces(tmp_path, notes, FILES[file], KEYS[key], DRAWS[draws])
        for notes in (["x", "y"], ["x", "y"], ["x", "z"])
    )
    if KEYS[key] is not None:  # an adversary has another key
        same = traces(tmp_path, ["x", "y"], FILES[file], dx.Key.new(), DRAWS[draws])
    tell = [name for name, said in truth.items() if same.get(name) == said != other.get(name)]
    assert [name for name in tell if not name.startswith(".said.output.")] == []  # reports may be the same by chance


def test_the_name_of_a_run_follows_from_the_data_and_the_ledger(tmp_path: Path) -> None:
    for number in range(2):
        with dx.Budgets.open(tmp_path / f"{number}.sqlite", create=True) as budgets:
            first = budgets.fingerprint("a", "b")
        with dx.Budgets.open(tmp_path / f"{number}.sqlite") as budgets:
            assert budgets.fingerprint("a", "b") == first != budgets.fingerprint("ab")
    for key in (dx.Key(bytes(32)), dx.Key(bytes(range(32)))):
        for number in range(2):
            file = tmp_path / f"{key.fingerprint}{number}.sqlite"
            with dx.Budgets.open(file, create=True, key=key) as budgets:
                assert budgets.fingerprint("a") == key.digest("dxopt ledger 1: run", "a").hex()[:32]
