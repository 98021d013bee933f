"""The exponential mechanism is what its formula says and needs no repair."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_proven, weights
from instances import space_of

import dxopt as dx
from dxopt.classic.exponential import Exponential


@pytest.mark.parametrize("space", [dx.line(6), dx.grid((3, 4)), dx.torus((5,))])
def test_formula(space: dx.MetricSpace) -> None:
    problem = dx.Problem(space, epsilon=1.3, prior=weights(space))
    report = dx.solve(problem, method="exponential")
    assert_proven(report)
    kernel = np.exp(-0.5 * 1.3 * space.distances)
    assert report.mechanism.matrix == pytest.approx(kernel / kernel.sum(axis=1, keepdims=True), abs=1e-12)
    assert report.claim == "valid"
    assert report.delivered


@pytest.mark.parametrize("kind", ["symmetric", "asymmetric", "extended", "pseudo"])
def test_private_as_it_is(kind: str) -> None:
    for seed in range(5):
        space = space_of(kind, 7, np.random.default_rng(seed))
        problem = dx.Problem(space, epsilon=2.0, prior=weights(space), loss="binary")
        report = dx.solve(problem, method="exponential")
        assert_proven(report)
        assert report.mechanism.matrix == pytest.approx(Exponential().channel(problem), abs=1e-12)


def test_reports_elsewhere() -> None:
    space = dx.line(4)
    reports = dx.Reports.at([[0.5], [2.5]])
    problem = dx.Problem(space, epsilon=1.0, prior=weights(space), reports=reports)
    report = dx.solve(problem, method="exponential")
    assert_proven(report)
    kernel = np.exp(-0.5 * np.abs(np.arange(4)[:, None] - [0.5, 2.5]))
    assert report.mechanism.matrix == pytest.approx(kernel / kernel.sum(axis=1, keepdims=True), abs=1e-12)


def test_far_away_reports_do_not_underflow() -> None:
    space = dx.line(3)
    problem = dx.Problem(space, epsilon=50.0, prior=weights(space), reports=dx.Reports.at([[1e3], [2e3]]))
    assert_proven(dx.solve(problem, method="exponential"))


def test_refused_where_reports_have_no_place() -> None:
    space = dx.line(3)
    problem = dx.Problem(space, epsilon=1.0, prior=weights(space), loss=np.ones((3, 2)))
    with pytest.raises(dx.UnsupportedError, match="distances between secrets and reports"):
        dx.solve(problem, method="exponential")
