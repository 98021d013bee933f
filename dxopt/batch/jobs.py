"""The jobs of a batch: one for each problem of each file, found without building any of them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Any

from dxopt.batch.outcome import SUMMARY, Done, Line
from dxopt.batch.overrides import Overrides
from dxopt.errors import SpecError
from dxopt.release.keys import Key
from dxopt.results.folder import is_result
from dxopt.runtime.atomic_write import open_private
from dxopt.runtime.reading import MOST_TABLE, below, is_folder, open_file
from dxopt.solving.plugins import named_plugins
from dxopt.spec import ProblemFile, read_problems
from dxopt.spec.fields import without_defaults
from dxopt.spec.source import stem

Question = Mapping[str, str]
"""A digest for each key that has something else than its default."""

_HOW = frozenset({"name", "solver", "tolerance", "time_limit", "expect", "privacy"})
"""Keys that do not change what is asked: those about the search, and `privacy`, whose level is in `epsilon`."""
_LONGEST_FOLDER = 220
"""Bytes of the name of a result folder: a file system takes 255, and some are added while the folder is written."""
KEY = ".resume.key"
"""File in an output folder with the key of digests of data, for its owner alone."""
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
"""Devices of Windows, whatever ending they are given: none is the name of a folder."""


@dataclass(frozen=True)
class Job:
    """One problem of a file, and where its result goes.

    Attributes
    ----------
    file : Path
    index : int
        Of the problem among those of its file.
    name : str
        Of the problem.
    folder : Path
    overrides : Overrides
    digest : str
        `digest_of` its file, a blank, and its index; the same as long as nothing that the result depends on changes.
    question : dict
        What the result answers; see `questions_of`.
    force : bool
        Whether it may replace a result that answers another question.
    key : bytes
        The key of the digests of data, which `keep_key` keeps in the output folder once there is a result in it.
    """

    file: Path
    index: int
    name: str
    folder: Path
    overrides: Overrides
    digest: str
    question: Question = field(default_factory=dict)
    force: bool = False
    key: bytes = field(default=b"", repr=False)

    def not_started(self) -> Done:
        """Return its outcome where the run was interrupted before it began."""
        return self.not_done("not started", "not started, as the run was interrupted")

    def not_done(self, status: str, reason: str) -> Done:
        """Return its outcome where it has no result: a line with what is known before its problem is built."""
        return Done(Line(self.name, status=status, delivered=False), f"{self.name}: {reason}")


def problem_files(paths: Iterable[Path]) -> list[Path]:
    """Return files as given, and every *.yaml below a folder that is not inside a result folder, each once.

    Raises
    ------
    SpecError
        If a directory holds none.
    """
    found: list[Path] = []
    for path in paths:
        if not is_folder(path):
            found.append(path)
            continue
        written = sorted(file for file in below(path) if file.suffix == ".yaml")
        inside = [file for file in written if not any(map(is_result, file.parents))]
        if not inside:
            raise SpecError(str(path), "holds no problem file", "name a folder with *.yaml files")
        found += inside
    return list(dict.fromkeys(found))


def jobs_of(
    paths: Iterable[Path], output: Path, overrides: Overrides, *, force: bool = False
) -> Iterator[tuple[Job, ProblemFile] | tuple[Done, None]]:
    """Yield the jobs of files, and of those in folders, in order, each with its file as it was read.

    A file that cannot be read has its error instead. Files are read one by one, as their jobs are asked for.

    Raises
    ------
    SpecError
        If a folder holds no problem file.
    """
    taken = {name.casefold() for name in SUMMARY}  # the summary files are beside the result folders
    key = _key_of(output)
    for path in problem_files(paths):
        try:
            file = read_problems(path, overrides.sweep, overrides.epsilon)
        except SpecError as error:
            yield unreadable(path, error), None
            continue
        data = _digests_of_data(file, Key(key))
        inputs = digest_of(file, overrides, data)
        questions = questions_of(file, overrides, data)
        # The problem of a result is not solved into the folder that it is read from.
        here = {path.parent.name} if file.saved is not None and _same_folder(output, path.parent.parent) else set()
        for index, (name, question) in enumerate(zip(file.names, questions, strict=True)):
            folder = output / _folder_name(name, overrides.suffix, taken, here)
            yield (
                Job(
                    path,
                    index,
                    name,
                    folder,
                    overrides,
                    f"{inputs} {index}",
                    question,
                    force,
                    b"" if file.saved is not None or not data else key,
                ),
                file,
            )


def unreadable(file: Path, error: SpecError) -> Done:
    """Return the outcome of the problems of a file that cannot be read."""
    line = Line(stem(file), status="bad input", delivered=False)
    return Done(line, str(error), bad_input=True, unread=str(file))


def _same_folder(one: Path, other: Path) -> bool:
    """Tell whether two paths name the same folder, which need not exist."""
    return one.resolve() == other.resolve()


def _folder_name(name: str, suffix: str, taken: set[str], other: Container[str]) -> str:
    """Return a name for a result folder that is valid on any system, and add it to `taken`, in lower case.

    A number makes it differ from names that are `taken`, by other results or the summary, and from those in `other`.
    """
    plain = re.sub(r"[^\w.=-]+", "-", name).strip("-.") or "problem"
    if plain.partition(".")[0].lower() in _RESERVED:
        plain = f"problem-{plain}"
    plain = plain.encode()[:_LONGEST_FOLDER].decode(errors="ignore") + suffix
    number = 1
    unique = plain
    while unique.casefold() in taken or unique in other:
        number += 1
        unique = f"{plain}-{number}"
    taken.add(unique.casefold())  # some file systems take names for one that differ in case
    return unique


def digest_of(file: ProblemFile, overrides: Overrides, data: Sequence[str]) -> str:
    """Return the SHA-256 of all that results depend on: problem file, data files (`data`), options, and plug-ins.

    Plug-ins are the installed ones whose names the file has anywhere, with their versions: to take too many of them
    does no harm, as their change only means that a problem is solved again.
    """
    # a result is the same whether its warnings count as bad input or not
    options = {key: value for key, value in asdict(overrides).items() if key != "strict"}
    digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode())
    for path, content in zip((file.path, *file.data), (file.source.sha256, *data), strict=True):
        digest.update(os.fsencode(f"{path.name} {content}\n"))
    for plugin in named_plugins({*_texts(file.source.root.value), *_texts(options)}):
        digest.update(f"{plugin}\n".encode())
    return digest.hexdigest()


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in nested lists and mappings, any of which may be the name of a plug-in."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _digests_of_data(file: ProblemFile, key: Key) -> list[str]:
    """Return a digest of each data file, "missing" if it cannot be read; the job that reads it then says why not.

    They are written into result folders, which may be published, and so are under the key of the output folder:
    nobody else can try out what was in a file. Those of a result's own arrays, which are published, need none.
    """
    found: list[str] = []
    for path in file.data:
        try:
            with open_file(path, MOST_TABLE) as stream:
                content = hashlib.file_digest(stream, "sha256").hexdigest()
        except (OSError, ValueError):
            content = "missing"
        found.append(content if file.saved is not None else key.digest("dxopt data", content).hex())
    return found


def _key_of(output: Path) -> bytes:
    """Return the key in an output folder, or a new one where there is none."""
    with suppress(OSError, SpecError):
        content = (output / KEY).read_bytes()
        Key(content)
        return content
    return token_bytes(32)


def keep_key(job: Job) -> None:
    """Write the key of a job into its output folder, if its digests have one, for its owner alone."""
    file = job.folder.parent / KEY
    with suppress(OSError):
        if job.key and not (file.exists() and file.read_bytes() == job.key):
            hidden = file.with_name(f"{KEY}.{token_hex(8)}")
            with open_private(hidden) as stream:
                stream.write(job.key)
            hidden.replace(file)


def questions_of(file: ProblemFile, overrides: Overrides, data: Sequence[str]) -> list[Question]:
    """Return the question of each problem of a file, in order; `data` are the digests of the data that it names.

    A question is a digest for each key that has something else than its default, so that a refusal can name the keys.
    How well and how long to search is no part of it, nor is the name of the problem.
    """
    found: list[Question] = []
    if file.saved is not None:
        asked = {"arrays": list(data), **({"compare": "all"} if overrides.compare else {})}
        return [_digests_by_key(asked if file.sweep is None else {**asked, "epsilon": asdict(file.sweep)})]
    for member in file.members:
        asked = {key: value for key, value in without_defaults(member.sheet).items() if key not in _HOW}
        if data:
            asked["data"] = list(data)
        if member.sheet.privacy is not None and (more := member.sheet.privacy.beside_epsilon):
            asked["privacy"] = more
        if overrides.compare and not member.sheet.compare:
            asked["compare"] = "all"
        if file.sweep is not None:
            found.append(_digests_by_key({**asked, "epsilon": asdict(file.sweep)}))
            continue
        # a search keeps its own form of `epsilon`; a family has one question per level
        each = (
            [asked["epsilon"]] if member.sheet.sweep is not None and "epsilon" in asked else member.sheet.epsilons()
        )
        found += [_digests_by_key({**asked, "epsilon": epsilon}) for epsilon in each]
    return found


def _digests_by_key(asked: Mapping[str, Any]) -> Question:
    """Return a short digest of each value, by key, to see which keys differ without storing the values."""
    texts = {key: json.dumps(value, sort_keys=True) for key, value in asked.items()}
    return {key: hashlib.sha256(text.encode()).hexdigest()[:16] for key, text in sorted(texts.items())}
