"""Column generation: agreement with the oracle on every kind of small problem, its proof, and how it stops."""

from __future__ import annotations

import time
from collections.abc import Iterator

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dxopt as dx
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.solvers.columns import ColumnSettings, clusters, generation, local_product, matrices, solve_columns
from tests.judges import exact
from tests.judges.oracle import optimum
from tests.material.by_columns import by_columns, spaces
from tests.material.checks import assert_proven


@pytest.fixture(params=["whole", "local", "clustered"])
def ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Solve as for few points, and as for many: in blocks of rows without small entries, and by clusters at first."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "local":
            patch.setattr(matrices, "_LOCAL_FROM", 1)
            patch.setattr(matrices, "_FEW", 2.0)
            patch.setattr(generation, "_ORDERED_FROM", 2)
            patch.setattr(local_product, "ROWS", 2)
        if request.param == "clustered":
            patch.setattr(generation, "_LARGE_FROM", 2)
            patch.setattr(generation, "_COARSE_FROM", 4)
            patch.setattr(clusters, "_WIDEST", np.inf)
        yield


@pytest.mark.usefixtures("ways")
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), size=st.integers(2, 7), epsilon=st.floats(0.1, 2.0))
def test_agrees_with_the_oracle(seed: int, size: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    for space in spaces(rng, size):
        n = len(space)
        weights = rng.random(n) * (rng.random(n) < 0.8)
        weights[0] += 0.1
        prior = dx.Prior.from_weights(space, weights)
        for loss in (rng.random((n, n)), rng.random((n, 3)) - 0.5, 1.0 - np.eye(n)):
            problem = dx.Problem(space, epsilon=epsilon, prior=prior, loss=loss)
            report = by_columns(problem, tolerance=1e-7)
            assert report.certificate.private
            best = optimum(space.distances, epsilon, prior.probabilities, problem.losses)
            assert report.certificate.value == pytest.approx(best, abs=1e-7)
            assert report.certificate.bound == pytest.approx(best, abs=1e-7)
            assert "columns" not in report.refused


@pytest.mark.parametrize("kind", ["cycle", "one-way", "islands", "mirror", "twins", "reports"])
@pytest.mark.parametrize("epsilon", [0.4, 2.0])
def test_symmetric_problems_agree_with_the_oracle(kind: str, epsilon: float) -> None:
    at = np.arange(5.0)
    half = np.random.default_rng(3).random(3)
    cycle = dx.MetricSpace.from_graph(nx.cycle_graph(6))
    space = {
        "cycle": cycle,
        "one-way": dx.MetricSpace.from_graph(nx.cycle_graph(5, create_using=nx.DiGraph)),
        "islands": dx.MetricSpace.from_graph(nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(4))),
        "mirror": dx.grid((2, 3)),
        "twins": dx.MetricSpace.from_points(np.array([[0.0, 0], [0, 0], [1, 0], [1, 0], [0, 2], [1, 2]])),
        "reports": dx.line(5),
    }[kind]
    distances = np.where(np.isinf(space.distances), 9.0, space.distances)
    loss = np.abs(at[:, None] - np.arange(0, 4.5, 0.5)) if kind == "reports" else distances
    weights = np.concatenate([half, half]) if kind == "mirror" else np.ones(len(space))
    prior = dx.Prior.from_weights(space, weights)
    report = by_columns(dx.Problem(space, epsilon=epsilon, prior=prior, loss=loss), tolerance=1e-7)
    best = optimum(space.distances, epsilon, prior.probabilities, loss)
    assert "symmetry" in {reduction.name for reduction in report.reductions}
    assert report.certificate.value == pytest.approx(best, abs=1e-7)
    assert report.certificate.bound == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_grids_are_solved_and_proven(metric: str, epsilon: float) -> None:
    space = dx.grid((5, 6), metric=metric)
    prior = dx.Prior.from_weights(space, 1 + (11 * np.arange(30)) % 7)
    problem = dx.Problem(space, epsilon=epsilon, prior=prior)
    report = by_columns(problem)
    assert report.status == "optimal"
    assert_proven(report)
    assert not exact.violations(report.mechanism.matrix, space.distances, epsilon)
    other = dx.solve(problem, method="optimal", solver="clarabel")
    assert report.certificate.value == pytest.approx(other.certificate.value, rel=2e-6)


def test_published_optimum_of_the_large_grid() -> None:
    """10 × 10 points under every pair, 621,200 constraints and more, which general solvers take minutes for."""
    space = dx.grid((10, 10))
    prior = dx.Prior.from_weights(space, 1 + (11 * np.arange(100)) % 7)
    report = dx.solve(dx.Problem(space, epsilon=0.5, prior=prior))
    assert report.route == "column generation, columns"
    assert report.status == "optimal"
    assert report.certificate.value == pytest.approx(2.528952, abs=3e-6)


@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.3])
def test_a_stopped_run_is_private(seconds: float) -> None:
    space = dx.grid((12, 12))
    prior = dx.Prior.from_weights(space, 1 + (11 * np.arange(144)) % 7)
    problem = dx.Problem(space, epsilon=0.1, prior=prior)
    start = time.monotonic()
    report = by_columns(problem, time_limit=seconds)
    assert time.monotonic() - start < 20
    assert report.status == "time limit"
    assert report.certificate.private
    assert report.certificate.bound <= report.certificate.value
    assert not exact.violations(report.mechanism.matrix[:, ::16], space.distances, 0.1)


def test_progress_names_value_and_bound() -> None:
    lines: list[str] = []
    space = dx.grid((5, 5))
    by_columns(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space)), progress=lines.append)
    rounds = [line for line in lines if line.startswith("column generation, round")]
    assert len(rounds) > 3
    assert "bound" in rounds[-1]


def test_a_constant_of_the_loss_widens_the_tolerance() -> None:
    """The gap of a solution is relative to the loss with what every mechanism costs."""
    rng = np.random.default_rng(4)
    space = dx.MetricSpace.from_points(rng.random((40, 2)))
    costs = space.distances / len(space)
    settings = ColumnSettings(1e-3)
    rounds = []
    for offset in (0.0, 100 * costs.mean()):
        found = solve_columns(ChannelProgram(costs, 3 * space.distances, offset=offset), settings)
        rounds.append(found.iterations)
        assert found.status is Status.OPTIMAL
    assert rounds[1] < rounds[0]
