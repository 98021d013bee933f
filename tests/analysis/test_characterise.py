"""What the adversary learns: the bounds of CABP13 Thms 1 to 4, their converses, and maximally tight families."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxopt as dx
from dxopt.spaces import families

c = dx.characterise
BITS = dx.Universe.databases([0, 1, 2], 2)
EPSILON = 0.8


def noisy(space: dx.MetricSpace) -> dx.Mechanism:
    return dx.classic.exponential(space, epsilon=EPSILON)


def test_members_that_are_known_to_be_impossible_say_nothing_of_the_others() -> None:
    """Their beliefs of 0 stay so; what is learned is about those that may be."""
    space = dx.line(3)
    mechanism = dx.Mechanism.from_matrix(space, [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    prior = dx.Prior.from_weights(space, [1, 1, 0])
    found = c.within(mechanism, prior, [0, 1, 2], epsilon=1.0)
    assert found.gain == pytest.approx(np.log(3 / 2))
    assert found.gain == c.within(mechanism, prior, [0, 1], epsilon=1.0).gain


def test_posteriors() -> None:
    space = dx.line(3)
    mechanism = dx.Mechanism.from_matrix(space, [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    prior = dx.Prior.from_weights(space, [2, 1, 0])
    assert c.posterior(mechanism, prior, 0).tolist() == pytest.approx([0.8, 0.2, 0.0])
    assert c.posterior(mechanism, prior, [0, 1]).tolist() == pytest.approx([2 / 3, 1 / 3, 0.0])
    named = [mechanism.reports.labels[0], mechanism.reports.labels[1]]
    assert c.posterior(mechanism, prior, named).tolist() == c.posterior(mechanism, prior, [0, 1]).tolist()
    split = dx.Mechanism.from_matrix(space, [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(dx.SpecError, match=r"^reports: "):
        c.posterior(split, prior, 2)


@pytest.mark.parametrize("hiding", [[0, 1], [0, 1, 3], [0, 1, -1], [[0, 1, 2]]])
def test_a_hiding_function_has_one_index_for_each_secret(hiding: list[int]) -> None:
    message = "hiding: is no function of the secrets; give the index"
    with pytest.raises(dx.SpecError, match=message):
        c.after_hiding(noisy(dx.line(3)), "uniform", hiding)
    with pytest.raises(dx.SpecError, match=message):
        c.hiding_distance(dx.line(3), hiding)


def test_multiplicative_distance() -> None:
    assert c.multiplicative_distance([0.5, 0.5, 0], [0.25, 0.75, 0]) == pytest.approx(np.log(2))
    assert c.multiplicative_distance([0.5, 0.5], [1, 0]) == np.inf
    assert c.multiplicative_distance([1, 0], [1, 0]) == 0


METRICS = ["hamming", "manhattan", "normalised_manhattan", "chebyshev"]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), metric=st.sampled_from(METRICS))
def test_beliefs_stay_within_the_bounds(seed: int, metric: str) -> None:
    """CABP13 Thms 1 to 4, first halves: for any prior, hiding function and neighbourhood."""
    rng = np.random.default_rng(seed)
    space = BITS.space(metric)
    mechanism = noisy(space)
    prior = dx.Prior.from_weights(space, rng.random(len(space)) ** 4 * (rng.random(len(space)) < 0.8) + 1e-12)
    hidings = [
        *families.fixed_values(BITS),
        *itertools.islice(families.substitutions(BITS), 20),
        rng.integers(0, 9, 9),
    ]
    for hiding in hidings:
        learned = c.after_hiding(mechanism, prior, hiding, epsilon=EPSILON)
        assert learned.bound == pytest.approx(2 * EPSILON * space.distances[np.arange(9), hiding].max())
        assert learned.gain <= learned.bound * (1 + 1e-9)
    for members in [*families.one_record(BITS), *itertools.islice(families.boxes(BITS), 20), np.arange(9)]:
        learned = c.within(mechanism, prior, members, epsilon=EPSILON)
        assert learned.gain <= learned.bound * (1 + 1e-9)


def test_one_individual() -> None:
    """CABP13 Thms 1 and 2 as printed: 2ε for a fixed value, ε for one unknown record."""
    space = BITS.space("hamming")
    for hiding in families.fixed_values(BITS):
        assert c.after_hiding(noisy(space), dx.Prior.uniform(space), hiding, epsilon=EPSILON).bound == 2 * EPSILON
    for members in families.one_record(BITS):
        assert c.within(noisy(space), dx.Prior.uniform(space), members, epsilon=EPSILON).bound == EPSILON


@pytest.mark.parametrize(
    ("metric", "family"), [("hamming", families.one_record), ("manhattan", families.one_record_within)]
)
def test_beliefs_show_what_is_not_private(metric: str, family) -> None:
    """CABP13 Thms 2 and 4, second halves: a mechanism at twice the ε moves some belief beyond the bound."""
    space = BITS.space(metric)
    problem = dx.Problem(space, epsilon=2 * EPSILON, prior=dx.Prior.uniform(space), loss="binary")
    leaky = dx.solve(problem).mechanism
    found = []
    for members in family(BITS):
        for likely in members:
            weights = np.full(len(space), 1e-9)
            weights[likely] = 1.0
            prior = dx.Prior.from_weights(space, weights)
            found.append(c.within(leaky, prior, members, epsilon=EPSILON))
    assert any(learned.gain > 1.5 * learned.bound for learned in found if learned.bound)


def test_the_largest_gain_is_found() -> None:
    """Against d_P of every report by hand, by logarithms of the channel itself."""
    space = BITS.space("hamming")
    mechanism = noisy(space)
    prior = dx.Prior.from_weights(space, np.arange(1.0, 10.0))
    hiding = next(families.fixed_values(BITS))
    joint, hidden = (matrix * prior.probabilities[:, None] for matrix in (mechanism.matrix, mechanism.matrix[hiding]))
    ratios = np.abs(np.log(joint / joint.sum(axis=0)) - np.log(hidden / hidden.sum(axis=0))).max(axis=0)
    learned = c.after_hiding(mechanism, prior, hiding)
    assert learned.gain == pytest.approx(ratios.max())
    assert learned.event == (int(ratios.argmax()),)


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize(
    ("metric", "hidings", "tight"),
    [
        ("hamming", families.fixed_values, False),
        ("hamming", families.substitutions, True),
        ("manhattan", families.fixed_values, False),
        ("manhattan", families.substitutions, True),
        ("normalised_manhattan", families.substitutions, True),
        ("chebyshev", families.substitutions, False),
        ("chebyshev", families.substitutions_everywhere, True),
    ],
)
def test_maximally_tight_hiding(metric: str, hidings, tight: bool, absent: bool) -> None:
    """CABP13 Prop 2 and §6.1; Φ_h is not, as it swaps nothing (CABP13 after Def 2)."""
    universe = dx.Universe.databases([0, 1], 2, absent=True) if absent else BITS
    check(universe.space(metric), c.hiding_tightness(universe.space(metric), hidings(universe)), tight)


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize(
    ("metric", "sets", "tight"),
    [
        ("hamming", families.one_record, True),
        ("manhattan", families.one_record, False),
        ("manhattan", families.one_record_within, True),
        ("normalised_manhattan", families.one_record_within, True),
        ("chebyshev", families.one_record_within, False),
        ("chebyshev", families.boxes, True),
    ],
)
def test_maximally_tight_neighbourhoods(metric: str, sets, tight: bool, absent: bool) -> None:
    """CABP13 §3 for 𝒩_h, Prop 2 for 𝒩_1, §6.1 for 𝒩_∞; a whole record is too coarse for d_1."""
    universe = dx.Universe.databases([0, 3, 4], 2) if not absent else dx.Universe.databases([0, 1, 3], 2, absent=True)
    check(universe.space(metric), c.neighbourhood_tightness(universe.space(metric), sets(universe)), tight)


def check(space: dx.MetricSpace, found, tight: bool) -> None:
    assert found.holds == tight
    if found.holds:
        last = len(space) - 1
        chain = found.chain(0, last)
        assert (chain[0], chain[-1]) == (0, last)
        assert sum(space.distances[a, b] for a, b in itertools.pairwise(chain)) == pytest.approx(
            space.distances[0, last]
        )
    else:
        assert found.broken is not None


def test_a_detour_is_no_tight_chain() -> None:
    space = dx.MetricSpace.from_distances([[0, 1, 1.5], [1, 0, 1], [1.5, 1, 0]])
    found = dx.characterise.neighbourhood_tightness(space, [[0, 1], [1, 2]])
    assert found.broken == (0, 2)
    assert found.chain(0, 2) == []
    assert found.chain(0, 1) == [0, 1]


def test_locations() -> None:
    """CABP13 §6.2: all functions and all sets are maximally tight in the plane, pairs of locations being enough."""
    space = dx.grid((3, 2))
    assert c.hiding_tightness(space, families.swaps(6)).holds
    assert c.neighbourhood_tightness(space, families.pairs(6)).holds
    assert not c.neighbourhood_tightness(space, [np.arange(6)]).holds


def test_a_swap_counts_only_where_nothing_else_is_hidden_further() -> None:
    """CABP13 Def 2 asks for d(x_i, x_i+1) = d(φ)."""
    space = dx.line(3)
    assert c.hiding_tightness(space, [[1, 0, 2], [0, 2, 1]]).holds
    assert c.hiding_tightness(space, [[1, 0, 0], [0, 2, 1]]).broken == (0, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: c.within(noisy(dx.line(3)), dx.Prior.from_weights(dx.line(3), [1, 0, 0]), [1, 2]), "^members: "),
        (lambda: c.posterior(noisy(dx.line(3)), dx.Prior.uniform(dx.line(2)), 0), "^prior: "),
        (lambda: c.posterior(noisy(dx.line(3)), "uniform", "x"), "^reports: "),
        (lambda: c.posterior(noisy(dx.line(3)), "uniform", [0, 3]), "^reports: "),
        (lambda: c.posterior(noisy(dx.line(3)), "uniform", 0.5), "^reports: "),
        (
            lambda: c.within(dx.Mechanism.from_matrix(dx.line(2), np.eye(2)), dx.Prior.uniform(dx.line(2)), [0, 1]),
            "^mechanism: ",
        ),
        (lambda: next(families.boxes(dx.Universe.graphs(2))), "^universe: "),
        (lambda: c.hiding_tightness(dx.neighbours(BITS, "one_sided", sensitive=[2]), families.swaps(9)), "^space: "),
    ],
)
def test_bad_input(make, message: str) -> None:
    with pytest.raises(dx.SpecError, match=message):
        make()


@pytest.mark.parametrize("members", [[-1, 0], [0, 9], ["0", "9"], [], [[0], [1, 2]], [0.5], None])
def test_members_that_are_no_secrets(members: Any) -> None:
    space = dx.line(4)
    mechanism = dx.classic.geometric(space, epsilon=1.0)
    calls = [
        lambda: dx.characterise.diameter(space, members),
        lambda: dx.characterise.within(mechanism, "uniform", members),
        lambda: dx.characterise.neighbourhood_tightness(space, [members]),
        lambda: dx.characterise.posterior(mechanism, "uniform", members),
    ]
    for call in calls:
        with pytest.raises(dx.SpecError) as refused:
            call()
        assert refused.value.field in ("members", "reports")


def test_members_by_label() -> None:
    space = dx.MetricSpace.from_distances(dx.line(4).distances, labels=["a", "b", "c", "d"])
    mechanism = dx.classic.exponential(space, epsilon=1.0)
    assert dx.characterise.diameter(space, ["b", "d"]) == dx.characterise.diameter(space, [1, 3]) == 2
    named, placed = (dx.characterise.within(mechanism, "uniform", names) for names in (["b", "d"], [1, 3]))
    assert named == placed


@pytest.mark.parametrize("hiding", [[0, 0], [-1, 0, 0, 0], ["0"] * 4, [0.0] * 4, [[0], [1, 2]], None])
def test_hidings_that_are_none(hiding: Any) -> None:
    space = dx.line(4)
    for call in (
        dx.characterise.hiding_distance,
        lambda space, hiding: dx.characterise.hiding_tightness(space, [hiding]),
    ):
        with pytest.raises(dx.SpecError):
            call(space, hiding)


@pytest.mark.parametrize("wrong", [[0.2, 0.3, 0.5], [0.5, -0.5], [np.nan, 0.5], ["x", 0.5], [[0.5, 0.5]], 1.0, None])
def test_the_multiplicative_distance_is_of_probabilities(wrong: Any) -> None:
    for pair in (([0.5, 0.5], wrong), (wrong, [0.5, 0.5])):
        with pytest.raises(dx.SpecError):
            dx.characterise.multiplicative_distance(*pair)
