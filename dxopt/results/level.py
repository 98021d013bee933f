"""The smallest ε for a loss: the two reports that prove it, and what its folder holds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dxopt.errors import PlausibilityWarning
from dxopt.model.plausibility import of_problem
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import excluded_text, level_text
from dxopt.results.claims import FORMAT
from dxopt.results.folder import LEVEL, Contents, Result, finite, parts
from dxopt.results.report import Report
from dxopt.runtime.display import Lines
from dxopt.runtime.stopping import Status
from dxopt.spaces.units import with_unit
from dxopt.words.phrases import level_found


@dataclass(frozen=True, eq=False, repr=False)
class Level(Result):
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

    Examples
    --------
    >>> import dxopt as dx
    >>> problem = dx.Problem(dx.line(4), epsilon=1.0, prior="uniform")
    >>> level = dx.smallest_epsilon(problem, max_loss=0.3, accuracy=1e-3)
    >>> print(round(level.below, 1), round(level.epsilon, 1), level.resolution <= 1e-3)
    1.6 1.6 True
    """

    problem: Problem
    report: Report | None
    refuted: Report | None
    max_loss: float
    accuracy: float
    status: Status

    @property
    def warnings(self) -> tuple[PlausibilityWarning, ...]:
        """Plausibility warnings about the question or its answer."""
        return of_problem(self.problem, level=False) if self.report is None else self.report.warnings

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
        """Ratio epsilon / below - 1: how far from the true level either end may be; infinite where one is missing."""
        return self.epsilon / self.below - 1 if self.below > 0 else math.inf

    def contents(self) -> Contents:
        """Return the files of a result folder: the report, level.json, and in `parts/000` the report `refuted`."""
        contents: Contents = {} if self.report is None else self.report.contents()
        contents[LEVEL] = {
            "format": FORMAT,
            "problem": self.problem.name,
            "max_loss": self.max_loss,
            "accuracy": self.accuracy,
            "epsilon": finite(self.epsilon),
            "below": self.below,
            "resolution": finite(self.resolution),
            "status": str(self.status),
        }
        return contents | parts([] if self.refuted is None else [self.refuted])

    def _summary(self) -> str:
        return f"{self.problem.name}: {self}"

    def _lines(self) -> Lines:
        lines = [("found", str(self))]
        if self.report is not None:
            lost = with_unit(f"{self.report.certificate.value:.10g}", self.problem.unit)
            lines.append(("possible", f"at ε {level_text(self.epsilon, 10)}, with a loss of {lost}"))
        if self.refuted is not None:
            lines.append(("not possible", f"at ε {excluded_text(self.below, 10)}"))
        return lines

    def __str__(self) -> str:
        return level_found(
            self.max_loss,
            self.below,
            finite(self.epsilon),
            self.status,
            loss_unit=self.problem.loss.unit,
            unit=self.problem.space.unit,
        )

    def details(self) -> str:
        """Return the sentence of `str`, and the two levels with ten digits.

        Examples
        --------
        >>> import dxopt as dx
        >>> level = dx.smallest_epsilon(dx.Problem(dx.line(2), epsilon=1.0, prior="uniform"), max_loss=0.2)
        >>> print(level)
        a loss of at most 0.2 is possible at ε 1.39 per unit of distance, not at 1.38; both proven (optimal)
        >>> print(level.details().splitlines()[1][:19])
        possible at ε 1.386
        """
        return "\n".join([str(self), *(f"{name} {text}" for name, text in self._lines()[1:])])
