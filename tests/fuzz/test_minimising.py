"""Finds are made small and round, and print as code that runs."""

from __future__ import annotations

import networkx as nx
import numpy as np

import dxopt as dx
from tests.fuzz.calls import Edge, call
from tests.fuzz.case import Adversary, Case
from tests.fuzz.families import case_of
from tests.fuzz.judging import Find
from tests.fuzz.minimising import minimised
from tests.fuzz.printing import program


def run(case: Case) -> dx.Problem:
    """The problem that the printed code makes."""
    names: dict[str, dx.Problem] = {}
    lines = program(case, Find("kind", "detail"), "1:2").splitlines()
    exec("\n".join(line for line in lines if not line.startswith(("report", "print"))), names)
    return names["problem"]


def test_a_find_becomes_as_small_as_it_can() -> None:
    def shows(case: Case) -> bool:
        try:
            problem = case.problem()
        except dx.SpecError:
            return False
        return problem.losses.max() > 4 and len(problem.space) > 1 and problem.epsilon < 0.5

    case = Case(
        family="line",
        space=call("dx.line", 6, step=0.7312),
        weights=(0.123, 4.5, 1.7, 0.0, 2.2, 1.0),
        epsilon=0.4321,
        loss=tuple(tuple(row) for row in np.random.default_rng(1).uniform(0, 9, (6, 5)).tolist()),
        objective=Adversary(3.21, "distance"),
        delta=0.01,
        method="optimal",
        solver="highs",
        tolerance=1e-3,
    )
    assert shows(case)
    found = minimised(case, shows)
    assert shows(found)
    assert (found.method, found.solver, found.tolerance, found.delta) == ("auto", "auto", 1e-6, 0.0)
    assert found.objective == "expected_loss"
    assert found.weights == (1.0, 1.0)
    assert found.epsilon == 0.4
    assert not isinstance(found.loss, str)
    assert np.shape(found.loss) == (2, 1)
    assert all(number == float(f"{number:.1g}") for row in found.loss for number in row)


def test_what_shows_nowhere_else_stays_as_it_is() -> None:
    case = case_of(5, 12)
    assert minimised(case, lambda other: False) == case


def test_tries_are_limited() -> None:
    tried = []

    def shows(case: Case) -> bool:
        tried.append(case)
        return True

    minimised(case_of(5, 4), shows, tries=7)
    assert len(tried) <= 7


def test_printed_code_makes_the_same_problem() -> None:
    for number in range(150):
        case = case_of(8, number)
        try:
            problem = case.problem()
        except dx.SpecError:
            continue
        again = run(case)
        assert np.array_equal(again.space.distances, problem.space.distances)
        assert np.array_equal(again.prior.probabilities, problem.prior.probabilities)
        assert np.array_equal(again.losses, problem.losses)
        assert (again.epsilon, again.delta, again.pairs) == (problem.epsilon, problem.delta, problem.pairs)
        assert again.objective.name == problem.objective.name
        assert again.objective.max_loss == problem.objective.max_loss


def test_graphs_are_printed_with_their_edges() -> None:
    made = call("dx.MetricSpace.from_graph", call("nx.from_edgelist", [Edge(0, 1, 0.5)]), weight="length")
    text = "dx.MetricSpace.from_graph(nx.from_edgelist([(0, 1, {'length': 0.5})]), weight='length')"
    assert str(made) == text
    assert np.array_equal(eval(text, {"dx": dx, "nx": nx}).distances, made.make().distances)
