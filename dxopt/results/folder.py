"""Writing of result folders: where one may go, and how plain content becomes its files, all at once.

Nothing is computed here: what a folder is to hold is known before the first file is written.
"""

from __future__ import annotations

import glob
import hashlib
import json
import math
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import PlausibilityWarning, SpecError
from dxopt.runtime.archive import compress
from dxopt.runtime.display import Shown
from dxopt.runtime.locking import locked
from dxopt.runtime.reading import as_path, is_file, is_folder

CLAIMS = "claims.json"
NOTES = "notes.json"
LEVEL = "level.json"
FRONTIER = "frontier.json"
SWEEP = "sweep.json"
SWEEP_TABLE = "sweep.csv"
COMPARISON = "comparison"
PARTS = "parts"
DESCRIPTION = "problem.yaml"
MECHANISM = "mechanism.npz"
PROBLEM = "problem.npz"
DUAL = "dual.npz"
TABLE = "table.dxt"
HELD_OUT = "held_out.npz"
DIGESTS = "digests.json"
PAGE = "report.html"


class Storable(Protocol):
    """Object that writes its own file, as mechanisms and integer tables do."""

    def save(self, file: Path, /) -> object:
        """Write the file."""


Content = Mapping[str, Any] | str | bytes | Storable
"""Of a file: arrays of `*.npz`, entries of `*.json` and `*.yaml`, text, bytes. Of a name with no ending: a folder."""
Contents = dict[str, Content]
"""Files of a folder, by name."""


def finite(number: float | None) -> float | None:
    """Return a number for JSON: None instead of infinity and nan."""
    return number if number is not None and math.isfinite(number) else None


def numbers(array: NDArray[np.float64]) -> list[float | None]:
    """Return the entries of an array for JSON."""
    return [finite(number) for number in array.tolist()]


# _FILES are all files that a result may have: an earlier result's are dropped, whatever else is there is the user's.
_PROOF = (CLAIMS, MECHANISM)
_QUESTIONS = (LEVEL, FRONTIER, SWEEP)
_PICTURES = tuple(f"{name}.{ending}" for name in ("frontier", "sweep", COMPARISON) for ending in ("svg", "png"))
_FILES = (
    *(DESCRIPTION, NOTES, PROBLEM, DUAL, TABLE, HELD_OUT),
    *_PROOF,
    *_QUESTIONS,
    PARTS,
    *_PICTURES,
    SWEEP_TABLE,
    PAGE,
    "input.json",
    DIGESTS,
)


def save_contents(folder: Path, contents: Contents) -> Path:
    """Write a result folder: an earlier result is replaced all at once, other files are kept.

    Raises
    ------
    SpecError
        If the folder holds something that is no result, or cannot be written.
    """
    return replace_folder(folder, lambda fresh: write_contents(fresh, contents))


def replace_folder(folder: Path, fill: Callable[[Path], object]) -> Path:
    """Let `fill` write to a fresh folder, and rename that to `folder`, so that no reader sees half a result.

    Files that are no part of a result are kept. It raises what `save_contents` does.
    """
    with _held(folder):
        fresh, old = _hidden_folder(folder), _hidden_folder(folder)
        try:
            fill(fresh)
            write_digests(fresh)
            if folder.exists():
                # What a user put there moves along. The earlier result is moved away before the fresh one takes its
                # name, so that whoever reads `folder` finds one result or the other, and never files of both.
                shutil.copytree(folder, fresh, symlinks=True, ignore=_of_result(folder), dirs_exist_ok=True)
                folder.replace(old / "old")
            fresh.replace(folder)
        finally:
            put_back(folder)  # an error, or an interrupt, may come between the two
            for hidden in (fresh, old):
                shutil.rmtree(hidden, ignore_errors=True)
    return folder


def _of_result(folder: Path) -> Callable[[str, list[str]], set[str]]:
    """Return a function for `shutil.copytree` that finds the files of the result itself, and none in its folders."""
    return lambda place, names: {*names}.intersection(_FILES) if Path(place) == folder else set()


