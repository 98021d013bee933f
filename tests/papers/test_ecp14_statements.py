"""ECP14: equation 1, Figure 1, Theorem 2's "only if", Corollary 2, what follows Proposition 9, and §8."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from problems.ecp14 import graphs, utilities
from tests.judges.exact import violations
from tests.material.few import few

RNG = 20140616
SPACES = {
    "line": dx.line(5),
    "grid": dx.grid((2, 3)),
    "cycle": dx.torus((5,)),
    "petersen": dx.MetricSpace.from_graph(nx.petersen_graph()),
    "databases": dx.MetricSpace.from_distances(dx.Universe.databases([0, 1, 2], 2).space("hamming").distances),
}
EPSILON = 1.3


def some_private(space: dx.MetricSpace, epsilon: float, rng: np.random.Generator) -> dx.Mechanism:
    """A mechanism that is private and nothing else: mixtures of columns e^{-εd(z, ·)}, post-processed."""
    size = len(space)
    closed = np.exp(-epsilon * space.distances[:, rng.integers(0, size, 2 * size)])
    shares = rng.random(2 * size) ** 3
    columns = np.column_stack([closed * shares / (closed * shares).sum(axis=1).max(), np.zeros(size)])
    columns[:, -1] = 1 - columns.sum(axis=1)
    scale = 0.2 if rng.random() < 0.5 else 0.02
    flat = (1 - scale) / columns.shape[1] + scale * columns
    wide = np.column_stack([flat, flat]) / 2
    processed = wide @ rng.dirichlet(np.ones(size), wide.shape[1])
    return dx.certify(processed, space, epsilon, reports=dx.Reports.of(space), repair=True)


@pytest.mark.parametrize("name", ["sum", "two counts"])
def test_a_noise_matrix_is_private_exactly_where_every_entry_keeps_equation_1(name: str) -> None:
    """Eq 1: h_yz ≤ e^{d(y, y')} h_y'z for all y, y', z, decided entry by entry with the entries as rationals."""
    space = {"sum": dx.MetricSpace.from_distances(np.ceil(np.abs(np.subtract.outer(np.arange(7), np.arange(7))) / 2))}
    space["two counts"] = dx.grid((3, 3), metric="chebyshev")
    answers = space[name]
    noise = dx.classic.exponential(answers, epsilon=0.9)
    assert noise.privacy is not None
    matrix, level = noise.matrix, noise.privacy.epsilon
    assert violations(matrix, answers.distances, level) == []
    assert dx.evaluate.smallest_epsilon(noise) <= level * (1 + 1e-12)
    # one entry too large breaks the inequality at that entry, for its own z, and nothing else
    raised = matrix.copy()
    y, z = 1, 3
    most = min(
        math.exp(level * answers.distances[y, other]) * matrix[other, z]
        for other in range(len(answers))
        if other != y
    )
    raised[y, z] = most * 1.5
    broken = violations(raised, answers.distances, level)
    assert broken
    assert all((first, report) == (y, z) for first, _, report in broken)
    raised[y] /= raised[y].sum()
    assert dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(answers, raised)) > level


def induced(values: list, individuals: int, query) -> nx.Graph:
    universe = dx.Universe.databases(values, individuals)
    return dx.queries.induced_graph(dx.queries.Query.of(universe, query), dx.neighbours(universe, "bounded"))


def undirected(graph: nx.Graph) -> set[frozenset]:
    return {frozenset(edge) for edge in graph.edges if edge[0] != edge[1]}


def test_figure_1_and_figure_5() -> None:
    """§3.2: y ~_f y' where adjacent databases have them: a cube, a path, a band, and king's moves."""
    pairs = list(itertools.product((0, 1), repeat=2))
    cube = induced([0, 1], 3, tuple)
    assert nx.is_isomorphic(cube, nx.hypercube_graph(3))
    assert set(cube.nodes) == set(itertools.product((0, 1), repeat=3))
    assert undirected(cube) == {frozenset(edge) for edge in nx.hypercube_graph(3).edges}
    count = induced([0, 1], 5, sum)
    assert undirected(count) == {frozenset((n, n + 1)) for n in range(5)}
    total = induced(list(range(4)), 3, sum)
    assert undirected(total) == {frozenset((a, b)) for a, b in itertools.combinations(range(10), 2) if b - a <= 3}
    both = induced(pairs, 3, graphs.both_counts)
    king = {
        frozenset((a, b))
        for a, b in itertools.combinations(itertools.product(range(4), repeat=2), 2)
        if max(abs(a[0] - b[0]), abs(a[1] - b[1])) == 1
    }
    assert undirected(both) == king
    # what is drawn is the same, panel by panel
    drawn = graphs.figure_1()
    titles = [axes.get_title() for axes in drawn.axes]
    for graph, title in zip((cube, both, count, total), titles, strict=True):
        assert title.endswith(f"\n{len(graph)} nodes, {len(undirected(graph))} edges")
    for graph, values, individuals, query in (
        (cube, (0, 1), 3, tuple),
        (count, (0, 1), 5, sum),
        (total, range(4), 3, sum),
        (both, pairs, 3, graphs.both_counts),
    ):
        assert undirected(graph) == set(graphs.induced_edges(values, individuals, query))


@pytest.mark.parametrize("name", SPACES)
def test_the_bound_is_attained_for_every_regular_prior_exactly_where_nothing_is_slack(name: str) -> None:
    """Theorem 2: U = Σμ for every regular prior iff Φ diag(HR) = 1; eqs 5 and 9: U = Σμ - μs with s = 1 - Φ diag(HR).

    The prior of the proof, the mean of the corner priors, is the one that shows it: there every μ is positive.
    """
    space, rng = SPACES[name], np.random.default_rng(RNG)
    size = len(space)
    phi = dx.regularity.phi(space, EPSILON)
    corners = np.array([corner.probabilities for corner in dx.regularity.corner_priors(space, EPSILON)])
    mean = dx.Prior.from_weights(space, corners.mean(axis=0))
    tight = dx.tight_constraints(space, EPSILON)
    short = tight.compose(0.999 * np.eye(size) + 0.001 / size)
    mechanisms = [tight, tight.remap(rng.permutation(size)), short, dx.classic.exponential(space, epsilon=EPSILON)]
    mechanisms += [some_private(space, EPSILON, rng) for _ in range(3)]
    attained = []
    for mechanism in mechanisms:
        remap = dx.evaluate.optimal_remap(mechanism, mean, "binary")
        mapped = np.zeros((mechanism.matrix.shape[1], size))
        mapped[np.arange(len(mapped)), remap] = 1
        slack = 1 - phi @ np.diag(mechanism.matrix @ mapped)
        assert (slack >= -1e-12).all()
        assert (slack <= 1).all()
        for gamma in (np.full(size, 1 / size), *rng.dirichlet(np.ones(size), 3)):
            prior = gamma @ corners
            mu = np.linalg.solve(phi.T, prior)
            used = float(prior @ np.diag(mechanism.matrix @ mapped))
            assert used == pytest.approx(mu.sum() - mu @ slack, abs=1e-12)
            assert used <= dx.regularity.utility_bound(dx.Prior.from_weights(space, prior), space, EPSILON)
        # Lemma 1 asks for μΦ = π alone: also where some μ is negative
        likely = np.eye(size)[0] * 0.9 + 0.1 / size
        mu = np.linalg.solve(phi.T, likely)
        assert mu.min() < 0
        assert likely @ np.diag(mechanism.matrix @ mapped) == pytest.approx(mu.sum() - mu @ slack, abs=1e-12)
        best = dx.regularity.utility_bound(mean, space, EPSILON)
        equal = dx.evaluate.utility(mechanism, mean) > best - 1e-9
        assert equal is bool(np.abs(slack).max() < 1e-6)
        # Proposition 5: and where the bound on leakage is attained
        leaked = dx.evaluate.min_entropy_leakage(mechanism, mean)
        assert equal is (leaked > dx.regularity.leakage_bound(mean, space, EPSILON) - 1e-9)
        # Proposition 7: that is where HR is tight, all its inequalities being equalities
        tightened = phi * np.diag(mechanism.matrix @ mapped)
        assert equal is bool(np.abs(mechanism.matrix @ mapped - tightened).max() < 1e-6)
        assert equal is (dx.regularity.is_optimal_on_region(mechanism, EPSILON).status == "optimal")
        attained.append(equal)
    assert attained == [True, True] + [False] * 5


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("epsilon", [0.3, 1.3])
def test_no_private_mechanism_leaks_more_than_the_uniform_bound_under_any_prior(name: str, epsilon: float) -> None:
    """Corollary 2, Theorem 3 and §5.2: L(H, π) ≤ L(H, u) ≤ log2(nΣμ) for any private H and any π, regular or not."""
    space, rng = SPACES[name], np.random.default_rng(RNG)
    size, uniform = len(space), dx.Prior.uniform(space)
    assert dx.regularity.verdict(uniform, space, epsilon).status == "regular"
    bound = dx.regularity.leakage_bound(None, space, epsilon)
    mu = np.linalg.solve(dx.regularity.phi(space, epsilon), np.full(size, 1 / size))
    assert bound == pytest.approx(math.log2(size * mu.sum()), abs=1e-9)
    peaked = np.full(size, 1e-9)
    peaked[0] = 1
    weights = [
        peaked,
        rng.dirichlet(np.full(size, 0.2)) + 1e-12,
        rng.dirichlet(np.ones(size)),
        np.arange(1.0, size + 1),
    ]
    priors = [dx.Prior.from_weights(space, one) for one in weights]
    statuses = {dx.regularity.verdict(prior, space, epsilon).status for prior in priors}
    assert "not regular" in statuses
    mechanisms = [some_private(space, epsilon, rng) for _ in range(4)]
    mechanisms += [dx.tight_constraints(space, epsilon), dx.classic.exponential(space, epsilon=epsilon)]
    best = dx.solve(dx.Problem(space, epsilon=epsilon, prior=priors[1], loss="binary"), method="optimal").mechanism
    for mechanism in (*mechanisms, best):
        most = dx.evaluate.min_entropy_leakage(mechanism, uniform)
        assert most <= bound + 1e-12
        for prior in priors:
            assert dx.evaluate.min_entropy_leakage(mechanism, prior) <= most + 1e-12
    assert dx.evaluate.min_entropy_leakage(mechanisms[-2], uniform) == pytest.approx(bound, abs=1e-9)


@pytest.mark.parametrize(("values", "individuals"), [(2, 1), (2, 3), (3, 2), (4, 2)])
@pytest.mark.parametrize("epsilon", [0.2, 0.8, 1.7])
def test_no_private_mechanism_leaks_more_about_a_database(values: int, individuals: int, epsilon: float) -> None:
    """Theorem 3: L(K, π) ≤ u log2(v e^ε / (v - 1 + e^ε)) for any private K, with any reports, and any prior π."""
    space = dx.Universe.databases(range(values), individuals).space("hamming")
    size, rng = len(space), np.random.default_rng(RNG)
    bound = dx.regularity.database_leakage_bound(values, individuals, epsilon)
    plain = dx.MetricSpace.from_distances(space.distances)
    tight = dx.tight_constraints(plain, epsilon)
    mechanisms = [tight, tight.compose(rng.dirichlet(np.full(5, 0.1), size)), tight.remap(rng.permutation(size))]
    mechanisms += [some_private(plain, epsilon, rng) for _ in range(3)]
    mechanisms.append(dx.classic.exponential(plain, epsilon=epsilon))
    priors = [dx.Prior.from_weights(plain, one + 1e-9) for one in rng.dirichlet(np.full(size, 0.3), 6)]
    priors += [dx.Prior.from_weights(plain, one) for one in rng.dirichlet(np.full(size, 9.0), 3)]
    for prior in priors[::4]:
        problem = dx.Problem(plain, epsilon=epsilon, prior=prior, loss="binary")
        mechanisms.append(dx.solve(problem, method="optimal").mechanism)
    for mechanism in mechanisms:
        assert violations(mechanism.matrix, plain.distances, epsilon * (1 + 1e-12)) == []
        for prior in (*priors, dx.Prior.uniform(plain)):
            assert dx.evaluate.min_entropy_leakage(mechanism, prior) <= bound + 1e-11
    assert dx.evaluate.min_entropy_leakage(tight, dx.Prior.uniform(plain)) == pytest.approx(bound, abs=1e-9)


@pytest.mark.parametrize("seed", few(range(4)))
def test_leakage_is_largest_under_the_uniform_prior(seed: int) -> None:
    """§5.2, of any channel, private or not: Σ_z max_x K[x, z] is reached by no other prior's ratio."""
    rng = np.random.default_rng(seed)
    space = dx.MetricSpace.from_points(range(4), "discrete")
    matrix = rng.dirichlet(np.full(6, 0.4), 4)
    mechanism = dx.Mechanism.from_matrix(space, matrix, dx.Reports(tuple("abcdef")))
    most = dx.evaluate.min_entropy_leakage(mechanism, dx.Prior.uniform(space))
    assert most == pytest.approx(math.log2(matrix.max(axis=0).sum()), abs=1e-12)
    for weights in rng.dirichlet(np.full(4, 0.5), 20) + 1e-12:
        assert dx.evaluate.min_entropy_leakage(mechanism, dx.Prior.from_weights(space, weights)) <= most + 1e-12


@pytest.mark.parametrize(("left", "right"), [("line", "line"), ("grid", "grid"), ("cycle", "petersen")])
def test_what_a_combination_of_attacks_loses_is_the_sum(left: str, right: str) -> None:
    """§2: the log-ratio of two reports together is the sum of theirs, for every pair of secrets, and so is ε."""
    space = SPACES[left]
    first = dx.classic.exponential(space, epsilon=0.7)
    other = dx.tight_constraints(space, EPSILON) if left == right else dx.classic.exponential(space, epsilon=0.4)
    joint = dx.together([first, other])
    losses = [np.log(one.matrix[:, None, :] / one.matrix[None, :, :]) for one in (first, other)]
    both = np.log(joint.matrix[:, None, :] / joint.matrix[None, :, :]).reshape(*losses[0].shape, -1)
    assert both == pytest.approx(losses[0][..., :, None] + losses[1][..., None, :], abs=1e-10)
    # the most that a pair of secrets loses is the sum as well, and so is what dx.compose says of the two
    most = losses[0].max(axis=2) + losses[1].max(axis=2)
    assert both.max(axis=(2, 3)) == pytest.approx(most)
    apart = space.distances > 0
    largest = (most[apart] / space.distances[apart]).max()
    composed = dx.compose([first, other], [1, 1])
    assert composed.pure == pytest.approx(largest)
    assert composed.epsilon(0.0).least == pytest.approx(largest, rel=3e-3)
    assert joint.privacy is not None
    assert violations(joint.matrix, space.distances, joint.privacy.epsilon) == []
    levels = [one.privacy.epsilon for one in (first, other) if one.privacy is not None]
    assert joint.privacy.epsilon <= sum(levels) * (1 + 1e-12)


def _chang() -> nx.Graph:
    """One of the graphs of Chang: the line graph of K₈, switched at four edges that share no end."""
    plain, some = nx.line_graph(nx.complete_graph(8)), {(0, 1), (2, 3), (4, 5), (6, 7)}
    joined = itertools.combinations(plain, 2)
    return nx.Graph((a, b) for a, b in joined if plain.has_edge(a, b) is ((a in some) is (b in some)))


SYMMETRIC = {
    "chang (distance-regular, not vertex-transitive)": _chang(),
    "petersen": nx.petersen_graph(),
    "hypercube": nx.hypercube_graph(3),
    "octahedron": nx.octahedral_graph(),
    "dodecahedron": nx.dodecahedral_graph(),
    "shrikhande (distance-regular)": nx.from_edgelist(
        ((a, b), ((a + i) % 4, (b + j) % 4))
        for a, b in itertools.product(range(4), repeat=2)
        for i, j in ((0, 1), (1, 0), (1, 1))
    ),
    "prism (vertex-transitive, not distance-regular)": nx.circular_ladder_graph(5),
    "möbius ladder": nx.circulant_graph(8, [1, 4]),
    "truncated tetrahedron": nx.truncated_tetrahedron_graph(),
    "complete": nx.complete_graph(4),
}


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize("epsilon", [0.2, 1.1])
def test_distance_regular_and_vertex_transitive_graphs(name: str, epsilon: float) -> None:
    """Proposition 9 and after it: e^{-d}/Σ n_r e^{-r}, optimal for every regular prior, with the uniform one."""
    space = dx.MetricSpace.from_graph(SYMMETRIC[name])
    spheres = {tuple(sorted(row)) for row in space.distances.tolist()}
    assert len(spheres) == 1
    (radii,) = spheres
    total = sum(math.exp(-epsilon * radius) for radius in radii)
    tight = dx.tight_constraints(space, epsilon)
    assert tight.matrix == pytest.approx(np.exp(-epsilon * space.distances) / total, abs=1e-11)
    assert violations(tight.matrix, space.distances, epsilon) == []
    assert dx.regularity.is_optimal_on_region(tight, epsilon).status == "optimal"
    uniform = dx.Prior.uniform(space)
    best = dx.solve(dx.Problem(space, epsilon=epsilon, prior=uniform, loss="binary")).certificate
    assert 1 - best.bound == pytest.approx(1 / total, abs=1e-6)
    corner = dx.regularity.corner_prior(space, epsilon, space.labels[1])
    assert dx.evaluate.utility(tight, corner) == pytest.approx(dx.regularity.utility_bound(corner, space, epsilon))


def test_the_prism_is_not_distance_regular() -> None:
    assert nx.is_distance_regular(SYMMETRIC["shrikhande (distance-regular)"])
    assert not nx.is_distance_regular(SYMMETRIC["prism (vertex-transitive, not distance-regular)"])
    assert not nx.is_distance_regular(SYMMETRIC["truncated tetrahedron"])


@pytest.mark.parametrize("name", SYMMETRIC)
def test_each_of_them_is_distance_regular_or_vertex_transitive(name: str) -> None:
    """An automorphism takes one vertex to any other; of Chang's graph not all vertices lie in as many cliques."""
    graph = SYMMETRIC[name]
    if name.startswith("chang"):
        cliques = [clique for clique in nx.find_cliques(graph) if len(clique) == 6]
        assert {sum(vertex in clique for clique in cliques) for vertex in graph} == {0, 2}
        assert nx.is_distance_regular(graph)
    else:
        first = next(iter(graph))
        maps = nx.isomorphism.GraphMatcher(graph, graph).isomorphisms_iter()
        assert {one[first] for one in maps} == set(graph)


def test_other_gains_and_priors_that_are_nearly_regular() -> None:
    """§8, future work: for other gains tight is not the best; near the region it is off by no more than the distance.

    With π' regular and ‖π - π'‖₁ = 2t, tight loses at most 2t: utilities move by t, and so does the optimum.
    """
    space, epsilon = dx.grid((4, 4)), 0.8
    size, tight, uniform = len(space), dx.tight_constraints(space, epsilon), dx.Prior.uniform(space)
    for loss in ("distance", "squared"):
        best = dx.solve(dx.Problem(space, epsilon=epsilon, prior=uniform, loss=loss), method="optimal").certificate
        assert dx.evaluate.expected_loss(tight, uniform, loss) > best.value * 1.05
    rng = np.random.default_rng(RNG)
    for share in (0.02, 0.1, 0.3):
        far = rng.dirichlet(np.full(size, 0.3))
        prior = dx.Prior.from_weights(space, (1 - share) / size + share * far)
        moved = float(np.abs(prior.probabilities - 1 / size).sum()) / 2
        best = dx.solve(dx.Problem(space, epsilon=epsilon, prior=prior, loss="binary")).certificate
        assert 1 - best.bound - dx.evaluate.utility(tight, prior) <= 2 * moved + 1e-6
        assert 1 - best.bound <= dx.regularity.binary_utility_bound(prior, space, epsilon) + 1e-6


def test_a_tight_utility_of_the_figures_is_that_of_the_mechanism() -> None:
    """Figures 6 and 7 draw the utility of a mechanism: for the uniform prior it is the mean of its diagonal."""
    for space, level in ((dx.line(8), 0.7), (dx.grid((3, 3)), 1.2)):
        diagonal = dx.tight_constraints(space, level).matrix.diagonal()
        assert utilities.tight_utility(space, level) == pytest.approx(diagonal.mean(), abs=1e-12)
