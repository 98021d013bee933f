"""Records in result folders tell nothing of data that a result has not got."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dxopt.cli.application import app

PROBLEM = """
name: w
space: {kind: line, size: 3}
epsilon: 0.5
prior: {kind: column, file: wards.csv, column: private}
loss: distance
method: geometric
"""


def record(folder: Path, true: int) -> dict[str, object]:
    """The record of a result of private counts, beside a true one."""
    folder.mkdir()
    (folder / "w.yaml").write_text(PROBLEM, encoding="utf-8")
    (folder / "wards.csv").write_text(f"private,true\n3,{true}\n4,4\n5,4\n", encoding="utf-8")
    os.utime(folder / "wards.csv", (1, 1))
    done = CliRunner().invoke(app, ["solve", str(folder / "w.yaml"), "-o", str(folder / "r")])
    assert done.exit_code == 0, done.output
    found = json.loads((folder / "r" / "w" / "input.json").read_text(encoding="utf-8"))
    return {key: found[key] for key in ("digest", "question")}


@pytest.mark.parametrize("true", [4, 17])
def test_a_column_that_is_not_used_changes_no_record(tmp_path: Path, true: int) -> None:
    assert record(tmp_path / "seen", 3) == record(tmp_path / "tried", true)


def test_a_file_that_was_changed_is_another_one(tmp_path: Path) -> None:
    first = record(tmp_path / "a", 3)
    os.utime(tmp_path / "a" / "wards.csv", (2, 2))
    again = ["solve", str(tmp_path / "a" / "w.yaml"), "-o", str(tmp_path / "a" / "r")]
    assert CliRunner().invoke(app, again).exit_code == 2
    assert CliRunner().invoke(app, [*again, "--force"]).exit_code == 0
    found = json.loads((tmp_path / "a" / "r" / "w" / "input.json").read_text(encoding="utf-8"))
    assert found["digest"] != first["digest"]
