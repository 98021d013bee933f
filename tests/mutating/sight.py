"""Which tests see which lines: measured once for each file of tests, and again when it or dxopt has changed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.material.files import ROOT

REPORT = "MUTANTS_REPORT"
"""The environment variable with the file that a run with this plugin writes what it measured to."""
_WATCHED = "MUTANTS_WATCHED"
_TOGETHER = 8
ONLY = "MUTANTS_ONLY"
"""The environment variable with a file of the names of tests; all others are left out."""
FOLDERS = (
    "tests/numerics",
    "tests/proofs",
    "tests/verify",
    "tests/analysis/composition",
    "tests/analysis/regularity",
    "tests/analysis/test_characterise.py",
    "tests/analysis/test_evaluate.py",
    "tests/spaces/kernels",
    "tests/mechanisms/test_kernel.py",
    "tests/mechanisms/test_lifted.py",
    "tests/mechanisms/test_product.py",
    "tests/mechanisms/test_tight.py",
    "tests/mechanisms/test_tight_constraints.py",
    "tests/mechanisms/test_together.py",
    "tests/mechanisms/traces/test_accounting.py",
    "tests/release/tables",
    "tests/papers",
)
"""The tests of the rooms of proof, and of what is built on them."""


@dataclass(frozen=True)
class Seen:
    """One test: how long it takes, and the lines of each file that it runs."""

    test: str
    seconds: float
    lines: dict[str, frozenset[int]]


def test_files(folders: Iterable[str] = FOLDERS) -> list[str]:
    """The files of tests in some folders, from the root."""
    found = []
    for folder in folders:
        place = ROOT / folder
        found += [place] if place.is_file() else sorted(place.rglob("test_*.py"))
    return [str(file.relative_to(ROOT)) for file in found]


def digest(files: Iterable[Path]) -> str:
    """Of the contents of files."""
    made = hashlib.sha256()
    for file in files:
        made.update(file.read_bytes())
    return made.hexdigest()[:16]


def measured(folder: Path, watched: Sequence[str]) -> list[Seen]:
    """What each test sees of the files watched; measured where it is not known yet.

    A test that fails on the tree as it is, is left out: it would kill every mutant.
    """
    state = digest(sorted((ROOT / "dxopt").rglob("*.py")))
    kept = folder / f"sight-{state}.jsonl"
    known = {line["file"]: line for line in lines_of(kept)}
    wanted = {file: digest([ROOT / file]) for file in test_files()}
    stale = [file for file, stamp in wanted.items() if file not in known or known[file]["digest"] != stamp]
    for some in (stale[at : at + _TOGETHER] for at in range(0, len(stale), _TOGETHER)):
        print(f"measuring {', '.join(some)}", flush=True)
        found = _measure(folder / "measured.json", some, watched)
        for file in some:
            tests = [row for row in found if row[0].startswith(f"{file}::")]
            known[file] = {"file": file, "digest": wanted[file], "tests": tests}
            with kept.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(known[file]) + "\n")
    return [
        Seen(test, seconds, {file: frozenset(lines) for file, lines in seen.items()})
        for name in wanted
        for test, seconds, seen in known[name]["tests"]
    ]


def lines_of(file: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file of JSON lines; a last one that was cut off is left out."""
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


def _measure(report: Path, files: Sequence[str], watched: Sequence[str]) -> list[list[Any]]:
    """Run some files of tests; the name, seconds and lines of each test that passes."""
    report.unlink(missing_ok=True)
    environment = {**os.environ, REPORT: str(report), _WATCHED: json.dumps(list(watched))}
    command = [sys.executable, "-m", "pytest", "-p", "tests.mutating.sight", "-p", "no:cacheprovider", "-q"]
    command += ["-m", "", *files]  # the long ones as well
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads(report.read_text(encoding="utf-8")) if report.exists() else []


class _Measuring:
    """The plugin that measures: a context for each test."""

    def __init__(self, report: Path, watched: list[str]) -> None:
        from coverage import Coverage

        self.report = report
        self.coverage = Coverage(data_file=None, include=watched, config_file=False)
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        seen: dict[str, dict[str, list[int]]] = defaultdict(dict)
        for file in data.measured_files():
            name = str(Path(file).relative_to(ROOT))
            for line, tests in data.contexts_by_lineno(file).items():
                for test in tests:
                    seen[test].setdefault(name, []).append(line)
        rows = [[test, took, seen[test]] for test, took in self.seconds.items() if test not in self.failed]
        self.report.write_text(json.dumps(rows), encoding="utf-8")


class _Choosing:
    """The plugin that leaves out all tests but those chosen, and runs them in their order."""

    def __init__(self, names: Sequence[str]) -> None:
        self.place = {name: place for place, name in enumerate(names)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self.place]
        items[:] = sorted(chosen, key=lambda item: self.place[item.nodeid])


def pytest_configure(config: pytest.Config) -> None:
    """What pytest calls, given `-p tests.mutating.sight`."""
    if REPORT in os.environ:
        watched = json.loads(os.environ[_WATCHED])
        config.pluginmanager.register(_Measuring(Path(os.environ[REPORT]), [str(ROOT / one) for one in watched]))
    if ONLY in os.environ:
        names = json.loads(Path(os.environ[ONLY]).read_text(encoding="utf-8"))
        config.pluginmanager.register(_Choosing(names))
