"""Files of results have the arrays of their kind, and no others; what is in no reader's way passes nowhere."""

from __future__ import annotations

import io
import json
import shutil
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.verify import verify
from tests.material.forged_kinds import KINDS
from tests.verify.forging import redigest

Arrays = dict[str, Any]
_LEVELS = {"epsilon": 0.01, "how": "proven by nobody", "delta": 0.0, "pairs": "all"}
CHANGES: dict[str, tuple[str, Callable[[Arrays], object]]] = {
    "levels": ("mechanism", lambda arrays: arrays.update(_LEVELS)),
    "a level": ("mechanism", lambda arrays: arrays.update(epsilon=0.01)),
    "names": ("mechanism", lambda arrays: arrays.update(reports=["ann", "bob"])),
    "places": ("mechanism", lambda arrays: arrays.update(report_points=[[45.1], [2.0], [3.0]])),
    "a part": ("mechanism", lambda arrays: arrays.update({"0/name": "ann"})),
    "weights": ("mechanism", lambda arrays: arrays.update(weights=np.ones(4))),
    "slack": ("mechanism", lambda arrays: arrays.update(slack=0)),
    "no secrets": ("mechanism", lambda arrays: arrays.pop("secrets")),
    "no name": ("mechanism", lambda arrays: arrays.pop("name")),
    "text in a dual": ("dual", lambda arrays: arrays.update(names=["ann"])),
    "a part of a dual": ("dual", lambda arrays: arrays.update({"1/extra": 1.0})),
    "multipliers": ("dual", lambda arrays: arrays.update(multiplier=np.zeros(4))),
    "a problem": ("problem", lambda arrays: arrays.update(prior_x=1.0)),
    "a loss budget": ("problem", lambda arrays: arrays.update(max_loss=-5.0)),
    "guesses": ("problem", lambda arrays: arrays.update(adversary_loss=np.eye(4))),
    "members of no set": ("problem", lambda arrays: arrays.update({"prior_set.members": np.eye(4)})),
    "multipliers of no totals": ("problem", lambda arrays: arrays.update({"prior_set.proof": np.zeros(4)})),
    "a belief of no pair": ("problem", lambda arrays: arrays.update(belief_names=np.array(["ann"]))),
    "no losses": ("problem", lambda arrays: arrays.pop("losses")),
}


def _change(folder: Path, name: str, change: Callable[[Arrays], object]) -> None:
    with np.load(folder / f"{name}.npz") as stored:
        arrays = dict(stored)
    change(arrays)
    np.savez(folder / f"{name}.npz", **arrays)
    redigest(folder)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prior = [0.4, 0.3, 0.2, 0.1]
    report = dx.solve(dx.Problem(dx.line(4), epsilon=1.0, prior=prior))
    return Path(report.save(tmp_path_factory.mktemp("honest") / "line"))


@pytest.mark.parametrize("change", CHANGES)
def test_other_arrays_are_refused(change: str, honest: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(honest, tmp_path / "line"))
    assert verify(folder).exit_code == 0
    dx.load(folder)
    _change(folder, *CHANGES[change])
    assert verify(folder).exit_code == 1
    if change != "no losses":  # which have a name
        with pytest.raises((dx.SpecError, dx.CertificateError)):
            dx.load(folder)


@pytest.mark.parametrize("kind", ["chebyshev", "cells"])
def test_losses_of_a_matrix_are_there(kind: str, tmp_path: Path) -> None:
    """Also where the table is said to be missing, so that nothing else has the distances."""
    folder = KINDS[kind](tmp_path / "out")
    _change(folder, "problem", lambda arrays: (arrays.pop("distances"), arrays.update(losses=7 * arrays["losses"])))
    assert verify(folder).of("claims").status.name == "FAILS"


@pytest.mark.parametrize("kind", KINDS)
def test_no_array_of_a_problem_is_without_its_objective(kind: str, tmp_path: Path) -> None:
    folder = KINDS[kind](tmp_path / "out")
    if not (folder / "problem.npz").exists():
        return
    dx.load(folder)
    assert verify(folder).of("claims").status.name == "HOLDS"
    honest = (folder / "problem.npz").read_bytes()
    with np.load(folder / "problem.npz") as stored:
        extra = {"max_loss", "prior_set", "prior_set.radius", "prior_set.lowest", "belief_epsilon"} - {*stored}
    for key in extra:
        _change(folder, "problem", lambda arrays, key=key: arrays.update({key: 1.0}))
        assert verify(folder).exit_code == 1, key
        with pytest.raises(dx.SpecError):
            dx.load(folder)
        (folder / "problem.npz").write_bytes(honest)


@pytest.mark.parametrize("kind", ["kernel", "product", "own loss", "worst", "kernel elsewhere"])
@pytest.mark.parametrize("name", ["mechanism", "dual"])
def test_no_array_is_without_a_kind(name: str, kind: str, tmp_path: Path) -> None:
    folder = KINDS[kind](tmp_path / "out")
    with np.load(folder / f"{name}.npz") as stored:
        prefixes = {key.rpartition("/")[0] for key in stored if "/space" not in key}
        keys = [key for key in stored if not key.rpartition("/")[2].startswith(("space.", "report_p"))]
    honest = (folder / f"{name}.npz").read_bytes()
    for prefix in prefixes:
        _change(folder, name, lambda arrays, prefix=prefix: arrays.update({f"{prefix}/extra".lstrip("/"): 1.0}))
        assert verify(folder).of("claims").status.name == "FAILS", prefix
        (folder / f"{name}.npz").write_bytes(honest)
    for key in keys:
        _change(folder, name, lambda arrays, key=key: arrays.pop(key))
        assert verify(folder).exit_code == 1, key
        (folder / f"{name}.npz").write_bytes(honest)


