"""Optima over sets of priors: against every vertex of the set, by the minimax theorem, and by every solver."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.model.moment_sets import Fitting
from dxopt.model.prior_sets import PriorSet
from dxopt.numerics.prior_polytope import Mixtures
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.duals import WorstDual
from dxopt.solving.programs.coupling import WorstRows
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.solvers.columns import shared_rows
from tests.judges import oracle_priors as judge

SIZE = 4
SETS = ["hull", "ball", "box", "ratio", "marginals", "totals"]


def random_space(rng: np.random.Generator, kind: str) -> dx.MetricSpace:
    if kind == "line":
        return dx.MetricSpace.from_points(np.sort(rng.uniform(0, 3, (SIZE, 1)), axis=0), "euclidean")
    if kind == "grid":
        return dx.grid((2, 2), spacing=float(rng.uniform(0.5, 2)))
    between = rng.uniform(1, 2, (SIZE, SIZE))
    np.fill_diagonal(between, 0.0)
    return dx.MetricSpace.from_distances(between)  # one way and the other


def random_set(rng: np.random.Generator, kind: str, space: dx.MetricSpace) -> tuple[PriorSet, np.ndarray]:
    """A set, and its vertices."""
    prior = dx.Prior.from_weights(space, rng.random(SIZE) + 0.05)
    pi = prior.probabilities
    if kind == "hull":
        others = [dx.Prior.from_weights(space, rng.random(SIZE) ** 3) for _ in range(3)]
        return dx.Prior.hull([prior, *others]), np.array([one.probabilities for one in (prior, *others)])
    if kind == "ball":
        radius = float(rng.uniform(0.02, 0.6))
        return dx.Prior.ball(prior, total_variation=radius), judge.ball(pi, radius)
    if kind == "ratio":
        return dx.Prior.box(around=prior, ratio=1.7), judge.box(pi / 1.7, np.minimum(1.7 * pi, 1))
    if kind == "box":
        lower, upper = pi * rng.uniform(0, 1, SIZE), pi + (1 - pi) * rng.uniform(0, 1, SIZE)
        return dx.Prior.box(lower, upper), judge.box(lower, upper)
    if kind == "marginals":
        square = dx.grid((2, 2)) if space.structure.shape != (2, 2) else space
        rows = pi.reshape(2, 2).sum(axis=1)
        found = dx.Prior.fitting(square, marginals=[rows, None])
        return found, judge.fitting(np.array([[1, 1, 0, 0], [0, 0, 1, 1.0]]), rows - 1e-9, rows + 1e-9)
    region = np.array([1.0, 0, 1, 0])
    mean = np.arange(SIZE, dtype=float)
    sides = [(region, 0.2, 0.4), (mean, 1.0, 2.0)]
    found = dx.Prior.fitting(space, totals=sides)
    return found, judge.fitting(np.array([region, mean]), np.array([0.2, 1.0]), np.array([0.4, 2.0]))


def worst_prior(report: dx.Report) -> np.ndarray:
    """The prior that proves the bound."""
    dual = report.dual
    assert isinstance(dual, WorstDual)
    among = report.problem.priors
    assert among is not None
    found = dual.weights @ dual.members if dual.members is not None else among.mixtures.prior(dual.weights)
    return found / math.fsum(found)


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("metric", ["line", "grid", "one way"])
def test_agrees_with_every_vertex_and_with_the_worst_priors_own_optimum(kind: str, metric: str) -> None:
    rng = np.random.default_rng([SETS.index(kind), len(metric)])
    space = random_space(rng, "grid" if kind == "marginals" else metric)
    priors, members = random_set(rng, kind, space)
    losses = rng.uniform(-1, 3, (SIZE, SIZE)) if metric == "one way" else space.distances
    problem = dx.Problem(space, epsilon=0.9, prior=priors, loss=losses)
    report = dx.solve(problem, tolerance=1e-8)
    expected = judge.best(losses, 0.9 * space.distances, members)
    proof = report.certificate
    assert report.status == "optimal"
    assert abs(proof.value - expected) <= 1e-7
    assert proof.gap <= 1e-8 and proof.bound <= proof.value

    # the minimax theorem: under the worst prior alone, the optimum is as large
    alone = dx.solve(problem.but(prior=worst_prior(report)))
    assert alone.problem.priors is None
    assert math.isclose(alone.certificate.value, proof.value, rel_tol=1e-6, abs_tol=1e-9)

    # whatever prior of the set is true, no more is lost
    for member in members:
        assert dx.evaluate.expected_loss(report.mechanism, member, losses) <= proof.value + 1e-8


@pytest.mark.parametrize("kind", ["hull", "ball", "box", "totals"])
def test_agrees_with_every_vertex_under_delta(kind: str) -> None:
    rng = np.random.default_rng(SETS.index(kind))
    space = random_space(rng, "line")
    priors, members = random_set(rng, kind, space)
    report = dx.solve(dx.Problem(space, epsilon=0.7, delta=0.05, prior=priors))
    expected = judge.best(space.distances, 0.7 * space.distances, members, delta=0.05)
    assert math.isclose(report.certificate.value, expected, rel_tol=1e-6, abs_tol=1e-7)
    assert report.certificate.gap <= 1e-6


def test_all_priors_are_the_worst_loss() -> None:
    space = dx.grid((2, 3))
    everywhere = dx.Prior.box(np.zeros(6), np.ones(6))
    over = dx.solve(dx.Problem(space, epsilon=0.8, prior=everywhere))
    worst = dx.solve(dx.Problem(space, epsilon=0.8, objective="worst_loss"))
    assert math.isclose(over.certificate.value, worst.certificate.value, rel_tol=1e-7)
    one = dx.Prior.from_weights(space, [1, 2, 3, 4, 5, 6])
    alone = dx.solve(dx.Problem(space, epsilon=0.8, prior=dx.Prior.hull([one])))
    plain = dx.solve(dx.Problem(space, epsilon=0.8, prior=one))
    assert math.isclose(alone.certificate.value, plain.certificate.value, rel_tol=1e-7)


@pytest.mark.parametrize("kind", ["hull", "ball", "ratio"])
def test_columns_agree_with_general_solvers(kind: str) -> None:
    space = dx.grid((5, 5))
    rng = np.random.default_rng(3)
    prior = dx.Prior.from_weights(space, rng.random(25) ** 2)
    sets = {
        "hull": lambda: dx.Prior.hull([prior, dx.Prior.uniform(space)]),
        "ball": lambda: dx.Prior.ball(prior, total_variation=0.2),
        "ratio": lambda: dx.Prior.box(around=prior, ratio=2.0),
    }
    problem = dx.Problem(space, epsilon=0.8, prior=sets[kind]())
    columns = dx.solve(problem, solver="columns")
    general = dx.solve(problem, solver="clarabel")
    assert columns.route == "column generation, columns"
    assert columns.certificate.gap <= 1e-6 and general.certificate.gap <= 1e-6
    assert math.isclose(columns.certificate.value, general.certificate.value, rel_tol=2e-6)


def test_secrets_that_no_prior_has_forbid_what_they_lose_infinitely_much_by() -> None:
    space = dx.line(3)
    losses = np.array([[0, 1, 2], [1, 0, 1], [math.inf, 1, 0.0]])
    first = dx.Prior.from_weights(space, [1, 1, 0])
    second = dx.Prior.from_weights(space, [3, 1, 0])
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.hull([first, second]), loss=losses))
    assert report.certificate.gap <= 1e-6 and not report.mechanism.matrix[:, 0].any()


def test_a_set_goes_with_the_expected_loss_alone() -> None:
    space = dx.line(3)
    ball = dx.Prior.ball(dx.Prior.uniform(space), total_variation=0.1)
    wrong = "objective: worst_loss does not go with a set of priors; give one prior, or ask for expected_loss"
    with pytest.raises(dx.SpecError, match=wrong):
        dx.Problem(space, epsilon=1.0, prior=ball, objective="worst_loss")
    problem = dx.Problem(space, epsilon=1.0, prior=ball)
    assert problem.priors is ball and problem.at(2.0).priors is ball
    assert problem.but(prior="uniform").objective.name == "expected_loss"
    with pytest.raises(dx.SpecError, match=r"^spanner: "):
        dx.solve(problem, spanner=1.5)


def test_the_bound_of_members_that_are_none_is_refused() -> None:
    space = dx.grid((2, 2))
    priors = dx.Prior.fitting(space, marginals=[[0.3, 0.7], None])
    assert isinstance(priors, Fitting)
    assert priors.has(priors.centre) and not priors.has(np.full(4, 0.25))
    report = dx.solve(dx.Problem(space, epsilon=0.8, prior=priors))
    dual = report.dual
    assert isinstance(dual, WorstDual) and dual.members is not None
    outside = WorstDual(dual.weights, dual.inner, np.full(dual.members.shape, 0.25))
    with pytest.raises(dx.CertificateError, match="not of the set"):
        proven_bound(report.problem, outside)


@pytest.mark.parametrize("metric", ["line", "grid", "one way"])
@pytest.mark.parametrize("delta", [0.0, 0.04])
def test_the_worst_regret_agrees_with_every_member(metric: str, delta: float) -> None:
    rng = np.random.default_rng([7, len(metric)])
    space = random_space(rng, metric)
    priors, members = random_set(rng, "hull", space)
    losses = rng.uniform(-1, 3, (SIZE, SIZE)) if metric == "one way" else space.distances
    problem = dx.Problem(space, epsilon=0.9, delta=delta, prior=priors, loss=losses, objective="regret")
    report = dx.solve(problem)
    budgets = 0.9 * space.distances
    optima = np.array([judge.best(losses, budgets, member[None, :], delta=delta) for member in members])
    expected = judge.best(losses, budgets, members, given=optima, delta=delta)
    assert abs(report.certificate.value - expected) <= 1e-7
    assert report.certificate.gap <= 1e-6 and report.certificate.bound <= report.certificate.value
    assert [one.certificate.value for one in report.members] == pytest.approx(optima.tolist(), abs=1e-8)

    # the optimum of another level is another one: nothing of it is kept
    assert report.problem.at(1.1).objective.name == "regret"
    with pytest.raises(dx.SpecError, match="not known yet"):
        report.problem.at(1.1).objective.value(report.problem, report.mechanism.matrix)


def test_regret_by_columns_and_its_comparison() -> None:
    space = dx.grid((4, 5))
    rng = np.random.default_rng(3)
    several = [dx.Prior.from_weights(space, rng.random(20) ** 3, name=f"number {k}") for k in range(3)]
    problem = dx.Problem(space, epsilon=0.8, prior=dx.Prior.hull(several), objective="regret")
    columns = dx.solve(problem, solver="columns")
    general = dx.solve(problem, solver="clarabel")
    assert columns.certificate.gap <= 1e-6
    assert math.isclose(columns.certificate.value, general.certificate.value, rel_tol=2e-6)
    shown = dict(general.lines())
    assert shown["worst prior"].startswith("number") and shown["value"].startswith("Under none of the priors")
    rows = dx.compare(problem, ["exponential"], reference=general).rows
    assert rows[0].value == general.certificate.value and (rows[1].excess or 0) > 0


def test_what_is_given_comes_off_the_value_of_columns() -> None:
    rng = np.random.default_rng(2)
    losses, channel, members = rng.random((3, 4)), rng.dirichlet(np.ones(4), 3), rng.dirichlet(np.ones(3), 2)
    given = np.array([0.1, 0.3])
    rows = WorstRows(losses, np.arange(3), Mixtures.hull(members), given=given)
    shared = shared_rows(ChannelProgram(np.zeros((3, 4)), np.zeros((3, 3)), coupling=rows))
    assert math.isclose(shared.value(channel), (members @ (losses * channel).sum(axis=1) - given).max())


def test_regret_is_about_a_hull_at_one_level() -> None:
    space = dx.line(3)
    ball = dx.Prior.ball(dx.Prior.uniform(space), total_variation=0.1)
    with pytest.raises(dx.UnsupportedError, match=r"total variation 0\.1 of uniform, whose worst regret"):
        dx.Problem(space, epsilon=1.0, prior=ball, objective="regret")
    with pytest.raises(dx.SpecError, match=r"^objective: "):
        dx.Problem(space, epsilon=1.0, prior="uniform", objective="regret")
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.hull([dx.Prior.uniform(space)]), objective="regret")
    for ask in (
        lambda: dx.sweep(problem, [1.0, 2.0]),
        lambda: dx.frontier(problem, 1.0, 2.0, resolution=0.1),
        lambda: dx.smallest_epsilon(problem, max_loss=0.5),
    ):
        with pytest.raises(dx.SpecError, match="regret is against other optima at each level"):
            ask()


def test_sets_go_with_levels_and_frontiers() -> None:
    space = dx.line(4)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.ball(dx.Prior.uniform(space), total_variation=0.2))
    level = dx.smallest_epsilon(problem, max_loss=0.6, accuracy=1e-2)
    assert dx.solve(problem.at(level.epsilon)).certificate.value <= 0.6
    assert dx.solve(problem.at(level.below)).certificate.bound > 0.6
    found = dx.compare(problem, ["geometric"], priors={"uniform": "uniform"})
    assert found.objective == "worst expected loss"
    under = {row.name: row.under["uniform"] for row in found.rows}
    assert under["optimal for uniform"] <= under["optimal"] + 1e-9
    others: Any = {"other": problem.priors}
    with pytest.raises(dx.SpecError, match=r"^priors: "):
        dx.compare(problem, ["geometric"], priors=others)
    fitting = dx.Prior.fitting(space, totals=[([1, 1, 0, 0], 0.3, 0.6)])
    with pytest.raises(dx.UnsupportedError, match="over which mechanisms are not compared"):
        dx.compare(problem.but(prior=fitting), ["geometric"])
