"""One mutant after another, in a copy of the tree: the tests that see its line, until the first one fails."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn

import networkx as nx
import pytest

from tests.material.files import ROOT
from tests.material.imports import graph, modules
from tests.mutating.operators import Mutant, runs_at_import
from tests.mutating.sight import ONLY, Seen

KILLED = "killed"
TIME = "killed by time"
LIVED = "lived"
_EACH = 3
"""So many cases of a test function are tried before more of the same one are."""
_STARTING = 20.0
"""Seconds of CPU time that a run may take beyond several times its tests."""
_WAITING = 10.0
"""So many times longer than that by the clock, as where it waits for what never comes."""
_LIBRARIES = (
    "numpy",
    "numba",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.special",
    "networkx",
    "highspy",
    "clarabel",
    "pydantic",
    "ruamel.yaml",
    "typer",
    "rich.console",
    "hypothesis",
    "matplotlib.figure",
)


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant.

    Attributes
    ----------
    status : {"killed", "killed by time", "lived"}
    seconds : float
    tried, seeing : int
        Tests that were chosen, and those that see the line.
    killer : str
        The test that failed; "" where none did, or none could be run.
    """

    status: str
    seconds: float
    tried: int
    seeing: int
    killer: str


class Sight:
    """Which tests see a line, the most telling ones first."""

    def __init__(self, seen: Iterable[Seen]) -> None:
        self.by_line: dict[tuple[str, int], list[Seen]] = defaultdict(list)
        self.by_file: dict[str, list[Seen]] = defaultdict(list)
        for one in seen:
            for file, lines in one.lines.items():
                self.by_file[file].append(one)
                for line in lines:
                    self.by_line[file, line].append(one)

    def of(self, mutant: Mutant, source: bytes) -> list[Seen]:
        """Those that run the lines of the change; where none is known to, as in constants, all that run anything of
        the file, or of those that import it. Of compiled loops coverage sees only who imports them first.
        """
        last_line = source.count(b"\n", 0, mutant.last) + 1
        lines = () if runs_at_import(source, mutant.line) else range(mutant.line, last_line + 1)
        found = {one.test: one for line in lines for one in self.by_line[mutant.file, line]}
        if not found:
            files = [mutant.file, *(_importers([mutant.file]) if b"@kernel" in source else ())]
            while files and not found:
                found = {one.test: one for file in files for one in self.by_file[file]}
                files = _importers(files)
        return list(found.values())


@cache
def _imports() -> nx.DiGraph:
    """Which module imports which."""
    return graph()


def _importers(files: Sequence[str]) -> list[str]:
    """The files that import any of these."""
    known = modules()
    named = {str(file.relative_to(ROOT)): name for name, file in known.items()}
    edges = _imports()
    names = {other for file in files for other in edges.predecessors(named[file])}
    return sorted(str(known[name].relative_to(ROOT)) for name in names)


