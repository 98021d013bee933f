"""Symmetry: the automorphisms found are all there are, and what comes back from classes is an optimum, proven."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

import dxopt as dx
from dxopt.proofs.duals import Dual
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.reductions.automorphisms import automorphisms, orbits
from dxopt.solving.reductions.symmetry import TOO_LITTLE, Orbits, find_orbits
from tests.judges.oracle import optimum
from tests.material.instances import KINDS, space_of

Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]


def posed(distances: Matrix, prior: Matrix | float = 1.0) -> ChannelProgram:
    """The loss is the distance; infinite ones count as 1."""
    loss = np.where(np.isfinite(distances), distances, 1.0)
    return ChannelProgram(np.ones((len(loss), 1)) * np.reshape(prior, (-1, 1)) * loss, np.array(distances))


def on_graph(graph: nx.Graph) -> ChannelProgram:
    return posed(dx.MetricSpace.from_graph(graph).distances)


def on_grid(shape: tuple[int, ...], spacing: float = 1.0) -> ChannelProgram:
    return posed(dx.grid(shape, spacing=spacing).distances)


def shuffled(program: ChannelProgram, rng: np.random.Generator) -> ChannelProgram:
    rows, reports = (rng.permutation(size) for size in program.costs.shape)
    return ChannelProgram(program.costs[np.ix_(rows, reports)], program.budgets[np.ix_(rows, rows)])


def counts(program: ChannelProgram) -> tuple[int, int]:
    """Classes of rows and reports, of automorphisms that are checked here."""
    found = automorphisms(program)
    n, m = program.costs.shape
    for one in found.generators:
        assert np.array_equal(np.sort(one.rows), np.arange(n)) and np.array_equal(np.sort(one.reports), np.arange(m))
        assert np.allclose(program.budgets[np.ix_(one.rows, one.rows)], program.budgets, rtol=1e-11, atol=1e-11)
        assert np.allclose(program.costs[np.ix_(one.rows, one.reports)], program.costs, rtol=1e-11, atol=1e-11)
        assert (one.rows != np.arange(n)).any() or (one.reports != np.arange(m)).any()
    assert found.complete
    rows = orbits((one.rows for one in found.generators), n)
    reports = orbits((one.reports for one in found.generators), m)
    return int(rows.max()) + 1, int(reports.max()) + 1


def symmetry_of(program: ChannelProgram) -> Orbits:
    found = find_orbits(program)
    assert isinstance(found, Orbits), found
    return found


def brushes() -> nx.Graph:
    """Five branches, each with two leaves that are each other's twins but not those of other branches."""
    return nx.Graph([(0, k) for k in range(1, 6)] + [(k, 10 * k + leaf) for k in range(1, 6) for leaf in (1, 2)])


def mirrored() -> ChannelProgram:
    half = np.random.default_rng(3).random((6, 3))
    return posed(dx.grid((6, 6)).distances, np.concatenate([half, half[:, ::-1]], axis=1).ravel())


def coins() -> Matrix:
    return dx.MetricSpace.from_points(list(itertools.product("ab", repeat=6)), "hamming").distances


