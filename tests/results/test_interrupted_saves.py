"""Saves that are interrupted, and what they may touch."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from dxopt.results.folder import _FILES, PARTS, put_back, require_writable  # pyright: ignore[reportPrivateUsage]


def small(loss: str = "distance") -> dx.Report:
    return dx.solve(dx.Problem(dx.line(3), epsilon=1.0, prior=[0.2, 0.3, 0.5], loss=loss))


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupted_save_leaves_the_old_result_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, after: bool
) -> None:
    """Ctrl-C before or after either of the two renames that put the new result in place of the old one."""
    folder = small().save(tmp_path / "out")
    replace, calls = Path.replace, []

    def interrupted(path: Path, to: Path) -> Path:
        if path.is_dir():
            calls.append(path)
            if len(calls) == count:
                if after:
                    replace(path, to)
                raise KeyboardInterrupt
        return replace(path, to)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small("binary").save(folder)
    monkeypatch.undo()
    assert dx.load(folder).problem.loss.name == ("binary" if (count, after) == (2, True) else "distance")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_result_that_a_killed_save_had_moved_away_is_put_back(tmp_path: Path) -> None:
    folder = small().save(tmp_path / "out")
    (tmp_path / ".out-01234567").mkdir()
    folder.rename(tmp_path / ".out-01234567" / "old")
    put_back(folder)
    assert dx.load(folder).problem.loss.name == "distance"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


STEPS = [(Path, "mkdir"), (Path, "write_bytes"), (Path, "replace"), (shutil, "copytree"), (shutil, "rmtree")]


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("there", [False, True])
def test_what_killed_saves_left_goes_with_the_next_one(tmp_path: Path, there: bool, after: bool) -> None:
    """Saves are killed before or after each step; what had lost its name, the next save finds."""
    folder = tmp_path / "out"
    reports, at, lost = [small(), small("binary")], 0, 0
    (tmp_path / ".out-mine").mkdir()
    if there:
        reports[0].save(folder)
        (folder / "mine.txt").write_text("kept")
    for at in range(1000):
        if not (child := os.fork()):
            calls: list[str] = []
            for owner, name in STEPS:
                setattr(owner, name, killing(getattr(owner, name), calls, at, after=after))
            reports[1].save(folder)
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if folder.exists():
            assert dx.load(folder).problem.loss.name in ("distance", "binary")
        else:
            lost += 1
        if not ended:
            break
        reports[0].save(folder)
        assert dx.load(folder).problem.loss.name == "distance"
        assert (folder / "mine.txt").exists() == there
        assert {path.name for path in tmp_path.iterdir()} == {"out", ".out-mine"}
        if not there:
            shutil.rmtree(folder)
    assert at > 5 and (lost == 1 or not there)


def test_saves_at_once_take_turns(tmp_path: Path) -> None:
    folder, reports = tmp_path / "out", [small(), small("binary")]
    reports[0].save(folder)
    (folder / "mine.txt").write_text("kept")
    with ThreadPoolExecutor(4) as pool:
        assert {*pool.map(lambda number: reports[number % 2].save(folder), range(12))} == {folder}
    assert dx.load(folder) and (folder / "mine.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def killing(real: Callable[..., Any], calls: list[str], at: int, *, after: bool) -> Callable[..., Any]:
    """The same function, which kills the process before or after a number of calls."""

    def call(*arguments: Any, **options: Any) -> Any:
        calls.append(real.__name__)
        number = len(calls) - 1
        if number == at and not after:
            os._exit(9)
        found = real(*arguments, **options)
        if number == at and after:
            os._exit(9)
        return found

    return call


def test_links_are_kept_as_links_and_modes_as_the_umask_has_them(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("precious")
    before = os.umask(0o027)
    try:
        folder = small().save(tmp_path / "out")
        (folder / "link").symlink_to(tmp_path / "elsewhere")
        small("binary").save(folder)
        key = dx.Key.new().save(tmp_path / "k.key")
    finally:
        os.umask(before)
    assert (folder / "link").is_symlink()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert stat.S_IMODE((folder / "claims.json").stat().st_mode) == 0o640
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


@pytest.mark.parametrize("where", ["link", "figures/link", "figures"])
@pytest.mark.parametrize("to", ["file", "folder", "nowhere"])
def test_what_a_link_leads_to_is_not_copied(tmp_path: Path, where: str, to: str) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("file", "folder/inside"):
        (tmp_path / name).write_text("precious")
    folder = small().save(tmp_path / "out")
    (folder / where).parent.mkdir(exist_ok=True)
    (folder / where).symlink_to(tmp_path / to)
    small("binary").save(folder)
    assert (folder / where).is_symlink()
    assert [path for path in folder.rglob("*") if not path.is_symlink() and b"precious" in _content(path)] == []


@pytest.mark.parametrize("name", _FILES)
def test_nothing_of_somebody_else_is_removed(tmp_path: Path, name: str) -> None:
    """A folder of the name of a file is not of a result; in another folder any name is of somebody else."""
    folder = small().save(tmp_path / "out")
    (folder / "mine").mkdir()
    (folder / "mine" / name).write_text("precious")
    small("binary").save(folder)
    assert (folder / "mine" / name).read_text() == "precious"
    place = folder / name
    place.unlink(missing_ok=True)
    if name != PARTS:
        place.mkdir()
        place /= "mine.txt"
    place.write_text("precious")
    for call in (small().save, require_writable):
        with pytest.raises(dx.SpecError) as caught:
            call(folder)
        assert caught.value.field == "output"
    assert place.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def test_a_key_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(dx.SpecError) as caught:
        dx.Key.new().save(tmp_path / "k.key")
    assert caught.value.field == "key"
    assert list(tmp_path.iterdir()) == []
