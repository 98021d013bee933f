"""Reductions: what they drop, that the optimum stays, and that what they say of themselves is true."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.numerics import tropical
from dxopt.numerics.partition import Partition
from dxopt.proofs.applied import AppliedReduction
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram, LinearProgram, Rows, Solution
from dxopt.solving.reductions.chain import Reduced, geodesic_pairs
from dxopt.solving.reductions.spanner import greedy_spanner, on_spanner
from dxopt.solving.routes import running as lazy
from dxopt.solving.routes.running import solve_lazily
from dxopt.solving.solvers import SOLVERS, Settings
from tests.judges.oracle import best_channel, optimum
from tests.material.checks import assert_proven, weights
from tests.material.few import few
from tests.material.instances import KINDS, problem_of, space_of


def program_of(problem: dx.Problem) -> ChannelProgram:
    costs = np.array(problem.costs) - problem.costs.min(axis=1, keepdims=True)
    return ChannelProgram(costs, np.array(problem.budgets))


def reduced_pairs(program: ChannelProgram) -> Reduced[ChannelProgram]:
    """Without the pairs that follow from others; the program itself where there are none."""
    found = geodesic_pairs(program)
    if isinstance(found, str):
        pairs = len(program.pairs[0])
        record = AppliedReduction("geodesic pairs", True, pairs, pairs)
        return Reduced(program, lambda solution: solution, (record,))
    return found


def pairs_of(program: ChannelProgram) -> set[tuple[int, int]]:
    first, second = program.pairs
    return set(zip(first.tolist(), second.tolist(), strict=True))


GRAPHS = {
    "path": nx.path_graph(8),
    "cycle": nx.cycle_graph(7),
    "tree": nx.balanced_tree(2, 3),
    "star": nx.star_graph(6),
    "grid": nx.grid_2d_graph(4, 5),
    "petersen": nx.petersen_graph(),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_only_edges_remain_on_a_graph(name: str) -> None:
    graph = GRAPHS[name]
    space = dx.MetricSpace.from_graph(graph)
    problem = dx.Problem(space, epsilon=0.7, prior=weights(space))
    found = reduced_pairs(program_of(problem))
    reduced, (record,) = found.smaller, found.records
    nodes = list(graph)
    edges = {(nodes.index(a), nodes.index(b)) for a, b in graph.edges}
    assert pairs_of(reduced) == edges | {(b, a) for a, b in edges}
    assert record.exact
    assert (record.before, record.after) == (len(nodes) * (len(nodes) - 1), 2 * len(edges))


def test_only_steps_remain_on_a_manhattan_grid() -> None:
    for spacing in (1.0, 0.1):
        space = dx.grid((4, 5), spacing=spacing, metric="manhattan")
        problem = dx.Problem(space, epsilon=0.3, prior=weights(space))
        reduced = reduced_pairs(program_of(problem)).smaller
        steps = space.distances[reduced.pairs]
        assert steps == pytest.approx(spacing)
        assert len(steps) == 2 * (3 * 5 + 4 * 4)


def test_coprime_offsets_remain_on_a_euclidean_grid() -> None:
    space = dx.grid((5, 5))
    problem = dx.Problem(space, epsilon=0.3, prior=weights(space))
    reduced = reduced_pairs(program_of(problem)).smaller
    assert space.points is not None
    apart = np.abs(space.points[:, None] - space.points[None]).astype(int)
    coprime = {(a, b) for a, b in itertools.permutations(range(25), 2) if np.gcd(*apart[a, b]) == 1}
    assert pairs_of(reduced) == coprime


@pytest.mark.parametrize("seed", few(range(8)))
@pytest.mark.parametrize("kind", KINDS)
def test_dropped_pairs_change_nothing(kind: str, seed: int) -> None:
    problem = problem_of(kind, seed)
    reduced = reduced_pairs(program_of(problem)).smaller
    prior, loss = problem.prior.probabilities, np.array(problem.losses)
    kept = np.array(reduced.budgets) / problem.epsilon
    full = optimum(problem.space.distances, problem.epsilon, prior, loss)
    value, channel = best_channel(kept, problem.epsilon, prior, loss)
    assert value == pytest.approx(full, abs=1e-8)
    first, second = np.nonzero(np.isfinite(problem.budgets))
    allowed = np.exp(problem.budgets[first, second])[:, None] * channel[second]
    assert (channel[first] <= allowed + 1e-7).all()


def test_nearly_coinciding_points_keep_a_way_to_each_other() -> None:
    """Two points closer than the slack of the comparison must not drop each other's pairs."""
    for apart in (4e-16, 1e-13, 1e-12):
        space = dx.MetricSpace.from_points([0.0, 1.0, 1.0 + apart, 2.0])
        problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))
        reduced = reduced_pairs(program_of(problem)).smaller
        paths = np.array(reduced.budgets)
        for via in range(4):
            paths = np.minimum(paths, paths[:, via, None] + paths[None, via, :])
        assert paths == pytest.approx(np.array(problem.budgets), abs=1e-11)


