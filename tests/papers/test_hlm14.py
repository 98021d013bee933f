"""HLM14: statements on sanitised databases, over all queries and events, and what it says beside its theorems."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import dxopt as dx
from tests.judges.exact import violations

s = dx.sanitisation
q = dx.queries
Array = np.ndarray
BITS = dx.Universe.databases([0, 1], 3)
THREE = dx.Universe.databases([0, 1, 2], 2)


def excess(matrix: Array, epsilon: float, pairs: Array) -> float:
    """max P(X_d ∈ A) - e^ε P(X_d' ∈ A) over pairs and all events A, event by event."""
    events = np.array(list(itertools.product([0.0, 1.0], repeat=matrix.shape[1])))
    return max(float((events @ (matrix[x] - math.exp(epsilon) * matrix[other])).max()) for x, other in pairs)


def sanitised(universe: dx.Universe, seed: int) -> dx.Mechanism:
    """Any perturbation of databases into databases."""
    matrix = np.random.default_rng(seed).dirichlet(np.full(len(universe), 0.7), size=len(universe))
    return dx.Mechanism.from_matrix(universe.space("hamming"), matrix)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_sets_of_hobbies(count: int) -> None:
    """Example 1: the discrete metric, and the size of the symmetric difference, of all subsets."""
    hobbies = ("music", "football", "chess", "walking")[:count]
    sets = [frozenset(some) for k in range(count + 1) for some in itertools.combinations(hobbies, k)]
    likes = [[float(hobby in one) for hobby in hobbies] for one in sets]
    first = dx.MetricSpace.from_points(likes, "discrete")
    second = dx.MetricSpace.from_points(likes, "hamming")
    for (x, one), (y, other) in itertools.product(enumerate(sets), repeat=2):
        assert first.distances[x, y] == (one != other)
        assert second.distances[x, y] == len((one | other) - (one & other))
    # every single set is an open ball, so that the Borel σ-algebra is that of all subsets of D
    for space in (first, second):
        assert np.array_equal(space.distances < 1, np.eye(len(sets), dtype=bool))
    # entries of one database need not be as large as each other
    assert set(dx.Universe.databases(sets, 2).secrets) == set(itertools.product(sets, repeat=2))


@pytest.mark.parametrize("seed", range(3))
def test_databases_are_rows_of_a_metric_space(seed: int) -> None:
    """§2.1, eq 1: D^n of any D, with the metric of a product of spaces; diam(D) is the largest distance in D."""
    rng, records = np.random.default_rng(seed), 2 + seed % 2
    values = sorted(rng.choice(20, 3 + seed % 2, replace=False).tolist())
    universe = dx.Universe.databases(values, records)
    databases = list(itertools.product(values, repeat=records))
    assert list(universe.secrets) == databases
    apart = [[sum(abs(v - w) for v, w in zip(d, other, strict=True)) for other in databases] for d in databases]
    product = dx.product(*[dx.MetricSpace.from_points(values)] * records)
    assert tuple(product.labels) == universe.labels
    for space in (product, universe.space("manhattan")):
        assert np.array_equal(space.distances, apart)
    places = rng.normal(size=(5, 2))
    plane = dx.MetricSpace.from_points(places)
    for size in range(1, 6):
        for some in itertools.combinations(range(5), size):
            largest = max(math.dist(places[x], places[y]) for x, y in itertools.product(some, repeat=2))
            assert dx.characterise.diameter(plane, list(some)) == pytest.approx(largest)


@pytest.mark.parametrize("kind", ["points", "names", "functions"])
def test_rows_may_be_of_any_kind(kind: str) -> None:
    """§2.1: D of points in the plane, of names, or of functions at three times: D^n is their product."""
    rng, values = np.random.default_rng(5), ["red", "green", "blue"]
    places = {"points": rng.normal(size=(3, 2)), "names": np.arange(3), "functions": rng.normal(size=(3, 3))}[kind]
    metric = {"points": "euclidean", "names": "discrete", "functions": "chebyshev"}[kind]
    one = dx.MetricSpace.from_points(places, metric)
    rows = values if kind == "names" else [tuple(place) for place in places.tolist()]
    universe = dx.Universe.databases(rows, 2)
    assert list(universe.secrets) == list(itertools.product(rows, repeat=2))
    of_rows = universe.space("manhattan", distance=lambda v, w: float(one.distances[rows.index(v), rows.index(w)]))
    far = one.distances
    by_hand = [[far[a, c] + far[b, d] for c, d in np.ndindex(3, 3)] for a, b in np.ndindex(3, 3)]
    for space in (of_rows, dx.product(one, one)):
        assert space.distances == pytest.approx(np.array(by_hand), abs=1e-12)


FUNCTIONS = {
    "sum": sum,
    "largest": max,
    "difference": lambda database: database[0] - database[1],
    "range": lambda database: (min(database), max(database)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_query_maps_databases_to_a_metric_space(name: str) -> None:
    """§2.2: any function of databases, whose answers, numbers or tuples of them, have a metric."""
    query = q.Query.of(THREE, FUNCTIONS[name])
    assert [query.answers[answer] for answer in query.index] == [FUNCTIONS[name](one) for one in THREE.secrets]
    points = [np.atleast_1d(answer) for answer in query.answers]
    for metric, order in (("euclidean", 2), ("manhattan", 1), ("chebyshev", np.inf)):
        apart = [[np.linalg.norm(a - b, order) for b in points] for a in points]
        assert query.space(metric).distances == pytest.approx(np.array(apart))


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_in_any_metric_space(seed: int) -> None:
    """§2.2: answers that are sets, under any metric: how far neighbours move them, and private responses."""
    rng, secrets = np.random.default_rng(seed), THREE.space("hamming")
    drawn = [frozenset(np.flatnonzero(row).tolist()) for row in rng.random((len(THREE), 3)) < 0.5]
    query = q.Query.of(THREE, lambda database: drawn[THREE.places[database]])
    assert [query.answers[answer] for answer in query.index] == drawn
    responses = dx.MetricSpace.from_points(rng.normal(size=(len(query.answers), 2)))
    near = np.argwhere(secrets.distances == 1)
    moved = max(responses.distances[query.index[x], query.index[other]] for x, other in near)
    assert q.sensitivity(query, secrets, responses).delta == pytest.approx(moved)
    response = dx.lift(query, dx.classic.exponential(responses, epsilon=0.5), secrets)
    assert len(response.reports.labels) == len(query.answers)
    assert dx.evaluate.smallest_epsilon(response) <= 0.5 * moved * (1 + 1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_response_is_random_for_each_query_and_database(name: str) -> None:
    """Eq 2: for each Q and d a distribution on the answers to Q, which may depend on more of d than Q(d), or not."""
    rng, query, secrets = np.random.default_rng(3), q.Query.of(THREE, FUNCTIONS[name]), THREE.space("hamming")
    count = len(query.answers)
    answers = dx.Reports(tuple(map(str, query.answers)))
    noise = dx.Mechanism.from_matrix(query.induced(secrets), rng.dirichlet(np.ones(count), size=count))
    rows = rng.dirichlet(np.ones(count), size=len(THREE))
    any_response = dx.Mechanism.from_matrix(secrets, rows, answers)
    oblivious = dx.lift(query, noise, secrets)
    for response, expected in ((any_response, rows), (oblivious, noise.matrix[query.index])):
        assert tuple(response.reports.labels) == answers.labels
        assert response.matrix == pytest.approx(expected, abs=1e-15)
        assert response.matrix.min() >= 0
        assert response.matrix.sum(axis=1) == pytest.approx(1, abs=1e-14)
        for d in range(len(THREE)):
            drawn = np.asarray(response.sample(index=d, size=3000, rng=rng))
            assert np.bincount(drawn, minlength=count) / 3000 == pytest.approx(expected[d], abs=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_sanitised_responses_are_queries_of_sanitised_databases(seed: int) -> None:
    """Eq 3: X_{Q,d} = Q∘X_d for all Q and d, draw by draw and as distributions; Theorem 4 of what is answered."""
    kinds = dx.MetricSpace.from_points(range(3), "discrete")
    factor = dx.Mechanism.from_matrix(kinds, np.random.default_rng(seed).dirichlet(np.ones(3), size=3))
    made = s.product_sanitisation(factor, 2)
    whole, near = made.as_mechanism(THREE), np.argwhere(THREE.space("hamming").distances == 1)
    databases = list(itertools.product(range(3), repeat=2))
    assert list(THREE.secrets) == databases
    for function in FUNCTIONS.values():
        query = q.Query.of(THREE, function)
        chances = np.zeros((len(THREE), len(query.answers)))
        for d, database in enumerate(databases):
            rng, again = np.random.default_rng(seed), np.random.default_rng(seed)
            drawn = made.answer(lambda z, of=function: of(z.tolist()), database, 20, rng)
            assert drawn == [function(z) for z in made.sample(database, 20, again).tolist()]
            for z in databases:
                chance = math.prod(factor.matrix[v, w] for v, w in zip(database, z, strict=True))
                chances[d, query.answers.index(function(z))] += chance
        response = whole.remap(query.index, dx.Reports(tuple(map(str, query.answers))))
        assert response.matrix == pytest.approx(chances, abs=1e-14)
        assert excess(chances, made.privacy.epsilon, near) <= 1e-9


RELATIONS = {
    "hamming": lambda: THREE.space("hamming"),
    "manhattan": lambda: THREE.space("manhattan"),
    "maximum": lambda: THREE.space("chebyshev"),
    "generic": lambda: dx.neighbours(THREE, "generic", holds=lambda x, y: abs(sum(x) - sum(y)) == 1),
    "dependent": lambda: dx.neighbours(THREE, "dependent", related=[[1], [0]], size=2),
}


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_query_is_as_private_under_any_metric(relation: str, delta: float) -> None:
    """Theorem 4, Corollary 1 and the Remark in §2.1: neighbours at distance 1 under any metric, all queries."""
    space = RELATIONS[relation]()
    near = np.argwhere(space.distances == 1)
    rng = np.random.default_rng(1)
    for seed in range(3):
        matrix = sanitised(THREE, seed).matrix
        identity = dx.Mechanism.from_matrix(space, matrix)
        epsilon = dx.evaluate.smallest_epsilon(identity, delta=delta, pairs="adjacent")
        assert excess(matrix, epsilon, near) <= delta + 1e-9
        assert excess(matrix, epsilon * (1 - 1e-6), near) > delta
        assert dx.evaluate.smallest_delta(identity, epsilon / 2, pairs="adjacent") == pytest.approx(
            excess(matrix, epsilon / 2, near), abs=1e-12
        )
        # §3: of events that generate all, and of half of them, neighbours are those under this metric
        halves = [list(range(size)) for size in range(1, 9)]
        for sets, atoms in ((halves, np.arange(9)), (halves[::2], np.arange(9) // 2 + np.arange(9) % 2)):
            coarse = s.on_algebra(identity, sets)
            summed = np.array([[row[atoms == atom].sum() for atom in range(atoms.max() + 1)] for row in matrix])
            found = dx.evaluate.smallest_delta(coarse, epsilon / 2, pairs="adjacent")
            assert found == pytest.approx(excess(summed, epsilon / 2, near), abs=1e-12)
        for answers in (2, 3, 5, 9):
            query = rng.integers(0, answers, len(THREE))
            query[:answers] = np.arange(answers)
            response = identity.remap(query, dx.Reports(tuple(map(str, range(answers)))))
            assert excess(response.matrix, epsilon, near) <= delta + 1e-9


@pytest.mark.parametrize("relation", RELATIONS)
def test_without_delta_it_is_the_original_notion(relation: str) -> None:
    """§2.3: at δ = 0 it is that neighbours give no report a chance more than e^ε times as large, nor any event."""
    space = RELATIONS[relation]()
    near = np.argwhere(space.distances == 1)
    for seed in range(3):
        matrix = sanitised(THREE, seed).matrix
        largest = max(float(np.log(matrix[x] / matrix[other]).max()) for x, other in near)
        identity = dx.Mechanism.from_matrix(space, matrix)
        assert dx.evaluate.smallest_epsilon(identity, delta=0.0, pairs="adjacent") == pytest.approx(largest)
        assert excess(matrix, largest * (1 + 1e-9), near) <= 1e-15
        assert excess(matrix, largest * 0.9, near) > 1e-9
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary")
    best = dx.solve(problem)
    assert violations(best.mechanism.matrix, np.where(space.distances == 1, 1.0, np.inf), 1.0) == []
    reached = max(float(np.log(best.mechanism.matrix[x] / best.mechanism.matrix[other]).max()) for x, other in near)
    assert reached == pytest.approx(1.0, abs=1e-6)
    assert dx.solve(problem.but(delta=0.0)).certificate.value == pytest.approx(best.certificate.value, abs=1e-9)


def test_averaging_attacks() -> None:
    """End of §4: answers perturbed afresh are averaged out and cost ε each; one sanitised database answers alike."""
    query = q.count(BITS, bool)
    secrets, k = BITS.space("hamming"), 3
    fresh = dx.lift(query, dx.classic.geometric(query.space(), epsilon=0.5), secrets).matrix
    repeated = np.array([[np.prod(row[list(z)]) for z in itertools.product(range(4), repeat=k)] for row in fresh])
    labels = dx.Reports(tuple(map(str, range(repeated.shape[1]))))
    together = dx.Mechanism.from_matrix(secrets, repeated, labels)
    assert dx.evaluate.smallest_epsilon(together) == pytest.approx(k * 0.5)
    likely = [
        dx.evaluate.utility(
            dx.Mechanism.from_matrix(query.space(), rows, dx.Reports(tuple(map(str, range(rows.shape[1]))))),
            dx.Prior.uniform(query.space()),
        )
        for rows in (fresh[[0, 1, 3, 7]], repeated[[0, 1, 3, 7]])
    ]
    assert likely[1] > likely[0] + 0.05
    rows = np.random.default_rng(2).choice(4, size=(20_000, 60), p=fresh[0])
    assert (np.abs(rows.mean(axis=1) - fresh[0] @ np.arange(4)) < 0.5).mean() > 0.99
    record = dx.classic.randomised_response(dx.line(2), epsilon=0.5)
    once = s.product_sanitisation(record, 3).as_mechanism(BITS)
    same = np.zeros((len(BITS), 4**k))
    for database, answer in enumerate(query.index):
        place = int(np.ravel_multi_index((answer,) * k, (4,) * k))
        same[:, place] += once.matrix[:, database]
    assert dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(secrets, same, labels)) <= 0.5 * (1 + 1e-9)
    asked_once = np.array([np.bincount(query.index, row, minlength=4) for row in once.matrix])
    alike = [int(np.ravel_multi_index((answer,) * k, (4,) * k)) for answer in range(4)]
    assert same[:, alike] == pytest.approx(asked_once)
    assert np.delete(same, alike, axis=1).sum() == 0


@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_a_family_is_private_where_each_of_its_queries_is(seed: int, delta: float) -> None:
    """Definition 2, of responses that are drawn, lifted or not: the ε of the family is the largest of its queries."""
    rng, secrets, rows = np.random.default_rng(seed), THREE.space("hamming"), []
    near, least = np.argwhere(secrets.distances == 1), []
    for function in FUNCTIONS.values():
        query = q.Query.of(THREE, function)
        count = len(query.answers)
        drawn = rng.dirichlet(np.full(count, 2.0), size=len(THREE))
        rows.append(drawn[query.index] if rng.random() < 0.5 else drawn)
        response = dx.Mechanism.from_matrix(secrets, rows[-1], dx.Reports(tuple(map(str, query.answers))))
        least.append(dx.evaluate.smallest_epsilon(response, delta=delta, pairs="adjacent"))
    assert len({round(level, 6) for level in least}) == len(FUNCTIONS)
    for level in np.multiply.outer(least, [1 - 1e-6, 1 + 1e-6]).ravel():
        each = [excess(matrix, level, near) <= delta for matrix in rows]
        assert each == [level > own for own in least]
        assert all(each) is bool(level > max(least))


@pytest.mark.parametrize("seed", range(3))
def test_repeated_answers_add_up_unless_one_database_is_sanitised(seed: int) -> None:
    """End of §4, of queries and noise that are drawn: k answers cost kε and name the answer; of one database, ε."""
    rng, secrets = np.random.default_rng(seed), THREE.space("hamming")
    factor = dx.Mechanism.from_matrix(
        dx.MetricSpace.from_points(range(3), "discrete"), rng.dirichlet(np.ones(3), size=3)
    )
    made = s.product_sanitisation(factor, 2)
    whole = made.as_mechanism(THREE)
    for function in FUNCTIONS.values():
        query = q.Query.of(THREE, function)
        count = len(query.answers)
        noise = dx.Mechanism.from_matrix(query.induced(secrets), rng.dirichlet(np.full(count, 1.5), size=count))
        fresh = dx.lift(query, noise, secrets)
        alone, single = dx.evaluate.smallest_epsilon(fresh), fresh.matrix
        for k in (2, 3):
            single = np.einsum("xa,xb->xab", single, fresh.matrix).reshape(len(THREE), -1)
            several = dx.Mechanism.from_matrix(secrets, single, dx.Reports(tuple(map(str, range(count**k)))))
            assert dx.evaluate.smallest_epsilon(several) == pytest.approx(k * alone)
        attack = dx.inference.repeated(noise, dx.Prior.uniform(noise.space), [1, 2000], runs=300, rng=rng)
        assert attack.attacks[-1].named > max(0.95, attack.attacks[0].named)
        # of one sanitised database the answers are (a, a) with the chances of a: no more is told, nor guessed
        once = whole.remap(query.index, dx.Reports(tuple(map(str, range(count)))))
        twice = whole.remap(query.index * (count + 1), dx.Reports(tuple(map(str, range(count**2)))))
        levels = [dx.evaluate.smallest_epsilon(one) for one in (once, twice)]
        assert levels[1] == pytest.approx(levels[0])
        assert levels[1] <= made.privacy.epsilon * (1 + 1e-9)
        guessed = [dx.evaluate.utility(one, dx.Prior.uniform(secrets)) for one in (once, twice)]
        assert guessed[1] == pytest.approx(guessed[0])


def test_the_error_of_an_answer() -> None:
    """§2.3: E[dist(X_{Q,d}, Q(d))] of each database, and its mean under a prior."""
    query = q.count(BITS, bool)
    response = dx.lift(query, dx.classic.geometric(query.space(), epsilon=0.7), BITS.space("hamming"))
    apart = np.abs(np.subtract.outer(query.index, np.arange(4))).astype(float)
    errors = [sum(response.matrix[d, z] * abs(query.index[d] - z) for z in range(4)) for d in range(8)]
    prior = dx.Prior.from_weights(BITS.space("hamming"), np.arange(1.0, 9.0))
    assert dx.evaluate.expected_loss(response, prior, apart) == pytest.approx(np.arange(1, 9) @ errors / 36)
    assert dx.evaluate.worst_loss(response, apart) == pytest.approx(max(errors))
    for d, error in enumerate(errors):
        known = dx.Prior.from_weights(BITS.space("hamming"), np.eye(8)[d])
        assert dx.evaluate.expected_loss(response, known, apart) == pytest.approx(error)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("metric", ["euclidean", "discrete"])
def test_the_error_of_any_response_to_any_query(name: str, metric: str) -> None:
    """§2.3: E[dist(X_{Q,d}, Q(d))] of responses that are drawn for each database, by the metric of the answers."""
    rng = np.random.default_rng(len(name))
    query, secrets = q.Query.of(THREE, FUNCTIONS[name]), THREE.space("hamming")
    answers = query.space(metric)
    rows = rng.dirichlet(np.ones(len(answers)), len(secrets))
    response = dx.Mechanism.from_matrix(secrets, rows, dx.Reports(tuple(map(str, query.answers))))
    errors = [
        sum(chance * answers.distances[query.index[d], z] for z, chance in enumerate(row))
        for d, row in enumerate(rows)
    ]
    apart = answers.distances[query.index]
    for weights in (*np.eye(len(secrets)), rng.dirichlet(np.ones(len(secrets)))):
        prior = dx.Prior.from_weights(secrets, weights)
        assert dx.evaluate.expected_loss(response, prior, apart) == pytest.approx(weights @ errors)


@pytest.mark.parametrize("delta", [0.0, 0.2])
@pytest.mark.parametrize("epsilon", [0.2, 0.8, 2.0])
@pytest.mark.parametrize("m", [1, 2, 4])
def test_randomised_response_if_and_only_if(m: int, epsilon: float, delta: float) -> None:
    """Example 6: (11) for all events if and only if 1 - pm ≤ e^ε p + δ; the least p is (1 - δ)/(m + e^ε)."""
    pairs = np.array(list(itertools.permutations(range(m + 1), 2)))
    least = (1 - delta) / (m + math.exp(epsilon))
    for p in np.linspace(0.01, 1 / (m + 1), 40, endpoint=False):
        matrix = np.full((m + 1, m + 1), p) + (1 - p * (m + 1)) * np.eye(m + 1)
        printed = 1 - p * m <= math.exp(epsilon) * p + delta
        assert (excess(matrix, epsilon, pairs) <= delta) == printed == (p >= least)
    space = dx.MetricSpace.from_points(list(range(m + 1)), "discrete")
    response = dx.classic.randomised_response(space, epsilon=epsilon, delta=delta).matrix
    assert response[0, 1] == pytest.approx(least)


def test_laplace_noise_on_databases_is_that_for_the_identity_query() -> None:
    """Example 5, closing note: the l_1 sensitivity of the identity query is diam(D), and δ = 0 its scale over ε."""
    drawn = [(np.sort(np.random.default_rng(seed).uniform(-9, 9, 4)).tolist(), 2) for seed in range(3)]
    for values, records in (([0, 1, 4], 2), ([0.0, 2.5], 3), ([-1, 0, 6], 1), *drawn):
        one = dx.Universe.databases(values, records)
        identity = q.identity(one)
        found = q.sensitivity(identity, one.space("hamming"), one.space("manhattan"))
        diameter = max(values) - min(values)
        assert found.delta == pytest.approx(diameter)
        assert s.laplace_scale(diameter, epsilon=0.7) == pytest.approx(found.delta / 0.7, rel=1e-12)


@pytest.mark.parametrize("delta", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_laplace_noise_on_records_is_private_for_databases(seed: int, delta: float) -> None:
    """Example 5: from the printed scale on, for all neighbours in D^n and in cells that tell them apart best."""
    rng, epsilon = np.random.default_rng(seed), (0.3, 1.0, 2.0)[seed]
    values = np.sort(rng.uniform(-3, 3, 3))
    diameter, universe = float(np.ptp(values)), dx.Universe.databases(range(3), 2)
    near = np.argwhere(universe.space("hamming").distances == 1)
    printed = s.laplace_scale(diameter, epsilon=epsilon, delta=delta)
    assert printed == pytest.approx(diameter / (epsilon - math.log(1 - delta)))
    exact = s.laplace_scale(diameter, epsilon=epsilon, delta=delta, exact=True)
    for scale in (0.9 * exact, exact, printed, 2 * printed, 10 * printed):
        best = values[0] + max(0.0, diameter - epsilon * scale) / 2
        ends = np.sort([-math.inf, *values, best, *rng.uniform(-6, 6, 4), math.inf])
        cells = np.diff(stats.laplace(scale=scale).cdf(ends - values[:, None]), axis=1)
        kinds = dx.MetricSpace.from_points(range(3), "discrete")
        factor = dx.Mechanism.from_matrix(kinds, cells, dx.Reports(tuple(map(str, range(cells.shape[1])))))
        matrix = s.product_sanitisation(factor, 2).as_mechanism(universe).matrix
        over = max(np.maximum(matrix[x] - math.exp(epsilon) * matrix[other], 0).sum() for x, other in near)
        if scale < exact:
            assert over > delta + 1e-3
        else:
            assert over <= delta + 1e-12
        if scale == exact:
            assert over == pytest.approx(delta, abs=1e-9)


@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(6))
def test_errors_of_any_product_depend_on_the_metric_of_databases(seed: int, delta: float) -> None:
    """§6: for records perturbed in any way, n times the error of one where distances add up, else less."""
    rng = np.random.default_rng(seed)
    values = [0, 1, 2] if seed < 3 else np.cumsum(rng.integers(1, 6, 3)).tolist()
    one = dx.MetricSpace.from_points(values)
    record = dx.Mechanism.from_matrix(one, rng.dirichlet(np.ones(3), size=3))
    alike = dx.Mechanism.from_matrix(dx.MetricSpace.from_points(range(3), "discrete"), record.matrix)
    level = dx.evaluate.smallest_epsilon(alike, delta=delta)
    least = s.error_bounds(one, epsilon=level, delta=delta, budget="uniform").best
    error = dx.evaluate.worst_loss(record, "distance")
    assert 0 < least <= error
    for records in (2, 3):
        universe = dx.Universe.databases(values, records)
        product = s.product_sanitisation(record, records).as_mechanism(universe)
        added, largest = (
            dx.evaluate.worst_loss(product, universe.space(metric).distances) for metric in ("manhattan", "chebyshev")
        )
        assert added == pytest.approx(records * error)
        assert records * least <= added
        assert max(least, error - 1e-12) <= largest < added - 0.05


def test_errors_of_databases_depend_on_their_metric() -> None:
    """§6: what bounds of one record say of D^n, where distances of records are added, or the largest one counts."""
    one, epsilon = dx.line(3), 0.9
    bounds = s.error_bounds(one, epsilon=epsilon, budget="uniform")
    record = dx.classic.randomised_response(one, epsilon=epsilon)
    error = dx.evaluate.worst_loss(record, "distance")
    assert bounds.best <= error
    errors = {}
    for records in (1, 2, 3):
        universe = dx.Universe.databases([0, 1, 2], records)
        product = s.product_sanitisation(record, records).as_mechanism(universe)
        for metric in ("manhattan", "chebyshev"):
            errors[metric, records] = dx.evaluate.worst_loss(product, universe.space(metric).distances)
        assert errors["manhattan", records] == pytest.approx(records * error)
        assert errors["manhattan", records] >= records * bounds.best
        assert bounds.best <= errors["chebyshev", records] <= 2
    assert errors["chebyshev", 3] < 0.75 * errors["manhattan", 3]
    assert errors["chebyshev", 3] > errors["chebyshev", 2] > errors["chebyshev", 1]


def test_with_a_delta_of_one_anything_is_private() -> None:
    """§6: at δ = 1 any mechanism is private, even one that tells the secret; the bounds tend to 0 with 1 - δ."""
    space = dx.line(3)
    drawn = [np.random.default_rng(seed).dirichlet(np.full(3, 0.3), size=3) for seed in range(6)]
    for matrix in (np.eye(3), np.eye(3)[::-1], *drawn):
        mechanism = dx.Mechanism.from_matrix(space, matrix)
        assert dx.evaluate.smallest_delta(mechanism, 0.0, pairs="all") <= 1 + 1e-12
        assert excess(matrix, 0.0, np.array([(0, 1), (1, 2), (2, 0)])) <= 1
    assert dx.evaluate.smallest_delta(dx.Mechanism.from_matrix(space, np.eye(3)), 5.0, pairs="all") == pytest.approx(
        1
    )
    bests = [s.error_bounds(space, epsilon=1.0, delta=delta, budget="uniform").best for delta in (0.0, 0.5, 0.99)]
    assert bests[1:] == pytest.approx([bests[0] / 2, bests[0] / 100])
    with pytest.raises(dx.SpecError, match="delta"):
        dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary", delta=1.0)


def test_lemma_4_needs_two_points() -> None:
    """Lemma 4 as printed has no positive error with one point in D; with two it has, for every δ < 1."""
    assert s.error_bounds(dx.line(1), epsilon=1.0).best == 0
    assert dx.evaluate.worst_loss(dx.Mechanism.from_matrix(dx.line(1), [[1.0]]), "distance") == 0
    for delta in (0.0, 0.9, 0.999):
        assert s.error_bounds(dx.line(2), epsilon=3.0, delta=delta).best > 0


@pytest.mark.parametrize("seed", range(3))
def test_with_the_trivial_algebra_everything_is_private(seed: int) -> None:
    """§1.1: where only ∅ and the whole space are events, any mechanism is private; more events tell secrets apart."""
    space = THREE.space("hamming")
    matrix = np.eye(9) if seed == 0 else sanitised(THREE, seed).matrix
    mechanism = dx.Mechanism.from_matrix(space, matrix)
    trivial = mechanism.remap(np.zeros(9, dtype=int), dx.Reports(("anything",)))
    assert dx.evaluate.smallest_epsilon(trivial) <= 1e-13
    assert excess(trivial.matrix, 0.0, np.argwhere(space.distances > 0)) <= 1e-12
    some = mechanism.remap(np.minimum(np.arange(9), 1), dx.Reports(("first", "others")))
    assert dx.evaluate.smallest_epsilon(some) > 0.1


@pytest.mark.parametrize("delta", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_theorem_6_and_lemma_4_wherever_reports_are(seed: int, delta: float) -> None:
    """For reports anywhere in U: 𝓔 > 0, and at least (1 - δ) diam(D)/(2(1 + e^ε)), and twice as much."""
    rng = np.random.default_rng(seed)
    places, others = rng.normal(size=(2 + seed % 3, 2)), rng.normal(size=(4, 2)) / 2
    space, epsilon = dx.MetricSpace.from_points(places), (0.2, 1.0, 2.5)[seed % 3]
    loss = np.linalg.norm(places[:, None] - np.vstack([places, others])[None], axis=2)
    alike = dx.MetricSpace.from_points(range(len(places)), "discrete")
    problem = dx.Problem(alike, epsilon=epsilon, delta=delta, loss=loss, objective="worst_loss")
    least = dx.solve(problem).certificate.bound
    printed = (1 - delta) * space.distances.max() / (2 * (1 + math.exp(epsilon)))
    assert least > 0
    assert least >= 2 * printed * (1 - 1e-7)
    bounds = s.error_bounds(space, epsilon=epsilon, delta=delta, budget="uniform", reports=dx.Reports(tuple("ab")))
    assert bounds.diameter == pytest.approx(printed, rel=1e-9)
    assert bounds.pair == pytest.approx(2 * printed, rel=1e-9)
    assert printed <= bounds.best * (1 + 1e-12) <= least * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_unions_of_products_are_made_disjoint(seed: int) -> None:
    """Lemmas 1 and 2: ∪ A_i × B_i is the union of Ã_I × B̃_I with disjoint B̃_I, and of such with disjoint Ã."""
    rng, count = np.random.default_rng(seed), 2 + seed % 3
    first, second = ([{*rng.choice(5, rng.integers(1, 4))} for _ in range(count)] for _ in range(2))
    union = {pair for a, b in zip(first, second, strict=True) for pair in itertools.product(a, b)}
    factor = dx.Mechanism.from_matrix(dx.line(5), rng.dirichlet(np.ones(5), size=5))
    both = s.product_sanitisation(factor, 2).as_mechanism(dx.Universe.databases(range(5), 2))
    chances = both.matrix.reshape(5, 5, 5, 5)  # of two records, and of what is reported of them
    for unite, meet, swapped in ((first, second, False), (second, first, True)):
        parts = []
        for size in range(1, count + 1):
            for some in itertools.combinations(range(count), size):
                others = set().union(*(meet[i] for i in range(count) if i not in some))
                parts.append(
                    (set().union(*(unite[i] for i in some)), set.intersection(*(meet[i] for i in some)) - others)
                )
        assert all(not (b & other) for (_, b), (_, other) in itertools.combinations(parts, 2))
        made = {pair for a, b in parts for pair in itertools.product(a, b)}
        assert made == ({pair[::-1] for pair in union} if swapped else union)
        # so that in a product the chance of the union is the sum of those of the parts, as Theorem 5 needs it
        x, y = (4, 1) if swapped else (1, 4)
        parted = sum(factor.matrix[x, list(a)].sum() * factor.matrix[y, list(b)].sum() for a, b in parts)
        assert parted == pytest.approx(sum(chances[1, 4, int(z), int(w)] for z, w in union))
