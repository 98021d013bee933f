"""How the region of regular priors changes with ε (ECP14 §4, §6.1 and §7.1): what holds, and two printed claims that
do not, each in exact arithmetic on p = e^{-ε} per edge and again by the library.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from problems.ecp14 import regions, settings
from tests.judges.systems import Row, feasible, solved
from tests.material.regions import AND_AN_EDGE, BIPARTITE, SEVEN, STAR, phi, space


def regular(edges: list[tuple[int, int]], power: Fraction, prior: Row) -> bool:
    return feasible(phi(edges, power), prior)


def status(edges: list[tuple[int, int]], level: float, weights: Row) -> str:
    one = space(edges)
    return dx.regularity.verdict(dx.Prior.from_weights(one, list(map(float, weights))), one, level).status


def share(matrix: list[Row]) -> Fraction:
    """The volume of the regular priors as a share of that of all priors, |det Φ| over the product of its row sums."""
    rest, found = [[*row] for row in matrix], Fraction(1)
    for place in range(len(rest)):
        pivot = next((k for k in range(place, len(rest)) if rest[k][place]), None)
        if pivot is None:
            return Fraction(0)
        rest[place], rest[pivot] = rest[pivot], rest[place]
        found *= abs(rest[place][place])
        for k in range(place + 1, len(rest)):
            factor = rest[k][place] / rest[place][place]
            rest[k] = [a - factor * b for a, b in zip(rest[k], rest[place], strict=True)]
    return found / math.prod((sum(row) for row in matrix), start=Fraction(1))


ONE = [Fraction(1)]
POWERS = [Fraction(k, 40) for k in range(39, 0, -1)]
"""e^{-ε} from 39/40 down to 1/40: ε from 0.025 to 3.7."""


def test_three_answers_have_regions_that_grow() -> None:
    """Example 1, where it is true: on three answers each region contains that of every smaller level."""
    for edges in ([(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 2)]):
        for lower, higher in itertools.pairwise(POWERS):
            for corner in phi(edges, lower):
                assert regular(edges, higher, corner)
            assert share(phi(edges, lower)) < share(phi(edges, higher))


def test_the_region_of_a_star_leaves_priors_behind() -> None:
    """Example 1, "in general the region expands as ε increases": false from four answers on.

    The corner prior of a leaf at e^{-ε} = 9/10 is regular again only from e^{-ε'} = 5/9 on: μ of the middle is in
    proportion to (p - p')(1 - 2pp').
    """
    prior = phi(STAR, Fraction(9, 10))[0]
    found = [regular(STAR, power, prior) for power in (Fraction(9, 10), Fraction(4, 5), Fraction(3, 5))]
    assert found == [True, False, False]
    assert regular(STAR, Fraction(5, 9), prior)
    assert not regular(STAR, Fraction(5, 9) + Fraction(1, 10**9), prior)
    # the same inside of the region: where p / (1 + p + 2p²) is at most 0.256, and p at most 0.248 / 0.256
    inside = [Fraction(248)] * 3 + [Fraction(256)]
    for power in POWERS:
        weights = solved(phi(STAR, power), inside)
        assert weights is not None
        limits = power / (1 + power + 2 * power**2) <= Fraction(256, 1000), power <= Fraction(248, 256)
        assert all(limits) is (min(weights) >= 0) is regular(STAR, power, inside)
    assert [status(STAR, level, inside) for level in (0.1, 0.3, 0.7)] == ["regular", "not regular", "regular"]


def test_the_region_of_a_bipartite_graph_vanishes_and_comes_back() -> None:
    """The same on K₃,₃: the region has no volume at ε = ln 2, and has at ln 1.5 and at ln 3."""
    shares = [share(phi(BIPARTITE, power)) for power in (Fraction(2, 3), Fraction(1, 2), Fraction(1, 3))]
    assert shares[0] > 0
    assert shares[1] == 0
    assert shares[2] > shares[0]
    prior = [*3 * [Fraction(51)], *3 * [Fraction(49)]]
    found = [regular(BIPARTITE, power, prior) for power in (Fraction(2, 3), Fraction(1, 2), Fraction(1, 3))]
    assert found == [True, False, True]
    assert [status(BIPARTITE, math.log(level), prior) for level in (1.5, 2.0, 3.0)] == [
        "regular",
        "not regular",
        "regular",
    ]


def test_a_prior_in_the_inside_is_regular_not_regular_and_regular() -> None:
    """On K₃,₃ with the levels that one would try: at 0.5, not at 0.6 to 1.0, and again at 1.2; all μ are positive."""
    weights = [174, 167, 168, 116, 122, 254]
    found = {level: status(BIPARTITE, level, list(map(Fraction, weights))) for level in np.arange(10, 26) / 20}
    assert [level for level, verdict in found.items() if verdict == "regular"] == [
        0.5,
        0.55,
        1.05,
        1.1,
        1.15,
        1.2,
        1.25,
    ]
    assert {found[level] for level in np.arange(12, 21) / 20} == {"not regular"}
    inside = dx.regularity.verdict(dx.Prior.from_weights(space(BIPARTITE), weights), space(BIPARTITE), 0.5)
    assert inside.mu is not None
    assert inside.mu.min() > 0.001


def closed(power: Fraction) -> Row:
    """w with Φw = 1 on K₃,₃ and an edge: of the side without, of the ends of the edge, of the sixth."""
    below = 1 + 2 * power - 4 * power**2 - 4 * power**3
    ends = (1 - 2 * power) / below
    return [(1 - 2 * power**2) / ((1 + power) * below), ends, ends * (1 + 2 * power) / (1 + power)]


def test_a_tight_mechanism_is_lost_and_found_again() -> None:
    """§7.1, "exists for any ε greater than the minimum one": false on K₃,₃ with one more edge.

    It exists for ε up to ½ ln 2, where p² = 1/2, not between, and from ln 2 on; at levels as near as one likes.
    """
    for power in POWERS:
        side, ends, sixth = closed(power)
        assert solved(phi(AND_AN_EDGE, power), 6 * ONE) == [side] * 3 + [ends] * 2 + [sixth]
        exists = 2 * power**2 >= 1 or 2 * power <= 1
        assert regular(AND_AN_EDGE, power, 6 * ONE) is exists is (min(side, ends, sixth) >= 0)
    one = space(AND_AN_EDGE)
    for level, exists in ((0.02, True), (0.34, True), (0.35, False), (0.69, False), (0.7, True), (3.0, True)):
        assert status(AND_AN_EDGE, level, 6 * ONE) == ("regular" if exists else "not regular")
        if exists:
            assert dx.tight_constraints(one, level).matrix.min() > 0
        else:
            with pytest.raises(dx.NoTightMechanism):
                dx.tight_constraints(one, level)
    # what the library calls the threshold is the level from which on it exists for good
    assert dx.regularity.threshold(one).value == pytest.approx(math.log(2), abs=1e-5)


def test_graphs_of_fewer_nodes_keep_theirs() -> None:
    """No graph of five nodes or fewer does so at any of 300 levels, none of six nodes but K₃,₃ and an edge."""
    levels = np.arange(1, 301) / 100
    others = []
    for graph in nx.graph_atlas_g()[3:209]:
        if not nx.is_connected(graph):
            continue
        distances = nx.floyd_warshall_numpy(graph, nodelist=range(len(graph)))
        kernels = np.exp(-levels[:, None, None] * distances)
        least = np.linalg.solve(kernels, np.ones((len(levels), len(graph), 1)))[:, :, 0].min(axis=1)
        exists = least >= -1e-8
        if (np.diff(exists.astype(int)) < 0).any():
            others.append(graph)
    assert [len(graph) for graph in others] == [6]
    assert nx.is_isomorphic(others[0], nx.Graph(AND_AN_EDGE))


def test_seven_nodes() -> None:
    """The same with ε as it is tried: exists at 0.05 to 0.3, not at 0.4 to 0.48, and from ln((1 + √5)/2) on."""
    powers = [Fraction(95, 100), Fraction(3, 4), Fraction(2, 3), Fraction(62, 100), Fraction(618, 1000)]
    assert [regular(SEVEN, power, 7 * ONE) for power in powers] == [True, True, False, False, True]
    levels = (0.05, 0.3, 0.4, 0.48, 0.4811, 0.4813)
    found = [status(SEVEN, level, 7 * ONE) == "regular" for level in levels]
    assert found == [True, True, False, False, False, True]
    assert dx.regularity.threshold(space(SEVEN)).value == pytest.approx(math.log((1 + math.sqrt(5)) / 2), abs=1e-5)


def test_the_queries_of_the_case_study_keep_theirs() -> None:
    """§7.1, where it is true: from the threshold on, for a sum and for two counts, by proof over every level."""
    for one in (settings.sum_query(8, 3), settings.two_counts(4)):
        found = dx.regularity.threshold(one)
        assert found.proven
        for level in np.linspace(found.high, 3, 12):
            assert dx.regularity.verdict(dx.Prior.uniform(one), one, float(level)).status == "regular"


def test_the_region_tends_to_all_priors() -> None:
    """§4 and §6.1: corner priors tend to the vertices, whatever the metric, and each prior is regular at last."""
    far = dx.MetricSpace.from_distances([[0, 1, 2.5], [1, 0, 2], [2.5, 2, 0]])
    for one in (space(STAR), space(BIPARTITE), space(SEVEN), dx.grid((3, 3)), far):
        size = len(one)
        found = [dx.regularity.region(one, level) for level in (2.0, 4.0, 8.0, 16.0)]
        rest = [1 - region.corners.diagonal().min() for region in found]
        assert rest == sorted(rest, reverse=True)
        # Σ e^{-εd} over the others is at most n - 1 times e^{-ε} of the least distance, at every level
        nearest = one.distances[one.distances > 0].min()
        for region, least in zip(found, rest, strict=True):
            assert least <= (size - 1) * math.exp(-region.epsilon * nearest)
        assert rest[-1] < size * math.exp(-16)
        assert 1 - found[-1].volume < 2 * size * size * math.exp(-16)
        rng = np.random.default_rng(size)
        for _ in range(3):
            prior = dx.Prior.from_weights(one, rng.dirichlet(np.full(size, 0.5)) + 1e-4)
            assert dx.regularity.verdict(prior, one, 16.0).status == "regular"


def test_four_answers_have_regions_that_grow() -> None:
    """Figure 3 and Example 2: for every D that is drawn the share is ((1 - p)/(1 + 3p))³, and regions are nested."""
    four = [(a, b) for a, b in itertools.combinations(range(4), 2)]
    for lower, higher in itertools.pairwise(POWERS):
        assert all(regular(four, higher, corner) for corner in phi(four, lower))
    found = {distance: dx.regularity.region(settings.record(), distance) for distance in regions.DISTANCES}
    for distance, region in found.items():
        p = math.exp(-distance)
        assert region.corners == pytest.approx((np.full((4, 4), p) + (1 - p) * np.eye(4)) / (1 + 3 * p))
        assert region.volume == pytest.approx(((1 - p) / (1 + 3 * p)) ** 3)
        known = [corner.probabilities for corner in dx.regularity.corner_priors(settings.record(), distance)]
        assert np.array(known) == pytest.approx(region.corners)
    shares = [region.volume for region in found.values()]
    assert shares == sorted(shares)
    assert len(regions.DISTANCES) == len(set(shares)) == 4
    # and in the end it is all priors
    last = dx.regularity.region(settings.record(), 40.0)
    assert last.corners == pytest.approx(np.eye(4), abs=1e-15)
    assert last.volume == pytest.approx(1, abs=1e-14)
