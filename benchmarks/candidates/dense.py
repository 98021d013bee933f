"""By hand, in NumPy: write Φ, solve Φw = 1."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist

import dxopt as dx
from benchmarks.contract import CANDIDATES, Array, Candidate, Instance, Matrix, TightInstance, Weights

_SCIPY: dict[str, Literal["euclidean", "cityblock", "chebyshev"]] = {
    "euclidean": "euclidean",
    "manhattan": "cityblock",
    "chebyshev": "chebyshev",
}
_MATRICES = 3


@CANDIDATES.register("dense")
class Dense(Candidate[dx.MetricSpace]):
    """Φ from SciPy's distances, and LU. Its time ends with the weights; the channel is not written."""

    kinds = (TightInstance,)

    def refuses(self, instance: Instance[dx.MetricSpace], question: dx.MetricSpace) -> str | None:
        memory, points = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), len(question)
        if 8 * _MATRICES * points**2 > memory:
            matrix = 8 * points**2 / 1e9
            return f"a {points:,} x {points:,} matrix takes {matrix:,.0f} GB, and it needs {_MATRICES} of them"
        return None

    def prepare(self, instance: Instance[dx.MetricSpace], question: dx.MetricSpace) -> Callable[[], Any]:
        if not isinstance(instance, TightInstance):
            raise TypeError(f"{type(instance).__name__} asks for no tight-constraints mechanism")
        return lambda: self.answer(constraints(question, instance.epsilon))

    def answer(self, matrix: Array) -> Weights | Matrix:
        """Return the channel of Φ."""
        return Weights(np.asarray(np.linalg.solve(matrix, np.ones(len(matrix))), dtype=np.float64))


def constraints(space: dx.MetricSpace, epsilon: float) -> Array:
    """Φ[x, z] = e^{-εd(x, z)} as one writes it in NumPy; dxopt's distances where SciPy has no such metric."""
    metric = space.metric.name if space.metric else ""
    if metric in _SCIPY and space.points is not None:
        matrix = cdist(space.points, space.points, _SCIPY[metric])
    elif metric == "hamming" and space.points is not None:
        matrix = space.points.shape[1] * cdist(space.points, space.points, "hamming")
    else:
        matrix = space.distances.copy()
    matrix *= -epsilon
    return np.exp(matrix, out=matrix)