def worst_sources(program: ChannelProgram, channel: np.ndarray) -> set[tuple[int, int, int]]:
    """(report, first, second) where the entry of `second` is below what the worst `first` pulls it to."""
    found = set()
    for second, report in np.ndindex(channel.shape):
        pulled = [
            0.0 if first == second else math.exp(-program.budgets[first, second]) * channel[first, report]
            for first in range(len(channel))
        ]
        if max(pulled) > channel[second, report] * (1 + 1e-7) + 1e-10:
            found.add((report, pulled.index(max(pulled)), second))
    return found


@pytest.mark.parametrize("smallest", [tropical.COMPILED_FROM, 0])
@pytest.mark.parametrize("kind", KINDS)
def test_violated_pairs_are_the_worst_ones(kind: str, smallest: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tropical, "COMPILED_FROM", smallest)
    monkeypatch.setattr(lazy, "BLOCK_CELLS", 20)
    for seed in range(4):
        problem = problem_of(kind, seed)
        channel = np.random.default_rng(seed).dirichlet(np.ones(problem.shape[1]), problem.shape[0])
        program = program_of(problem)
        rows, _ = lazy._violated_pairs(program, channel)
        found = zip(rows.report.tolist(), rows.first.tolist(), rows.second.tolist(), strict=True)
        assert set(found) == worst_sources(program, channel)


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_search_drops_the_same_pairs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    space = space_of(kind, 70, np.random.default_rng(1))
    program = ChannelProgram(np.ones((70, 1)), 0.5 * space.distances)
    plain = pairs_of(reduced_pairs(program).smaller)
    monkeypatch.setattr(tropical, "COMPILED_FROM", 0)
    assert pairs_of(reduced_pairs(program).smaller) == plain


def test_classes_are_joined_by_their_closest_points() -> None:
    generator = np.random.default_rng(4)
    partition = Partition(generator.permutation(np.repeat(np.arange(4), [1, 5, 2, 4])))
    pairs = generator.integers(0, 6, (12, 12)).astype(float)
    first, second = partition.closest(pairs)
    for a, b in np.ndindex(4, 4):
        block = list(itertools.product(partition.members(a), partition.members(b)))
        assert (first[a, b], second[a, b]) == min(block, key=lambda pair: pairs[pair])


def brute_force_dilation(edges: np.ndarray, budgets: np.ndarray) -> float:
    lengths = np.where(edges, budgets, np.inf)
    np.fill_diagonal(lengths, 0.0)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(budgets)))
    joined = np.argwhere(np.isfinite(lengths))
    graph.add_weighted_edges_from((int(a), int(b), float(lengths[a, b])) for a, b in joined)
    paths = dict(nx.all_pairs_dijkstra_path_length(graph))
    pairs = [(a, b) for a, b in np.argwhere(np.isfinite(budgets)) if budgets[a, b] > 0]
    return max([1.0, *(float(paths[a].get(b, np.inf) / budgets[a, b]) for a, b in pairs)])


