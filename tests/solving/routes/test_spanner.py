"""Spanners: the same answers by column generation, on shortest paths along the edges, as by linear programs."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx
from dxopt.solving.routes import limits
from tests.judges.oracle import optimum
from tests.material.by_columns import spaces
from tests.material.checks import assert_proven
from tests.material.few import few


@pytest.mark.parametrize("dilation", [1.0, 1.3, 3.0])
@pytest.mark.parametrize("kind", few(range(6)))
def test_columns_agree_with_linear_programs(kind: int, dilation: float) -> None:
    rng = np.random.default_rng(kind)
    space = spaces(rng, 8)[kind]
    weights = rng.random(len(space)) * (rng.random(len(space)) < 0.8) + 1e-9
    problem = dx.Problem(
        space, epsilon=0.9, prior=dx.Prior.from_weights(space, weights), loss=rng.random((len(space), 5))
    )
    ways = [
        dx.solve(problem, method="optimal", solver=solver, spanner=dilation) for solver in ("columns", "clarabel")
    ]
    for report in ways:
        assert_proven(report)
        assert report.claim == "valid"
    columns, linear = (report.certificate for report in ways)
    assert columns.value == pytest.approx(linear.value, abs=2e-5)
    assert columns.bound == pytest.approx(linear.bound, abs=2e-5)
    best = optimum(space.distances, 0.9, problem.prior.probabilities, problem.losses)
    assert columns.bound <= best + 1e-9
    assert columns.value >= best - 1e-9


def test_the_choice_is_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    space = dx.MetricSpace.from_points(np.random.default_rng(2).random((12, 2)) * 3)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="distance")
    lines: list[str] = []
    small = dx.solve(problem, method="optimal", spanner=1.2)
    monkeypatch.setattr(limits, "SPANNER_FROM", next(one for one in small.reductions if one.name == "spanner").after)
    large = dx.solve(problem, method="optimal", spanner=1.2, progress=lines.append)
    assert small.route == "linear program on a spanner, clarabel"
    assert large.route == "column generation on a spanner, columns"
    assert large.certificate.value == pytest.approx(small.certificate.value, abs=1e-5)
    assert next(one for one in large.reductions if one.name == "spanner") == next(
        one for one in small.reductions if one.name == "spanner"
    )

    # each program tells what it is solved for: the value of the one is no value of the other
    first = [line for line in lines if line.startswith("mechanism, column generation, round")]
    second = [line for line in lines if line.startswith("bound, column generation, round")]
    assert first
    assert second
    assert not any("bound" in line for line in first)
    assert all(": bound " in line and "gap" not in line for line in second)
