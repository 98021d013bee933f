"""Neighbourhoods: what one step is, the metrics that come of it, and what one notion says of another."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.neighbours import RELATIONS
from tests.material.notions import levenshtein

PRESENT = dx.Universe.databases([0, 1, 2], 3)
ABSENT = dx.Universe.databases([0, 1, 2], 2, absent=True)

NOT_EMPTY = dx.Universe.databases([0, 1, 2], 2, absent=True, empty=False)


def hamming(universe: dx.Universe) -> np.ndarray:
    """The number of records that differ, by hand."""
    return np.array(
        [[sum(a != b for a, b in zip(x, y, strict=True)) for y in universe.secrets] for x in universe.secrets]  # pyright: ignore
    )


PAIRS, BITS, TRIOS = (dx.Universe.databases(range(k), n) for k, n in ((3, 2), (2, 2), (2, 3)))
TWO_ATTRIBUTES = dx.Universe.databases(itertools.product(range(2), range(3)), 2)
EXAMPLES: dict[str, list[tuple[dx.Universe, dict[str, Any]]]] = {
    "bounded": [(PAIRS, {}), (ABSENT, {})],
    "unbounded": [(ABSENT, {})],
    "both": [(ABSENT, {})],
    "attribute": [(TWO_ATTRIBUTES, {})],
    "bit": [(dx.Universe.databases(range(4), 2), {})],
    "one_sided": [(PAIRS, {"sensitive": (2,)})],
    "blowfish": [(PAIRS.where(lambda x: sum(x) < 4), {"policy": ((0, 1), (1, 2))})],
    "group": [(TRIOS, {"size": 2})],
    "dependent": [(TRIOS, {"related": ((1,), (2,), ()), "size": 2})],
    "individual": [(PAIRS, {"at": (0, 1)})],
    "free_lunch": [(PAIRS, {}), (dx.Universe.graphs(3), {})],
    "generic": [(PAIRS, {"holds": lambda x, other: abs(sum(x) - sum(other)) <= 1})],
    "generic_one_way": [(PAIRS, {"holds": lambda x, other: sum(x) == sum(other) + 1})],
    "listed": [(BITS, {"joined": [((0, 0), (0, 1)), ((0, 1), (1, 1))]})],
    "listed_one_way": [(BITS, {"joined": [((0, 0), (0, 1)), ((1, 1), (0, 1))]})],
    "edge": [(dx.Universe.graphs(3), {})],
    "node": [(dx.Universe.graphs(4), {})],
    "event": [(dx.Universe.streams(range(2), 3), {})],
    "user": [(dx.Universe.streams(range(2), 2, users=2), {})],
    "w_event": [(dx.Universe.streams(range(2), 3), {"window": 2})],
    "substitution": [(dx.Universe.words("ab", 3, shortest=2), {})],
    "edit": [(dx.Universe.words("ab", 3, shortest=0), {})],
}


@pytest.mark.parametrize("name", list(RELATIONS))
def test_relations_keep_their_contract(name: str) -> None:
    assert "Des20" in (RELATIONS.get(name).__doc__ or "")
    for universe, parameters in EXAMPLES[name]:
        relation = RELATIONS.get(name)(**parameters)
        space = dx.neighbours(universe, relation)
        assert tuple(space.labels) == universe.labels
        steps = np.array(
            [[other in set(relation.steps(universe, x)) for other in universe.secrets] for x in universe.secrets]
        )
        steps = steps if relation.one_way else steps | steps.T
        np.fill_diagonal(steps, False)
        assert np.array_equal(space.distances == 1, steps)
        assert steps.any()
        assert space.symmetric or relation.one_way


def test_bounded_and_both_are_hamming() -> None:
    assert np.array_equal(dx.neighbours(PRESENT, "bounded").distances, hamming(PRESENT))
    assert np.array_equal(dx.neighbours(ABSENT, "both").distances, hamming(ABSENT))
    assert np.array_equal(ABSENT.space("hamming").distances, hamming(ABSENT))


def test_bounded_keeps_apart_who_is_there() -> None:
    space = dx.neighbours(ABSENT, "bounded")
    assert np.isinf(space.distances[space.index("(0, 1)"), space.index("(0, ∅)")])


def test_removal_against_hamming() -> None:
    """½ d_r ≤ d_h ≤ d_r, so that unbounded ε implies bounded 2ε (CABP13 §3, Des20 §2.2.3)."""
    removal, both, bounded = (dx.neighbours(ABSENT, name).distances for name in ("unbounded", "both", "bounded"))
    assert (0.5 * removal <= both).all()
    assert (both <= removal).all()
    assert (removal <= 2 * bounded).all()
    assert (removal == 2 * both).any()
    assert (both == removal).any()
    # of every mechanism: at twice the level, which some need
    rng, needed = np.random.default_rng(1), []
    spaces = [dx.neighbours(ABSENT, name) for name in ("unbounded", "bounded")]
    for _ in range(40):
        matrix = rng.dirichlet(np.ones(3), len(ABSENT))
        alone, changed = (
            dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(space, matrix, dx.Reports(("a", "b", "c"))))
            for space in spaces
        )
        assert changed <= 2 * alone * (1 + 1e-12)
        needed.append(changed / alone)
    assert max(needed) > 1


@pytest.mark.parametrize("universe", [PRESENT, ABSENT, NOT_EMPTY], ids=["present", "absent", "not empty"])
def test_normalised_manhattan_is_below_hamming(universe: dx.Universe) -> None:
    """CABP13 Prop 3, and d_∞ ≤ d_1 = d_V(V) d̃_1."""
    normalised, plain, widest = (
        universe.space(metric).distances for metric in ("normalised_manhattan", "manhattan", "chebyshev")
    )
    assert (normalised <= hamming(universe)).all()
    assert np.allclose(plain, 2 * normalised)
    assert (widest <= plain).all()
    assert (widest.max(), plain.max()) == (2, 2 * len(universe.secrets[0]))  # pyright: ignore[reportArgumentType]


def test_an_absent_record_is_as_far_as_can_be() -> None:
    space = dx.Universe.databases([0, 1, 5], 1, absent=True).space("manhattan")
    assert list(space.labels) == ["0", "1", "5", "∅"]
    assert space.distances[3].tolist() == [5.0, 5.0, 5.0, 0.0]


def test_all_databases_are_a_product() -> None:
    for metric in ("hamming", "manhattan"):
        space = ABSENT.space(metric)
        assert space.structure.kind == "product"
        assert tuple(space.labels) == ABSENT.labels
        kept = [ABSENT.places[secret] for secret in NOT_EMPTY.secrets]
        assert np.array_equal(NOT_EMPTY.space(metric).distances, space.distances[np.ix_(kept, kept)])


def test_a_distance_of_ones_own() -> None:
    colours = dx.Universe.databases(["red", "blue", "green"], 1)
    space = colours.space("manhattan", distance=lambda a, b: abs(len(a) - len(b)))
    assert space.distances[0].tolist() == [0.0, 1.0, 2.0]


def test_attributes_and_bits_are_smaller_steps() -> None:
    records = dx.Universe.databases(itertools.product(range(2), range(4)), 1)
    bounded, attribute, bit = (dx.neighbours(records, name).distances for name in ("bounded", "attribute", "bit"))
    assert (bounded <= attribute).all()
    assert (attribute <= bit).all()
    first, last = records.places[((0, 0),)], records.places[((1, 3),)]
    assert (bounded[first, last], attribute[first, last], bit[first, last]) == (1, 2, 3)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_groups_divide_distances(size: int) -> None:
    assert np.array_equal(dx.neighbours(PRESENT, "group", size=size).distances, np.ceil(hamming(PRESENT) / size))


def test_dependence() -> None:
    """Where all depend on all it is a group; in between, in between (Des20 Def 22)."""
    everyone, first = ((1, 2), (0, 2), (0, 1)), ((1,), (), ())
    group = dx.neighbours(PRESENT, "group", size=2).distances
    alone, chained, all_of_all = (
        dx.neighbours(PRESENT, "dependent", related=related, size=size).distances
        for related, size in ((first, 1), (first, 2), (everyone, 2))
    )
    assert np.array_equal(alone, hamming(PRESENT))
    assert np.array_equal(all_of_all, group)
    assert (group <= chained).all()
    assert (chained <= alone).all()
    assert chained[PRESENT.places[0, 0, 0], PRESENT.places[1, 1, 0]] == 1
    assert chained[PRESENT.places[0, 0, 0], PRESENT.places[1, 0, 1]] == 2
    both_follow = dx.neighbours(PRESENT, "dependent", related=((1, 2), (), ()), size=3).distances
    followed, alike = (PRESENT.places[one] for one in ((1, 1, 1), (0, 1, 1)))
    assert both_follow[PRESENT.places[0, 0, 0], [followed, alike]].tolist() == [1, 2]


@pytest.mark.parametrize("universe", [PRESENT, ABSENT, NOT_EMPTY], ids=["present", "absent", "not empty"])
@pytest.mark.parametrize(("related", "size"), [("nobody", 1), ("nobody", 2), ("everyone", 1)])
def test_dependence_without_dependence_is_bounded(universe: dx.Universe, related: str, size: int) -> None:
    """Des20 after Def 22: for the empty relation, and for k = 1; whoever is absent stays so."""
    records = range(len(universe.secrets[0]))  # pyright: ignore[reportArgumentType]
    of_each = [[other for other in records if other != one] if related == "everyone" else [] for one in records]
    found = dx.neighbours(universe, "dependent", related=of_each, size=size).distances
    assert np.array_equal(found, dx.neighbours(universe, "bounded").distances)


def test_one_sided() -> None:
    """From a sensitive value to any other; where all are sensitive, bounded (Des20 Def 21)."""
    space = dx.neighbours(PRESENT, "one_sided", sensitive=[2])
    there, back = (
        space.distances[space.index(a), space.index(b)]
        for a, b in (("(2, 0, 0)", "(1, 0, 0)"),) * 1 + (("(1, 0, 0)", "(2, 0, 0)"),)
    )
    assert (there, back) == (1, np.inf)
    assert not space.symmetric
    everything = dx.neighbours(PRESENT, "one_sided", sensitive=[0, 1, 2])
    assert np.array_equal(everything.distances, hamming(PRESENT))


def test_blowfish() -> None:
    """A complete policy without constraints is bounded (Des20 after Def 26); a path is the Manhattan metric."""
    path = dx.neighbours(PRESENT, "blowfish", policy=[(0, 1), (1, 2)])
    complete = dx.neighbours(PRESENT, "blowfish", policy=[(0, 1), (1, 2), (0, 2)])
    assert np.array_equal(complete.distances, hamming(PRESENT))
    assert np.array_equal(path.distances, PRESENT.space("manhattan").distances)
    within = PRESENT.where(lambda database: sum(database) not in (2, 3, 4))
    islands = dx.neighbours(within, "blowfish", policy=[(0, 1), (1, 2)])
    assert islands.distances[0, 1] == 1
    assert np.isinf(islands.distances[0, -1])


def test_individual_is_a_star() -> None:
    space = dx.neighbours(PRESENT, "individual", at=(0, 0, 0))
    away = hamming(PRESENT)[0]
    assert np.array_equal(space.distances[0] == 1, away == 1)
    assert np.isinf(space.distances[0][away > 1]).all()


def test_free_lunch() -> None:
    assert np.array_equal(dx.neighbours(PRESENT, "free_lunch").distances, 1 - np.eye(len(PRESENT)))


def test_graphs() -> None:
    universe = dx.Universe.graphs(4)
    edge, node = (dx.neighbours(universe, name).distances for name in ("edge", "node"))
    different = np.array([[len(a ^ b) for b in universe.secrets] for a in universe.secrets])  # pyright: ignore
    assert len(universe) == 64
    assert np.array_equal(edge, different)
    assert (node <= edge).all()
    star, empty = frozenset({(0, 1), (0, 2), (0, 3)}), frozenset()
    assert node[universe.places[star], universe.places[empty]] == 1
    assert node.max() == 3


def test_streams() -> None:
    universe = dx.Universe.streams([0, 1], 3, users=2)
    notions: dict[str, dict[str, Any]] = {"event": {}, "w_event": {"window": 2}, "user": {}}
    event, window, user = (dx.neighbours(universe, name, **more).distances for name, more in notions.items())
    flat = [tuple(itertools.chain(*stream)) for stream in universe.secrets]  # pyright: ignore
    assert np.array_equal(event, [[sum(a != b for a, b in zip(x, y, strict=True)) for y in flat] for x in flat])
    start = universe.places[((0, 0), (0, 0), (0, 0))]
    for stream, expected in (
        (((1, 0), (0, 1), (0, 0)), (2, 1, 2)),
        (((1, 0), (0, 0), (1, 0)), (2, 2, 1)),
        (((1, 1), (0, 0), (0, 0)), (2, 2, 2)),
        (((1, 0), (1, 0), (1, 0)), (3, 2, 1)),
    ):
        end = universe.places[stream]
        assert (event[start, end], window[start, end], user[start, end]) == expected


def test_words() -> None:
    universe = dx.Universe.words("ab", 4, shortest=0)
    edit, substitution = (dx.neighbours(universe, name).distances for name in ("edit", "substitution"))
    assert np.array_equal(edit, [[levenshtein(x, y) for y in universe.secrets] for x in universe.secrets])  # pyright: ignore
    assert universe.labels[:4] == ("ε", "a", "b", "aa")
    lengths = np.array([len(word) for word in universe.secrets])  # pyright: ignore
    assert np.array_equal(np.isinf(substitution), lengths[:, None] != lengths)
    assert (edit <= substitution).all()


def test_secrets_that_are_written_alike_stay_apart() -> None:
    numbers, texts = dx.Universe.words([1, 11], 2, shortest=1), dx.Universe.databases([1, "1", 2], 1)
    assert numbers.labels == ("1", "11", "1,1", "1,11", "11,1", "11,11")
    assert dx.neighbours(numbers, "edit").distances[3].tolist() == [1, 1, 1, 0, 2, 1]
    assert dx.Universe.streams(["", "a"], 1, users=2).labels == (",", ",a", "a,", "a,a")
    space = dx.neighbours(texts, "free_lunch")
    assert space.labels == ("1", "1", "2")
    assert np.array_equal(space.distances, 1 - np.eye(3))


def test_one_sided_and_individual_privacy_are_solved_like_any_other() -> None:
    """The optimum under a one-sided notion is no worse than under the two-sided one, and proven in the same way."""
    universe = dx.Universe.databases([0, 1], 2)
    losses = np.array([[abs(sum(x) - z) for z in range(3)] for x in universe.secrets], dtype=float)  # pyright: ignore
    values = {}
    notions: dict[str, dict[str, Any]] = {
        "bounded": {},
        "one_sided": {"sensitive": [1]},
        "individual": {"at": (0, 0)},
    }
    for name, more in notions.items():
        space = dx.neighbours(universe, name, **more)
        problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=losses)
        report = dx.solve(problem)
        assert report.certificate.private
        assert report.certificate.gap <= 1e-6
        values[name] = report.certificate.value
    assert values["one_sided"] < values["bounded"]
    assert values["individual"] < values["bounded"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dx.Universe.databases([], 2), "values: are none"),
        (lambda: dx.Universe.databases([0, 0], 2), "values: contain the same twice"),
        (lambda: dx.Universe.databases([0, None], 2), "values: contain None"),
        (lambda: dx.Universe.databases([0, 1], 0), "records: is 0"),
        (lambda: dx.Universe.databases([0, 1], 20), "universe: has 1,048,576 secrets"),
        (lambda: dx.Universe.graphs(7), "universe: has 2,097,152 secrets"),
        (lambda: dx.Universe.words("ab", 2, shortest=3), "shortest: is 3"),
        (lambda: PRESENT.where(lambda database: False), "universe: has no secret"),
        (lambda: PRESENT.space("euclidean"), "metric: there is no 'euclidean'"),
        (lambda: dx.Universe.databases("ab", 2).space("manhattan"), "values: are no numbers"),
        (lambda: dx.Universe.databases([3], 2).space("manhattan"), "values: are at distance 0"),
        (lambda: dx.Universe.graphs(3).space(), "metric: is for databases, not for graphs"),
        (lambda: dx.neighbours(PRESENT, "friends"), "neighbours: there is no 'friends'; choose one of attribute"),
        (lambda: dx.neighbours(PRESENT, "group"), "neighbours: group needs size"),
        (lambda: dx.neighbours(PRESENT, "bounded", size=2), "size: does not go with neighbours: bounded"),
        (lambda: dx.neighbours(PRESENT, "unbounded"), "neighbours: are none among these secrets"),
        (lambda: dx.neighbours(PRESENT, "dependent", related=[[2]], size=2), "related: is not about 3 records"),
        (lambda: dx.neighbours(PRESENT, "edge"), "neighbours: are about graphs, not databases"),
    ],
)
def test_bad_input(make, message: str) -> None:
    with pytest.raises(dx.SpecError, match=message.replace("(", r"\(")):
        make()


@pytest.mark.parametrize(
    "field, relation, given",
    [
        ("sensitive[1]", "one_sided", [1, 7]),
        ("sensitive[1]", "one_sided", [1, "2"]),
        ("sensitive[0]", "one_sided", [None]),
        ("sensitive[0]", "one_sided", [[1]]),
        ("sensitive[0]", "one_sided", [np.ones(2)]),
        ("sensitive", "one_sided", "12"),
        ("sensitive", "one_sided", iter([1])),
        ("sensitive", "one_sided", []),
        ("policy[1][1]", "blowfish", [(0, 1), (1, "2")]),
        ("policy[0]", "blowfish", [(0, 1, 2)]),
        ("policy[0]", "blowfish", [1]),
        ("policy", "blowfish", iter([(0, 1)])),
        ("policy", "blowfish", [(0, 0)]),
        ("at[1]", "individual", (0, 7, 0)),
        ("at", "individual", (0, 1)),
        ("at", "individual", 0),
        ("joined[0][1]", "listed", [((0, 0, 0), (0, 0, 7))]),
        ("joined[0][0]", "listed_one_way", [(0, (0, 0, 0))]),
        ("joined", "listed", iter([((0, 0, 0), (0, 0, 1))])),
        ("related", "dependent", [[], [], [3]]),
    ],
)
def test_what_a_relation_names_must_be_there(field: str, relation: str, given: Any) -> None:
    """Nothing that should be protected is passed over: the field and the index are named."""
    options: dict[str, Any] = {field.partition("[")[0]: given} | ({"size": 2} if relation == "dependent" else {})
    with pytest.raises(dx.SpecError) as refused:
        dx.neighbours(PRESENT, relation, **options)
    assert refused.value.field == field


@pytest.mark.parametrize(
    "universe, relation, options",
    [
        (dx.Universe.databases([0, 1], 4), "group", {"size": 2}),
        (dx.Universe.databases([0, 1], 4), "dependent", {"related": [[1], [0], [3], [2]], "size": 2}),
        (dx.Universe.databases([0, 1], 4), "both", {}),
        (dx.Universe.words("ab", 4), "free_lunch", {}),
        (dx.Universe.words("ab", 4), "generic", {"holds": lambda one, other: True}),
        (dx.Universe.graphs(4), "node", {}),
        (dx.Universe.streams("ab", 3), "w_event", {"window": 2}),
    ],
)
def test_too_many_steps_are_refused_while_they_are_counted(
    universe: dx.Universe, relation: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = RELATIONS.get(relation)(**options).steps
    number = sum(len(list(steps(universe, secret))) for secret in universe.secrets)
    monkeypatch.setattr("dxopt.spaces.neighbours.base.MOST_STEPS", number)
    assert len(dx.neighbours(universe, relation, **options)) == len(universe)
    monkeypatch.setattr("dxopt.spaces.neighbours.base.MOST_STEPS", number - 1)
    with pytest.raises(dx.SpecError) as refused:
        dx.neighbours(universe, relation, **options)
    assert refused.value.field == "neighbours"


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_steps_of_a_group_are_met_once(size: int) -> None:
    universe = dx.Universe.databases([0, 1, 2], 3)
    group: Any = RELATIONS.get("group")
    found: list[Any] = list(group(size).steps(universe, (0, 1, 2)))
    secrets: list[Any] = list(universe.secrets)
    steps = (sum(a != b for a, b in zip(other, (0, 1, 2), strict=True)) for other in secrets)
    near = [other for other, step in zip(secrets, steps, strict=True) if 0 < step <= size]
    assert sorted(found) == near
