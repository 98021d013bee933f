"""What multipliers prove of costs, where one rounding alone decides: by rationals, with two secrets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.duals import Dual
from tests.judges.duality import by_multipliers, products


def between(budget: float) -> list[list[Fraction]]:
    """εd of two secrets."""
    return [[Fraction(0), Fraction(budget)], [Fraction(budget), Fraction(0)]]


def test_delta_costs_no_less_where_exp_is_off_by_what_is_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """4 units in the last place, which next to 1/2 are 8 of 2^-53; all else here is exact in doubles."""
    honest = np.exp
    budget = float(np.nextafter(math.log(2), 0.0))
    space = dx.MetricSpace.from_distances(budget * (1 - np.eye(2)))
    losses = np.array([[0.0, 4.0], [0.0, 4.0]])
    asked = dx.Problem(space, epsilon=1.0, prior=[0.5, 0.5], loss=losses, delta=0.5)
    one = np.ones(1, dtype=np.int64)
    costs = products([0.5, 0.5], losses.tolist())
    exact = by_multipliers(costs, between(budget), [(1, 0, 1, 1.0)], Fraction(1, 2))
    monkeypatch.setattr(np, "exp", lambda budgets: honest(budgets) - 4 * np.spacing(honest(budgets)))
    found = Fraction(proven_bound(asked, Dual(np.zeros(2), one, 0 * one, one, np.ones(1)))[0])
    assert exact * (1 + Fraction(1, 10**9)) <= found <= exact < 0


def test_multipliers_next_to_nothing_are_not_lost_in_a_long_sum() -> None:
    """What each of 4000 takes beside the one of 1 is lost in doubles, where next to nothing is given for it."""
    space = dx.MetricSpace.from_distances(np.array([[0.0, 600.0], [600.0, 0.0]]))
    losses = np.array([[0.0], [0.0]])
    asked = dx.Problem(space, epsilon=1.0, prior=[0.5, 0.5], loss=losses)
    many = 4000
    ones, zeros = np.ones(many, dtype=np.int64), np.zeros(many, dtype=np.int64)
    dual = Dual(np.zeros(2), zeros, zeros, ones, np.array([1.0, *[1e-17] * (many - 1)]))
    triples = [(0, 0, 1, amount) for amount in dual.multiplier.tolist()]
    exact = by_multipliers([[Fraction(0)], [Fraction(0)]], between(600.0), triples)
    found = Fraction(proven_bound(asked, dual)[0])
    assert exact * (1 + Fraction(1, 10**9)) <= found <= exact < 0
