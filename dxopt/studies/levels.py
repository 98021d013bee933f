"""The smallest ε at which a loss is possible: a search with a proof at both ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dxopt.errors import SpecError
from dxopt.model.objective import AdversaryError, ExpectedLoss
from dxopt.model.privacy import checked_level
from dxopt.model.problem import Problem, required_problem
from dxopt.numerics.coerce import SHARE, as_number
from dxopt.numerics.number_syntax import Written, excluded_text, level_text, ordered_texts
from dxopt.numerics.rounding import ALIKE
from dxopt.results.announcing import announcing
from dxopt.results.level import Level
from dxopt.results.report import Report
from dxopt.runtime.stopping import Status, Stop
from dxopt.solving.options import Progress
from dxopt.studies.series import (
    Answer,
    answering,
    require_above,
    require_falling,
    running,
    status_short_of_goal,
)

FARTHEST = 40.0
"""The search ends where the budgets of all pairs are at least this: e^{-εd} is then lost in the rounding of rows."""
_WORST = ", or bound the worst loss, as under this prior one report for all secrets is good enough"
_ROUGH = 1e-3
"""No gap is wider than this, relative to the loss."""
_SHARPER = 1e-2
"""The gap as a share of the width of the bracket, while that is wide."""
_PULL = 0.2
"""κ of the ITP method, with its exponent 2: how much an estimate is moved towards the middle."""
_GROWTH = 4.0
"""Factor from one step to the next, away from an ε that is on neither side."""
FINEST = 1e-12
"""The finest accuracy: values and bounds are proven again up to this."""


@announcing(level=False)
def smallest_epsilon(
    problem: Problem,
    max_loss: float,
    *,
    low: Written | None = None,
    high: Written | None = None,
    accuracy: float = 1e-6,
    solver: str = "auto",
    tolerance: float = 1e-7,
    time_limit: float | None = None,
    progress: Progress | bool | None = None,
    partial: bool = False,
    cluster: str | None = None,
    device: str | None = None,
) -> Level:
    """Find the smallest ε at which some private mechanism loses at most `max_loss`.

    The least loss falls as ε grows, so that there is one. From the problem's own ε the search goes up or down until
    it has a level on either side, and then closes in on a logarithmic scale by the ITP method, which takes the
    secant and is never much worse than bisection. Each solve starts from the nearest answer so far.

    Parameters
    ----------
    problem : Problem
        Its expected loss or worst loss counts; δ and pairs are kept.
    max_loss : float
        In units of the loss.
    low, high : float, optional
        Levels to search between; by default wherever ε makes a difference.
    accuracy : float
        Distance of the two proven levels, relative; 1e-12 or more.
    solver, tolerance
        As for `dx.solve`. Where the gap leaves open on which side of `max_loss` a level is, the result states that.
    time_limit : float, optional
        Seconds for the whole search. At the limit, and at Ctrl-C, the levels proven so far are returned.
    progress, partial, cluster, device
        As for `dx.solve`, for all solves.

    Raises
    ------
    SpecError
        If a parameter is out of range, if every level will do or none, or if the objective has a budget of its own.

    Examples
    --------
    >>> import dxopt as dx
    >>> problem = dx.Problem(dx.line(4), epsilon=1.0, prior="uniform")
    >>> level = dx.smallest_epsilon(problem, max_loss=0.3, accuracy=1e-3)
    >>> print(round(level.epsilon, 2), round(level.report.certificate.value, 3))
    1.56 0.3
    """
    required_problem(problem, "search for the smallest epsilon")
    if isinstance(problem.objective, AdversaryError):
        raise SpecError("objective", "has a loss budget of its own", "ask for expected_loss or worst_loss")
    require_falling(problem)
    budget = as_number(max_loss, "max_loss")
    accuracy = as_number(accuracy, "accuracy", *SHARE)
    tolerance = as_number(tolerance, "tolerance", *SHARE)
    if accuracy < FINEST:
        raise SpecError("accuracy", f"is {accuracy:g}, finer than any proof", f"give {FINEST:g} or more")
    ends = _search_range(problem, low, high)
    with running(progress, time_limit, partial, cluster, device) as (tell, stop):
        # First a bracket, then the search within it; what is left undecided on the way ends either, and is enclosed.
        search = _Search(problem, budget, tolerance, answering(solver, tell, stop), stop)
        first = min(max(problem.epsilon, ends[0]), ends[1])
        unsure = search.bracket(first, ends)
        if not stop.requested:
            _require_bracket(search, ends, low, high)
            unsure = search.narrow(accuracy) if unsure is None else unsure
        if unsure is not None:
            search.enclose(unsure, accuracy, ends)
    status = Status.OPTIMAL if search.width() <= accuracy * (1 + 1e-6) else status_short_of_goal(stop)
    return stop.delivered(Level(problem, search.high, search.low, budget, accuracy, status))


@dataclass(eq=False)
class _Search:
    """The bracket, from the largest ε proven too low to the smallest proven enough, and all reports `known`."""

    problem: Problem
    budget: float
    tolerance: float
    answer: Answer
    stop: Stop
    low: Report | None = None
    high: Report | None = None
    known: list[Report] = field(default_factory=list)

    def enough(self, epsilon: float) -> bool | None:
        """Tell whether the loss is possible at an ε, None where that is unproven, and shrink the bracket.

        First with a gap that goes with the width of the bracket, then with the tolerance if that decides nothing.
        """
        # While the bracket is wide the loss differs much from the budget, so that a rough answer decides. Each solve
        # starts from the answer at the nearest ε, which is warm enough for column generation to spare rounds.
        rough = max(self.tolerance, min(_ROUGH, _SHARPER * self.width()))
        start = min(self.known, key=lambda report: abs(math.log(report.problem.epsilon / epsilon)), default=None)
        for gap in (rough, self.tolerance) if rough > self.tolerance else (rough,):
            start = self.answer(self.problem.at(epsilon), gap, start)
            self.known.append(start)
            # A mechanism that loses no more proves that ε is enough; a bound above the budget proves that it is not.
            # Where the budget is between the two, neither is proven.
            if start.certificate.value <= self.budget:
                if self.high is None or epsilon < self.high.problem.epsilon:
                    self.high = start
                return True
            if start.certificate.bound > self.budget:
                if self.low is None or epsilon > self.low.problem.epsilon:
                    self.low = start
                return False
            if self.stop.requested:
                break
        return None

    def bracket(self, first: float, ends: tuple[float, float]) -> float | None:
        """Step from `first` until one ε is proven too low and one enough; return an undecided ε if that stops it."""
        epsilon = first
        factor = 2.0
        enough = self.enough(epsilon)
        while (self.low is None or self.high is None) and not self.stop.requested:
            if enough is None:
                return epsilon
            # The least loss falls as ε grows: where the loss is possible the bracket is below, otherwise above.
            following = max(epsilon / factor, ends[0]) if enough else min(epsilon * factor, ends[1])
            if following == epsilon:  # at an end of the range: see `_require_bracket`
                return None
            epsilon = following
            factor *= 2
            enough = self.enough(epsilon)
        return None

    def narrow(self, accuracy: float) -> float | None:
        """Narrow the bracket to the accuracy (Oliveira and Takahashi 2020); return an undecided ε, or None.

        The ITP method interpolates, truncates and projects: it is as fast as the secant where the loss is smooth, and
        takes at most one step more than bisection whatever the loss is. All of it is in ln ε.
        """
        start = self.width()
        # Bisection takes that many steps, and one more is allowed.
        left = math.ceil(math.log2(max(start / accuracy, 1.0))) + 1
        while (width := self.width()) > accuracy and not self.stop.requested:
            assert self.low is not None and self.high is not None
            low = math.log(self.low.problem.epsilon)
            high = math.log(self.high.problem.epsilon)
            middle = 0.5 * (low + high)
            # Interpolate: where the line through the bound at the lower end and the value at the upper one meets the
            # budget.
            above = self.low.certificate.bound - self.budget
            under = self.budget - self.high.certificate.value
            estimate = low + (high - low) * above / (above + under)
            # Truncate: move that towards the middle. Secants may stay on one side of the root for long, so that only
            # one end of the bracket moves; with the pull, the estimate soon is on the other side.
            pull = max(_PULL * width**2 / start, 0.4 * accuracy)
            estimate += math.copysign(min(pull, abs(middle - estimate)), middle - estimate)
            # Project: stay so near to the middle that what is left of the bracket, whichever side it is, can still be
            # bisected to the accuracy in the steps that are left.
            reach = max(accuracy * 2.0 ** (left - 1) - 0.5 * width, 0.0)
            epsilon = math.exp(min(max(estimate, middle - reach), middle + reach))
            left -= 1
            if self.enough(epsilon) is None:
                return epsilon
        return None

    def enclose(self, unsure: float, accuracy: float, ends: tuple[float, float]) -> None:
        """Step away from an undecided ε in both directions until levels on either side of it are proven.

        Near the true ε the budget is between value and bound. Steps of half the accuracy, growing, soon leave that
        range in either direction; then the bracket is as narrow as the gaps of the solver allow. A step down may be
        enough, and one up not enough, as gaps differ from solve to solve: then it goes on from there.
        """
        for direction, wanted in ((-1.0, False), (1.0, True)):
            step = 0.5 * accuracy
            while not self.stop.requested:
                epsilon = unsure * math.exp(direction * step)
                lowest = ends[0] if self.low is None else self.low.problem.epsilon
                highest = ends[1] if self.high is None else self.high.problem.epsilon
                if not lowest < epsilon < highest or self.enough(epsilon) is wanted:
                    break
                step *= _GROWTH

    def width(self) -> float:
        """Return the width of the bracket in ln ε; infinite before there is one."""
        if self.low is None or self.high is None:
            return math.inf
        return math.log(self.high.problem.epsilon) - math.log(self.low.problem.epsilon)


def _require_bracket(search: _Search, ends: tuple[float, float], low: Written | None, high: Written | None) -> None:
    """Raise SpecError if the loss is possible at the lowest level of the search already, or not at its highest."""
    if search.low is None and search.high is not None and search.high.problem.epsilon <= ends[0]:
        loss = search.high.certificate.value
        if low is None:
            least = level_text(ends[0])
            wrong = f"is {search.budget:.10g}, but any level will do: already at {least} only {loss:.10g} is lost"
            mean = isinstance(search.high.problem.objective, ExpectedLoss)
            raise SpecError("max_loss", wrong, f"lower it{_WORST if mean else ''}")
        raise SpecError(
            "low", f"is {level_text(ends[0], 6)}, where no more than {loss:.10g} need be lost already", "lower it"
        )
    last = search.known[-1].problem.epsilon
    proof = search.known[-1].certificate
    if search.high is None and last >= ends[1]:
        proven = proof.bound > search.budget
        budget, least = ordered_texts(search.budget, proof.bound if proven else proof.value)
        kind = "the least loss" if proven else "found"
        wrong = f"is {budget}, below {least}, {kind} at epsilon = {excluded_text(last)}"
        raise SpecError("max_loss", wrong, "raise it" if high is None else "raise it, or `high`")


def _search_range(problem: Problem, low: Written | None, high: Written | None) -> tuple[float, float]:
    """Return the levels to search between: `low` and `high`, or those beyond which ε makes no difference."""
    least = 0.0 if low is None else checked_level(low, "low")
    most = math.inf if high is None else checked_level(high, "high")
    if low is None or high is None:
        distances = problem.space.distances
        # Budgets εd below ALIKE count as 0: at the least ε that is so of the farthest pair, and of all others. At the
        # largest one even the nearest pair has a budget of FARTHEST.
        apart = distances[np.isfinite(distances) & (distances > 0)]
        nearest, farthest = (float(apart.min()), float(apart.max())) if len(apart) else (1.0, 1.0)
        least = ALIKE / farthest if low is None else least
        most = max(FARTHEST / nearest, 2 * least) if high is None else most
    require_above(least, most)
    return least, most
