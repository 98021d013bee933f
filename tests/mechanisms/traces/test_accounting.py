"""What runs over traces cost: every output distribution is enumerated, and the stated budget holds for it."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms import traces
from dxopt.spaces.metrics import Euclidean

TWO = Fraction(2)
LINE = dx.line(3)
SQUARE = dx.grid((2, 2), metric="manhattan")
DIAGONAL = dx.grid((2, 2))
HALVES = traces.GeometricTest(1.0, TWO)


def geometric(space: dx.MetricSpace) -> traces.Finite:
    return traces.Finite(space, lambda level: dx.classic.geometric(space, epsilon=level))


def exponential(space: dx.MetricSpace) -> traces.Finite:
    return traces.Finite(space, lambda level: dx.classic.exponential(space, epsilon=level))


def optimal(space: dx.MetricSpace) -> traces.Finite:
    def solved(level: float) -> dx.Mechanism:
        problem = dx.Problem(space, epsilon=level, prior=dx.Prior.uniform(space), loss="distance")
        return dx.solve(problem).mechanism

    return traces.Finite(space, solved)


@cache
def enumerated(mechanism: Any, length: int) -> dict[tuple[int, ...], dict[traces.Run, Any]]:
    points = range(len(mechanism.noise.space))
    return {trace: mechanism.distribution(trace) for trace in itertools.product(points, repeat=length)}


def apart(space: dx.MetricSpace, one: tuple[int, ...], other: tuple[int, ...]) -> float:
    return max(float(space.distances[x, y]) for x, y in zip(one, other, strict=True))


def observed(runs: dict[traces.Run, Any]) -> dict[tuple[int, ...], Any]:
    """Reports alone, without tests."""
    seen: dict[tuple[int, ...], Any] = defaultdict(int)
    for run, likely in runs.items():
        seen[tuple(run.reports.tolist())] += likely
    return seen


EXACT = {
    "independent": traces.IndependentNoise(traces.RationalGeometric(3), 1.0),
    "independent, every second": traces.IndependentNoise(traces.RationalGeometric(3), 1.0, every=2),
    "every step": traces.PredictiveMechanism(
        traces.RationalGeometric(3),
        traces.FixedLevels(8.0, traces.Plan(1.0, 2.0, 1.0)),
        test=HALVES,
    ),
    "short budget": traces.PredictiveMechanism(
        traces.RationalGeometric(3),
        traces.FixedLevels(5.0, traces.Plan(1.0, 2.0, 0.0)),
        test=HALVES,
    ),
    "stops": traces.PredictiveMechanism(
        traces.RationalGeometric(3),
        traces.FixedLevels(6.0, traces.Plan(2.0, 1.0, 0.0), after="stop"),
        test=HALVES,
    ),
    "every second": traces.PredictiveMechanism(
        traces.RationalGeometric(3),
        traces.FixedLevels(9.0, traces.Plan(1.0, 1.0, 0.0), every=2),
        traces.extrapolate,
        HALVES,
    ),
    "extrapolated": traces.PredictiveMechanism(
        traces.RationalGeometric(3),
        traces.FixedLevels(9.0, traces.Plan(1.0, 2.0, 0.0)),
        traces.extrapolate,
        HALVES,
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_budget_of_every_run_holds_and_is_reached(name: str) -> None:
    mechanism, reached = EXACT[name], False
    distributions = enumerated(mechanism, 3)
    for (one, runs), (other, others) in itertools.product(distributions.items(), repeat=2):
        assert runs.keys() == others.keys()
        distance = int(apart(LINE, one, other))
        for run, likely in runs.items():
            assert run.exactly_spent <= run.total
            bound = TWO ** int(run.exactly_spent * distance)
            assert likely <= bound * others[run]
            reached |= one != other and likely == bound * others[run]
    assert reached


@pytest.mark.parametrize("name", EXACT)
def test_reports_alone_are_private_at_the_total(name: str) -> None:
    distributions = {trace: observed(runs) for trace, runs in enumerated(EXACT[name], 3).items()}
    totals = {"independent": 3, "independent, every second": 2}
    total = totals[name] if name in totals else int(EXACT[name].manager.total)  # pyright: ignore
    for (one, seen), (other, others) in itertools.product(distributions.items(), repeat=2):
        bound = TWO ** (total * int(apart(LINE, one, other)))
        assert all(likely <= bound * others[reports] for reports, likely in seen.items())


@pytest.mark.parametrize("name", EXACT)
def test_exact_probabilities_sum_to_one(name: str) -> None:
    for runs in enumerated(EXACT[name], 3).values():
        assert sum(runs.values()) == 1
        assert all(isinstance(likely, Fraction) and likely > 0 for likely in runs.values())


def test_n_reports_of_independent_noise_need_all_of_n_epsilon() -> None:
    mechanism = EXACT["independent"]
    nought, two = (mechanism.distribution((x,) * 3) for x in (0, 2))
    run = max(nought, key=lambda run: nought[run] / two[run])
    assert run.reports.tolist() == [0, 0, 0]
    assert run.exactly_spent == 3
    assert nought[run] == 2**6 * two[run]
    assert float(nought[run] / two[run]) > 2 ** (0.99 * 6)


def test_predictive_mechanism_pays_less_than_independent_noise_only_where_it_predicts() -> None:
    run = max(EXACT["every step"].distribution((0, 0, 0)).items(), key=lambda item: item[1])[0]
    assert (run.kinds, run.tests) == (("hard", "easy", "easy"), (None, True, True))
    assert run.spending.tolist() == [2.0, 3.0, 4.0]
    moving = [run for run in EXACT["every step"].distribution((0, 2, 0)) if run.kinds == ("hard",) * 3]
    assert {run.exactly_spent for run in moving} == {Fraction(8)}


BALANCE = traces.Balance(probability=0.5, tolerance=4.0, share=0.4)
LAPLACE, GEOMETRIC = traces.LaplaceTest(), traces.GeometricTest()
UTILITY = traces.FixedUtility(3.5, 1.0, BALANCE)
FLOATS = {
    "rate": (geometric(LINE), traces.FixedRate(1.3, 3, BALANCE), traces.repeat, GEOMETRIC),
    "rate, every second": (geometric(SQUARE), traces.FixedRate(2.0, 4, BALANCE, every=2), traces.repeat, LAPLACE),
    "rate, longer than planned": (
        exponential(DIAGONAL),
        traces.FixedRate(1.3, 2, BALANCE),
        traces.extrapolate,
        LAPLACE,
    ),
    "rate, stops": (exponential(SQUARE), traces.FixedRate(2.0, 2, BALANCE, after="stop"), traces.repeat, GEOMETRIC),
    "rate, optimal": (optimal(LINE), traces.FixedRate(4.0, 3, BALANCE), traces.repeat, LAPLACE),
    "utility": (geometric(LINE), UTILITY, traces.extrapolate, GEOMETRIC),
    "utility, every second": (
        exponential(LINE),
        traces.FixedUtility(4.5, 1.0, BALANCE, every=2),
        traces.repeat,
        LAPLACE,
    ),
    "utility, stops": (
        exponential(LINE),
        traces.FixedUtility(4.0, 1.0, BALANCE, after="stop"),
        traces.repeat,
        GEOMETRIC,
    ),
}


@pytest.mark.parametrize("name", FLOATS)
def test_budget_of_every_run_holds_in_doubles(name: str) -> None:
    noise, manager, prediction, test = FLOATS[name]
    mechanism, length = traces.PredictiveMechanism(noise, manager, prediction, test), 3
    distributions = enumerated(mechanism, length)
    runs = list(next(iter(distributions.values())))
    assert {run.count("easy") for run in runs} != {0}
    likely = np.array([[others[run] for run in runs] for others in distributions.values()])
    np.testing.assert_allclose(likely.sum(axis=1), 1, rtol=1e-12)
    points = np.array(list(distributions))[:, :, None]
    steps = noise.space.points[points[:, :, 0]]
    metric = noise.space.metric or Euclidean()
    distances = np.max([metric.block(steps[:, t], steps[:, t]) for t in range(length)], axis=0)
    spent = np.array([run.spent for run in runs])
    assert all(run.exactly_spent <= Fraction(manager.total) for run in runs)
    bound = np.exp(distances[:, :, None] * spent)
    assert (likely[:, None, :] <= bound * likely[None, :, :] * (1 + 1e-12)).all()
    seen = defaultdict(lambda: np.zeros(len(likely)))
    for column, run in enumerate(runs):
        seen[tuple(run.reports.tolist())] += likely[:, column]
    together = np.array(list(seen.values())).T
    bound = np.exp(distances * manager.total)[:, :, None]
    assert (together[:, None, :] <= bound * together[None, :, :] * (1 + 1e-12)).all()


@pytest.mark.parametrize("manager", [traces.FixedRate(2.0, 2, BALANCE), traces.FixedUtility(4.0, 1.0, BALANCE)])
def test_what_a_tested_run_states_to_have_spent_is_needed(manager: traces.Manager) -> None:
    longer = dx.line(6)
    mechanism = traces.PredictiveMechanism(geometric(longer), manager, test=GEOMETRIC)
    distributions = enumerated(mechanism, 2)
    needed = max(
        math.log(likely / others[run]) / (apart(longer, one, other) * run.spent)
        for (one, runs), (other, others) in itertools.permutations(distributions.items(), 2)
        for run, likely in runs.items()
        if any(run.tests)
    )
    assert 0.99 < needed <= 1 + 1e-12


def test_sums_do_not_drift() -> None:
    ledger = traces.Ledger(Fraction(1))
    for _ in range(9):
        ledger = ledger.pay(0.1)
    assert ledger.paid == 9 * Fraction(0.1)
    assert not ledger.affords(0.1)  # the double 0.1 is above a tenth
    with pytest.raises(dx.SpecError, match="level"):
        ledger.pay(0.1)
    assert ledger.pay(ledger.left).left == 0


def test_spending_is_rounded_up() -> None:
    for count in range(1, 50):
        ledger = traces.Ledger(Fraction(100), count * Fraction(0.1))
        assert Fraction(ledger.spent) >= ledger.paid > Fraction(math.nextafter(ledger.spent, 0))


def test_accounts_refuse_what_is_no_level() -> None:
    for total in (0.0, -1.0, math.inf, math.nan, "1", True):
        with pytest.raises(dx.SpecError, match="total"):
            traces.Ledger(total)  # pyright: ignore[reportArgumentType]
    for level in (-0.1, math.nan, math.inf):
        with pytest.raises(dx.SpecError, match="level"):
            traces.Ledger(Fraction(1)).pay(level)
    with pytest.raises(dx.SpecError, match="paid"):
        traces.Ledger(Fraction(1), Fraction(2))
    assert str(traces.Ledger(Fraction(1)).pay(0.25)) == "spent 0.25 of 1"


def test_known_cost_of_hard_and_easy_steps() -> None:
    manager = traces.FixedLevels(0.9, traces.Plan(0.1, 0.3, 1.0))
    mechanism = traces.PredictiveMechanism(geometric(LINE), manager)
    for run in mechanism.distribution((0, 1, 2, 2)):
        owed = sum(
            {"easy": Fraction(0.1), "hard": Fraction(0.3) + Fraction(0.1), "skipped": Fraction(0)}[kind]
            for kind in run.kinds[1:]
        )
        assert run.exactly_spent == Fraction(0.3) + owed
        if "skipped" in run.kinds:
            assert run.exactly_spent + Fraction(0.3) + Fraction(0.1) > Fraction(0.9)


class Hopeful:
    """Plans a test and noise that the account covers one by one, not both."""

    total = 1.0

    def bind(self, noise: Any, test: Any) -> Any:
        return lambda steps, ledger: traces.Plan(0.4, 0.4, 1.0) if steps else traces.Plan(0.1, 0.5, 1.0)


@pytest.mark.parametrize("closeness", [traces.LaplaceTest(), traces.GeometricTest()], ids=["laplace", "geometric"])
def test_a_step_is_only_begun_where_test_and_noise_are_covered(closeness: traces.ClosenessTest) -> None:
    """Of 1 a first step leaves 0.5: a test of 0.4 and noise of 0.4 after it are 0.3 too much, so nothing is drawn.

    Were the test made, its outcome would be seen where the noise is no longer paid, and the run would overspend.
    """
    mechanism = traces.PredictiveMechanism(geometric(LINE), Hopeful(), test=closeness)
    assert {run.exactly_spent for run in mechanism.distribution((1,))} == {Fraction(0.5)}
    for far in ((1, 1), (0, 2)):
        with pytest.raises(dx.SpecError, match=r"^manager: "):
            mechanism.distribution(far)
        for seed in range(10):
            stream = mechanism.stream(np.random.default_rng(seed))
            stream.step(far[0])
            with pytest.raises(dx.SpecError, match=r"^manager: "):
                stream.step(far[1])
            assert stream.spent == Fraction(0.5)


def test_a_step_that_uses_up_the_rest_is_made() -> None:
    """A test of 0.25 and noise of 0.25 are the 0.5 that are left, to the last bit; one unit more is refused."""
    for more, fits in ((0.0, True), (2.0**-54, False)):
        plan = traces.Plan(0.25, 0.25 + more, 0.0)

        class Exact(Hopeful):
            def bind(self, noise: Any, test: Any, then: traces.Plan = plan) -> Any:
                return lambda steps, ledger: then if steps else traces.Plan(0.1, 0.5, 1.0)

        mechanism = traces.PredictiveMechanism(geometric(LINE), Exact())
        if fits:
            assert max(run.exactly_spent for run in mechanism.distribution((0, 2))) == 1
        else:
            with pytest.raises(dx.SpecError, match="plans for more"):
                mechanism.distribution((0, 2))
