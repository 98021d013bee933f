"""Databases: every table of a few records."""

from __future__ import annotations

from itertools import product
from math import exp

import dxopt as dx
from benchmarks.contract import INSTANCES, TightInstance


def tables(records: int) -> dx.MetricSpace:
    """All tables of so many records with 4 values each, under the Hamming distance."""
    return dx.MetricSpace.from_points(list(product(range(4), repeat=records)), "hamming")


INSTANCES.register("hamming-4-5")(
    TightInstance(
        "5 records of 4 values", tables, size=5, small=2, epsilon=0.8, value=(exp(0.8) / (3 + exp(0.8))) ** 5
    )
)
