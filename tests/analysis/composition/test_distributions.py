"""Privacy-loss distributions: bounds in exact rationals, also where losses sit on the grid."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dxopt.analysis.composition.distributions import loss_distribution
from tests.judges.composition import exceeded
from tests.material.few import few


@pytest.mark.parametrize("seed", few(range(40)))
def test_bounds_hold_next_to_the_points_of_the_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.random() * 10.0 ** rng.integers(-12, 0)
    rows = np.array([[first, 1 - first], [first / 3, 1 - first / 3]])
    loss = float(np.log(rows[0, 0]) - np.log(rows[1, 0]))
    exact = [[Fraction(float(entry)) for entry in row] for row in rows]
    above, below = (loss_distribution(rows[0], rows[1], loss / 8, side) for side in ("above", "below"))
    for count in (1, 2, 3):
        for part in (1, 1 - 1e-15, 1 - 1e-14, 1 - 1e-12, 1 - 1e-9, 0.5):
            level = loss * count * part
            truth = exceeded([exact] * count, 0, 1, level, 1.0)
            assert Fraction(below.power(count).delta(level)) <= truth <= Fraction(above.power(count).delta(level))


def test_tails_that_are_cut_are_counted() -> None:
    # The top loss of 40 releases has a mass of 1e-40, which is cut; what is told apart there must not be forgotten.
    rows = np.array([[0.1, 0.9], [1e-3, 0.999]])
    above = loss_distribution(rows[0], rows[1], 0.01, "above").power(40)
    below = loss_distribution(rows[0], rows[1], 0.01, "below").power(40)
    level = 40 * float(np.log(100.0)) - 0.5
    truth = 1e-40 * -np.expm1(-0.5)
    assert below.delta(level) <= truth <= above.delta(level) < 1e-29
