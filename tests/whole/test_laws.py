"""What must hold for every problem, whatever its numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxopt as dx
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.duals import Dual
from tests.judges.oracle import best_channel, optimum
from tests.material.checks import assert_proven
from tests.material.instances import KINDS, problem_of

few = settings(max_examples=25, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 10**6)
kinds = st.sampled_from(KINDS)
CLOSE = 1e-7


def of_distances(
    distances: np.ndarray, epsilon: float, prior: np.ndarray, loss: np.ndarray, reports: dx.Reports | None = None
) -> dx.Problem:
    space = dx.MetricSpace.from_distances(distances, close=True)
    return dx.Problem(space, epsilon=epsilon, prior=dx.Prior.from_weights(space, prior), loss=loss, reports=reports)


def known(problem: dx.Problem) -> float:
    return optimum(problem.space.distances, problem.epsilon, problem.prior.probabilities, np.array(problem.losses))


@few
@given(seeds, kinds)
def test_relabelling_changes_nothing(seed: int, kind: str) -> None:
    problem = problem_of(kind, seed)
    generator = np.random.default_rng(seed)
    secrets = generator.permutation(problem.shape[0])
    reports = generator.permutation(problem.shape[1])
    other = of_distances(
        problem.space.distances[np.ix_(secrets, secrets)],
        problem.epsilon,
        problem.prior.probabilities[secrets],
        problem.losses[np.ix_(secrets, reports)],
    )
    first, second = (dx.solve(each, method="optimal").certificate for each in (problem, other))
    assert first.value == pytest.approx(second.value, abs=CLOSE)
    assert first.bound <= second.value
    assert second.bound <= first.value


@few
@given(seeds, kinds, st.floats(0.1, 10))
def test_only_the_product_of_level_and_distance_counts(seed: int, kind: str, factor: float) -> None:
    problem = problem_of(kind, seed)
    scaled = of_distances(
        factor * problem.space.distances,
        problem.epsilon / factor,
        problem.prior.probabilities,
        np.array(problem.losses),
    )
    first, second = (dx.solve(each, method="optimal").certificate for each in (problem, scaled))
    assert first.value == pytest.approx(second.value, abs=CLOSE)


@few
@given(seeds, kinds, st.floats(1.01, 4))
def test_loss_falls_with_the_level(seed: int, kind: str, factor: float) -> None:
    problem = problem_of(kind, seed)
    looser = dx.Problem(problem.space, epsilon=factor * problem.epsilon, prior=problem.prior, loss=problem.loss)
    strict, loose = (dx.solve(each, method="optimal") for each in (problem, looser))
    assert loose.certificate.value <= strict.certificate.value + CLOSE
    assert loose.certificate.bound <= strict.certificate.value


@few
@given(seeds, kinds)
def test_post_processing_never_raises_leakage(seed: int, kind: str) -> None:
    problem = problem_of(kind, seed)
    generator = np.random.default_rng(seed)
    mechanism = dx.solve(problem, method="optimal").mechanism
    reports = len(problem.reports)
    before = dx.evaluate.min_entropy_leakage(mechanism, problem.prior)
    remapped = mechanism.remap(generator.integers(0, reports, reports))
    composed = mechanism.compose(generator.dirichlet(np.ones(3), reports))
    for processed in (remapped, composed):
        assert dx.evaluate.min_entropy_leakage(processed, problem.prior) <= before + 1e-9
    assert before >= -1e-9


def closed(columns: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """The least columns above the given ones in the cone; `factors` are closed, so one pass does it."""
    return (factors[:, :, None] * columns[:, None, :]).max(axis=0)


def random_channel(problem: dx.Problem, generator: np.random.Generator) -> np.ndarray:
    """Columns of the cone, with what is missing in each row given to one report as far as the cone allows it."""
    size, reports = problem.shape
    factors = np.exp(-problem.epsilon * np.array(problem.space.distances))
    columns = closed(generator.random((size, reports)) ** 3, factors)
    share = 1 / columns.sum(axis=1).max()
    for _ in range(60):
        missing = 1 - share * columns.sum(axis=1)
        if (missing[None, :] >= factors * missing[:, None] - 1e-15).all():
            channel = share * columns
            channel[:, generator.integers(reports)] += missing
            return channel
        share *= 0.7
    return np.full((size, reports), 1 / reports)


@few
@given(seeds, kinds)
def test_no_private_channel_beats_the_bound(seed: int, kind: str) -> None:
    problem = problem_of(kind, seed)
    generator = np.random.default_rng(seed)
    bound = dx.solve(problem, method="optimal").certificate.bound
    costs = problem.prior.probabilities[:, None] * problem.losses
    for _ in range(5):
        channel = random_channel(problem, generator)
        assert channel.sum(axis=1) == pytest.approx(1.0)
        assert float((costs * channel).sum()) >= bound - 1e-9
    reports = len(problem.reports)
    processed = random_channel(problem, generator) @ generator.dirichlet(np.ones(reports), reports)
    assert float((costs * processed).sum()) >= bound - 1e-9
    if problem.reports.secrets:
        exponential = dx.solve(problem, method="exponential")
        assert_proven(exponential)
        assert exponential.certificate.value >= bound


@few
@given(seeds, kinds, st.sampled_from([1.0, 1.2, 1.6, 3.0]), st.sampled_from(["clarabel", "columns"]))
def test_spanner_is_safe_and_its_bound_true(seed: int, kind: str, dilation: float, solver: str) -> None:
    problem = problem_of(kind, seed)
    value = known(problem)
    report = dx.solve(problem, solver=solver, spanner=dilation)
    assert_proven(report)
    assert report.certificate.value >= value - 1e-9
    assert report.certificate.bound <= value + 1e-9
    if dilation == 1.0:
        assert report.certificate.value == pytest.approx(value, abs=1e-5)


def random_dual(problem: dx.Problem, generator: np.random.Generator, size: int) -> Dual:
    secrets, reports = problem.shape
    return Dual(
        generator.normal(size=secrets),
        generator.integers(0, reports, size),
        generator.integers(0, secrets, size),
        generator.integers(0, secrets, size),
        generator.exponential(size=size) * 10.0 ** generator.integers(-6, 2),
    )


@few
@given(seeds, kinds, st.integers(0, 60))
def test_any_multipliers_prove_a_bound(seed: int, kind: str, size: int) -> None:
    problem = problem_of(kind, seed)
    generator = np.random.default_rng(seed)
    value = known(problem)
    assert proven_bound(problem, None)[0] <= value + 1e-9
    for _ in range(4):
        assert proven_bound(problem, random_dual(problem, generator, size))[0] <= value + 1e-9


@few
@given(seeds, kinds)
def test_negative_and_meaningless_multipliers_count_for_nothing(seed: int, kind: str) -> None:
    problem = problem_of(kind, seed)
    dual = random_dual(problem, np.random.default_rng(seed), 12)
    spoilt = dual.multiplier.copy()
    spoilt[::3], spoilt[1::3], spoilt[2::3] = -1.0, np.nan, np.inf
    useless = Dual(dual.prices, dual.report, dual.first, dual.second, spoilt)
    assert proven_bound(problem, useless)[0] == pytest.approx(proven_bound(problem, None)[0], abs=1e-12)


@few
@given(seeds, kinds)
def test_bound_is_sharp_at_the_optimum(seed: int, kind: str) -> None:
    problem = problem_of(kind, seed)
    value, channel = best_channel(
        problem.space.distances, problem.epsilon, problem.prior.probabilities, np.array(problem.losses)
    )
    report = dx.solve(problem, method="optimal")
    dual = report.dual
    bound = proven_bound(problem, dual)[0]
    assert bound == report.certificate.bound
    assert report.certificate.bound >= value - CLOSE
    assert channel.shape == report.mechanism.matrix.shape
