"""Names, files and folders that no command can read: one line and exit code 1 or 2, whatever the command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app

BROKEN_DISK = Path("/proc/self/mem")
"""A plain file of which no byte can be read."""


def too_long(folder: Path, suffix: str) -> Path:
    return folder / ("a" * 300 + suffix)


def deep(folder: Path, suffix: str) -> Path:
    """Folders in each other, more of them than Python has frames."""
    start, made = Path.cwd(), folder / f"deep{suffix}"
    made.mkdir()
    os.chdir(made)
    try:
        for _ in range(sys.getrecursionlimit() + 100):
            Path("d").mkdir()
            os.chdir("d")
    finally:
        os.chdir(start)
    return made


def unreadable(folder: Path, suffix: str) -> Path:
    (folder / f"disk{suffix}").symlink_to(BROKEN_DISK)
    return folder / f"disk{suffix}"


def endless(folder: Path, suffix: str) -> Path:
    file = folder / f"endless{suffix}"
    with file.open("wb") as stream:
        stream.truncate(4 << 30)
    return file


PATHS: list[Callable[[Path, str], Path]] = [too_long, deep, unreadable, endless]
COMMANDS = {
    "solve": (["solve"], ".yaml"),
    "batch": (["batch"], ".yaml"),
    "verify": (["verify"], ""),
    "verify table": (["verify"], ".dxt"),
    "report": (["report"], ""),
    "explain": (["explain"], ""),
    "explain file": (["explain"], ".yaml"),
    "export": (["export", "--to", "sql"], ".dxt"),
}


@pytest.mark.skipif(not BROKEN_DISK.exists(), reason="needs Linux")
@pytest.mark.parametrize("make", PATHS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_path_that_cannot_be_read(
    command: str, make: Callable[[Path, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, suffix = COMMANDS[command]
    monkeypatch.chdir(tmp_path)
    path = make(tmp_path, suffix)
    done = CliRunner().invoke(app, [*words, str(path.relative_to(tmp_path))])
    if make is deep:  # pytest removes folders by recursion
        subprocess.run(["rm", "-rf", path], check=True)
    assert isinstance(done.exception, SystemExit) and done.exit_code in (1, 2)
    assert "fault of dxopt" not in done.output


@pytest.mark.skipif(not BROKEN_DISK.exists(), reason="needs Linux")
@pytest.mark.parametrize("make", [too_long, unreadable, endless])
@pytest.mark.parametrize("suffix", [".csv", ".geojson", ".json", ".parquet"])
def test_data_that_cannot_be_read(make: Callable[[Path, str], Path], suffix: str, tmp_path: Path) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    table = dx.integer_table(dx.classic.geometric(dx.line(3), epsilon=1.0))
    with pytest.raises(dx.SpecError) as refused:
        dx.apply(table, make(tmp_path, suffix), tmp_path / f"out{suffix}", column="beds")
    assert refused.value.field == "data" and not (tmp_path / f"out{suffix}").exists()
