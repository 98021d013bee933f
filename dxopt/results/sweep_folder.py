"""Reading the result folder of a sweep."""

from __future__ import annotations

from pathlib import Path

from dxopt.errors import SpecError
from dxopt.results.files import PARTS, SWEEP
from dxopt.results.reading import load
from dxopt.results.report import Report
from dxopt.runtime.archive import DAMAGED
from dxopt.runtime.reading import is_file, read_json
from dxopt.runtime.stopping import Status

FORMAT = 1
"""The version of sweep.json."""


def swept(folder: Path) -> tuple[tuple[Report, ...], tuple[float, ...], Status]:
    """The report of each level of a sweep, proven again, the levels that were asked for, and how it ended.

    Raises
    ------
    SpecError, CertificateError
        As for `EpsilonSweep.load`.
    """
    if not is_file(folder / SWEEP):
        raise SpecError("folder", f"{folder} is no result folder of a sweep", "name one that `sweep` wrote")
    try:
        content = read_json(folder / SWEEP)
        if content["format"] != FORMAT:
            raise SpecError("format", f"version {content['format']} is not {FORMAT}", "use a matching dxopt")
        status = Status(content["status"])
        asked = tuple(content["asked"])
        levels = content["epsilons"]
        folders = [folder / PARTS / f"{position:03}" for position in range(len(levels))]
    except SpecError:
        raise
    except DAMAGED as error:
        raise SpecError("folder", f"{folder} is damaged ({error})", "make the sweep again") from None
    reports = tuple(load(part) for part in folders)
    if not reports or [report.problem.epsilon for report in reports] != levels:
        raise SpecError("folder", f"{folder} has other levels than sweep.json says", "make the sweep again")
    return reports, asked, status
