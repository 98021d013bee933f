"""The measures of a report, which its certificate does not have, computed again."""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError
from dxopt.model.mechanism import MatrixMechanism
from dxopt.results.files import REPORT
from dxopt.results.measures import MEASURES, learned, of_records
from dxopt.results.report import Report

Array = NDArray[np.float64]
AGREEMENT = 1e-9
"""How far a figure may be from what is computed here, relative where it is above 1."""
TRIPLES = 50_000_000
"""Measures are computed again up to this n²·m, and by `verify` beyond."""
_RECORDS = re.compile(r"expected loss of (\d+) records")


def check_figures(report: Report) -> None:
    """Raise CertificateError unless measures and the comparison are what the mechanisms are worth.

    What is about a mechanism that is not written down, or too large, is left to `dxopt verify`.
    """
    size, reports = report.problem.shape
    if not isinstance(report.mechanism, MatrixMechanism) or size**2 * reports > TRIPLES:
        return
    known = _measures(report)
    for name, claimed in report.evaluation.items():
        if name not in known:
            raise CertificateError(f"the measure {name!r} is none that there is, of the problem or of its beliefs")
        _require(f"the measure {name!r}", claimed, known[name])


def _measures(report: Report) -> dict[str, float]:
    """The measures of a report by name, those that there are."""
    problem, mechanism = report.problem, report.mechanism
    found = {name: MEASURES[name](mechanism, problem) for name in report.evaluation if name in MEASURES}
    for beliefs in report.beliefs:
        found |= learned(mechanism, problem, beliefs)
    for match in filter(None, map(_RECORDS.fullmatch, report.evaluation)):
        found |= of_records(mechanism, problem, int(match[1]))
    return found


def _require(what: str, claimed: float | None, known: float | None) -> None:
    """Raise CertificateError unless a figure is the known one, up to rounding."""
    if claimed == known or (claimed is not None and known is not None and math.isnan(claimed) and math.isnan(known)):
        return
    if claimed is None or known is None or not math.isclose(claimed, known, rel_tol=AGREEMENT, abs_tol=AGREEMENT):
        raise CertificateError(f"{REPORT}: {what} is {_shown(known)} by the arrays, but {_shown(claimed)} was saved")


def _shown(number: float | None) -> str:
    return "none" if number is None else f"{number:.17g}"
