"""The volume of the regular priors, beside determinants in exact rationals and drawn priors; and who is in it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from tests.judges.claims import power

SPACES = {
    "line": lambda: dx.line(4),
    "grid": lambda: dx.grid((2, 3), metric="manhattan"),
    "one way": lambda: dx.MetricSpace.from_distances([[0, 1, 2], [0.5, 0, 1.5], [1, 1.2, 0]]),
    "scattered": lambda: dx.MetricSpace.from_points(np.random.default_rng(3).uniform(0, 3, (5, 2))),
    "apart": lambda: dx.MetricSpace.from_distances([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]]),
}


def _determinant(rows: list[list[Fraction]]) -> Fraction:
    rows, found = [row[:] for row in rows], Fraction(1)
    for place in range(len(rows)):
        pivot = next((row for row in range(place, len(rows)) if rows[row][place]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != place:
            rows[place], rows[pivot] = rows[pivot], rows[place]
            found = -found
        found *= rows[place][place]
        for row in range(place + 1, len(rows)):
            factor = rows[row][place] / rows[place][place]
            rows[row] = [a - factor * b for a, b in zip(rows[row], rows[place], strict=True)]
    return found


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_volume_is_that_of_the_corners(name: str, epsilon: float) -> None:
    space = SPACES[name]()
    found = dx.regularity.region(space, epsilon)
    phi = [[Fraction(0) if np.isinf(d) else 1 / power(epsilon, float(d))[0] for d in row] for row in space.distances]
    exact = abs(_determinant(phi))
    for column in zip(*phi, strict=True):
        exact /= sum(column)
    assert (
        Fraction(found.low) * (1 - Fraction(1, 10**15)) <= exact <= Fraction(found.high) * (1 + Fraction(1, 10**15))
    )
    assert found.high - found.low <= 1e-9 * found.volume
    assert found.low <= found.volume <= found.high

    # as many priors that are drawn evenly are regular
    drawn = np.random.default_rng(1).dirichlet(np.ones(len(space)), 600)
    inside = np.array([found.contains(prior).status == "regular" for prior in drawn])
    assert abs(inside.mean() - found.volume) < 4 * np.sqrt(max(found.volume * (1 - found.volume), 1e-3) / 600)


def test_a_region_without_volume() -> None:
    """ECP14 corrections: on the complete bipartite graph of 3 and 3 the corners lie in a plane at ln 2."""
    apart = 2 * (1 - np.eye(6))
    apart[:3, 3:] = apart[3:, :3] = 1
    found = dx.regularity.region(dx.MetricSpace.from_distances(apart), np.log(2))
    assert found.volume < 1e-12
    assert (found.low, found.high) == (0.0, 1.0)
    assert dx.regularity.region(dx.MetricSpace.from_distances(apart), 1.0).low > 0


def test_more_secrets_than_are_inverted() -> None:
    with pytest.raises(dx.UnsupportedError) as caught:
        dx.regularity.region(dx.line(2_001), 1.0)
    assert caught.value.field == "space"


@pytest.mark.parametrize("epsilon", [0.5, 0.7, 1.0])
def test_products_are_decided_by_their_factors(epsilon: float) -> None:
    record = dx.MetricSpace.from_distances(np.ones((4, 4)) - np.eye(4))
    one = np.array([0.3, 0.27, 0.23, 0.2])
    five = dx.product(*[record] * 4)
    prior = one
    for _ in range(3):
        prior = np.multiply.outer(prior, one).reshape(-1)
    found = dx.regularity.verdict(prior, five, epsilon)
    alone = dx.regularity.verdict(one, record, epsilon)
    assert found.status == alone.status == ("regular" if epsilon > 0.6932 else "not regular")
    if found.status == "regular":
        assert found.mu is not None and found.error is not None
        assert five is not None
        again = dx.regularity.phi(five, epsilon) @ found.mu
        assert again == pytest.approx(prior, rel=1e-9)
        assert (found.mu - found.error >= 0).all()


def test_every_prior_has_a_leakage_bound() -> None:
    rng = np.random.default_rng(4)
    for space in (dx.line(4), dx.grid((2, 3)), SPACES["one way"]()):
        for epsilon in (0.2, 1.0, 2.5):
            for prior in [*rng.dirichlet(np.ones(len(space)), 4), np.eye(len(space))[0]]:
                bound = dx.regularity.leakage_bound(prior, space, epsilon)
                assert bound >= 0
                problem = dx.Problem(space, epsilon=epsilon, prior=prior, loss="binary")
                best = dx.solve(problem).mechanism
                assert dx.evaluate.min_entropy_leakage(best, prior) <= bound + 1e-9
                for mechanism in (best, dx.classic.exponential(space, epsilon=epsilon)):
                    if space.symmetric or mechanism is best:
                        assert dx.evaluate.min_entropy_leakage(mechanism, prior) <= bound + 1e-9


def test_regions_of_three_are_drawn(tmp_path: Path) -> None:
    figure = dx.draw_region(dx.line(3), ["ln(2)", 1.6], save=tmp_path / "region.png")
    assert (tmp_path / "region.png").stat().st_size > 1000
    named = figure.axes[0].get_legend_handles_labels()[1]
    assert len(named) == 3
    assert len(figure.axes[0].patches) == 2
    with pytest.raises(dx.UnsupportedError) as caught:
        dx.draw_region(dx.line(4), 1.0)
    assert caught.value.field == "space"
