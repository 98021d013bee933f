"""Plans: what a step does, how test and noise share its cost, and what a manager is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from dxopt.errors import SpecError
from dxopt.mechanisms.traces.accounting import Ledger
from dxopt.mechanisms.traces.closeness import ClosenessTest
from dxopt.mechanisms.traces.runs import Step
from dxopt.mechanisms.traces.sources import StepNoise
from dxopt.numerics.amounts import Amount, exactly, level_of


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
        """Decisions for a noise source and a test. They see the steps so far and the account, never the trace."""
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
        """p' = √p, the probability with which each of test and noise has to be right."""
        return math.sqrt(self.probability)

    def threshold(self, noise: StepNoise, test: ClosenessTest, test_level: float, noise_level: float) -> float:
        """l at ε_θ and ε_N; negative where the test is too coarse for the statement above."""
        return self.tolerance * noise.error_quantile(self.each, noise_level) - test.quantile(self.each, test_level)

    def plan(self, noise: StepNoise, test: ClosenessTest, test_level: float, noise_level: float) -> Plan:
        """The plan at these levels; SpecError where the test is too coarse."""
        threshold = self.threshold(noise, test, test_level, noise_level)
        if threshold < 0:
            reach = noise.error_quantile(self.each, noise_level)
            raise self._too_coarse(reach, test.quantile(self.each, test_level))
        return Plan(test_level, noise_level, threshold)

    def _too_coarse(self, reach: float, error: float) -> SpecError:
        """Return why the threshold is negative at this `reach` of fresh noise, and from which tolerance it is not."""
        allowed = f"its error is {error:.4g}, but a report may be off by {self.tolerance * reach:.4g} only"
        wrong = f"{float(self.share):g} of each step for the test is too little: {allowed}"
        raised = f"raise tolerance to {math.ceil(100 * error / reach) / 100:g}, or share" if reach else "raise share"
        return SpecError("share", wrong, f"{raised}, or lower probability, in the Balance")


BALANCE = Balance()
"""The one that managers have by default."""
