"""The smallest level at which a loss is possible: proven at both ends, by closed forms and a dense linear program."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.numerics.number_syntax import level_text
from dxopt.results.report import Report
from tests.material.instances import KINDS, problem_of
from tests.material.optima import optimum
from tests.material.stopped import stop_after

ROUNDING = 1e-9
VARIANTS: list[dict[str, Any]] = [
    {},
    {"objective": "worst_loss"},
    {"delta": 0.02},
    {"delta": 0.02, "pairs": "adjacent", "objective": "worst_loss"},
]


def two_points(distance: float = 1.0) -> dx.Problem:
    """Its least binary loss at ε is 1 / (1 + e^{εd})."""
    space = dx.MetricSpace.from_distances([[0, distance], [distance, 0]])
    return dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary")


def skewed(side: int = 3, epsilon: float = 1.0) -> dx.Problem:
    space = dx.grid((side, side))
    return dx.Problem(space, epsilon=epsilon, prior=dx.Prior.from_weights(space, np.arange(1, side * side + 1)))


def assert_proven(level: dx.Level, problem: dx.Problem) -> None:
    """Both ends, by what the reports prove and by the oracle."""
    assert level.report is not None
    assert level.report.problem.epsilon == level.epsilon
    assert level.report.certificate.private
    assert level.report.certificate.value <= level.max_loss
    assert 0 < level.below < level.epsilon
    assert optimum(problem.at(level.epsilon)) <= level.max_loss + ROUNDING
    assert optimum(problem.at(level.below)) > level.max_loss - ROUNDING


@pytest.mark.parametrize("distance", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("loss", [0.4999, 0.3, 0.01, 1e-6])
def test_two_points(distance: float, loss: float) -> None:
    level = dx.smallest_epsilon(two_points(distance), loss)
    exact = math.log(1 / loss - 1) / distance
    assert level.below < exact <= level.epsilon
    assert level.resolution <= 1.000001e-6
    assert level.status == "optimal"
    assert_proven(level, two_points(distance))


@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 9.0])
def test_wherever_it_starts(epsilon: float) -> None:
    level = dx.smallest_epsilon(two_points().at(epsilon), 0.2)
    assert level.below < math.log(4) <= level.epsilon <= level.below * (1 + 1.000001e-6)


@pytest.mark.parametrize("changes", VARIANTS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_problem(kind: str, changes: dict[str, Any]) -> None:
    for seed in range(20):
        plain = problem_of(kind, seed).but(**changes)
        least, most = (optimum(plain.at(epsilon)) for epsilon in (8.0, 0.05))
        if most - least > 1e-3:
            break
    else:
        raise AssertionError("the level makes no difference in any of them")
    level = dx.smallest_epsilon(plain, 0.5 * (least + most), accuracy=1e-4)
    assert level.status == "optimal"
    assert level.resolution <= 1.00001e-4
    assert level.report is not None
    assert (level.report.problem.delta, level.report.problem.pairs) == (plain.delta, plain.pairs)
    assert_proven(level, plain)


def test_randomised_response_in_the_worst_case() -> None:
    """(1 - δ) m / (m + e^ε) is the least worst loss under the discrete metric (HLM14 Thm 7 and Example 7)."""
    space = dx.MetricSpace.from_distances(1 - np.eye(4))
    problem = dx.Problem(space, epsilon=0.1, prior=None, objective="worst_loss", delta=0.1)
    level = dx.smallest_epsilon(problem, 0.3)
    assert level.below < math.log(0.9 * 3 / 0.3 - 3) <= level.epsilon


def test_accuracy_that_is_asked_for() -> None:
    for accuracy in (0.5, 1e-2, 1e-8):
        level = dx.smallest_epsilon(skewed(), 0.5, accuracy=accuracy)
        assert level.accuracy == accuracy
        assert math.log1p(level.resolution) <= accuracy * 1.00001
        assert_proven(level, skewed())


def test_gaps_too_large_for_the_accuracy_are_said() -> None:
    """With bounds that are only within a thousandth, no level next to the right one is decided."""
    space = dx.grid((6, 6))
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.from_weights(space, 1 + np.arange(36) * 11 % 7))
    exact = dx.smallest_epsilon(problem, 1.3, accuracy=1e-4)
    for epsilon in (1.0, exact.epsilon):
        posed = problem.at(epsilon)
        level = dx.smallest_epsilon(posed, 1.3, accuracy=1e-8, tolerance=1e-3, solver="columns")
        assert level.status == "feasible"
        assert 1e-8 < level.resolution < 0.03
        assert level.below <= exact.epsilon
        assert exact.below <= level.epsilon


def test_a_step_down_that_is_enough_is_gone_on_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gaps differ: next to an undecided level there is one that is proven enough, and both ends are wanted."""
    from dxopt.studies import levels

    def answer(problem: dx.Problem, gap: float, start: Any) -> Any:
        least = 1 / problem.epsilon
        lucky = 1.0001 < problem.epsilon < 1.00049
        proof = SimpleNamespace(value=least * (1 if lucky else 1.001), bound=least * 0.999)
        return SimpleNamespace(problem=problem, certificate=proof)

    monkeypatch.setattr(levels, "answering", lambda *options: answer)
    level = dx.smallest_epsilon(skewed().at(1.0005), 1.0, accuracy=1e-6)
    assert 0.99 < level.below < 0.9991
    assert level.epsilon < 1.0005


def test_between_given_levels() -> None:
    level = dx.smallest_epsilon(skewed(), 0.5, low=1.5, high=2.0)
    assert 1.5 <= level.below < level.epsilon <= 2.0
    assert_proven(level, skewed())


