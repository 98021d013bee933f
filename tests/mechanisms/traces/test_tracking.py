"""Posteriors of traces and errors of tracking, beside sums over all traces in exact rationals."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.judges.oracle import optimum

PLACES = dx.line(3)
STEPS = 3


def _case(seed: int) -> tuple[dx.Mechanism, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    transition = rng.dirichlet(np.ones(3), 3)
    if seed % 2:
        transition[0] = [0.5, 0.5, 0]
    start = rng.dirichlet(np.ones(3))
    mechanism = dx.classic.exponential(PLACES, epsilon=0.9) if seed % 3 else dx.classic.geometric(PLACES, epsilon=0.4)
    return mechanism, transition, start, rng.uniform(size=(3, 4))


@cache
def _joint(seed: int) -> dict[tuple, dict[tuple, Fraction]]:
    """P[z_1 … z_T, x_1 … x_T], by reports and then by traces."""
    mechanism, transition, start, _ = _case(seed)
    channel, moves, begins = (
        [list(map(Fraction, row)) for row in np.atleast_2d(one).tolist()]
        for one in (mechanism.matrix, transition / transition.sum(axis=1, keepdims=True), start / start.sum())
    )
    found: dict[tuple, dict[tuple, Fraction]] = {}
    for reports in itertools.product(range(3), repeat=STEPS):
        found[reports] = {}
        for trace in itertools.product(range(3), repeat=STEPS):
            mass = begins[0][trace[0]]
            for one, other in itertools.pairwise(trace):
                mass *= moves[one][other]
            for x, z in zip(trace, reports, strict=True):
                mass *= channel[x][z]
            found[reports][trace] = mass
    return found


@pytest.mark.parametrize("seed", range(4))
def test_posteriors_are_sums_over_all_traces(seed: int) -> None:
    mechanism, transition, start, losses = _case(seed)
    for reports, traces in _joint(seed).items():
        tracker = dx.traces.Tracker(mechanism, transition, start, loss=losses)
        for time, report in enumerate(reports):
            guess = tracker.step(report)
            # reports up to now: sum over the later ones
            masses = [
                sum(
                    mass
                    for other, found in _joint(seed).items()
                    if other[: time + 1] == reports[: time + 1]
                    for trace, mass in found.items()
                    if trace[time] == x
                )
                for x in range(3)
            ]
            expected = [float(mass / sum(masses)) for mass in masses]
            assert tracker.posterior == pytest.approx(expected, rel=1e-10)
            costs = np.array(expected) @ losses
            assert tracker.error == pytest.approx(costs.min())
            assert costs[int(guess)] == pytest.approx(costs.min())
        total = sum(traces.values())
        assert tracker.log_likelihood == pytest.approx(float(np.log(float(total))), rel=1e-10)
        for time, row in enumerate(tracker.smoothed()):
            masses = [sum(mass for trace, mass in traces.items() if trace[time] == x) for x in range(3)]
            assert row == pytest.approx([float(mass / total) for mass in masses], rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("known", ["past", "all"])
def test_errors_are_sums_over_all_reports(seed: int, known: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, transition, start, losses = _case(seed)
    joint = _joint(seed)
    found = dx.traces.tracking_error(mechanism, STEPS, transition, start, loss=losses, known=known)
    assert found.exact
    for time in range(STEPS):
        seen = (lambda reports, time=time: reports[: time + 1]) if known == "past" else (lambda reports: reports)
        groups: dict[tuple, list[Fraction]] = {}
        for reports, traces in joint.items():
            masses = groups.setdefault(seen(reports), [Fraction(0)] * 3)
            for trace, mass in traces.items():
                masses[trace[time]] += mass
        costs = [[Fraction(cost) for cost in row] for row in losses.tolist()]
        each = (
            [sum(m * c[w] for m, c in zip(masses, costs, strict=True)) for w in range(4)]
            for masses in groups.values()
        )
        expected = sum(map(min, each))
        assert found.errors[time] == pytest.approx(float(expected), rel=1e-10)
        assert found.errors[time] <= found.before[time] + 1e-12

    # drawn, an interval holds the truth
    monkeypatch.setattr("dxopt.mechanisms.traces.tracking.MOST_CELLS", 1)
    drawn = dx.traces.tracking_error(
        mechanism,
        STEPS,
        transition,
        start,
        loss=losses,
        known=known,
        runs=4000,
        rng=np.random.default_rng(seed),  # pyright: ignore[reportArgumentType]
    )
    assert not drawn.exact
    assert (np.abs(drawn.errors - found.errors) <= drawn.within).all()
    assert (np.abs(drawn.errors - found.errors) <= 0.03).all()
    assert (drawn.within < 0.1).all()


def test_long_traces_of_many_places_are_streamed() -> None:
    street = dx.line(60)
    steps = np.abs(np.subtract.outer(np.arange(60), np.arange(60)))
    walk = np.where(steps <= 1, 1.0, 0.0)
    walk /= walk.sum(axis=1, keepdims=True)
    mechanism = dx.classic.geometric(street, epsilon=0.3)
    rng = np.random.default_rng(5)
    place, off, alone = 30, [], []
    tracker = dx.traces.Tracker(mechanism, walk)
    remap = dx.evaluate.optimal_remap(mechanism, "uniform")
    for _ in range(400):
        place = min(59, max(0, place + int(rng.integers(-1, 2))))
        report = int(mechanism.sample(index=place, rng=rng, returns="index")[0])
        off.append(abs(int(tracker.step(report)) - place))
        alone.append(abs(int(remap[report]) - place))
    assert np.mean(off) < 0.75 * np.mean(alone)
    smooth = tracker.smoothed()
    assert smooth.shape == (400, 60)
    assert smooth.sum(axis=1) == pytest.approx(np.ones(400))
    found = dx.traces.tracking_error(mechanism, 20, walk, known="all", runs=300, rng=rng)
    past = dx.traces.tracking_error(mechanism, 20, walk, runs=300, rng=rng)
    assert found.errors[:10].mean() < past.errors[:10].mean()


@pytest.mark.parametrize("metric", ["maximum", "sum"])
@pytest.mark.parametrize("seed", range(2))
def test_the_best_of_whole_traces_is_a_program(metric: str, seed: int) -> None:
    _, transition, start, _ = _case(seed)
    problem = dx.traces.whole_trace(PLACES, 2, 0.8, transition, start, metric=metric)  # pyright: ignore[reportArgumentType]
    traces = [*itertools.product(range(3), repeat=2)]
    combine = max if metric == "maximum" else sum
    apart = np.array(
        [[combine(abs(a - b) for a, b in zip(x, y, strict=True)) for y in traces] for x in traces], float
    )
    assert problem.space.distances == pytest.approx(apart)
    costs = [[sum(abs(a - b) for a, b in zip(x, y, strict=True)) / 2 for y in traces] for x in traces]
    assert problem.losses == pytest.approx(np.array(costs))
    likely = [start[x] * transition[x, y] / transition[x].sum() / start.sum() for x, y in traces]
    assert problem.prior.probabilities == pytest.approx(likely)
    report = dx.solve(problem)
    expected = optimum(apart, 0.8, np.array(likely), problem.losses)
    assert report.value == pytest.approx(expected, rel=1e-6)

    # no mechanism that reports point by point at half of it is better
    each = dx.classic.geometric(PLACES, epsilon=0.4)
    tracked = dx.traces.tracking_error(each, 2, transition, start)
    assert tracked.errors.mean() >= report.bound - 1e-9


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: dx.traces.Tracker(_case(1)[0], np.ones((2, 2)) / 2), "transition"),
        (lambda: dx.traces.Tracker(_case(1)[0], np.eye(3)), "start"),
        (lambda: dx.traces.Tracker(_case(1)[0], np.ones((3, 3)) / 3).step("9"), "report"),
        (lambda: dx.traces.Tracker(_case(1)[0], np.ones((3, 3)) / 3).step(3), "report"),
        (lambda: dx.traces.tracking_error(_case(1)[0], 0, np.ones((3, 3)) / 3), "steps"),
        (lambda: dx.traces.tracking_error(_case(1)[0], 2, np.ones((3, 3)) / 3, known="some"), "known"),  # pyright: ignore
        (lambda: dx.traces.tracking_error(_case(1)[0], 2, np.ones((3, 3)) / 3, loss=np.full((3, 2), np.inf)), "loss"),
        (lambda: dx.traces.whole_trace(PLACES, 8, 1.0, np.ones((3, 3)) / 3), "steps"),
        (lambda: dx.traces.whole_trace(PLACES, 2, 1.0, np.ones((3, 3)) / 3, metric="x"), "metric"),  # pyright: ignore
    ],
)
def test_what_is_wrong_is_named(call: Callable[[], object], field: str) -> None:
    with pytest.raises((dx.SpecError, dx.UnsupportedError)) as caught:
        call()
    assert caught.value.field == field


def test_a_report_that_cannot_come() -> None:
    sure = dx.Mechanism.from_matrix(PLACES, np.eye(3), dx.Reports.of(PLACES))
    tracker = dx.traces.Tracker(sure, [[0, 1, 0], [0, 0, 1], [1, 0, 0]], [1, 0, 0])
    tracker.step(0)
    with pytest.raises(dx.SpecError) as caught:
        tracker.step(2)
    assert caught.value.field == "report"
    assert tracker.step(1) == "1"
