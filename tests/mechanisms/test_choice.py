"""One of several mechanisms at random: rows written out, levels, and the order of seen and unseen choices."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx


@pytest.fixture
def both() -> list[dx.Mechanism]:
    space = dx.line(4)
    return [dx.classic.geometric(space, epsilon=0.7), dx.classic.exponential(space, epsilon=0.5)]


def test_rows_are_those_of_each_by_its_share(both: list[dx.Mechanism]) -> None:
    seen = dx.choice(both, [1, 3])
    unseen = dx.choice(both, [1, 3], visible=False)
    one, other = (each.matrix for each in both)
    np.testing.assert_allclose(seen.matrix, np.concatenate([one / 4, 3 * other / 4], axis=1), atol=1e-12)
    np.testing.assert_allclose(unseen.matrix, one / 4 + 3 * other / 4, atol=1e-12)
    assert seen.reports.labels[:5] == ("0: 0", "0: 1", "0: 2", "0: 3", "1: 0")
    assert unseen.reports.labels == both[0].reports.labels
    np.testing.assert_allclose(dx.choice(both).matrix[:, :4], one / 2, atol=1e-12)


def test_it_is_as_private_as_the_least_private_one(both: list[dx.Mechanism]) -> None:
    for made in (dx.choice(both), dx.choice(both, visible=False)):
        assert made.privacy is not None
        assert made.privacy.epsilon <= 0.7
        assert dx.evaluate.smallest_epsilon(made) <= 0.7 * (1 + 1e-12)
    relaxed = dx.classic.randomised_response(both[0].space, epsilon=0.7, delta=0.04)
    with_delta = dx.choice([both[0], relaxed], [3, 1], visible=False)
    assert with_delta.privacy is not None
    assert with_delta.privacy.delta <= 0.01 * (1 + 1e-9)
    assert dx.evaluate.smallest_delta(with_delta, 0.7) <= 0.01 * (1 + 1e-9)


def test_what_is_seen_refines_what_is_not(both: list[dx.Mechanism]) -> None:
    seen, unseen = dx.choice(both), dx.choice(both, visible=False)
    assert dx.evaluate.refines(seen, unseen).holds
    assert dx.evaluate.refines(unseen, seen).holds is False
    prior, gain = [0.1, 0.2, 0.3, 0.4], np.eye(4)
    after = [dx.evaluate.g_leakage(each, prior, gain).after for each in both]
    assert dx.evaluate.g_leakage(seen, prior, gain).after == pytest.approx(sum(after) / 2, abs=1e-12)
    assert dx.evaluate.refines(dx.together(both), seen).holds


def test_what_does_not_fit_is_refused(both: list[dx.Mechanism]) -> None:
    space = both[0].space
    with pytest.raises(dx.SpecError, match="list"):
        dx.choice(both[0])  # pyright: ignore[reportArgumentType]
    for weights in ([1.0], [0.0, 0.0], [-1.0, 2.0], ["a", "b"], [np.inf, 1.0]):
        with pytest.raises(dx.SpecError, match="weights"):
            dx.choice(both, weights)
    with pytest.raises(dx.SpecError, match="are about 4 and 3 secrets"):
        dx.choice([both[0], dx.classic.geometric(dx.line(3), epsilon=0.5)])
    with pytest.raises(dx.SpecError, match="proven"):
        dx.choice([both[0], dx.Mechanism.from_matrix(space, np.eye(4))])
    other = dx.certify(np.full((4, 2), 0.5), space, 0.5)
    with pytest.raises(dx.SpecError, match="different reports"):
        dx.choice([both[0], other], visible=False)
    assert dx.choice([both[0], other]).matrix.shape == (4, 6)
    many = dx.classic.geometric(dx.line(120), epsilon=0.5)
    with pytest.raises(dx.UnsupportedError, match="probabilities"):
        dx.choice([many] * 350)
