"""Options of a solve, and routes: functions of a problem and options that find candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from dxopt.model.mechanism import Mechanism
from dxopt.model.problem import Problem
from dxopt.numerics.coerce import as_seconds
from dxopt.numerics.kernels import telling
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import Proven
from dxopt.proofs.duals import Dual
from dxopt.results.report import Report
from dxopt.runtime.cluster import using
from dxopt.runtime.progress import Logged, Progress, showing
from dxopt.runtime.stopping import Stop


@dataclass(frozen=True, eq=False)
class Start:
    """An earlier answer to a problem of the same shape: its row prices, and its mechanism."""

    problem: Problem
    dual: Dual
    mechanism: Mechanism


@dataclass(frozen=True, eq=False)
class Options:
    """Options of a solve, as `dx.solve` describes them, and what its routes share.

    Attributes
    ----------
    answer : callable
        Solves a problem with options; see `part`.
    refused : dict
        Why a route, method or solver gave no answer, by its name; routes write here.
    """

    method: str
    solver: str
    spanner: float | None
    tolerance: float
    stop: Stop
    progress: Logged
    start: Start | None
    answer: Callable[[Problem, Options], Report]
    refused: dict[str, str] = field(default_factory=dict)

    def part(self, problem: Problem, prefix: str, **changes: str | float) -> Report:
        """Solve a smaller problem that a route needs, by any solver and a little more accurately by default.

        The prefix is put before its lines of progress; changes are those of the method, the solver or the tolerance.
        """
        own = {"solver": "auto", "spanner": None, "tolerance": 0.9 * self.tolerance, "start": None, **changes}
        return self.answer(problem, replace(self, **own, progress=self.progress.under(prefix), refused={}))


Route = Callable[[Problem, Options], Iterator[Candidate | Proven]]
"""Finds candidates, one after another; it is asked for the next one while the gap is open."""


@contextmanager
def solve_context(
    progress: Progress | bool | None,
    time_limit: float | None,
    partial: bool,
    cluster: str | None,
    device: str | None,
) -> Iterator[tuple[Stop, Logged]]:
    """Enter the context of a solve: its progress, deadline and Ctrl-C, and the cluster and device it may use.

    Yields the request to stop and the lines of progress, among them one for each kernel that is compiled.
    """
    with (
        showing(progress, time_limit) as shown,
        Stop(as_seconds(time_limit), partial=partial) as stop,
        telling(tell := Logged.of(shown)),
        using(cluster, device),
    ):
        yield stop, tell
