"""Mechanisms: a function of the problem, which gives a matrix of probabilities or a `dx.Mechanism`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dxopt as dx


def halves(problem: dx.Problem) -> NDArray[np.float64]:
    """Return the exponential mechanism at half of ε, which needs no more privacy than was asked for.

    K[x, z] is proportional to e^{-εd(x, z)/4}: the ratio of two rows is at most e^{εd/4} by the numerators, and
    as much by their sums.
    """
    if not problem.reports.secrets:
        raise ValueError("needs the secrets themselves as reports")
    weights = np.exp(-problem.epsilon * problem.space.distances / 4)
    return weights / weights.sum(axis=1, keepdims=True)
