"""What a batch is to do: one job for each problem of each file, found without building any of them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dxopt.batch.lines import Line
from dxopt.batch.outcome import SUMMARY, Done
from dxopt.batch.overrides import Overrides
from dxopt.errors import SpecError
from dxopt.results.folder import is_result
from dxopt.spec import names_and_files
from dxopt.spec.source import stem

if TYPE_CHECKING:
    from dxopt.batch.overrides import Overrides


@dataclass(frozen=True)
class Job:
    """One problem of a file, and where its result goes.

    Attributes
    ----------
    file : Path
    place : int
        Of the problem among those of its file.
    name : str
        Of the problem.
    folder : Path
    overrides : Overrides
    digest : str
        Of all that the result depends on; the same as long as that is unchanged.
    """

    file: Path
    place: int
    name: str
    folder: Path
    overrides: Overrides
    digest: str

    def not_started(self) -> Done:
        """What became of it where the run was interrupted before."""
        return self.not_done("not started", "not started, as the run was interrupted")

    def not_done(self, status: str, reason: str) -> Done:
        """What became of it where it was never finished."""
        return Done(Line(self.name, status=status, delivered=False), f"{self.name}: {reason}")


def problem_files(paths: Iterable[Path]) -> list[Path]:
    """Files as given, and every *.yaml below a directory that is not inside a result folder.

    Raises
    ------
    SpecError
        If a directory holds none.
    """
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = [file for file in sorted(path.rglob("*.yaml")) if not any(map(is_result, file.parents))]
        if not inside:
            raise SpecError(str(path), "holds no problem file", "name a folder with *.yaml files")
        found += inside
    return list(dict.fromkeys(found))


def jobs_of(paths: Iterable[Path], output: Path, overrides: Overrides) -> list[Job | Done]:
    """The jobs of files, and of those in folders, in order; a file that cannot be read has its error in their place.

    Raises
    ------
    SpecError
        If a folder holds no problem file.
    """
    jobs: list[Job | Done] = []
    taken: set[str] = {*SUMMARY}
    for file in problem_files(paths):
        try:
            names, data = names_and_files(file, overrides.sweep)
        except SpecError as error:
            jobs.append(unreadable(file, error))
            continue
        inputs = digest_of([file, *data], overrides)
        for place, name in enumerate(names):
            folder = output / _folder_name(name, taken)
            jobs.append(Job(file, place, name, folder, overrides, f"{inputs} {place}"))
    return jobs


def unreadable(file: Path, error: SpecError) -> Done:
    """What became of the problems of a file that cannot be read."""
    line = Line(stem(file), status="bad input", delivered=False)
    return Done(line, str(error), bad_input=True, unread=str(file))


def _folder_name(name: str, taken: set[str]) -> str:
    plain = re.sub(r"[^\w.=-]+", "-", name).strip("-.") or "problem"
    number = 1
    unique = plain
    while unique in taken:
        number += 1
        unique = f"{plain}-{number}"
    taken.add(unique)
    return unique


def digest_of(files: Iterable[Path], overrides: Overrides) -> str:
    """SHA-256 of a problem file, the data files that it names, and the options."""
    digest = hashlib.sha256(json.dumps(asdict(overrides), sort_keys=True).encode())
    for file in files:
        content = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "missing"
        digest.update(os.fsencode(f"{file.name} {content}\n"))
    return digest.hexdigest()
