"""The channel of a report as scripts read it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
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
        "secrets": readable(mechanism.space.labels, mechanism.space.points, plane),
        "reports": None
        if mechanism.reports.secrets
        else readable(mechanism.reports.labels, mechanism.reports.points, plane),
        "prior": report.problem.prior.probabilities.tolist(),
        "losses": [finite(loss) for loss in report.mechanism.losses(report.problem.loss).tolist()],
        "unit": report.problem.loss.unit,
        "channel": packed(mechanism.matrix),
        "plane": None if plane is None else plane.as_data(),
    }


def readable(labels: Sequence[str], points: NDArray | None, plane: Plane | None) -> list[str]:
    """Labels; those that are coordinates on the Earth with as few digits as tell them apart, at least to 100 m."""
    if plane is None or plane.middle is None or points is None:
        return list(labels)
    if not all(map(_is_at, labels, points)):
        return list(labels)
    for digits in range(3, 9):
        shown = [f"{_degrees(y, digits, 'N', 'S')}, {_degrees(x, digits, 'E', 'W')}" for y, x in points.tolist()]
        if len(set(shown)) == len(shown):
            return shown
    return list(labels)


def _is_at(label: str, point: NDArray) -> bool:
    """Whether a label is the coordinates of a point."""
    try:
        said = [float(part) for part in label.strip("()").split(", ")]
    except ValueError:
        return False
    return len(said) == len(point) and bool(np.allclose(said, point, rtol=0, atol=1e-6))


def _degrees(value: float, digits: int, above: str, below: str) -> str:
    return f"{abs(value):.{digits}f}° {below if value < 0 else above}"


def packed(matrix: NDArray[np.float64]) -> str:
    """Return rows one after the other in base64; what is positive stays so."""
    smallest = np.finfo(np.float32).tiny
    kept = np.where(matrix > 0, np.maximum(matrix, smallest), 0.0)
    return base64.b64encode(kept.astype("<f4").tobytes()).decode("ascii")


def reported(report: Report) -> list[float]:
    """Σ_x π_x K[x, z] of each report z."""
    return (report.problem.prior.probabilities @ report.mechanism.matrix).tolist()