ZIPS: dict[str, Callable[[bytes], bytes]] = {
    "before": lambda content: b"ann home" + content,
    "after": lambda content: content + b"ann home",
    "a comment": lambda content: content[:-2] + b"\x04\x00home",
}


def _with_comment(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        for member in old.infolist():
            member.comment = b"ann"
            new.writestr(member, old.read(member))
    return stream.getvalue()


@pytest.mark.parametrize("change", [*ZIPS.values(), _with_comment])
@pytest.mark.parametrize("name", ["mechanism", "problem", "dual"])
def test_archives_have_nothing_but_arrays(
    name: str, change: Callable[[bytes], bytes], honest: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(honest, tmp_path / "line"))
    file = folder / f"{name}.npz"
    file.write_bytes(change(file.read_bytes()))
    with zipfile.ZipFile(file) as stored:
        assert stored.namelist()
    redigest(folder)
    assert verify(folder).exit_code == 1


@pytest.mark.parametrize("key", ["name", "space.labels"])
def test_long_texts_are_refused_before_they_take_memory(key: str, honest: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(honest, tmp_path / "line"))
    shape = () if key == "name" else (4,)
    _change(folder, "mechanism", lambda arrays: arrays.update({key: np.zeros(shape, "<U2000000")}))
    assert verify(folder).exit_code == 1
    with pytest.raises(dx.SpecError, match="letters"):
        dx.load(folder)


WRONG: dict[str, tuple[Any, ...]] = {
    "problem.name": (None, 1, []),
    "problem.prior": (None, 1, []),
    "problem.loss": ("x", None),
    "problem.loss_by_distance": (None, 1),
    "found.claim": ("x", None),
    "found.method": (None,),
    "found.spanner": ("x", True),
    "beliefs": (None, {}, ["x"]),
    "rests_on": (None, []),
    "evaluation": (None, []),
    "table": (1, {}),
    "tolerance": (None, "x", True),
    "certificate.private": (1, None),
}


@pytest.mark.parametrize("entry", WRONG)
def test_claims_of_other_types_are_refused(entry: str, honest: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(honest, tmp_path / "line"))
    file = folder / "claims.json"
    said = json.loads(file.read_text(encoding="utf-8"))
    *way, last = entry.split(".")
    for value in WRONG[entry]:
        (said[way[0]] if way else said)[last] = value
        file.write_text(json.dumps(said), encoding="utf-8")
        redigest(folder)
        assert verify(folder).of("claims").status.name == "FAILS", value
        with pytest.raises((dx.SpecError, dx.CertificateError)):
            dx.load(folder)


def _with_header(change: Callable[[bytes], bytes], version: bytes = b"\x01\x00") -> Callable[[bytes], bytes]:
    """A change of the header of each array of an archive, which is then filled up with blanks as before."""

    def changed(member: bytes) -> bytes:
        size = int.from_bytes(member[8:10], "little")
        header = change(member[10 : 10 + size].rstrip())
        wide = 2 if version == b"\x01\x00" else 4
        header += b" " * (-(len(header) + 9 + wide) % 64) + b"\n"
        return member[:6] + version + len(header).to_bytes(wide, "little") + header + member[10 + size :]

    def rewritten(content: bytes) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
            for name in old.namelist():
                new.writestr(name, changed(old.read(name)))
        return stream.getvalue()

    return rewritten


HEADERS = {
    "a comment": _with_header(lambda header: header + b" # ann lives at 45.71234, 4.81234"),
    "blanks": _with_header(lambda header: header + b" " * 6400 + b" "),
    "spelling": _with_header(lambda header: header.replace(b"'", b'"')),
    "order": _with_header(lambda header: header.replace(b"False", b"0 > 1")),
    "version": _with_header(lambda header: header, b"\x02\x00"),
}


@pytest.mark.parametrize("change", HEADERS)
@pytest.mark.parametrize("name", ["mechanism", "problem", "dual"])
def test_arrays_have_the_header_that_numpy_writes(change: str, name: str, honest: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(honest, tmp_path / "line"))
    file = folder / f"{name}.npz"
    file.write_bytes(HEADERS[change](file.read_bytes()))
    redigest(folder)
    assert verify(folder).exit_code == 1
    with pytest.raises(dx.SpecError) as caught:
        dx.load(folder)
    assert caught.value.field == "folder"


@pytest.mark.parametrize(
    "entry", ["mechanism matrix", "problem distances", "problem losses", "problem prior", "dual prices"]
)
@pytest.mark.parametrize("shape", [(6000, 6000), (36_000_000,), (4, 9_000_000)])
def test_large_arrays_are_refused_before_they_take_memory(
    entry: str, shape: tuple[int, ...], honest: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(honest, tmp_path / "line"))
    name, key = entry.split()
    file = folder / f"{name}.npz"
    with np.load(file) as stored:
        arrays = dict(stored)
    arrays.pop(key)
    np.savez_compressed(file, **arrays)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as new, new.open(f"{key}.npy", "w") as stream:
        written = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, written)  # pyright: ignore[reportArgumentType]
        for _ in range(36):
            stream.write(bytes(8_000_000))
    redigest(folder)
    tracemalloc.start()
    try:
        assert verify(folder).exit_code == 1
        with pytest.raises(dx.SpecError) as caught:
            dx.load(folder)
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()
    assert caught.value.field == "folder"
