"""The only judge: recomputes from an answer whether it is private, and what it is worth.

A candidate's word counts for nothing. Who fails here gets no time. The rules stand in the README of the benchmarks.
"""

from __future__ import annotations

import math
from typing import Any

import dxopt as dx
from benchmarks.contract import Draws, Instance, OptimalInstance, TightInstance
from benchmarks.objective import optimum, tight
from benchmarks.objective.verdict import Rejected, Score

__all__ = ["Rejected", "Score", "score"]


def score(
    instance: Instance[Any],
    question: dx.MetricSpace | dx.Problem,
    answer: Any,
    *,
    known: float = -math.inf,
    claims: bool = True,
) -> Score:
    """Judge an answer.

    Parameters
    ----------
    known : float
        A proven lower bound on the optimum, from an answer that counted.
    claims : bool
        Whether the candidate claims to be optimal; only then a gap above the tolerance is a failure.
    """
    try:
        if isinstance(instance, OptimalInstance) and isinstance(question, dx.Problem):
            return optimum.judged(instance, question, answer, known, claims)
        if isinstance(instance, TightInstance) and isinstance(question, dx.MetricSpace):
            found = tight.judged(instance, question, answer)
            if isinstance(answer, Draws):
                tight.fits(answer, found.value)
            return found
        raise TypeError(f"no rule for {type(instance).__name__} about a {type(question).__name__}")
    except Rejected as reason:
        return Score(str(reason))
