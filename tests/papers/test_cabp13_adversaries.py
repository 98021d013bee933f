"""CABP13 §2, §3, §5.1 and §6.1: hiding functions, neighbourhoods, Theorems 1 to 4 over all events, both halves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces import families
from tests.material.channels import THREE, UNIVERSES, all_events, noisy
from tests.material.few import few

c = dx.characterise
Array = np.ndarray
CORNERS = 5 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])


def skewed(space: dx.MetricSpace, rare: int, common: int) -> dx.Prior:
    """All but sure of one secret, with another in mind, and of the others next to nothing."""
    weights = np.full(len(space), 1e-13)
    weights[[rare, common]] = 1e-7, 1.0
    return dx.Prior.from_weights(space, weights)


def priors(space: dx.MetricSpace) -> Iterator[dx.Prior]:
    rng = np.random.default_rng(5)
    for _ in range(3):
        yield dx.Prior.from_weights(space, rng.random(len(space)) ** 6 + 1e-12)


def applied(universe: dx.Universe, changes: dict[int, Callable[[Any], Any]]) -> tuple[int, ...]:
    """x with some records changed, for all x, by the definition."""
    secrets: Any = universe.secrets
    return tuple(
        universe.places[tuple(changes.get(i, lambda value: value)(value) for i, value in enumerate(x))]
        for x in secrets
    )


@pytest.mark.parametrize("name", UNIVERSES)
def test_families_are_as_defined(name: str) -> None:
    """Φ_h and 𝒩_h (§2), Φ_1 and 𝒩_1 (§5.1), Φ_∞ and 𝒩_∞ (§6.1), and that each is within the next."""
    one = UNIVERSES[name]
    values = one.values
    secrets: Any = one.secrets
    records = range(len(secrets[0]))
    maps = [dict(zip(values, images, strict=True)) for images in itertools.product(values, repeat=len(values))]
    subsets = [set(some) for k in range(1, len(values) + 1) for some in itertools.combinations(values, k)]

    def as_set(found: Iterable[Array]) -> set[tuple[int, ...]]:
        return {tuple(map(int, entry)) for entry in found}

    def members(keep: Callable[[Any], bool]) -> tuple[int, ...]:
        return tuple(place for place, x in enumerate(secrets) if keep(x))

    fixed = {applied(one, {i: lambda _, v=v: v}) for i in records for v in values}
    changed = {applied(one, {i: w.__getitem__}) for i in records for w in maps}
    assert as_set(families.fixed_values(one)) == fixed
    assert as_set(families.substitutions(one)) == changed
    around = {
        members(lambda y, x=x, i=i, some=some: all(y[j] == x[j] for j in records if j != i) and y[i] in some)
        for x in secrets
        for i in records
        for some in subsets
    }
    whole = {
        members(lambda y, x=x, i=i: all(y[j] == x[j] for j in records if j != i)) for x in secrets for i in records
    }
    assert {tuple(sorted(entry)) for entry in as_set(families.one_record(one))} == whole
    assert {tuple(sorted(entry)) for entry in as_set(families.one_record_within(one))} == around
    assert fixed < changed
    assert whole < around
    if len(records) == 2:
        everywhere = {
            applied(one, {i: w.__getitem__ for i, w in enumerate(ws)}) for ws in itertools.product(maps, maps)
        }
        boxes = {
            members(lambda y, some=some: all(map(set.__contains__, some, y)))
            for some in itertools.product(subsets, subsets)
        }
        assert as_set(families.substitutions_everywhere(one)) == everywhere
        assert {tuple(sorted(entry)) for entry in as_set(families.boxes(one))} == boxes
        assert changed < everywhere
        assert around < boxes


@pytest.mark.parametrize("name", UNIVERSES)
def test_theorem_1(name: str) -> None:
    """For all priors, all φ of Φ_h and all events, conclusions are at most 2ε apart, of ε-private mechanisms."""
    one = UNIVERSES[name]
    space = one.space("hamming")
    for seed in range(3):
        mechanism = noisy(space, seed)
        epsilon = dx.evaluate.smallest_epsilon(mechanism)
        partial = dx.Prior.from_weights(space, np.arange(len(space)) % 3)
        believed = [*priors(space), skewed(space, 0, 1), partial]
        for prior, hiding in itertools.product(believed, families.fixed_values(one)):
            learned = c.after_hiding(mechanism, prior, hiding, epsilon=epsilon)
            assert learned.bound == 2 * epsilon
            furthest = 0.0
            for event in all_events(3):
                one_way, other = (
                    prior.probabilities * rows[:, event].sum(axis=1)
                    for rows in (mechanism.matrix, mechanism.matrix[hiding])
                )
                moved = c.multiplicative_distance(one_way / one_way.sum(), other / other.sum())
                furthest = max(furthest, moved)
            assert learned.gain == pytest.approx(furthest, rel=1e-9, abs=1e-12)
            assert learned.gain <= 2 * epsilon * (1 + 1e-12)


@pytest.mark.parametrize("kind", ["any", "exponential", "optimal"])
@pytest.mark.parametrize("name", UNIVERSES)
def test_theorem_2(name: str, kind: str) -> None:
    """Private if and only if all gains are at most ε: the largest gain of informed adversaries is the least ε."""
    one = UNIVERSES[name]
    space = one.space("hamming")
    problem = dx.Problem(space, epsilon=0.7, prior=dx.Prior.uniform(space), loss="binary")
    mechanism = {
        "any": lambda: noisy(space, 3),
        "exponential": lambda: dx.classic.exponential(space, epsilon=0.7),
        "optimal": lambda: dx.solve(problem).mechanism,
    }[kind]()
    least = dx.evaluate.smallest_epsilon(mechanism)
    found = []
    events = all_events(3) + [[z] for z in range(3, len(mechanism.reports))]
    for members in families.one_record(one):
        for prior in priors(space):
            gain = c.within(mechanism, prior, members, epsilon=least).gain
            assert gain <= least * (1 + 1e-9)
            # π|N against σ|N, of σ = Bayes(π, K, Z) on all databases
            known = prior.probabilities[members] / prior.probabilities[members].sum()
            beliefs = [c.posterior(mechanism, prior, event)[members] for event in events]
            moved = max(c.multiplicative_distance(known, belief / belief.sum()) for belief in beliefs)
            assert moved == pytest.approx(gain)
        for rare, common in itertools.permutations(members, 2):
            found.append(c.within(mechanism, skewed(space, rare, common), members, epsilon=least).gain)
    assert max(found) == pytest.approx(least, rel=1e-5)


FAMILIES: dict[str, tuple[Callable[[dx.Universe], Iterable[Array]], Callable[[dx.Universe], Iterable[Array]]]] = {
    "hamming": (families.substitutions, families.one_record),
    "manhattan": (families.substitutions, families.one_record_within),
    "normalised_manhattan": (families.substitutions, families.one_record_within),
    "chebyshev": (families.substitutions_everywhere, families.boxes),
    "plane": (lambda universe: families.swaps(len(universe)), lambda universe: families.pairs(len(universe))),
}


@pytest.mark.parametrize("seed", few([7, 17, 27], 2))
@pytest.mark.parametrize("metric", FAMILIES)
def test_theorems_3_and_4(metric: str, seed: int) -> None:
    """Both halves, under each metric with its families: what adversaries learn at most is ε per distance."""
    space = dx.grid((3, 3)) if metric == "plane" else THREE.space(metric)
    hidings, neighbourhoods = (list(family(THREE)) for family in FAMILIES[metric])
    assert c.hiding_tightness(space, hidings).holds
    assert c.neighbourhood_tightness(space, neighbourhoods).holds
    mechanism = noisy(space, seed)
    least = dx.evaluate.smallest_epsilon(mechanism)
    chosen = np.random.default_rng(3).permutation(len(hidings))[:12]
    for prior, number in itertools.product(priors(space), chosen):
        learned = c.after_hiding(mechanism, prior, hidings[number], epsilon=least)
        assert learned.gain <= 2 * least * c.hiding_distance(space, hidings[number]) * (1 + 1e-9) + 1e-12
    for prior, members in itertools.product(priors(space), neighbourhoods[:40]):
        assert (
            c.within(mechanism, prior, members, epsilon=least).gain
            <= least * c.diameter(space, members) * (1 + 1e-9) + 1e-12
        )
    # the second halves: each longest swap and each longest pair within a set shows its ratio to a skewed prior
    swaps: dict[tuple[int, int], Array] = {}
    for hiding in hidings:
        for x, other in enumerate(hiding):
            if x != other and hiding[other] == x and space.distances[x, other] == c.hiding_distance(space, hiding):
                swaps.setdefault((x, int(other)), hiding)
    shown = [
        c.after_hiding(mechanism, skewed(space, *pair), hiding, epsilon=least).gain / space.distances[pair] / 2
        for pair, hiding in swaps.items()
    ]
    assert max(shown) == pytest.approx(least, rel=1e-5)
    pairs = {
        (x, other): members
        for members in neighbourhoods
        for x, other in itertools.permutations(map(int, members), 2)
        if space.distances[x, other] == c.diameter(space, members)
    }
    shown = [
        c.within(mechanism, skewed(space, *pair), members, epsilon=least).gain / space.distances[pair]
        for pair, members in pairs.items()
    ]
    assert max(shown) == pytest.approx(least, rel=1e-5)


def test_theorems_3_and_4_of_any_families() -> None:
    """Both halves, for metrics, families and mechanisms that are drawn: bounds, reached where tight."""
    rng, tight = np.random.default_rng(4), [0, 0]
    for trial in range(8):
        drawn = np.triu(rng.uniform(1, 2, (4, 4)), 1)
        space = dx.line(4) if trial % 2 else dx.MetricSpace.from_distances(drawn + drawn.T)
        mechanism = noisy(space, trial)
        least = dx.evaluate.smallest_epsilon(mechanism)
        hidings = [*rng.integers(0, 4, (3, 4)), *list(families.swaps(4))[: rng.integers(4, 7)]]
        sets = [rng.choice(4, rng.integers(2, 4), replace=False) for _ in range(4 + 2 * trial)]
        moved, gained = [0.0], [0.0]
        for prior in [*priors(space), *(skewed(space, *pair) for pair in itertools.permutations(range(4), 2))]:
            for hiding in hidings:
                apart = c.hiding_distance(space, hiding)
                gain = c.after_hiding(mechanism, prior, hiding, epsilon=least).gain
                moved.append(gain / (2 * apart) if apart else gain)
            for members in sets:
                gain = c.within(mechanism, prior, members, epsilon=least).gain
                gained.append(gain / c.diameter(space, members))
        for place, (found, held) in enumerate(
            [
                (moved, c.hiding_tightness(space, hidings).holds),
                (gained, c.neighbourhood_tightness(space, sets).holds),
            ]
        ):
            assert max(found) <= least * (1 + 1e-9)
            if held:
                assert max(found) == pytest.approx(least, rel=1e-5)
            tight[place] += held
    assert all(1 < many < 8 for many in tight), tight


def joined(distances: Array, steps: Array) -> bool:
    """Whether every two points are joined by a tight chain of such steps, trying all chains."""
    points = range(len(distances))

    def tight(chain: tuple[int, ...]) -> bool:
        pairs = list(itertools.pairwise(chain))
        length = sum(distances[pair] for pair in pairs)
        return all(steps[pair] for pair in pairs) and length <= distances[chain[0], chain[-1]] * (1 + 1e-12)

    return all(
        any(
            tight((first, *between, last))
            for k in points
            for between in itertools.permutations([z for z in points if z not in (first, last)], k)
        )
        for first, last in itertools.combinations(points, 2)
    )


@pytest.mark.parametrize("seed", few(range(12)))
def test_definitions_2_and_3(seed: int) -> None:
    """Maximally tight families, against all chains of a space of four points."""
    rng = np.random.default_rng(seed)
    space = dx.line(4) if seed % 2 else dx.MetricSpace.from_points(rng.integers(0, 3, (4, 2)) + CORNERS, "manhattan")
    distances = space.distances
    hidings = [rng.permutation(4) for _ in range(9 + seed)]
    hidings += [np.random.default_rng(number).integers(0, 4, 4) for number in range(10 * seed)]
    steps = np.zeros((4, 4), dtype=bool)
    for hiding, x in itertools.product(hidings, range(4)):
        farthest = max(distances[y, hiding[y]] for y in range(4))
        steps[x, hiding[x]] |= bool(hiding[hiding[x]] == x and distances[x, hiding[x]] == farthest)
    assert c.hiding_tightness(space, hidings).holds == joined(distances, steps)
    sets = [rng.choice(4, rng.integers(2, 4), replace=False) for _ in range(2 + seed // 2)]
    steps = np.zeros((4, 4), dtype=bool)
    for members in sets:
        for x, other in itertools.permutations(members, 2):
            steps[x, other] |= bool(distances[x, other] == distances[np.ix_(members, members)].max())
    assert c.neighbourhood_tightness(space, sets).holds == joined(distances, steps)