PROGRAMS = {
    "grid": (on_grid((20, 20)), 55),
    "grid, rounded steps": (on_grid((12, 12), 0.1), 21),
    "oblong": (on_grid((5, 4)), 6),
    "torus": (posed(dx.torus((12, 12), spacing=0.1).distances), 1),
    "hypercube": (posed(coins()), 1),
    "mirror": (mirrored(), 18),
    "complete": (posed(1 - np.eye(300)), 1),
    "two kinds of twins": (posed(1 - np.eye(40), np.arange(40.0) % 2 + 1), 2),
    "cycle": (on_graph(nx.cycle_graph(30)), 1),
    "one-way cycle": (on_graph(nx.cycle_graph(31, create_using=nx.DiGraph)), 1),
    "binary tree": (on_graph(nx.balanced_tree(2, 5)), 6),
    "brushes": (on_graph(brushes()), 3),
    "multipartite": (on_graph(nx.complete_multipartite_graph(3, 3, 3, 2, 2)), 2),
    "islands": (on_graph(nx.disjoint_union_all([nx.cycle_graph(5)] * 4 + [nx.path_graph(3)])), 3),
    "strongly regular": (on_graph(nx.Graph(nx.paley_graph(29))), 1),
    "alike but not the same": (
        on_graph(nx.disjoint_union(nx.circulant_graph(9, [1, 2]), nx.line_graph(nx.complete_bipartite_graph(3, 3)))),
        2,
    ),
    "no symmetry": (posed(dx.MetricSpace.from_points(np.random.default_rng(1).random((60, 2))).distances), 60),
    "no symmetry of the prior": (posed(dx.grid((9, 9)).distances, np.random.default_rng(2).random(81)), 81),
    "one point": (posed(np.zeros((1, 1))), 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_classes_are_those_of_the_whole_group(name: str) -> None:
    program, classes = PROGRAMS[name]
    assert counts(program) == (classes, classes)
    assert counts(shuffled(program, np.random.default_rng(5))) == (classes, classes)


def pair_orbits(program: ChannelProgram) -> set[frozenset[tuple[int, int]]]:
    """By trying every permutation of the rows."""
    n, m = program.costs.shape
    joined = nx.Graph()
    joined.add_nodes_from(itertools.product(range(n), range(m)))
    for order in itertools.permutations(range(n)):
        rows = list(order)
        if not np.array_equal(program.budgets[np.ix_(rows, rows)], program.budgets):
            continue
        images = [
            [y for y in range(m) if np.array_equal(program.costs[rows, y], program.costs[:, z])] for z in range(m)
        ]
        if sorted(map(tuple, program.costs[rows].T.tolist())) != sorted(map(tuple, program.costs.T.tolist())):
            continue
        joined.add_edges_from(((x, z), (rows[x], y)) for x in range(n) for z in range(m) for y in images[z])
    return {frozenset(orbit) for orbit in nx.connected_components(joined)}


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 6), st.booleans(), st.integers(2, 3))
def test_every_automorphism_counts(seed: int, n: int, m: int, asymmetric: bool, kinds: int) -> None:
    rng = np.random.default_rng(seed)
    budgets = rng.choice([1.0, 1.5, np.inf][:kinds], (n, n))
    if not asymmetric:
        budgets = np.minimum(budgets, budgets.T)
    np.fill_diagonal(budgets, 0.0)
    program = ChannelProgram(rng.integers(0, 2, (n, m)).astype(float), budgets)
    wanted = pair_orbits(program)
    found = find_orbits(program)
    assert isinstance(found, str) == (len(wanted) > 0.75 * n * m)
    if isinstance(found, str):
        return
    assert found.record().after == len(wanted)
    carried: dict[int, set[tuple[int, int]]] = {}
    for z, x in itertools.product(range(m), range(n)):
        orbit = int(found.orbits[found.reports.index[z], x])
        carried.setdefault(orbit, set()).add((int(found.carry[z, x]), z))
    assert {frozenset(orbit) for orbit in carried.values()} == wanted


@pytest.mark.parametrize(("name", "after"), {"hypercube": 7, "complete": 2, "cycle": 16, "brushes": 14}.items())
def test_one_variable_is_left_for_each_orbit_of_pairs(name: str, after: int) -> None:
    assert symmetry_of(PROGRAMS[name][0]).record().after == after


def test_reports_need_not_be_secrets() -> None:
    at = np.arange(10.0)
    reports = np.arange(0, 9.5, 0.5)
    program = ChannelProgram(np.abs(at[:, None] - reports), np.abs(at[:, None] - at))
    assert counts(program) == (5, 10)
    assert counts(ChannelProgram(program.costs + 0.1 * reports, program.budgets)) == (10, 19)


