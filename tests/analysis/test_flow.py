"""Hypers and what reports leak by them, beside exact rationals, brute force, and libqif where it is installed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import dxopt as dx


def _random(seed: int, size: int = 4, reports: int = 6) -> tuple[dx.Mechanism, np.ndarray]:
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(reports, 0.5), size)
    matrix[:, -1] = 0.0
    matrix[:, -2] = 2 * matrix[:, 0]  # the same posterior as the first
    matrix /= matrix.sum(axis=1, keepdims=True)
    prior = rng.dirichlet(np.ones(size))
    if seed % 2:
        prior[1] = 0.0
        prior /= prior.sum()
    names = dx.Reports(tuple(map(str, range(reports))))
    return dx.Mechanism.from_matrix(dx.line(size), matrix, names), prior


@pytest.mark.parametrize("seed", range(6))
def test_hypers_are_what_reports_lead_to(seed: int) -> None:
    mechanism, prior = _random(seed)
    found = dx.flow.hyper(mechanism, prior)
    joint = [
        [Fraction(p) * Fraction(k) for k in row] for p, row in zip(prior, mechanism.matrix.tolist(), strict=True)
    ]
    reached = {report for group in found.reports for report in group}
    assert reached == {0, 1, 2, 3, 4}
    assert (0, 4) in found.reports
    for outer, inner, group in zip(found.outer, found.inner, found.reports, strict=True):
        mass = sum(row[report] for row in joint for report in group)
        assert outer == pytest.approx(float(mass), rel=1e-12)
        for x, row in enumerate(joint):
            assert inner[x] == pytest.approx(float(sum(row[report] for report in group) / mass), rel=1e-9, abs=1e-15)
    assert found.outer.sum() == pytest.approx(1)
    assert found.outer @ found.inner == pytest.approx(prior)


@pytest.mark.parametrize("seed", range(6))
def test_leakages_by_their_definitions(seed: int) -> None:
    mechanism, prior = _random(seed)
    joint = prior[:, None] * mechanism.matrix
    likely = joint.sum(axis=0)
    information = sum(
        joint[x, z] * math.log2(joint[x, z] / (prior[x] * likely[z]))
        for x, z in itertools.product(*map(range, joint.shape))
        if joint[x, z] > 0
    )
    assert dx.flow.shannon_leakage(mechanism, prior) == pytest.approx(information, abs=1e-12)

    def guesses(masses: np.ndarray) -> float:
        # the best of all orders
        return min(
            sum((place + 1) * masses[x] for place, x in enumerate(order))
            for order in itertools.permutations(range(len(masses)))
        )

    fewer = guesses(prior) - sum(guesses(joint[:, z]) for z in range(joint.shape[1]))
    assert dx.flow.guessing_leakage(mechanism, prior) == pytest.approx(fewer, abs=1e-12)
    found = dx.flow.hyper(mechanism, prior)
    assert found.vulnerability() == pytest.approx(dx.evaluate.utility(mechanism, prior), rel=1e-12)
    gain = np.random.default_rng(seed).uniform(size=(4, 3))
    best = sum(max(gain[:, w] @ joint[:, z] for w in range(3)) for z in range(joint.shape[1]))
    assert found.vulnerability(gain) == pytest.approx(best, rel=1e-12)
    assert math.log2(found.vulnerability() / prior.max()) == pytest.approx(
        dx.evaluate.min_entropy_leakage(mechanism, prior), abs=1e-9
    )


@pytest.mark.parametrize("seed", range(6))
def test_pointwise_maximal_leakage_bounds_every_guess(seed: int) -> None:
    mechanism, prior = _random(seed)
    leaks = dx.flow.pointwise_maximal_leakage(mechanism, prior)
    likely = prior @ mechanism.matrix
    assert leaks[-1] == 0
    rng = np.random.default_rng(seed)
    most = np.zeros(len(leaks))
    for _ in range(2000):
        # a function of the secret, drawn; the gain of the best guess of it
        drawn = rng.dirichlet(np.full(5, 0.1), len(prior))
        before = (prior @ drawn).max()
        for z in np.flatnonzero(likely > 0):
            after = ((prior * mechanism.matrix[:, z] / likely[z]) @ drawn).max()
            most[z] = max(most[z], math.log2(after / before))
    assert (most <= leaks + 1e-9).all()
    # the mean of 2^leakage is that of the capacity
    mean = likely @ 2**leaks
    inside = dx.Mechanism.from_matrix(dx.line(int((prior > 0).sum())), mechanism.matrix[prior > 0], mechanism.reports)
    assert math.log2(mean) == pytest.approx(dx.evaluate.capacity(inside), rel=1e-9)


def test_what_privacy_bounds() -> None:
    space = dx.line(5)
    mechanism = dx.classic.geometric(space, epsilon=0.7)
    for prior in ("uniform", [0.9, 0.1, 0, 0, 0]):
        leaks = dx.flow.pointwise_maximal_leakage(mechanism, prior)
        assert leaks.max() <= 4 * 0.7 / math.log(2) + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_the_distance_of_hypers_is_a_program(seed: int) -> None:
    (one, prior), (other, _) = _random(seed), _random(seed + 10)
    first, second = dx.flow.hyper(one, prior), dx.flow.hyper(other, prior)

    def transport(supply: np.ndarray, demand: np.ndarray, costs: np.ndarray) -> float:
        # the dual: potentials whose sums are below the costs
        rows, columns = costs.shape
        bound = [
            [*(float(i == row) for i in range(rows)), *(float(j == column) for j in range(columns))]
            for row in range(rows)
            for column in range(columns)
        ]
        found = linprog(-np.concatenate([supply, demand]), A_ub=bound, b_ub=costs.ravel(), bounds=(None, None))
        return -found.fun

    variation = np.array([[np.abs(p - q).sum() / 2 for q in second.inner] for p in first.inner])
    assert dx.flow.kantorovich(first, second) == pytest.approx(
        transport(first.outer, second.outer, variation), abs=1e-9
    )
    # on a line the distance is the area between the sums
    ground = np.array([[np.abs(np.cumsum(p - q))[:-1].sum() for q in second.inner] for p in first.inner])
    by_distance = dx.flow.kantorovich(first, second, "kantorovich")
    assert by_distance == pytest.approx(transport(first.outer, second.outer, ground), abs=1e-8)
    assert dx.flow.kantorovich(first, second, ground) == pytest.approx(by_distance, abs=1e-8)
    assert dx.flow.kantorovich(first, second, lambda p, q: float(np.abs(p - q).sum() / 2)) == pytest.approx(
        dx.flow.kantorovich(first, second), abs=1e-9
    )
    assert dx.flow.kantorovich(first, first) == pytest.approx(0, abs=1e-12)
    # gains from 0 to 1 differ by no more
    for gain in np.random.default_rng(seed).uniform(size=(50, 4, 3)):
        assert (
            abs(first.vulnerability(gain) - second.vulnerability(gain)) <= dx.flow.kantorovich(first, second) + 1e-9
        )


def test_what_does_not_fit_is_refused() -> None:
    mechanism, prior = _random(0)
    found = dx.flow.hyper(mechanism, prior)
    elsewhere = dx.flow.hyper(dx.classic.geometric(dx.line(3), epsilon=1.0), "uniform")
    for call, field in (
        (lambda: dx.flow.kantorovich(found, elsewhere), "mechanisms"),
        (lambda: dx.flow.kantorovich(found, found, "euclidean"), "distance"),
        (lambda: dx.flow.kantorovich(found, found, [[1.0]]), "distance"),
        (lambda: dx.flow.kantorovich(found, mechanism), "hyper"),  # pyright: ignore[reportArgumentType]
        (lambda: dx.flow.hyper(mechanism, [0.5, 0.5]), "prior"),
        (lambda: found.vulnerability(np.full((4, 2), np.inf)), "gain"),
    ):
        with pytest.raises(dx.SpecError) as caught:
            call()
        assert caught.value.field == field


def test_the_same_as_libqif() -> None:
    qif = pytest.importorskip("qif")
    mechanism, prior = _random(2)
    channel, prior = np.ascontiguousarray(mechanism.matrix), np.ascontiguousarray(prior)
    found = dx.flow.hyper(mechanism, prior)
    assert qif.measure.bayes_vuln.posterior(prior, channel) == pytest.approx(found.vulnerability(), rel=1e-9)
    assert qif.measure.shannon.posterior(prior, channel) == pytest.approx(found.entropy, rel=1e-9)
    assert qif.measure.guessing.posterior(prior, channel) == pytest.approx(found.guesses, rel=1e-9)
