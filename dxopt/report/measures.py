"""Further figures of a report, by the names that a problem file uses."""

from __future__ import annotations

from collections.abc import Callable

from dxopt import evaluate
from dxopt.problem import Problem
from dxopt.report.result import Report
from dxopt.sanitisation import error_bounds

SMALLEST_DELTA, ERROR_BOUND = "smallest_delta", "error_bound"
OF_LEVELS = (SMALLEST_DELTA, ERROR_BOUND)
"""The measures that need an ε."""
MEASURES: dict[str, Callable[[Report], float]] = {
    "expected_loss": lambda r: evaluate.expected_loss(r.mechanism, r.problem.prior, r.problem.loss),
    "worst_loss": lambda r: evaluate.worst_loss(r.mechanism, r.problem.loss),
    "utility": lambda r: evaluate.utility(r.mechanism, r.problem.prior),
    "min_entropy_leakage": lambda r: evaluate.min_entropy_leakage(r.mechanism, r.problem.prior),
    "adversary_error": lambda r: evaluate.adversary_error(r.mechanism, r.problem.prior),
    ERROR_BOUND: lambda r: _error_bound(r.problem),
    SMALLEST_DELTA: lambda r: evaluate.smallest_delta(r.mechanism, r.problem.epsilon, pairs=r.problem.pairs),
}


def _error_bound(problem: Problem) -> float:
    """What the expected distance is at least in some secret (HLM14 Thms 6, 7)."""
    return error_bounds(problem.space, epsilon=problem.epsilon, delta=problem.delta, reports=problem.reports).best
