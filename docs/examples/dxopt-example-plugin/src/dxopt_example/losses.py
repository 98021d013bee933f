"""Losses: a function of a secret and a report, or an object with `matrix`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dxopt as dx


def overshoot(secret: NDArray, report: NDArray) -> float:
    """Return the distance along the first coordinate; three times as much where the report is larger."""
    off = float(report[0] - secret[0])
    return 3 * off if off > 0 else -off


class AtMostTwo:
    """The distance, but never more than 2: beyond that, all reports are equally bad."""

    def matrix(self, space: dx.MetricSpace, reports: dx.Reports) -> NDArray[np.float64]:
        """Return the losses `(n, m)` of n secrets and m reports."""
        return np.minimum(dx.Loss.of("distance", space, reports).matrix, 2.0)
