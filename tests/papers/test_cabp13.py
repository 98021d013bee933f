"""CABP13 §1 to §3, §5 and §6: what distances are, and what they make of privacy, each statement as it is printed."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces import families
from tests.material.channels import THREE, UNIVERSES, all_events, level, noisy

c = dx.characterise
METRICS = ("hamming", "manhattan", "normalised_manhattan", "chebyshev")


def test_d_p_is_about_all_events() -> None:
    """§2: sup_Z |ln μ(Z)/ν(Z)|, 0 where both are 0, infinite where one is."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        first, second = rng.dirichlet(np.ones(5), size=2)
        first[2] = second[2] = 0.0
        ratios = [first[event].sum() / second[event].sum() for event in all_events(5) if second[event].any()]
        assert c.multiplicative_distance(first, second) == pytest.approx(max(map(abs, np.log(ratios))))
    assert c.multiplicative_distance([0.5, 0.5, 0], [0.5, 0.4, 0.1]) == math.inf


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_d_p_is_a_metric(share: float) -> None:
    """§2: d_P is 0 of equal distributions only, symmetric, and has the triangle inequality, infinite ones too."""
    rng = np.random.default_rng(4)
    for _ in range(40):
        drawn = rng.random((3, 4)) * (rng.random((3, 4)) >= share)
        drawn[:, 0] += 0.1
        first, second, third = drawn / drawn.sum(axis=1, keepdims=True)
        assert c.multiplicative_distance(first, first) == 0 < c.multiplicative_distance(first, second)
        assert c.multiplicative_distance(first, second) == c.multiplicative_distance(second, first)
        detour = c.multiplicative_distance(first, second) + c.multiplicative_distance(second, third)
        assert c.multiplicative_distance(first, third) <= detour * (1 + 1e-12)


def test_diameters_and_how_far_hiding_goes() -> None:
    """§2 and §3: d(A) and d(φ) are suprema of distances, infinite ones too."""
    inf = math.inf
    space = dx.MetricSpace.from_distances([[0, 1, 3, inf], [1, 0, 2.5, inf], [3, 2.5, 0, inf], [inf, inf, inf, 0]])
    assert [c.diameter(space, members) for members in ([2], [0, 1], [1, 2], [0, 1, 2], [0, 3])] == [0, 1, 2.5, 3, inf]
    hidings = ([0, 1, 2, 3], [1, 1, 2, 3], [1, 2, 2, 3], [2, 1, 2, 3], [0, 1, 2, 0])
    assert [c.hiding_distance(space, hiding) for hiding in hidings] == [0, 1, 2.5, 3, inf]


@pytest.mark.parametrize("name", UNIVERSES)
def test_equation_1(name: str) -> None:
    """ε between adjacent databases is εd_h between all, and d_P ≤ εd_h: over all events."""
    space = UNIVERSES[name].space("hamming")
    for seed in range(5):
        mechanism = noisy(space, seed, reports=4)
        adjacent = level(mechanism.matrix, space.distances, np.argwhere(space.distances == 1))
        assert level(mechanism.matrix, space.distances, np.argwhere(space.distances > 0)) == pytest.approx(adjacent)
        furthest = max(
            c.multiplicative_distance(mechanism.matrix[x], mechanism.matrix[other]) / space.distances[x, other]
            for x, other in np.argwhere(space.distances > 0)
        )
        assert furthest == pytest.approx(adjacent)
        assert dx.evaluate.smallest_epsilon(mechanism) == pytest.approx(adjacent)


@pytest.mark.parametrize("metric", [*METRICS, "drawn"])
def test_definition_1(metric: str) -> None:
    """d-privacy by d_P, by events, and by what is proven of a mechanism: at no other level."""
    for seed in range(3):
        given = np.triu(np.random.default_rng(seed).uniform(1, 2, (6, 6)), 1)
        space = dx.MetricSpace.from_distances(given + given.T) if metric == "drawn" else THREE.space(metric)
        mechanism = noisy(space, seed)
        least = level(mechanism.matrix, space.distances, np.argwhere(space.distances > 0))
        furthest = max(
            c.multiplicative_distance(mechanism.matrix[x], mechanism.matrix[other]) / space.distances[x, other]
            for x, other in np.argwhere(space.distances > 0)
        )
        assert furthest == pytest.approx(least)
        assert dx.evaluate.smallest_epsilon(mechanism) == pytest.approx(least)
        assert dx.certify(mechanism, space, least * (1 + 1e-9)).privacy is not None
        with pytest.raises(dx.SpecError, match="is not private"):
            dx.certify(mechanism, space, least * (1 - 1e-3))