def require_writable(folder: Path) -> None:
    """Raise SpecError unless a result can be saved to `folder`; to be called before the work is done."""
    with _held(folder):
        pass


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the name of a result, to which one save at a time writes, without what killed ones left beside it."""
    try:
        if folder.exists() and not is_result(folder) and (not folder.is_dir() or any(folder.iterdir())):
            raise SpecError("output", f"{folder} exists and is no result folder", "name another folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(_lock_of(folder), _PATIENCE):
            recover([folder])
            _require_replaceable(folder)
            yield
    except OSError as error:
        wrong = f"{folder} cannot be written: {error.strerror or error}"
        raise SpecError("output", wrong, "make room, close what has it open, or name another folder") from None


def _require_replaceable(folder: Path) -> None:
    """Raise SpecError where a folder has the name of a file of a result, or a file that of its folder of parts."""
    for path in map(folder.joinpath, _FILES):
        if not path.is_symlink() and (path.is_file() if path.name == PARTS else path.is_dir()):
            wrong = f"{path} has the name of something else that a result has"
            raise SpecError("output", wrong, "move it away, or name another folder")


_PATIENCE = 60.0
"""Seconds to wait for another save to a folder."""


def _hidden_folder(folder: Path) -> Path:
    """Make an empty folder beside another one, of a name that nobody can guess."""
    hidden = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
    hidden.mkdir()
    return hidden


def put_back(folder: Path) -> None:
    """Give a result its name again that a killed process had moved away, before another one took its place."""
    if folder.exists():
        return
    for left in folder.parent.glob(f".{glob.escape(folder.name)}-*/old"):
        if is_result(left):
            left.replace(folder)
            left.parent.rmdir()
            return


def recover(folders: Iterable[Path]) -> None:
    """Remove what killed processes left next to result folders, and put back a result that was moved away."""
    names = {*folders}
    for parent in {folder.parent for folder in names}:
        for left in [*parent.glob(f".*-{'[0-9a-f]' * 8}")]:
            folder = parent / left.name[1:-9]
            if folder in names:  # whatever else is there is not ours
                put_back(folder)
                shutil.rmtree(left, ignore_errors=True)


def remove_locks(folders: Iterable[Path]) -> None:
    """Remove the locks of result folders that killed processes left: those that nobody holds."""
    for lock in map(_lock_of, folders):
        if lock.exists():
            with suppress(OSError), locked(lock):
                pass


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.lock")


def is_result(folder: Path) -> bool:
    """Return True if a folder holds a result: a report, a level, a frontier or a sweep."""
    return holds_report(folder) or any(is_file(folder / name) for name in _QUESTIONS)


def holds_report(folder: Path) -> bool:
    """Return True if a folder holds a report."""
    return all(is_file(folder / name) for name in _PROOF)


def write_contents(folder: Path, contents: Mapping[str, Content]) -> None:
    """Write files to a folder that is there; folders within it get digests of their own."""
    for name, content in contents.items():
        path = folder / name
        match content:
            case bytes():
                path.write_bytes(content)
            case str():
                path.write_text(content, encoding="utf-8", newline="")
            case Mapping():
                _write_mapping(path, content)
            case _:
                content.save(path)


def _write_mapping(path: Path, content: Mapping[str, Any]) -> None:
    """Write arrays or entries in the format of the file's ending; a name without an ending becomes a folder."""
    match path.suffix:
        case ".npz":
            compress(path, content)
        case ".json":
            write_json(path, content)
        case ".yaml":
            from ruamel.yaml import YAML

            with path.open("w", encoding="utf-8", newline="\n") as stream:
                YAML().dump(content, stream)
        case _:
            path.mkdir(parents=True)
            write_contents(path, content)
            write_digests(path)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON, indented."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def write_digests(folder: Path) -> None:
    """Write digests.json: `{"format": 1, "sha256": {name: hexadecimal digest}}` for every other file of a folder.

    The names are sorted. It is written last, so that a folder that has it is whole. Of a part, which is a result
    folder itself, only digests.json is listed, as `parts/00/digests.json`.
    """
    files = [path for path in folder.iterdir() if path.is_file() and path.name != DIGESTS]
    names = sorted(path.relative_to(folder).as_posix() for path in [*files, *folder.glob(f"{PARTS}/*/{DIGESTS}")])
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    write_json(folder / DIGESTS, {"format": 1, "sha256": digests})


class Result(Shown, ABC):
    """An answer that can be saved."""

    @abstractmethod
    def contents(self) -> Contents:
        """Return the files of a result folder by name, as arrays, JSON, text or bytes, all computed here."""

    @property
    def warnings(self) -> tuple[PlausibilityWarning, ...]:
        """Plausibility warnings about the question or its answer; docs/guides/plausibility.md has the checks."""
        return ()

    def save(self, folder: str | Path) -> Path:
        """Write a result folder, which holds what `contents` lists.

        An earlier result there is replaced, other files are kept. `dx.load` reads a report back, and
        `EpsilonSweep.load` a sweep.

        Raises
        ------
        SpecError
            If the folder holds something that is no result, or cannot be written.

        Examples
        --------
        >>> import dxopt as dx
        >>> report = dx.solve(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"))
        >>> folder = report.save("results/line")
        >>> print(dx.load(folder).certificate.private)
        True
        """
        return save_contents(as_path(folder, "folder"), self.contents())

    def write(self, folder: Path) -> None:
        """Write the files of a result to a folder that is there; SpecError where it is not."""
        place = as_path(folder, "folder")
        if not is_folder(place):
            raise SpecError("folder", f"{place} is no folder", "make it first, or use save")
        write_contents(place, self.contents())


def parts(results: Iterable[Result]) -> Contents:
    """Return the reports that an answer rests on, each a result folder in `parts`, named by its position."""
    return {f"{PARTS}/{position:03}": result.contents() for position, result in enumerate(results)}
