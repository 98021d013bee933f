"""CABP13 §1 to §4: metrics, beliefs, chains, queries and what is solved for, by the definitions, of what is drawn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

import dxopt as dx
from tests.judges.exact import violations
from tests.judges.oracle import optimum
from tests.material.channels import THREE, UNIVERSES, all_events, level, noisy
from tests.material.few import few

c = dx.characterise
q = dx.queries
Array = np.ndarray
METRICS = ("hamming", "manhattan", "normalised_manhattan", "chebyshev")
ABC = dx.Reports(("a", "b", "c"))


def is_private(matrix: Array, distances: Array, epsilon: float) -> bool:
    """K(x)(Z) ≤ e^{εd(x, x')} K(x')(Z) for all events and all pairs, but for rounding."""
    likely = [matrix[:, event].sum(axis=1) for event in all_events(matrix.shape[1])]
    pairs = np.argwhere(np.isfinite(distances))
    return all(
        one[x] <= math.exp(epsilon * distances[x, y]) * one[y] * (1 + 1e-12) for one in likely for x, y in pairs
    )


def test_what_is_taken_as_distances() -> None:
    """§1, §2: 0 from a point to itself and the triangle inequality, or it is refused; symmetric or said not to be."""
    rng, seen = np.random.default_rng(6), set()
    for _ in range(400):
        given = rng.choice([1.0, 2.0, 3.001, 4.0, math.inf], (3, 3))
        given = np.minimum(given, given.T) if rng.random() < 0.7 else given
        np.fill_diagonal(given, 0)
        given[1, 1] = float(rng.random() < 0.1)
        symmetric = np.array_equal(given, given.T)
        triangles = all(given[x, z] <= given[x, y] + given[y, z] for x, y, z in itertools.product(range(3), repeat=3))
        if triangles and given[1, 1] == 0:
            space = dx.MetricSpace.from_distances(given)
            assert np.array_equal(space.distances, given)
            assert space.symmetric == symmetric
        else:
            with pytest.raises(dx.SpecError, match="distances"):
                dx.MetricSpace.from_distances(given)
        seen.add((symmetric, triangles, given[1, 1] == 0))
    assert len(seen) > 5


@pytest.mark.parametrize(
    "groups", [((0, 1), (2, 3)), ((0, 2), (1,), (3,)), ((0, 1, 2, 3),), ((0,), (1,), (2,), (3,))]
)
def test_any_groups_as_one(groups: tuple[tuple[int, ...], ...]) -> None:
    """§1: databases are adjacent if and only if all records that differ are of one group, however many these are."""
    one = dx.Universe.databases([0, 1], 4)
    related = [next(group for group in groups if record in group) for record in range(4)]
    found = dx.neighbours(one, "dependent", related=related, size=4).distances
    for (x, first), (y, second) in itertools.product(enumerate(one.secrets), repeat=2):
        different = [i for i in range(4) if first[i] != second[i]]  # pyright: ignore[reportIndexIssue]
        assert (found[x, y] == 1) == (bool(different) and any(set(different) <= set(group) for group in groups))


FREE: dict[str, Callable[[dx.Universe], dx.queries.Query]] = {
    "sum": q.total,
    "average": q.average,
    **{f"percentile {share}": lambda one, share=share: q.percentile(one, share) for share in (0, 30, 50, 100)},
}


@pytest.mark.parametrize("epsilon", [0.2, 3.0])
@pytest.mark.parametrize("name", FREE)
def test_what_is_private_for_databases_has_the_stronger_privacy_for_free(name: str, epsilon: float) -> None:
    """§1: the sensitivities for d_h and d̃_1 are the same, and any H that suffices for εd_h does for εd̃_1."""
    for values, records, absent in (([0, 1, 2], 2, True), ([0, 1, 4], 2, False), ([0.0, 0.5, 1.0], 3, False)):
        one = dx.Universe.databases(values, records, absent=absent, empty=False)
        query = FREE[name](one)
        answers, hamming, normalised = query.space(), one.space("hamming"), one.space("normalised_manhattan")
        assert (normalised.distances <= hamming.distances).all()
        assert (normalised.distances < hamming.distances).any()
        delta = q.sensitivity(query, hamming, answers).delta
        assert q.sensitivity(query, normalised, answers).delta == pytest.approx(delta, rel=1e-12)
        geometric = dx.classic.geometric(answers, epsilon=epsilon / delta)
        lifted = dx.lift(query, geometric, normalised)
        assert lifted.privacy is not None
        assert lifted.privacy.epsilon == pytest.approx(epsilon, rel=1e-12)
        assert violations(lifted.matrix, normalised.distances, epsilon * (1 + 1e-12)) == []
        assert violations(dx.lift(query, geometric, hamming).matrix, hamming.distances, epsilon * (1 + 1e-12)) == []


@pytest.mark.parametrize("seed", few(range(6)))
def test_a_private_classifier_is_fair(seed: int) -> None:
    """§1: private classifiers, the best and others, treat any two alike, by 1 - e^{-εd} at most, in all events."""
    rng = np.random.default_rng(seed)
    places, losses, weights = rng.random((6, 2)) * 2, rng.random((6, 3)), rng.random(6)
    people = dx.MetricSpace.from_points(places, ("euclidean", "manhattan", "chebyshev")[seed % 3])
    prior = dx.Prior.from_weights(people, weights)
    report = dx.solve(dx.Problem(people, epsilon=1.5, prior=prior, loss=losses, reports=ABC))
    assert report.certificate.value == pytest.approx(
        optimum(people.distances, 1.5, prior.probabilities, losses), abs=1e-6
    )
    others = [noisy(people, drawn) for drawn in range(5)]
    levels = [1.5, *(dx.evaluate.smallest_epsilon(one) for one in others)]
    for (one, epsilon), event in itertools.product(
        zip([report.mechanism, *others], levels, strict=True), all_events(3)
    ):
        likely = one.matrix[:, event].sum(axis=1)
        for x, y in itertools.permutations(range(6), 2):
            assert likely[x] - likely[y] <= -math.expm1(-epsilon * people.distances[x, y]) + 1e-12


def test_posteriors_follow_bayes_rule() -> None:
    """§2: σ(x) = K(x)(Z) π(x) / Σ K(x')(Z) π(x') for mechanisms and priors, with zeros, and all events Z."""
    rng = np.random.default_rng(8)
    for _ in range(40):
        size, reports = (int(number) for number in rng.integers(2, 6, 2))
        matrix = rng.random((size, reports)) * (rng.random((size, reports)) < 0.6)
        matrix[:, 0] += 0.1
        matrix /= matrix.sum(axis=1, keepdims=True)
        weights = rng.random(size) * (rng.random(size) < 0.6)
        weights[0] += 0.1
        space = dx.line(size)
        mechanism = dx.Mechanism.from_matrix(space, matrix, dx.Reports(tuple("abcde"[:reports])))
        prior = dx.Prior.from_weights(space, weights)
        for event in all_events(reports):
            joint = [weight * sum(row[z] for z in event) for weight, row in zip(weights, matrix, strict=True)]
            if sum(joint) > 0:
                expected = np.array(joint) / sum(joint)
                assert c.posterior(mechanism, prior, event) == pytest.approx(expected, rel=1e-12)


def test_diameters_and_hiding_distances_of_any_set() -> None:
    """§2 and §3: d(A) and d(φ) are the largest of all distances, here from place to place by hand."""
    rng = np.random.default_rng(9)
    for trial in range(60):
        places = rng.integers(0, 6, (7, 2))
        space = dx.MetricSpace.from_points(places, "manhattan")
        apart = [[abs(a[0] - b[0]) + abs(a[1] - b[1]) for b in places.tolist()] for a in places.tolist()]
        if trial % 2:  # any metric, of two islands that are infinitely far apart
            given = np.triu(rng.uniform(1, 2, (7, 7)), 1)
            given[:4, 4:] = math.inf
            space, apart = dx.MetricSpace.from_distances(given + given.T), (given + given.T).tolist()
        members = rng.choice(7, rng.integers(1, 6), replace=False)
        assert c.diameter(space, members) == max(apart[x][y] for x in members for y in members)
        hiding = rng.integers(0, 7, 7)
        assert c.hiding_distance(space, hiding) == max(apart[x][hidden] for x, hidden in enumerate(hiding))


@pytest.mark.parametrize(("values", "records", "absent"), [([0, 1], 3, False), ("ab", 2, True), ([1, 5, 7], 2, True)])
def test_databases_are_all_tuples(values: list[int] | str, records: int, absent: bool) -> None:
    """§2: each tuple of records once, ∅ among the values where records may be absent."""
    found = dx.Universe.databases(values, records, absent=absent).secrets
    expected = list(itertools.product([*values, None] if absent else values, repeat=records))
    assert sorted(map(str, found)) == sorted(map(str, expected))


@pytest.mark.parametrize("seed", few(range(8)))
@pytest.mark.parametrize("name", UNIVERSES)
def test_equation_1_is_all_that_the_optimum_is_bound_by(name: str, seed: int) -> None:
    """Equation 1: the best with e^ε for adjacent databases is within e^{εd_h} for all, and is what is found."""
    space, rng = UNIVERSES[name].space("hamming"), np.random.default_rng(seed)
    losses, prior = rng.random((len(space), 3)), dx.Prior.from_weights(space, rng.random(len(space)))
    report = dx.solve(dx.Problem(space, epsilon=0.8, prior=prior, loss=losses, reports=ABC))
    assert is_private(report.mechanism.matrix, space.distances, 0.8)
    adjacent = np.where(space.distances <= 1, space.distances, np.inf)
    assert report.certificate.value == pytest.approx(optimum(adjacent, 0.8, prior.probabilities, losses), abs=1e-6)


@pytest.mark.parametrize("seed", few(range(4)))
@pytest.mark.parametrize("metric", METRICS)
def test_definition_1_of_what_is_solved_for(metric: str, seed: int) -> None:
    """Definition 1: the optimum is d-private by all events and by d_P, at the level that is proven and at no less."""
    space, rng = THREE.space(metric), np.random.default_rng(seed)
    losses, prior = rng.random((len(space), 3)), dx.Prior.from_weights(space, rng.random(len(space)))
    report = dx.solve(dx.Problem(space, epsilon=0.8, prior=prior, loss=losses, reports=ABC))
    matrix, privacy = report.mechanism.matrix, report.mechanism.privacy
    assert isinstance(privacy, dx.Privacy)
    assert privacy.epsilon <= 0.8
    assert is_private(matrix, space.distances, privacy.epsilon)
    assert not is_private(matrix, space.distances, privacy.epsilon * (1 - 1e-4))
    furthest = max(
        c.multiplicative_distance(matrix[x], matrix[y]) / space.distances[x, y]
        for x, y in itertools.permutations(range(len(space)), 2)
    )
    assert furthest == pytest.approx(privacy.epsilon, rel=1e-9)
    best = optimum(space.distances, 0.8, prior.probabilities, losses)
    assert report.certificate.value == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", few(range(8)))
def test_extended_and_pseudo_metrics(seed: int) -> None:
    """§3: at distance 0 rows are equal, and infinity constrains nothing: each island has its own optimum."""
    rng = np.random.default_rng(seed)
    places, islands = rng.integers(0, 3, 7), np.array([0, 0, 0, 0, 1, 1, 1])
    distances = np.where(islands[:, None] == islands, abs(places[:, None] - places), np.inf)
    space = dx.MetricSpace.from_distances(distances)
    losses, prior = rng.random((7, 3)), dx.Prior.from_weights(space, rng.random(7))
    report = dx.solve(dx.Problem(space, epsilon=0.8, prior=prior, loss=losses, reports=ABC))
    matrix = report.mechanism.matrix
    assert all(np.array_equal(matrix[x], matrix[y]) for x, y in np.argwhere(distances == 0))
    # so of any mechanism: rows that differ at distance 0 are private at no level, and islands may be told apart at 0
    assert dx.evaluate.smallest_epsilon(noisy(space, seed)) == math.inf
    assert dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(space, np.eye(3)[islands], ABC)) == 0
    assert violations(matrix, distances, 0.8) == []
    apart = sum(
        optimum(distances[np.ix_(own, own)], 0.8, prior.probabilities[own], losses[own])
        for own in (np.arange(4), np.arange(4, 7))
    )
    assert report.certificate.value == pytest.approx(apart, abs=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_approximate_privacy(metric: str) -> None:
    """§3: δ is the largest K(x)(Z) - e^{εd(x, x')} K(x')(Z) of all pairs and events, and ε the least for that δ."""
    space = THREE.space(metric)
    for seed in range(4):
        mechanism = noisy(space, seed, reports=4)
        likely = np.stack([mechanism.matrix[:, event].sum(axis=1) for event in all_events(4)])
        for epsilon in (0.0, 0.1, 0.4):
            excess = likely[:, :, None] - np.exp(epsilon * space.distances) * likely[:, None, :]
            bound = {"all": np.ones_like(space.distances, dtype=bool)}
            bound |= {"adjacent": space.distances == 1} if metric == "hamming" else {}
            for pairs, which in bound.items():
                delta = max(float(excess[:, which].max()), 0.0)
                found = dx.evaluate.smallest_delta(mechanism, epsilon, pairs=pairs)
                assert found == pytest.approx(delta, abs=1e-12)
                if epsilon > 0 and delta > 0:
                    assert dx.evaluate.smallest_epsilon(mechanism, delta, pairs=pairs) == pytest.approx(epsilon)


def good(distances: Array, steps: Array, chain: tuple[int, ...] | list[int]) -> bool:
    """Whether a chain is of such steps only, and tight."""
    pairs = list(itertools.pairwise(chain))
    return all(steps[pair] for pair in pairs) and sum(distances[pair] for pair in pairs) <= distances[
        chain[0], chain[-1]
    ] * (1 + 1e-12)


def everywhere(distances: Array, steps: Array, found: Callable[[int, int], list[int]], seen: list[int]) -> bool:
    """Whether every two points are joined by a tight chain, of all chains, and each that is found is one of them."""
    points, joined = range(len(distances)), []
    for first, last in itertools.permutations(points, 2):
        others = [z for z in points if z not in (first, last)]
        between = [some for k in range(len(others) + 1) for some in itertools.permutations(others, k)]
        joined.append(any(good(distances, steps, (first, *some, last)) for some in between))
        chain = found(first, last)
        assert joined[-1] == (bool(chain) and good(distances, steps, chain))
        if joined[-1]:
            assert (chain[0], chain[-1]) == (first, last)
            seen.append(len(chain))
    return all(joined)


def test_maximally_tight_families_and_their_chains() -> None:
    """§2, Definitions 2 and 3: families of which few or all pairs have a tight maximal chain, against all chains."""
    rng, held, lengths = np.random.default_rng(2), [[], []], [[], []]
    functions = np.random.default_rng(3)
    for trial in range(40):
        drawn = np.triu(rng.choice([2.0, 3.0, 4.0], (4, 4)), 1)
        space = dx.MetricSpace.from_distances(drawn + drawn.T) if trial % 4 == 0 else dx.line(4)
        distances = space.distances
        hidings = [rng.permutation(4) for _ in range(5 + 2 * trial)]
        hidings += [functions.integers(0, 4, 4) for _ in range(4)]
        steps = np.zeros((4, 4), dtype=bool)
        for hiding, x in itertools.product(hidings, range(4)):
            farthest = max(distances[y, hiding[y]] for y in range(4))
            steps[x, hiding[x]] |= bool(hiding[hiding[x]] == x and distances[x, hiding[x]] == farthest)
        found = c.hiding_tightness(space, hidings)
        assert found.holds == everywhere(distances, steps, found.chain, lengths[0])
        held[0].append(found.holds)
        sets = [rng.choice(4, rng.integers(2, 4), replace=False) for _ in range(2 + trial // 2)]
        steps = np.zeros((4, 4), dtype=bool)
        for members in sets:
            for x, y in itertools.permutations(members, 2):
                steps[x, y] |= bool(distances[x, y] == distances[np.ix_(members, members)].max())
        found = c.neighbourhood_tightness(space, sets)
        assert found.holds == everywhere(distances, steps, found.chain, lengths[1])
        held[1].append(found.holds)
    for share, seen in zip(held, lengths, strict=True):
        assert 8 < sum(share) < 32, held
        assert max(seen) > 2


def test_chains_of_expansive_steps() -> None:
    """§2, Definition 5: uniform or not, and the chains found for a query, against all chains of answers."""
    rng, one = np.random.default_rng(3), dx.Universe.databases(range(6), 1)
    held, lengths = [], []
    values, near = np.array([0, 1, 1, 2, 2, 3]), [(0, 1), (2, 3), (4, 5)]
    query = q.Query.of(one, lambda x: int(values[x[0]]))
    apart = query.space().distances
    for _ in range(40):
        drawn = np.triu(rng.choice([3.0, 4.0], (6, 6)), 1)
        for pair in near:
            drawn[pair] = rng.choice([1.0, 1.0, 1.0, 2.0])
        secrets = dx.MetricSpace.from_distances(drawn + drawn.T)
        pairs = list(itertools.permutations(range(6), 2))
        delta = max(abs(values[x] - values[y]) / secrets.distances[x, y] for x, y in pairs)
        steps = np.zeros((4, 4), dtype=bool)
        for x, y in pairs:
            steps[values[x], values[y]] |= bool(abs(values[x] - values[y]) == delta * secrets.distances[x, y])
        found = q.sensitivity(query, secrets, query.space())
        held.append(everywhere(apart, steps, lambda a, b, found=found: [*found.chain(a, b)], lengths))
        assert found.uniform == held[-1]
    assert 8 < sum(held) < 32, sum(held)
    assert max(lengths) == 4


@pytest.mark.parametrize("metric", ["hamming", "manhattan", "chebyshev"])
def test_families_and_induced_distances_of_any_query(metric: str) -> None:
    """Fact 5, H_{ε/Δ}∘f, Theorem 6: levels of H∘f for any H and f; induced distances are d_Y / Δ iff f is uniform."""
    one, rng, uniform = dx.Universe.databases([0, 1, 2], 2), np.random.default_rng(12), []
    space = one.space(metric)
    pairs = np.argwhere(space.distances > 0)
    for trial in range(40):
        weights = rng.integers(0, 3, 2)
        drawn = rng.integers(0, 2 + trial % 4 // 2, len(one)) if trial % 2 else np.array(one.secrets) @ weights
        if np.ptp(drawn) == 0:
            continue
        query = q.Query.of(one, lambda x, drawn=drawn: int(drawn[one.places[x]]))
        answers, epsilon = query.space(), float(rng.uniform(0.1, 3))
        delta = float(max(abs(drawn[x] - drawn[y]) / space.distances[x, y] for x, y in pairs))
        found = q.sensitivity(query, space, answers)
        assert found.delta == pytest.approx(delta, rel=1e-12)
        geometric = dx.classic.geometric(answers, epsilon=epsilon / delta)
        lifted = dx.lift(query, geometric, space)
        assert np.array_equal(lifted.matrix, geometric.matrix[[query.answers.index(answer) for answer in drawn]])
        assert lifted.privacy is not None
        assert lifted.privacy.epsilon == pytest.approx(epsilon, rel=1e-12)
        assert violations(lifted.matrix, space.distances, epsilon * (1 + 1e-12)) == []
        induced = query.induced(space)
        assert np.allclose(delta * induced.distances, answers.distances) == found.uniform
        mechanism = noisy(answers, trial)
        of_answers = mechanism.matrix[[query.answers.index(answer) for answer in drawn]]
        assert np.array_equal(dx.lift(query, mechanism, space).matrix, of_answers)
        own, own_induced = (
            level(mechanism.matrix, by.distances, np.argwhere(by.distances > 0)) for by in (answers, induced)
        )
        through = level(dx.lift(query, mechanism, space).matrix, space.distances, pairs)
        assert through == pytest.approx(own_induced)
        assert through == pytest.approx(delta * own) if found.uniform else through <= delta * own * (1 + 1e-12)
        uniform.append(found.uniform)
    assert 2 < sum(uniform) < len(uniform)


@pytest.mark.parametrize("seed", range(8))
def test_queries_between_any_two_metrics(seed: int) -> None:
    """Definition 4, Fact 5, Theorem 6, ℋ_f(d_X): d_X and d_Y, query, mechanism and number of reports are drawn."""
    rng, one = np.random.default_rng(seed), dx.Universe.databases(range(6), 1)
    secrets, answers = (
        dx.MetricSpace.from_distances((drawn := np.triu(rng.integers(4, 9, (size, size)), 1)) + drawn.T)
        for size in (6, 4)
    )
    values = rng.permutation([0, 1, 2, 3, *rng.integers(0, 4, 2)])
    query = q.Query.of(one, lambda x: int(values[x[0]]))
    pairs = np.argwhere(secrets.distances > 0)
    induced = query.induced(secrets)
    for space in (answers, dx.MetricSpace.from_distances(3 * induced.distances)):
        found, apart = q.sensitivity(query, secrets, space), np.argwhere(space.distances > 0)
        delta = max(space.distances[values[x], values[y]] / secrets.distances[x, y] for x, y in pairs)
        assert found.delta == pytest.approx(delta, rel=1e-12)
        assert found.uniform or space is answers
        for reports in (2, 4, 6):
            mechanism = noisy(space, seed, reports)
            through = level(dx.lift(query, mechanism, secrets).matrix, secrets.distances, pairs)
            own = level(mechanism.matrix, space.distances, apart)
            assert through == pytest.approx(level(mechanism.matrix, induced.distances, apart))
            assert through <= delta * own * (1 + 1e-12)
            assert through == pytest.approx(delta * own) or not found.uniform
    never = dx.MetricSpace.from_distances(np.where(np.eye(4), 0.0, np.inf))
    assert q.sensitivity(query, secrets, never).delta == math.inf
