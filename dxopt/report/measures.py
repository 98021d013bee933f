"""Further figures of a report, by the names that a problem file uses."""

from __future__ import annotations

from collections.abc import Callable

from dxopt import evaluate
from dxopt.report.result import Report

SMALLEST_DELTA = "smallest_delta"
"""The one measure that needs an ε."""
MEASURES: dict[str, Callable[[Report], float]] = {
    "expected_loss": lambda r: evaluate.expected_loss(r.mechanism, r.problem.prior, r.problem.loss),
    "worst_loss": lambda r: evaluate.worst_loss(r.mechanism, r.problem.loss),
    "utility": lambda r: evaluate.utility(r.mechanism, r.problem.prior),
    "min_entropy_leakage": lambda r: evaluate.min_entropy_leakage(r.mechanism, r.problem.prior),
    "adversary_error": lambda r: evaluate.adversary_error(r.mechanism, r.problem.prior),
    SMALLEST_DELTA: lambda r: evaluate.smallest_delta(r.mechanism, r.problem.epsilon, pairs=r.problem.pairs),
}
