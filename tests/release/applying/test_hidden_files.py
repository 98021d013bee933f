"""Until an output is whole, its owner alone may read it; signals that end a program leave none."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from dxopt.release.applying import files
from dxopt.runtime.atomic_write import replacing
from dxopt.runtime.stopping import ENDING, terminable
from tests.material.carriers import TEXT
from tests.material.people import counts

ROWS = {"person": ["ann", "bob"], "beds": [1, 2]}
USUAL = [0o027, 0o022, 0o077]


def mode(file: Path) -> int:
    """The permissions of a file."""
    return file.stat().st_mode & 0o777


@pytest.fixture(params=USUAL)
def mask(request: pytest.FixtureRequest) -> Any:
    """A mask of new files."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The modes of hidden files as they get their names."""
    found: list[int] = []
    replace = os.replace

    def looked(hidden: Any, file: Any) -> None:
        found.append(mode(Path(hidden)))
        replace(hidden, file)

    monkeypatch.setattr(os, "replace", looked)
    return found


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("kind", ["csv", "geojson", "parquet"])
def test_reports_are_their_owners_until_they_are_whole(
    tmp_path: Path, kind: str, ledger: bool, mask: int, monkeypatch: pytest.MonkeyPatch, replaced: list[int]
) -> None:
    data = TEXT[kind](tmp_path, ROWS)
    output = data.with_stem("out")
    seen: list[int] = []
    drawn = files.Plan.drawn

    def looked(*given: Any) -> Any:
        seen.extend(map(mode, tmp_path.glob(f".{output.name}.*part")))
        return drawn(*given)

    monkeypatch.setattr(files.Plan, "drawn", looked)
    with dx.Budgets.open(tmp_path / "l.sqlite", create=True, unit="per unit", default=9) as budgets:
        paid: dict[str, Any] = {"person": "person", "ledger": budgets} if ledger else {}
        done = dx.apply(counts(), data, output, column="beds", **paid)
    assert seen == [0o600]
    assert replaced == [0o600, 0o600]
    assert mode(output) == mode(done.sidecar) == 0o666 & ~mask


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_any_file_that_is_written_whole(tmp_path: Path, mask: int, replaced: list[int]) -> None:
    with replacing(tmp_path / "a", "output"):
        assert [mode(file) for file in tmp_path.iterdir()] == [0o600]
    assert mode(tmp_path / "a") == 0o666 & ~mask and replaced == [0o600]


@pytest.mark.parametrize("number", ENDING)
def test_signals_that_end_a_program_stop_it_as_ctrl_c_does(number: int) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # whoever starts the tests may ignore it
    try:
        with pytest.raises(KeyboardInterrupt), terminable():
            signal.raise_signal(number)
        signal.signal(number, signal.SIG_IGN)  # as nohup does
        with terminable():
            signal.raise_signal(number)
    finally:
        signal.signal(number, before)


@pytest.mark.skipif(os.name != "posix", reason="there are no such signals")
@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("number", [getattr(signal, name, 0) for name in ("SIGHUP", "SIGTERM", "SIGINT")])
def test_a_run_that_is_asked_to_end_leaves_nothing(tmp_path: Path, number: int, ignored: bool) -> None:
    """Nor does one whose terminal is closed; under nohup it goes on."""
    by_default = "default_int_handler" if number == signal.SIGINT else "SIG_DFL"
    handled = "SIG_IGN" if ignored else by_default
    counts().save(tmp_path / "t.dxt")
    (tmp_path / "a.csv").write_text("beds\n1\n2\n", encoding="utf-8")
    program = f"""
import os, signal, sys
from dxopt.release.applying import csv_files
signal.signal({number}, signal.{handled})
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


WRITING = ["csv", "geojson", "parquet", "pandas object"]


def asked_of(folder: Path, form: str, size: int = 20, letter: str = "z") -> tuple[Any, Any, Path]:
    """The data and the output of a call, and the file that it writes, whose name has `size` bytes."""
    data = TEXT[form](folder, ROWS)
    ending = data.suffix if isinstance(data, Path) else ".json"
    letters, rest = divmod(size - len(ending), len(letter.encode()))
    file = folder / f"{letter * letters}{'z' * rest}{ending}"
    return data, file if isinstance(data, Path) else dx.Output(sidecar=file), file


@pytest.mark.skipif(os.name == "nt", reason="names are limited by letters there")
@pytest.mark.parametrize("letter", ["z", "é"])
@pytest.mark.parametrize("form", WRITING)
def test_a_name_that_is_too_long_for_any_file_of_a_run_costs_nothing(tmp_path: Path, form: str, letter: str) -> None:
    refused: list[bool] = []
    key = dx.Key(bytes(range(32)))  # what is drawn with one is not given back
    with dx.Budgets.open(tmp_path / "l.sqlite", create=True, unit="per unit", default=9) as budgets:
        budgets._file._db.execute("PRAGMA synchronous = OFF")  # pyright: ignore[reportPrivateUsage]
        for size in range(210, 258, 1 if form == "csv" else 3):
            (folder := tmp_path / str(size)).mkdir()
            data, output, file = asked_of(folder, form, size, letter)
            given = {path.name for path in folder.iterdir()}
            try:
                options: dict[str, Any] = {"person": "person", "ledger": budgets, "key": key, "release": str(size)}
                dx.apply(counts(), data, output, column="beds", **options)
            except dx.SpecError as error:
                assert error.field == "output"
                assert {path.name for path in folder.iterdir()} == given
                assert not [one for one in budgets.history("ann") if one.release == str(size)]
                refused.append(True)
            else:
                assert file.exists() and budgets.totals().unfinished == ()
                refused.append(False)
    assert refused == sorted(refused) and {*refused} == {False, True}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("form", WRITING)
def test_nothing_is_paid_where_a_drive_lets_nobody_set_modes(
    tmp_path: Path, form: str, mask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*given: Any, **options: Any) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    data, output, file = asked_of(tmp_path, form)
    with dx.Budgets.open(tmp_path / "l.sqlite", create=True, unit="per unit", default=9) as budgets:
        given = {path.name for path in tmp_path.iterdir()}
        monkeypatch.setattr(os, "chmod", refused)
        call = partial(dx.apply, counts(), data, output, column="beds", person="person", ledger=budgets)
        if mask == 0o077:  # then files are their owner's alone anyway
            call()
            assert file.exists() and budgets.totals().rows == 2
        else:
            with pytest.raises(dx.SpecError) as caught:
                call()
            assert caught.value.field == "output"
            assert budgets.totals().rows == 0 and {path.name for path in tmp_path.iterdir()} == given
