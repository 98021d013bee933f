"""What a mechanism is worth, against sums written out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.analysis import evaluate


@pytest.fixture
def space() -> dx.MetricSpace:
    return dx.line(3)


@pytest.fixture
def prior(space: dx.MetricSpace) -> dx.Prior:
    return dx.Prior.from_weights(space, [2, 1, 1])


@pytest.fixture
def mechanism(space: dx.MetricSpace) -> dx.Mechanism:
    matrix = [[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]]
    return dx.Mechanism.from_matrix(space, matrix)


@pytest.mark.parametrize(
    "measure",
    [
        lambda matrix: dx.evaluate.expected_loss(matrix, "uniform"),
        lambda matrix: dx.evaluate.utility(matrix, "uniform"),
        lambda matrix: dx.evaluate.worst_loss(matrix),
        lambda matrix: dx.evaluate.min_entropy_leakage(matrix, "uniform"),
        lambda matrix: dx.evaluate.optimal_remap(matrix, "uniform"),
        lambda matrix: dx.evaluate.adversary_error(matrix, "uniform"),
        lambda matrix: dx.evaluate.refines(matrix, matrix),
    ],
)
def test_a_matrix_is_refused_with_what_makes_a_mechanism_of_it(measure: Callable[[Any], Any]) -> None:
    with pytest.raises(dx.SpecError, match=r"^mechanism: "):
        measure(np.eye(3))


def test_expected_loss(mechanism: dx.Mechanism, prior: dx.Prior) -> None:
    assert evaluate.expected_loss(mechanism, prior, "distance") == pytest.approx(0.5 * 0.5 + 0.25 * 0.5 + 0.25 * 0.25)
    assert evaluate.expected_loss(mechanism, prior, "binary") == pytest.approx(1 - 0.25 - 0.125 - 0.1875)
    assert evaluate.expected_loss(mechanism, prior, "squared") == pytest.approx(0.25 + 0.125 + 0.0625)
    assert evaluate.expected_loss(mechanism, prior, -np.ones((3, 3))) == pytest.approx(-1.0)


def test_expected_loss_where_losses_are_infinite(mechanism: dx.Mechanism, prior: dx.Prior) -> None:
    never_paid = np.array([[1.0, 1.0, np.inf], [1.0, 1.0, 1.0], [np.inf, 1.0, 1.0]])
    assert evaluate.expected_loss(mechanism, prior, never_paid) == pytest.approx(1.0)
    paid = never_paid.copy()
    paid[0, 0] = np.inf
    assert evaluate.expected_loss(mechanism, prior, paid) == math.inf
    elsewhere = dx.Prior.from_weights(mechanism.space, [0, 1, 1])
    assert evaluate.expected_loss(mechanism, elsewhere, paid) == pytest.approx(1.0)


def test_worst_loss(mechanism: dx.Mechanism) -> None:
    assert evaluate.worst_loss(mechanism, "distance") == pytest.approx(0.5)
    assert evaluate.worst_loss(mechanism, "binary") == pytest.approx(0.5)
    assert evaluate.worst_loss(mechanism, np.array([[0, 0, 9], [0, 0, 1], [0, 0, 0]])) == pytest.approx(0.25)


def test_infinite_losses_count_where_they_may_happen(mechanism: dx.Mechanism) -> None:
    """Rows: (½, ½, 0) from 0, (¼, ½, ¼) from 1, (0, ¼, ¾) from 2."""
    never = [[0, 0, math.inf], [0, 1, 2], [math.inf, 4, 0]]
    assert evaluate.worst_loss(mechanism, never) == pytest.approx(1.0)
    assert evaluate.worst_loss(mechanism, [[0, 0, math.inf], [0, math.inf, 0], [0, 0, 0]]) == math.inf


def test_utility_and_leakage(mechanism: dx.Mechanism, prior: dx.Prior) -> None:
    best = 0.25 + 0.25 + 0.1875  # the likeliest secret behind each report
    assert evaluate.utility(mechanism, prior) == pytest.approx(best)
    assert evaluate.min_entropy_leakage(mechanism, prior) == pytest.approx(math.log2(best / 0.5))
    near = 0.25 + (0.25 - 0.0625) + 0.1875  # gain 1 - d: guess 0, 0 and 2
    assert evaluate.utility(mechanism, prior, 1.0 - mechanism.space.distances) == pytest.approx(near)


def test_leakage_of_the_extremes(space: dx.MetricSpace, prior: dx.Prior) -> None:
    reports = dx.Reports.of(space)
    telling = dx.Mechanism.from_matrix(space, np.eye(3), reports)
    silent = dx.Mechanism.from_matrix(space, np.full((3, 3), 1 / 3), reports)
    uniform = dx.Prior.uniform(space)
    assert evaluate.min_entropy_leakage(telling, uniform) == pytest.approx(math.log2(3))
    assert evaluate.min_entropy_leakage(telling, prior) == pytest.approx(1.0)
    for each in (uniform, prior):
        assert evaluate.min_entropy_leakage(silent, each) == pytest.approx(0.0)
    assert evaluate.adversary_error(telling, prior) == pytest.approx(0.0)
    assert evaluate.adversary_error(silent, prior) == pytest.approx(0.75)


def test_optimal_remap_and_adversary(mechanism: dx.Mechanism, prior: dx.Prior) -> None:
    joint = prior.probabilities[:, None] * mechanism.matrix
    losses = np.abs(np.arange(3)[:, None] - np.arange(3)[None, :])
    for loss in ("distance", losses):
        remap = evaluate.optimal_remap(mechanism, prior, loss)
        best = [min(sum(joint[x, z] * losses[x, w] for x in range(3)) for w in range(3)) for z in range(3)]
        paid = [sum(joint[x, z] * losses[x, remap[z]] for x in range(3)) for z in range(3)]
        assert paid == pytest.approx(best)
        assert evaluate.adversary_error(mechanism, prior, loss) == pytest.approx(sum(best))
        assert evaluate.expected_loss(mechanism.remap(remap), prior, "distance") == pytest.approx(sum(best))
    assert evaluate.optimal_remap(mechanism, prior, "binary").tolist() == [0, 0, 2]


def test_remap_avoids_infinite_losses(mechanism: dx.Mechanism, prior: dx.Prior) -> None:
    loss = np.array([[np.inf, 5.0, 1.0], [0.0, 5.0, np.inf], [0.0, 5.0, np.inf]])
    assert evaluate.optimal_remap(mechanism, prior, loss).tolist() == [1, 1, 0]


def test_optimal_mechanisms_need_no_remap() -> None:
    space = dx.line(6)
    prior = dx.Prior.from_weights(space, [1, 2, 3, 1, 5, 1])
    report = dx.solve(dx.Problem(space, epsilon=0.8, prior=prior))
    assert evaluate.adversary_error(report.mechanism, prior) == pytest.approx(report.certificate.value, abs=1e-6)
    assert evaluate.expected_loss(report.mechanism, prior, "distance") == pytest.approx(report.certificate.value)


def test_bad_input(mechanism: dx.Mechanism, prior: dx.Prior) -> None:
    other = dx.Prior.uniform(dx.line(4))
    with pytest.raises(dx.SpecError, match="prior"):
        evaluate.expected_loss(mechanism, other, "distance")
    with pytest.raises(dx.SpecError, match="loss"):
        evaluate.expected_loss(mechanism, prior, np.ones((3, 2)))
    with pytest.raises(dx.SpecError, match="gain"):
        evaluate.utility(mechanism, prior, "quadratic")
    with pytest.raises(dx.SpecError, match="loss"):
        evaluate.worst_loss(mechanism, "nonsense")


def test_the_smallest_alpha_is_a_quantile_of_the_worst_secret(mechanism: dx.Mechanism) -> None:
    """Rows: (½, ½, 0) from 0, (¼, ½, ¼) from 1, (0, ¼, ¾) from 2."""
    assert evaluate.smallest_alpha(mechanism, 0.0) == 1.0
    assert evaluate.smallest_alpha(mechanism, 0.49) == 1.0
    assert evaluate.smallest_alpha(mechanism, 0.5) == 0.0
    assert evaluate.smallest_alpha(mechanism, 0.3, "squared") == 1.0
    far = dx.classic.geometric(dx.line(30), epsilon=0.3)
    for delta in (0.0, 0.01, 0.1, 0.5, 0.9):
        alpha = evaluate.smallest_alpha(far, delta)
        assert evaluate.usefulness(far, alpha).min() >= 1 - delta - 1e-8
        assert alpha == 0 or evaluate.usefulness(far, alpha - 0.5).min() < 1 - delta
    with pytest.raises(dx.SpecError, match="delta"):
        evaluate.smallest_alpha(mechanism, 1.0)


def test_usefulness_against_alpha(mechanism: dx.Mechanism, prior: dx.Prior) -> None:
    assert evaluate.usefulness_curve(mechanism, [0, 0.5, 1, 2]) == pytest.approx([0.5, 0.5, 1, 1])
    on_average = evaluate.usefulness_curve(mechanism, [0, 1], prior=prior)
    assert on_average == pytest.approx([0.5 * 0.5 + 0.25 * 0.5 + 0.25 * 0.75, 1.0])
    with pytest.raises(dx.SpecError, match="alpha"):
        evaluate.usefulness_curve(mechanism, [math.nan])
    with pytest.raises(dx.SpecError, match="prior"):
        evaluate.usefulness_curve(mechanism, [1.0], prior=dx.Prior.uniform(dx.line(2)))


def test_an_error_is_infinite_where_every_guess_may_be_infinitely_far(
    mechanism: dx.Mechanism, prior: dx.Prior
) -> None:
    losses = np.where(np.eye(3) > 0, 0.0, np.inf)
    assert evaluate.adversary_error(mechanism, prior, losses) == np.inf
    certain = dx.Prior.from_weights(mechanism.space, [0, 1, 0])
    assert evaluate.adversary_error(mechanism, certain, losses) == 0.0
    assert evaluate.optimal_remap(mechanism, certain, losses).tolist() == [1, 1, 1]


def test_a_guess_is_infinitely_far_however_unlikely_that_is() -> None:
    mechanism = dx.Mechanism.from_matrix(dx.line(3), np.full((3, 3), 1 / 3))
    losses = np.array([[np.inf, 9.0], [0.0, 9.0], [0.0, 9.0]])
    unlikely = dx.Prior.from_weights(mechanism.space, [1e-290, 0.5, 0.5])
    assert evaluate.adversary_error(mechanism, unlikely, losses) == pytest.approx(9.0)


def test_the_smallest_alpha_of_rows_that_are_short_of_1() -> None:
    """By all that a matrix may be, and by what its sum loses where entries are added one after another."""
    rng = np.random.default_rng(1)
    reports = dx.Reports(tuple(map(str, range(10_000))))
    found = []
    for _ in range(5):
        row = rng.random(10_000)
        row *= (1 - 1e-9 + 1e-15) / math.fsum(row)
        mechanism = dx.Mechanism.from_matrix(dx.line(1), row[None], reports)
        assert dx.evaluate.smallest_alpha(mechanism, 0.0, np.arange(1e4)[None]) == 9999
        found.append(row.cumsum()[-1] < 1 - 1e-9)
    assert any(found)


@pytest.mark.parametrize("size", [3, 6, 7, 11, 49])
def test_rounding_leaves_no_leakage_below_0(size: int) -> None:
    space = dx.line(size)
    for short in (0.0, 1e-16, 4e-16):
        silent = dx.Mechanism.from_matrix(space, np.full((size, size), (1 - short) / size))
        assert 0 <= evaluate.min_entropy_leakage(silent, "uniform") <= 1e-14
