"""What a route is given, and what it gives back: answers, and reasons why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dxopt.model.mechanism import Mechanism
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import AppliedReduction, Candidate
from dxopt.proofs.certify import Proven
from dxopt.proofs.duals import Dual
from dxopt.runtime.live import Progress as Progress
from dxopt.runtime.stopping import Stop


@dataclass(frozen=True, eq=False)
class Start:
    """An earlier answer to a problem of the same shape: its row prices, and its mechanism."""

    problem: Problem
    dual: Dual
    mechanism: Mechanism


@dataclass(frozen=True, eq=False)
class Options:
    """What a route needs to know beside the problem.

    Attributes
    ----------
    solver : str
        The one asked for, or "auto".
    spanner : float or None
        The dilation asked for.
    tolerance : float
        On the gap.
    stop : Stop
        Tells when to stop.
    progress : callable
        Given a line of text now and then.
    start : Start or None
        Where column generation begins.
    solve : callable
        Answers a smaller problem the same way, with a proof, given what to put before its lines of progress. Routes
        that split a problem call it; it calls `attempts` again, for a problem of fewer variables.
    """

    solver: str
    spanner: float | None
    tolerance: float
    stop: Stop
    progress: Progress
    start: Start | None
    solve: Callable[[Problem, str], PartAnswer]


@dataclass(frozen=True, eq=False)
class PartAnswer:
    """The proven answer to a smaller problem, and how it came about."""

    proven: Proven
    route: str
    reductions: tuple[AppliedReduction, ...]


@dataclass(frozen=True)
class Refusal:
    """Why a route, method or solver gave no answer."""

    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class Attempt:
    """An answer, and how it came about.

    Attributes
    ----------
    answer : Candidate or Proven
        Proven where the route had to know its gap.
    route : str
        How the answer was found, for the report.
    reductions : tuple of AppliedReduction
        What each reduction saved.
    needless : mapping
        Routes that need not be tried while this answer stands, each with the reason.
    """

    answer: Candidate | Proven
    route: str
    reductions: tuple[AppliedReduction, ...] = ()
    needless: Mapping[str, str] = field(default_factory=dict)