@pytest.mark.parametrize("pair", [("chebyshev", "euclidean"), ("euclidean", "manhattan"), ("chebyshev", "manhattan")])
def test_proposition_1(pair: tuple[str, str]) -> None:
    """Of two metrics, one below the other: what is private for the smaller is for the larger, not conversely."""
    points = list(itertools.product(range(3), repeat=2))
    small, large = (dx.MetricSpace.from_points(points, metric) for metric in pair)
    assert (small.distances <= large.distances).all()
    private = dx.classic.exponential(small, epsilon=0.9)
    again = dx.certify(private.matrix, large, 0.9)
    assert again.privacy is not None
    assert again.privacy.epsilon <= 0.9
    values = [
        dx.solve(dx.Problem(space, epsilon=0.9, prior=dx.Prior.uniform(space), loss="binary")).certificate.value
        for space in (small, large)
    ]
    assert values[1] < values[0] - 1e-3
    weaker = dx.Mechanism.from_matrix(small, dx.classic.exponential(large, epsilon=0.9).matrix)
    assert dx.evaluate.smallest_epsilon(weaker) > dx.evaluate.smallest_epsilon(private) * 1.05


@pytest.mark.parametrize("seed", range(8))
def test_proposition_1_of_drawn_metrics_and_mechanisms(seed: int) -> None:
    """Proposition 1: each mechanism's least level for the smaller metric is one for the larger too."""
    rng = np.random.default_rng(seed)
    points, others = rng.uniform(0, 3, (2, 6, 2))
    small = dx.MetricSpace.from_points(points)
    apart = small.distances + rng.choice([0.0, 1.0]) * dx.MetricSpace.from_points(others, "discrete").distances
    large = dx.MetricSpace.from_distances(
        np.maximum(apart, dx.MetricSpace.from_points(points, "manhattan").distances)
    )
    pairs = np.argwhere(small.distances > 0)
    for drawn in range(5):
        private = noisy(small, drawn)
        least = level(private.matrix, small.distances, pairs)
        assert level(private.matrix, large.distances, pairs) <= least * (1 + 1e-12)
        moved = dx.Mechanism.from_matrix(large, private.matrix, private.reports)
        assert dx.certify(moved, large, least * (1 + 1e-9)).privacy is not None


def test_removal_and_hamming_are_equivalent_up_to_a_factor_of_two() -> None:
    """After Prop 1: εd_h-privacy is εd_r-privacy, and εd_r-privacy is 2εd_h-privacy."""
    one = UNIVERSES["absent"]
    hamming, removal = one.space("hamming"), dx.neighbours(one, "unbounded")
    for seed in range(5):
        matrix = noisy(hamming, seed).matrix
        by_hamming, by_removal = (
            level(matrix, d, np.argwhere(d > 0)) for d in (hamming.distances, removal.distances)
        )
        assert by_removal <= by_hamming * (1 + 1e-12)
        assert by_hamming <= 2 * by_removal * (1 + 1e-12)


def test_distances_of_section_5() -> None:
    """d_1 adds the distances of records, d̃_1 divides by d_V(V), with absent records at d_V(V) (§5, §5.1)."""
    one = dx.Universe.databases([0, 1, 4], 2, absent=True)

    def apart(v: int | None, w: int | None) -> float:
        return 0.0 if v == w else 4.0 if v is None or w is None else abs(v - w)

    by_hand = [[sum(map(apart, x, y)) for y in one.secrets] for x in one.secrets]  # pyright: ignore[reportArgumentType]
    assert one.space("manhattan").distances == pytest.approx(np.array(by_hand))
    assert one.space("normalised_manhattan").distances == pytest.approx(np.array(by_hand) / 4)
    assert one.space("manhattan").distances.max() == 2 * 4
    people = dx.Universe.databases([0, 20_000, 20_001, 1_000_000], 2)
    salaries = people.space("normalised_manhattan")
    assert salaries.distances[salaries.index("(0, 0)"), salaries.index("(1000000, 0)")] == 1
    near = salaries.distances[salaries.index("(20000, 0)"), salaries.index("(20001, 0)")]
    assert near == pytest.approx(1e-6)
    same = people.space("hamming").distances
    assert same[people.places[0, 0], people.places[1_000_000, 0]] == 1
    assert same[people.places[20_000, 0], people.places[20_001, 0]] == 1


