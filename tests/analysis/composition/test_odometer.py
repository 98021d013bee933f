"""Odometers against every run of releases whose levels are chosen on the way, counted exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx

Rule = Callable[[dx.Odometer, list[int]], float]


def _failures(delta: float, steps: int, rule: Rule) -> float:
    """Return the probability that the loss of randomised responses is above the bound at any time, on some run."""
    total = 0.0
    stack: list[tuple[list[int], float, float, list[float]]] = [([], 1.0, 0.0, [])]
    while stack:
        answers, probability, loss, levels = stack.pop()
        odometer = dx.Odometer(delta)
        for level in levels:
            odometer.spend(level)
        assert odometer.pure == pytest.approx(sum(levels))
        if levels and loss > odometer.epsilon:
            total += probability
            continue
        if len(answers) == steps:
            continue
        level = rule(odometer, answers)
        truth = 1 / (1 + math.exp(-level))
        for answer, share, gain in ((1, truth, level), (0, 1 - truth, -level)):
            stack.append(([*answers, answer], probability * share, loss + gain, [*levels, level]))
    return total


RULES: dict[str, Rule] = {
    "equal": lambda odometer, answers: 0.3,
    "more after a loss": lambda odometer, answers: 0.6 if sum(answers[-2:]) == 2 else 0.1,
    "less when much is lost": lambda odometer, answers: 0.05 if odometer.epsilon > 1 else 0.8,
    "grows": lambda odometer, answers: 0.05 * 1.4 ** len(answers),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("delta", [0.02, 0.2, 0.7])
def test_the_bound_fails_with_delta_at_most_at_any_time(rule: str, delta: float) -> None:
    assert _failures(delta, 11, RULES[rule]) <= delta


def test_it_is_close_to_advanced_composition_and_never_above_the_sum() -> None:
    for level, count in ((0.05, 400), (0.1, 50), (0.01, 10_000), (1.0, 10), (0.5, 100)):
        odometer = dx.Odometer(1e-6)
        odometer.spend(level, count=count)
        # Dwork and Roth 2014, Theorem 3.20, with the mean loss of Bun and Steinke 2016; for levels fixed before
        known = math.sqrt(2 * count * math.log(1e6)) * level + count * level * math.tanh(level / 2)
        assert odometer.epsilon <= min(level * count, 1.15 * known) * (1 + 1e-9)
        assert odometer.pure == pytest.approx(level * count)


def test_it_is_no_less_than_what_composition_allows() -> None:
    """No bound for levels chosen on the way is below the least for levels that are fixed."""
    mechanism = dx.classic.randomised_response(dx.line(2), epsilon=0.2)
    fixed = dx.compose(mechanism, 60).epsilon(1e-4)
    odometer = dx.Odometer(1e-4)
    odometer.spend(0.2, count=60)
    assert fixed.least <= odometer.epsilon < 12.0


def test_distances_and_deltas() -> None:
    one, two = dx.Odometer(1e-5, distance=2.0), dx.Odometer(1e-5)
    for _ in range(50):
        one.spend(0.05, 1e-7)
        two.spend(0.1)
    assert one.epsilon == pytest.approx(two.epsilon, rel=1e-9)
    assert (one.releases, two.delta) == (50, 1e-5)
    assert one.delta == pytest.approx(1e-5 + 50e-7, rel=1e-6)
    assert one.delta >= 1e-5 + 50e-7
    losses = []
    for _ in range(20):
        two.spend(0.1)
        losses.append(two.epsilon)
    assert np.all(np.diff(losses) > 0)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: dx.Odometer(0.0), "delta"),
        (lambda: dx.Odometer(1.0), "delta"),
        (lambda: dx.Odometer(0.1, distance=0.0), "distance"),
        (lambda: dx.Odometer(0.1).spend(-1.0), "epsilon"),
        (lambda: dx.Odometer(0.1).spend(1.0, delta=2.0), "delta"),
        (lambda: dx.Odometer(0.1).spend(1.0, count=0), "count"),
    ],
)
def test_what_is_no_number_is_refused(call: Callable[[], object], field: str) -> None:
    with pytest.raises(dx.SpecError) as caught:
        call()
    assert caught.value.field == field


def test_a_ledger_has_one_for_each_person(tmp_path: Path) -> None:
    odometer = dx.Odometer(1e-6, distance=0.5)
    with dx.Budgets.open(tmp_path / "b.sqlite", create=True, unit="per km") as budgets:
        budgets.set(50, delta=1e-6)
        for level, rows in ((0.05, 30), (0.02, 10), (0.3, 3)):
            for _ in range(rows):
                budgets.pay("ann", level, unit="per km", release=f"at {level}", delta=1e-9)
            odometer.spend(level, 1e-9, rows)
        found = budgets.odometer("ann", 1e-6, distance=0.5)
        assert (found.epsilon, found.delta, found.releases) == pytest.approx(
            (odometer.epsilon, odometer.delta, 43), rel=1e-12
        )
        assert budgets.odometer("bob", 1e-6).epsilon == 0.0
