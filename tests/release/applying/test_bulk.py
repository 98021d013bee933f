"""Data that would fill the memory is streamed or refused: within 1 GB, in time linear in columns."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.material.bulky import LARGE, QUICK

pytest.importorskip("pyarrow")
MEGABYTES = 1000.0
SECONDS = 60.0
PUBLISHED = {"columns.csv": 3, "names.geojson": 9_000, "features.geojson": 600, "delta.parquet": 5_000}
LARGE_PUBLISHED = PUBLISHED | {"names.geojson": 60_000, "fixed.parquet": 5_000, "lists.parquet": 4_096}


def require_modest(
    made: dict[str, Callable[[Path], None]], published: dict[str, int], folder: Path, *, together: bool
) -> None:
    """Apply a table to files in other processes; each is refused for its data, or published whole."""
    for name, make in made.items():
        make(folder / name)
    runs = [[*made]] if together else [[name] for name in made]
    for names in runs:
        command = [sys.executable, "-m", "tests.material.bulky", *(str(folder / name) for name in names)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        for name, found, seconds, megabytes in map(json.loads, done.stdout.splitlines()):
            assert found == published.get(name, "data"), name
            assert seconds < SECONDS and megabytes < MEGABYTES, (name, seconds, megabytes)


def test_quick_ones(tmp_path: Path) -> None:
    require_modest(QUICK, PUBLISHED, tmp_path, together=True)


@pytest.mark.full
@pytest.mark.parametrize("name", LARGE)
def test_large_ones(name: str, tmp_path: Path) -> None:
    require_modest({name: LARGE[name]}, LARGE_PUBLISHED, tmp_path, together=False)
    for file in tmp_path.iterdir():
        file.unlink()
