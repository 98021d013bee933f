"""The smallest ε for a loss: the two reports that prove it, and its folder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from dxopt.model.problem import Problem
from dxopt.results import folder as places
from dxopt.results.report import Report, write_parts, write_report
from dxopt.runtime.stopping import Status


@dataclass(frozen=True, eq=False)
class Level:
    """The smallest ε at which a loss is possible, between two levels that are proven.

    Attributes
    ----------
    problem : Problem
        As it was given, at its own ε.
    report : Report or None
        A mechanism that is private at `epsilon` and loses at most `max_loss`; None where the search was stopped
        before one was found.
    refuted : Report or None
        A report whose bound proves that every mechanism that is private at `below` loses more than `max_loss`; None
        where that was proven of no level.
    max_loss : float
        The loss that was asked for, in units of the loss.
    accuracy : float
        The distance of `below` and `epsilon` that was asked for, relative.
    status : Status
        `optimal`: it was reached. `feasible`: it was not, as bounds on the loss were too far from its values.
        `interrupted` and `time limit`: the search was stopped.
    """

    problem: Problem
    report: Report | None
    refuted: Report | None
    max_loss: float
    accuracy: float
    status: Status

    @property
    def epsilon(self) -> float:
        """The level of `report`; infinite where there is none."""
        return math.inf if self.report is None else self.report.problem.epsilon

    @property
    def below(self) -> float:
        """The level of `refuted`; 0 where there is none."""
        return 0.0 if self.refuted is None else self.refuted.problem.epsilon

    @property
    def resolution(self) -> float:
        """epsilon / below - 1: how far from the true level either end may be; infinite where one is missing."""
        return self.epsilon / self.below - 1 if self.below > 0 else math.inf

    def save(self, folder: str | Path) -> Path:
        """Write a result folder: the report, for `dx.load`, and level.json, which says what is proven of the level.

        What refutes the level below is in `parts/000`, a result folder as well. Where there is no report, a
        description of the problem takes its place. An earlier result is replaced.
        """
        return places.place(Path(folder), self.write)

    def write(self, folder: Path) -> None:
        """Fill a result folder."""
        asked = {"max_loss": self.max_loss, "accuracy": self.accuracy}
        proven = {
            "epsilon": places.finite(self.epsilon),
            "below": self.below,
            "resolution": places.finite(self.resolution),
            "status": str(self.status),
        }
        places.write_json(folder / places.LEVEL, {"problem": self.problem.name, **asked, **proven})
        if self.report is not None:
            write_report(self.report, folder)
        else:
            places.describe(self.problem, folder / places.DESCRIPTION, epsilon=asked)
        write_parts([] if self.refuted is None else [self.refuted], folder)

    def __str__(self) -> str:
        if self.report is None:
            return (
                f"{self.status}: no level found with a loss of at most {self.max_loss:.10g}; above {self.below:.10g}"
            )
        possible = f"{self.epsilon:.10g}: a loss of {self.report.certificate.value:.10g} is possible"
        proven = (
            f"{self.max_loss:.10g} is not at {self.below:.10g}" if self.below > 0 else "no lower level is excluded"
        )
        return f"{possible}, {proven}; both proven ({self.status})"
