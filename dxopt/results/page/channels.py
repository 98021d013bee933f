"""The channel of a report as scripts read it."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.results.files import finite
from dxopt.results.page.plane import Plane
from dxopt.results.report import Report

CELLS = 640_000
"""Entries of all channels in a page: 3.4 MB of text."""


def cells(report: Report) -> int:
    """How many entries the channel has."""
    return len(report.mechanism.space) * len(report.mechanism.reports)


def as_data(report: Report, plane: Plane | None) -> dict[str, Any]:
    """Labels, prior and locations in full, and the probabilities as 32-bit floats."""
    mechanism = report.mechanism
    return {
        "secrets": list(mechanism.space.labels),
        "reports": None if mechanism.reports.secrets else list(mechanism.reports.labels),
        "prior": report.problem.prior.probabilities.tolist(),
        "losses": [finite(loss) for loss in report.mechanism.losses(report.problem.loss).tolist()],
        "channel": packed(mechanism.matrix),
        "plane": None if plane is None else plane.as_data(),
    }


def packed(matrix: NDArray[np.float64]) -> str:
    """Return rows one after the other in base64; what is positive stays so."""
    smallest = np.finfo(np.float32).tiny
    kept = np.where(matrix > 0, np.maximum(matrix, smallest), 0.0)
    return base64.b64encode(kept.astype("<f4").tobytes()).decode("ascii")


def reported(report: Report) -> list[float]:
    """Σ_x π_x K[x, z] of each report z."""
    return (report.problem.prior.probabilities @ report.mechanism.matrix).tolist()
