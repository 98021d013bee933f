"""The benchmarks give a time only to tight-constraints mechanisms, and draws from them, that hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from benchmarks.candidates.dense import constraints
from benchmarks.contract import CANDIDATES, INSTANCES, Draws, Matrix, TightInstance, Weights, answers
from benchmarks.instances.tight import square
from benchmarks.once import Outcome, once
from dxopt.mechanisms.tight import tight_constraints
from tests.material.answering import Says

FAMILIES = {INSTANCES.get(name).family: name for name in INSTANCES}
TIGHT = [name for name in FAMILIES.values() if isinstance(INSTANCES.get(name), TightInstance)]


def named(name: str) -> TightInstance:
    """The instance of that name."""
    instance = INSTANCES.get(name)
    assert isinstance(instance, TightInstance)
    return instance


def by_hand(space: dx.MetricSpace, epsilon: float) -> np.ndarray:
    """The weights, from the distances that dxopt has."""
    return np.linalg.solve(np.exp(-epsilon * space.distances), np.ones(len(space)))


def small(instance: TightInstance) -> TightInstance:
    """The same question about the small space of the family."""
    value = float(by_hand(instance.build(instance.small), instance.epsilon).mean())
    return replace(instance, size=instance.small, warm=None, value=value)


def tight(side: int, epsilon: float = 0.8) -> TightInstance:
    return small(
        TightInstance(about="", family="t", build=square, size=side, small=side, epsilon=epsilon, value=np.nan)
    )


@pytest.mark.parametrize("name", TIGHT)
def test_every_candidate_answers_the_small_size_of_a_space(name: str) -> None:
    instance = small(named(name))
    for candidate in (candidate for candidate in CANDIDATES if answers(candidate, name)):
        outcome = once(instance, CANDIDATES.get(candidate)())
        assert outcome.failure is None, candidate
        assert outcome.seconds is not None
        assert outcome.value == pytest.approx(instance.value, rel=1e-9)
        assert outcome.private == "proven" or candidate != "dxopt"


@pytest.mark.parametrize("name", TIGHT)
def test_what_is_written_by_hand_is_the_matrix_of_the_space(name: str) -> None:
    instance = named(name)
    space = instance.build(instance.small)
    expected = np.exp(-instance.epsilon * space.distances)
    assert constraints(space, instance.epsilon) == pytest.approx(expected, rel=1e-12)


def channel(space: dx.MetricSpace, epsilon: float) -> np.ndarray:
    return np.exp(-epsilon * space.distances) * by_hand(space, epsilon)


def leaking(space: dx.MetricSpace) -> np.ndarray:
    """One entry is 0 where those of its neighbours are not; it is far below the slack of 1e-9."""
    matrix = channel(space, 0.8)
    last = len(space) - 1
    matrix[0, 0] += matrix[0, last]
    matrix[0, last] = 0.0
    return matrix


def filled(matrix: np.ndarray) -> np.ndarray:
    """Rows that sum to 1 within an ulp."""
    for place, row in enumerate(matrix):
        row[place] += math.fsum([1.0, *(-row)])
    return matrix


def claimed(space: dx.MetricSpace, matrix: np.ndarray) -> dx.Mechanism:
    return dx.Mechanism.from_matrix(space, matrix, privacy=dx.Privacy(0.8, "take my word for it"))


CHEATS: dict[str, tuple[int, float, Callable[[dx.MetricSpace], Any], str]] = {
    "negative weights": (4, 0.5, lambda s: Weights(by_hand(s, 0.5)), "4 weights of 16 are negative"),
    "weights that are no numbers": (4, 0.8, lambda s: Weights(np.full(16, np.nan)), "no numbers"),
    "too few weights": (4, 0.8, lambda s: Weights(np.ones(3)), "weights"),
    "weights that are too large": (4, 0.8, lambda s: Weights(by_hand(s, 0.8) * (1 + 1e-8)), "sums to 1 only"),
    "weights of another level": (4, 0.8, lambda s: Weights(by_hand(s, 0.801)), "sums to 1 only"),
    "a channel of another level": (4, 0.8, lambda s: Matrix(channel(s, 0.80001)), "told apart"),
    "a large channel of another level": (23, 0.8, lambda s: Matrix(channel(s, 0.80001)), "told apart"),
    "a channel with a 0": (23, 0.8, lambda s: Matrix(leaking(s)), "told apart"),
    "a channel with negative entries": (4, 0.5, lambda s: Matrix(channel(s, 0.5)), "negative"),
    "rows that do not sum to 1": (4, 0.8, lambda s: Matrix(channel(s, 0.8) * (1 - 1e-8)), "sums to 1 only"),
    "a channel of another shape": (4, 0.8, lambda s: Matrix(np.ones((16, 1))), "shape"),
    "a private channel that is worth little": (4, 0.8, lambda s: Matrix(np.full((16, 16), 1 / 16)), "utility"),
    "a mechanism without proof": (4, 0.8, lambda s: dx.Mechanism.from_matrix(s, channel(s, 0.8)), "no proof"),
    "a proof at a higher level": (4, 0.8, lambda s: tight_constraints(s, 0.9), "no proof"),
    "a forged proof": (4, 0.8, lambda s: claimed(s, channel(s, 0.80001)), "told apart"),
    "a large forged proof": (23, 0.8, lambda s: claimed(s, filled(channel(s, 0.80001))), "told apart"),
    "a large forged proof, rows short": (23, 0.8, lambda s: claimed(s, channel(s, 0.8) * (1 - 1e-14)), "sums to"),
    "another space": (4, 0.8, lambda s: tight_constraints(square(5), 0.8), "25 secrets"),
    "no answer": (4, 0.8, lambda s: None, "AttributeError"),
    "a crash": (4, 0.8, lambda s: np.linalg.solve(np.zeros((2, 2)), np.ones(2)), "LinAlgError: Singular"),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_gets_no_time(name: str) -> None:
    side, epsilon, answer, why = CHEATS[name]
    outcome = once(tight(side, epsilon), Says(answer))
    assert outcome.seconds is None
    assert outcome.failure is not None
    assert why in outcome.failure
    assert "\n" not in outcome.failure


def test_a_0_is_seen_where_products_vanish() -> None:
    far = replace(tight(3, 1.0), build=lambda size: dx.line(size, step=1000.0), value=1 / 3, small=2)
    matrix = np.array([[0.5, 0.5, 1e-25], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    outcome = once(far, Says(lambda space: Matrix(matrix)))
    assert "told apart" in (outcome.failure or "")


def draws(secrets: np.ndarray, reports: Callable[[dx.Mechanism], np.ndarray]) -> Outcome:
    """What comes of some reports for some secrets of a 10 × 10 grid."""
    mechanism = tight_constraints(square(10), 0.8)
    return once(tight(10), Says(lambda space: Draws(mechanism, secrets, reports(mechanism))))


def test_draws_have_to_follow_the_mechanism() -> None:
    generator = np.random.default_rng(5)
    everyone, one = np.arange(100), np.array([44])
    assert draws(one, lambda m: m.sample(index=one, size=20_000, rng=generator)).failure is None
    assert draws(everyone, lambda m: m.sample(index=everyone, size=500, rng=generator)).failure is None
    other = tight_constraints(square(10), 0.9)
    for failure in (
        draws(one, lambda m: other.sample(index=one, size=20_000, rng=generator)).failure,
        draws(one, lambda m: m.sample(index=np.array([45]), size=20_000, rng=generator)).failure,
        draws(everyone, lambda m: np.repeat(everyone[:, None], 500, axis=1)).failure,
        draws(one, lambda m: np.full((1, 5), 100)).failure,
        draws(one, lambda m: m.sample(index=everyone, size=5, rng=generator)).failure,
    ):
        assert failure is not None
        assert "draws" in failure


def test_every_secret_once_is_judged_by_all_of_its_draws() -> None:
    """A sampler that errs only for secrets whose rows are not looked at."""
    everyone = np.arange(256)
    mechanism = tight_constraints(square(16), 0.8)
    drawn = mechanism.sample(index=everyone, size=1, rng=np.random.default_rng(1))
    looked_at = np.random.default_rng(256).permutation(256)[:16]
    lying = np.where(np.isin(everyone, looked_at)[:, None], drawn, everyone[:, None])
    outcome = once(tight(16), Says(lambda space: Draws(mechanism, everyone, lying)))
    assert "standard deviations" in (outcome.failure or "")
