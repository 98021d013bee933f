"""Managers: how much each step may cost, decided from the steps so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dxopt.errors import SpecError
from dxopt.mechanisms.traces.accounting import Ledger
from dxopt.mechanisms.traces.closeness import ClosenessTest
from dxopt.mechanisms.traces.plans import BALANCE, Balance, Decide, Decision, Plan
from dxopt.mechanisms.traces.runs import Step
from dxopt.mechanisms.traces.sources import StepNoise
from dxopt.numerics.amounts import Amount, exactly, float_below, positive

After = Literal["repeat", "stop"]


@dataclass(frozen=True)
class FixedLevels:
    """The same plan at every step, as long as the budget lasts for a hard one.

    Parameters
    ----------
    total : float
        The budget, per unit of distance.
    plan : Plan
    every : int
        Only every so-manyth step is made, the first included; those between repeat the last report for nothing.
    after : {"repeat", "stop"}
        What happens to the steps that can no longer be paid.

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> manager = dx.traces.FixedLevels(total=20, plan=dx.traces.Plan(test=1.0, noise=4.0, threshold=2.0))
    >>> mechanism = dx.traces.PredictiveMechanism(dx.traces.on_plane(), manager)
    >>> run = mechanism.run(np.zeros((5, 2)), np.random.default_rng(1))
    >>> print(run.kinds, run.spent)
    ('hard', 'hard', 'easy', 'easy', 'easy') 12.0
    """

    total: Amount
    plan: Plan
    every: int = 1
    after: After = "repeat"

    def __post_init__(self) -> None:
        positive(self.total, "total")
        _check_kind("plan", self.plan, Plan)
        _check_pace(self.every, self.after)

    def bind(self, noise: StepNoise, test: ClosenessTest) -> Decide:
        def decide(steps: Sequence[Step], ledger: Ledger) -> Decision:
            if len(steps) % self.every:
                return "skip"
            # A first step has nothing to predict and no test.
            needed = (self.plan.test, self.plan.noise) if steps else (self.plan.noise,)
            return self.plan if ledger.affords(*needed) else _ended(self.after)

        return decide


@dataclass(frozen=True)
class FixedUtility:
    """The same accuracy at every step; the better the predictions, the longer the budget lasts (Cha13).

    The level of the noise is one at which its error is at most `error` with probability √p; the level of the test and
    the threshold follow as in `Balance`. A report that is paid is at most tolerance·error off with probability p.

    Parameters
    ----------
    total : float
        The budget, per unit of distance.
    error : float
        α, of fresh noise, in units of distance.
    balance : Balance
    every, after
        As for `FixedLevels`.

    Raises
    ------
    SpecError
        If a parameter is out of range; with a mechanism, if the budget does not pay a first step, or the threshold
        would be negative.

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> manager = dx.traces.FixedUtility(total=200, error=0.3)
    >>> mechanism = dx.traces.PredictiveMechanism(dx.traces.on_plane(), manager)
    >>> run = mechanism.run(np.zeros((5, 2)), np.random.default_rng(1))
    >>> print(run.kinds, round(run.spent, 2))
    ('hard', 'hard', 'easy', 'easy', 'easy') 47.12
    """

    total: Amount
    error: float
    balance: Balance = BALANCE
    every: int = 1
    after: After = "repeat"

    def __post_init__(self) -> None:
        positive(self.total, "total")
        positive(self.error, "error")
        _check_kind("balance", self.balance, Balance)
        _check_pace(self.every, self.after)

    def plan(self, noise: StepNoise, test: ClosenessTest) -> Plan:
        """The plan of every step."""
        # ε_θ = s·(ε_θ + ε_N), solved for ε_θ.
        level = noise.level_for(self.error, self.balance.each)
        return self.balance.plan(noise, test, level * self.balance.share / (1 - self.balance.share), level)

    def bind(self, noise: StepNoise, test: ClosenessTest) -> Decide:
        plan = self.plan(noise, test)
        if not Ledger(positive(self.total, "total")).affords(plan.noise):
            needed = f"pays no first step, which costs {plan.noise:g}"
            raise SpecError("total", f"{float(self.total):g} {needed}", "raise it, or allow a larger error")
        return FixedLevels(self.total, plan, self.every, self.after).bind(noise, test)


@dataclass(frozen=True)
class FixedRate:
    """A trace of known length is covered for certain; the better the predictions, the less noise (Cha13).

    Each step may cost an equal part of what is left, one part for each remaining step. What easy steps save goes to
    later ones, as does the part of the test at the first step, where there is nothing to test. On a finite space,
    whose errors move in steps, a threshold that would be negative at a later level is 0.

    Parameters
    ----------
    total : float
        The budget, per unit of distance.
    steps : int
        Length of the trace; further steps of a longer one cannot be paid.
    balance : Balance
    every, after
        As for `FixedLevels`.

    Raises
    ------
    SpecError
        If a parameter is out of range; with a mechanism, if the threshold would be negative.

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> manager = dx.traces.FixedRate(total=100, steps=5)
    >>> mechanism = dx.traces.PredictiveMechanism(dx.traces.on_plane(), manager)
    >>> run = mechanism.run(np.zeros((5, 2)), np.random.default_rng(1))
    >>> print(run.kinds, round(run.spent, 2))
    ('hard', 'hard', 'easy', 'easy', 'easy') 57.66
    """

    total: Amount
    steps: int
    balance: Balance = BALANCE
    every: int = 1
    after: After = "repeat"

    def __post_init__(self) -> None:
        positive(self.total, "total")
        check_count("steps", self.steps)
        _check_kind("balance", self.balance, Balance)
        _check_pace(self.every, self.after)

    def bind(self, noise: StepNoise, test: ClosenessTest) -> Decide:
        # The plan of the first step, for its error where the threshold would be negative.
        self.balance.plan(noise, test, *self._levels(0, positive(self.total, "total")))

        def decide(steps: Sequence[Step], ledger: Ledger) -> Decision:
            if len(steps) >= self.steps:
                return _ended(self.after)
            if len(steps) % self.every:
                return "skip"
            levels = self._levels(len(steps), ledger.left)
            return Plan(*levels, max(0.0, self.balance.threshold(noise, test, *levels)))

        return decide

    def _levels(self, done: int, left: Fraction) -> tuple[float, float]:
        """The levels of test and noise, together within an equal part of what is left."""
        # Exact rationals, rounded down to the doubles that are used: what is rounded off the test may go to the
        # noise.
        allowed = left / math.ceil((self.steps - done) / self.every)
        test = float_below(allowed * exactly(self.balance.share, "share"))
        return test, float_below(allowed - Fraction(test))


def _ended(after: After) -> Decision:
    """Policy for a step that cannot be paid."""
    return "skip" if after == "repeat" else "stop"


def check_count(field: str, count: int) -> None:
    """SpecError unless a count is a whole number from 1."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise SpecError(field, f"is {count!r}", "give a whole number from 1")


def _check_kind(field: str, given: object, kind: type) -> None:
    if not isinstance(given, kind):
        raise SpecError(field, f"is of type {type(given).__name__}", f"give a {kind.__name__}")


def _check_pace(every: int, after: str) -> None:
    check_count("every", every)
    if after not in ("repeat", "stop"):
        raise SpecError("after", f"is {after!r}", "choose repeat or stop")
