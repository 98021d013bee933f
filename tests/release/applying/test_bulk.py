"""Data that would fill the memory is streamed or refused, by all that reads it: within 1 GB."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.material.bulky import LARGE, QUICK, TABLES

pytest.importorskip("pyarrow")
MEGABYTES = 1000.0
HANG = 900.0  # seconds for all files of a test; only to catch a reader that does not end
PUBLISHED = {"columns.csv": 3, "names.geojson": 9_000, "features.geojson": 600, "delta.parquet": 5_000}
LARGE_PUBLISHED = PUBLISHED | {"names.geojson": 60_000, "fixed.parquet": 5_000, "lists.parquet": 4_096}


QUICK_PUBLISHED = PUBLISHED | {"header.csv": 1}
OTHERS = {"names.geojson": "Broken", "features.geojson": "Broken"}
"""Read by `apply` alone: `verify` wants features as they are written."""
READ = QUICK_PUBLISHED | OTHERS | {"text.parquet": 1 << 16, "row.parquet": 20}
LARGE_READ = LARGE_PUBLISHED | OTHERS | {"lists.parquet": "Broken", "fixed.parquet": "Broken"}
EXPECTED = {"apply": (QUICK_PUBLISHED, LARGE_PUBLISHED, "data"), "verify": (READ, LARGE_READ, "Broken")}


def require_modest(what: str, names: list[Path], known: Mapping[str, int | str], most: float = MEGABYTES) -> None:
    """Apply a table to files in another process, or verify them; each is refused for its data, or read whole."""
    command = [sys.executable, "-m", "tests.material.bulky", what, *map(str, names)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG)
    assert done.returncode == 0, done.stderr
    for name, found, megabytes in map(json.loads, done.stdout.splitlines()):
        assert found == (known[name] if name in known else EXPECTED[what][2]), name
        assert megabytes < most, (name, megabytes)


@pytest.mark.parametrize("what", EXPECTED)
def test_quick_ones(what: str, tmp_path: Path) -> None:
    folder = tmp_path / what
    folder.mkdir()
    for name, make in QUICK.items():
        make(folder / name)
    require_modest(what, [folder / name for name in QUICK], EXPECTED[what][0])


@pytest.mark.parametrize("what", EXPECTED)
def test_what_a_file_says_of_its_size_is_read_first(what: str, tmp_path: Path) -> None:
    names = ("one.parquet", "one of many.parquet", "zeros.parquet", "list.parquet")
    folder = tmp_path / what
    folder.mkdir()
    for name in names:
        QUICK[name](folder / name)
    require_modest(what, [folder / name for name in names], {}, most=350.0)


@pytest.mark.full
@pytest.mark.parametrize("what", EXPECTED)
@pytest.mark.parametrize("name", LARGE)
def test_large_ones(name: str, what: str, tmp_path: Path) -> None:
    folder = tmp_path / what
    folder.mkdir()
    LARGE[name](folder / name)
    require_modest(what, [folder / name], EXPECTED[what][1])
    for file in folder.iterdir():
        file.unlink()


@pytest.mark.full
@pytest.mark.parametrize("name", TABLES)
def test_files_of_problems(name: str, tmp_path: Path) -> None:
    _, field, make = TABLES[name]
    make(tmp_path / name)
    require_modest("load", [tmp_path / name], {name: field})
    (tmp_path / name).unlink()
