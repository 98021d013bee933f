"""What mechanisms for traces refuse, with field and remedy."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms import traces
from dxopt.mechanisms.noise import PlanarLaplace
from dxopt.mechanisms.traces.managers import Decision

LINE = dx.line(5)
GEOMETRIC = traces.Finite(LINE, lambda level: dx.classic.geometric(LINE, epsilon=level))
STILL = np.zeros((20, 2))


def fixed(noise: Any, plan: traces.Plan, total: float = 100.0) -> traces.PredictiveMechanism:
    return traces.PredictiveMechanism(noise, traces.FixedLevels(total, plan))


def _spender(steps: Any, ledger: Any) -> Decision:
    return traces.Plan(1.0, 1e6, 0.0)


class Spendthrift:
    total = 1.0

    def bind(self, noise: Any, test: Any) -> Any:
        return _spender


def _mistaken(steps: Any, ledger: Any) -> Any:
    return "Stop" if steps else PLAN


class Typo:
    total = 1.0

    def bind(self, noise: Any, test: Any) -> Any:
        return _mistaken


PLANE, PLAN = traces.on_plane(), traces.Plan(1.0, 1.0, 0.0)
LEVELS = traces.FixedLevels(9.0, PLAN)
UNPROVEN = traces.Finite(LINE, lambda level: dx.Mechanism.from_matrix(LINE, np.eye(5)))
WEAKER = traces.Finite(LINE, lambda level: dx.classic.geometric(LINE, epsilon=2 * level))
ELSEWHERE = traces.Finite(LINE, lambda level: dx.classic.geometric(dx.line(5, step=2.0), epsilon=level))
APART = dx.MetricSpace.from_points([0.0, 1.0, 2.5])
UNEVEN = traces.Finite(APART, lambda level: dx.classic.exponential(APART, epsilon=level))


def claimed(privacy: dx.Privacy, labels: tuple[str, ...] | None = None) -> traces.Finite:
    reports = dx.Reports(labels) if labels else None
    return traces.Finite(
        LINE, lambda level: dx.Mechanism.from_matrix(LINE, np.full((5, 5), 0.2), reports, privacy=privacy)
    )


ONE_WAY = dx.MetricSpace.from_distances([[0, 1], [2, 0]])
REFUSED: dict[str, tuple[str, Callable[[], Any]]] = {
    "no budget": ("total", lambda: traces.FixedLevels(0.0, PLAN)),
    "a budget beyond doubles": ("total", lambda: traces.FixedLevels(10**400, PLAN)),
    "a budget of words": ("total", lambda: traces.FixedUtility("5", 1.0)),  # pyright: ignore
    "no plan": ("plan", lambda: traces.FixedLevels(9.0, "plan")),  # pyright: ignore
    "no balance": ("balance", lambda: traces.FixedRate(9.0, 3, 0.9)),  # pyright: ignore
    "noise of one level": ("noise", lambda: traces.PredictiveMechanism(PlanarLaplace(1.0), LEVELS)),  # pyright: ignore
    "no manager": ("manager", lambda: traces.PredictiveMechanism(PLANE, 3.0)),  # pyright: ignore
    "a prediction by name": ("prediction", lambda: traces.PredictiveMechanism(PLANE, LEVELS, "repeat")),  # pyright: ignore
    "no test": ("test", lambda: traces.PredictiveMechanism(PLANE, LEVELS, test="laplace")),  # pyright: ignore
    "a decision of another kind": ("manager", lambda: traces.PredictiveMechanism(PLANE, Typo()).run(STILL)),
    "a seed": ("rng", lambda: fixed(PLANE, PLAN).run(STILL, 3)),  # pyright: ignore
    "no space": ("space", lambda: traces.Finite(np.eye(3), UNPROVEN.family)),  # pyright: ignore
    "steps of a plane": (
        "test",
        lambda: traces.PredictiveMechanism(PLANE, LEVELS, test=traces.GeometricTest()),
    ),
    "a space off the grid, before any secret": (
        "distance",
        lambda: traces.PredictiveMechanism(UNEVEN, LEVELS, test=traces.GeometricTest()),
    ),
    "distances that are multiples nearly, under a base": (
        "distance",
        lambda: traces.GeometricTest(1.0, Fraction(2)).probabilities(1 - 1e-14, 1.0, 1.0),
    ),
    "a level that is whole nearly": (
        "level",
        lambda: traces.GeometricTest(3.0, Fraction(2)).probabilities(3.0, 1.0, 1 / 3),
    ),
    "a word for a trace": ("trace", lambda: fixed(GEOMETRIC, PLAN).run("012")),
    "a generator of traces": ("traces", lambda: traces.evaluate(fixed(PLANE, PLAN), iter([STILL]))),  # pyright: ignore
    "a quantile of words": ("quantiles", lambda: traces.evaluate(fixed(PLANE, PLAN), [STILL], quantiles=["a"])),  # pyright: ignore
    "one quantile": ("quantiles", lambda: traces.evaluate(fixed(PLANE, PLAN), [STILL], quantiles=0.5)),  # pyright: ignore
    "infinite budget": ("total", lambda: traces.FixedRate(math.inf, 3)),
    "a budget that is no number": ("total", lambda: traces.FixedUtility(math.nan, 1.0)),
    "level 0": ("test", lambda: traces.Plan(0.0, 1.0, 0.0)),
    "negative level": ("noise", lambda: traces.Plan(1.0, -1.0, 0.0)),
    "negative threshold": ("threshold", lambda: traces.Plan(1.0, 1.0, -0.1)),
    "infinite threshold": ("threshold", lambda: traces.Plan(1.0, 1.0, math.inf)),
    "no steps": ("steps", lambda: traces.FixedRate(1.0, 0)),
    "skipping everything": ("every", lambda: traces.FixedRate(1.0, 3, every=0)),
    "an end of another kind": ("after", lambda: traces.FixedLevels(1.0, PLAN, after="go on")),  # pyright: ignore
    "negative error": ("error", lambda: traces.FixedUtility(1.0, -1.0)),
    "certainty": ("probability", lambda: traces.Balance(1.0)),
    "a test worse than a coin": ("probability", lambda: traces.Balance(0.25)),
    "no tolerance": ("tolerance", lambda: traces.Balance(tolerance=0.9)),
    "all for the test": ("share", lambda: traces.Balance(share=1.0)),
    "a test too coarse": (
        "share",
        lambda: traces.PredictiveMechanism(PLANE, traces.FixedRate(1.0, 3, traces.Balance(0.9, 1.0, 0.2))),
    ),
    "a budget below the first step": (
        "total",
        lambda: traces.PredictiveMechanism(PLANE, traces.FixedUtility(0.1, 1.0)),
    ),
    "levels below the first step": ("total", lambda: fixed(PLANE, PLAN, total=0.5).run(STILL)),
    "a manager that overspends": ("manager", lambda: traces.PredictiveMechanism(PLANE, Spendthrift()).run(STILL)),
    "a step of 0": ("step", lambda: traces.GeometricTest(0.0)),
    "a base of 1": ("base", lambda: traces.RationalGeometric(3, Fraction(1))),
    "one point": ("size", lambda: traces.RationalGeometric(1)),
    "three dimensions": ("dimension", lambda: traces.Continuous(3)),
    "distances off the grid": ("distance", lambda: traces.GeometricTest().probabilities(0.5, 1.0, 1.0)),
    "an irrational probability": ("level", lambda: traces.RationalGeometric(3).channel(0.5)),
    "asymmetric distances": (
        "space",
        lambda: traces.Finite(ONE_WAY, lambda e: dx.classic.exponential(ONE_WAY, epsilon=e)),
    ),
    "nothing proven": ("family", lambda: UNPROVEN.channel(1.0)),
    "proven at another level": ("family", lambda: WEAKER.channel(1.0)),
    "another space": ("family", lambda: ELSEWHERE.channel(1.0)),
    "proven up to delta": ("family", lambda: claimed(dx.Privacy(1.0, "by hand", 0.1)).channel(1.0)),
    "other reports": ("family", lambda: claimed(dx.Privacy(1.0, "by hand"), tuple("abcde")).channel(1.0)),
    "no mechanism": ("family", lambda: traces.Finite(LINE, lambda level: np.eye(5)).channel(1.0)),  # pyright: ignore
    "an error kept for nothing": ("error", lambda: GEOMETRIC.level_for(4.0, 0.8)),
    "an empty trace": ("trace", lambda: fixed(PLANE, PLAN).run(np.zeros((0, 2)))),
    "an empty finite trace": ("trace", lambda: fixed(GEOMETRIC, PLAN).run([])),
    "a trace off the plane": ("trace", lambda: fixed(PLANE, PLAN).run(np.zeros((3, 3)))),
    "a trace that is not finite": ("trace", lambda: fixed(PLANE, PLAN).run([[0.0, np.nan]])),
    "a trace of words": ("trace", lambda: fixed(PLANE, PLAN).run([["here", "there"]])),
    "a point off the space": ("trace", lambda: fixed(GEOMETRIC, PLAN).run([0, 5])),
    "a number for a trace": ("trace", lambda: fixed(GEOMETRIC, PLAN).run(3)),
    "a prediction off the space": (
        "prediction",
        lambda: traces.PredictiveMechanism(GEOMETRIC, LEVELS, lambda steps, noise: 7).run([0]),
    ),
    "a prediction off the plane": (
        "prediction",
        lambda: traces.PredictiveMechanism(PLANE, LEVELS, lambda steps, noise: (1.0,)).run(STILL),
    ),
    "a distribution in the plane": ("noise", lambda: fixed(PLANE, PLAN).distribution(STILL)),
    "too many runs": ("trace", lambda: traces.IndependentNoise(GEOMETRIC, 1.0).distribution([0] * 9)),
    "level 0 of independent noise": ("epsilon", lambda: traces.IndependentNoise(PLANE, 0.0)),
    "independent noise nowhere": ("every", lambda: traces.IndependentNoise(PLANE, 1.0, every=0)),
    "no traces": ("traces", lambda: traces.evaluate(fixed(PLANE, PLAN), [])),
    "no repetitions": ("repetitions", lambda: traces.evaluate(fixed(PLANE, PLAN), [STILL], repetitions=0)),
    "a quantile above 1": ("quantiles", lambda: traces.evaluate(fixed(PLANE, PLAN), [STILL], quantiles=[2.0])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_field_and_remedy(name: str) -> None:
    field, attempt = REFUSED[name]
    with pytest.raises(dx.SpecError) as told:
        attempt()
    assert told.value.field == field
    assert told.value.fix


def test_what_is_no_point_is_not_told() -> None:
    """It is where somebody was."""
    mechanism = traces.IndependentNoise(GEOMETRIC, 1.0)
    wrong = r"trace: has an entry 1 that is no point of the space; .* dx\.geo\.nearest"
    with pytest.raises(dx.SpecError, match=wrong) as told:
        mechanism.run([0, 45.47102])
    assert "45" not in str(told.value)
