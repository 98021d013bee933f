"""Mechanisms on a line that are not written down: costs and privacy against rationals, where a margin decides."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dxopt.verify.implicit.claims import _bound_of_axis
from dxopt.verify.implicit.kernels import UNIT, LineKernel, Losses
from dxopt.verify.implicit.spaces import PAIRED_POINTS, Space
from dxopt.verify.verdict import Broken, Unproved
from tests.judges.exact import exp_enclosure


def on_line(points: np.ndarray, weights: np.ndarray, level: float, slack: int = 0) -> LineKernel:
    """The kernel that reports the indices themselves."""
    space = Space("points", "euclidean", points[:, None])
    return LineKernel(space, weights, level, slack, np.arange(len(points)), len(points))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_costs_are_enclosed_closely(share: float, signed: bool) -> None:
    """Also where a good part of each row is its rest, which pays for the report of the slack."""
    rng = np.random.default_rng(5)
    points = np.array([0.0, 0.3, 1.1, 1.7, 4.0])
    tight = np.linalg.solve(np.exp(-0.7 * np.abs(points[:, None] - points)), np.ones(5))
    for slack in range(5):
        kernel = on_line(points, share * tight * (1 - 1e-12), 0.7, slack)
        prior, losses = rng.dirichlet(np.ones(5)), rng.random((5, 5)) - (0.5 if signed else 0.0)
        exact = Fraction(0)
        for x in range(5):
            budgets = [Fraction(0.7) * abs(Fraction(points[x]) - Fraction(point)) for point in points.tolist()]
            row = [
                Fraction(w) / exp_enclosure(t, 300)[0] for w, t in zip(kernel.weights.tolist(), budgets, strict=True)
            ]
            row[slack] += 1 - sum(row)
            exact += Fraction(prior[x]) * sum(
                entry * Fraction(paid) for entry, paid in zip(row, losses[x].tolist(), strict=True)
            )
        found = kernel.cost(prior, Losses(kernel.space, matrix=losses))
        assert found.low <= exact <= found.high
        assert found.high - found.low <= Fraction(1, 10**12)


def test_what_the_slack_tells_is_about_distances_in_doubles() -> None:
    """A distance is rounded, so that e^{εd} of doubles is less than that of the points, by more than the room."""
    last, epsilon, whole = 64.2, 0.31, 1 << 150
    for place in (2, 3, 4):
        first = 0.1 + 2.0**-50 * place
        length = last - first
        assert Fraction(last) - Fraction(first) > Fraction(length) * (1 + Fraction(3, 5) * UNIT)
        power = exp_enclosure(Fraction(epsilon) * Fraction(length), 300)
        for places, private in ((-1, False), (200, True)):
            kernel = on_line(np.array([first, last]), np.full(2, 0.1), epsilon * (1 - 1e-9))
            other = math.floor(whole * (1 + places * UNIT) / power[1])
            kernel.__dict__["_at_slack"] = ([whole, other], [whole, other])
            if private:
                kernel.check_private(Fraction(epsilon), "mechanism.npz")
            else:
                with pytest.raises(Broken, match="are told apart"):
                    kernel.check_private(Fraction(epsilon), "mechanism.npz")


def test_duals_off_a_line_are_of_few_reports() -> None:
    space = Space("distances", given=np.array([[0.0, 1.0], [1.0, 0.0]]))
    dual = {key: np.zeros(1) for key in ("report", "first", "second")} | {
        "multiplier": np.ones(1),
        "second": np.ones(1),
    }
    for reports in (PAIRED_POINTS, PAIRED_POINTS + 1):
        losses = Losses(space, matrix=np.ones((2, reports)))
        if reports == PAIRED_POINTS:
            assert _bound_of_axis(1.0, np.full(2, 0.5), losses, dual, math.inf)[0] < 1
        else:
            with pytest.raises(Unproved, match="over the limit of 3,000"):
                _bound_of_axis(1.0, np.full(2, 0.5), losses, dual, math.inf)


@pytest.mark.parametrize("places", [-10, 46, 50, 60, 113])
def test_rests_allow_for_the_roundings_of_entries(places: int) -> None:
    """Each entry may be off by 4 units in its last place, however small it is beside the 2^-200 of the sums."""
    weight = 2.0 ** (places - 200)
    low, high = on_line(np.array([0.0]), np.array([weight]), 1.0).rests[0]
    exact = 1 - Fraction(weight)
    room = 4 * UNIT * Fraction(weight)
    assert low <= exact - room
    assert exact + room <= high
    assert high - low <= 3 * room + Fraction(1, 2**80) * Fraction(weight) + Fraction(8, 2**200)
