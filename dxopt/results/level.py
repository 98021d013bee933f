"""The smallest ε for a loss: the two reports that prove it, and what its folder holds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dxopt.errors import PlausibilityWarning
from dxopt.model.plausibility import of_problem
from dxopt.model.privacy import promised
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import apart, floor_of, three_digits
from dxopt.results.claims import FORMAT
from dxopt.results.folder import LEVEL, Contents, Result, finite, parts
from dxopt.results.report import Report
from dxopt.runtime.display import Lines
from dxopt.runtime.stopping import Status
from dxopt.spaces.units import per, with_unit


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
        """What is seldom meant in the question or its answer."""
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
        """epsilon / below - 1: how far from the true level either end may be; infinite where one is missing."""
        return self.epsilon / self.below - 1 if self.below > 0 else math.inf

    def contents(self) -> Contents:
        """The files of a result folder by name: the report, for `dx.load`, and level.json with what is proven of ε.

        What refutes the ε below is in `parts/000`, a result folder as well.
        """
        asked = {"max_loss": self.max_loss, "accuracy": self.accuracy}
        proven = {
            "epsilon": finite(self.epsilon),
            "below": self.below,
            "resolution": finite(self.resolution),
            "status": str(self.status),
        }
        contents: Contents = {} if self.report is None else self.report.contents()
        contents[LEVEL] = {
            "format": FORMAT,
            "problem": self.problem.name,
            **asked,
            **proven,
        }
        return contents | parts([] if self.refuted is None else [self.refuted])

    def _said(self) -> str:
        found = "no ε found" if self.report is None else self._level(self.epsilon)
        return f"{self.problem.name}: {found} for a loss of at most {self._loss(self.max_loss)}, {self.status}"

    def _lines(self) -> Lines:
        lines = [("problem", self.problem.name), ("status", str(self.status))]
        lines += [("loss wanted", f"at most {self._loss(self.max_loss)}")]
        if self.report is not None:
            value = self._loss(self.report.certificate.value)
            lines.append(("possible", f"at {self._level(self.epsilon)}, with a loss of {value}: proven"))
        if self.refuted is not None:
            lines.append(("not possible", f"at {self._level(self.below)}: proven"))
        return lines

    def _level(self, epsilon: float) -> str:
        return promised(epsilon, 0.0, self.problem.space.unit)

    def _loss(self, loss: float) -> str:
        return with_unit(f"{loss:.3g}", self.problem.loss.unit)

    def __str__(self) -> str:
        wanted = f"a loss of at most {with_unit(f'{self.max_loss:.10g}', self.problem.loss.unit)}"
        if self.report is None:
            over = f", which takes over ε {three_digits(floor_of(self.below))}" if self.below > 0 else ""
            return f"{self.status}: no level found for {wanted}{over}"
        lower, upper = apart(self.below, self.epsilon)
        refuted = f"not at {lower}" if self.below > 0 else "no lower level is excluded"
        level = f"ε {upper} {per(self.problem.space.unit)}"
        return f"{wanted} is possible at {level}, {refuted}; both proven ({self.status})"

    def details(self) -> str:
        """The same, and the two levels with all digits.

        Examples
        --------
        >>> import dxopt as dx
        >>> level = dx.smallest_epsilon(dx.Problem(dx.line(2), epsilon=1.0, prior="uniform"), max_loss=0.2)
        >>> print(level)
        a loss of at most 0.2 is possible at ε 1.39 per unit of distance, not at 1.38; both proven (optimal)
        >>> print(level.details().splitlines()[1][:19])
        possible at ε 1.386
        """
        lines = [str(self)]
        if self.report is not None:
            lost = with_unit(f"{self.report.certificate.value:.10g}", self.problem.unit)
            lines.append(f"possible at ε {self.epsilon:.10g}, with a loss of {lost}")
        if self.refuted is not None:
            lines.append(f"not possible at ε {self.below:.10g}")
        return "\n".join(lines)
