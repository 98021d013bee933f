"""Divergences between the reports of neighbours, against formulas written out and what is known of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import rel_entr

import dxopt as dx

SPACE = dx.line(5)
CHANNEL = np.random.default_rng(3).dirichlet(np.ones(4), size=5)
OWN = dx.Mechanism.from_matrix(SPACE, CHANNEL, dx.Reports(tuple("abcd")))
NEAR = [(x, y) for x in range(5) for y in range(5) if abs(x - y) == 1]
ALL = [(x, y) for x in range(5) for y in range(5) if x != y]
KNOWN = {
    "max": lambda p, q: max(0.0, float(np.log(p / q).max())),
    "kullback_leibler": lambda p, q: float(rel_entr(p, q).sum()),
    "total_variation": lambda p, q: float(np.maximum(p - q, 0).sum()),
    "chi_squared": lambda p, q: float((p**2 / q).sum() - 1),
    "hellinger": lambda p, q: math.sqrt(1 - float(np.sqrt(p * q).sum())),
}


@pytest.mark.parametrize("kind", KNOWN)
@pytest.mark.parametrize(("pairs", "related"), [("adjacent", NEAR), ("all", ALL)])
def test_the_largest_over_the_related_pairs(kind: str, pairs: str, related: list[tuple[int, int]]) -> None:
    expected = max(KNOWN[kind](CHANNEL[x], CHANNEL[y]) for x, y in related)
    assert dx.evaluate.divergence(OWN, kind, pairs=pairs) == pytest.approx(expected, rel=1e-12)
    assert dx.evaluate.divergence(OWN, KNOWN[kind], pairs=pairs) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("order", [0.5, 2.0, 7.5])
def test_renyi(order: float) -> None:
    expected = max(
        math.log(float((CHANNEL[x] ** order * CHANNEL[y] ** (1 - order)).sum())) / (order - 1) for x, y in NEAR
    )
    assert dx.evaluate.divergence(OWN, "renyi", order=order) == pytest.approx(expected, rel=1e-12)


def test_renyi_lies_between_kullback_leibler_and_the_largest() -> None:
    found = [dx.evaluate.divergence(OWN, "renyi", order=order) for order in (1 + 1e-6, 2, 50, 1e5)]
    assert found == sorted(found)
    assert found[0] == pytest.approx(dx.evaluate.divergence(OWN, "kullback_leibler"), rel=1e-4)
    assert found[-1] == pytest.approx(dx.evaluate.divergence(OWN, "max"), rel=1e-3)


def test_privacy_bounds_all_of_them() -> None:
    """ε-private neighbours: total variation at most tanh(ε/2), Kullback-Leibler at most ε tanh(ε/2)."""
    for mechanism in (dx.tight_constraints(SPACE, 0.8), dx.classic.randomised_response(SPACE, epsilon=0.8)):
        epsilon = dx.evaluate.divergence(mechanism, "max")
        assert epsilon <= 0.8 * (1 + 1e-12)
        assert dx.evaluate.divergence(mechanism, "total_variation") <= math.tanh(epsilon / 2) * (1 + 1e-12)
        assert dx.evaluate.divergence(mechanism, "kullback_leibler") <= epsilon * math.tanh(epsilon / 2) * (1 + 1e-12)


def test_reports_that_one_secret_never_gives() -> None:
    space = dx.line(2)
    apart = dx.Mechanism.from_matrix(space, [[1.0, 0.0], [0.5, 0.5]])
    assert dx.evaluate.divergence(apart, "max") == math.inf
    assert dx.evaluate.divergence(apart, "kullback_leibler") == math.inf
    assert dx.evaluate.divergence(apart, "chi_squared") == math.inf
    assert dx.evaluate.divergence(apart, "renyi", order=2.0) == math.inf
    assert dx.evaluate.divergence(apart, "renyi", order=0.5) == pytest.approx(math.log(2))
    assert dx.evaluate.divergence(apart, "total_variation") == 0.5
    same = dx.Mechanism.from_matrix(space, [[1.0, 0.0], [1.0, 0.0]])
    assert all(dx.evaluate.divergence(same, kind) == 0 for kind in KNOWN)


def test_wrong_arguments() -> None:
    with pytest.raises(dx.SpecError, match="kind: is 'entropy'; choose one of max"):
        dx.evaluate.divergence(OWN, "entropy")
    with pytest.raises(dx.SpecError, match=r"^order: "):
        dx.evaluate.divergence(OWN, "renyi")
    with pytest.raises(dx.SpecError, match=r"^order: "):
        dx.evaluate.divergence(OWN, "renyi", order=1)
    with pytest.raises(dx.SpecError, match="leave it out, or ask for renyi"):
        dx.evaluate.divergence(OWN, "max", order=2)
