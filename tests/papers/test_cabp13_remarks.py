"""CABP13: what it says between its theorems, each remark as it is printed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces import families
from tests.judges.exact import violations
from tests.material.channels import THREE, UNIVERSES, level, noisy

c = dx.characterise
q = dx.queries
Array = np.ndarray


@pytest.mark.parametrize("name", ["two of three", "three of two"])
def test_the_records_of_others_are_not_learned(name: str) -> None:
    """After Thm 2: a mechanism that reveals N_i(x) keeps i private and violates the privacy of every other j."""
    one = UNIVERSES[name]
    space, secrets = one.space("hamming"), list(one.secrets)
    records = range(len(secrets[0]))  # pyright: ignore
    uniform, private = dx.Prior.uniform(space), dx.classic.exponential(space, epsilon=0.7)
    for i in records:
        others = [tuple(v for k, v in enumerate(x) if k != i) for x in secrets]  # pyright: ignore
        kinds = sorted(set(others))
        rows = np.array([[float(rest == kind) for kind in kinds] for rest in others])
        revealing = dx.Mechanism.from_matrix(space, rows, dx.Reports(tuple(map(str, kinds))))
        for j in records:
            for x in range(len(space)):
                members = [y for y, z in enumerate(secrets) if all(z[k] == secrets[x][k] for k in records if k != j)]  # pyright: ignore
                gain = c.within(revealing, uniform, members, epsilon=0.7).gain
                assert gain == 0 if i == j else gain == math.inf
        # what is private never makes the adversary sure of N_i(x), though who knows no N learns something
        rng = np.random.default_rng(i)
        for mechanism in (private, *(noisy(space, seed) for seed in range(5))):
            prior = dx.Prior.from_weights(space, rng.random(len(space)) + 0.1)
            assert c.within(mechanism, prior, np.arange(len(space)), epsilon=0.7).gain > 0.05
            joint = prior.probabilities[:, None] * mechanism.matrix
            for kind in kinds:
                of_kind = [rest == kind for rest in others]
                assert (joint[of_kind].sum(axis=0) < joint.sum(axis=0) * (1 - 1e-3)).all()


def test_two_metrics_are_in_general_incomparable() -> None:
    """§3: neither of d and d' is below the other, and for each there is a mechanism that is private for it alone."""
    first = dx.MetricSpace.from_distances([[0, 1, 2], [1, 0, 2], [2, 2, 0]])
    second = dx.MetricSpace.from_distances([[0, 2, 2], [2, 0, 1], [2, 1, 0]])
    for own, other in itertools.permutations((first, second)):
        matrix = dx.tight_constraints(own, 1.0).matrix
        assert violations(matrix, own.distances, 1 + 1e-12) == []
        assert violations(matrix, other.distances, 1 + 1e-3) != []
        again = dx.certify(matrix, own, 1 + 1e-12).privacy
        assert again is not None
        assert again.epsilon <= 1 + 1e-12
        with pytest.raises(dx.SpecError, match="is not private"):
            dx.certify(matrix, other, 1 + 1e-3)
        levels = [dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(space, matrix)) for space in (own, other)]
        assert levels == pytest.approx([1, 2])


@pytest.mark.parametrize("name", ["two of three", "three of two"])
def test_theorems_1_and_2_are_theorems_3_and_4_for_databases(name: str) -> None:
    """After Thm 4: d_h(φ) = 1 on Φ_h and d_h(N) = 1 on a maximally tight 𝒩_h, so that the bounds are 2ε and ε."""
    one, epsilon = UNIVERSES[name], 0.7
    space = one.space("hamming")
    mechanism, prior = dx.classic.exponential(space, epsilon=epsilon), dx.Prior.uniform(space)
    for hiding in families.fixed_values(one):
        assert c.hiding_distance(space, hiding) == 1
        learned = c.after_hiding(mechanism, prior, hiding, epsilon=epsilon)
        assert learned.bound == pytest.approx(2 * epsilon)
    assert not c.hiding_tightness(space, families.fixed_values(one)).holds
    for members in families.one_record(one):
        assert c.diameter(space, members) == 1
        assert c.within(mechanism, prior, members, epsilon=epsilon).bound == pytest.approx(epsilon)
    assert c.neighbourhood_tightness(space, families.one_record(one)).holds


