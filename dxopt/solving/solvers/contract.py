"""The interface of solvers of linear programs, their settings, and the table of their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from dxopt.runtime.registry import Registry
from dxopt.solving.programs.program import LinearProgram, Solution


@dataclass(frozen=True)
class Settings:
    """How accurately and how long to solve, and where to report progress.

    Attributes
    ----------
    accuracy : float
        Relative gap and feasibility to aim at.
    time_limit : float or None
        Seconds.
    should_stop : callable
        Asked once an iteration; a solver that is to stop returns what it has.
    progress : callable
        Given (iterations, value) once an iteration.
    """

    accuracy: float = 1e-9
    time_limit: float | None = None
    should_stop: Callable[[], bool] = lambda: False
    progress: Callable[[int, float], None] = lambda iterations, value: None


class Solver(Protocol):
    """Solves linear programs; never raises for an infeasible one and never trusts itself."""

    name: ClassVar[str]

    def solve(self, program: LinearProgram, settings: Settings) -> Solution:
        """Minimise; the status of the solution is how far it got."""
        ...

    @classmethod
    def examples(cls) -> list[LinearProgram]:
        """Small programs with known optima, for the contract test."""
        ...


SOLVERS: Registry[type[Solver]] = Registry("solver")


def example_programs() -> list[LinearProgram]:
    """Programs every solver must get right: two points at ln 2 under binary loss, whose optimum is 1/3."""
    from dxopt.solving.programs.program import ChannelProgram, Rows

    distance = np.log(2.0)
    program = ChannelProgram(0.5 * (1 - np.eye(2)), distance * (1 - np.eye(2)))
    return [LinearProgram.of(program, Rows.everywhere(program))]
