"""What the status of a report says of going on."""

from __future__ import annotations

from dataclasses import replace

import dxopt as dx
from dxopt.runtime.stopping import Status


def test_a_stopped_solve_by_columns_says_how_to_go_on() -> None:
    space = dx.MetricSpace.from_points([[0.0, 0.0], [1.0, 0.2], [0.3, 1.1], [1.7, 1.3]])
    problem = dx.Problem(space, epsilon=0.7, prior=[0.4, 0.3, 0.2, 0.1])
    report = dx.solve(problem, method="optimal", solver="columns")
    hint = "dx.solve(problem, start=report)"
    assert hint not in str(report)
    for status in (Status.TIME_LIMIT, Status.INTERRUPTED):
        assert hint in str(replace(report, status=status))
    assert hint not in str(replace(report, status=Status.TIME_LIMIT, dual=None))
    general = dx.solve(problem, method="optimal", solver="clarabel")
    assert hint not in str(replace(general, status=Status.TIME_LIMIT))
