"""Products by factors, against the same mechanism written down; and what tight constraints promise of a loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.product import epsilon_of_factors, product_mechanism
from dxopt.mechanisms.tight import tight_candidate


@pytest.mark.parametrize("held", [None, 0.25])
def test_losses_by_factors_are_those_of_the_matrix(held: float | None) -> None:
    """As it is proven, and with far more held back than a proof asks for, so that it shows."""
    sides = [dx.line(3), dx.line(4), dx.line(2)]
    space = dx.product(*sides)
    level = epsilon_of_factors(space, 1.0, 3)
    found = product_mechanism(space, [dx.tight_constraints(side, level) for side in sides], 1.0)
    found = found if held is None else replace(found, held=held)
    loss = dx.Loss.of("distance", space)
    by_factors = found.structured_losses(loss)
    assert by_factors is not None
    assert by_factors == pytest.approx((found.matrix * space.distances).sum(axis=1), abs=1e-9)
    assert found.cost(np.full(24, 1 / 24), loss) == pytest.approx(float(np.mean(by_factors)), abs=1e-9)
    # what is no sum over the factors is taken from the rows
    binary = dx.Loss.of("binary", space)
    assert found.cost(np.full(24, 1 / 24), binary) == pytest.approx(1 - np.trace(found.matrix) / 24, abs=1e-9)


def test_rows_are_at_least_as_far_apart_as_said() -> None:
    sides = [dx.line(3), dx.line(4)]
    space = dx.product(*sides)
    level = epsilon_of_factors(space, 1.0, 2)
    found = product_mechanism(space, [dx.tight_constraints(side, level) for side in sides], 1.0)
    matrix = found.matrix
    for first, second in [(0, 0), (0, 1), (0, 11), (5, 6), (3, 8)]:
        right = np.abs(matrix[first] - matrix[second]).sum()
        assert (first != second) * right / 4 <= found.apart(first, second) <= right + 1e-12


def test_tight_constraints_are_optimal_for_binary_loss_alone() -> None:
    space = dx.line(4)
    binary = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary")
    assert tight_candidate(binary).claim == "exact"
    for other in (binary.but(loss="distance"), binary.but(objective="worst_loss")):
        candidate = tight_candidate(other)
        assert candidate.claim == "valid"
        assert candidate.dual is None