@pytest.mark.parametrize("asked", [1.0, 1.15, 1.5, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_spanner_keeps_its_dilation(kind: str, asked: float) -> None:
    for seed in range(3):
        space = space_of(kind, 12, np.random.default_rng(seed))
        budgets = 0.8 * space.distances
        spanner = greedy_spanner(budgets, asked)
        assert spanner.dilation <= asked * (1 + 1e-12)
        assert spanner.dilation == pytest.approx(brute_force_dilation(spanner.edges, budgets), rel=1e-12)


def test_spanner_is_sparse_where_it_may_be() -> None:
    space = dx.grid((6, 6))
    complete, sparse = (int(greedy_spanner(space.distances, asked).edges.sum()) for asked in (1.0, 2.0))
    assert sparse < complete / 4
    assert sparse >= 2 * 35


def test_spanner_programs_bracket_the_optimum() -> None:
    problem = problem_of("euclidean", 5)
    spanner = greedy_spanner(np.array(problem.budgets), 1.4)
    program = program_of(problem)
    prior, loss = problem.prior.probabilities, np.array(problem.losses)
    restricted, relaxed = (on_spanner(program, spanner, bounding=one).smaller for one in (False, True))
    inside, exact, outside = (
        optimum(np.array(each.budgets), 1.0, prior, loss) for each in (restricted, program, relaxed)
    )
    assert outside <= exact + 1e-9
    assert exact <= inside + 1e-9


def solve_by_highs(program: LinearProgram):
    return SOLVERS.get("highs")().solve(program, Settings(accuracy=1e-9))


@pytest.mark.parametrize("shape", [(5, 5), (4, 7)])
def test_lazy_rows_reach_the_optimum_of_all_rows(shape: tuple[int, int]) -> None:
    space = dx.grid(shape)
    problem = dx.Problem(space, epsilon=0.8, prior=weights(space))
    program = program_of(problem)
    found = solve_lazily(program, solve_by_highs, 1e-8)
    (record,) = found.reductions
    full = solve_by_highs(LinearProgram.of(program, Rows.everywhere(program)))
    assert found.channel is not None
    assert full.primal is not None
    value = float((program.costs * found.channel).sum())
    assert value == pytest.approx(float(program.costs.T.ravel() @ full.primal), rel=1e-6)
    assert record.exact
    assert record.before == len(space) ** 2 * (len(space) - 1)
    assert record.after < record.before


def test_reports_say_what_was_reduced() -> None:
    space = dx.grid((5, 5))
    report = dx.solve(dx.Problem(space, epsilon=0.8, prior=weights(space)), solver="clarabel")
    assert_proven(report)
    names = {reduction.name: reduction for reduction in report.reductions}
    assert names["geodesic pairs"].before == 600
    assert names["geodesic pairs"].after < 600
    assert all(reduction.exact for reduction in report.reductions)
    places = dx.MetricSpace.from_points([0.0, 0.0, 1.0])
    merged = dx.solve(dx.Problem(places, epsilon=0.8, prior=weights(places)))
    assert (merged.reductions[0].before, merged.reductions[0].after) == (3, 2)
    spanner = dx.solve(dx.Problem(space, epsilon=0.8, prior=weights(space)), solver="clarabel", spanner=1.5)
    assert not next(r for r in spanner.reductions if r.name == "spanner").exact


def test_a_stopped_run_keeps_the_last_finished_round() -> None:
    space = dx.grid((6, 6))
    problem = dx.Problem(space, epsilon=0.3, prior=dx.Prior.uniform(space))
    program = program_of(problem)
    answers: list[Solution] = []

    def solve(linear: LinearProgram) -> Solution:
        answers.append(SOLVERS.get("highs")().solve(linear, Settings()))
        if len(answers) == 1:
            return answers[0]
        return replace(answers[-1], status=Status.INTERRUPTED, primal=np.zeros(len(linear.cost)))

    solution = solve_lazily(program, solve, 1e-9)
    assert len(answers) == 2
    assert solution.status is Status.INTERRUPTED
    assert solution.channel is not None
    assert answers[0].primal is not None
    assert np.array_equal(solution.channel.T.ravel(), answers[0].primal)
