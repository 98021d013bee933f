"""ECP14: statements about all mechanisms, priors, gains, remaps or spaces, on many that are drawn."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

import dxopt as dx
from problems.ecp14 import settings, utilities
from tests.judges.exact import violations
from tests.material.regions import BIPARTITE, STAR, phi, space

r = dx.regularity
SPACES = {
    "line": dx.line(5),
    "grid": dx.grid((2, 3)),
    "cycle": dx.torus((5,)),
    "plane": dx.MetricSpace.from_points([[0, 0], [1, 0.3], [0.4, 1.7], [2, 2]]),
}


@pytest.mark.parametrize("seed", range(6))
def test_the_two_forms_of_privacy_are_one(seed: int) -> None:
    """Definition 1 and equation 1: d_P(K(x), K(x')) ≤ d(x, x') iff all K(x)(z) ≤ e^{d(x, x')} K(x')(z)."""
    rng = np.random.default_rng(seed)
    one = dx.MetricSpace.from_points(rng.random((4, 2)) * 2)
    pairs, rows = list(itertools.permutations(range(4), 2)), rng.dirichlet(np.full(5, 2.0), 4)
    least = max(np.log(rows[x] / rows[y]).max() / one.distances[x, y] for x, y in pairs)
    reports = dx.Reports(tuple("abcde"))
    assert dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(one, rows, reports)) == pytest.approx(
        least, rel=1e-12
    )
    for factor in (0.5, 1 - 1e-9, 1 + 1e-9, 2):
        level = float(least * factor)
        apart = [dx.characterise.multiplicative_distance(rows[x], rows[y]) for x, y in pairs]
        near = all(d <= level * one.distances[pair] for d, pair in zip(apart, pairs, strict=True))
        entries = all((rows[x] <= math.exp(level * one.distances[x, y]) * rows[y]).all() for x, y in pairs)
        assert near is entries is (violations(rows, one.distances, level) == []) is (factor > 1)
        if factor > 1:
            proven = dx.certify(rows, one, level, reports=reports).privacy
            assert proven is not None
            assert proven.epsilon <= level
            assert violations(rows, one.distances, proven.epsilon) == []
        else:
            with pytest.raises(dx.SpecError):
                dx.certify(rows, one, level, reports=reports)
    # what one secret never says and another does is private at no level
    rows[0, :2] = 0, rows[0, :2].sum()
    assert dx.characterise.multiplicative_distance(rows[0], rows[1]) == math.inf
    with pytest.raises(dx.SpecError):
        dx.certify(rows, one, 50.0, reports=reports)


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_the_utility_that_no_private_mechanism_and_remap_exceed(seed: int) -> None:
    """§3.4: U(H, π, R) of the optimum, and of drawn private mechanisms with any reports and every remap."""
    rng = np.random.default_rng(seed)
    one = dx.MetricSpace.from_points(rng.random((3, 2)) * 2)
    prior, epsilon = dx.Prior.from_weights(one, rng.dirichlet(np.ones(3))), float(rng.uniform(0.3, 2))
    certificate = (report := dx.solve(dx.Problem(one, epsilon=epsilon, prior=prior, loss="binary"))).certificate
    best = dx.evaluate.utility(report.mechanism, prior)
    assert best == pytest.approx(1 - certificate.value, abs=1e-9)
    highest = 0.0
    for _ in range(20):
        rows = np.exp(-epsilon / 2 * one.distances[:, rng.integers(0, 3, 6)]) * rng.random(6)
        rows /= rows.sum(axis=1, keepdims=True)
        assert violations(rows, one.distances, epsilon) == []
        joint = np.asarray(prior.probabilities)[:, None] * rows
        for remap in itertools.product(range(3), repeat=6):
            highest = max(highest, float(joint[remap, range(6)].sum()))
    assert max(prior.probabilities) - 1e-9 <= highest <= best + 1e-9


@pytest.mark.parametrize(("values", "individuals"), [(2, 3), (3, 2), (4, 2)])
def test_databases_and_induced_graphs_by_their_definitions(values: int, individuals: int) -> None:
    """§3.2: V^u; d_h, paths of adjacent ones, counts who differ; y ~_f y' iff x ~ x' with these answers."""
    universe = dx.Universe.databases(range(values), individuals)
    tuples = list(itertools.product(range(values), repeat=individuals))
    assert list(universe.secrets) == tuples
    differ = np.array([[sum(a != b for a, b in zip(x, y, strict=True)) for y in tuples] for x in tuples])
    secrets = universe.space("hamming")
    assert np.array_equal(secrets.distances, differ)
    assert np.array_equal(nx.floyd_warshall_numpy(nx.from_numpy_array(differ == 1), weight=None), differ)
    rng = np.random.default_rng(3)
    for _ in range(20):
        drawn = rng.integers(0, 4, len(tuples)).tolist()
        query = dx.queries.Query.of(universe, lambda x, drawn=drawn: drawn[universe.places[x]])
        graph = dx.queries.induced_graph(query, secrets)
        assert set(graph.nodes) == set(drawn)
        joined = {frozenset((drawn[x], drawn[y])) for x, y in np.argwhere(differ == 1)}
        assert {frozenset(edge) for edge in graph.edges if edge[0] != edge[1]} == {e for e in joined if len(e) == 2}


@pytest.mark.parametrize("seed", range(3))
def test_places_that_are_drawn_are_told_apart_by_their_distance_in_the_plane(seed: int) -> None:
    """§3.3: d_P(K(x), K(x')) ≤ ε d_2(x, x'), with d_2 by Pythagoras, of an optimum and of planar Laplace noise."""
    points, epsilon = np.random.default_rng(seed).random((6, 2)) * 3, 1.1
    one = dx.MetricSpace.from_points(points)
    problem = dx.Problem(one, epsilon=epsilon, prior=dx.Prior.uniform(one))
    for mechanism in (dx.solve(problem, method="optimal").mechanism, dx.classic.planar_laplace(one, epsilon=epsilon)):
        used = 0.0
        for x, y in itertools.combinations(range(6), 2):
            apart = math.hypot(*(points[x] - points[y]))
            found = dx.characterise.multiplicative_distance(mechanism.matrix[x], mechanism.matrix[y])
            assert found <= epsilon * apart * (1 + 1e-12)
            used = max(used, found / apart)
        assert used == pytest.approx(epsilon, rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_utility_is_the_most_that_any_remap_gains(seed: int) -> None:
    """§3.4, equations 2 and 3: Σ π_y (HR)_yy' g(y, y') of every remap R; for the binary gain Σ π_y (HR)_yy."""
    rng, line = np.random.default_rng(seed), dx.line(3)
    rows, prior = rng.dirichlet(np.full(4, 0.7), 3), dx.Prior.from_weights(line, rng.random(3) + 0.05)
    mechanism = dx.Mechanism.from_matrix(line, rows, dx.Reports(tuple("abcd")))
    shares, reports = prior.probabilities, dx.Reports.of(line)
    for gain in (np.eye(3), 1 - line.distances / 2, rng.random((3, 3))):
        gained = {}
        for remap in itertools.product(range(3), repeat=4):
            mapped = rows @ np.eye(3)[list(remap)]
            gained[remap] = float((shares[:, None] * mapped * gain).sum())
            assert mechanism.remap(np.array(remap), reports).matrix == pytest.approx(mapped, abs=1e-15)
            if np.array_equal(gain, np.eye(3)):
                assert gained[remap] == pytest.approx(float(shares @ mapped.diagonal()), abs=1e-15)
        best = max(gained.values())
        assert dx.evaluate.utility(mechanism, prior, gain) == pytest.approx(best, abs=1e-12)
        chosen = tuple(dx.evaluate.optimal_remap(mechanism, prior, 1 - gain).tolist())
        assert gained[chosen] == pytest.approx(best, abs=1e-12)
    assert dx.evaluate.utility(mechanism, prior) == dx.evaluate.utility(mechanism, prior, np.eye(3))


@pytest.mark.parametrize("name", SPACES)
def test_regular_priors_are_the_mixtures_of_the_corners(name: str) -> None:
    """Propositions 2 and 3, of drawn priors: regular where all γ of π = Σ γ_y c^y are at least 0, and only there."""
    one, rng, seen = SPACES[name], np.random.default_rng(11), set()
    for epsilon, spread in itertools.product((0.5, 1.3), (0.2, 0.6, 1.0)):
        corners = np.exp(-epsilon * one.distances)
        corners /= corners.sum(axis=1, keepdims=True)
        for _ in range(6):
            weights = 1 - spread * rng.random(len(one))
            prior = weights / weights.sum()
            gamma = np.linalg.solve(corners.T, prior)
            assert gamma.sum() == pytest.approx(1, abs=1e-12)
            found = r.verdict(prior, one, epsilon)
            assert found.status == ("regular" if gamma.min() > 0 else "not regular")
            seen.add(found.status)
            if found.status == "regular":
                assert found.gamma is not None
                assert found.gamma.min() >= 0
                assert found.gamma.sum() == pytest.approx(1, abs=1e-12)
                assert found.gamma @ corners == pytest.approx(prior, abs=1e-12)
                # Proposition 2
                grown = np.exp(epsilon * one.distances)
                assert (1 / grown.sum(axis=1) <= prior * (1 + 1e-12)).all()
                assert (prior <= (1 + 1e-12) / (1 / grown).sum(axis=1)).all()
        for zero in range(len(one)):
            some = (np.arange(len(one)) != zero) / (len(one) - 1)
            assert r.verdict(some, one, epsilon).status == "not regular"
    assert seen == {"regular", "not regular"}


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_that_of_every_mu_and_every_remap(seed: int) -> None:
    """Lemma 1 and Theorem 2 where μ is not unique, on K₃,₃ at ln 2: U = Σμ - μs for every μ and R, and U ≤ Σμ."""
    one, rng, level = space(BIPARTITE), np.random.default_rng(seed), math.log(2)
    kernel, null = np.array(phi(BIPARTITE, Fraction(1, 2)), dtype=float), np.array([1, 1, 1, -1, -1, -1])
    assert np.abs(null @ kernel).max() == 0
    for mechanism in (
        dx.classic.exponential(one, epsilon=level),
        dx.classic.exponential(one, epsilon=level).compose(rng.dirichlet(np.ones(6), 6)),
        dx.tight_constraints(one, level),
    ):
        for _ in range(8):
            mapped = mechanism.matrix @ np.eye(6)[rng.integers(0, 6, mechanism.matrix.shape[1])]
            slack = 1 - kernel @ mapped.diagonal()
            assert (slack >= -1e-12).all()
            assert (slack <= 1).all()
            mu = rng.dirichlet(np.ones(6))
            prior = mu @ kernel
            mu, prior = mu / prior.sum(), prior / prior.sum()
            used = float(prior @ mapped.diagonal())
            bound = r.leakage_bound(prior, one, level)
            for step in (-0.5, -0.1, 0.0, 0.1, 0.5):
                other = mu + step * null
                assert other @ kernel == pytest.approx(prior, abs=1e-12)
                assert used == pytest.approx(other.sum() - other @ slack, abs=1e-12)
                assert used <= other.sum() + 1e-12
                assert bound == pytest.approx(math.log2(other.sum() / prior.max()), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_leakage_bounds_are_those_of_the_least_mu(seed: int) -> None:
    """Proposition 5: log2(Σμ / max π) where π = μΦ is regular, and with the least Σμ of μΦ ≥ π where it is not."""
    rng, seen = np.random.default_rng(seed), set()
    for one, epsilon in itertools.product((*SPACES.values(), space(STAR)), (0.4, 1.2)):
        kernel, size = np.exp(-epsilon * one.distances), len(one)
        for weights in (1 - 0.2 * rng.random(size), rng.random(size) ** 3 + 1e-3):
            prior = weights / weights.sum()
            mu = np.linalg.solve(kernel, prior)
            least = linprog(np.ones(size), A_ub=-kernel, b_ub=-prior, bounds=(0, None), method="highs").fun
            status = r.verdict(prior, one, epsilon).status
            assert status == ("regular" if mu.min() > 0 else "not regular")
            seen.add(status)
            total = mu.sum() if status == "regular" else least
            assert r.leakage_bound(prior, one, epsilon) == pytest.approx(math.log2(total / prior.max()), abs=1e-7)
    assert seen == {"regular", "not regular"}


@pytest.mark.parametrize(("values", "individuals"), [(2, 1), (2, 4), (3, 3), (4, 2)])
@pytest.mark.parametrize("epsilon", [0.05, 0.7, 2.5])
def test_mu_of_the_uniform_prior_on_databases(values: int, individuals: int, epsilon: float) -> None:
    """Before Theorem 3: u is regular for every ε, and every entry of μ is (e^ε / (v(v - 1 + e^ε)))^u."""
    one = dx.Universe.databases(range(values), individuals).space("hamming")
    entry = (math.exp(epsilon) / (values * (values - 1 + math.exp(epsilon)))) ** individuals
    size = values**individuals
    assert np.full(size, entry) @ np.exp(-epsilon * one.distances) == pytest.approx(
        np.full(size, 1 / size), rel=1e-12
    )
    found = r.verdict("uniform", one, epsilon)
    assert found.status == "regular"
    assert found.mu == pytest.approx(np.full(size, entry), rel=1e-9)
    assert dx.tight_constraints(one, epsilon).matrix.diagonal() == pytest.approx(
        np.full(size, size * entry), rel=1e-8
    )
    least = r.threshold(one)
    assert (least.proven, least.value) == (True, 0)


@pytest.mark.parametrize("epsilon", [0.97, 1.05, 1.13, 1.21, 1.3])
def test_both_curves_of_figure_6a(epsilon: float) -> None:
    """Figure 6(a): tight by a dense solve for w in Φw = 1, geometric by its formula, for 150 values of 0 to 5."""
    one, power, last = settings.sum_query(), math.exp(-epsilon / 5), 750
    weights = np.linalg.solve(np.exp(-epsilon * one.distances), np.ones(last + 1))
    assert weights.min() > 0
    assert utilities.tight_utility(one, epsilon) == pytest.approx(weights.mean(), abs=1e-9)
    geometric = (2 + (last - 1) * (1 - power)) / (1 + power) / (last + 1)
    assert utilities.geometric_sum(epsilon) == pytest.approx(geometric, abs=1e-9)
    assert weights.mean() > 1.4 * geometric


@pytest.mark.parametrize("people", [1, 3, 6])
@pytest.mark.parametrize("epsilon", [0.3, 1.1])
def test_on_the_answers_of_a_count_tight_is_optimal_for_every_prior(people: int, epsilon: float) -> None:
    """§6.1, of priors that are drawn, regular or not, for the binary loss and the distance, with the best remap."""
    one, rng = dx.line(people + 1), np.random.default_rng(people)
    for weights in rng.dirichlet(np.full(people + 1, 0.6), 4) + 1e-3:
        prior = dx.Prior.from_weights(one, weights)
        for loss in ("binary", "distance"):
            problem = dx.Problem(one, epsilon=epsilon, prior=prior, loss=loss)
            best = dx.solve(problem, method="optimal").certificate.value
            for mechanism in (dx.tight_constraints(one, epsilon), dx.classic.geometric(one, epsilon=epsilon)):
                assert dx.evaluate.adversary_error(mechanism, prior, loss) == pytest.approx(best, abs=1e-6)


def _geometric(people: int, rate: float) -> float:
    """The mean of the diagonal of the truncated geometric mechanism on 0 to so many."""
    power = math.exp(-rate)
    return (2 + (people - 1) * (1 - power)) / (1 + power) / (people + 1)


@pytest.mark.parametrize("epsilon", [0.8, 0.84, 0.88, 0.92, 0.96])
def test_figure_6a_below_the_threshold_has_the_geometric_curve_alone(epsilon: float) -> None:
    one = settings.sum_query()
    assert utilities.geometric_sum(epsilon) == pytest.approx(_geometric(750, epsilon / 5), abs=1e-9)
    assert np.linalg.solve(np.exp(-epsilon * one.distances), np.ones(751)).min() < 0


@pytest.mark.parametrize("epsilon", [0.9, 1.0, 1.1, 1.14, 1.18, 1.22, 1.26, 1.3])
def test_both_curves_of_figure_6b(epsilon: float) -> None:
    """Figure 6(b): tight, where there is one, by a dense solve, geometric for each count by its formula at ε/2."""
    one = settings.two_counts()
    weights = np.linalg.solve(np.exp(-epsilon * one.distances), np.ones(31 * 31))
    geometric = _geometric(30, epsilon / 2) ** 2
    assert utilities.geometric_counts(epsilon) == pytest.approx(geometric, abs=1e-9)
    assert bool(weights.min() > 0) is (epsilon > 1.1361) is (r.verdict("uniform", one, epsilon).status == "regular")
    if epsilon > 1.1361:
        assert utilities.tight_utility(one, epsilon) == pytest.approx(weights.mean(), abs=1e-9)
        assert weights.mean() > 1.5 * geometric


@pytest.mark.parametrize("name", SPACES)
def test_near_the_region_tight_loses_at_most_twice_the_distance(name: str) -> None:
    """§8: of priors that are drawn, with the nearest regular one by a linear program; on a line it loses nothing."""
    one, epsilon, rng = SPACES[name], 1.3, np.random.default_rng(7)
    size, tight = len(one), dx.tight_constraints(one, epsilon)
    corners = np.array([corner.probabilities for corner in r.corner_priors(one, epsilon)])
    lost = []
    for spread in (0.3, 1.0, 3.0):
        prior = dx.Prior.from_weights(one, rng.dirichlet(np.full(size, 1 / spread)) + 1e-3)
        # least Σt with -t ≤ γC - π ≤ t, γ ≥ 0, Σγ = 1
        sides = np.block([[corners.T, -np.eye(size)], [-corners.T, -np.eye(size)]])
        found = linprog(
            np.r_[np.zeros(size), np.ones(size)],
            A_ub=sides,
            b_ub=np.r_[prior.probabilities, -prior.probabilities],
            A_eq=np.r_[np.ones(size), np.zeros(size)][None, :],
            b_eq=[1],
        )
        away = found.fun / 2
        best = dx.solve(dx.Problem(one, epsilon=epsilon, prior=prior, loss="binary"), tolerance=1e-8).certificate
        lost.append(1 - best.value - dx.evaluate.utility(tight, prior))
        assert lost[-1] <= 2 * away + 1e-7
        assert (away < 1e-9) is (r.verdict(prior, one, epsilon).status == "regular")
    assert max(lost) < 1e-9 if name == "line" else max(lost) > 1e-3
