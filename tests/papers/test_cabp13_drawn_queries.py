"""CABP13 §4 to §6: statements about all universes, queries, mechanisms and consumers, on those that are drawn."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import nnls

import dxopt as dx
from dxopt.spaces import families
from dxopt.spec import load
from tests.judges.brute_force import databases, distance, induced, remapped, truncated_geometric
from tests.judges.oracle import optimum
from tests.material.channels import THREE, UNIVERSES, level, noisy
from tests.material.few import few
from tests.material.files import PROBLEMS

c = dx.characterise
q = dx.queries
Array = np.ndarray


def monotone(rng: np.random.Generator, size: int) -> Array:
    """Losses `(size, size)`, 0 on the diagonal, that rise with the distance, by other steps on either side."""
    rises = rng.random((2, size, size)).cumsum(axis=2)
    losses = np.array([[rises[int(z < y), y, abs(y - z)] for z in range(size)] for y in range(size)])
    return losses - losses.diagonal()[:, None]


def is_best(apart: Array, epsilon: float, geometric: Array, rng: np.random.Generator) -> None:
    """That no mechanism which is private for these distances loses less than this one does with a remap."""
    size = len(apart)
    for share in (0.4, 2.0):
        prior, losses = rng.dirichlet(np.full(size, share)), monotone(rng, size)
        assert remapped(geometric, prior, losses) == pytest.approx(optimum(apart, epsilon, prior, losses), abs=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_any_laplace_mechanism_is_private(seed: int) -> None:
    """CABP13 Def 6 and Fact 7: λ(z) e^{-d(y, z)} with λ such that all rows sum to 1, to reports anywhere, any d."""
    rng, metric = np.random.default_rng(seed), ("euclidean", "manhattan", "chebyshev", "drawn")[seed % 4]
    while True:
        points, epsilon = rng.uniform(0, 2, (15, 2)), rng.uniform(0.3, 3)
        drawn = np.triu(rng.uniform(1, 2, (15, 15)), 1)
        space = (
            dx.MetricSpace.from_distances(drawn + drawn.T)
            if metric == "drawn"
            else dx.MetricSpace.from_points(points, metric)
        )
        kernel = np.exp(-epsilon * space.distances[:3, 3:])
        scale, missing = nnls(kernel, np.ones(3))
        if missing < 1e-12:
            break
    matrix = (scale * kernel)[:, scale > 0]
    secrets = dx.MetricSpace.from_distances(space.distances[:3, :3])
    laplace = dx.Mechanism.from_matrix(secrets, matrix, dx.Reports(tuple(map(str, range(matrix.shape[1])))))
    assert dx.evaluate.smallest_epsilon(laplace) <= epsilon * (1 + 1e-9)
    assert level(matrix, secrets.distances, np.argwhere(secrets.distances > 0)) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_laplace_and_exponential_mechanisms_are_variants(epsilon: float) -> None:
    """CABP13 §4.1: where λ is the same of all reports, the Laplace mechanism is the exponential one at 2ε."""
    for space in (dx.torus((5,)), dx.torus((3, 4)), dx.Universe.databases([0, 1, 2], 2).space("hamming")):
        laplace = dx.tight_constraints(space, epsilon).matrix
        assert dx.classic.exponential(space, epsilon=2 * epsilon).matrix == pytest.approx(laplace, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_places_are_told_apart_by_their_euclidean_distance(seed: int) -> None:
    """CABP13 §6.2: εd_2 between places that are drawn, and on a grid; the optimum is private for it."""
    rng, epsilon = np.random.default_rng(seed), 0.8
    places, spacing = rng.uniform(-3, 3, (6, 2)), rng.uniform(0.2, 2)
    lattice = [(spacing * row, spacing * column) for row in range(2) for column in range(3)]
    for points, space in ((places, dx.MetricSpace.from_points(places)), (lattice, dx.grid((2, 3), spacing=spacing))):
        apart = np.array([[math.dist(one, other) for other in points] for one in points])
        assert space.distances == pytest.approx(apart)
        found = dx.solve(dx.Problem(space, epsilon=epsilon, prior=rng.dirichlet(np.ones(6)))).mechanism.matrix
        assert (np.log(found[:, None] / found[None]).max(axis=2) <= epsilon * apart + 1e-9).all()


@pytest.mark.parametrize("seed", range(6))
def test_utility_is_the_loss_under_the_best_of_all_remaps(seed: int) -> None:
    """CABP13 §4.2: of mechanisms, priors and losses that are drawn, trying all remaps of four reports."""
    rng = np.random.default_rng(seed)
    mechanism, losses = noisy(dx.line(5), seed, reports=4), monotone(rng, 5)
    prior = dx.Prior.from_weights(mechanism.space, rng.random(5) ** 3)
    joint = prior.probabilities[:, None] * mechanism.matrix
    least = min(
        sum(joint[:, z] @ losses[:, guess] for z, guess in enumerate(remap))
        for remap in itertools.product(range(5), repeat=4)
    )
    assert dx.evaluate.adversary_error(mechanism, prior, losses) == pytest.approx(least)
    remap = dx.evaluate.optimal_remap(mechanism, prior, losses)
    guessed = mechanism.remap(remap, dx.Reports.of(mechanism.space))
    assert dx.evaluate.expected_loss(guessed, prior, losses) == pytest.approx(least)


@pytest.mark.parametrize("seed", range(6))
def test_counts_of_any_number_of_records(seed: int) -> None:
    """CABP13 Thm 8: of one to six records, some perhaps absent, at levels that are drawn."""
    rng, records = np.random.default_rng(seed), seed + 1
    one = dx.Universe.databases([0, 1], records, absent=records < 5)
    query, hamming, epsilon = q.count(one, bool), one.space("hamming"), rng.uniform(0.1, 2.5)
    assert query.answers == tuple(range(records + 1))
    assert q.optimality(query, hamming).status == "optimal"
    geometric = truncated_geometric(query.answers, epsilon)
    made = dx.classic.geometric(query.space(), epsilon=epsilon)
    assert made.matrix == pytest.approx(geometric, abs=1e-9)
    assert dx.evaluate.smallest_epsilon(dx.lift(query, made, hamming)) == pytest.approx(epsilon)
    is_best(induced(hamming.distances, query.index.tolist()), epsilon, geometric, rng)


@pytest.mark.parametrize("metric", ["hamming", "manhattan", "normalised_manhattan", "chebyshev"])
def test_theorem_10_for_any_query(metric: str) -> None:
    """CABP13 Thm 10: whatever the query, where it is uniformly Δ-sensitive onto q[0..k], TG_ε is best for Δεd_X."""
    rng, seen = np.random.default_rng(21), set()
    one = dx.Universe.databases([0, 1, 2], 2)
    secrets = one.space(metric)
    for trial in range(40):
        step, epsilon = rng.choice([0.25, 1.0, 3.0]), rng.uniform(0.2, 1.5)
        tables = rng.integers(0, 2, (2, 3)) if trial % 2 else np.outer(rng.integers(0, 3, 2), range(3))
        drawn = np.add.outer(*tables).ravel() if trial % 4 else rng.integers(0, 3, len(one))
        query = q.Query.of(one, lambda x, answers=step * drawn: float(answers[one.places[x]]))
        found = q.sensitivity(query, secrets, query.space())
        if len(query.answers) < 2 or not found.uniform or np.ptp(np.diff(query.answers)):
            continue
        assert q.optimality(query, secrets).status == "optimal"
        apart = induced(secrets.distances, query.index.tolist())
        assert found.delta * apart == pytest.approx(query.space().distances)
        geometric = truncated_geometric(query.answers, epsilon)
        lifted = level(geometric[query.index], secrets.distances, np.argwhere(secrets.distances > 0))
        assert lifted == pytest.approx(found.delta * epsilon)
        is_best(apart, found.delta * epsilon, geometric, rng)
        seen.add((found.delta, len(query.answers)))
    assert len(seen) > 3


@pytest.mark.parametrize("seed", range(6))
def test_theorem_10_for_secrets_of_any_kind(seed: int) -> None:
    """CABP13 Thm 10: whatever the secrets, with a metric that is drawn but for one secret of each answer."""
    rng = np.random.default_rng(seed)
    size, step, delta, epsilon = 3 + seed % 3, rng.choice([0.5, 1, 3]), rng.choice([0.5, 2]), rng.uniform(0.2, 1.5)
    which = np.array([*range(size), *rng.integers(0, size, 4)])
    beside = np.array([0.0] * size + [*rng.uniform(0.1, 2, 4)])
    between = np.abs(np.subtract.outer(which, which)) * step / delta
    between += np.where(np.eye(len(which)), 0.0, np.add.outer(beside, beside))
    secrets = dx.MetricSpace.from_distances(between)
    query = q.Query.of(dx.Universe.databases(range(len(which)), 1), lambda x: float(step * which[x[0]]))
    found = q.sensitivity(query, secrets, query.space())
    assert (found.delta, found.uniform) == (pytest.approx(delta), True)
    assert q.optimality(query, secrets).status == "optimal"
    geometric = truncated_geometric(query.answers, epsilon)
    lifted = level(geometric[query.index], secrets.distances, np.argwhere(secrets.distances > 0))
    assert lifted == pytest.approx(delta * epsilon)
    is_best(induced(secrets.distances, query.index.tolist()), delta * epsilon, geometric, rng)


@pytest.mark.parametrize("seed", few(range(9), 6))
@pytest.mark.parametrize("metric", ["normalised_manhattan", "manhattan", "chebyshev"])
def test_sums_and_percentiles_of_any_step(metric: str, seed: int) -> None:
    """CABP13 Thms 11 to 13 and corollaries, but for the average: Δ = qk or 1, TG_{ε/Δ} best, any q, k, n, p, ε."""
    rng = np.random.default_rng(seed)
    records, largest = ((2, 3), (3, 2), (3, 1))[seed % 3]
    step, epsilon, share = rng.choice([0.25, 0.5, 3.0]), rng.uniform(0.2, 3), rng.uniform(0, 100)
    values = [step * place for place in range(largest + 1)]
    one = dx.Universe.databases(values, records, absent=True, empty=False)
    query = q.percentile(one, share) if metric == "chebyshev" or seed % 2 else q.total(one)
    delta = step * largest if metric == "normalised_manhattan" else 1.0
    found = q.sensitivity(query, one.space(metric), query.space())
    assert (found.delta, found.uniform) == (pytest.approx(delta), True)
    secrets = databases(values, records)  # pyright: ignore[reportArgumentType]
    places = [query.index[one.places[x]] for x in secrets]
    between = np.array([[distance(metric, values, x, other) for other in secrets] for x in secrets])  # pyright: ignore
    apart = induced(between, places)
    assert delta * apart == pytest.approx(np.abs(np.subtract.outer(query.answers, query.answers)))
    is_best(apart, epsilon, truncated_geometric(query.answers, epsilon / delta), rng)


RECORD = (families.substitutions, families.one_record_within)
FAMILIES = {
    "manhattan": RECORD,
    "normalised_manhattan": RECORD,
    "chebyshev": (families.substitutions_everywhere, families.boxes),
}


@pytest.mark.parametrize("metric", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_maximally_tight_for_any_values(seed: int, metric: str) -> None:
    """CABP13 Prop 2 and §6.1: Φ_1 and 𝒩_1, Φ_∞ and 𝒩_∞, by Defs 2 and 3, for values that are drawn."""
    values = np.random.default_rng(seed).permutation(7)[: 2 if seed == 1 else 3].tolist()
    one = dx.Universe.databases(values, 2 + (seed == 1), absent=seed == 2 and metric != "chebyshev")
    assert_maximally_tight(one.space(metric), *(list(family(one)) for family in FAMILIES[metric]))


def assert_maximally_tight(space: dx.MetricSpace, hidings: list[Array], sets: list[Array]) -> None:
    """By the definitions, and by what is found of them."""
    distances, points = space.distances, range(len(space))
    swaps, pairs = np.zeros((2, len(space), len(space)), dtype=bool)
    for hiding in hidings:
        farthest = distances[points, hiding].max()
        for x in points:
            swaps[x, hiding[x]] |= bool(hiding[hiding[x]] == x and distances[x, hiding[x]] == farthest)
    for members in sets:
        grid = np.ix_(members, members)
        pairs[grid] |= distances[grid] == distances[grid].max()
    for steps in (swaps, pairs):
        lengths = nx.floyd_warshall_numpy(nx.from_numpy_array(np.where(steps, distances, 0.0)))
        assert np.asarray(lengths) == pytest.approx(distances)
    assert c.hiding_tightness(space, hidings).holds
    assert c.neighbourhood_tightness(space, sets).holds


def valued(seed: int) -> tuple[dx.Universe, dict[str, dx.MetricSpace], Array]:
    """Two records, perhaps absent, of values with a drawn d_V: d_1, d̃_1, d_h, and d_V between records."""
    drawn = np.triu(np.random.default_rng(seed).integers(3, 7, (4, 4)), 1)
    table = (drawn + drawn.T).astype(float)
    table[:3, 3] = table[3, :3] = table[:3, :3].max()
    one = dx.Universe.databases("abc", 2, absent=seed % 2 == 0)
    kinds = ("manhattan", "normalised_manhattan")
    spaces = {kind: one.space(kind, distance=lambda v, w: table["abc".index(v), "abc".index(w)]) for kind in kinds}
    places = np.array([[3 if value is None else "abc".index(value) for value in x] for x in one.secrets])  # pyright: ignore
    return one, spaces | {"hamming": one.space("hamming")}, table[places[:, None], places]


@pytest.mark.parametrize("seed", range(6))
def test_propositions_2_and_3_for_any_metric_on_values(seed: int) -> None:
    """CABP13 Props 2 and 3: Φ_1 and 𝒩_1 are maximally tight for d_1 and d̃_1, and d̃_1 ≤ d_h, whatever d_V is."""
    one, spaces, _ = valued(seed)
    for kind in ("manhattan", "normalised_manhattan"):
        assert_maximally_tight(spaces[kind], *(list(family(one)) for family in RECORD))
    normalised, hamming = spaces["normalised_manhattan"], spaces["hamming"]
    assert (normalised.distances <= hamming.distances).all()
    for drawn in range(3):
        private = noisy(normalised, drawn)
        moved = dx.Mechanism.from_matrix(hamming, private.matrix, private.reports)
        least = dx.evaluate.smallest_epsilon(private)
        assert dx.evaluate.smallest_epsilon(moved) <= least * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("values", ["numbers", "any"])
def test_what_is_learned_under_the_normalised_metric_is_privacy(values: str, seed: int) -> None:
    """CABP13 after Prop 2: bounds of 2εd̃_1(φ) and of εd_V(V)/d_V(𝒱) hold at the least private ε, and at no less."""
    one, spaces, between = valued(2 * seed + 1)
    if values == "numbers":
        one, spaces = THREE, {"normalised_manhattan": THREE.space("normalised_manhattan")}
        between = np.abs(np.array(THREE.secrets)[:, None] - np.array(THREE.secrets))
    space, apart = spaces["normalised_manhattan"], between.max(axis=2) / between.max()
    mechanism = noisy(space, seed + 20)
    least = level(mechanism.matrix, space.distances, np.argwhere(space.distances > 0))
    anyone = dx.Prior.from_weights(space, np.random.default_rng(seed).random(len(space)) ** 6 + 1e-12)

    def skewed(rare: int, common: int) -> dx.Prior:
        weights = np.full(len(space), 1e-13)
        weights[[rare, common]] = 1e-7, 1.0
        return dx.Prior.from_weights(space, weights)

    moved, gained = [], []
    for hiding in families.substitutions(one):
        bound = 2 * apart[range(len(space)), hiding].max()
        for prior in (anyone, *(skewed(x, other) for x, other in enumerate(hiding) if x != other)):
            gain = c.after_hiding(mechanism, prior, hiding, epsilon=least).gain
            moved.append(gain / bound if bound else gain)
    for members in families.one_record_within(one):
        bound = apart[np.ix_(members, members)].max()
        for prior in (anyone, *(skewed(*pair) for pair in itertools.permutations(members, 2))):
            gain = c.within(mechanism, prior, members, epsilon=least).gain
            gained.append(gain / bound if bound else gain)
    assert max(moved) == pytest.approx(least, rel=1e-5)
    assert max(gained) == pytest.approx(least, rel=1e-5)


@pytest.mark.parametrize("name", UNIVERSES)
def test_privacy_under_the_normalised_metric_is_the_stronger(name: str) -> None:
    """CABP13 Prop 3: the level for d_h is never the larger; where values are closer than d_V(V) some is smaller."""
    one = UNIVERSES[name]
    normalised, hamming = one.space("normalised_manhattan"), one.space("hamming")
    apart = np.argwhere(hamming.distances > 0)
    for seed in range(6):
        matrix = noisy(hamming, seed).matrix
        assert level(matrix, hamming.distances, apart) <= level(matrix, normalised.distances, apart) * (1 + 1e-12)
    private = dx.Mechanism.from_matrix(normalised, dx.classic.exponential(hamming, epsilon=0.9).matrix)
    own = dx.evaluate.smallest_epsilon(dx.classic.exponential(hamming, epsilon=0.9))
    closer = (normalised.distances < hamming.distances).any()
    assert closer == (name == "two of three")
    assert dx.evaluate.smallest_epsilon(private) == pytest.approx(own * (3 if closer else 1))


def test_the_graph_of_a_sum_in_its_file() -> None:
    """CABP13 §4.2: the edges of problems/ecp14-sum-query.yaml are those that four records of 0 to 3 induce."""
    one = dx.Universe.databases(range(4), 4)
    graph = q.induced_graph(q.total(one), one.space("hamming"))
    lengths = nx.floyd_warshall_numpy(graph, nodelist=sorted(graph))
    for task in load(PROBLEMS / "ecp14-sum-query.yaml"):
        assert list(map(int, task.problem.space.labels)) == sorted(graph)
        assert np.array_equal(task.problem.space.distances, lengths)
