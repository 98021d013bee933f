"""A solve that is interrupted anywhere still returns a private mechanism and a bound that holds."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx
from dxopt.solving.routes import limits
from tests.judges import exact
from tests.material.stopped import skewed, stop_after


def problem_of(kind: str) -> tuple[dx.Problem, str]:
    """A problem, and the solver that is asked."""
    scattered = np.random.default_rng(4).random((20, 2)) * 8
    names = {
        "columns": (dx.grid((5, 5)), "columns"),
        "islands": (dx.MetricSpace.from_points(np.concatenate([scattered, scattered + 90])), "columns"),
        "symmetry": (dx.grid((6, 6)), "columns"),
        "pairs": (dx.grid((4, 4)), "clarabel"),
        "line": (dx.line(60), "auto"),
        "product": (dx.grid((6, 7), metric="manhattan"), "auto"),
    }
    space, solver = names[kind]
    plain = kind in ("symmetry", "product")
    prior = dx.Prior.uniform(space) if plain else skewed(space)
    return dx.Problem(space, epsilon=0.4, prior=prior), solver


WRITTEN = ("columns", "islands", "symmetry", "pairs", "line", "product")


@pytest.mark.parametrize(
    ("kind", "implicit"),
    [
        *(pytest.param(kind, False, marks=pytest.mark.full if kind == "columns" else ()) for kind in WRITTEN),
        ("line", True),
        ("product", True),
    ],
)
def test_at_random_moments(kind: str, implicit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, solver = problem_of(kind)
    if implicit:
        monkeypatch.setattr(limits, "WRITTEN_CELLS", 0)
    whole = stop_after(monkeypatch, 10**9)
    best = dx.solve(problem, method="optimal", solver=solver)
    assert best.status == "optimal"
    moments = np.random.default_rng(7).integers(0, whole[0], 8).tolist()
    for moment in [0, 1, whole[0] - 1, *moments]:
        stop_after(monkeypatch, moment)
        report = dx.solve(problem, method="optimal", solver=solver)
        assert report.status in ("interrupted", "optimal")
        assert report.certificate.private
        matrix = report.mechanism.matrix
        assert not exact.violations(matrix, problem.space.distances, problem.epsilon)
        assert (matrix >= 0).all()
        assert np.abs(matrix.sum(axis=1) - 1).max() < 1e-14
        assert report.certificate.bound <= best.certificate.value
        assert report.certificate.value >= best.certificate.bound
