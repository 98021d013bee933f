"""Streams: point by point what a run does at once, with a state that goes on exactly, paid from a purse."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx

traces = dx.traces
SIX = dx.line(6)
WALK = np.cumsum(np.random.default_rng(1).normal(0, 0.05, (40, 2)), axis=0)


def geometric(level: float) -> dx.Mechanism:
    return dx.classic.geometric(SIX, epsilon=level)


PLANE = traces.PredictiveMechanism(traces.on_plane(), traces.FixedUtility(total=200, error=0.3))
LINE = traces.PredictiveMechanism(
    traces.on_line(), traces.FixedRate(30, 40, traces.Balance(tolerance=4.0), every=3), traces.extrapolate
)
NOISE = traces.IndependentNoise(traces.on_plane(), 2.0, every=7)
FINITE = traces.PredictiveMechanism(
    traces.Finite(SIX, geometric),
    traces.FixedLevels(4, traces.Plan(0.2, 0.7, 1.0), after="stop"),
    test=traces.GeometricTest(),
)
CASES: dict[str, tuple[dx.traces.TraceMechanism, Any]] = {
    "plane": (PLANE, WALK),
    "line": (LINE, WALK[:, 0]),
    "noise": (NOISE, WALK),
    "finite": (FINITE, [0, 0, 1, 1, 2, 2, 3, 3, 5, 5, 5, 5]),
}
# SHA-256 of the runs of seed 6, as they were when a run was a loop of its own
BEFORE = {
    "plane": "0ab8a4cdffba8552",
    "line": "7c0deb197028a4fc",
    "noise": "fdc19680232ddf82",
    "finite": "3488e596b0993291",
}


@pytest.mark.parametrize("name", list(CASES))
def test_a_run_draws_what_it_always_drew(name: str) -> None:
    mechanism, trace = CASES[name]
    run = mechanism.run(trace, np.random.default_rng(6))
    steps = [(step.kind, step.report, step.tested, str(step.cost)) for step in run.steps]
    assert hashlib.sha256(repr([*steps, run.length, str(run.total)]).encode()).hexdigest()[:16] == BEFORE[name]


@pytest.mark.parametrize("name", list(CASES))
def test_a_stream_that_is_saved_after_each_step_is_the_run(name: str) -> None:
    mechanism, trace = CASES[name]
    run = mechanism.run(trace, np.random.default_rng(6))
    rng = np.random.default_rng(6)
    state, steps = mechanism.stream().state(), []
    for point in trace:
        stream = dx.traces.Stream.resume(mechanism, json.loads(json.dumps(state)), rng)
        step = stream.step(point)
        if step is None:
            break
        steps.append(step)
        state = stream.state()
        assert len(stream) == len(steps) and stream.spent == sum(step.cost for step in steps)
    assert tuple(steps) == run.steps
    assert len(steps) == (len(trace) if name != "finite" else 5)


def test_a_state_has_no_true_point_and_is_as_long_as_what_was_paid() -> None:
    secret = 123.456789
    stream = LINE.stream()
    for _ in range(500):
        stream.step(secret)
    written = json.dumps(stream.state())
    assert str(secret) not in written and len(written) < 5_000
    noise = NOISE.stream()
    for _ in range(500):
        noise.step((secret, secret))
    assert len(json.dumps(noise.state())) < 300 and len(noise) == 500


def test_the_budget_of_a_mechanism_holds_across_states() -> None:
    state = FINITE.stream().state()
    for _ in range(50):
        stream = dx.traces.Stream.resume(FINITE, state)
        stream.step(3)
        state = stream.state()
    assert dx.traces.Stream.resume(FINITE, state).spent <= 4
    assert dx.traces.Stream.resume(FINITE, state).step(3) is None


@pytest.fixture
def budgets(tmp_path: Path) -> dx.Budgets:
    return dx.Budgets.open(tmp_path / "budget.sqlite", create=True, unit="per km", default=150)


def test_a_stream_pays_from_a_ledger_what_its_steps_cost(budgets: dx.Budgets) -> None:
    stream = PLANE.stream(np.random.default_rng(6), purse=budgets.purse("anna", unit="per km", release="walk"))
    paid, steps = Fraction(0), []
    with pytest.raises(dx.BudgetExceeded, match=r"the person has .* left of 150 per km"):
        for point in WALK:
            steps.append(step := stream.step(point))
            assert step is not None
            paid += step.cost
            assert budgets.account("anna").spent == paid == stream.spent
    # no test is paid for that no report could follow; steps are those of a run until then
    plan = dx.traces.FixedUtility(total=200, error=0.3).plan(dx.traces.on_plane(), dx.traces.LaplaceTest())
    assert Fraction(0) < budgets.left(["anna"])[0] < Fraction(plan.test) + Fraction(plan.noise)
    assert tuple(steps) == PLANE.run(WALK, np.random.default_rng(6)).steps[: len(steps)]
    state = stream.state()
    budgets.set(300)
    assert dx.traces.Stream.resume(PLANE, state, purse=budgets.purse("anna", unit="per km", release="walk")).step(
        WALK[0]
    )


class Race:
    """A purse that another process empties after a test was paid."""

    def __init__(self) -> None:
        self.asked: list[Fraction] = []

    def require(self, level: Any) -> None:
        pass

    def pay(self, level: Any) -> None:
        if len(self.asked) == 2:
            raise dx.BudgetExceeded("anna", Fraction(level), Fraction(0), "is short", "")
        self.asked.append(level)


def test_a_test_that_was_paid_stays_paid_where_its_noise_is_refused() -> None:
    stream = FINITE.stream(np.random.default_rng(4), purse=(purse := Race()))
    stream.step(0)
    with pytest.raises(dx.BudgetExceeded):
        for _ in range(99):
            stream.step(5)
    assert len(stream) == 1 and stream.spent == sum(purse.asked) == Fraction(0.7) + Fraction(0.2)
    assert dx.traces.Stream.resume(FINITE, stream.state()).spent == stream.spent


def without(key: str) -> Callable[[dict[str, Any]], Any]:
    return lambda state: {name: part for name, part in state.items() if name != key}


def with_step(*step: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda state: state | {"steps": [list(step), *state["steps"][1:]]}


BAD: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no mapping": lambda state: [state],
    "no format": without("format"),
    "later": lambda state: state | {"format": 2},
    "other budget": lambda state: state | {"budget": "9"},
    "other kind": lambda state: state | {"mechanism": "IndependentNoise"},
    "no steps": without("steps"),
    "less paid": lambda state: state | {"paid": "1/10"},
    "too much paid": lambda state: state | {"paid": "5"},
    "negative": lambda state: state | {"taken": -1},
    "other count": lambda state: state | {"taken": 7},
    "no number": lambda state: state | {"paid": "much"},
    "unknown kind": with_step("lucky", 1, False, "1/2", 1),
    "bad cost": with_step("hard", 1, False, "-1/2", 1),
    "divides by 0": with_step("hard", 1, False, "1/0", 1),
    "no point": with_step("hard", 77, False, "1/2", 1),
    "endless": with_step("hard", 1, False, "0", 10**18),
}


@pytest.mark.parametrize("name", list(BAD))
def test_a_bad_state_is_refused(name: str) -> None:
    stream = FINITE.stream(np.random.default_rng(1))
    stream.step(1)
    with pytest.raises(dx.SpecError) as caught:
        dx.traces.Stream.resume(FINITE, BAD[name](stream.state()))
    assert caught.value.field == "state"


@pytest.mark.parametrize("point", [7, "no", None, [0, 1]])
def test_a_point_off_the_space_is_refused_and_costs_nothing(point: Any) -> None:
    stream = FINITE.stream()
    with pytest.raises(dx.SpecError, match=r"^point: "):
        stream.step(point)
    assert stream.spent == 0
    with pytest.raises(dx.SpecError, match=r"^point: "):
        PLANE.stream().step((np.nan, 1.0))