def test_each_solve_starts_from_the_nearest_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from dxopt.studies import series as sweeping

    starts: list[tuple[float, float | None, set[float]]] = []
    done: set[float] = set()

    def solve(problem: dx.Problem, *, start: Report | None, **options: Any) -> Report:
        starts.append((problem.epsilon, None if start is None else start.problem.epsilon, set(done)))
        done.add(problem.epsilon)
        return dx.solve(problem, start=start, **options)

    monkeypatch.setattr(sweeping, "solve", solve)
    dx.smallest_epsilon(skewed(), 0.5)
    assert starts[0] == (1.0, None, set())
    for epsilon, start, known in starts[1:]:
        assert start == min(known, key=lambda one: abs(math.log(one / epsilon)))


def test_few_solves() -> None:
    """Bisection of a factor of 2 to 1e-6 takes 20."""
    lines: list[str] = []
    dx.smallest_epsilon(skewed(), 0.5, progress=lines.append)
    assert 3 <= sum(line.startswith("epsilon ") for line in lines) <= 10
    assert any(line.startswith("epsilon 1: expected loss 0.786246") for line in lines)


@pytest.mark.parametrize(
    ("loss", "options", "message"),
    [
        (0.0, {}, r"^max_loss: is 0, below .*e-1\d, found at epsilon = 40; raise it$"),
        (-0.1, {}, r"^max_loss: is -0.1, below .*, the least loss at epsilon = 40; raise it$"),
        (0.5, {"high": 1.1}, r"^max_loss: is 0.5, below 0\.744\d*, the least loss at .* = 1.1; raise it, or `high`$"),
        (
            2.0,
            {},
            r"^max_loss: is 2, but any level will do: .* only 1\.068\d* is lost; lower it, or bound the worst loss, ",
        ),
        (0.5, {"low": 3.0}, r"^low: is 3, where no more than 0\.15\d* need be lost already; lower it$"),
        (0.5, {"low": 2.0, "high": 1.0}, "^high: is 1, not above 2; give a larger one$"),
        (0.5, {"low": "6/2"}, r"^low: is 3, where"),
        (0.5, {"low": Fraction(3)}, r"^low: is 3, where"),
        (0.5, {"low": -1.0}, "^low: is -1; give a positive finite number$"),
        (0.5, {"high": "big"}, "^high: is the text 'big'; give a number"),
        (math.nan, {}, "^max_loss: is nan; give a finite number$"),
        ("little", {}, "^max_loss: is 'little', which is not a number"),
        (0.5, {"accuracy": 0.0}, "^accuracy: is 0; give a number between 0 and 1$"),
        (0.5, {"tolerance": 2.0}, "^tolerance: is 2"),
        (0.5, {"solver": "oracle"}, "^solver: "),
    ],
)
def test_what_is_refused(loss: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(dx.SpecError, match=message):
        dx.smallest_epsilon(skewed(), loss, **options)


def test_an_objective_with_a_budget_of_its_own_is_refused() -> None:
    with pytest.raises(dx.SpecError, match=r"^objective: has a loss budget of its own"):
        dx.smallest_epsilon(skewed().but(objective=dx.AdversaryError(1.0)), 0.5)


def test_no_distance_counts() -> None:
    """Where all secrets are the same or nothing binds them, no level changes the loss."""
    for length, loss in ((0.0, 0.2), (np.inf, 0.2)):
        problem = dx.Problem(
            dx.MetricSpace.from_distances([[0, length], [length, 0]]),
            epsilon=1.0,
            prior=dx.Prior.from_weights(dx.line(2), [1, 1]),
            loss="binary",
        )
        with pytest.raises(dx.SpecError, match=r"^max_loss: is 0.2, (below 0\.5|but any level will do)"):
            dx.smallest_epsilon(problem, loss)


def test_said_in_words() -> None:
    found = dx.smallest_epsilon(two_points(), 0.2, accuracy=1e-6)
    assert found.below < math.log(4) < found.epsilon
    told = "a loss of at most 0.2 is possible at ε 1.39 per unit of distance, not at 1.38; both proven (optimal)"
    assert str(found) == told
    first, possible, refuted = found.details().splitlines()
    assert first == told
    assert possible.startswith(f"possible at ε {level_text(found.epsilon, 10)}, with a loss of 0.")
    assert found.below * (1 - 1e-9) < float(refuted.removeprefix("not possible at ε ")) <= found.below


def test_interrupted_at_any_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = skewed()
    right = 1.70073706
    whole = stop_after(monkeypatch, 10**9)
    assert dx.smallest_epsilon(problem, 0.5).status == "optimal"
    widths = []
    for moment in range(0, whole[0], 3):
        stop_after(monkeypatch, moment)
        level = dx.smallest_epsilon(problem, 0.5)
        assert level.status in ("interrupted", "optimal")
        assert level.below <= right * (1 + 1e-7)
        assert level.epsilon >= right * (1 - 1e-7)
        if level.report is None:
            assert math.isinf(level.epsilon)
            assert "no level found" in str(level)
        else:
            assert level.report.certificate.value <= 0.5
        widths.append(level.resolution)
    assert widths[0] == math.inf
    assert widths[-1] < 1e-3


def test_out_of_time() -> None:
    problem = dx.Problem(dx.grid((6, 6)), epsilon=1.0, prior=dx.Prior.uniform(dx.grid((6, 6))))
    level = dx.smallest_epsilon(problem, 1.0, time_limit=1e-3)
    assert level.status == "time limit"
    assert not level.resolution <= 1e-6
