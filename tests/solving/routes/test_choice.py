"""Which solver the automatic choice takes for the linear program."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.runtime.progress import Logged
from dxopt.runtime.stopping import Stop
from dxopt.solving.formulations.expected_loss import ExpectedLossProgram
from dxopt.solving.options import Options
from dxopt.solving.routes import limits
from dxopt.solving.routes.coupled import solvers_of_coupled
from dxopt.solving.routes.linear import solvers_of_linear


def no_part(problem: dx.Problem, options: Options) -> dx.Report:
    raise AssertionError(f"{problem.name}: nothing is split here")


OPTIONS = Options("auto", "auto", None, 1e-6, Stop(None), Logged(), None, no_part)


def streets(side: int) -> dx.MetricSpace:
    """A square of crossings with streets of uneven lengths."""
    graph = nx.grid_2d_graph(side, side)
    rng = np.random.default_rng(1)
    for _, _, street in graph.edges(data=True):
        street["length"] = rng.uniform(0.5, 1.5)
    return dx.MetricSpace.from_graph(graph, weight="length")


def asked(space: dx.MetricSpace, epsilon: float = 0.5) -> dx.Problem:
    prior = dx.Prior.from_weights(space, np.random.default_rng(2).random(len(space)) + 0.01)
    return dx.Problem(space, epsilon=epsilon, prior=prior, loss="distance")


def scattered(points: int) -> dx.MetricSpace:
    return dx.MetricSpace.from_points(np.random.default_rng(3).random((points, 2)) * np.sqrt(points))


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (asked(streets(4)), ("clarabel", "highs")),
        (asked(streets(6)), ("clarabel", "columns", "highs")),
        (asked(streets(6), epsilon=20.0), ("columns", "clarabel", "highs")),
        (asked(streets(9)), ("columns", "clarabel", "highs")),
        (asked(scattered(20)), ("clarabel", "columns", "highs")),
        (asked(scattered(40)), ("columns", "clarabel", "highs")),
        (asked(streets(12)), ("columns",)),
    ],
    ids=["few variables", "streets", "weak privacy", "many streets", "few points", "more points", "many variables"],
)
def test_general_solvers_come_first_where_few_inequalities_are_left(
    problem: dx.Problem, expected: tuple[str, ...]
) -> None:
    program = ExpectedLossProgram().apply(problem).smaller
    assert solvers_of_linear(program, OPTIONS) == expected


@pytest.mark.parametrize("solver", ["auto", "columns", "clarabel"])
def test_every_order_has_the_same_optimum(solver: str) -> None:
    report = dx.solve(asked(streets(5)), solver=solver)
    assert report.certificate.private
    assert report.certificate.gap is not None
    assert report.certificate.gap <= 1e-6
    assert report.route.endswith("clarabel" if solver == "auto" else solver)
    other = dx.solve(asked(streets(5)), solver="highs")
    assert report.certificate.value == pytest.approx(other.certificate.value, rel=2e-6)


def test_columns_follow_where_the_first_solver_leaves_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """At weak privacy Clarabel leaves one; without the limit on that it is asked first all the same."""
    monkeypatch.setattr(limits, "STEEPEST", np.inf)
    report = dx.solve(asked(dx.grid((5, 5)), epsilon=20.0))
    assert report.certificate.gap is not None
    assert report.certificate.gap <= 1e-6
    assert report.route.endswith("bound by linear program, clarabel; bound by column generation, columns")


@pytest.mark.parametrize(
    ("points", "guesses", "expected"),
    [
        (60, "binary", ("clarabel", "highs")),
        (80, "binary", ("clarabel", "columns", "highs")),
        (80, "squared", ("columns", "clarabel", "highs")),
        (150, "binary", ("columns",)),
    ],
)
def test_guesses_that_win_in_few_secrets_go_to_general_solvers_first(
    points: int, guesses: str, expected: tuple[str, ...]
) -> None:
    problem = asked(scattered(points)).but(objective=dx.AdversaryError(1.0, guesses))
    assert solvers_of_coupled(problem, OPTIONS) == expected
    assert solvers_of_coupled(problem.but(epsilon=None), OPTIONS) == ("clarabel", "highs")
    assert solvers_of_coupled(problem.but(objective="worst_loss"), OPTIONS)[0] == "columns"


@pytest.mark.parametrize("size", [100_000, 1_000_000])
@pytest.mark.parametrize("make", [dx.line, lambda size: dx.torus((size,))])
def test_advice_about_too_many_points_leads_to_an_answer(make: Any, size: int) -> None:
    problem = dx.Problem(make(size), epsilon=1.0, prior="uniform", loss="binary")
    with pytest.raises(dx.UnsupportedError) as refused:
        dx.solve(problem, method="optimal")
    assert "method: tight" in refused.value.fix
    report = dx.solve(problem, method="tight")
    assert report.certificate.private
    assert len(report.mechanism.space) == size
