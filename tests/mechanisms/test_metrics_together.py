"""Releases that are private for different metrics, as one mechanism and composed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from tests.judges.exact import violations

LABELS = ("a", "b", "c", "d")


def _space(seed: int) -> dx.MetricSpace:
    points = np.random.default_rng(seed).uniform(0, 3, (4, 2))
    return dx.MetricSpace.from_points(points, labels=LABELS, unit="km")


def _mechanisms(seed: int) -> list[dx.Mechanism]:
    hops = dx.MetricSpace.from_distances(np.ones((4, 4)) - np.eye(4), labels=LABELS, unit="people")
    return [
        dx.classic.exponential(_space(seed), epsilon=0.7),
        dx.classic.randomised_response(hops, epsilon=0.4),
        dx.classic.exponential(_space(seed + 100), epsilon=0.2),
    ]


@pytest.mark.parametrize("seed", range(4))
def test_levels_of_different_metrics_add_up(seed: int) -> None:
    mechanisms = _mechanisms(seed)
    joint = dx.together(mechanisms)
    assert joint.privacy is not None
    assert joint.privacy.epsilon <= 1 + 1e-12
    total = [
        [
            sum(Fraction(one.privacy.epsilon) * Fraction(float(one.space.distances[x, y])) for one in mechanisms)  # pyright: ignore[reportOptionalMemberAccess]
            for y in range(4)
        ]
        for x in range(4)
    ]
    assert joint.space.distances == pytest.approx(np.array(total, dtype=float), rel=1e-12)
    assert all(Fraction(float(joint.space.distances[x, y])) >= total[x][y] for x in range(4) for y in range(4))
    assert violations(joint.matrix, joint.space.distances, joint.privacy.epsilon) == []
    expected = np.einsum("xa,xb,xc->xabc", *(one.matrix for one in mechanisms)).reshape(4, -1)
    assert np.abs(joint.matrix - expected).max() < 1e-14
    assert joint.space.unit == "levels"


@pytest.mark.parametrize("visible", [True, False])
def test_a_choice_has_the_largest_of_them(visible: bool) -> None:
    mechanisms = _mechanisms(7)
    mixed = dx.choice(mechanisms, [1, 2, 3], visible=visible)
    assert mixed.privacy is not None and mixed.privacy.epsilon <= 1 + 1e-12
    largest = np.max([one.privacy.epsilon * one.space.distances for one in mechanisms], axis=0)  # pyright: ignore[reportOptionalMemberAccess]
    assert mixed.space.distances == pytest.approx(largest, rel=1e-12)
    assert violations(mixed.matrix, mixed.space.distances, mixed.privacy.epsilon) == []


def test_they_compose_for_the_sum_or_for_a_metric_that_is_given() -> None:
    first, second, _ = _mechanisms(3)
    counts = [6, 9]
    season = dx.compose([first, second], counts, progress=False)
    assert season.pure <= 1 + 1e-9
    bound = season.epsilon(0.01)
    assert bound.least <= bound.epsilon < 1

    # by hand: the product of 15 rows of each secret, for one pair
    level = bound.epsilon
    rows = [[(1.0, 1.0)]]
    for mechanism, count in zip((first, second), counts, strict=True):
        x, other = mechanism.matrix[:2]
        losses = np.log(x / other)
        for _ in range(count):
            merged: dict[float, tuple[float, float]] = {}
            for p, q in rows[-1]:
                for a, b in zip(x, other, strict=True):
                    key = round(math.log(p * a) - math.log(q * b), 9) if p else -math.inf
                    old = merged.get(key, (0.0, 0.0))
                    merged[key] = old[0] + p * a, old[1] + q * b
            rows.append([*merged.values()])
        assert len(losses) == len(LABELS)
    apart = season.space.distances[0, 1]
    assert sum(max(0.0, p - math.exp(level * apart) * q) for p, q in rows[-1]) <= 0.01 + 1e-9

    # the same secrets at other distances
    plain = dx.compose([first, second], counts, space=second.space, progress=False)
    wanted = max(6 * 0.7 * float(first.space.distances[x, y]) + 9 * 0.4 for x in range(4) for y in range(4) if x != y)
    assert plain.pure <= wanted * (1 + 1e-9)
    assert plain.epsilon(0.01).epsilon < plain.pure


@pytest.mark.parametrize(
    "call",
    [
        lambda: dx.together(
            [dx.classic.geometric(dx.line(3), epsilon=1), dx.classic.geometric(dx.line(4), epsilon=1)]
        ),
        lambda: dx.together(
            [_mechanisms(1)[0], dx.classic.geometric(dx.line(4), epsilon=1.0)]  # other labels
        ),
        lambda: dx.compose([_mechanisms(1)[0], dx.Mechanism.from_matrix(_space(2), np.eye(4))]),
        lambda: dx.compose(_mechanisms(1), space=dx.line(4)),
        lambda: dx.compose(_mechanisms(1), space="x"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_what_has_no_metric_in_common_is_refused(call) -> None:
    with pytest.raises(dx.SpecError) as caught:
        call()
    assert caught.value.field in ("mechanisms", "space")
