"""The ε at which one mechanism costs as much as another one costs at its own ε."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dxopt.errors import SpecError, required
from dxopt.model.mechanism import Mechanism
from dxopt.model.objective import AdversaryError
from dxopt.model.problem import Problem, required_problem
from dxopt.numerics.coerce import SHARE, as_number
from dxopt.numerics.number_syntax import excluded_text, level_text
from dxopt.results.announcing import announcing
from dxopt.results.report import Report
from dxopt.runtime.display import Lines, Shown
from dxopt.solving.options import Progress
from dxopt.solving.solve import solve
from dxopt.spaces.units import per
from dxopt.studies.levels import smallest_epsilon
from dxopt.studies.own import Given, Own
from dxopt.studies.series import require_falling

_STEPS = 60
"""Doublings or halvings of ε in search of a bracket."""
_OPTIMAL = "optimal"


@dataclass(frozen=True, eq=False, repr=False)
class Tie(Shown):
    """Level at which one mechanism costs as much as another one at its own, between two levels that are proven.

    Attributes
    ----------
    problem : Problem
        At the level that is proven of the mechanism that was given, at most the one asked for.
    value : float
        What that mechanism costs there.
    method : str
        Name of the other one.
    below, above : Report
        Of the other mechanism: at a level where it costs more, by its value or, for the optimum, by its bound; and at
        one where it costs as much or less.

    Examples
    --------
    >>> import dxopt as dx
    >>> problem = dx.Problem(dx.line(9), epsilon=1.0, prior="uniform")
    >>> found = dx.tie(problem, dx.classic.exponential(problem.space, epsilon=1.0), "geometric", accuracy=0.01)
    >>> print(f"{found.share:.2f}", found.below.value > found.value >= found.above.value)
    0.72 True
    """

    problem: Problem
    value: float
    method: str
    below: Report
    above: Report

    @property
    def epsilon(self) -> float:
        """Level at which the other mechanism costs as much or less."""
        return self.above.problem.epsilon

    @property
    def share(self) -> float:
        """That level as a share of the given mechanism's: 0.6 is a budget of which 40 % were not needed."""
        return self.epsilon / self.problem.epsilon

    @property
    def resolution(self) -> float:
        """Distance of the two proven levels, relative."""
        return self.epsilon / self.below.problem.epsilon - 1

    def _summary(self) -> str:
        return f"{self.method} costs as much at ε {level_text(self.epsilon, 6)}"

    def _lines(self) -> Lines:
        unit = per(self.problem.space.unit)
        return [
            (
                "given",
                f"{self.problem.objective.title} {self.value:.7g} at ε {level_text(self.problem.epsilon, 6)} {unit}",
            ),
            (
                self.method,
                f"{self.above.value:.7g} at ε {level_text(self.epsilon, 10)}, {100 * self.share:.3g} % of that",
            ),
            ("proven", f"it costs more at ε {excluded_text(self.below.problem.epsilon, 10)}"),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name}: {text}" for name, text in self._lines())


@announcing(level=False)
def tie(
    problem: Problem,
    mechanism: Given | str,
    method: str = _OPTIMAL,
    *,
    accuracy: float = 1e-6,
    tolerance: float = 1e-7,
    progress: Progress | bool | None = None,
) -> Tie:
    """Find the ε at which a mechanism with a name costs as much as one of your own, which has a level of its own.

    The mechanism given is proven private at the problem's level first, and repaired from a solver's dust as by
    `dx.certify`. The level that is then proven of it, which may be lower, is what the answer is a share of. The
    optimum costs as much at the least ε that `dx.smallest_epsilon` finds for that loss. For others ε is doubled or
    halved until the two ends of a bracket are there, which is then bisected.

    Parameters
    ----------
    problem : Problem
        Its expected loss or worst loss counts.
    mechanism : Mechanism, (n, m) array, function of ε, or name
    method : str
        Name of the other one, as for `dx.solve`: "optimal", "geometric", "tight", and so on.
    accuracy : float
        Distance of the two proven levels, relative; 1e-12 or more.
    tolerance : float
        As for `dx.solve`.
    progress : bool or callable, optional
        As for `dx.solve`, for all solves.

    Raises
    ------
    SpecError
        If the mechanism is not private, there is no method of that name, or it costs as much at no level.

    Examples
    --------
    >>> import dxopt as dx
    >>> problem = dx.Problem(dx.line(9), epsilon=1.0, prior="uniform")
    >>> own = dx.classic.exponential(problem.space, epsilon=1.0).matrix
    >>> found = dx.tie(problem, own, accuracy=1e-4)
    >>> print(round(found.value, 3), round(found.epsilon, 2), found.resolution <= 1e-4)
    1.371 0.47 True
    """
    required_problem(problem, "comparison of levels")
    required("method", method, str, "give the name of a mechanism")
    if isinstance(problem.objective, AdversaryError):
        raise SpecError("objective", "has a loss budget of its own", "ask for expected_loss or worst_loss")
    require_falling(problem)
    accuracy = as_number(accuracy, "accuracy", *SHARE)
    value, own = _value_and_level(problem, mechanism, tolerance)
    given = problem.at(own)
    if method == _OPTIMAL:
        options: dict[str, Any] = {"accuracy": accuracy, "tolerance": tolerance, "progress": progress}
        try:
            level = smallest_epsilon(problem, value, **options)
        except SpecError as error:
            if error.field != "max_loss":
                raise
            wrong = f"costs {value:.6g}: one report for all secrets costs no more, at any level"
            raise SpecError("mechanism", wrong, "it ties at no level") from None
        if level.report is None or level.refuted is None:
            raise SpecError("accuracy", f"of {accuracy:g} was not reached", "give a larger one")
        return Tie(given, value, method, level.refuted, level.report)

    def at(epsilon: float) -> Report:
        return solve(problem.at(epsilon), method=method, tolerance=tolerance, progress=progress)

    below, above = _bracket(at, problem.epsilon, value)
    while above.problem.epsilon > below.problem.epsilon * (1 + accuracy):
        middle = at(math.sqrt(below.problem.epsilon * above.problem.epsilon))
        below, above = (below, middle) if middle.value <= value else (middle, above)
    return Tie(given, value, method, below, above)


def _value_and_level(problem: Problem, mechanism: Given | str, tolerance: float) -> tuple[float, float]:
    """Return the cost of a mechanism that is proven as private as the problem asks for, and the level it then has."""
    if isinstance(mechanism, str):
        report = solve(problem, method=mechanism, tolerance=tolerance)
        return report.value, report.certificate.epsilon
    found, _ = Own(mechanism.name if isinstance(mechanism, Mechanism) else "own", mechanism).proven(problem)
    own = problem.epsilon if found.privacy is None else found.privacy.epsilon
    return problem.objective.value(problem, found.matrix), own


def _bracket(at: Callable[[float], Report], first: float, value: float) -> tuple[Report, Report]:
    """Return reports at a level where the value is above the one wanted, and at the next one where it is not."""
    here = at(first)
    up = here.value > value
    epsilon = first
    for _ in range(_STEPS):
        epsilon = 2 * epsilon if up else epsilon / 2
        there = at(epsilon)
        if (there.value > value) is not up:
            return (here, there) if up else (there, here)
        here = there
    last, side = (excluded_text(epsilon), "above") if up else (level_text(epsilon, 6), "not above")
    wrong = f"costs {here.value:.6g} still at epsilon = {last}, {side} {value:.6g}"
    raise SpecError("method", wrong, "it ties at no level; compare with another one")
