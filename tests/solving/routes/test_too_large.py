"""Problems over a size limit are refused from their shape alone: before any matrix of theirs is made."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dxopt as dx
from dxopt.solving.routes import linear

SPACES: dict[str, Callable[[], dx.MetricSpace]] = {
    "grid": lambda: dx.grid((70, 70)),
    "torus": lambda: dx.torus((70, 70)),
    "points": lambda: dx.MetricSpace.from_points(np.random.default_rng(1).random((4_500, 3))),
    "box": lambda: dx.geo.bounding_grid(45.4, -73.7, 45.6, -73.5, shape=(70, 70)),
    "words": lambda: dx.neighbours(dx.Universe.words("abc", 8), "edit"),
    "databases": lambda: dx.neighbours(dx.Universe.databases([0, 1], 13), "bounded"),
}


@pytest.mark.parametrize(
    ("name", "solver"), [*((name, "auto") for name in SPACES), ("grid", "columns"), ("grid", "clarabel")]
)
def test_nothing_is_made_of_what_is_too_large(name: str, solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(problem: dx.Problem) -> None:
        raise AssertionError("a matrix was made")

    space = SPACES[name]()
    for limit in ("PROBLEM_CELLS", "COLUMNS_LIMIT"):
        monkeypatch.setattr(linear, limit, 20_000_000)  # which the spaces are beyond
    for matrix in ("costs", "losses", "budgets", "separations"):
        monkeypatch.setattr(dx.Problem, matrix, property(made))
    with pytest.raises(dx.UnsupportedError) as refused:
        dx.solve(dx.Problem(space, epsilon=1.0, prior="uniform"), solver=solver)
    assert refused.value.field == "method"


def test_tight_takes_them_without_a_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(space: dx.MetricSpace) -> None:
        raise AssertionError("a matrix was made")

    monkeypatch.setattr(dx.MetricSpace, "distances", property(made))
    report = dx.solve(dx.Problem(dx.grid((70, 70)), epsilon=4.0, prior="uniform"), method="tight")
    assert report.certificate.private
    assert 0 < report.certificate.value < 0.1
