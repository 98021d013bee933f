"""Files that are written whole or not at all, and locks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.errors import SpecError
from dxopt.release.applying.files import held, whole
from dxopt.runtime.atomic_write import replacing
from dxopt.runtime.locking import locked


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError])
def test_what_fails_leaves_the_earlier_file(tmp_path: Path, error: type[BaseException]) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"before")
    expected = SpecError if error is OSError else error
    with pytest.raises(expected), replacing(file, "output") as stream:
        stream.write(b"half")
        raise error
    assert (names(tmp_path), file.read_bytes()) == (["a"], b"before")
    with replacing(file, "output") as stream:
        stream.write(b"new")
        assert file.read_bytes() == b"before"
    assert (names(tmp_path), file.read_bytes()) == (["a"], b"new")
    with pytest.raises(SpecError) as found, replacing(tmp_path / "no" / "a", "output"):
        pass
    assert found.value.field == "output"


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes")
def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "a", "output"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name != "posix", reason="links need a privilege")
def test_no_link_that_somebody_put_there_is_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    file = tmp_path / "a.csv"
    for planted in (".a.csv.part", ".a.csv.dxopt.json.part", ".a.csv.part.lock"):
        (tmp_path / planted).symlink_to(victim)
    with pytest.raises(SpecError), held(file, victim.with_suffix(".csv"), force=False):  # the lock is a link
        pass
    (tmp_path / ".a.csv.part.lock").unlink()
    with whole(file, lambda: None) as stream:
        stream.write(b"new")
    assert victim.read_bytes() == b"precious"
    assert file.read_bytes() == b"new" and not file.is_symlink()
    assert names(tmp_path) == ["a.csv", "victim"]


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(tmp_path / ".lock"), pytest.raises(BlockingIOError), locked(tmp_path / ".lock"):
            pass
    assert names(tmp_path) == []
    with pytest.raises(FileNotFoundError), locked(tmp_path / "no" / ".lock"):
        pass
    assert names(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="links need a privilege")
@pytest.mark.parametrize("to", ["js", "sql", "duckdb", "json", "dxt", "save"])
def test_no_export_follows_a_link_of_the_name_that_it_writes_to(tmp_path: Path, to: str) -> None:
    table = dx.integer_table(dx.classic.geometric(dx.line(3), epsilon=1.0))
    source = table.save(tmp_path / "t.dxt")
    (victim := tmp_path / "victim").write_text("precious")
    output = tmp_path / "folder" / "out.dxt"
    output.parent.mkdir()
    (output.parent / ".out.dxt.part").symlink_to(victim)
    if to == "save":
        table.save(output)
    else:
        done = CliRunner().invoke(app, ["export", str(source), "--to", to, "-o", str(output)])
        assert done.exit_code == 0, done.output
    assert victim.read_text() == "precious"
    assert output.is_file() and not output.is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("how", ["export", "apply", "save", "key"])
def test_no_device_or_pipe_is_replaced(tmp_path: Path, how: str) -> None:
    table = dx.integer_table(dx.classic.geometric(dx.line(3), epsilon=1.0))
    source = table.save(tmp_path / "t.dxt")
    (tmp_path / "p.csv").write_text("beds\n1\n")
    os.mkfifo(output := tmp_path / "out.csv")
    calls = {
        "export": ["export", str(source), "--to", "js", "-o", str(output), "--force"],
        "apply": ["apply", str(source), str(tmp_path / "p.csv"), "-o", str(output), "--column", "beds", "--force"],
        "key": ["key", str(output)],
    }
    if how == "save":
        with pytest.raises(SpecError) as raised:
            table.save(output)
        assert raised.value.field in ("path", "file", "output")
    else:
        assert CliRunner().invoke(app, calls[how]).exit_code == 2
    assert output.is_fifo()
    assert sorted(names(tmp_path)) == ["out.csv", "p.csv", "t.dxt"]
