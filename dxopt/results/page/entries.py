"""Entries of a page: results in memory or in folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dxopt.errors import CertificateError, SpecError
from dxopt.results.claims import FrontierFile, LevelFile, Notes, WarningNote, read_typed
from dxopt.results.folder import FRONTIER, LEVEL, NOTES, PARTS, SWEEP, holds_report, is_result
from dxopt.results.reading import load
from dxopt.results.report import Report
from dxopt.results.sweep import EpsilonSweep
from dxopt.runtime.reading import below, is_file, is_folder, no_result, read_json

SUMMARY = "summary.json"


@dataclass(frozen=True, eq=False)
class Entry:
    """One result of a page: a report or another answer, or how it failed.

    Attributes
    ----------
    name : str
    report, level, frontier, sweep : Report, LevelFile, FrontierFile and EpsilonSweep, or None
    failure, reason : str
        How it failed, and why; blank where it did not.
    recorded : sequence of WarningNote
        Warnings of notes.json: some are about data that the folder does not hold.
    """

    name: str
    report: Report | None = None
    level: LevelFile | None = None
    frontier: FrontierFile | None = None
    sweep: EpsilonSweep | None = None
    failure: str = ""
    reason: str = ""
    recorded: Sequence[WarningNote] = ()

    @property
    def warnings(self) -> list[str]:
        """The plausibility warnings as text: those found from what the folder holds, then others that it records."""
        answer = self.sweep or self.report
        found = () if answer is None else answer.warnings
        others = [one for one in self.recorded if one.kind not in {warning.kind for warning in found}]
        texts = [f"{one.field}: {one.seen}; {one.fix} (recorded when it was solved)" for one in others]
        return [f"Warning: {text}" for text in [*map(str, found), *texts]]

    @classmethod
    def of(cls, answer: Report | Entry) -> Entry:
        """Return the entry of a report in memory; an entry is returned as it is."""
        return answer if isinstance(answer, Entry) else cls(answer.problem.name, answer)

    @property
    def status(self) -> str:
        """Outcome in a word or two: how it failed, or the status of its answer."""
        if self.failure:
            return self.failure
        answer = self.level or self.frontier or self.sweep or self.report
        return "" if answer is None else str(answer.status)


def read(folder: Path, *, tell: Callable[[str], None] = lambda line: None) -> list[Entry]:
    """Read the result in a folder, or those in the folders below it, by name; each report is proven again.

    Of several, one that is damaged or does not hold is an entry that states that, as is a problem that failed by
    summary.json. `tell` is given a line for each.

    Raises
    ------
    SpecError
        If there is no result, or the only one is damaged.
    CertificateError
        If the only one does not hold.
    """
    if is_result(folder):
        return [_read_entry(folder)]
    if not is_folder(folder):
        raise no_result(folder, "folder", "is no folder", "name a result folder, or a folder of them")
    found = sorted(
        file for file in below(folder) if is_folder(file) and is_result(file) and not _is_hidden_or_part(file, folder)
    )
    failed = _failed_problems(folder)
    if not found and not failed:
        raise SpecError("folder", f"{folder} holds no result", "name a folder that solve or batch wrote")
    entries: list[Entry] = []
    for count, inner in enumerate(found, 1):
        name = inner.relative_to(folder).as_posix()
        tell(f"proving {count} of {len(found)}: {name}")
        try:
            entries.append(_read_entry(inner))
        except (SpecError, CertificateError) as error:
            entries.append(Entry(name, failure="not proven", reason=str(error)))
    return [*entries, *failed]


def _is_hidden_or_part(inner: Path, folder: Path) -> bool:
    """Return True if a result folder `inner`, below `folder`, is hidden or a part of another result."""
    path = inner.relative_to(folder)
    within = any(part.startswith(".") for part in path.parts) or PARTS in path.parts[:-1]
    return within or any(is_result(folder / one) for one in path.parents)


def _failed_problems(folder: Path) -> list[Entry]:
    """Return entries for the problems of a batch without a result folder, by its summary.json; none without it."""
    try:
        summary = read_json(folder / SUMMARY)
        lines = [line for line in summary["problems"] if not line["folder"]]
        return [Entry(line["problem"], failure=line["status"], reason=line["error"]) for line in lines]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _read_entry(folder: Path) -> Entry:
    """Read one result folder, proving its reports; one without a report has the answer that it states."""
    if is_file(folder / SWEEP):
        sweep = EpsilonSweep.load(folder)
        return Entry(sweep.problem.name, sweep=sweep)
    level = read_typed(folder / LEVEL, LevelFile) if is_file(folder / LEVEL) else None
    frontier = read_typed(folder / FRONTIER, FrontierFile) if is_file(folder / FRONTIER) else None
    if not holds_report(folder):
        asked = level or frontier
        # a file that was removed since the folder was found leaves neither
        return Entry(asked.problem if asked else folder.name, None, level, frontier)
    report = load(folder)
    return Entry(report.problem.name, report, level, frontier, recorded=read_typed(folder / NOTES, Notes).warnings)
