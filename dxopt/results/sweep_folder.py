"""Reading the result folder of a sweep."""

from __future__ import annotations

from pathlib import Path

from dxopt.errors import SpecError
from dxopt.results.claims import SweepFile, read_typed
from dxopt.results.files import PARTS, SWEEP
from dxopt.results.reading import load
from dxopt.results.report import Report
from dxopt.runtime.reading import is_file
from dxopt.runtime.stopping import Status


def swept(folder: Path) -> tuple[tuple[Report, ...], tuple[float, ...], Status]:
    """The report of each level of a sweep, proven again, the levels that were asked for, and how it ended.

    Raises
    ------
    SpecError, CertificateError
        As for `EpsilonSweep.load`.
    """
    if not is_file(folder / SWEEP):
        raise SpecError("folder", f"{folder} is no result folder of a sweep", "name one that `sweep` wrote")
    content = read_typed(folder / SWEEP, SweepFile)
    folders = [folder / PARTS / f"{position:03}" for position in range(len(content.epsilons))]
    reports = tuple(load(part) for part in folders)
    if not reports or [report.problem.epsilon for report in reports] != content.epsilons:
        raise SpecError("folder", f"{folder} has other levels than sweep.json says", "make the sweep again")
    return reports, tuple(content.asked), Status(content.status)
