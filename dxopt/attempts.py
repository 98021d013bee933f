"""What a route is given, and what it yields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dxopt.formulations.contract import Candidate
from dxopt.implicit import Proven
from dxopt.problem import Problem
from dxopt.program import Dual
from dxopt.reductions.record import Reduction
from dxopt.stopping import Stop

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Start:
    """An earlier answer to a problem of the same shape: its row prices."""

    problem: Problem
    dual: Dual


@dataclass(frozen=True, eq=False)
class Options:
    """What a route needs to know beside the problem.

    `solve` answers a smaller problem the same way, proven, given what to put before its lines of progress.
    """

    solver: str
    spanner: float | None
    tolerance: float
    stop: Stop
    progress: Progress
    start: Start | None
    solve: Callable[[Problem, str], Attempt]


@dataclass(frozen=True, eq=False)
class Attempt:
    """An answer, proven or still to be proven, and the story of how it came about."""

    answer: Candidate | Proven
    route: str
    refused: dict[str, str]
    reductions: tuple[Reduction, ...] = ()
