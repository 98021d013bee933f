"""Parts of mechanisms for traces, each against its definition, and what they refuse."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dxopt as dx
from dxopt.mechanisms import traces
from dxopt.mechanisms.noise import Laplace
from dxopt.mechanisms.traces.closeness import happens

LINE = dx.line(5)
GEOMETRIC = traces.Finite(LINE, lambda level: dx.classic.geometric(LINE, epsilon=level))
STILL = np.zeros((20, 2))


def far(steps: Any, noise: Any) -> tuple[float, float]:
    return (1e9, 0.0)


def fixed(noise: Any, plan: traces.Plan, total: float = 100.0, **options: Any) -> traces.PredictiveMechanism:
    return traces.PredictiveMechanism(noise, traces.FixedLevels(total, plan, **options))


class Scripted(np.random.Generator):
    """A generator whose numbers are given."""

    def __init__(self, *numbers: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.numbers = list(numbers)

    def random(self, size: int) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        return np.array([self.numbers.pop(0) for _ in range(size)])


def test_laplace_test_has_the_probabilities_of_its_noise() -> None:
    for distance, threshold, level in [(0.0, 1.0, 0.7), (3.0, 1.0, 0.7), (2.0, 2.0, 1.3), (40.0, 0.0, 5.0)]:
        close, far_off = traces.LaplaceTest().probabilities(distance, threshold, level)
        noise = stats.laplace(scale=1 / level)
        assert close == pytest.approx(noise.cdf(threshold - distance), rel=1e-12)
        assert far_off == pytest.approx(noise.sf(threshold - distance), rel=1e-12)


def test_geometric_test_has_the_probabilities_of_its_noise() -> None:
    test = traces.GeometricTest(0.5, Fraction(3))
    factor = Fraction(1, 9)  # two steps of the base at level 4
    mass = {k: factor ** abs(k) * (1 - factor) / (1 + factor) for k in range(-200, 201)}
    for distance, threshold in [(0.0, 1.0), (2.0, 1.2), (2.0, 2.0), (3.0, 0.0)]:
        close, far_off = test.probabilities(distance, threshold, 4.0)
        fits = sum(m for k, m in mass.items() if distance + k / 2 <= threshold)
        assert close + far_off == 1
        assert abs(close - fits) < Fraction(1, 10**80)
    exact = test.probabilities(1.5, 1.0, 4.0)
    in_doubles = traces.GeometricTest(0.5).probabilities(1.5, 1.0, 4 * math.log(3))
    assert in_doubles == pytest.approx([float(p) for p in exact], rel=1e-12)


@pytest.mark.parametrize("level", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("probability", [0.4, 0.6, 0.9, 0.99])
def test_quantiles_of_tests_bound_false_alarms(level: float, probability: float) -> None:
    laplace = traces.LaplaceTest()
    reach = laplace.quantile(probability, level)
    assert reach == pytest.approx(max(0.0, -stats.laplace.ppf(1 - probability, scale=1 / level)), rel=1e-12)
    for geometric in (traces.GeometricTest(0.5), traces.GeometricTest(0.5, Fraction(2))):
        asked = level if geometric.base is None else 2 * math.ceil(level)
        steps = round(geometric.quantile(probability, asked) / 0.5)
        wrong = [float(geometric.probabilities(5 + k / 2, 5.0, asked)[0]) for k in range(1, steps + 2)]
        assert wrong[-1] <= 1 - probability
        assert steps == 0 or wrong[-2] > 1 - probability


def test_events_have_their_probability_also_below_the_spacing_of_doubles() -> None:
    tiny = 2.0**-60
    assert not happens(tiny, Scripted(2.0**-53))
    assert happens(tiny, Scripted(0.0, 2.0**-7 - 2.0**-53))  # pyright: ignore[reportArgumentType]
    assert not happens(tiny, Scripted(0.0, 2.0**-7))  # pyright: ignore[reportArgumentType]
    assert happens(0.5, Scripted(0.5 - 2.0**-53))  # pyright: ignore[reportArgumentType]
    assert not happens(0.5, Scripted(0.5))  # pyright: ignore[reportArgumentType]
    assert all(happens(1.0, None) for _ in range(10))
    assert not any(happens(0.0, None) for _ in range(10))


@pytest.mark.parametrize("test", [traces.LaplaceTest(), traces.GeometricTest()])
def test_runs_follow_the_distribution(test: traces.ClosenessTest) -> None:
    mechanism = traces.PredictiveMechanism(
        GEOMETRIC, traces.FixedLevels(3.0, traces.Plan(0.5, 0.9, 1.0)), traces.extrapolate, test
    )
    rng, draws, trace = np.random.default_rng(5), 3000, (1, 1, 3)
    seen = Counter(mechanism.run(trace, rng) for _ in range(draws))
    expected = mechanism.distribution(trace)
    assert seen.keys() <= expected.keys()
    by_kind = {
        kinds: sum(p for run, p in expected.items() if run.kinds == kinds) for kinds in {r.kinds for r in expected}
    }
    for kinds, likely in by_kind.items():
        count = sum(times for run, times in seen.items() if run.kinds == kinds)
        assert abs(count / draws - likely) < 4.5 * math.sqrt(likely * (1 - likely) / draws)
    for run, likely in expected.items():
        assert abs(seen[run] / draws - likely) < 5.5 * math.sqrt(likely * (1 - likely) / draws) + 1e-3


def test_rational_geometric_is_the_classic_one() -> None:
    exact = traces.RationalGeometric(5, Fraction(3)).channel(2.0).astype(float)
    classic = dx.classic.geometric(LINE, epsilon=2 * math.log(3)).matrix
    np.testing.assert_allclose(exact, classic, rtol=0, atol=1e-13)


@pytest.mark.parametrize("tolerance, share", [(1.0, 0.5), (2.0, 0.3), (3.0, 0.2), (6.0, 0.1)])
@pytest.mark.parametrize("probability", [0.7, 0.9])
def test_paid_reports_are_as_accurate_as_the_balance_says(tolerance: float, share: float, probability: float) -> None:
    error = 2.0
    manager = traces.FixedUtility(100.0, error, traces.Balance(probability, tolerance, share))
    plan = manager.plan(traces.on_plane(), traces.LaplaceTest())
    assert plan.test / (plan.test + plan.noise) == pytest.approx(share, rel=1e-12)

    def within(radius: float) -> float:
        return 1 - (1 + plan.noise * radius) * math.exp(-plan.noise * radius)

    assert within(error) == pytest.approx(math.sqrt(probability), rel=1e-9)
    for distance in np.linspace(0, 4 * tolerance * error, 2001):
        close, refused = traces.LaplaceTest().probabilities(float(distance), plan.threshold, plan.test)
        fine = close if distance <= tolerance * error else 0.0
        assert fine + refused * within(tolerance * error) >= probability
        assert refused * within(error) + fine >= probability
    just_beyond = traces.LaplaceTest().probabilities(tolerance * error, plan.threshold, plan.test)
    assert just_beyond[0] == pytest.approx(1 - math.sqrt(probability), rel=1e-9)


def test_levels_for_an_error_on_a_finite_space_keep_it_and_are_not_wasteful() -> None:
    for error in (0.0, 1.0, 2.0):
        level = GEOMETRIC.level_for(error, 0.8)
        for asked, kept in ((level, True), (level * 0.998, False)):
            matrix = dx.classic.geometric(LINE, epsilon=asked).matrix
            within = [(matrix[x] * (LINE.distances[x] <= error)).sum() for x in range(5)]
            assert (min(within) >= 0.8 - 1e-12) == kept
    assert traces.RationalGeometric(5).level_for(1.0, 0.8) == 2.0


def test_a_fixed_rate_covers_the_trace_however_it_goes() -> None:
    for total, steps, every in [(1.0, 7, 1), (0.3, 100, 1), (5.0, 11, 3)]:
        manager = traces.FixedRate(total, steps, every=every)
        mechanism = traces.PredictiveMechanism(traces.on_plane(), manager, far)
        run = mechanism.run(np.zeros((steps, 2)), np.random.default_rng(0))
        assert run.kinds == tuple("skipped" if i % every else "hard" for i in range(steps))
        assert run.exactly_spent <= Fraction(total)
        assert run.spent == pytest.approx(total, rel=1e-12)


def test_a_fixed_rate_gives_what_easy_steps_save_to_later_ones() -> None:
    mechanism = traces.PredictiveMechanism(traces.on_plane(), traces.FixedRate(4.0, 20))
    run = mechanism.run(STILL, np.random.default_rng(1))
    assert run.count("easy") > 0
    costs = [step.cost for step in run.steps]
    for at in range(1, 20):
        share = (4 - sum(costs[:at], Fraction(0))) / (20 - at)
        owed = share * (Fraction(1, 5) if run.kinds[at] == "easy" else 1)
        assert float(costs[at]) == pytest.approx(float(owed), rel=1e-12)


def test_budget_gone_repeats_or_stops() -> None:
    plan = traces.Plan(1.0, 2.0, 0.0)
    manager = traces.FixedLevels(8.0, plan)
    repeating = traces.PredictiveMechanism(traces.on_plane(), manager, far).run(STILL, np.random.default_rng(0))
    assert repeating.kinds == ("hard", "hard") + ("skipped",) * 18
    assert (repeating.reports[2:] == repeating.reports[1]).all()
    assert repeating.spending.tolist() == [3.0, 6.0] + [6.0] * 18
    stopping = traces.PredictiveMechanism(traces.on_plane(), traces.FixedLevels(8.0, plan, after="stop"), far)
    run = stopping.run(STILL, np.random.default_rng(0))
    assert str(run) == "2 steps, stopped before 20: 0 easy, 2 hard, 0 skipped; spent 6 of 8"


def test_steps_between_say_the_last_report_again() -> None:
    run = fixed(traces.on_plane(), traces.Plan(0.1, 1.0, 0.0), every=4).run(STILL + 3, np.random.default_rng(2))
    assert [kind == "skipped" for kind in run.kinds] == [i % 4 != 0 for i in range(20)]
    assert (run.reports.reshape(5, 4, 2) == run.reports[::4][:, None]).all()
    noisy = traces.IndependentNoise(traces.on_plane(), 0.5, every=4).run(STILL[:6], np.random.default_rng(2))
    assert noisy.kinds == ("hard", "skipped", "skipped", "skipped", "hard", "skipped")
    assert (noisy.reports[[1, 2, 3, 5]] == noisy.reports[[0, 0, 0, 4]]).all()
    assert noisy.spent == float(noisy.total) == 1.0


def test_extrapolation_goes_on_along_the_last_two_reports_that_were_made() -> None:
    noise, cost = traces.on_plane(), Fraction(1)
    made = [traces.Step("hard", (float(3 * t), 1.0), False, cost) for t in (0, 1)]
    skipped = traces.Step("skipped", (3.0, 1.0), False, Fraction(0))
    assert traces.extrapolate([], noise) is None
    assert traces.extrapolate(made[:1], noise) == (0.0, 1.0)
    assert traces.extrapolate(made, noise) == (6.0, 1.0)
    assert traces.extrapolate([*made, skipped], noise) == (9.0, 1.0)
    assert traces.extrapolate([made[0], skipped, made[1]], noise) == (4.5, 1.0)
    reported = [traces.Step("hard", z, False, cost) for z in (1, 3)]
    assert [traces.extrapolate(reported[:k], GEOMETRIC) for k in range(3)] == [None, 1, 4]
    bare = dx.MetricSpace.from_distances(LINE.distances)
    without = traces.Finite(bare, lambda level: dx.classic.exponential(bare, epsilon=level))
    with pytest.raises(dx.UnsupportedError, match="coordinates"):
        traces.extrapolate(reported, without)


def test_a_still_user_is_predicted_and_pays_for_tests_only() -> None:
    plan = traces.Plan(0.25, 50.0, 40.0)
    run = fixed(traces.on_plane(), plan, total=200.0).run(STILL, np.random.default_rng(3))
    assert run.kinds == ("hard",) + ("easy",) * 19
    assert run.spent == 50 + 19 * 0.25
    assert (run.reports == run.reports[0]).all()


def test_predictions_see_reports_and_never_the_trace() -> None:
    seen = []

    def watching(steps: Any, noise: Any) -> Any:
        seen.append([step.report for step in steps])
        return None

    mechanism = traces.PredictiveMechanism(GEOMETRIC, traces.FixedLevels(9.0, traces.Plan(1.0, 1.0, 0.0)), watching)
    run = mechanism.run([0, "1", 4], np.random.default_rng(0))
    assert seen == [run.reports[:k].tolist() for k in range(3)]
    assert run.tests == (None, None, None)
    assert run.spent == 3


def test_smart_meter_readings_cost_n_epsilon() -> None:
    readings = np.linspace(90, 130, 30)
    for epsilon in (0.1, 0.5):
        run = traces.IndependentNoise(traces.on_line(), epsilon).run(readings, np.random.default_rng(4))
        assert run.exactly_spent == run.total == 30 * Fraction(epsilon)
        assert run.reports.shape == (30, 1)
        drawn = Laplace(epsilon).sample(readings[:1], np.random.default_rng(4))
        assert run.reports[0, 0] == drawn[0]
    runs = traces.evaluate(
        traces.IndependentNoise(traces.on_line(), 0.5), [readings], repetitions=400, rng=np.random.default_rng(4)
    )
    assert runs.mean_error == pytest.approx(2.0, abs=0.1)  # 1/ε
    assert runs.error_quantiles[0.9] == pytest.approx(math.log(10) / 0.5, abs=0.2)


def test_evaluation_of_known_runs() -> None:
    mechanism = fixed(GEOMETRIC, traces.Plan(0.5, 0.5, 0.0), total=1.6)
    told = traces.evaluate(mechanism, [(2, 2, 3, 4), (0, 0)], repetitions=2, rng=np.random.default_rng(0))
    rng = np.random.default_rng(0)
    runs = [(trace, mechanism.run(trace, rng)) for trace in ((2, 2, 3, 4), (0, 0)) for _ in range(2)]
    errors = [abs(x - z) for trace, run in runs for x, z in zip(trace, run.reports.tolist(), strict=True)]
    assert told.mean_error == pytest.approx(np.mean(errors), rel=1e-12)
    assert told.error_quantiles == {0.5: sorted(errors)[5], 0.9: sorted(errors)[10]}
    assert told.shares["easy"] == sum(run.count("easy") for _, run in runs) / 12
    assert sum(told.shares.values()) == pytest.approx(1)
    assert told.spent == np.mean([run.spent for _, run in runs])
    assert told.most_spent == max(run.spent for _, run in runs)
    expected = [np.mean([run.spending[i] for _, run in runs if len(run.spending) > i]) for i in range(4)]
    np.testing.assert_allclose(told.spending, expected, rtol=1e-12)
    assert (told.reported, told.runs) == (1.0, 4)


def test_evaluation_repeats_and_counts_what_was_not_reported() -> None:
    stopping = fixed(traces.on_plane(), traces.Plan(0.5, 1.0, 0.0), total=4.0, after="stop")
    one, other = (traces.evaluate(stopping, [STILL], repetitions=3, rng=np.random.default_rng(6)) for _ in range(2))
    assert str(one) == str(other)
    assert 0 < one.reported < 1
    assert len(one.spending) == 20
    assert one.spending[-1] == pytest.approx(one.spent, rel=1e-12)
