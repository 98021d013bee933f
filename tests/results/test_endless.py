"""Result folders and saved files with pipes, links to devices and boasting archives: one line each, and at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.release.tables import IntegerTable, integer_table
from dxopt.runtime import reading
from tests.material.endless import boasting, bomb, endless, pipe

Array = NDArray[Any]
ARRAYS = ("problem.npz", "mechanism.npz", "dual.npz", "parts/comparison/comparison.npz")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    space = dx.grid((2, 2))
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary", name="small")
    folder = tmp_path_factory.mktemp("saved")
    report = dx.solve(problem)
    report = replace(report, comparison=dx.compare(problem, ["exponential"], reference=report))
    return report.save(folder / "small")


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return shutil.copytree(saved, tmp_path / "small")


def refused(folder: Path) -> str:
    """The line of `load` for a folder; `dxopt report` has one for it as well."""
    with pytest.raises(dx.SpecError) as caught:
        dx.load(folder)
    line = str(caught.value)
    answer = CliRunner().invoke(app, ["report", str(folder)])
    assert answer.exit_code == 2
    assert answer.stderr.splitlines()[-1].startswith(f"folder: {folder} ")
    assert "\n" not in line
    return line


@pytest.mark.parametrize("damage", [endless, pipe])
@pytest.mark.parametrize("name", [*ARRAYS, "claims.json", "notes.json"])
def test_what_is_no_plain_file(folder: Path, name: str, damage: Callable[[Path], None]) -> None:
    assert (folder / name).is_file()
    damage(folder / name)
    assert str(folder) in refused(folder)


@pytest.mark.parametrize("name", ARRAYS)
def test_claims_of_10_to_the_12_numbers(folder: Path, name: str) -> None:
    boasting(folder / name)
    assert "not the size of its shape" in refused(folder)


@pytest.mark.parametrize("name", ARRAYS)
def test_a_bomb(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_ARRAYS", 1 << 21)
    bomb(folder / name, 1 << 22)
    assert "its arrays have" in refused(folder)


def test_a_report_of_more_than_the_most_text(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_TEXT", 100)
    assert "bytes, more than 100" in refused(folder)


def test_a_name_too_long_is_no_folder() -> None:
    with pytest.raises(dx.SpecError, match="is no result folder"):
        dx.load("a" * 5000)
    answer = CliRunner().invoke(app, ["report", "a" * 5000])
    assert answer.exit_code == 2
    assert "is no folder" in answer.stderr


@pytest.mark.parametrize("damage", [endless, pipe, boasting])
def test_saved_mechanisms(damage: Callable[[Path], None], tmp_path: Path) -> None:
    file = tmp_path / "saved.npz"
    dx.classic.exponential(dx.line(3), epsilon=1.0).save(file)
    damage(file)
    with pytest.raises(dx.SpecError, match="is no saved mechanism, or damaged"):
        dx.Mechanism.load(file)


def test_a_damaged_file_does_not_echo_its_bytes(tmp_path: Path) -> None:
    file, damaged = tmp_path / "saved.npz", tmp_path / "damaged.npz"
    dx.classic.exponential(dx.line(3), epsilon=1.0).save(file)
    with ZipFile(file) as old, ZipFile(damaged, "w") as new:
        for name in old.namelist():
            # a header that the reader cannot parse, which its error repeats
            head = b"\x93NUMPY\x01\x00" + (3501).to_bytes(2, "little") + b"secret\t" * 500 + b"\n"
            new.writestr(name, head if name == "format.npy" else old.read(name))
    with pytest.raises(dx.SpecError) as caught:
        dx.Mechanism.load(damaged)
    assert caught.value.field == "file" and str(caught.value).isprintable()
    assert str(caught.value).count("secret") < 40


@pytest.mark.parametrize("damage", [endless, pipe])
def test_saved_tables(damage: Callable[[Path], None], tmp_path: Path) -> None:
    file = tmp_path / "saved.dxt"
    integer_table(dx.classic.exponential(dx.line(3), epsilon=1.0)).save(file)
    damage(file)
    with pytest.raises(dx.SpecError, match=r"^table: "):
        IntegerTable.load(file)


ODD: list[Callable[[Array], Array]] = [
    lambda array: np.array(["x"]),
    lambda array: array.astype(str),
    lambda array: np.array(1j),
    lambda array: np.zeros(array.shape, "M8[s]"),
    lambda array: np.zeros(array.shape, "V4"),
    lambda array: np.zeros(array.shape, [("a", "f8")]),
    lambda array: array.ravel()[:0],
    lambda array: np.array(3.0),
    lambda array: array[None],
    lambda array: array.astype(np.longdouble) if array.dtype.kind in "fiu" else array[None],
]


@pytest.mark.parametrize("name", ["problem.npz", "mechanism.npz", "dual.npz"])
@pytest.mark.parametrize("odd", ODD)
def test_other_dtypes_and_shapes(folder: Path, name: str, odd: Callable[[Array], Array]) -> None:
    with np.load(folder / name) as stored:
        arrays = dict(stored)
    for key, array in arrays.items():
        np.savez(folder / name, **{**arrays, key: odd(array)})
        with suppress(dx.SpecError, dx.CertificateError):
            dx.load(folder)
