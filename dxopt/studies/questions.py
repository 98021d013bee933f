"""Questions that take many solves as values that a problem file or command can hold, each answered by its `run`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import level_text
from dxopt.results.frontier import BudgetFrontier, Frontier
from dxopt.results.level import Level
from dxopt.results.sweep import EpsilonSweep
from dxopt.studies.frontiers import budget_frontier, frontier
from dxopt.studies.levels import smallest_epsilon
from dxopt.studies.own import checked_methods
from dxopt.studies.sweeps import checked_levels, sweep


@dataclass(frozen=True)
class SmallestEpsilon:
    """The smallest ε at which a loss of at most `max_loss` is possible, to a relative accuracy."""

    max_loss: float
    accuracy: float

    def __str__(self) -> str:
        return "smallest epsilon"

    def run(self, problem: Problem, **how: Any) -> Level:
        """See `dx.smallest_epsilon`, also for `how`."""
        return smallest_epsilon(problem, self.max_loss, accuracy=self.accuracy, **how)


@dataclass(frozen=True)
class _Frontier:
    low: float
    high: float
    resolution: float
    along: ClassVar[str]

    def __str__(self) -> str:
        return f"frontier for {self.along} {level_text(self.low, 6)} to {level_text(self.high, 6)}"


class EpsilonFrontier(_Frontier):
    """The least loss between two levels, to a resolution as a share of its whole fall."""

    along = "epsilon"

    def run(self, problem: Problem, **how: Any) -> Frontier:
        """See `dx.frontier`, also for `how`."""
        return frontier(problem, self.low, self.high, resolution=self.resolution, **how)


class LossFrontier(_Frontier):
    """The adversary's largest error between two loss budgets, to a resolution as a share of its whole rise."""

    along = "max_loss"

    def run(self, problem: Problem, **how: Any) -> BudgetFrontier:
        """See `dx.budget_frontier`, also for `how`."""
        return budget_frontier(problem, self.low, self.high, resolution=self.resolution, **how)


@dataclass(frozen=True)
class AtLevels:
    """The optimum at several levels, next to other mechanisms; None for those that a file, or a comparison, has."""

    epsilons: tuple[float, ...]
    methods: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        checked_levels(self.epsilons)
        checked_methods(self.methods)

    def __str__(self) -> str:
        low, high = (level_text(end(self.epsilons), 6) for end in (min, max))
        return f"sweep of epsilon {low} to {high}"

    def run(self, problem: Problem, **how: Any) -> EpsilonSweep:
        """See `dx.sweep`, also for `how`."""
        return sweep(problem, self.epsilons, self.methods, **how)


Sweep = SmallestEpsilon | EpsilonFrontier | LossFrontier | AtLevels
Swept = Level | Frontier | BudgetFrontier | EpsilonSweep
