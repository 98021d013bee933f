"""Many solves in one run: within one time limit, and until the first Ctrl-C."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dxopt.attempts import Progress
from dxopt.errors import SpecError
from dxopt.problem import Problem, checked_level
from dxopt.program import Status
from dxopt.report import places, plots
from dxopt.report.result import Report
from dxopt.solving import solve
from dxopt.stopping import Stop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Answer = Callable[[Problem, float, Report | None], Report]


@dataclass(frozen=True, eq=False)
class ProvenRange(ABC):
    """What is proven of a quantity along a range, from answers at some places of it.

    Attributes
    ----------
    problem : Problem
    reports : tuple of k Report
        One for each place, increasing.
    wanted : float
        The resolution that was asked for.
    status : Status
        `optimal`: it was reached, or what is left is the gaps of reports that are within their tolerance.
        `feasible`: what is left is larger gaps. `interrupted` and `time limit`: stopped before.
    """

    problem: Problem
    reports: tuple[Report, ...]
    wanted: float
    status: Status

    @abstractmethod
    def figure(self) -> Figure:
        """What is possible, and what is proven."""

    @abstractmethod
    def write(self, folder: Path) -> None:
        """Fill a result folder."""

    def plot(self, file: str | Path) -> tuple[Path, Path]:
        """Write the figure as `file.svg` and `file.png`; the folder is made where it is missing."""
        return plots.write(self.figure(), file)

    def save(self, folder: str | Path) -> Path:
        """Write a result folder: what was asked, frontier.json with what is proven, and the figure.

        The reports that prove it are in `parts`, a result folder for each. An earlier result there is replaced.
        """
        return places.place(Path(folder), self.write)


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
