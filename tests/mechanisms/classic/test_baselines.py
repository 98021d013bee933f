"""One contract for mechanisms that are only there to compare with."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.classic.catalogue import BASELINES, CLASSICS
from dxopt.solving.routes.choice import COMPARABLE, METHODS
from tests.material.classics import EXAMPLES


@pytest.mark.parametrize("name", list(BASELINES))
def test_a_baseline_keeps_its_contract(name: str) -> None:
    baseline = BASELINES.get(name)()
    examples = EXAMPLES[name]()
    assert baseline.name == name
    assert name in COMPARABLE
    assert name not in METHODS
    assert name not in CLASSICS
    assert examples
    for problem in examples:
        assert baseline.refuses(problem) is None
        channel = baseline.channel(problem)
        assert channel.shape == problem.shape
        assert (channel >= 0).all()
        assert channel.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
        (_, row) = dx.compare(problem, [name]).rows
        assert row.baseline
        assert row.value == pytest.approx(float((problem.costs * channel).sum()), abs=1e-12)


@pytest.mark.parametrize("name", list(BASELINES))
def test_a_baseline_is_no_method(name: str) -> None:
    with pytest.raises(dx.SpecError, match=f"there is no '{name}'"):
        dx.solve(EXAMPLES[name]()[0], method=name)


def test_reports_said_next_to_never_are_never_said() -> None:
    """Weights of some reports sink below 1e-300, where they would be 0 in some rows only."""
    rng = np.random.default_rng(0)
    space = dx.MetricSpace.from_points(8 * rng.random((12, 2)))
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.from_weights(space, rng.random(12) ** 3))
    (_, row) = dx.compare(problem, ["rate_distortion"]).rows
    assert row.private
    assert row.epsilon is not None
    assert row.epsilon <= 1.0
