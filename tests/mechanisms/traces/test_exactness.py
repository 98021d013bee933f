"""What is promised of traces to the last digit: levels that are paid, tests far out, and draws."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import dxopt as dx
from dxopt.mechanisms import traces

LINE = dx.line(5)
GEOMETRIC = traces.Finite(LINE, lambda level: dx.classic.geometric(LINE, epsilon=level))


class Bytes(np.random.Generator):
    """A generator whose bytes are given."""

    def __init__(self, given: bytes) -> None:
        super().__init__(np.random.PCG64(0))
        self.given = given

    def bytes(self, length: int) -> bytes:
        return self.given.ljust(length, b"\0")


class Recording:
    """Noise that remembers its levels."""

    def __init__(self) -> None:
        self.levels: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(GEOMETRIC, name)

    def draw(self, secret: Any, level: float, rng: Any) -> Any:
        self.levels.append(level)
        return GEOMETRIC.draw(secret, level, rng)


@pytest.mark.parametrize("level", [Fraction(1, 10), Fraction(1, 3), Fraction(2, 3), 0.1, 1, np.float64(0.3)])
def test_noise_is_drawn_at_the_level_that_is_paid(level: Any) -> None:
    for make in (
        lambda noise: traces.IndependentNoise(noise, level),
        lambda noise: traces.PredictiveMechanism(noise, traces.FixedLevels(9.0, traces.Plan(level, level, 0.0))),
    ):
        noise = Recording()
        run = make(noise).run([0], np.random.default_rng(0))
        assert [Fraction(drawn) for drawn in noise.levels] == [run.exactly_spent]
        assert Fraction(noise.levels[0]) <= Fraction(level) < Fraction(math.nextafter(noise.levels[0], 9.0))


def test_totals_of_numpy_are_numbers() -> None:
    plan, balance = traces.Plan(1.0, 1.0, 0.0), traces.Balance(0.5, 4.0, 0.4)
    for manager in (traces.FixedLevels(np.int64(3), plan), traces.FixedRate(np.float32(3), 3, balance)):  # pyright: ignore
        run = traces.PredictiveMechanism(GEOMETRIC, manager).run([0, 1], np.random.default_rng(0))
        assert run.total == 3


@pytest.mark.parametrize("test", [traces.LaplaceTest(), traces.GeometricTest(1.0)])
@pytest.mark.parametrize("level", [1.0, 3.7, 800.0])
def test_far_answers_are_never_impossible(test: traces.ClosenessTest, level: float) -> None:
    answers = [test.probabilities(float(distance), 900.0, level) for distance in range(1801)]
    for near, far in pairwise(answers):
        for one, other in zip(near, far, strict=True):
            assert min(one, other) > 0
            assert abs(math.log(one) - math.log(other)) <= level * (1 + 1e-12)


def test_steps_that_fall_short_of_the_grid_pay_for_it() -> None:
    short = 1 - 2.0**-45
    close, far = (traces.GeometricTest().probabilities(d, 0.0, 1.0)[0] for d in (0.0, short))
    assert Fraction(math.log(close / far)) <= Fraction(short) + Fraction(2, 10**16)
    assert math.log(close / far) < 1 - 2.0**-45 + 2.0**-52


def test_reports_below_the_spacing_of_doubles_are_drawn() -> None:
    noise = traces.RationalGeometric(3)
    total = 2**30 * (2**30 + 1)  # a = 2^-30: the report 2 of secret 0 has probability 1 / total
    assert noise.channel(30)[0, 2] == Fraction(1, total)
    spare = -(total - 1).bit_length() % 8
    for drawn, report in ((total - 1, 2), (total - 2, 1), (2**60, 1), (2**60 - 1, 0), (0, 0)):
        assert noise.draw(0, 30, Bytes((drawn << spare).to_bytes(8, "little"))) == report


@pytest.mark.parametrize("noise", [GEOMETRIC, traces.RationalGeometric(5, Fraction(3, 2))])
def test_draws_follow_the_channel(noise: Any) -> None:
    rng, draws = np.random.default_rng(7), 4000
    for secret in (0, 3):
        seen = Counter(noise.draw(secret, 1.0, rng) for _ in range(draws))
        expected = noise.channel(1.0)[secret].astype(float) * draws
        assert sum((seen[z] - expected[z]) ** 2 / expected[z] for z in range(5)) < chi2.ppf(1 - 1e-6, 4)


def test_rational_tests_are_decided_by_rational_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(
        "dxopt.mechanisms.traces.predictive.happens", lambda probability, rng: bool(asked.append(probability))
    )
    manager, test = traces.FixedLevels(1e4, traces.Plan(1200.0, 1.0, 0.0)), traces.GeometricTest(1.0, Fraction(2))
    mechanism = traces.PredictiveMechanism(
        traces.RationalGeometric(3), manager, lambda steps, noise: 2 if steps else None, test
    )
    mechanism.run([0, 0])
    assert asked == [test.probabilities(2.0, 0.0, 1200.0)[0]]
    assert 0 < asked[0] < Fraction(1, 2**2399)
