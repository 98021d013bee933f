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

OTHER = dx.Key(bytes(32))
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


def traces(data: Path, ledger: Path, key: Any, draws: dict[str, Any]) -> dict[str, Any]:
    """What a sidecar and the run of a ledger say of rows whose notes are left out."""
    output = dx.Output(data.with_stem("out"), force=True)
    with dx.Budgets.open(ledger, create=True, default=9, key=key) as budgets:
        asked: dict[str, Any] = {"column": "beds", "person": "person", "ledger": budgets, **draws}
        found = dx.apply(counts(), data, output, columns=dx.Columns(drop=["note"]), **asked)
    with closing(sqlite3.connect(ledger)) as db:
        run = db.execute("SELECT name, release, token FROM runs ORDER BY id DESC LIMIT 1").fetchone()
    return leaves({"said": json.loads(found.sidecar.read_text(encoding="utf-8")), "run": run})


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("file", FILES)
def test_whoever_has_a_guess_of_the_data_cannot_confirm_it(file: str, key: str, draws: str, tmp_path: Path) -> None:
    """Nothing is the same for the same data and differs for others, in another ledger or in the same again."""
    pytest.importorskip("pandas")

    def said(note: str, ledger: str) -> dict[str, Any]:
        data = FILES[file](tmp_path, {"person": ["ann", "bob"], "beds": [2.0, 5.0], "note": ["x", note]})
        mine = KEYS[key] if ledger == "mine" or KEYS[key] is None else OTHER
        return traces(data, tmp_path / f"{ledger}.sqlite", mine, DRAWS[draws])

    truth = said("y", "mine")
    for ledger in ("another", "mine"):
        same, other = said("y", ledger), said("z", ledger)
        tell = [name for name, found in truth.items() if same.get(name) == found != other.get(name)]
        # reports may be the same by chance, and are with a key
        assert [name for name in tell if not name.startswith(".said.output.")] == []
