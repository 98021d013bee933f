"""Budget managers of traces: plans of a step, exact accounts, and how much each step may cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

from dxopt.errors import SpecError, required, required_choice
from dxopt.mechanisms.traces.closeness import ClosenessTest
from dxopt.mechanisms.traces.sources import StepNoise
from dxopt.mechanisms.traces.streams import Step
from dxopt.numerics.coerce import checked_count
from dxopt.numerics.exact_rational import Amount, exactly, float_above, float_below, level_of, positive
from dxopt.numerics.number_syntax import SUMS, level_text
from dxopt.runtime.display import Shown


@dataclass(frozen=True, repr=False)
class Ledger(Shown):
    """An account of privacy under d_∞: levels paid for one after another add up (Cha13), and never exceed the total.

    Attributes
    ----------
    total : Fraction
        The budget, per unit of distance; given as a number, kept as the rational that it is.
    paid : Fraction
        The part of it that is spent.

    Raises
    ------
    SpecError
        If the total is not positive and finite, or less than what was paid.

    Examples
    --------
    >>> import dxopt as dx
    >>> ledger = dx.traces.Ledger(2).pay(0.5, 1)
    >>> print(ledger.spent, float(ledger.left), ledger.affords(1))
    1.5 0.5 False
    """

    total: Fraction
    paid: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", positive(self.total, "total"))
        object.__setattr__(self, "paid", exactly(self.paid, "paid"))
        if self.paid > self.total:
            raise SpecError("paid", f"{float(self.paid):g} exceeds {float(self.total):g}", "spend within the total")

    def __str__(self) -> str:
        return f"spent {level_text(self.spent, 6, SUMS)} of {level_text(float_above(self.total), 6, SUMS)}"

    @property
    def spent(self) -> float:
        """Amount paid, rounded up to a double."""
        return float_above(self.paid)

    @property
    def left(self) -> Fraction:
        """Amount that may still be spent."""
        return self.total - self.paid

    def affords(self, *levels: Amount) -> bool:
        """Return True if all these levels together can still be paid."""
        return sum(exactly(level, "level") for level in levels) <= self.left

    def pay(self, *levels: Amount) -> Ledger:
        """Return the account after paying all these levels.

        Raises
        ------
        SpecError
            If a level is negative or not finite, or there is not that much left.
        """
        cost = sum((exactly(level, "level") for level in levels), Fraction(0))
        if cost > self.left:
            raise SpecError("level", f"{float(cost):g} exceeds the {float(self.left):g} left", "spend less, or stop")
        return Ledger(self.total, self.paid + cost)


@dataclass(frozen=True)
class Plan:
    """Plan of a step: the test costs its level, and fresh noise, where it is needed, that of the noise on top.

    Attributes
    ----------
    test, noise : float
        ε_θ and ε_N, the levels of the test and of fresh noise, positive. Kept as doubles, rounded down: these are
        used, and these are paid.
    threshold : float
        l: the prediction is close when its distance with noise is at most l.

    Raises
    ------
    SpecError
        If a level is not positive and finite, or the threshold negative or not finite.

    Examples
    --------
    >>> import dxopt as dx
    >>> plan = dx.traces.Plan(test=1.0, noise=4.0, threshold=0.8)
    >>> print(plan.test + plan.noise, "for a step whose prediction is refused")
    5.0 for a step whose prediction is refused
    """

    test: float
    noise: float
    threshold: float

    def __post_init__(self) -> None:
        for level in ("test", "noise"):
            object.__setattr__(self, level, level_of(getattr(self, level), level))
        object.__setattr__(self, "threshold", float(exactly(self.threshold, "threshold")))


Decision = Plan | Literal["skip", "stop"]
"""A skipped step repeats the last report and costs nothing; stopping ends the trace."""
Decide = Callable[[Sequence[Step], Ledger], Decision]
"""From the steps so far and the account to what the next step does."""


class Manager(Protocol):
    """A way to spend a budget.

    Examples
    --------
    >>> import dxopt as dx
    >>> manager = dx.traces.FixedRate(total=100, steps=5)
    >>> print(manager.total, "in all, for", manager.steps, "steps")
    100 in all, for 5 steps
    """

    @property
    def total(self) -> Amount:
        """The budget, per unit of distance."""
        ...

    def bind(self, noise: StepNoise, test: ClosenessTest) -> Decide:
        """Return the function that decides each step, for a noise source and a test; it never sees the trace."""
        ...


@dataclass(frozen=True)
class Balance:
    """Split of the cost of a hard step between test and noise, and the threshold that follows.

    Let c(p) and q(p) be the quantiles of the error of fresh noise at ε_N and of the noise of the test at ε_θ. With
    s the share, ε_θ = s·(ε_θ + ε_N). With p' = √p, fresh noise is at most α = c(p') off with probability p'. With
    l = t·α - q(p') for the tolerance t, a prediction further off than t·α is called close with probability 1 - p' at
    most. Hence wherever the user is, and whatever the prediction, the report of a step that is paid is at most t·α
    off with probability p. A prediction within t·α does no harm, and only fresh noise may fail, with probability
    1 - p'. One further off is refused, and replaced by a report within α, with probability p'² = p at least.

    A large tolerance makes tests cheap, at a price in the worst case. With t = 1 and p = 0.9 a test in the plane
    takes almost half the level of fresh noise at least, with nothing left for the threshold.

    Parameters
    ----------
    probability : float
        p, above 0.25 and below 1, so that the test errs less often than it is right.
    tolerance : float
        t, at least 1.
    share : float
        s, between 0 and 1.

    Raises
    ------
    SpecError
        If one is out of range, or in `plan` the threshold would be negative.

    Examples
    --------
    >>> import dxopt as dx
    >>> balance = dx.traces.Balance(probability=0.9, tolerance=3.0, share=0.2)
    >>> plan = balance.plan(dx.traces.on_plane(), dx.traces.LaplaceTest(), test_level=1.0, noise_level=4.0)
    >>> print(plan.test, plan.noise, round(plan.threshold, 3))
    1.0 4.0 1.258
    """

    probability: float = 0.9
    tolerance: float = 3.0
    share: float = 0.2

    def __post_init__(self) -> None:
        for field, low, high in (("probability", 0.25, 1.0), ("share", 0.0, 1.0)):
            value = exactly(getattr(self, field), field)
            if not low < value < high:
                raise SpecError(field, f"is {float(value):g}", f"give a number between {low:g} and {high:g}")
        if exactly(self.tolerance, "tolerance") < 1:
            raise SpecError("tolerance", f"is {float(self.tolerance):g}", "give a number from 1")

    @property
    def each(self) -> float:
        """The probability p' = √p with which each of test and noise has to be right."""
        return math.sqrt(self.probability)

    def threshold(self, noise: StepNoise, test: ClosenessTest, test_level: float, noise_level: float) -> float:
        """Return l at ε_θ and ε_N; negative where the test is too coarse for the statement above."""
        return self.tolerance * noise.error_quantile(self.each, noise_level) - test.quantile(self.each, test_level)

    def plan(self, noise: StepNoise, test: ClosenessTest, test_level: float, noise_level: float) -> Plan:
        """Return the plan at these levels; SpecError where the test is too coarse."""
        threshold = self.threshold(noise, test, test_level, noise_level)
        if threshold < 0:
            # The tolerance from which on it is not, where fresh noise has an error at all.
            reach = noise.error_quantile(self.each, noise_level)
            error = test.quantile(self.each, test_level)
            wrong = f"{float(self.share):g} of each step for the test is too little: its error is {error:.4g}"
            enough = f"tolerance to {math.ceil(100 * error / reach) / 100:g}, or " if reach else ""
            raise SpecError("share", wrong, f"raise {enough}share, or lower probability, in the Balance")
        return Plan(test_level, noise_level, threshold)


BALANCE = Balance()
After = Literal["repeat", "stop"]
_ENDED: dict[After, Decision] = {"repeat": "skip", "stop": "stop"}
"""The decision about a step that cannot be paid, by the `after` of a manager."""


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
        _check_fields(self)

    def bind(self, noise: StepNoise, test: ClosenessTest) -> Decide:
        def decide(steps: Sequence[Step], ledger: Ledger) -> Decision:
            if len(steps) % self.every:
                return "skip"
            # A first step has nothing to predict and no test.
            needed = (self.plan.test, self.plan.noise) if steps else (self.plan.noise,)
            return self.plan if ledger.affords(*needed) else _ENDED[self.after]

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
        _check_fields(self)
        positive(self.error, "error")

    def plan(self, noise: StepNoise, test: ClosenessTest) -> Plan:
        """Return the plan of every step."""
        # ε_θ = s·(ε_θ + ε_N), solved for ε_θ.
        level = noise.level_for(self.error, self.balance.each)
        return self.balance.plan(noise, test, level * self.balance.share / (1 - self.balance.share), level)

    def bind(self, noise: StepNoise, test: ClosenessTest) -> Decide:
        plan = self.plan(noise, test)
        if plan.noise > self.total:
            wrong = f"{float(self.total):g} pays no first step, which costs {plan.noise:g}"
            raise SpecError("total", wrong, "raise it, or allow a larger error")
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
        _check_fields(self)
        checked_count("steps", self.steps)

    def bind(self, noise: StepNoise, test: ClosenessTest) -> Decide:
        # The plan of the first step, for its error where the threshold would be negative.
        self.balance.plan(noise, test, *self._levels(0, positive(self.total, "total")))

        def decide(steps: Sequence[Step], ledger: Ledger) -> Decision:
            if len(steps) >= self.steps:
                return _ENDED[self.after]
            if len(steps) % self.every:
                return "skip"
            levels = self._levels(len(steps), ledger.left)
            return Plan(*levels, max(0.0, self.balance.threshold(noise, test, *levels)))

        return decide

    def _levels(self, done: int, left: Fraction) -> tuple[float, float]:
        """Return the levels of test and noise, together within an equal part of what is left."""
        # Exact rationals, rounded down to the doubles that are used: what is rounded off the test may go to the
        # noise.
        allowed = left / math.ceil((self.steps - done) / self.every)
        test = float_below(allowed * exactly(self.balance.share, "share"))
        return test, float_below(allowed - Fraction(test))


def _check_fields(manager: FixedLevels | FixedUtility | FixedRate) -> None:
    """Raise SpecError unless the fields that managers share are in range."""
    positive(manager.total, "total")
    if isinstance(manager, FixedLevels):
        required("plan", manager.plan, Plan, "give a Plan")
    else:
        required("balance", manager.balance, Balance, "give a Balance")
    checked_count("every", manager.every)
    required_choice("after", manager.after, _ENDED)
