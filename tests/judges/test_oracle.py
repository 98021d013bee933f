"""The oracle against what can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.judges.oracle import best_channel, optimum


@pytest.mark.parametrize("epsilon", [0.1, np.log(2.0), 3.0])
def test_two_points(epsilon: float) -> None:
    distances = 1 - np.eye(2)
    assert optimum(distances, epsilon, np.full(2, 0.5), distances) == pytest.approx(1 / (1 + np.exp(epsilon)))


def test_nothing_shared_and_everything_shared() -> None:
    loss = 1 - np.eye(3)
    prior = np.array([0.5, 0.3, 0.2])
    apart = np.where(np.eye(3) == 1, 0.0, np.inf)
    assert optimum(apart, 1.0, prior, loss) == pytest.approx(0.0, abs=1e-9)
    assert optimum(np.zeros((3, 3)), 1.0, prior, loss) == pytest.approx(0.5)


def test_asymmetric_orientation() -> None:
    # K[0, z] ≤ e K[1, z] alone: report 0 with probability p = 1 for secret 0 leaves K[1, 0] ≥ 1/e.
    distances = np.array([[0.0, 1.0], [np.inf, 0.0]])
    value, channel = best_channel(distances, 1.0, np.array([0.5, 0.5]), 1 - np.eye(2))
    assert value == pytest.approx(0.5 / np.e)
    assert channel[0] == pytest.approx([1.0, 0.0], abs=1e-8)


def test_infinite_loss_where_nobody_is() -> None:
    loss = np.array([[0.0, 1.0], [np.inf, 0.0]])
    assert optimum(1 - np.eye(2), 1.0, np.array([1.0, 0.0]), loss) == pytest.approx(0.0, abs=1e-9)