def test_equal_reports_are_one_class() -> None:
    program = mirrored()
    costs = program.costs * np.random.default_rng(4).random((36, 1))
    assert counts(ChannelProgram(np.concatenate([costs, costs[:, :7], costs[:, :2]], axis=1), program.budgets)) == (
        36,
        36,
    )


def test_rounding_does_not_hide_a_symmetry_and_a_difference_does() -> None:
    program = on_grid((6, 6))
    noise = np.random.default_rng(6).uniform(-1, 1, (2, 36, 36))
    noisy = ChannelProgram(program.costs * (1 + 1e-14 * noise[0]), program.budgets * (1 + 1e-14 * noise[1]))
    assert counts(noisy) == (6, 6)
    other = program.budgets.copy()
    other[0, 35] *= 1 + 1e-9
    assert counts(program.with_budgets(other))[0] == 21
    assert counts(ChannelProgram(program.costs + 1e-6 * (np.arange(36) == 0), program.budgets))[0] == 21


def test_one_report_out_of_the_question_hides_nothing() -> None:
    program = on_grid((7, 6))
    costs = np.concatenate([program.costs, np.full((42, 1), 1e13)], axis=1)
    assert counts(ChannelProgram(costs, program.budgets)) == (12, 13)


def test_the_work_is_bounded() -> None:
    skewed = automorphisms(PROGRAMS["no symmetry of the prior"][0])
    assert skewed.work <= 8 * 81 * 81
    assert automorphisms(PROGRAMS["torus"][0]).work <= 200 * 144 * 144
    program = on_graph(nx.random_regular_graph(4, 60, seed=1))
    assert automorphisms(program, limit=20_000).work <= 20_000 + 4 * program.costs.size
    assert not automorphisms(on_graph(nx.paley_graph(29)), limit=10_000).complete
    asked = itertools.count()
    stopped = automorphisms(posed(coins()), should_stop=lambda: next(asked) >= 40)
    assert not stopped.complete and next(asked) == 41
    assert 0 < len(stopped.generators) < len(automorphisms(posed(coins())).generators)


def test_what_saves_little_is_left_alone() -> None:
    lopsided = nx.random_labeled_tree(40, seed=2)
    lopsided.add_edges_from([(0, 40), (0, 41)])
    assert automorphisms(on_graph(lopsided)).generators
    assert find_orbits(on_graph(lopsided)) == TOO_LITTLE
    assert find_orbits(PROGRAMS["no symmetry"][0]) == TOO_LITTLE


@pytest.mark.parametrize("name", ["grid, rounded steps", "mirror", "brushes", "islands", "one-way cycle"])
def test_channels_come_back_private_with_the_same_loss_and_rows(name: str) -> None:
    program = PROGRAMS[name][0]
    found = symmetry_of(program)
    n, m = program.costs.shape
    assert (found.rows.size, found.reports.size) == counts(program)
    rng = np.random.default_rng(9)
    columns = (np.exp(-program.budgets).T @ (rng.random((n, found.reports.size)) ** 6)).T
    channel = found.channel(columns)
    for one in automorphisms(program).generators:
        assert np.allclose(channel[np.ix_(one.rows, one.reports)], channel, rtol=1e-12)
    assert np.allclose(channel[:, found.representatives].T, found.averaged(columns), rtol=1e-14)
    index = found.rows.index
    totals = np.bincount(index, found.sizes @ columns) / np.bincount(index)
    assert np.allclose(channel.sum(axis=1), totals[index], rtol=1e-12)
    loss = found.sizes @ (columns * program.costs[:, found.representatives].T).sum(axis=1)
    assert np.isclose((program.costs * channel).sum(), loss, rtol=1e-12)
    assert (channel[:, None] <= np.exp(program.budgets)[..., None] * channel[None] * (1 + 1e-12)).all()
    record = found.record()
    assert record.exact and record.before == n * m and record.after == len(np.unique(found.orbits))
    assert f"rows {n} → {found.rows.size}, reports {m} → {found.reports.size}" in record.note