@pytest.mark.parametrize("seed", range(4))
def test_distances_of_section_5_for_any_metric_on_values(seed: int) -> None:
    """d_1 and d̃_1 of records whose values have a metric d_V of their own, absent ones at d_V(V) (§5, §5.1)."""
    rng = np.random.default_rng(seed)
    values = dx.MetricSpace.from_points(rng.uniform(0, 3, (3, 2))).distances
    one = dx.Universe.databases("abc", 2, absent=seed % 2 == 0)

    def between(v: str, w: str) -> float:
        return float(values["abc".index(v), "abc".index(w)])

    def apart(v: str | None, w: str | None) -> float:
        return 0.0 if v == w else values.max() if v is None or w is None else between(v, w)

    by_hand = [[sum(map(apart, x, y)) for y in one.secrets] for x in one.secrets]  # pyright: ignore[reportArgumentType]
    assert one.space("manhattan", distance=between).distances == pytest.approx(np.array(by_hand))
    assert one.space("manhattan", distance=between).distances.max() == pytest.approx(2 * values.max())
    normalised = one.space("normalised_manhattan", distance=between)
    assert normalised.distances == pytest.approx(np.array(by_hand) / values.max())


def test_proposition_3() -> None:
    """d̃_1 ≤ d_h, so that what is εd̃_1-private is εd_h-private, and databases that hardly differ look more alike."""
    for one in UNIVERSES.values():
        small, hamming = one.space("normalised_manhattan"), one.space("hamming")
        assert (small.distances <= hamming.distances).all()
        private = dx.classic.exponential(small, epsilon=0.9)
        assert dx.certify(private.matrix, hamming, 0.9).privacy is not None


@pytest.mark.parametrize(("values", "records"), [("abc", 3), ("ab", 4), ("abcd", 2)])
def test_distances_of_histograms(values: str, records: int) -> None:
    """Footnote 4: d_1 on record counts depends on the counts only, and is twice the least d_h to another order."""
    one = dx.Universe.databases(values, records)
    hamming = one.space("hamming").distances
    secrets: Any = one.secrets
    for x, other in itertools.product(secrets, repeat=2):
        counts, others = Counter(x), Counter(other)
        between = sum(abs(counts[value] - others[value]) for value in values)
        orders = [one.places[order] for order in itertools.permutations(other)]
        assert between == 2 * min(hamming[one.places[x], place] for place in orders)
    # d_1 on the databases depends on the values: neither on the counts only, nor the same for other values
    near, far = (dx.Universe.databases(numbers, 3) for numbers in ([0, 1, 2], [0, 1, 5]))
    assert near.space("manhattan").distances[near.places[0, 0, 1], near.places[0, 0, 2]] == 1
    assert far.space("manhattan").distances[far.places[0, 0, 1], far.places[0, 0, 5]] == 4
    assert far.space("manhattan").distances[far.places[0, 0, 1], far.places[0, 1, 0]] == 2
    assert np.array_equal(near.space("hamming").distances, far.space("hamming").distances)


def test_what_an_adversary_who_is_not_informed_learns() -> None:
    """Footnote 1: of one record of three that are the same, a report says 3ε rather than ε."""
    one = UNIVERSES["three of two"]
    space = one.space("hamming")
    mechanism = dx.tight_constraints(space, 0.8)
    same = [one.places[0, 0, 0], one.places[1, 1, 1]]
    correlated = dx.Prior.from_weights(space, [1.0 if x in same else 1e-14 for x in range(len(space))])
    believed = c.posterior(mechanism, correlated, same[0])
    first = [x for x, secret in enumerate(one.secrets) if secret[0] == 0]  # pyright: ignore[reportIndexIssue]
    odds = believed[first].sum() / (1 - believed[first].sum())
    assert math.log(odds) == pytest.approx(3 * 0.8, rel=1e-6)
    informed = c.within(mechanism, correlated, [one.places[0, 0, 0], one.places[1, 0, 0]], epsilon=0.8)
    assert informed.gain <= 0.8 * (1 + 1e-9)


def test_the_average_height_tells_of_one_who_is_two_inches_shorter() -> None:
    """Footnote 1: the informed learn nothing of her from a noisy average, and others more than ε."""
    one, epsilon = dx.Universe.databases(range(5), 3), 0.8
    space, average = one.space("hamming"), dx.queries.average(one)
    delta = dx.queries.sensitivity(average, space, average.space()).delta
    mechanism = dx.lift(average, dx.classic.geometric(average.space(), epsilon=epsilon / delta), space)
    assert level(mechanism.matrix, space.distances, np.argwhere(space.distances > 0)) <= epsilon * (1 + 1e-12)
    secrets = np.array(one.secrets)
    prior = dx.Prior.from_weights(space, (secrets[:, 0] + 2 == secrets[:, 1:].mean(axis=1)).astype(float))
    for women in {tuple(x[1:]) for x in secrets[prior.probabilities > 0].tolist()}:
        members = np.flatnonzero((secrets[:, 1:] == women).all(axis=1))
        assert c.within(mechanism, prior, members, epsilon=epsilon).gain == 0
    short, tall = (secrets[:, 0] == height for height in (0, 2))
    odds = [
        belief[tall].sum() / belief[short].sum()
        for belief in (prior.probabilities, c.posterior(mechanism, prior, len(mechanism.reports) - 1))
    ]
    assert math.log(odds[1] / odds[0]) > 1.2 * epsilon


