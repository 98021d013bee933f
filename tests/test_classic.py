"""One contract for every mechanism known in closed form, and for the functions that make them."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_proven
from exact import row_sum_errors, violations

import dxopt as dx
from dxopt.classic import CLASSICS
from dxopt.routes import METHODS

FUNCTIONS = {name: getattr(dx.classic, name) for name in CLASSICS}


@pytest.mark.parametrize("name", list(CLASSICS))
def test_classic_keeps_its_contract(name: str) -> None:
    classic = CLASSICS.get(name)()
    examples = classic.examples()
    assert classic.name == name
    assert name in METHODS
    assert examples
    for problem in examples:
        assert classic.refuses(problem) is None
        channel = classic.channel(problem)
        assert channel.shape == problem.shape
        assert channel.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
        report = dx.solve(problem, method=name)
        assert_proven(report)
        assert report.mechanism.matrix == pytest.approx(channel, abs=1e-12)
        assert report.claim == "valid"
        assert report.delivered


@pytest.mark.parametrize("name", list(CLASSICS))
def test_the_function_gives_the_same_mechanism_proven_private(name: str) -> None:
    for problem in CLASSICS.get(name).examples():
        if not problem.reports.secrets:
            continue
        mechanism = FUNCTIONS[name](problem.space, epsilon=problem.epsilon)
        matrix, distances = mechanism.matrix, problem.space.distances
        assert mechanism.reports.secrets
        assert mechanism.name == f"{name.replace('_', ' ')} mechanism"
        assert matrix == pytest.approx(CLASSICS.get(name)().channel(problem), abs=1e-12)
        assert mechanism.privacy is not None
        assert mechanism.privacy.epsilon <= problem.epsilon
        assert violations(matrix, distances, mechanism.privacy.epsilon) == []
        assert max(abs(error) for error in row_sum_errors(matrix)) < 1e-12


@pytest.mark.parametrize("name", list(CLASSICS))
def test_a_level_that_is_none_is_refused(name: str) -> None:
    for level in (0.0, -1.0, float("nan"), float("inf")):
        for shape in ((2, 2), (30, 30)):
            with pytest.raises(dx.SpecError, match=r"^epsilon: is "):
                FUNCTIONS[name](dx.grid(shape), epsilon=level)


@pytest.mark.parametrize("name", ["geometric", "planar_laplace"])
def test_refused_where_reports_are_no_secrets(name: str) -> None:
    space = dx.grid((2, 2))
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=np.ones((4, 3)))
    with pytest.raises(dx.UnsupportedError, match=rf"^method: {name} needs the secrets .* use method: optimal$"):
        dx.solve(problem, method=name)
