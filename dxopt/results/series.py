"""Base class of answers that rest on reports at several levels or budgets: frontiers and sweeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import PlausibilityWarning
from dxopt.model.plausibility import common
from dxopt.model.problem import Problem
from dxopt.results.figures.tables import Plotted
from dxopt.results.folder import Result
from dxopt.results.report import Report

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Series(Plotted, Result):
    """Reports of one problem at several levels of privacy, or loss budgets, increasing."""

    problem: Problem
    reports: tuple[Report, ...]

    @property
    def warnings(self) -> tuple[PlausibilityWarning, ...]:
        """Plausibility warnings about the question or its answers: those that all reports have."""
        return common(report.warnings for report in self.reports)

    @property
    def epsilons(self) -> Array:
        """The levels, `(k,)`, increasing."""
        return np.array([report.problem.epsilon for report in self.reports])

    @property
    def bounds(self) -> Array:
        """At each point a value that no private mechanism is better than, `(k,)`: proven."""
        return np.array([report.certificate.bound for report in self.reports])