def test_the_additive_distance_of_posteriors() -> None:
    """Footnote 3: semantic privacy in the additive metric follows, as that is tanh(d_P/2) at most."""
    rng = np.random.default_rng(2)
    for size in (2, 3, 5):
        for first, second in rng.dirichlet(np.ones(size), size=(30, 2)):
            additive = max(abs(first[event].sum() - second[event].sum()) for event in all_events(size))
            assert additive == pytest.approx(np.abs(first - second).sum() / 2)
            assert additive <= math.tanh(c.multiplicative_distance(first, second) / 2) + 1e-12


def test_groups_as_one() -> None:
    """§1: databases that differ in any number of individuals of the same group are adjacent."""
    one, groups = dx.Universe.databases([0, 1], 4), ((0, 1, 2), (3,))
    related = [next(group for group in groups if record in group) for record in range(4)]
    found = dx.neighbours(one, "dependent", related=related, size=3).distances
    touched = [
        [len({related[i] for i in range(4) if x[i] != y[i]}) for y in one.secrets]  # pyright: ignore[reportIndexIssue]
        for x in one.secrets
    ]
    assert np.array_equal(found, touched)


def test_the_maximum_is_the_only_distance_of_its_kind() -> None:
    """§6.1: d(x, x') ≤ δ if and only if all records are within δ, for all δ; for a single δ others do as well."""
    space = THREE.space("chebyshev")
    secrets: Any = THREE.secrets
    records = np.array([[[abs(v - w) for v, w in zip(x, y, strict=True)] for y in secrets] for x in secrets])

    def agrees(distances: np.ndarray, delta: float) -> bool:
        return np.array_equal(distances <= delta, (records <= delta).all(axis=2))

    levels = np.arange(0, 7, 0.25)
    assert all(agrees(space.distances, delta) for delta in levels)
    for metric in ("hamming", "manhattan", "normalised_manhattan"):
        assert not all(agrees(THREE.space(metric).distances, delta) for delta in levels)
    # whatever agrees for all δ is the least δ at which all records are within it
    least = np.array([(records <= delta).all(axis=2) for delta in levels]).argmax(axis=0)
    assert np.array_equal(levels[least], space.distances)
    cut = np.minimum(space.distances, 1.5)
    assert agrees(cut, 1)
    assert not agrees(cut, 2)


@pytest.mark.parametrize("seed", range(4))
def test_the_maximum_for_any_metric_on_values(seed: int) -> None:
    """§6.1: d_∞ with any d_V; all records may move by δ at once for εδ, and Φ_∞ and 𝒩_∞ are maximally tight."""
    letters, records = ("abc", 2) if seed % 2 else ("ab", 3)
    values = dx.MetricSpace.from_points(np.random.default_rng(seed).uniform(0, 3, (len(letters), 2))).distances
    one = dx.Universe.databases(letters, records)
    space = one.space("chebyshev", distance=lambda v, w: values[letters.index(v), letters.index(w)])
    codes = np.array([[letters.index(v) for v in x] for x in one.secrets])  # pyright: ignore
    moved, levels = values[codes[:, None], codes[None]], np.unique(values)
    logs = np.log(dx.solve(dx.Problem(space, epsilon=0.8, prior=dx.Prior.uniform(space))).mechanism.matrix)
    apart = np.abs(logs[:, None] - logs[None]).max(axis=2)
    within = np.array([(moved <= delta).all(axis=2) for delta in levels])
    for delta, near in zip(levels, within, strict=True):
        assert np.array_equal(space.distances <= delta, near)
        assert apart[near].max() <= 0.8 * delta + 1e-9
    # what agrees for all δ is the least δ at which all records are within it
    assert np.array_equal(levels[within.argmax(axis=0)], space.distances)
    assert dx.characterise.hiding_tightness(space, families.substitutions_everywhere(one)).holds
    assert dx.characterise.neighbourhood_tightness(space, families.boxes(one)).holds


def test_noise_that_is_never_negative_is_private_up_to_delta_only() -> None:
    """§6.1 on billing with positive noise: no ε for d_R bounds it, and it takes a δ."""
    power, readings = math.exp(-0.5), 4
    matrix = np.array([[0.0] * x + [(1 - power) * power**k for k in range(12 - x)] for x in range(readings)])
    matrix[:, -1] += 1 - matrix.sum(axis=1)
    bill = dx.Mechanism.from_matrix(dx.line(readings), matrix, dx.Reports(tuple(map(str, range(12)))))
    assert dx.evaluate.smallest_epsilon(bill) == math.inf
    assert dx.evaluate.smallest_delta(bill, 0.5, pairs="adjacent") == pytest.approx(1 - power)
