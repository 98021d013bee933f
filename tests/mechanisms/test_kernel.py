"""Implicit mechanisms: private in exact arithmetic, rows, draws and evaluations all of one and the same matrix."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

import dxopt as dx
from dxopt.mechanisms.kernel import KernelMechanism, epsilon_of_weights, kernel_mechanism
from dxopt.mechanisms.tight import tight_constraints
from dxopt.model.loss import Loss
from dxopt.spaces.kernels.systems import system
from tests.judges.exact import infinite_leakage, row_sum_errors, violations
from tests.material.checks import ROW_SUM_ERROR
from tests.material.structured import SINGULAR, SPACES

Array = NDArray[np.float64]
NAMES = [name for name in SPACES if name not in SINGULAR]
LEAST_EXPECTED = 5.0
UNLIKELY = 1e-4


@cache
def mechanism(name: str) -> KernelMechanism:
    found = tight_constraints(*SPACES[name])
    assert isinstance(found, KernelMechanism)
    return found


@cache
def million() -> KernelMechanism:
    found = tight_constraints(dx.grid((1000, 1000)), 0.8)
    assert isinstance(found, KernelMechanism)
    return found


def likelihood(drawn: NDArray[np.int64], probabilities: Array) -> float:
    """The probability of a fit as bad as this, by chi-square; cells with few expected draws are pooled."""
    observed, expected = np.bincount(drawn, minlength=len(probabilities)), len(drawn) * probabilities
    assert not observed[probabilities == 0].any()
    large = expected >= LEAST_EXPECTED
    seen, awaited = observed[large], expected[large]
    if expected[~large].sum() >= LEAST_EXPECTED:
        seen, awaited = np.append(seen, observed[~large].sum()), np.append(awaited, expected[~large].sum())
    else:
        assert observed[~large].sum() <= 6 * LEAST_EXPECTED
    return float(chi2.sf(((seen - awaited) ** 2 / awaited).sum(), len(seen) - 1)) if len(seen) > 1 else 1.0


@pytest.mark.parametrize("name", NAMES)
def test_private_in_exact_arithmetic(name: str) -> None:
    space, epsilon = SPACES[name]
    found = mechanism(name)
    matrix = found.matrix
    assert found.privacy is not None
    assert found.privacy.epsilon == epsilon
    assert "triangle inequality" in found.privacy.how
    assert (matrix >= 0).all()
    assert infinite_leakage(matrix, space.distances) == []
    assert violations(matrix, space.distances, epsilon) == []
    assert max(abs(error) for error in row_sum_errors(matrix)) <= ROW_SUM_ERROR


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_kernel_times_weights(name: str) -> None:
    space, epsilon = SPACES[name]
    matrix, weights = mechanism(name).matrix, mechanism(name).weights
    phi = np.exp(-epsilon * space.distances)
    assert phi @ weights == pytest.approx(np.ones(len(space)), abs=2e-8)
    assert matrix == pytest.approx(phi * weights, rel=1e-5, abs=2e-8)


@pytest.mark.parametrize("epsilon", [0.7, 1e-3])
def test_weights_that_are_far_off_are_made_up_for(epsilon: float) -> None:
    """What rows lack goes to one report in a private way, or there is no mechanism."""
    space = dx.line(6)
    lowered = epsilon_of_weights(space, epsilon, system(space, epsilon))
    kernel = system(space, lowered)
    weights = kernel.approximate(np.ones(6))
    for size in (1e-14, 1e-12, 1e-10, 1e-9):
        noise = 1 + size * np.array([1, -1, 1, -1, 1, -1])
        found = kernel_mechanism(space, epsilon, kernel, lowered, weights * noise)
        assert violations(found.matrix, space.distances, epsilon) == []
        assert max(abs(error) for error in row_sum_errors(found.matrix)) <= ROW_SUM_ERROR
    with pytest.raises(dx.UnsupportedError):
        kernel_mechanism(space, epsilon, kernel, lowered, weights * (1 + 1e-4 * np.arange(6)))


def test_points_too_close_for_doubles_are_refused() -> None:
    space = dx.MetricSpace.from_points([0.0, 1e-13, 1.0])
    with pytest.raises(dx.UnsupportedError, match="1e-13 apart"):
        epsilon_of_weights(space, 1.0, system(space, 1.0))


def test_no_entry_underflows() -> None:
    """Rows of a product reach e^-600, and weights 1e-27: an entry of 0 would be an infinite leak."""
    dense = dx.MetricSpace.from_points([0.0, 1e-5, 2e-5, 500.0])
    space = dx.product(*[dense] * 5, *[dx.MetricSpace.from_points([0.0, 1000.0])] * 7)
    found = tight_constraints(space, 1.0)
    assert found.row(index=len(space) - 1).min() > 1e-300


@pytest.mark.parametrize("name", NAMES)
def test_evaluations_agree_with_the_matrix(name: str) -> None:
    space, _ = SPACES[name]
    found, rng = mechanism(name), np.random.default_rng(2)
    explicit = dx.Mechanism.from_matrix(space, found.matrix)
    size = len(space)
    point = np.zeros(size)
    point[size // 2] = 1.0
    some = rng.random(size) * (rng.random(size) < 0.4)
    some[0] = 0.3
    names = ["binary"] if np.isinf(space.distances).any() else ["binary", "distance", "squared"]
    losses = [*names, rng.random((size, size)) - 0.3]
    for weights in (np.ones(size), rng.random(size), point, some):
        prior = dx.Prior.from_weights(space, weights)
        utility = dx.evaluate.utility(explicit, prior)
        assert dx.evaluate.utility(found, prior) == pytest.approx(utility, rel=1e-12)
        for loss in losses:
            expected = dx.evaluate.expected_loss(explicit, prior, loss)
            scale = max(1.0, float(space.distances.max()) ** 2) if isinstance(loss, str) else 1.0
            cost = dx.evaluate.expected_loss(found, prior, loss)
            assert cost == pytest.approx(expected, rel=1e-9, abs=1e-13 * min(scale, 1e3))
            assert cost >= 0 or not isinstance(loss, str)


def test_losses_of_other_points_are_not_taken_for_offsets() -> None:
    found, space = mechanism("euclidean"), SPACES["euclidean"][0]
    assert space.points is not None
    shuffled = dx.MetricSpace.from_points(np.random.default_rng(3).permutation(space.points))
    prior = dx.Prior.uniform(space)
    cost = dx.evaluate.expected_loss(found, prior, Loss.of("distance", shuffled))
    assert cost == pytest.approx((found.matrix * shuffled.distances).sum() / len(space))
    assert cost != pytest.approx(dx.evaluate.expected_loss(found, prior, "distance"), rel=0.1)


def test_long_lines_with_rounded_steps_are_evaluated_by_offset() -> None:
    tenths, ones = dx.line(60_000, step=0.1), dx.line(60_000)
    losses = [
        dx.evaluate.expected_loss(tight_constraints(space, level), dx.Prior.uniform(space), "distance")
        for space, level in ((tenths, 10.0), (ones, 1.0))
    ]
    ratio = np.exp(-1.0)
    assert losses[0] == pytest.approx(losses[1] / 10, rel=1e-7)
    assert losses[1] == pytest.approx(2 * ratio / (1 - ratio**2), rel=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_draws_follow_the_rows(name: str) -> None:
    found, size = mechanism(name), len(SPACES[name][0])
    for secret in sorted({0, size - 1, size // 2, size // 3, found.slack}):
        drawn = found.sample(index=secret, size=20_000, rng=np.random.default_rng([secret, 1]))
        assert likelihood(drawn, found.row(index=secret)) > UNLIKELY


@pytest.mark.parametrize("name", NAMES)
def test_draws_for_many_secrets_at_once(name: str) -> None:
    found, size = mechanism(name), len(SPACES[name][0])
    secrets = np.random.default_rng(1).integers(size, size=400)
    drawn = found.sample(index=secrets, size=100, rng=np.random.default_rng(2))
    assert drawn.shape == (400, 100)
    occurs = np.bincount(secrets, minlength=size) / 400
    assert likelihood(drawn.reshape(-1), occurs @ found.matrix) > UNLIKELY
    pairs = np.repeat(secrets, 100) * size + drawn.reshape(-1)
    assert likelihood(pairs, (occurs[:, None] * found.matrix).reshape(-1)) > UNLIKELY
    unseeded = found.sample(index=secrets[:5], size=2)
    assert unseeded.shape == (5, 2)
    assert ((unseeded >= 0) & (unseeded < size)).all()
    assert found.sample(index=0, size=0).shape == (0,)


def test_the_rest_of_a_row_is_drawn_too() -> None:
    found = mechanism("line")
    held_back = KernelMechanism(
        found.space, found.reports, found.weights * 0.6, found.epsilon, found.slack, found.name, found.privacy
    )
    drawn = held_back.sample(index=2, size=20_000, rng=np.random.default_rng(4))
    assert held_back.row(index=2)[held_back.slack] > 0.4
    assert likelihood(drawn, held_back.row(index=2)) > UNLIKELY


@pytest.mark.full
def test_a_million_locations() -> None:
    """ECP14 §7 at full size: the published utility, one row against a million draws of it."""
    found = million()
    space = found.space
    prior = dx.Prior.uniform(space)
    assert dx.evaluate.utility(found, prior) == pytest.approx(0.10053531, abs=1e-7)
    assert dx.evaluate.expected_loss(found, prior, "binary") == pytest.approx(1 - 0.10053531, abs=1e-7)
    secret = space.index("(500, 3)")
    row = found.row(index=secret)
    assert row.sum() == pytest.approx(1.0, abs=1e-12)
    assert row[secret] == row.max() == pytest.approx(found.weights[secret], rel=1e-6)
    assert likelihood(found.sample(index=secret, size=1_000_000, rng=np.random.default_rng(7)), row) > UNLIKELY


@pytest.mark.full
def test_a_million_secrets_at_once() -> None:
    """Within the interior all weights are alike, and offsets follow the kernel."""
    found, rng = million(), np.random.default_rng(8)
    reach, deep = 30, 100
    secrets = rng.integers(deep, 1000 - deep, size=(1_000_000, 2))
    drawn = found.sample(index=np.ravel_multi_index(tuple(secrets.T), (1000, 1000)), rng=rng)[:, 0]
    offset = np.stack(np.unravel_index(drawn, (1000, 1000)), axis=1) - secrets
    near = (np.abs(offset) <= reach).all(axis=1)
    steps = np.arange(-reach, reach + 1)
    kernel = np.exp(-0.8 * np.hypot(steps[:, None], steps[None, :]))
    expected = np.append(kernel.reshape(-1) * found.weights[500_500], 0.0)
    expected[-1] = 1 - expected.sum()
    cell = np.where(near, (offset[:, 0] + reach) * len(steps) + offset[:, 1] + reach, len(expected) - 1)
    assert likelihood(cell, expected) > UNLIKELY
