"""CABP13 §2, §4.2 and §5 to §6.2: mechanisms, metrics, induced graphs and examples, by their definitions."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from scipy.integrate import quad

import dxopt as dx
from tests.material.channels import all_events
from tests.material.few import few

c = dx.characterise
q = dx.queries


def test_mechanisms_are_probability_measures() -> None:
    """§2: K(x) is 1 for all reports, adds over disjoint events, and what does not is refused."""
    space, rows = dx.line(2), np.array([[0.5, 0.2, 0.3], [0.0, 0.9, 0.1]])
    mechanism = dx.Mechanism.from_matrix(space, rows, dx.Reports(("a", "b", "c")))
    assert np.array_equal(mechanism.matrix, rows)
    drawn = mechanism.sample(np.zeros(40_000, dtype=int), 1, np.random.default_rng(0))[:, 0]
    for event in all_events(3):
        assert np.isin(drawn, event).mean() == pytest.approx(rows[0, event].sum(), abs=0.01)
    for wrong in ([[0.5, 0.4], [0.5, 0.5]], [[1.2, -0.2], [0.5, 0.5]], [[math.nan, 1], [0, 1]]):
        with pytest.raises(dx.SpecError, match="matrix"):
            dx.Mechanism.from_matrix(space, wrong)


def test_densities_are_probabilities_of_events() -> None:
    """§2: of a mechanism with a density, K(x)(Z) is its integral over Z; on the line, for intervals."""
    noise = dx.noise.Laplace(0.7)
    for low, high in ((-1.0, 2.0), (0.5, 0.6), (-40.0, 40.0)):
        expected = quad(lambda z: float(noise.density(z)), low, high, points=[0.0] if low < 0 < high else None)[0]
        assert float(noise.mass_between(low, high)) == pytest.approx(expected, abs=1e-8)


def test_what_a_metric_is() -> None:
    """§2: d ≥ 0, symmetric, with the triangle inequality, infinite ones allowed; what breaks them is refused."""
    inf = math.inf
    extended = dx.MetricSpace.from_distances([[0, 2, inf], [2, 0, inf], [inf, inf, 0]])
    assert extended.symmetric
    assert extended.distances[0, 2] == inf
    for wrong in (
        [[0, 1, 3], [1, 0, 1], [3, 1, 0]],
        [[0, -1], [-1, 0]],
        [[1, 1], [1, 0]],
        [[0, inf, 1], [inf, 0, 1], [1, 1, 0]],
    ):
        with pytest.raises(dx.SpecError, match="distances"):
            dx.MetricSpace.from_distances(wrong)
    assert not dx.MetricSpace.from_distances([[0, 1], [2, 0]]).symmetric


@pytest.mark.parametrize("seed", few(range(5)))
def test_metrics_of_graphs(seed: int) -> None:
    """§2: the length of the shortest path, infinite where there is none."""
    graph = nx.gnp_random_graph(9, 0.2, seed=seed)
    space = dx.MetricSpace.from_graph(graph)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    for x, y in itertools.product(graph, repeat=2):
        assert space.distances[space.index(x), space.index(y)] == lengths[x].get(y, math.inf)


def test_databases_and_their_hamming_graph() -> None:
    """§2: all tuples of values, absent ones too; d_h is the distance of the graph of databases that differ in one."""
    one = dx.Universe.databases([0, 1], 2, absent=True)
    assert set(one.secrets) == set(itertools.product((0, 1, None), repeat=2))
    graph = nx.Graph()
    graph.add_nodes_from(range(9))
    for (x, first), (y, second) in itertools.combinations(enumerate(one.secrets), 2):
        if sum(a != b for a, b in zip(first, second, strict=True)) == 1:  # pyright: ignore[reportArgumentType]
            graph.add_edge(x, y)
    assert np.array_equal(one.space("hamming").distances, np.array(nx.floyd_warshall_numpy(graph)))


@pytest.mark.parametrize("seed", few(range(6)))
def test_induced_graphs(seed: int) -> None:
    """§4.2: answers are joined where adjacent databases have them, of any query."""
    one = dx.Universe.databases([0, 1], 3)
    values = np.random.default_rng(seed).integers(0, 4, 8)
    query = q.Query.of(one, lambda x: int(values[one.places[x]]))
    adjacent = one.space("hamming").distances == 1
    joined = {frozenset((int(values[x]), int(values[y]))) for x, y in np.argwhere(adjacent) if values[x] != values[y]}
    graph = q.induced_graph(query, one.space("hamming"))
    assert {frozenset(edge) for edge in graph.edges} == joined
    assert set(graph.nodes) == set(values.tolist())
    path = len(joined) == len(graph) - 1 and max(dict(graph.degree).values(), default=0) <= 2
    assert (q.optimality(query, one.space("hamming")).status == "none") == (not path)


@pytest.mark.parametrize("share", [0, 10, 34, 50, 67, 90, 100])
def test_every_percentile(share: float) -> None:
    """Proposition 5 and Theorems 11 to 13 for percentiles: in 𝒞, uniformly qk- and 1-sensitive."""
    one = dx.Universe.databases([0.0, 0.5, 1.0], 3, absent=True, empty=False)
    query = q.percentile(one, share)
    for secret, place in zip(one.secrets, query.index, strict=True):
        present = sorted(value for value in secret if value is not None)  # pyright: ignore[reportGeneralTypeIssues]
        rank = max(1, math.ceil(share / 100 * len(present)))
        assert query.answers[place] == present[rank - 1]
    assert q.family_c(query).member
    for metric, delta in (("normalised_manhattan", 1.0), ("manhattan", 1.0), ("chebyshev", 1.0)):
        found = q.sensitivity(query, one.space(metric), query.space())
        assert (found.delta, found.uniform) == (pytest.approx(delta), True)


def test_protection_within_a_radius() -> None:
    """Example 1: under (ε/5)d_1 adjacent databases are within ε if the date differs by at most 5 days, no others."""
    days = dx.Universe.databases(range(12), 1)
    manhattan, hamming = (days.space(metric).distances for metric in ("manhattan", "hamming"))
    for x, other in itertools.permutations(range(12), 2):
        assert hamming[x, other] == 1
        assert (manhattan[x, other] / 5 <= 1) == (abs(x - other) <= 5)
        assert manhattan[x, other] / 5 == pytest.approx(abs(x - other) / 5)


def test_all_functions_and_all_regions() -> None:
    """§6.2: Φ_2 of all functions and 𝒩_2 of all sets of places are maximally tight for d_2."""
    places = dx.MetricSpace.from_points([[0, 0], [1, 0], [2, 0.0], [0.3, 1.1]])
    functions = [list(images) for images in itertools.product(range(4), repeat=4)]
    regions = [list(some) for k in range(1, 5) for some in itertools.combinations(range(4), k)]
    assert c.hiding_tightness(places, functions).holds
    assert c.neighbourhood_tightness(places, regions).holds
    # the pairs are enough, and all that is longer is not
    assert not c.neighbourhood_tightness(places, [some for some in regions if len(some) > 2]).holds
