"""Mechanisms with few reports, so that all events can be tried, and small universes for the statements of CABP13."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

import dxopt as dx

THREE = dx.Universe.databases([0, 1, 3], 2)
UNIVERSES = {
    "two of three": THREE,
    "three of two": dx.Universe.databases([0, 1], 3),
    "absent": dx.Universe.databases([0, 1], 2, absent=True),
}


def noisy(space: dx.MetricSpace, seed: int, reports: int = 3) -> dx.Mechanism:
    """Any mechanism with few reports, so that all events can be tried."""
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(reports), size=len(space)) + 0.05
    names = dx.Reports(tuple("abcdef"[:reports]))
    return dx.Mechanism.from_matrix(space, matrix / matrix.sum(axis=1, keepdims=True), names)


def all_events(reports: int) -> list[list[int]]:
    return [list(event) for k in range(1, reports + 1) for event in itertools.combinations(range(reports), k)]


def level(matrix: np.ndarray, distances: np.ndarray, pairs: Iterable[Iterable[int]]) -> float:
    """The least ε with K(x)(Z) ≤ e^{εd(x, x')} K(x')(Z) for the pairs and all events Z."""
    likely = np.stack([matrix[:, event].sum(axis=1) for event in all_events(matrix.shape[1])])
    return max(float(np.log(likely[:, x] / likely[:, other]).max()) / distances[x, other] for x, other in pairs)