def solved(
    program: ChannelProgram, found: Orbits
) -> tuple[Matrix, Matrix, float, tuple[Indices, Indices, Indices, Matrix]]:
    """Columns of the representatives, their prices and multipliers, from a linear program of their own."""
    n = len(program.budgets)
    k = found.reports.size
    first, second = program.pairs
    cone = np.zeros((len(first), n))
    cone[np.arange(len(first)), second] = 1.0
    cone[np.arange(len(first)), first] = -np.exp(-program.budgets[first, second])
    each = np.equal.outer(np.arange(found.rows.size), found.rows.index)
    totals = np.kron(found.sizes, each / each.sum(axis=1, keepdims=True))
    costs = found.sizes[:, None] * program.costs[:, found.representatives].T
    best = linprog(
        costs.ravel(), -np.kron(np.eye(k), cone), np.zeros(k * len(first)), totals, np.ones(found.rows.size)
    )
    multiplier = -best.ineqlin.marginals.reshape(k, -1) / found.sizes[:, None]
    report, pair = np.nonzero(multiplier)
    rows = (report.astype(np.int64), first[pair], second[pair], multiplier[report, pair])
    return best.x.reshape(k, n), best.eqlin.marginals, best.fun, rows


@pytest.mark.parametrize("kind", ["grid", "mirror", "islands", "one-way", "reports"])
def test_a_solution_by_classes_is_optimal_and_proves_it(kind: str) -> None:
    half = np.random.default_rng(8).random((3, 2))
    at = np.arange(5.0)
    reports = np.arange(0, 4.5, 0.5)
    program = {
        "grid": on_grid((3, 3)),
        "mirror": posed(dx.grid((3, 3)).distances, np.concatenate([half, half[:, :1]], axis=1).ravel()),
        "islands": on_graph(nx.disjoint_union(nx.cycle_graph(4), nx.path_graph(3))),
        "one-way": on_graph(nx.cycle_graph(5, create_using=nx.DiGraph)),
        "reports": ChannelProgram(np.abs(at[:, None] - reports), np.abs(at[:, None] - at)),
    }[kind]
    n = len(program.budgets)
    found = symmetry_of(program)
    columns, prices, value, multipliers = solved(program, found)
    best = optimum(program.budgets, 1.0, np.ones(n), program.costs)
    channel = found.channel(columns)
    assert np.allclose(channel.sum(axis=1), 1.0, rtol=1e-8)
    assert np.isclose(value, best, rtol=1e-8)
    assert np.isclose((program.costs * channel).sum(), best, rtol=1e-8)
    dual = found.dual(Dual((prices / np.bincount(found.rows.index))[found.rows.index], *multipliers))
    rest = program.costs - dual.prices[:, None]
    np.add.at(rest, (dual.second, dual.report), -dual.multiplier)
    factors = np.exp(-program.budgets[dual.first, dual.second])
    np.add.at(rest, (dual.first, dual.report), factors * dual.multiplier)
    assert rest.min() > -1e-8
    assert np.isclose(dual.prices.sum(), best, rtol=1e-8)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(KINDS), st.integers(0, 10**6), st.integers(2, 6))
def test_copies_of_any_space_are_carried_into_each_other(kind: str, seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    apart = np.full((2, 2, size, size), np.inf), np.full((2, 2, size, size), 9.0)
    for copy in range(2):
        apart[0][copy, copy] = space_of(kind, size, np.random.default_rng(seed)).distances
        apart[1][copy, copy] = np.random.default_rng(seed).random((size, size))
    budgets, costs = (blocks.transpose(0, 2, 1, 3).reshape(2 * size, 2 * size) for blocks in apart)
    assert counts(shuffled(ChannelProgram(costs, budgets), rng)) == (size, size)
