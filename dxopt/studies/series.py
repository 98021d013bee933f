"""Many solves in one run: within one time limit, and until the first Ctrl-C."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from dxopt.errors import SpecError
from dxopt.model.problem import Problem, checked_level
from dxopt.results.report import Report
from dxopt.runtime.stopping import Status, Stop
from dxopt.solving.attempts import Progress
from dxopt.solving.solve import solve

if TYPE_CHECKING:
    pass

Answer = Callable[[Problem, float, Report | None], Report]


def answering(solver: str, progress: Progress | None, stop: Stop) -> Answer:
    """What solves a problem to a gap, from an earlier answer, until it is time to stop, and then in no time."""

    def answer(problem: Problem, gap: float, start: Report | None) -> Report:
        left = 0.0 if stop.interrupted else stop.remaining()
        report = solve(
            problem,
            solver=solver,
            tolerance=gap,
            time_limit=None if left is None else max(left, 1e-3),
            progress=progress,
            start=start,
        )
        stop.interrupted |= report.status is Status.INTERRUPTED
        if progress is not None:
            budget, value = problem.objective.max_loss, report.certificate.value
            asked = f"max_loss {budget:.10g}" if math.isfinite(budget) else f"epsilon {problem.epsilon:.10g}"
            progress(f"{asked}: {problem.objective.title} {value:.10g}")
        return report

    return answer


def stopped(stop: Stop) -> Status:
    """How what did not reach its end ended: at Ctrl-C, at the time limit, or because it could not."""
    if stop.interrupted:
        return Status.INTERRUPTED
    return Status.TIME_LIMIT if stop.expired else Status.FEASIBLE


def ended(reached: bool, reports: Iterable[Report], stop: Stop) -> Status:
    """How a sweep ended: optimal where it reached its end, or ran on until only gaps within tolerance are left."""
    if reached or (not stop.requested and all(report.status is Status.OPTIMAL for report in reports)):
        return Status.OPTIMAL
    return stopped(stop)


def positive(name: str, given: float) -> float:
    """A level given under a name; SpecError unless it is positive and finite."""
    try:
        return checked_level(given)
    except SpecError as error:
        raise SpecError(name, error.wrong, error.fix) from None


def finite(name: str, given: float) -> float:
    """A number given under a name; SpecError unless it is finite."""
    try:
        number = float(given)
    except (TypeError, ValueError):
        raise SpecError(name, f"{given!r} is not a number", "give a finite number") from None
    if not math.isfinite(number):
        raise SpecError(name, f"is {number:g}", "give a finite number")
    return number
