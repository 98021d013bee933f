"""Programs of priors and losses at the ends of the doubles: solved without a warning."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.solving.formulations.base import SMALLEST_SHARE, cost_unit

PAIR = dx.line(2)
ISLES = dx.MetricSpace.from_distances([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])
CASES: dict[str, tuple[dx.MetricSpace, list[float], dict[str, Any], dict[str, Any]]] = {
    "no scale between budget and loss": (PAIR, [1.0, 1.0], {"epsilon": 740.0, "loss": "binary"}, {}),
    "denormal prior": (PAIR, [1.0, 5e-324], {"epsilon": 3.0, "loss": "binary"}, {}),
    "denormal prior, three": (dx.line(3), [1.0, 1e-310, 5e-324], {"epsilon": 9e-9, "loss": "squared"}, {}),
    "worst loss": (PAIR, [1.0, 1.0], {"epsilon": 1400.0, "loss": "binary", "objective": "worst_loss"}, {}),
    "worst loss by columns": (
        dx.MetricSpace.from_distances([[0.0, 300.0], [300.0, 0.0]]),
        [1.0, 1.0],
        {"epsilon": 4.0, "loss": "binary", "objective": "worst_loss"},
        {"solver": "columns"},
    ),
    "worst loss by columns, three": (
        dx.MetricSpace.from_distances([[0.0, 2, 2], [2, 0, 2], [2, 2, 0]]),
        [1.0, 1.0, 1.0],
        {"epsilon": 400.0, "loss": "binary", "objective": "worst_loss"},
        {"solver": "columns"},
    ),
    "worst loss with delta": (
        dx.MetricSpace.from_distances([[0.0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]),
        [1.0, 1.0, 1.0, 1.0],
        {
            "epsilon": 1.0,
            "loss": [[1, 1, 1e300], [0, 0, 1e300], [0, 0, 0], [0, 1e300, 1e300]],
            "objective": "worst_loss",
            "delta": 1e-9,
        },
        {},
    ),
    "no losses, by columns": (
        dx.line(2, step=2.0),
        [1.0, 1.0],
        {"epsilon": 1e-8, "loss": [[0.0], [0.0]], "objective": "worst_loss"},
        {"solver": "columns"},
    ),
    "a price beyond doubles": (
        PAIR,
        [1.0, 1.0],
        {
            "epsilon": None,
            "loss": [[1.0, 3e-151], [0.0, 4e-151]],
            "objective": dx.AdversaryError(3e-151, [[1e300, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]),
        },
        {},
    ),
    "a budget of next to nothing": (
        PAIR,
        [1.0, 1e-308],
        {"epsilon": 2.0, "loss": "binary", "objective": dx.AdversaryError(0.5, "binary")},
        {},
    ),
    "a budget of 7e-309": (
        ISLES,
        [1.0, 1e-308, 1e-308],
        {
            "epsilon": None,
            "loss": [[0, 1, 1], [1, 0, 2], [1, 2, 0]],
            "objective": dx.AdversaryError(7.4e-309, "binary"),
        },
        {},
    ),
    "costs of the least numbers, by columns": (
        dx.MetricSpace.from_distances([[0.0, 70, 50], [70, 0, 20], [50, 20, 0]]),
        [1.0, 5e-324, 5e-324],
        {"epsilon": 1e-4, "loss": [[0, 1], [1, 0], [0, -0.6]]},
        {"solver": "columns"},
    ),
    "a dual that overflows within classes": (
        dx.MetricSpace.from_distances([[0.0, 8e-8, 0], [8e-8, 0, 1], [0, 1, 0]], close=True),
        [0.0, 1.0, 0.0],
        {"epsilon": 1.0, "loss": [[0, 0], [1, 1e300], [0, 0]]},
        {},
    ),
    "losses over all doubles": (PAIR, [0.9, 0.5], {"epsilon": 2e-7, "loss": [[0, 1e300], [1e-300, 0]]}, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_extremes_are_solved_without_a_warning(name: str) -> None:
    space, weights, asked, how = CASES[name]
    problem = dx.Problem(space, prior=dx.Prior.from_weights(space, weights), **asked)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        proof = dx.solve(problem, **how).certificate
    assert proof.private is problem.private
    assert np.isfinite([proof.value, proof.bound]).all()
    assert problem.objective.sign * (proof.value - proof.bound) >= 0


def test_the_unit_is_the_optimum_unless_costs_would_overflow() -> None:
    assert cost_unit(0.3, 7.0) == 0.3
    assert cost_unit(0.0, 7.0) == 7.0
    assert cost_unit(0.0, 0.0) == 1.0
    assert cost_unit(5e-324, 1.0) == SMALLEST_SHARE
    assert np.isfinite(1.0 / cost_unit(5e-324, 1.0))