def test_bounds_under_the_normalised_manhattan_metric() -> None:
    """After Prop 2: the posteriors differ by 2εd̃_1(φ) ≤ 2ε, and beliefs within V move by εd_V(V)/d_V(𝒱) ≤ ε."""
    space, epsilon, values = THREE.space("normalised_manhattan"), 0.9, np.array([0, 1, 3])
    mechanism, prior = dx.classic.exponential(space, epsilon=epsilon), dx.Prior.uniform(space)
    secrets = np.array(THREE.secrets)
    moves = set()
    for hiding in families.substitutions(THREE):
        moved = np.abs(secrets - secrets[hiding]).max() / 3
        learned = c.after_hiding(mechanism, prior, hiding, epsilon=epsilon)
        assert learned.bound == pytest.approx(2 * epsilon * moved)
        assert learned.bound <= 2 * epsilon * (1 + 1e-12)
        moves.add(float(moved))
    assert sorted(moves) == pytest.approx([0, 1 / 3, 2 / 3, 1])
    widths = set()
    for members in families.one_record_within(THREE):
        width = np.ptp(secrets[members], axis=0).max()
        assert c.within(mechanism, prior, members, epsilon=epsilon).bound == pytest.approx(epsilon * width / 3)
        widths.add(int(width))
    assert widths == {0, 1, 2, int(np.ptp(values))}


@pytest.mark.parametrize(("values", "absent"), [([0, 1, 2], False), ([0, 0.5, 4], False), ([0, 1, 3], True)])
def test_sensitivities_under_the_normalised_metric_are_larger(values: list[float], absent: bool) -> None:
    """After Prop 3: of every query of two records with answers 0 to 2 that is drawn, and strictly so of most."""
    one = dx.Universe.databases(values, 2, absent=absent)
    hamming, normalised = one.space("hamming"), one.space("normalised_manhattan")
    rng, larger = np.random.default_rng(3), 0
    for _ in range(40):
        drawn = rng.integers(0, 3, len(one))
        query = q.Query.of(one, lambda x, drawn=drawn: int(drawn[one.places[x]]))
        deltas = [q.sensitivity(query, space, query.space()).delta for space in (hamming, normalised)]
        assert deltas[0] <= deltas[1]
        larger += deltas[0] < deltas[1]
    assert larger > 20
    # whether any record is positive takes more noise: 1 under d_h, and 2 where 0 and the next value are ½ apart
    positive = q.Query.of(one, lambda x: int(any(x)))
    assert q.sensitivity(positive, hamming, positive.space()).delta == 1
    more = values[-1] / values[1]
    assert q.sensitivity(positive, normalised, positive.space()).delta == pytest.approx(more)
    for noise, level_of in ((0.4, 0.4 * more), (0.4 / more, 0.4)):
        lifted = dx.lift(positive, dx.classic.geometric(positive.space(), epsilon=noise), normalised)
        assert dx.evaluate.smallest_epsilon(lifted) == pytest.approx(level_of)


