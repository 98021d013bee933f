"""The level at which one mechanism costs as much as another at its own: both ends proven, counted again."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx
from tests.material.checks import assert_proven

PROBLEM = dx.Problem(dx.line(9), epsilon=1.0, prior=[0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05])


def exponential(epsilon: float) -> np.ndarray:
    rows = np.exp(-0.5 * epsilon * np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0))))
    return rows / rows.sum(axis=1, keepdims=True)


def cost(matrix: np.ndarray) -> float:
    return float(PROBLEM.prior.probabilities @ (matrix * PROBLEM.losses).sum(axis=1))


@pytest.mark.parametrize("method", ["optimal", "geometric", "laplace", "exponential"])
@pytest.mark.parametrize("own", ["matrix", "mechanism", "function", "name"])
def test_both_ends_are_proven(own: str, method: str) -> None:
    given = {
        "matrix": exponential(1.0),
        "mechanism": dx.classic.exponential(PROBLEM.space, epsilon=1.0),
        "function": exponential,
        "name": "exponential",
    }[own]
    found = dx.tie(PROBLEM, given, method, accuracy=1e-5)
    assert found.value == pytest.approx(cost(exponential(1.0)), rel=1e-12)
    assert 0 < found.resolution <= 1.0001e-5
    for report in (found.below, found.above):
        assert_proven(report)
    assert found.above.value <= found.value
    assert cost(found.above.matrix) == pytest.approx(found.above.value, rel=1e-12)
    if method == "optimal":
        assert found.below.bound > found.value
        assert dx.solve(PROBLEM.at(found.epsilon)).value <= found.value * (1 + 1e-7)
    else:
        assert found.below.value > found.value
        assert cost(found.below.matrix) == pytest.approx(found.below.value, rel=1e-12)
    level = np.abs(np.log(exponential(1.0)[1:] / exponential(1.0)[:-1])).max()  # what it has of the 1 that it may
    assert level < 0.9
    assert found.problem.epsilon == pytest.approx(level, rel=1e-12)
    assert found.share == pytest.approx(found.epsilon / level, rel=1e-12)
    if method == "exponential":
        assert found.below.problem.epsilon <= 1 <= found.epsilon


def test_what_ties_at_no_level_is_refused() -> None:
    constant = np.full((9, 9), 1 / 9)
    for arguments, field in (
        ((constant,), "mechanism"),
        ((np.eye(9)[[8] * 9], "exponential"), "method"),
        ((np.eye(9),), "matrix"),
        (("geometric", "geometry"), "method"),
        (("geometri",), "method"),
    ):
        with pytest.raises(dx.SpecError) as caught:
            dx.tie(PROBLEM, *arguments)  # pyright: ignore[reportArgumentType]
        assert caught.value.field == field
