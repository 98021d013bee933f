"""ECP14: what its figures draw and its case studies compare, and the smaller statements around them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

import dxopt as dx
from problems.ecp14 import leakage, regions, settings, utilities
from tests.judges.exact import violations
from tests.judges.systems import solved
from tests.material.regions import BIPARTITE, STAR, phi, space

TRIANGLE = np.array([[0, 0], [1, 0], [0.5, math.sqrt(3) / 2]])
"""Where the priors that are sure of one of three answers are drawn."""


def test_the_triangles_of_figure_2() -> None:
    """Each region is drawn with its corner priors as corners, at 0.7 and at 1.6, and contains the uniform prior."""
    drawn = regions.figure_2()
    for axes, one in zip(drawn.axes, regions.three_answers().values(), strict=True):
        shapes = [patch.get_xy()[:3] for patch in axes.patches]  # pyright: ignore
        assert len(shapes) == len(regions.LEVELS) == 2
        for shape, level in zip(shapes, regions.LEVELS, strict=True):
            region = dx.regularity.region(one, level)
            assert shape == pytest.approx(region.corners @ TRIANGLE)
            p = math.exp(-level)
            sides = 1 + p + p * p, 1 + 2 * p
            line = (1 - p * p) ** 2 / (sides[0] ** 2 * sides[1])
            circle = ((1 - p) / (1 + 2 * p)) ** 2
            expected = line if one.distances.max() == 2 else circle
            assert region.volume == pytest.approx(expected, rel=1e-12)
            corners = np.exp(-level * one.distances)
            corners /= corners.sum(axis=1, keepdims=True)
            assert region.corners == pytest.approx(corners)
            known = [corner.probabilities for corner in dx.regularity.corner_priors(one, level)]
            assert np.array(known) == pytest.approx(corners)
            assert dx.regularity.verdict(dx.Prior.uniform(one), one, level).status == "regular"


def test_the_polytopes_of_figure_3() -> None:
    """Four panels, one for each D, each a simplex with the corner priors as corners, in three probabilities."""
    drawn = regions.figure_3()
    assert [axes.get_title() for axes in drawn.axes] == [f"D = {distance}" for distance in regions.DISTANCES]
    for axes, distance in zip(drawn.axes, regions.DISTANCES, strict=True):
        (points,) = [one for one in axes.collections if hasattr(one, "_offsets3d")]
        at = np.array(points._offsets3d).T  # pyright: ignore
        assert at == pytest.approx(dx.regularity.region(settings.record(), distance).corners[:, :3])


def test_figure_4_a_specific_prior_has_the_better_bound_at_every_level() -> None:
    """Both curves by their formulas from ln 2, where the prior of Example 3 is regular, to 1, 1.3 bits apart."""
    one, prior = settings.record(), leakage.record_prior()
    for level in np.arange(70, 101, 5) / 100:
        assert dx.regularity.verdict(prior, one, float(level)).status == "regular"
        specific, every = leakage.printed_bound(float(level)), leakage.every_prior_bound(float(level))
        assert leakage.proven_bound(float(level)) == pytest.approx(specific, abs=1e-6)
        assert every == pytest.approx(5 * math.log2(4 / (1 + 3 * math.exp(-level))), abs=1e-12)
        assert specific == pytest.approx(every - 5 * math.log2(4 * 0.3), abs=1e-12)
        assert 5 * dx.regularity.leakage_bound(prior, one, float(level)) == pytest.approx(specific, abs=1e-9)


@pytest.mark.parametrize("level", [0.3, 0.4, 0.48, 0.5, 0.6, 0.69])
def test_figure_4_below_ln_2_a_bound_holds_that_is_not_the_printed_one(level: float) -> None:
    """Where the prior is not regular, the least Σμ of μΦ ≥ π: above the printed curve, and far below that for all."""
    one, prior = settings.record(), leakage.record_prior()
    assert dx.regularity.verdict(prior, one, level).status == "not regular"
    kernel = np.exp(-level * one.distances)
    least = linprog(np.ones(4), A_ub=-kernel, b_ub=-prior.probabilities, bounds=(0, None), method="highs").fun
    every = leakage.every_prior_bound(level)
    assert every == pytest.approx(5 * math.log2(4 / (1 + 3 * math.exp(-level))), abs=1e-12)
    assert leakage.proven_bound(level) == pytest.approx(5 * math.log2(least / 0.3), abs=1e-6)
    assert 5 * dx.regularity.leakage_bound(prior, one, level) == pytest.approx(leakage.proven_bound(level), abs=1e-6)
    assert leakage.printed_bound(level) < leakage.proven_bound(level) < every - 0.9
    # the best of one record leaks more than is printed, and no mechanism more than the bound
    problem = dx.Problem(one, epsilon=level, prior=prior, loss="binary")
    proof = dx.solve(problem, method="optimal", tolerance=1e-9).certificate
    assert leakage.printed_bound(level) < 5 * math.log2((1 - proof.value) / 0.3)
    assert 5 * math.log2((1 - proof.bound) / 0.3) <= leakage.proven_bound(level) + 1e-6


def test_figure_6_the_tight_mechanism_is_far_better_than_the_geometric_one() -> None:
    """§7.1, with the sizes of the paper, from the thresholds on: by two fifths and more, and by a half and more."""
    for epsilon in (0.97, 1.1, 1.2, 1.3):
        assert utilities.tight_utility(settings.sum_query(), epsilon) > 1.4 * utilities.geometric_sum(epsilon)
    for epsilon in (1.14, 1.2, 1.3):
        assert utilities.tight_utility(settings.two_counts(), epsilon) > 1.5 * utilities.geometric_counts(epsilon)


def test_figure_7_the_tight_mechanism_is_far_better_than_planar_laplace() -> None:
    """§7.2, on 20 × 20 of the 100 × 100 places, at levels where the tight mechanism exists."""
    for epsilon in (0.7, 1.0, 1.3):
        tight = utilities.tight_utility(settings.locations(20), epsilon)
        assert tight > 1.1 * utilities.planar_laplace(epsilon, 20)


def test_the_matrix_of_the_sum_query_is_invertible() -> None:
    """§7.1: at 0.8, 0.969 and 1.3 Φ has no eigenvalue below 0.04, so that one w solves it, negative at 0.8."""
    for level in (1.3, 0.969, settings.PRINTED.sum_threshold):
        kernel = dx.regularity.phi(settings.sum_query(), level)
        np.linalg.cholesky(kernel - 0.04 * np.eye(len(kernel)))
    assert np.linalg.solve(kernel, np.ones(len(kernel))).min() < -1e-4


def test_the_matrix_of_privacy_constraints() -> None:
    """Definition 3 and after it: Φ is e^{-d}, symmetric, 1 on the diagonal, and tends to the identity matrix."""
    for one in (dx.line(4), dx.grid((2, 3)), space(STAR)):
        for level in (0.3, 2.0, 60.0):
            found = dx.regularity.phi(one, level)
            assert found == pytest.approx(np.exp(-level * one.distances), rel=1e-15)
            assert np.array_equal(found, found.T)
            assert (found.diagonal() == 1).all()
        assert np.abs(found - np.eye(len(one))).max() < 1e-25


@pytest.mark.parametrize("seed", range(4))
def test_constraints_are_vacuous_as_all_distances_grow_in_any_way(seed: int) -> None:
    """§4: any priors are regular at last, as distances grow each at its own rate, and Φ tends to the identity."""
    rng, size = np.random.default_rng(seed), 5
    priors, found = rng.dirichlet(np.full(size, 0.5), 4) + 1e-3, []
    for least in (0.5, 2.0, 5.0, 10.0, 20.0):
        # any distances between L and 2L are a metric
        steps = np.triu(least * (1 + rng.random((size, size))), 1)
        one = dx.MetricSpace.from_distances(steps + steps.T)
        assert dx.regularity.phi(one, 1.0) == pytest.approx(np.exp(-one.distances), rel=1e-14)
        assert np.abs(dx.regularity.phi(one, 1.0) - np.eye(size)).max() <= math.exp(-least)
        region = dx.regularity.region(one, 1.0)
        assert (1 - region.corners.diagonal() <= (size - 1) * math.exp(-least)).all()
        found.append([dx.regularity.verdict(dx.Prior.from_weights(one, w), one, 1.0).status for w in priors])
    assert set(found[-1]) == {"regular"}
    assert "not regular" in found[0]


@pytest.mark.parametrize("name", ["sum", "minimum", "median", "maximum", "average"])
def test_on_the_induced_graph_privacy_is_that_of_the_databases(name: str) -> None:
    """Corollary 1, both directions: the least ε of any H on the induced graph is that of H∘f under Hamming."""
    universe = dx.Universe.databases([0, 1, 2], 2)
    query, secrets = dx.queries.QUERIES[name](universe), universe.space("hamming")
    answers = dx.MetricSpace.from_graph(dx.queries.induced_graph(query, secrets))
    rng = np.random.default_rng(3)
    reports = dx.Reports(tuple("abc"))
    for _ in range(5):
        rows = rng.dirichlet(np.full(3, 3.0), len(answers))
        alone = dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(answers, rows, reports))
        composed = dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(secrets, rows[query.index], reports))
        assert alone == pytest.approx(composed, rel=1e-12)


@pytest.mark.parametrize("metric", ["manhattan", "streets", "globe"])
def test_other_distances_between_places(metric: str) -> None:
    """Footnote 3: Manhattan or map-based distances do as well, and the tight mechanism is the same e^{-d} w."""
    towns = dx.MetricSpace.from_points([[45.5, -73.6], [45.51, -73.6], [45.5, -73.57], [45.53, -73.6]], "haversine")
    roads = nx.Graph()
    roads.add_weighted_edges_from([(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.5), (3, 0, 1.0)], "km")
    streets = dx.MetricSpace.from_graph(roads, "km")
    assert streets.distances.tolist() == [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1.5], [1, 2, 1.5, 0]]
    one = {"manhattan": dx.grid((2, 3), metric="manhattan"), "streets": streets, "globe": towns}[metric]
    epsilon = 1.5
    report = dx.solve(dx.Problem(one, epsilon=epsilon, prior=dx.Prior.uniform(one)))
    assert violations(report.mechanism.matrix, one.distances, epsilon) == []
    tight = dx.tight_constraints(one, epsilon).matrix
    assert violations(tight, one.distances, epsilon) == []
    assert tight == pytest.approx(np.exp(-epsilon * one.distances) * tight.diagonal(), abs=1e-11)


def test_several_tight_mechanisms() -> None:
    """After Definition 6: none below ln 2 on a star, one on a line, and many on K₃,₃ at ln 2, each optimal."""
    with pytest.raises(dx.NoTightMechanism):
        dx.tight_constraints(space(STAR), 0.5)
    only = solved(phi([(0, 1), (1, 2)], Fraction(1, 2)), [Fraction(1)] * 3)
    assert only == [Fraction(2, 3), Fraction(1, 3), Fraction(2, 3)]
    assert dx.tight_constraints(dx.line(3), math.log(2)).matrix.diagonal() == pytest.approx([2 / 3, 1 / 3, 2 / 3])
    half, one = Fraction(1, 2), space(BIPARTITE)
    assert solved(phi(BIPARTITE, half), [Fraction(1)] * 6) is None
    priors = [dx.regularity.corner_prior(one, math.log(2), k) for k in one.labels]
    for side in (Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(2, 3)):
        weights = [side] * 3 + [Fraction(2, 3) - side] * 3
        matrix = [
            [entry * weight for entry, weight in zip(row, weights, strict=True)] for row in phi(BIPARTITE, half)
        ]
        assert all(sum(row) == 1 and min(row) >= 0 for row in matrix)
        # Proposition 6, also where entries of the diagonal are 0
        kernel = phi(BIPARTITE, half)
        assert all(kernel[x][y] * matrix[x][z] <= matrix[y][z] for x, y, z in itertools.product(range(6), repeat=3))
        mechanism = dx.Mechanism.from_matrix(one, np.array(matrix, dtype=float))
        bounds = [1 / float(sum(row)) for row in phi(BIPARTITE, half)]
        used = [float(prior.probabilities @ mechanism.matrix.diagonal()) for prior in priors]
        assert used == pytest.approx(bounds, rel=1e-12)


def test_bounds_need_not_be_met() -> None:
    """§6: where no tight mechanism exists, a regular prior may have a bound that no private mechanism meets."""
    one, epsilon = space(STAR), 0.5
    assert dx.regularity.verdict(dx.Prior.uniform(one), one, epsilon).status == "not regular"
    corners = np.array([corner.probabilities for corner in dx.regularity.corner_priors(one, epsilon)])
    prior = dx.Prior.from_weights(one, corners.mean(axis=0))
    best = dx.solve(dx.Problem(one, epsilon=epsilon, prior=prior, loss="binary")).certificate
    assert 1 - best.bound < dx.regularity.utility_bound(prior, one, epsilon) - 1e-3
    # so too for leakage, which no mechanism has more of than that of the largest utility (Proposition 4)
    most = math.log2((1 - best.bound) / prior.probabilities.max())
    assert most < dx.regularity.leakage_bound(prior, one, epsilon) - 1e-3


def test_the_bound_is_a_mixture_of_the_corners_bounds() -> None:
    """After Theorem 2: Σμ = Σ_y γ_y / Σ_y' φ_yy', for a corner its own, the largest probability that it has."""
    for one in (dx.line(5), dx.grid((2, 3)), space(BIPARTITE)):
        kernel = dx.regularity.phi(one, 1.1)
        corners = np.array([corner.probabilities for corner in dx.regularity.corner_priors(one, 1.1)])
        for gamma in np.random.default_rng(1).dirichlet(np.ones(len(one)), 4):
            bound = dx.regularity.utility_bound(dx.Prior.from_weights(one, gamma @ corners), one, 1.1)
            assert bound == pytest.approx((gamma / kernel.sum(axis=1)).sum(), abs=1e-9)
        for y, label in enumerate(one.labels):
            corner = dx.regularity.corner_prior(one, 1.1, label)
            bound = dx.regularity.utility_bound(corner, one, 1.1)
            assert bound == pytest.approx(1 / kernel[y].sum(), abs=1e-9)
            assert bound == pytest.approx(corner.probabilities.max(), abs=1e-9)


def test_regular_priors_have_full_support_and_irregular_ones_may_have_small_ratios() -> None:
    """Proposition 2 and after Proposition 1: no entry is 0; ratios of at most e^d are not enough."""
    one = dx.line(3)
    for zero in itertools.permutations([0.0, 1.0, 2.0]):
        assert dx.regularity.verdict(dx.Prior.from_weights(one, zero), one, 5.0).status == "not regular"
    # at the corner of an end of a line all bounds are attained: its own upper one, and the lower one of the other end
    for size, level in ((3, 0.4), (6, 1.1)):
        line = dx.line(size)
        corner, grown = dx.regularity.corner_prior(line, level, index=0).probabilities, np.exp(level * line.distances)
        assert corner[0] == pytest.approx(1 / (1 / grown[0]).sum(), rel=1e-12)
        assert corner[-1] == pytest.approx(1 / grown[-1].sum(), rel=1e-12)
        assert corner[0] / corner[-1] == pytest.approx(grown[0, -1], rel=1e-12)
    record, prior = settings.record(), leakage.record_prior()
    ratios = prior.probabilities[:, None] / prior.probabilities[None, :]
    assert (ratios <= np.exp(0.5 * record.distances)).all()
    assert dx.regularity.verdict(prior, record, 0.5).status == "not regular"
