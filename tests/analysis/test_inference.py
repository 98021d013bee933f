"""Priors recovered from reports, and channels of least information: against closed forms and other optimisers."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

import dxopt as dx
from dxopt.analysis.inference import iterative_update, rate_distortion
from dxopt.runtime.stopping import Status
from tests.material.checks import weights
from tests.material.few import few


@pytest.fixture
def mechanism() -> dx.Mechanism:
    return dx.classic.exponential(dx.grid((2, 3)), epsilon=1.2)


def likelihood(mechanism: dx.Mechanism, shares: np.ndarray, prior: np.ndarray) -> float:
    return float(shares @ np.log(prior @ mechanism.matrix))


def test_expected_counts_give_the_prior_back(mechanism: dx.Mechanism) -> None:
    prior = weights(mechanism.space)
    found = iterative_update(mechanism, 1000 * prior.probabilities @ mechanism.matrix, tolerance=1e-12)
    assert found.status is Status.OPTIMAL
    assert found.prior.probabilities == pytest.approx(prior.probabilities, abs=1e-6)
    assert found.gap <= 1e-12


def test_the_gap_bounds_the_distance_from_the_largest_likelihood(mechanism: dx.Mechanism) -> None:
    counts = np.array([40, 1, 7, 0, 25, 3])
    best = iterative_update(mechanism, counts, tolerance=1e-11)
    shares = counts / counts.sum()

    def below(logits: np.ndarray) -> float:
        prior = np.exp(logits - logits.max())
        return -likelihood(mechanism, shares, prior / prior.sum())

    peer = min((minimize(below, start, method="BFGS") for start in np.zeros((1, 6))), key=lambda r: r.fun)
    assert best.log_likelihood == pytest.approx(-peer.fun, abs=1e-6)
    assert best.log_likelihood >= -peer.fun - 1e-11
    last = -math.inf
    for rounds in (0, 1, 5, 25, 125):
        early = iterative_update(mechanism, counts, tolerance=0, limit=rounds)
        assert (early.iterations, early.status) == (rounds, Status.FEASIBLE)
        assert best.log_likelihood <= early.log_likelihood + early.gap
        assert early.log_likelihood > last
        last = early.log_likelihood
        assert early.log_likelihood == pytest.approx(
            likelihood(mechanism, shares, early.prior.probabilities), abs=1e-14
        )


def test_a_start_rules_secrets_out(mechanism: dx.Mechanism) -> None:
    space = mechanism.space
    prior = dx.Prior.from_weights(space, [1, 2, 0, 0, 3, 1])
    start = dx.Prior.from_weights(space, [1, 1, 0, 0, 1, 1])
    found = iterative_update(mechanism, prior.probabilities @ mechanism.matrix, start=start, tolerance=1e-11)
    assert found.prior.probabilities == pytest.approx(prior.probabilities, abs=1e-5)
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("counts", [[1, 2, 3], [0] * 6, [1, 1, 1, 1, 1, -1], [1, 1, 1, 1, 1, math.nan], ["a"] * 6])
def test_counts_that_do_not_fit(mechanism: dx.Mechanism, counts: list) -> None:
    with pytest.raises(dx.SpecError) as refused:
        iterative_update(mechanism, counts)
    assert refused.value.field == "counts"


def test_a_report_that_no_secret_explains() -> None:
    space = dx.MetricSpace.from_distances([[0, np.inf], [np.inf, 0]], labels=["a", "b"])
    mechanism = dx.Mechanism.from_matrix(space, np.eye(2))
    with pytest.raises(dx.SpecError, match="report b was seen"):
        iterative_update(mechanism, [1, 1], start=dx.Prior.from_weights(space, [1, 0]))
    with pytest.raises(dx.SpecError, match=r"^start: "):
        iterative_update(mechanism, [1, 1], start=dx.Prior.uniform(dx.line(3)))


# channels of least information


def entropy(share: float) -> float:
    return -share * math.log2(share) - (1 - share) * math.log2(1 - share)


@pytest.mark.parametrize(("loss", "share"), [(0.05, 0.5), (0.2, 0.5), (0.1, 0.3), (0.25, 0.3)])
def test_a_coin_guessed_with_some_error(loss: float, share: float) -> None:
    """R(D) = h(p) - h(D) for Hamming distortion (Cover and Thomas, Theorem 10.3.1)."""
    coin = dx.line(2)
    found = rate_distortion(coin, dx.Prior.from_weights(coin, [share, 1 - share]), "binary", max_loss=loss)
    assert found.loss <= loss
    assert found.loss == pytest.approx(loss, rel=1e-8)
    least = entropy(share) - entropy(found.loss)
    assert found.bound - 1e-12 <= least <= found.rate + 1e-12
    assert found.rate == pytest.approx(least, abs=2e-6)


def information(prior: dx.Prior, matrix: np.ndarray) -> float:
    joint = prior.probabilities[:, None] * matrix
    product = prior.probabilities[:, None] * joint.sum(axis=0)
    return float(joint[joint > 0] @ np.log2(joint[joint > 0] / product[joint > 0]))


@pytest.mark.parametrize("seed", few(range(5)))
def test_no_channel_of_that_loss_says_less(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = dx.MetricSpace.from_points(rng.random((7, 2)))
    prior = dx.Prior.from_weights(space, rng.random(7) ** 2)
    found = rate_distortion(space, prior, slope=float(rng.uniform(0.5, 20)))
    assert found.rate == pytest.approx(information(prior, found.mechanism.matrix), abs=1e-12)
    assert found.loss == pytest.approx(dx.evaluate.expected_loss(found.mechanism, prior, "distance"), abs=1e-12)
    assert found.bound - 1e-12 <= found.rate <= found.bound + 2e-6
    for _ in range(200):
        mixed = found.mechanism.matrix * rng.random((7, 7)) ** rng.choice([0.05, 0.5, 3.0])
        mixed /= mixed.sum(axis=1, keepdims=True)
        other = dx.Mechanism.from_matrix(space, mixed)
        loss = dx.evaluate.expected_loss(other, prior, "distance")
        assert (
            information(prior, mixed) + found.slope * loss / math.log(2)
            >= found.bound + found.slope * (found.loss) / math.log(2) - 1e-9
        )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("steepness", [1e30, 1e299, 1e301, 1e308])
@pytest.mark.parametrize("largest", [1e-9, 1.0, 1e9])
def test_a_slope_is_refused_where_doubles_overflow(steepness: float, largest: float) -> None:
    space = dx.line(2, step=largest)
    if steepness * largest <= 1e300:
        assert rate_distortion(space, "uniform", slope=steepness).loss == 0
        return
    with pytest.raises(dx.SpecError) as refused:
        rate_distortion(space, "uniform", slope=steepness)
    assert refused.value.field == "slope"


def test_with_the_distance_it_is_private_at_twice_the_slope() -> None:
    space = dx.grid((3, 4))
    prior = weights(space)
    assert dx.evaluate.smallest_epsilon(rate_distortion(space, prior, slope=0.4).mechanism) <= 0.8 + 1e-9
    squared = rate_distortion(space, prior, "squared", slope=0.4).mechanism
    assert dx.evaluate.smallest_epsilon(squared) > 0.9


def test_reports_elsewhere_and_the_ends_of_the_curve() -> None:
    space = dx.line(3)
    prior = dx.Prior.from_weights(space, [2, 1, 1])
    halves = dx.Reports.at([[0.5], [1.5]])
    between = rate_distortion(space, prior, slope=3.0, reports=halves)
    assert between.mechanism.reports is halves
    nothing = rate_distortion(space, prior, max_loss=5.0)
    assert (nothing.rate, nothing.bound, nothing.loss) == (0.0, 0.0, 0.75)
    everything = rate_distortion(space, prior, max_loss=0.0)
    assert everything.rate == pytest.approx(1.5, abs=1e-6)


def test_what_is_asked_is_checked() -> None:
    space = dx.line(3)
    prior = dx.Prior.uniform(space)
    with pytest.raises(dx.SpecError, match="give one of the two"):
        rate_distortion(space, prior)
    with pytest.raises(dx.SpecError, match="give one of the two"):
        rate_distortion(space, prior, slope=1.0, max_loss=1.0)
    with pytest.raises(dx.SpecError, match=r"^slope: "):
        rate_distortion(space, prior, slope=-1.0)
    with pytest.raises(dx.SpecError, match="no channel has a loss below 0"):
        rate_distortion(space, prior, max_loss=-0.5)
    with pytest.raises(dx.SpecError, match=r"^max_loss: "):
        rate_distortion(space, prior, max_loss=math.nan)
    with pytest.raises(dx.SpecError, match="infinite"):
        rate_distortion(space, prior, np.full((3, 3), np.inf), slope=1.0)
    with pytest.raises(dx.SpecError, match=r"^prior: "):
        rate_distortion(dx.line(2), prior, slope=1.0)


@pytest.mark.parametrize("slope", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("least", [0.0, 1e-300])
def test_secrets_that_hardly_occur_say_the_nearest_report_that_is_said(least: float, slope: float) -> None:
    space = dx.MetricSpace.from_points([0.0, 100.0, 1e6])
    found = rate_distortion(space, dx.Prior.from_weights(space, [1.0, 1.0, least]), slope=slope)
    assert found.mechanism.row(index=2) == pytest.approx([0.0, 1.0, 0.0], abs=1e-12)
    assert found.mechanism.row(index=0) == pytest.approx([1.0, 0.0, 0.0], abs=1e-12)
    assert found.rate == pytest.approx(1.0, abs=1e-9)
    assert found.bound <= found.rate + 1e-9


def test_reports_that_no_secret_is_near_to_are_not_said() -> None:
    space = dx.line(2)
    reports = dx.Reports.at([[0.0], [1.0], [9.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rate_distortion(space, dx.Prior.uniform(space), slope=1e3, reports=reports)
    assert found.mechanism.matrix == pytest.approx(np.eye(2, 3), abs=1e-12)


def test_ctrl_c_keeps_what_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = iter([False] * 5)
    monkeypatch.setattr("dxopt.analysis.inference.Stop.requested", property(lambda stop: next(asked, True)))
    space = dx.grid((4, 4))
    found = rate_distortion(space, weights(space), slope=0.3, tolerance=0.0)
    assert (found.iterations, found.status) == (5, Status.INTERRUPTED)
    assert found.bound <= found.rate
    bounded = rate_distortion(space, weights(space), max_loss=0.5, tolerance=0.0)
    assert bounded.status is Status.INTERRUPTED
    monkeypatch.undo()
    assert rate_distortion(space, weights(space), slope=0.3, tolerance=0.0, limit=3).status is Status.FEASIBLE
    assert rate_distortion(space, weights(space), slope=0.3).status is Status.OPTIMAL
