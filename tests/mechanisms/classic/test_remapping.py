"""Mechanisms followed by the best remap: private as before, never worse, and the optimum on a line."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxopt as dx
from dxopt.mechanisms.classic.catalogue import exponential, geometric, moved_to_nearest, remapped
from tests.judges.exact import infinite_leakage, violations
from tests.judges.oracle import optimum
from tests.material.checks import weights

AMOUNTS = st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0])


@st.composite
def monotone(draw: st.DrawFn) -> tuple[dx.MetricSpace, float, dx.Prior, np.ndarray]:
    """A line, a level, a prior, and a loss that only grows with the distance, at a pace of its own in each secret."""
    size = draw(st.integers(1, 6))
    step = draw(st.sampled_from([0.5, 1.0, 3.0]))
    space = dx.line(size, step=step)
    masses = draw(st.lists(st.sampled_from([0.0, 0.01, 1.0, 2.0, 5.0]), min_size=size, max_size=size))
    prior = dx.Prior.from_weights(space, masses if any(masses) else np.ones(size))
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    paces = np.array([draw(st.lists(AMOUNTS, min_size=size, max_size=size)) for _ in range(size)])
    loss = np.take_along_axis(paces.cumsum(axis=1) - paces[:, :1], apart, axis=1)
    return space, draw(st.floats(0.1, 2.0)) / step, prior, loss


@settings(max_examples=80, deadline=None)
@given(monotone())
def test_the_geometric_mechanism_remapped_is_the_optimum_on_a_line(
    asked: tuple[dx.MetricSpace, float, dx.Prior, np.ndarray],
) -> None:
    """Ghosh, Roughgarden and Sundararajan 2009, for every monotone loss."""
    space, epsilon, prior, loss = asked
    best = optimum(space.distances, epsilon, prior.probabilities, loss)
    mechanism = remapped(geometric(space, epsilon=epsilon), prior, loss)
    assert dx.evaluate.expected_loss(mechanism, prior, loss) == pytest.approx(best, abs=1e-7)


def test_not_every_mechanism_becomes_optimal() -> None:
    space = dx.line(5)
    prior = weights(space)
    best = optimum(space.distances, 0.8, prior.probabilities, space.distances)
    found = dx.evaluate.expected_loss(remapped(exponential(space, epsilon=0.8), prior), prior, "distance")
    assert found > best + 0.01


@pytest.mark.parametrize("loss", ["distance", "squared", "binary"])
def test_private_as_before_and_never_worse(loss: str) -> None:
    space = dx.grid((3, 3))
    prior, before = weights(space), exponential(space, epsilon=1.3)
    after = remapped(before, prior, loss)
    assert after.privacy is not None
    assert before.privacy is not None
    assert after.privacy.epsilon <= before.privacy.epsilon
    assert violations(after.matrix, space.distances, before.privacy.epsilon) == []
    assert infinite_leakage(after.matrix, space.distances) == []
    worth = dx.evaluate.expected_loss(after, prior, loss)
    assert worth < dx.evaluate.expected_loss(before, prior, loss)
    assert worth == pytest.approx(dx.evaluate.adversary_error(before, prior, loss), abs=1e-12)


def test_a_given_set_of_reports() -> None:
    space = dx.grid((3, 3))
    prior, before = weights(space), exponential(space, epsilon=1.3)
    points = np.array([[0.5, 0.5], [1.5, 1.0], [1.0, 1.5]])
    after = remapped(before, prior, "distance", reports=dx.Reports.at(points))
    assert len(after.reports) == 3
    apart = space.distances_to(points)
    joint = prior.probabilities[:, None] * before.matrix
    chosen = dx.evaluate.optimal_remap(before, prior, reports=dx.Reports.at(points))
    for report in range(9):
        assert chosen[report] == (joint[:, report] @ apart).argmin()
        assert (after.matrix[:, chosen[report]] >= before.matrix[:, report] - 1e-12).all()
    error = dx.evaluate.adversary_error(before, prior, guesses=dx.Reports.at(points))
    assert error == pytest.approx((joint.T @ apart).min(axis=1).sum(), abs=1e-12)


def test_delta_is_kept() -> None:
    space = dx.MetricSpace.from_points(["a", "b", "c"], "discrete")
    response = dx.classic.randomised_response(space, epsilon=0.5, delta=0.1)
    after = remapped(response, dx.Prior.from_weights(space, [5, 1, 1]), "binary")
    assert after.privacy is not None
    assert after.privacy.delta <= 0.1
    assert dx.evaluate.smallest_delta(after, 0.5) <= 0.1


def test_nothing_is_promised_of_what_was_not_proven() -> None:
    space = dx.line(2)
    with pytest.raises(dx.SpecError, match="no proof of privacy"):
        remapped(dx.Mechanism.from_matrix(space, np.eye(2)), dx.Prior.uniform(space))


def test_reports_are_moved_to_the_nearest() -> None:
    """From points between the secrets to the secrets, and to others: each column goes to one, private as before."""
    rng = np.random.default_rng(5)
    space = dx.MetricSpace.from_points(rng.normal(size=(6, 4)))
    fine = dx.Reports.at(rng.normal(size=(40, 4)))
    mechanism = exponential(space, epsilon=1.4, reports=fine)
    for targets, points in ((None, space.points), (dx.Reports.at(rng.normal(size=(3, 4)), "abc"), None)):
        moved = moved_to_nearest(mechanism, targets)
        places = np.asarray(points if targets is None else targets.points)
        expected = np.zeros((6, len(places)))
        for z, place in enumerate(np.asarray(fine.points)):
            expected[:, int(((places - place) ** 2).sum(axis=1).argmin())] += mechanism.matrix[:, z]
        assert moved.matrix == pytest.approx(expected, abs=1e-12)
        assert violations(moved.matrix, space.distances, 1.4) == []
        assert moved.privacy is not None and mechanism.privacy is not None
        assert moved.privacy.epsilon <= mechanism.privacy.epsilon
        assert moved.reports.secrets is (targets is None)


def test_moving_needs_a_proof_a_metric_and_coordinates() -> None:
    space = dx.MetricSpace.from_points([[0.0, 0.0], [1.0, 2.0]])
    proven = exponential(space, epsilon=1.0)
    with pytest.raises(dx.SpecError, match=r"^mechanism: "):
        moved_to_nearest(dx.Mechanism.from_matrix(space, np.eye(2)))
    with pytest.raises(dx.SpecError, match=r"^reports: "):
        moved_to_nearest(proven, dx.Reports.at([[1.0]]))
    with pytest.raises(dx.SpecError, match=r"^reports: "):
        moved_to_nearest(proven, dx.Reports("ab"))
    given = exponential(dx.MetricSpace.from_distances([[0, 1], [1, 0]]), epsilon=1.0)
    with pytest.raises(dx.SpecError, match=r"^space: "):
        moved_to_nearest(given)


def test_a_mechanism_that_is_private_at_0_can_be_remapped() -> None:
    space = dx.line(1)
    alone = geometric(space, epsilon=1.0)
    assert alone.privacy is not None
    assert alone.privacy.epsilon < 1e-300
    assert remapped(alone, dx.Prior.uniform(space), "distance").matrix.tolist() == [[1.0]]
