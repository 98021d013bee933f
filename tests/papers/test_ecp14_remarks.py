"""ECP14: what it says beside its propositions, of any query, of several optima, of γ and of how many μ there are."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from tests.judges.exact import violations
from tests.judges.systems import feasible, solved
from tests.material.few import few
from tests.material.regions import BIPARTITE, STAR, phi, space

q, r = dx.queries, dx.regularity
DATABASES = {
    "two of three": dx.Universe.databases([0, 1, 2], 2),
    "three of two": dx.Universe.databases([0, 1], 3),
    "one of four": dx.Universe.databases([0, 1, 2, 3], 1),
}


@pytest.mark.parametrize("name", DATABASES)
def test_any_query_is_uniformly_1_sensitive_on_its_induced_graph(name: str) -> None:
    """§3.2 and Corollary 1, of queries that are drawn: Δ = 1, uniformly, and the ε of H is that of H∘f."""
    one = DATABASES[name]
    secrets, rng = one.space("hamming"), np.random.default_rng(8)
    for trial in range(60):
        drawn = rng.integers(0, 2 + trial % 4, len(one))
        if len(set(drawn.tolist())) == 1:
            continue
        query = q.Query.of(one, lambda x, drawn=drawn: int(drawn[one.places[x]]))
        graph = q.induced_graph(query, secrets)
        hops = dict(nx.all_pairs_shortest_path_length(graph))
        answers = dx.MetricSpace.from_distances([[hops[y][z] for z in query.answers] for y in query.answers])
        assert np.array_equal(query.induced(secrets).distances, answers.distances)
        found = q.sensitivity(query, secrets, answers)
        assert (found.delta, found.uniform) == (1, True)
        rows = rng.dirichlet(np.full(3, 3.0), len(answers))
        reports = dx.Reports(tuple("abc"))
        alone = dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(answers, rows, reports))
        composed = dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(secrets, rows[query.index], reports))
        assert alone == pytest.approx(composed, rel=1e-12)


def _drawn_metric(rng: np.random.Generator, size: int) -> np.ndarray:
    steps = np.triu(rng.integers(1, 4, (size, size)), 1)
    return nx.floyd_warshall_numpy(nx.from_numpy_array(steps + steps.T))


def test_uniform_sensitivity_and_theorem_1_under_any_metrics() -> None:
    """Definition 2 and Theorem 1, of queries, d_X, d_Y and H that are drawn, with every chain of answers tried."""
    rng, one, seen = np.random.default_rng(14), DATABASES["one of four"], []
    for trial in range(60):
        drawn = rng.permutation([0, 1, 2, int(rng.integers(3))])
        query = q.Query.of(one, lambda x, drawn=drawn: int(drawn[one.places[x]]))
        secrets = dx.MetricSpace.from_distances(_drawn_metric(rng, 4))
        nearest = np.array(
            [[secrets.distances[np.ix_(drawn == y, drawn == z)].min() for z in range(3)] for y in range(3)]
        )
        own = nx.floyd_warshall_numpy(nx.from_numpy_array(2 * nearest)) if trial % 2 else _drawn_metric(rng, 3)
        delta = max(Fraction(int(own[pair]), int(nearest[pair])) for pair in itertools.permutations(range(3), 2))

        def joined(*chain: int, own=own, nearest=nearest, delta=delta) -> bool:
            steps = list(itertools.pairwise(chain))
            tight = sum(own[step] for step in steps) == own[chain[0], chain[-1]]
            return bool(tight and all(Fraction(int(own[step]), int(nearest[step])) == delta for step in steps))

        uniform = all(joined(a, b) or joined(a, 3 - a - b, b) for a, b in itertools.permutations(range(3), 2))
        order = np.array(query.answers)
        answers = dx.MetricSpace.from_distances(own[np.ix_(order, order)])
        found = q.sensitivity(query, secrets, answers)
        assert found.delta == pytest.approx(float(delta), rel=1e-12)
        assert found.uniform is uniform
        seen.append(uniform)
        noise = (
            dx.classic.exponential(answers, epsilon=0.9)
            if trial % 4 < 2
            else dx.Mechanism.from_matrix(answers, rng.dirichlet(np.full(3, 3.0), 3))
        )
        lifted = dx.evaluate.smallest_epsilon(dx.lift(query, noise, secrets))
        level = float(delta) * dx.evaluate.smallest_epsilon(noise)
        assert lifted == pytest.approx(level, rel=1e-9) if uniform else lifted <= level * (1 + 1e-12)
    assert 20 < sum(seen) < 50


def test_a_prior_may_have_several_optimal_mechanisms() -> None:
    """Footnote 4: of a prior that is nearly sure, a constant and two randomised responses, three channels."""
    line, epsilon = dx.line(2), math.log(2)
    prior = dx.Prior.from_weights(line, [0.9, 0.1])
    best = 1 - dx.solve(dx.Problem(line, epsilon=epsilon, prior=prior, loss="binary")).certificate.value
    assert best == pytest.approx(0.9, abs=1e-9)
    several = [np.full((2, 2), 0.5), np.array([[2, 1], [1, 2]]) / 3, np.array([[5, 4], [4, 5]]) / 9]
    for matrix in several:
        mechanism = dx.Mechanism.from_matrix(line, matrix)
        assert violations(mechanism.matrix, line.distances, epsilon * (1 + 1e-12)) == []
        assert dx.evaluate.utility(mechanism, prior) == pytest.approx(best, abs=1e-9)
    # at the uniform prior there is one utility for each
    utilities = [dx.evaluate.utility(dx.Mechanism.from_matrix(line, one), dx.Prior.uniform(line)) for one in several]
    assert utilities == pytest.approx([1 / 2, 2 / 3, 5 / 9])


@pytest.mark.parametrize("power", [Fraction(1, 2), Fraction(3, 4), Fraction(1, 5)])
@pytest.mark.parametrize("edges", [STAR, [(0, 1), (1, 2)], [(0, 1), (1, 2), (2, 3), (3, 0)]])
def test_gamma_is_1_at_a_corner_only(edges: list[tuple[int, int]], power: Fraction) -> None:
    """After Prop 3: π = Σ γ_y c^y with 0 ≤ γ_y ≤ 1 and Σγ = 1; γ_y = 1 if and only if π is the corner c^y."""
    matrix, one, epsilon = phi(edges, power), space(edges), -math.log(power)
    size = len(matrix)
    sums = [sum(row) for row in matrix]
    corners = [[entry / total for entry in row] for row, total in zip(matrix, sums, strict=True)]

    def gamma(prior: list[Fraction]) -> list[Fraction]:
        mu = solved([list(column) for column in zip(*matrix, strict=True)], prior)
        assert mu is not None
        return [entry * total for entry, total in zip(mu, sums, strict=True)]

    for y in range(size):
        assert gamma(corners[y]) == [Fraction(int(z == y)) for z in range(size)]
        assert r.corner_prior(one, epsilon, one.labels[y]).probabilities == pytest.approx([*map(float, corners[y])])
    rng = np.random.default_rng(2)
    for _ in range(20):
        shares = [Fraction(int(share), 1) for share in rng.integers(0, 5, size)]
        if sum(share > 0 for share in shares) < 2:
            continue
        weights = [share / sum(shares) for share in shares]
        prior = [
            sum((w * corner[x] for w, corner in zip(weights, corners, strict=True)), Fraction(0)) for x in range(size)
        ]
        found = gamma(prior)
        assert found == weights
        assert sum(found) == sum(prior) == 1
        assert max(found) < 1
        assert all(prior != corner for corner in corners)
        if min(weights) > 0:
            said = r.verdict(np.array([*map(float, prior)]), one, epsilon)
            assert said.status == "regular"
            assert said.gamma == pytest.approx([*map(float, weights)], abs=1e-12)


def test_there_are_no_mu_or_one_or_infinitely_many() -> None:
    """§5.1: one where Φ is invertible; where it is not, none or infinitely many, as the prior is."""
    star = phi(STAR, Fraction(1, 2))
    rng = np.random.default_rng(5)
    for matrix in (
        star,
        phi([(0, 1), (1, 2), (2, 3)], Fraction(2, 3)),
        phi([(0, 1), (1, 2), (0, 2)], Fraction(3, 7)),
    ):
        for _ in range(10):
            prior = [Fraction(int(entry), 100) for entry in rng.integers(1, 50, len(matrix))]
            mu = solved(matrix, prior)
            assert mu is not None
            assert [sum(a * b for a, b in zip(row, mu, strict=True)) for row in matrix] == prior
    # on the complete bipartite graph of 3 and 3 at ln 2, Φ maps (1, 1, 1, -1, -1, -1) to 0
    matrix = phi(BIPARTITE, Fraction(1, 2))
    kernel = [Fraction(sign) for sign in (1, 1, 1, -1, -1, -1)]
    assert solved(matrix, [Fraction(1)] * 6) is None

    def times(mu: list[Fraction]) -> list[Fraction]:
        return [sum((a * b for a, b in zip(row, mu, strict=True)), Fraction(0)) for row in matrix]

    assert times(kernel) == [0] * 6
    for step in range(4):
        mu = [(1 + Fraction(step, 4) * sign) / 18 for sign in kernel]
        assert min(mu) > 0
        assert times(mu) == [Fraction(1, 6)] * 6
    # what is orthogonal to it has as many: Φ has rank 5, so that these are the priors μΦ, of any signs
    rng = np.random.default_rng(6)
    for _ in range(10):
        mu = [Fraction(int(entry)) for entry in rng.integers(-3, 9, 6)]
        right = times(mu)
        assert sum(a * b for a, b in zip(right, kernel, strict=True)) == 0
        assert all(times([m + step * k for m, k in zip(mu, kernel, strict=True)]) == right for step in range(4))
    # what is not orthogonal to it has none
    lopsided = [Fraction(2, 9)] * 3 + [Fraction(1, 9)] * 3
    assert sum(a * b for a, b in zip(lopsided, kernel, strict=True)) != 0
    assert not feasible(matrix, lopsided)
    one = space(BIPARTITE)
    assert np.linalg.matrix_rank(r.phi(one, math.log(2))) == 5
    assert r.verdict(np.array([*map(float, lopsided)]), one, math.log(2)).status == "not regular"


@pytest.mark.parametrize("side", [4, 5, 6])
def test_other_matrices_that_are_singular_give_no_mu_or_infinitely_many(side: int) -> None:
    """§5.1: K₄,₄, K₅,₅ and K₆,₆ where e^{-ε} is one less than a side, inverted: Φ maps (1, …, -1, …) to 0."""
    edges = list(itertools.product(range(side), range(side, 2 * side)))
    matrix, kernel = phi(edges, Fraction(1, side - 1)), [Fraction(sign) for sign in side * [1] + side * [-1]]
    assert solved(matrix, kernel) is None
    assert np.linalg.matrix_rank(r.phi(space(edges), math.log(side - 1))) == 2 * side - 1
    rng, seen = np.random.default_rng(side), set()
    for shift in (0, 0, 0, 1, 2, 3):
        weights = rng.integers(3, 9, 2 * side)
        weights[0] += weights[side:].sum() - weights[:side].sum() + shift
        prior = [Fraction(int(weight)) for weight in weights]
        # with one equation and one unknown less there is one solution; in the equation left out it holds or fails
        some = solved([row[:-1] for row in matrix[:-1]], prior[:-1])
        assert some is not None
        holds = sum(a * b for a, b in zip(matrix[-1], some, strict=False)) == prior[-1]
        assert holds is (sum(a * b for a, b in zip(prior, kernel, strict=True)) == 0) is (shift == 0)
        for step in range(4):
            mu = [m + step * k for m, k in zip([*some, Fraction(0)], kernel, strict=True)]
            assert ([sum(a * b for a, b in zip(row, mu, strict=True)) for row in matrix] == prior) is holds
        seen.add(holds)
    assert seen == {True, False}


def _transitive(graph: nx.Graph) -> bool:
    maps = nx.isomorphism.GraphMatcher(graph, graph).isomorphisms_iter()
    return {one[0] for one in maps} == set(graph)


BALANCED = {
    "of cycles of 3 and 4": nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(4)),
    "of cycles of 3 and 5": nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(5)),
    "of cycles of 4 and 5": nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(5)),
    "of a prism and a square of diagonals": nx.disjoint_union(nx.circular_ladder_graph(3), nx.complete_graph(4)),
}


@pytest.mark.parametrize("name", BALANCED)
@pytest.mark.parametrize("far", [2.0, 1.3])
def test_balls_of_one_size_without_any_other_symmetry(name: str, far: float) -> None:
    """Proposition 9 for metric spaces that are neither vertex-transitive nor distance-regular, nor always a graph.

    In the complement of two graphs of the same degree everything is within two steps, so that all balls are alike.
    """
    graph = nx.complement(BALANCED[name])
    assert not _transitive(graph)
    assert not nx.is_distance_regular(graph)
    distances = nx.floyd_warshall_numpy(graph)
    assert distances.max() == 2
    one = dx.MetricSpace.from_distances(np.where(distances == 2, far, distances))
    assert all(len(set((one.distances <= radius).sum(axis=1))) == 1 for radius in (0, 0.5, 1, far, 3))
    assert {len(set((dx.line(5).distances <= radius).sum(axis=1))) for radius in (0, 1, 4)} == {1, 2}
    assert r.threshold(one).value == 0
    rng = np.random.default_rng(4)
    for epsilon in (0.1, 0.8, 2.0):
        total = np.exp(-epsilon * one.distances).sum(axis=1)
        assert total == pytest.approx(total[0])
        tight = dx.tight_constraints(one, epsilon)
        assert tight.matrix == pytest.approx(np.exp(-epsilon * one.distances) / total[0], abs=1e-11)
        assert r.is_optimal_on_region(tight, epsilon).status == "optimal"
        corners = np.array([corner.probabilities for corner in r.corner_priors(one, epsilon)])
        for weights in (np.ones(len(one)), rng.random(len(one))):
            prior = dx.Prior.from_weights(one, weights @ corners)
            best = dx.solve(dx.Problem(one, epsilon=epsilon, prior=prior, loss="binary")).certificate
            assert dx.evaluate.utility(tight, prior) == pytest.approx(1 - best.bound, abs=1e-6)


@pytest.mark.parametrize("seed", few(range(4)))
def test_the_bound_for_every_prior_is_no_less_than_any_other(seed: int) -> None:
    """Prop 5 beyond regular priors: no private mechanism leaks more than log2(Σμ / max π) with μΦ ≥ π, μ ≥ 0."""
    rng = np.random.default_rng(seed)
    for one, epsilon in itertools.product((dx.line(4), space(STAR)), (0.3, 1.2)):
        prior = dx.Prior.from_weights(one, rng.random(len(one)) ** 5 + 1e-3)
        bound = r.leakage_bound(prior, one, epsilon)
        utility = r.binary_utility_bound(prior, one, epsilon)
        most = prior.probabilities.max()
        assert bound <= math.log2(utility / most) + 1e-9
        best = dx.solve(dx.Problem(one, epsilon=epsilon, prior=prior, loss="binary")).certificate
        assert math.log2((1 - best.value) / most) <= bound + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_leakage_is_the_utility_over_the_likeliest_secret(seed: int) -> None:
    """Proposition 4 of any channel and prior, with min-entropies and the best remap of all by their definitions."""
    rng = np.random.default_rng(seed)
    rows, weights = rng.dirichlet(np.full(4, 0.5), 3), rng.random(3) + 0.01
    line = dx.line(3)
    mechanism = dx.Mechanism.from_matrix(line, rows, dx.Reports(tuple("abcd")))
    prior = dx.Prior.from_weights(line, weights)
    joint = prior.probabilities[:, None] * rows
    before, after = -math.log2(prior.probabilities.max()), -math.log2(joint.max(axis=0).sum())
    best = max(
        sum(joint[guess, report] for report, guess in enumerate(remap))
        for remap in itertools.product(range(3), repeat=4)
    )
    leaked = dx.evaluate.min_entropy_leakage(mechanism, prior)
    assert leaked == pytest.approx(before - after, abs=1e-12)
    assert leaked == pytest.approx(math.log2(best / prior.probabilities.max()), abs=1e-12)
    assert dx.evaluate.utility(mechanism, prior) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(12))
def test_tight_mechanisms_exist_where_the_uniform_prior_is_regular(seed: int) -> None:
    """Proposition 8 on graphs that are drawn, with e^{-ε} a fraction: decided by exact linear programming."""
    graph = nx.gnp_random_graph(6, 0.5, seed=seed)
    graph.add_edges_from(itertools.pairwise(range(6)))
    edges = sorted(graph.edges)
    one, found = space(edges), set()
    for power in (Fraction(9, 10), Fraction(2, 3), Fraction(2, 5), Fraction(1, 4)):
        regular = feasible(phi(edges, power), [Fraction(1)] * 6)
        try:
            dx.tight_constraints(one, -math.log(power))
        except dx.NoTightMechanism:
            found.add(False)
            assert not regular
        else:
            found.add(True)
            assert regular
    assert found
