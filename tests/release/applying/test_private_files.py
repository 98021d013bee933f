"""Until a file is whole nobody but its owner reads it, and a run that is asked to end leaves nothing of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import dxopt as dx
from dxopt.runtime.atomic_write import replacing
from tests.material.carriers import csv_of, geojson_of, parquet_of
from tests.material.people import counts


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes")
@pytest.mark.parametrize("form", ["csv", "parquet", "geojson"])
@pytest.mark.parametrize("pays", [False, True])
def test_nobody_else_reads_a_file_until_it_is_whole(tmp_path: Path, form: str, pays: bool) -> None:
    data = {"csv": csv_of, "parquet": parquet_of(), "geojson": geojson_of}[form](
        tmp_path, {"person": ["ann", "bob"], "beds": [1.0, 2.0]}
    )
    seen: dict[str, int] = {}

    def look(text: str, share: float) -> None:
        found = [path for path in tmp_path.iterdir() if path.name.startswith(".") and path.suffix == ".part"]
        seen.update({path.name: path.stat().st_mode & 0o777 for path in found})

    output = data.with_stem("out")
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=9) as ledger:
        paid = {"person": "person", "ledger": ledger} if pays else {}
        dx.apply(counts(), data, output, column="beds", progress=look, **paid)
    assert seen == {f".{output.name}.part": 0o600}
    for file in (output, output.with_name(f"{output.name}.dxopt.json")):
        assert file.stat().st_mode == data.stat().st_mode
    with replacing(tmp_path / "a", "output"):
        look("", 1.0)
    assert {*seen.values()} == {0o600} and len(seen) == 2


@pytest.mark.skipif(os.name != "posix", reason="there are no such signals")
@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("number", [getattr(signal, name, 0) for name in ("SIGHUP", "SIGTERM", "SIGINT")])
def test_a_run_that_is_asked_to_end_leaves_nothing(tmp_path: Path, number: int, ignored: bool) -> None:
    """Nor does one whose terminal is closed; under nohup it goes on."""
    counts().save(tmp_path / "t.dxt")
    (tmp_path / "a.csv").write_text("beds\n1\n2\n", encoding="utf-8")
    program = f"""
import os, signal, sys
from dxopt.release.applying import csv_files
{f"signal.signal({number}, signal.SIG_IGN)" if ignored else ""}
written = csv_files.CsvSink.write
def write(*arguments):
    written(*arguments)
    os.kill(os.getpid(), {number})
csv_files.CsvSink.write = write
from dxopt.cli import main
sys.argv = "dxopt apply t.dxt a.csv -o b.csv --column beds".split()
main()
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False, capture_output=True)
    assert done.returncode == (0 if ignored else 1), done.stderr
    assert (tmp_path / "b.csv").exists() == ignored
    assert not [*tmp_path.glob(".*")]
