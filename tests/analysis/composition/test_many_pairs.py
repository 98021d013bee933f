"""Upper bounds for many pairs at once, against exact rationals and against convolutions of each pair."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from dxopt.analysis.composition import composing
from dxopt.analysis.composition.distributions import largest_finite_loss, sum_losses
from dxopt.analysis.composition.many_pairs import ManyPairs
from tests.judges.composition import exceeded


def silent(line: str, share: float) -> None:
    pass


def channel(seed: int, size: int, zeros: bool, reports: int = 4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.gamma(0.7, size=(size, reports)) + 1e-3
    if zeros:
        rows[rng.random(rows.shape) < 0.3] = 0.0
        rows[:, 0] += 0.2
    return rows / rows.sum(axis=1, keepdims=True)


def every_pair(size: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.nonzero(~np.eye(size, dtype=bool))
    return first, second


def bounds(pairs: ManyPairs, levels: np.ndarray, points: int) -> np.ndarray:
    found = np.zeros(len(pairs.first))
    for some, most, _ in pairs.excess(np.arange(len(found)), levels, points):
        found[some] = most
    return found


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_grids_hold_and_become_close(seed: int, zeros: bool) -> None:
    channels, counts = [channel(seed, 3, zeros), channel(seed + 9, 3, False, 3)], (2, 1)
    exact = [[[Fraction(float(entry)) for entry in row] for row in one] for one in channels]
    pairs = ManyPairs(channels, counts, *every_pair(3), silent)
    for level in (0.0, 0.3, 1.0, 2.5, 5.0):
        truth = [
            exceeded([exact[0], exact[0], exact[1]], int(x), int(other), level, 1.0)
            for x, other in zip(pairs.first, pairs.second, strict=True)
        ]
        levels = np.full(len(truth), level)
        for points, close, less in ((8, 0.5, 0.03), (512, 1e-3, 1e-6)):
            found = bounds(pairs, levels, points)
            assert all(Fraction(most) >= least for most, least in zip(found.tolist(), truth, strict=True))
            assert all(most <= float(least) * (1 + close) + less for most, least in zip(found, truth, strict=True))
        # at the largest sum of losses nothing is exceeded
        assert all(least == 0 for most, least in zip(pairs.most, truth, strict=True) if most <= level)


def test_a_small_excess_is_not_lost_in_the_transform() -> None:
    rows = np.array([[0.1, 0.9], [1e-3, 0.999]])
    pairs = ManyPairs([rows], (40,), *every_pair(2), silent)
    level = 30 * float(np.log(100.0))
    below = sum_losses([(rows[0], rows[1])], (40,), largest_finite_loss(*rows) / 512, "below").delta(level)
    assert 0 < below <= bounds(pairs, np.array([level, level]), 512)[0] < 1.2 * below < 1e-18


def test_the_window_of_many_releases_holds_all_that_counts() -> None:
    rows = channel(4, 2, False, 5)
    pairs = ManyPairs([rows], (600,), *every_pair(2), silent)
    step = largest_finite_loss(*rows) / 8
    for deviation in (-2.0, 0.0, 3.0, 6.0):
        losses = np.log(rows[0] / rows[1])
        mean = float(rows[0] @ losses)
        level = 600 * mean + deviation * float(np.sqrt(600 * (rows[0] @ (losses - mean) ** 2)))
        above, below = (
            sum_losses([(rows[0], rows[1])], (600,), step, side).delta(level) for side in ("above", "below")
        )
        found = bounds(pairs, np.array([level, level]), 8)[0]
        assert below <= found <= above * (1 + 1e-6)
        assert found >= above * (1 - 1e-6)  # the same grid


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("scale", [1.0, 60.0])
def test_bounds_by_moments_hold(scale: float, zeros: bool) -> None:
    size, count = 20, 3
    rows = channel(5, size, zeros, 6)
    rows = np.where(rows > 0, rows**scale, 0.0)  # with probabilities down to 1e-180
    rows /= rows.sum(axis=1, keepdims=True)
    pairs = ManyPairs([rows], (count,), *every_pair(size), silent)
    assert len(pairs.first) > 16 * size
    levels = 0.4 * np.minimum(pairs.most, 40.0)
    upper = np.ones(len(levels))
    for tilt, moments, infinite in pairs.by_moments(lambda tilt, constant: True, silent):
        upper = np.fmin(upper, infinite + np.exp(np.minimum(moments - tilt * levels, 0.0)))
    for place in range(0, len(levels), 7):
        pair = rows[pairs.first[place]], rows[pairs.second[place]]
        step = (largest_finite_loss(*pair) or 1.0) / 64
        assert sum_losses([pair], (count,), step, "below").delta(float(levels[place])) <= upper[place]
    assert (upper < 1).mean() > 0.1


def test_largest_losses_are_alike_one_by_one_and_together() -> None:
    rows = channel(6, 20, True, 5)
    first, second = every_pair(20)
    together = ManyPairs([rows], (1,), first, second, silent)
    few = ManyPairs([rows], (1,), first[:50], second[:50], silent)
    assert np.array_equal(np.isinf(together.most[:50]), np.isinf(few.most))
    finite = np.isfinite(few.most)
    assert together.most[:50][finite] == pytest.approx(few.most[finite], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("counts", [(1, 1), (6, 2)])
@pytest.mark.parametrize("pairs", ["all", "adjacent"])
def test_the_worst_of_many_pairs_is_that_of_each(pairs: str, counts: tuple[int, int]) -> None:
    space = dx.line(20)
    weights = np.random.default_rng(3).gamma(0.5, size=20) + 0.01
    rows = weights * np.exp(-0.25 * space.distances)
    skewed = dx.Mechanism.from_matrix(space, rows / rows.sum(axis=1, keepdims=True))
    mechanisms = [skewed, dx.classic.randomised_response(space, epsilon=0.2, delta=0.01)]
    found = dx.compose(mechanisms, counts, pairs=pairs)
    bound = [(x, o) for x in range(20) for o in range(20) if x != o and (pairs == "all" or abs(x - o) == 1)]
    for level in (0.05, 0.5, 1.0):
        least, most = 0.0, 0.0
        for x, other in bound:
            given = [(one.matrix[x], one.matrix[other]) for one in mechanisms]
            step = max(largest_finite_loss(*pair) for pair in given) / 64
            distance = abs(x - other)
            least = max(least, sum_losses(given, counts, step, "below").delta(level * distance))
            most = max(most, sum_losses(given, counts, step, "above").delta(level * distance))
        answer = found.delta(level)
        assert answer.least <= most * (1 + 1e-9) and least <= answer.delta * (1 + 1e-9)
        assert answer.least <= answer.delta <= most * (1 + 1e-3) + 1e-12
        if answer.delta < 1:
            assert found.epsilon(answer.delta).least <= level * (1 + 1e-9)


def test_501_counts_and_12_releases() -> None:
    lines: list[str] = []
    composition = dx.compose(dx.classic.geometric(dx.line(501), epsilon=0.1), 12, progress=lines.append)
    answer = composition.epsilon(1e-6)
    assert 1.1999 < answer.least <= answer.epsilon <= 1.2 * (1 + 1e-10)
    assert composition.delta(0.6).delta > 0.999
    assert lines


def test_the_same_release_is_one_mechanism() -> None:
    mechanism = dx.classic.geometric(dx.line(4), epsilon=0.5)
    again = dx.Mechanism.from_matrix(mechanism.space, mechanism.matrix)
    composition = dx.compose([mechanism, again, mechanism], [1, 2, 3])
    assert (len(composition.channels), composition.counts) == (1, (6,))
    assert composition.delta(1.0).delta == dx.compose(mechanism, 6).delta(1.0).delta


def test_too_many_pairs_are_refused_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composing, "MOST_PAIRS", 40)
    mechanism, other = (dx.classic.geometric(dx.line(5), epsilon=epsilon) for epsilon in (0.5, 1.0))
    dx.compose([mechanism, mechanism])
    with pytest.raises(dx.UnsupportedError, match=r"^mechanisms: have 50 pairs of 5 secrets"):
        dx.compose([mechanism, other])


def test_what_is_no_progress_is_refused() -> None:
    with pytest.raises(dx.SpecError, match=r"^progress: "):
        dx.compose(dx.classic.geometric(dx.line(3), epsilon=1.0), progress="bar")  # pyright: ignore[reportArgumentType]
