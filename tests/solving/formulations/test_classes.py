"""Classes of points at distance 0: whether their points are alike, and the bound that is carried to all of them."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx
from dxopt.solving.formulations.expected_loss import ExpectedLossProgram
from dxopt.solving.reductions import chain
from tests.judges.oracle import optimum
from tests.material.by_columns import by_columns


def _doubled() -> dx.MetricSpace:
    at = np.random.default_rng(2).random((5, 2))
    return dx.MetricSpace.from_points(np.concatenate([at, at[:3]]))


def _one_way() -> dx.MetricSpace:
    """Two points 0 apart in one direction, and 1 in the other: they are merged, and are not alike."""
    distances = 2.0 - 2.0 * np.eye(4)
    distances[0, 1], distances[1, 0] = 0.0, 1.0
    return dx.MetricSpace.from_distances(distances)


def test_points_at_one_place_are_alike() -> None:
    for space, merged, alike in ((_doubled(), 5, True), (_one_way(), 3, False), (dx.grid((2, 3)), 6, True)):
        compiled = ExpectedLossProgram().apply(dx.Problem(space, epsilon=1.0, prior="uniform"))
        assert compiled.partition.size == merged
        assert compiled.alike is alike


@pytest.mark.parametrize("space", [_doubled(), _one_way()], ids=["doubled", "one way"])
def test_merged_points_agree_with_the_oracle(space: dx.MetricSpace) -> None:
    rng = np.random.default_rng(4)
    weights, loss = rng.random(len(space)), rng.random((len(space), 6))
    prior = dx.Prior.from_weights(space, weights)
    found = by_columns(dx.Problem(space, epsilon=0.8, prior=prior, loss=loss), tolerance=1e-7)
    best = optimum(space.distances, 0.8, prior.probabilities, loss)
    assert found.certificate.value == pytest.approx(best, abs=1e-7)
    assert found.certificate.bound == pytest.approx(best, abs=1e-7)


def test_no_shorter_ways_are_looked_for_where_points_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    def sought(left: object, right: object) -> None:
        raise AssertionError("shorter ways are sought")

    monkeypatch.setattr(chain, "product", sought)
    problem = dx.Problem(_doubled(), epsilon=0.8, prior="uniform")
    assert by_columns(problem, tolerance=1e-6).status == "optimal"