def test_extremes_and_the_median_are_percentiles() -> None:
    """§5.1: the minimum is the 0th percentile, the maximum the 100th, the lower median the 50th."""
    one = dx.Universe.databases([0.0, 0.5, 1.0, 4.0], 3, absent=True, empty=False)
    found = {share: q.percentile(one, share) for share in (0, 50, 100)}
    for place, secret in enumerate(one.secrets):
        present = sorted(value for value in secret if value is not None)  # pyright: ignore
        expected = {0: present[0], 50: present[(len(present) - 1) // 2], 100: present[-1]}
        for share, query in found.items():
            assert query.answers[query.index[place]] == expected[share]


def test_the_manhattan_metric_can_be_weaker_than_differential_privacy() -> None:
    """§5.2: adjacent databases may be more than ε apart under εd_1, and a mechanism that is private uses it up."""
    one, epsilon = dx.Universe.databases([0, 1, 2, 3], 2), 0.4
    hamming, manhattan = one.space("hamming"), one.space("manhattan")
    adjacent = hamming.distances == 1
    assert set(manhattan.distances[adjacent]) == {1, 2, 3}
    total = q.total(one)
    lifted = dx.lift(total, dx.classic.geometric(total.space(), epsilon=epsilon), manhattan).matrix
    assert violations(lifted, manhattan.distances, epsilon * (1 + 1e-12)) == []
    assert level(lifted[:, :5], hamming.distances, np.argwhere(adjacent)) == pytest.approx(3 * epsilon)


def test_similar_individuals_are_classified_alike() -> None:
    """Related work: a fair classifier is d-private for a metric between individuals; a threshold is not fair."""
    scores = np.array([0.0, 0.2, 0.3, 1.0, 1.1])
    people = dx.MetricSpace.from_points(scores)
    losses = np.column_stack([scores, 1.1 - scores])
    outcomes = dx.Reports(("refused", "accepted"))
    problem = dx.Problem(people, epsilon=1.5, prior="uniform", loss=losses, reports=outcomes)
    fair = dx.solve(problem).mechanism.matrix
    for x, y in itertools.permutations(range(5), 2):
        assert c.multiplicative_distance(fair[x], fair[y]) <= 1.5 * abs(scores[x] - scores[y]) + 1e-9
        assert np.abs(fair[x] - fair[y]).max() <= math.expm1(1.5 * abs(scores[x] - scores[y])) + 1e-9
    assert fair[4, 1] > fair[0, 1] + 0.1
    threshold = dx.Mechanism.from_matrix(people, np.eye(2)[(scores > 0.25).astype(int)], outcomes)
    assert dx.evaluate.smallest_epsilon(threshold) == math.inf


@pytest.mark.parametrize("north", [-33.0, 45.5, 60.0])
@pytest.mark.parametrize("kilometres", [2, 20, 200, 5000])
def test_the_plane_approximates_the_earth_where_the_area_is_small(kilometres: float, north: float) -> None:
    """§6.2: distances in the plane are off by the share of the area in the radius at most: not of a continent."""
    radius = 6371.0088
    plane = np.random.default_rng(1).uniform(-0.5, 0.5, (30, 2)) * kilometres
    south_north = north + np.degrees(plane[:, 0] / radius)
    west_east = -73.6 + np.degrees(plane[:, 1] / (radius * math.cos(math.radians(north))))
    globe = dx.MetricSpace.from_points(np.column_stack([south_north, west_east]), "haversine").distances
    flat = dx.MetricSpace.from_points(plane).distances
    error = np.abs(globe - flat).max() / flat.max()
    if kilometres < 1000:
        assert error < 0.6 * kilometres / radius
    else:
        assert error > 0.1


@pytest.mark.parametrize("metric", ["hamming", "manhattan", "normalised_manhattan"])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_a_family_of_mechanisms_is_scaled_by_the_sensitivity(metric: str, epsilon: float) -> None:
    """After Fact 5: K_ε = H_{ε/Δ}∘f is εd_X-private, for H_ε geometric noise of the level ε for d_Y."""
    one = dx.Universe.databases([0, 1, 2], 2)
    space, total = one.space(metric), q.total(one)
    delta = q.sensitivity(total, space, total.space()).delta
    assert delta == {"hamming": 2, "manhattan": 1, "normalised_manhattan": 2}[metric]
    scaled, plain = (
        dx.lift(total, dx.classic.geometric(total.space(), epsilon=size), space)
        for size in (epsilon / delta, epsilon)
    )
    assert scaled.privacy is not None
    assert scaled.privacy.epsilon == pytest.approx(epsilon, rel=1e-12)
    assert violations(scaled.matrix, space.distances, epsilon * (1 + 1e-12)) == []
    assert (violations(plain.matrix, space.distances, epsilon * (1 + 1e-12)) != []) == (delta > 1)


@pytest.mark.parametrize("metric", ["hamming", "manhattan", "chebyshev"])
def test_fact_5_and_theorem_6_for_any_query(metric: str) -> None:
    """H∘f is private at Δ times the level of H; where f is uniformly sensitive, at no less: queries and H drawn."""
    one, rng, uniform = dx.Universe.databases([0, 1, 2], 2), np.random.default_rng(12), 0
    space = one.space(metric)
    pairs = np.argwhere(space.distances > 0)
    for trial in range(40):
        weights = rng.integers(0, 3, 2)
        drawn = rng.integers(0, 3, len(one)) if trial % 2 else np.array(one.secrets) @ weights
        if np.ptp(drawn) == 0:
            continue
        query = q.Query.of(one, lambda x, drawn=drawn: int(drawn[one.places[x]]))
        answers = query.space()
        found = q.sensitivity(query, space, answers)
        mechanism = noisy(answers, trial).matrix
        own = level(mechanism, answers.distances, np.argwhere(answers.distances > 0))
        lifted = level(mechanism[query.index], space.distances, pairs)
        assert lifted <= found.delta * own * (1 + 1e-12)
        if found.uniform:
            assert lifted == pytest.approx(found.delta * own)
            uniform += 1
    assert 2 < uniform < 40