def chosen(seeing: Sequence[Seen], file: str, seconds: float) -> list[str]:
    """The tests to run, of so many seconds in all: some of each kind, of the mirrored room first, the quick ones."""
    room = file.replace("dxopt/", "tests/", 1).rpartition("/")[0]
    cases: dict[str, list[Seen]] = defaultdict(list)
    for one in sorted(seeing, key=lambda one: one.seconds):
        cases[one.test.partition("[")[0]].append(one)
    ranked = [(place // _EACH, one) for some in cases.values() for place, one in enumerate(some)]
    ranked.sort(key=lambda pair: (pair[0], not pair[1].test.startswith(room), pair[1].seconds))
    left = seconds
    kept: dict[str, list[Seen]] = defaultdict(list)
    for _, one in ranked:
        if one.seconds <= left:
            left -= one.seconds
            kept[one.test.partition("::")[0]].append(one)
    # file by file, so that what a file makes for all of its tests is made once
    files = sorted(kept.values(), key=lambda some: sum(one.seconds for one in some) / len(some))
    return [one.test for some in files for one in some]


class Copy:
    """A copy of the tree in which mutants are tried; nothing of the working tree is ever changed."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
        for name in names:
            if name and (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)

    def tried(self, mutant: Mutant, seeing: Sequence[Seen], seconds: float) -> Outcome:
        """What becomes of a mutant in tests of so many seconds."""
        tests = chosen(seeing, mutant.file, seconds)
        if not tests:
            return Outcome(LIVED, 0.0, 0, len(seeing), "")
        place = self.root / mutant.file
        source = place.read_bytes()
        compiled = self._set_aside(place)
        place.write_bytes(mutant.applied(source))
        try:
            status, took, killer = self._run(tests, sum(one.seconds for one in seeing if one.test in set(tests)))
        finally:
            place.write_bytes(source)
            self._put_back(place, compiled)
        return Outcome(status, took, len(tests), len(seeing), killer)

    def _run(self, tests: Sequence[str], seconds: float) -> tuple[str, float, str]:
        only = self.root / "only.json"
        only.write_text(json.dumps(tests), encoding="utf-8")
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        arguments = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-rfE", "-p", "tests.mutating.sight"]
        arguments += ["-m", "", *files]  # the long ones as well
        began = time.perf_counter()
        log = self.root / "log"
        run = os.fork()
        if run == 0:
            self._within(log, {ONLY: str(only)}, arguments, _STARTING + 3 * seconds)
        code = _ended(run, _WAITING * (_STARTING + 3 * seconds))
        took = time.perf_counter() - began
        # no test at all, where those chosen are gone, tells nothing
        if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return LIVED, took, ""
        if code is None or code in (-signal.SIGXCPU, -signal.SIGKILL):
            return TIME, took, ""
        said = log.read_text(encoding="utf-8", errors="replace").splitlines()
        failed = [line for line in said if line.startswith(("FAILED ", "ERROR "))]
        return KILLED, took, failed[0].split(" - ")[0] if failed else "no test could be run"

    def _within(self, log: Path, environment: dict[str, str], arguments: list[str], seconds: float) -> NoReturn:
        """In a process of its own, forked so that libraries are loaded: pytest in the copy, for so much CPU time."""
        code = 70
        try:
            os.setsid()
            import resource  # which Windows has not

            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
            stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for standard in (1, 2):
                os.dup2(stream, standard)
            os.chdir(self.root)
            # no byte code of a mutant is kept: Python would take it for that of the next one of the same size
            sys.dont_write_bytecode = True
            os.environ.update(environment, PYTHONPATH=str(self.root), PYTHONDONTWRITEBYTECODE="1")
            sys.path[:] = [str(self.root), *(folder for folder in sys.path if folder not in ("", str(ROOT)))]
            for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "dxopt")]:
                del sys.modules[name]
            code = int(pytest.main(arguments))
        finally:
            os._exit(code)

    def _set_aside(self, place: Path) -> list[tuple[Path, Path]]:
        """Move away what was compiled of the file; of one with loops for Numba, all of its folder."""
        folder = place.parent / "__pycache__"
        away = Path(tempfile.mkdtemp(dir=self.root))
        loops = b"kernel" in place.read_bytes()
        moved = []
        for file in sorted(folder.glob("*")) if folder.is_dir() else ():
            if file.name.startswith(f"{place.stem}.") or (loops and file.suffix in (".nbi", ".nbc")):
                moved.append((file, away / file.name))
                file.rename(away / file.name)
        return moved

    def _put_back(self, place: Path, moved: Sequence[tuple[Path, Path]]) -> None:
        """Put back what was compiled, in place of what a mutant has left, with the file as old as it was."""
        folder = place.parent / "__pycache__"
        shutil.copystat(ROOT / place.relative_to(self.root), place)
        for file in folder.glob(f"{place.stem}.*") if folder.is_dir() else ():
            file.unlink()
        if any(file.suffix == ".nbi" for file, _ in moved):
            for file in (*folder.glob("*.nbi"), *folder.glob("*.nbc")):
                file.unlink()
        for file, away in moved:
            away.rename(file)


def _ended(run: int, seconds: float) -> int | None:
    """The exit code of a process, or None where it had to be ended; whatever it has started ends with it."""
    until = time.perf_counter() + seconds
    code = None
    while code is None and time.perf_counter() < until:
        ended, status = os.waitpid(run, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
        else:
            time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(run, signal.SIGKILL)
    if code is None:
        os.waitpid(run, 0)
    return code


def load() -> None:
    """Load the libraries that tests need, once for all mutants."""
    for name in _LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(name)
