"""Answers of counting and sum queries."""

from __future__ import annotations

import numpy as np

import dxopt as dx
from benchmarks.contract import INSTANCES, TightInstance


def two_counts(most: int) -> dx.MetricSpace:
    """Two counts of 0 to `most` of the same people: one person changes both by one."""
    return dx.grid((most + 1, most + 1), metric="chebyshev")


def sums(most: int) -> dx.MetricSpace:
    """Sums of 0 to `most` where one person contributes up to 5."""
    answers = np.arange(most + 1)
    return dx.MetricSpace.from_distances(np.ceil(np.abs(answers[:, None] - answers) / 5))


def line_value(size: int, epsilon: float) -> float:
    """Mean weight of the truncated geometric mechanism, p = e^{-ε}: 1/(1+p) at the ends, (1-p)/(1+p) inside."""
    ratio = np.exp(-epsilon)
    return float((2 + (size - 2) * (1 - ratio)) / (1 + ratio) / size)


INSTANCES.register("two-counts-30")(
    TightInstance("two counts, 0 to 30", two_counts, size=30, small=5, epsilon=1.2, value=0.18996305)
)
INSTANCES.register("sum-query-750")(
    TightInstance("sum query, 150 people up to 5", sums, size=750, small=20, epsilon=1.0, value=0.14832275)
)
INSTANCES.register("line-1000000")(
    TightInstance(
        "counting query, a million answers",
        dx.line,
        size=1_000_000,
        small=100,
        epsilon=1.0,
        value=line_value(1_000_000, epsilon=1.0),
    )
)
