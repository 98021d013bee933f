"""Mechanisms for traces, and streams: one point after another, with a state that is kept in between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, required
from dxopt.mechanisms.traces.sources import StepNoise
from dxopt.numerics.coerce import checked_count
from dxopt.numerics.exact_rational import Amount, as_text, float_above
from dxopt.numerics.number_syntax import SUMS, level_text
from dxopt.runtime.display import Shown

Kind = Literal["easy", "hard", "skipped"]
KINDS: tuple[Kind, ...] = ("easy", "hard", "skipped")


@dataclass(frozen=True)
class Step:
    """One step of a run.

    Attributes
    ----------
    kind : {"easy", "hard", "skipped"}
        The prediction, fresh noise, or the last report again without a test.
    report : point
        A tuple of coordinates, or an index in a finite space.
    tested : bool
        Whether the prediction was tested. The kind states the outcome: easy where it was close.
    cost : Fraction
        The privacy level paid.

    Examples
    --------
    >>> import dxopt as dx
    >>> step = dx.traces.IndependentNoise(dx.traces.on_line(), epsilon=1.0).stream().step(5.0)
    >>> print(step.kind, step.tested, float(step.cost))
    hard False 1.0
    """

    kind: Kind
    report: Hashable
    tested: bool
    cost: Fraction


@dataclass(frozen=True, repr=False)
class Run(Shown):
    """The reports of one trace, with how they were made.

    A run r as a whole, tests included, is private: P[r | x] ≤ e^{ε(r)·d_∞(x, x')} P[r | x'], where ε(r) is what it
    spent.

    Attributes
    ----------
    steps : tuple of Step
        Shorter than the trace where the mechanism stopped.
    length : int
        Points of the trace.
    total : Fraction
        The budget.

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> run = dx.traces.IndependentNoise(dx.traces.on_line(), epsilon=1.0).run([5.0, 6.0], np.random.default_rng(1))
    >>> print(len(run.steps), run.kinds, run.spending.tolist())
    2 ('hard', 'hard') [1.0, 2.0]
    """

    steps: tuple[Step, ...]
    length: int
    total: Fraction

    @cached_property
    def reports(self) -> NDArray:
        """View of an observer: `(s, k)` coordinates, or `(s,)` indices in a finite space, of s steps."""
        reports = np.array([step.report for step in self.steps])
        reports.flags.writeable = False
        return reports

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Origin of each report."""
        return tuple(step.kind for step in self.steps)

    @property
    def tests(self) -> tuple[bool | None, ...]:
        """The outcome of each test, True where the prediction was close; None where there was none."""
        return tuple(step.kind == "easy" if step.tested else None for step in self.steps)

    @property
    def exactly_spent(self) -> Fraction:
        """ε(r), exactly."""
        return sum((step.cost for step in self.steps), Fraction(0))

    @property
    def spent(self) -> float:
        """ε(r) per unit of distance, rounded up."""
        return float_above(self.exactly_spent)

    @cached_property
    def spending(self) -> NDArray[np.float64]:
        """Amounts spent up to and with each step, `(s,)`, rounded up."""
        spending = np.array([float_above(paid) for paid in accumulate(step.cost for step in self.steps)])
        spending.flags.writeable = False
        return spending

    def count(self, kind: Kind) -> int:
        """Count the steps of a kind."""
        return sum(step.kind == kind for step in self.steps)

    def __str__(self) -> str:
        made = ", ".join(f"{self.count(kind)} {kind}" for kind in KINDS)
        ended = f", stopped before {self.length}" if len(self.steps) < self.length else ""
        spent, total = (level_text(amount, 6, SUMS) for amount in (self.spent, float_above(self.total)))
        return f"{len(self.steps)} steps{ended}: {made}; spent {spent} of {total}"


FORMAT = 1
"""The version of states."""
_FIX = "give what `Stream.state` returned for this mechanism"


class Purse(Protocol):
    """Account that a person pays from, such as `dx.Budgets.purse`.

    Examples
    --------
    >>> import dxopt as dx
    >>> with dx.Budgets.open("budget.sqlite", create=True, default=1) as budgets:
    ...     purse = budgets.purse("ann", unit="per km", release="ride")
    ...     purse.pay(0.25)
    ...     print(float(budgets.left(["ann"])[0]))
    0.75
    """

    def require(self, level: Amount) -> None:
        """Raise an error unless that much is left."""
        ...

    def pay(self, level: Amount) -> None:
        """Pay, or raise an error."""
        ...


@dataclass
class Paying:
    """The account of a stream: what it has `paid`, before each look at a secret, and the purse charged, if any."""

    paid: Fraction
    purse: Purse | None

    def require(self, level: Fraction) -> None:
        if self.purse is not None:
            self.purse.require(level)

    def pay(self, level: Fraction) -> None:
        if self.purse is not None:
            self.purse.pay(level)
        self.paid += level


class TraceMechanism(ABC):
    """From traces x to runs r, each of which states its cost ε(r): P[r | x] ≤ e^{ε(r)·d_∞(x, x')} P[r | x'].

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.traces.IndependentNoise(dx.traces.on_plane(), epsilon=2.0)
    >>> run = mechanism.run([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    >>> print(run.reports.shape, run.spent, float(mechanism.stream().spent))
    (3, 2) 6.0 0.0
    """

    noise: StepNoise
    memory: ClassVar[int | None] = None
    """Number of last steps on which the next one depends; None for all."""

    @property
    @abstractmethod
    def budget(self) -> Fraction | None:
        """Largest cost of a run; None where there is no limit."""

    @abstractmethod
    def distribution(self, trace: Any) -> dict[Run, Any]:
        """Return all runs of a trace with their probabilities."""

    @abstractmethod
    def advance(
        self, taken: int, steps: Sequence[Step], secret: Hashable, paying: Paying, rng: np.random.Generator | None
    ) -> Step | None:
        """Make the step after `taken` ones, of which `steps` are the last, as many as `memory`; None at the end."""

    def stream(self, rng: np.random.Generator | None = None, *, purse: Purse | None = None) -> Stream:
        """Begin a trace whose points are reported as they come.

        Each look at a point is paid from the purse, if any, besides the budget of the mechanism: `dx.Budgets.purse`.
        """
        return Stream(self, rng, purse)

    def run(self, trace: Any, rng: np.random.Generator | None = None) -> Run:
        """Report a trace, point by point as `stream` does.

        Parameters
        ----------
        trace : (n, 2) array in the plane, (n,) on a line, or n indices or labels of a finite space
        rng : numpy Generator, optional
            For repeatable experiments; the operating system's randomness otherwise.

        Raises
        ------
        SpecError
            If the trace is empty or off the space.
        """
        secrets = checked_trace(self.noise, trace)
        stream = self.stream(rng)
        steps = []
        for secret in secrets:
            step = stream.step_from(secret)
            if step is None:
                break
            steps.append(step)
        total = sum((step.cost for step in steps), Fraction(0)) if self.budget is None else self.budget
        return Run(tuple(steps), len(secrets), total)


class Stream:
    """A trace that is reported as its points come; made by `TraceMechanism.stream`, or by `resume` from a state.

    Steps depend on earlier reports and on the point at hand alone, so earlier points need not be known, nor kept.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.traces.IndependentNoise(dx.traces.on_plane(), epsilon=0.5)
    >>> stream = mechanism.stream()
    >>> print([stream.step(point).kind for point in [(0.0, 0.0), (0.1, 0.0)]], float(stream.spent))
    ['hard', 'hard'] 1.0
    """

    def __init__(self, mechanism: TraceMechanism, rng: np.random.Generator | None, purse: Purse | None) -> None:
        self._mechanism = mechanism
        self._rng = rng
        self._paying = Paying(Fraction(0), purse)
        self._taken = 0
        self._steps: list[Step] = []

    def __len__(self) -> int:
        """Return the number of steps so far."""
        return self._taken

    @property
    def spent(self) -> Fraction:
        """Amount paid so far, exactly."""
        return self._paying.paid

    def step(self, point: Any) -> Step | None:
        """Report the next point; None where the manager has ended the trace.

        Where a purse has not enough left, nothing is reported.

        Parameters
        ----------
        point : (2,) array in the plane, a number on a line, or an index or label of a finite space

        Raises
        ------
        BudgetExceeded
            If the purse does not pay for test and noise.
        SpecError
            If the point is off the space.
        """
        try:
            (secret,) = self._mechanism.noise.secrets([point])
        except SpecError as error:
            raise error.at("point") from None
        return self.step_from(secret)

    def step_from(self, secret: Hashable) -> Step | None:
        """Make the next step for a point as `StepNoise.secrets` gives it."""
        step = self._mechanism.advance(self._taken, self._steps, secret, self._paying, self._rng)
        if step is not None:
            self._taken += 1
            self._steps.append(step)
            if self._mechanism.memory is not None:
                self._steps = self._steps[-self._mechanism.memory :]
        return step

    def state(self) -> dict[str, Any]:
        """Return all that the next steps depend on, for JSON: `resume` goes on exactly from here.

        It has what was reported and paid, never a true point, and is as private as the run. Save it before a report
        is sent, and use it once: who goes on twice from one state spends more than it knows of, which only a purse
        counts. A generator that was passed is not part of it.
        """
        # equal steps in a row are saved once, with their number
        content = [
            [step.kind, step.report, step.tested, as_text(step.cost, "cost"), len(list(alike))]
            for step, alike in groupby(self._steps)
        ]
        reported = {"taken": self._taken, "paid": as_text(self.spent, "paid"), "steps": content}
        return _identity_of(self._mechanism) | reported

    @classmethod
    def resume(
        cls,
        mechanism: TraceMechanism,
        state: Mapping[str, Any],
        rng: np.random.Generator | None = None,
        *,
        purse: Purse | None = None,
    ) -> Stream:
        """Go on from a state, with the mechanism that it is of.

        Raises
        ------
        SpecError
            If it is no state, of another version, or of a mechanism of another kind or budget.

        Examples
        --------
        >>> import dxopt as dx
        >>> import json
        >>> manager = dx.traces.FixedUtility(total=200, error=0.3)
        >>> mechanism = dx.traces.PredictiveMechanism(dx.traces.on_plane(), manager)
        >>> stream = mechanism.stream()
        >>> first = stream.step((0.0, 0.0))
        >>> again = dx.traces.Stream.resume(mechanism, json.loads(json.dumps(stream.state())))
        >>> print(len(again), again.spent == stream.spent)
        1 True
        """
        required("state", state, Mapping, _FIX)
        for key, value in _identity_of(mechanism).items():
            if state.get(key) != value:
                raise SpecError("state", f"is of another {key}, or no state of a stream", _FIX)
        stream = cls(mechanism, rng, purse)
        try:
            for kind, report, tested, cost, times in state["steps"]:
                exact = Fraction(str(cost))
                if kind not in KINDS or not isinstance(tested, bool) or exact < 0:
                    raise ValueError
                step = Step(kind, mechanism.noise.checked(report), tested, exact)
                stream._steps += [step] * checked_count("times", times, 0)
            stream._taken = checked_count("taken", state["taken"], 0)
            stream._paying.paid = Fraction(str(state["paid"]))
        except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError, MemoryError):
            raise SpecError("state", "is damaged", _FIX) from None
        # As many steps as a stream keeps, whose costs are part of what was paid, which is within the budget.
        kept = stream._taken if mechanism.memory is None else min(stream._taken, mechanism.memory)
        least = sum((step.cost for step in stream._steps), Fraction(0))
        most = stream.spent if mechanism.budget is None else mechanism.budget
        if len(stream._steps) != kept or not least <= stream.spent <= most:
            raise SpecError("state", "is damaged: steps and payments do not agree", _FIX)
        return stream


def checked_trace(noise: StepNoise, trace: Any) -> list[Hashable]:
    """Return the points of a trace in the form that the noise takes; SpecError if there are none."""
    secrets = noise.secrets(trace)
    if not secrets:
        raise SpecError("trace", "is empty", "give at least one point")
    return secrets


def _identity_of(mechanism: TraceMechanism) -> dict[str, Any]:
    """Return the fields by which a saved state names its mechanism, for `resume` to compare."""
    budget = None if mechanism.budget is None else as_text(mechanism.budget, "budget")
    return {"format": FORMAT, "mechanism": type(mechanism).__name__, "budget": budget}
