"""Many solves in one run: within one time limit, and until the first Ctrl-C."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.model.objective import WorstRegret
from dxopt.model.problem import Problem
from dxopt.numerics.coerce import as_seconds
from dxopt.numerics.number_syntax import level_text
from dxopt.results.frontier import ProvenRange
from dxopt.results.report import Report
from dxopt.runtime.cluster import using
from dxopt.runtime.progress import showing
from dxopt.runtime.stopping import Status, Stop
from dxopt.solving.options import Progress
from dxopt.solving.solve import solve

Answer = Callable[[Problem, float, Report | None], Report]
_Range = TypeVar("_Range", bound=ProvenRange)


@contextmanager
def running(
    progress: Progress | bool | None,
    time_limit: float | None,
    partial: bool,
    cluster: str | None,
    device: str | None,
) -> Iterator[tuple[Progress | None, Stop]]:
    """Open a context for many solves, and yield what shows their progress, and what tells when to stop."""
    with (
        showing(progress, time_limit) as tell,
        Stop(as_seconds(time_limit), partial=partial) as stop,
        using(cluster, device),
    ):
        yield tell, stop


def answering(solver: str, progress: Progress | None, stop: Stop) -> Answer:
    """Return the function that solves one problem of a series, to a gap and starting from an earlier report or None.

    Once time is up it returns at once, with what is known of the problem without a solver.
    """

    def answer(problem: Problem, gap: float, start: Report | None) -> Report:
        left = 0.0 if stop.interrupted else stop.remaining()  # None without a limit
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
            budget = problem.objective.max_loss
            value = report.certificate.value
            asked = (
                f"max_loss {budget:.10g}" if math.isfinite(budget) else f"epsilon {level_text(problem.epsilon, 10)}"
            )
            progress(f"{asked}: {problem.objective.title} {value:.10g}")
        return report

    return answer


def refine_range(
    found: _Range,
    following: Callable[[_Range], tuple[int, Problem] | None],
    answer: Answer,
    tolerance: float,
    stop: Stop,
) -> _Range:
    """Lay further points in a range, each where `following` says that it helps most, until none does or time is up.

    `following` returns after which point another one helps most, and its problem, which is solved from the answer at
    that point.
    """
    while (laid := following(found)) is not None and not stop.requested:
        place, problem = laid
        reports = list(found.reports)
        reports.insert(place + 1, answer(problem, tolerance, reports[place]))
        found = replace(found, reports=tuple(reports))
    # Optimal where it reached its end, or only gaps within tolerance are left.
    within = not stop.requested and all(report.status is Status.OPTIMAL for report in found.reports)
    return replace(
        found, status=Status.OPTIMAL if within or found.resolution <= found.wanted else status_short_of_goal(stop)
    )


def widest_interval(widths: NDArray[np.float64], helps: NDArray[np.bool_]) -> int | None:
    """Return the index of the widest of the intervals in which a further point helps; None where it helps in none."""
    return int(np.where(helps, widths, -np.inf).argmax()) if helps.any() else None


def status_short_of_goal(stop: Stop) -> Status:
    """Return the status of many solves that ended short of their goal, by the reason for that.

    FEASIBLE means that neither Ctrl-C nor the time limit stopped them, but their answers left too wide gaps.
    """
    if stop.interrupted:
        return Status.INTERRUPTED
    return Status.TIME_LIMIT if stop.expired else Status.FEASIBLE


def require_above(low: float, high: float) -> None:
    """Raise SpecError unless the upper end of a range is above the lower one."""
    if not low < high:
        raise SpecError("high", f"is {high:g}, not above {low:g}", "give a larger one")


def require_falling(problem: Problem) -> None:
    """Raise SpecError for a regret, which is against other optima at each ε, so that it need not fall as ε grows."""
    if isinstance(problem.objective, WorstRegret):
        wrong = "regret is against other optima at each level, so that levels are not compared"
        raise SpecError("objective", wrong, "solve each level, or ask for expected_loss")
