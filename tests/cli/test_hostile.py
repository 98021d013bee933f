"""Hostile files and folders in every command: one line and exit code 2 within 10 seconds and 1 GB; others go on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import dxopt as dx
from tests.material import hostile
from tests.material.few import few

GOOD = hostile.LINE + "epsilon: 1\n"
SECONDS = 10.0
MEGABYTES = 1000.0
ARRAYS = (*hostile.ARRAYS[:3],)


class Seen(NamedTuple):
    """What a command did with a path."""

    code: int
    error: str
    seconds: float
    megabytes: float


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Path], dict[str, Path]]:
    """Problem files and names, and result folders."""
    base = tmp_path_factory.mktemp("zoo")
    space = dx.grid((2, 2))
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary", name="small")
    whole = dx.solve(problem).save(base / "whole")
    (whole / "input.json").write_text("{}", encoding="utf-8")
    for name in ("files", "results"):
        (base / name).mkdir()
    files = hostile.problem_files(base / "files") | hostile.names()
    return files, hostile.results(whole, base / "results")


def seen(command: str, paths: dict[str, Path], folder: Path) -> dict[str, Seen]:
    """What a command does with each path, in one process for all of them."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.material.hostile", command, str(folder)],
        input=json.dumps({name: str(path) for name, path in paths.items()}),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return {name: Seen(*found) for name, *found in map(json.loads, done.stdout.splitlines())}


def require_modest(found: dict[str, Seen]) -> None:
    assert {name: one for name, one in found.items() if one.seconds > SECONDS or one.megabytes > MEGABYTES} == {}


def require_line(found: dict[str, Seen]) -> None:
    """Exit code 2, and one line beside those of progress, which says where and what."""
    for name, one in found.items():
        lines = one.error.splitlines()
        assert one.code == 2, (name, one)
        assert len(lines) == 1 or "proving" in lines[0], (name, lines)
        assert ": " in lines[-1], (name, lines)
        assert "fault of dxopt" not in lines[-1], (name, lines)


@pytest.mark.parametrize("command", few(["verify", "load", "report", "solve"], 1))
def test_files_and_names(command: str, zoo: tuple[dict[str, Path], dict[str, Path]], tmp_path: Path) -> None:
    files, _ = zoo
    found = seen(command, files, tmp_path)
    assert set(found) == set(files)
    require_modest(found)
    require_line(found)


@pytest.mark.parametrize("command", few(["verify", "load", "report", "solve"], 1))
def test_result_folders(command: str, zoo: tuple[dict[str, Path], dict[str, Path]], tmp_path: Path) -> None:
    _, folders = zoo
    if command == "solve":
        folders = {name: folder / "problem.yaml" for name, folder in folders.items()}
    found = seen(command, folders, tmp_path)
    assert set(found) == set(folders)
    require_modest(found)
    if command == "verify":  # an exit code of its own, and lines for each claim
        for name, one in found.items():
            read = not name.endswith("input.json")
            assert one.code in ((1, 3) if read else (0, 1)), (name, one)
        return
    # what a command does not read cannot hurt it
    needed = {"solve": ("problem.npz", "mechanism.npz", "claims.json", "problem.yaml")}
    usual = (*ARRAYS, "claims.json", "notes.json")
    require_line({name: one for name, one in found.items() if name.split()[-1] in needed.get(command, usual)})
    assert {one.code for one in found.values()} <= {0, 2}


@pytest.mark.full
def test_a_batch_in_processes(zoo: tuple[dict[str, Path], dict[str, Path]], tmp_path: Path) -> None:
    files, folders = zoo
    for name in ("a", "z"):
        (tmp_path / f"{name}.yaml").write_text(GOOD, encoding="utf-8")
    results = [folder / "problem.yaml" for name, folder in folders.items() if "problem.npz" in name]
    bad = [*files.values(), *results]
    paths = [tmp_path / "a.yaml", *bad, tmp_path / "z.yaml"]
    options = ["-j", "2", "--memory-limit", str(MEGABYTES), "-o", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-m", "dxopt.cli", "batch", *map(str, paths), *options],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    lines = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert {line["status"] for line in lines["problems"]} == {"optimal", "bad input"}
    assert [line["problem"] for line in lines["problems"] if line["status"] == "optimal"] == ["a", "z"]
    assert len(lines["errors"]) == len(bad)
    assert all("\n" not in error for error in lines["errors"])
