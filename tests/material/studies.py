"""The questions of many solves, to be asked with options that all of them pass on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dxopt as dx


def studies(problem: dx.Problem) -> list[Callable[[dict[str, Any]], object]]:
    """Each given the options of one call."""
    error = problem.but(objective=dx.AdversaryError(max_loss=1.0))
    return [
        lambda how: dx.compare(problem, **how),
        lambda how: dx.sweep(problem, [1.0], **how),
        lambda how: dx.frontier(problem, 1.0, 2.0, **how),
        lambda how: dx.smallest_epsilon(problem, 0.5, **how),
        lambda how: dx.budget_frontier(error, 1.0, 2.0, **how),
    ]
