"""The predictive mechanism for traces, and independent noise to compare it with (Cha13)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxopt.errors import SpecError, UnsupportedError, required
from dxopt.mechanisms.traces.closeness import ClosenessTest, LaplaceTest, happens
from dxopt.mechanisms.traces.managers import Decide, Ledger, Manager, Plan
from dxopt.mechanisms.traces.sources import StepNoise
from dxopt.mechanisms.traces.streams import Paying, Run, Step, TraceMechanism, checked_trace
from dxopt.numerics.coerce import checked_count
from dxopt.numerics.exact_rational import level_of

Prediction = Callable[[Sequence[Step], StepNoise], Hashable | None]
"""From the steps so far and the noise source, which knows the space, to a report; None where there is none."""


def repeat(steps: Sequence[Step], noise: StepNoise) -> Hashable | None:
    """Predict the last report, which is right for a user who stays (Cha13).

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> manager = dx.traces.FixedUtility(total=200, error=0.3)
    >>> mechanism = dx.traces.PredictiveMechanism(dx.traces.on_plane(), manager, dx.traces.repeat)
    >>> print(mechanism.run(np.zeros((6, 2)), np.random.default_rng(2)).kinds)
    ('hard', 'easy', 'hard', 'hard', 'easy', 'easy')
    """
    return steps[-1].report if steps else None


def extrapolate(steps: Sequence[Step], noise: StepNoise) -> Hashable | None:
    """Predict the continuation of the straight line through the last two reports that were not skipped.

    Where there is only one such report, that report. In a finite space, the nearest point to the continuation; among
    equally near ones, the first.

    Raises
    ------
    UnsupportedError
        If the points of a finite space have no coordinates.

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> manager = dx.traces.FixedUtility(total=200, error=0.3)
    >>> mechanism = dx.traces.PredictiveMechanism(dx.traces.on_plane(), manager, dx.traces.extrapolate)
    >>> ride = np.column_stack([np.arange(6.0), np.zeros(6)])
    >>> print(mechanism.run(ride, np.random.default_rng(2)).kinds)
    ('hard', 'hard', 'easy', 'easy', 'easy', 'hard')
    """
    made = [at for at in range(len(steps)) if steps[at].kind != "skipped"][-2:]
    if len(made) < 2:
        return repeat(steps, noise)
    before, last = (np.asarray(noise.position(steps[at].report)) for at in made)
    # As far in the steps since the last one as between the two, in proportion.
    return noise.nearest(last + (last - before) * (len(steps) - made[1]) / (made[1] - made[0]))


MOST_RUNS = 1_000_000
"""The most runs whose probabilities are computed."""


@dataclass(frozen=True, eq=False)
class PredictiveMechanism(TraceMechanism):
    """Reports a prediction where a private test finds it close, and fresh noise elsewhere (Cha13).

    An easy step, whose prediction is reported, pays for the test; a hard one for test and noise; a first one, with
    nothing to predict, for noise alone. By composition a run r with its tests is ε(r)·d_∞-private, and ε(r) never
    exceeds the total. Reports alone are private at the total (Chatzikokolakis, Palamidessi and Stronati 2014, "A
    predictive differentially-private mechanism for mobility traces"). Levels are added exactly; the probabilities of
    tests are doubles, or rational under a base, and events are drawn with exactly those.

    Parameters
    ----------
    noise : StepNoise
        `on_plane()`, `on_line()`, `Finite` or `RationalGeometric`.
    manager : Manager
        `FixedRate`, `FixedUtility` or `FixedLevels`.
    prediction : callable
        `repeat`, `extrapolate`, or any function of the steps so far and the noise. It must not know the trace.
    test : ClosenessTest
        `LaplaceTest`, or `GeometricTest` where distances are multiples of a step.

    Raises
    ------
    SpecError
        If budget, levels and test do not go together; in use, if a trace is off the space.

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> walk = np.array([[0.0, 0.0], [0.1, 0.0], [0.1, 0.1], [3.0, 1.0]])  # km
    >>> manager = dx.traces.FixedUtility(total=200, error=0.3)
    >>> mechanism = dx.traces.PredictiveMechanism(dx.traces.on_plane(), manager)
    >>> run = mechanism.run(walk, np.random.default_rng(3))
    >>> print(run.kinds, round(run.spent, 1), "per km of", float(run.total))
    ('hard', 'easy', 'easy', 'hard') 43.2 per km of 200.0
    """

    noise: StepNoise
    manager: Manager
    prediction: Prediction = repeat
    test: ClosenessTest = field(default_factory=LaplaceTest)

    def __post_init__(self) -> None:
        _require_methods(
            "noise", self.noise, ("secrets", "distances"), "give on_plane(), on_line(), Finite or RationalGeometric"
        )
        _require_methods("manager", self.manager, ("bind",), "give FixedRate, FixedUtility or FixedLevels")
        _require_methods("prediction", self.prediction, ("__call__",), "give repeat, extrapolate or another function")
        _require_methods("test", self.test, ("probabilities", "check"), "give LaplaceTest or GeometricTest")
        self.test.check(self.noise.distances)
        _ = self._decide  # refuses at once a manager that does not suit noise and test

    @cached_property
    def _decide(self) -> Decide:
        return self.manager.bind(self.noise, self.test)

    @property
    def budget(self) -> Fraction:
        """Total of the manager, as an exact rational."""
        return Ledger(self.manager.total).total  # pyright: ignore[reportArgumentType]

    def advance(
        self, taken: int, steps: Sequence[Step], secret: Hashable, paying: Paying, rng: np.random.Generator | None
    ) -> Step | None:
        # What the next step does depends on earlier steps alone, which are known to whoever sees the run.
        planned = self._next_plan(steps, Ledger(self.budget, paying.paid))
        if planned is None or isinstance(planned, Step):
            return planned
        # Only now the secret is looked at, at a cost that the plan allows, and that is paid before each look.
        plan, predicted = planned
        if predicted is not None:
            # The purse has to hold both: refusing the noise would tell that the test found the prediction far.
            paying.require(Fraction(plan.test) + Fraction(plan.noise))
            paying.pay(Fraction(plan.test))
            close, far = self._answers_of_test(secret, plan, predicted)
            # The smaller of the two is the accurate one.
            if happens(close, rng) if close <= far else not happens(far, rng):
                return Step("easy", predicted, True, Fraction(plan.test))
        paying.pay(Fraction(plan.noise))
        return _hard(plan, self.noise.draw(secret, plan.noise, rng), predicted is not None)

    def distribution(self, trace: Any) -> dict[Run, Any]:
        """Return all runs of a trace in a finite space with their probabilities, Fractions if those of its parts are.

        Raises
        ------
        UnsupportedError
            If the noise is continuous, or there are more than a million runs.
        """
        secrets = checked_trace(self.noise, trace)
        total = self.budget

        # The runs so far with their probabilities: those that stopped, and those that continue with the next secret.
        ended: dict[tuple[Step, ...], Any] = {}
        going: dict[tuple[Step, ...], Any] = {(): 1}
        for secret in secrets:
            before = going
            going = {}
            for steps, likely in before.items():
                planned = self._next_plan(steps, Ledger(total, sum((s.cost for s in steps), Fraction(0))))
                if planned is None:
                    ended[steps] = likely
                elif isinstance(planned, Step):
                    going[*steps, planned] = likely
                else:
                    going |= {(*steps, step): likely * then for step, then in self._outcomes(secret, *planned)}
            _require_few_runs(len(going) + len(ended))
        return {Run(steps, len(secrets), total): likely for steps, likely in (ended | going).items()}

    def _next_plan(self, steps: Sequence[Step], ledger: Ledger) -> tuple[Plan, Hashable | None] | Step | None:
        """Return what comes next, for any secret: a plan with a prediction, a skipped step, or None at the end."""
        decision = self._decide(steps, ledger)
        if decision == "stop":
            return None
        if decision == "skip":
            if not steps:
                raise SpecError("total", "pays no first step", "raise it, or plan for cheaper steps")
            return _skipped(steps)
        required("manager", decision, Plan, "decide a Plan, skip or stop")
        # Whatever the manager and the prediction are, a step that the budget does not cover is never made.
        predicted = self.prediction(steps, self.noise)
        levels = (decision.noise,) if predicted is None else (decision.test, decision.noise)
        if not ledger.affords(*levels):
            raise SpecError("manager", f"plans for more than the {float(ledger.left):g} left", "mend its decisions")
        return decision, None if predicted is None else self.noise.checked(predicted)

    def _outcomes(self, secret: Hashable, plan: Plan, predicted: Hashable | None) -> list[tuple[Step, Any]]:
        """Return all steps that a plan and its prediction may lead to for a secret, with their probabilities."""
        close, far = (0, 1) if predicted is None else self._answers_of_test(secret, plan, predicted)
        fresh = self.noise.probabilities(secret, plan.noise)
        hard = [(_hard(plan, report, predicted is not None), far * likely) for report, likely in fresh]
        return hard if predicted is None else [(Step("easy", predicted, True, Fraction(plan.test)), close), *hard]

    def _answers_of_test(self, secret: Hashable, plan: Plan, predicted: Hashable) -> tuple[Any, Any]:
        """Return the probabilities that the test finds the prediction close, and far."""
        return self.test.probabilities(self.noise.distance(secret, predicted), plan.threshold, plan.test)


@dataclass(frozen=True, eq=False)
class IndependentNoise(TraceMechanism):
    """Fresh noise at every point: n points cost nε (Cha13; on a line, the smart meters of CABP13 §6.1).

    Parameters
    ----------
    noise : StepNoise
    epsilon : float
        Level of each point, per unit of distance; kept as a double, rounded down.
    every : int
        Only every so-manyth point is reported, the first included; steps between repeat the last report.

    Raises
    ------
    SpecError
        If a parameter is out of range; in use, if a trace is off the space.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.traces.IndependentNoise(dx.traces.on_plane(), epsilon=2.0)
    >>> print(mechanism.run([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]).spent)
    6.0
    """

    noise: StepNoise
    epsilon: float
    every: int = 1
    memory = 1

    def __post_init__(self) -> None:
        _require_methods(
            "noise", self.noise, ("secrets", "distances"), "give on_plane(), on_line(), Finite or RationalGeometric"
        )
        object.__setattr__(self, "epsilon", level_of(self.epsilon, "epsilon"))
        checked_count("every", self.every)

    @property
    def budget(self) -> None:
        """None: a run costs what its points cost."""
        return None

    def advance(
        self, taken: int, steps: Sequence[Step], secret: Hashable, paying: Paying, rng: np.random.Generator | None
    ) -> Step:
        if taken % self.every:
            return _skipped(steps)
        cost = Fraction(self.epsilon)
        paying.pay(cost)
        return Step("hard", self.noise.draw(secret, self.epsilon, rng), False, cost)

    def distribution(self, trace: Any) -> dict[Run, Any]:
        """Return all runs of a trace in a finite space with their probabilities, as for `PredictiveMechanism`."""
        secrets = checked_trace(self.noise, trace)
        going: dict[tuple[Hashable, ...], Any] = {(): 1}
        for secret in secrets[:: self.every]:
            fresh = list(self.noise.probabilities(secret, self.epsilon))
            _require_few_runs(len(going) * len(fresh))
            going = {(*reports, z): likely * then for reports, likely in going.items() for z, then in fresh}
        return {self._run(reports, len(secrets)): likely for reports, likely in going.items()}

    def _run(self, drawn: Sequence[Hashable], length: int) -> Run:
        """Return the run of a trace of some length from the reports of the points that are reported."""
        cost = Fraction(self.epsilon)
        steps: list[Step] = []
        for at in range(length):
            steps.append(_skipped(steps) if at % self.every else Step("hard", drawn[at // self.every], False, cost))
        return Run(tuple(steps), length, len(drawn) * cost)


def _require_few_runs(runs: int) -> None:
    """Raise UnsupportedError where there are more runs than are enumerated."""
    if runs > MOST_RUNS:
        raise UnsupportedError("trace", f"has more than {MOST_RUNS:,} runs", "shorten it, or sample with run")


def _hard(plan: Plan, report: Hashable, tested: bool) -> Step:
    cost = Fraction(plan.noise) + (Fraction(plan.test) if tested else 0)
    return Step("hard", report, tested, cost)


def _skipped(steps: Sequence[Step]) -> Step:
    return Step("skipped", steps[-1].report, False, Fraction(0))


def _require_methods(field: str, given: object, methods: Sequence[str], fix: str) -> None:
    """Raise SpecError unless what was given has some methods."""
    if not all(hasattr(given, method) for method in methods):
        raise SpecError(field, f"is of type {type(given).__name__}", fix)
