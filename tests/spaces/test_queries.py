"""Queries: their answers, sensitivity with its witnesses, and the claims of CABP13 §4 and §5 on small universes."""

from __future__ import annotations

import itertools
import statistics

import numpy as np
import pytest

import dxopt as dx
from tests.judges.exact import violations

q = dx.queries


def universe(records: int, largest: int, step: float = 1.0) -> dx.Universe:
    """V^n for V = q[0..k] with absent records, the empty database excluded (CABP13 §5.1)."""
    values = [step * value for value in range(largest + 1)]
    return dx.Universe.databases(values, records, absent=True, empty=False)


SMALL = universe(2, 2)


def answers(query: dx.queries.Query) -> dict:
    return {secret: query.answers[answer] for secret, answer in zip(query.universe.secrets, query.index, strict=True)}


def test_answers() -> None:
    found = {name: answers(query) for name, query in standard(universe(3, 2)).items()}
    for secret in found["sum"]:
        present = [value for value in secret if value is not None]
        assert found["sum"][secret] == sum(present)
        assert found["average"][secret] == statistics.fmean(present)
        assert found["minimum"][secret] == min(present)
        assert found["median"][secret] == statistics.median_low(present)
        assert found["maximum"][secret] == max(present)


def standard(one: dx.Universe) -> dict[str, dx.queries.Query]:
    return {
        "sum": q.total(one),
        "average": q.average(one),
        "minimum": q.percentile(one, 0),
        "median": q.percentile(one, 50),
        "maximum": q.percentile(one, 100),
    }


def test_sums_of_tenths_are_exact() -> None:
    """0.1 + 0.2 in any order is one answer, not two that rounding makes."""
    one = dx.Universe.databases([0.1, 0.2, 0.3], 3)
    assert len(q.total(one).answers) < len({sum(secret) for secret in one.secrets})  # pyright: ignore


def test_counts_and_identity() -> None:
    one = dx.Universe.databases([0, 1, 2], 2)
    both = q.counts(one, lambda value: value > 0, lambda value: value > 1)
    assert answers(both)[(1, 2)] == (2, 1)
    assert answers(q.count(one, lambda value: value == 1))[(1, 1)] == 2
    assert q.identity(one).answers == one.secrets


def test_a_count_is_uniformly_sensitive() -> None:
    one = dx.Universe.databases([0, 1, 2], 3)
    query = q.count(one, bool)
    found = q.sensitivity(query, one.space("hamming"), query.space())
    assert (found.delta, found.uniform) == (1.0, True)
    assert found.chain(0, 3)[0] == 0
    assert found.chain(0, 3)[-1] == 3
    graph = q.induced_graph(query, dx.neighbours(one, "bounded"))
    assert sorted(graph.edges) == [(0, 1), (1, 2), (2, 3)]


def test_a_sum_is_not_uniform_under_hamming_but_under_its_induced_graph() -> None:
    one = dx.Universe.databases([0, 2, 3], 2)
    query = q.total(one)
    found = q.sensitivity(query, one.space("hamming"), query.space())
    assert found.delta == 3.0
    assert not found.uniform
    assert found.apart is not None
    assert found.chain(*found.apart) == []
    induced = dx.MetricSpace.from_graph(q.induced_graph(query, one.space("hamming")))
    again = q.sensitivity(query, one.space("hamming"), induced)
    assert (again.delta, again.uniform) == (1.0, True)


@pytest.mark.parametrize(("records", "largest"), [(2, 2), (3, 2), (2, 3)])
@pytest.mark.parametrize("step", [1.0, 0.5])
def test_published_sensitivities(records: int, largest: int, step: float) -> None:
    """CABP13 Props 4, 5 and Thms 11 to 13, but for the average, which is as sensitive as printed, not uniformly."""
    one = universe(records, largest, step)
    for name, query in standard(one).items():
        expected = {"hamming": step * largest, "normalised_manhattan": step * largest, "manhattan": 1.0}
        for metric, delta in expected.items():
            found = q.sensitivity(query, one.space(metric), query.space())
            assert found.delta == pytest.approx(delta)
            if metric != "hamming":
                assert found.uniform == (name != "average")
        if name != "sum":
            found = q.sensitivity(query, one.space("chebyshev"), query.space())
            assert found.delta == pytest.approx(1.0)
            assert found.uniform == (name != "average")


def test_the_widest_pair_and_chains_are_witnesses() -> None:
    query, space = q.total(SMALL), SMALL.space("manhattan")
    found = q.sensitivity(query, space, query.space())
    first, second = (SMALL.places[secret] for secret in found.widest)
    apart = abs(answers(query)[found.widest[0]] - answers(query)[found.widest[1]])
    assert apart == found.delta * space.distances[first, second]
    chain = found.chain(0.0, 4.0)
    assert (chain[0], chain[-1]) == (0.0, 4.0)
    assert sum(abs(a - b) for a, b in itertools.pairwise(chain)) == 4.0
    nearest = {
        (a, b): min(
            space.distances[SMALL.places[x], SMALL.places[y]]
            for x, fx in answers(query).items()
            for y, fy in answers(query).items()
            if (fx, fy) == (a, b)
        )
        for a, b in itertools.pairwise(chain)
    }
    assert all(abs(a - b) == found.delta * distance for (a, b), distance in nearest.items())


def test_a_mechanism_for_answers_is_private_for_secrets() -> None:
    """Fact 5: H is d_Y-private, so H∘f is Δ d_X-private; Thm 6: no less where the query is uniformly sensitive."""
    query, space = q.total(SMALL), SMALL.space("manhattan")
    found = q.sensitivity(query, space, query.space())
    noisy = dx.classic.geometric(query.space(), epsilon=0.7)
    composed = noisy.matrix[query.index]
    assert violations(composed, space.distances, found.delta * 0.7) == []
    assert violations(composed, space.distances, 0.95 * found.delta * 0.7) != []


def test_the_converse_of_fact_5_fails_without_uniformity() -> None:
    """CABP13 Fig 1: y1 and y3 are 1 apart, their secrets 2; H∘f is ln 2-private, H is not."""
    chain = np.array([[3 / 4, 1 / 4], [1 / 2, 1 / 2], [1 / 4, 3 / 4]])
    line = dx.line(3)
    assert violations(chain, line.distances, 0.69315) == []
    assert violations(chain, 1 - np.eye(3), 0.69315) != []


def test_infinite_distances() -> None:
    """Secrets that may be told apart put no limit on the answers; answers infinitely apart need such secrets."""
    one = dx.Universe.databases([0, 1], 2)
    query = q.total(one)
    found = q.sensitivity(query, dx.neighbours(one, "individual", at=(0, 0)), query.space())
    assert found.delta == 1.0
    apart = dx.MetricSpace.from_distances(np.where(np.eye(3), 0, np.inf))
    assert q.sensitivity(query, one.space("hamming"), apart).delta == np.inf
    untied = dx.MetricSpace.from_distances(np.where(np.eye(4), 0, np.inf))
    assert q.sensitivity(query, untied, apart).delta == 0.0


@pytest.mark.parametrize("step", [1.0, 0.5, 3.0])
@pytest.mark.parametrize(("records", "largest"), [(2, 2), (3, 2), (2, 3)])
def test_family_c(records: int, largest: int, step: float) -> None:
    """CABP13 Prop 5; what is not in it is caught both ways."""
    one = universe(records, largest, step)
    for query in standard(one).values():
        found = q.family_c(query)
        assert found.member
        assert found.attained is not None
        assert abs(answers(query)[found.attained[0]] - answers(query)[found.attained[1]]) == step * largest
    doubled = q.Query.of(one, lambda x: 2 * sum(v for v in x if v is not None))
    assert q.family_c(doubled).broken is not None
    halved = q.Query.of(one, lambda x: sum(v for v in x if v is not None) / 2)
    assert (q.family_c(halved).broken, q.family_c(halved).attained) == (None, None)


MONOTONE = {
    "distance": lambda y, z: abs(y - z),
    "squared": lambda y, z: (y - z) ** 2,
    "binary": lambda y, z: float(y != z),
}


@pytest.mark.parametrize("loss", list(MONOTONE))
@pytest.mark.parametrize(
    ("name", "metric"), [("sum", "manhattan"), ("maximum", "manhattan"), ("minimum", "chebyshev")]
)
def test_the_geometric_mechanism_is_optimal_where_the_theorem_says_so(name: str, metric: str, loss: str) -> None:
    """CABP13 Thms 10, 12 and 13: against the optimum over all H with H∘f private, for several priors."""
    query, secrets = standard(SMALL)[name], SMALL.space(metric)
    assert q.optimality(query, secrets).status == "optimal"
    space = query.induced(secrets)
    losses = np.array([[MONOTONE[loss](y, z) for z in query.answers] for y in query.answers])
    noisy = dx.classic.geometric(query.space(), epsilon=0.6).matrix
    rng = np.random.default_rng(7)
    for _ in range(4):
        weights = rng.random(len(space)) ** 3
        problem = dx.Problem(space, epsilon=0.6, prior=dx.Prior.from_weights(space, weights), loss=losses)
        remapped = (problem.prior.probabilities[:, None] * losses).T @ noisy
        assert remapped.min(axis=0).sum() == pytest.approx(dx.solve(problem).certificate.value, abs=1e-7)


def test_no_mechanism_is_optimal_for_a_sum_under_hamming() -> None:
    """CABP13 Thm 9: the geometric mechanism with remap loses to the optimum of some prior."""
    query, secrets = q.total(SMALL), SMALL.space("hamming")
    assert q.optimality(query, secrets).status == "none"
    space = query.induced(secrets)
    losses = np.abs(np.subtract.outer(query.answers, query.answers))
    noisy = dx.classic.geometric(query.space(), epsilon=0.5 / q.sensitivity(query, secrets, query.space()).delta)
    problem = dx.Problem(space, epsilon=0.5, prior=dx.Prior.uniform(space), loss=losses)
    remapped = (losses.T @ noisy.matrix / len(space)).min(axis=0).sum()
    assert remapped > dx.solve(problem).certificate.value + 1e-3


def test_counts_are_optimal_under_hamming_and_averages_unknown() -> None:
    """CABP13 Thm 8; the average is not uniformly sensitive, so that Thm 10 says nothing."""
    one = dx.Universe.databases([0, 1, 2], 3)
    assert q.optimality(q.count(one, bool), one.space("hamming")).status == "optimal"
    assert q.optimality(q.average(SMALL), SMALL.space("manhattan")).status == "unknown"


def test_a_star_is_no_path() -> None:
    """Even databases have one answer, odd ones several: a tree, and still none is optimal (CABP13 Thm 9)."""
    one = dx.Universe.databases([0, 1], 3)
    query = q.Query.of(one, lambda x: 0 if sum(x) % 2 == 0 else 1 + max(i for i in range(3) if x[i]))
    assert sorted(dict(q.induced_graph(query, one.space("hamming")).degree).values()) == [1, 1, 1, 3]
    assert q.optimality(query, one.space("hamming")).status == "none"


def test_uneven_answers_are_unknown() -> None:
    """Thm 10 is about q[0..k]."""
    one = dx.Universe.databases([0, 1, 3], 1)
    found = q.optimality(q.total(one), one.space("manhattan"))
    assert (found.status, found.reason) == ("unknown", "the answers are not evenly spaced")


def test_a_chain_that_is_not_tight_is_no_chain() -> None:
    """Two expansive steps of 1 lead where d_Y is 1.5."""
    one = dx.Universe.databases([0, 1, 2], 1)
    query = q.Query.of(one, lambda x: x[0])
    answers = dx.MetricSpace.from_distances([[0, 1, 1.5], [1, 0, 1], [1.5, 1, 0]])
    found = q.sensitivity(query, one.space("manhattan"), answers)
    assert (found.delta, found.apart) == (1.0, (0, 2))


def test_induced_distances_take_detours() -> None:
    one = dx.Universe.databases(["a", "b1", "b2", "c"], 1)
    secrets = dx.MetricSpace.from_distances([[0, 1, 5, 5], [1, 0, 4, 4], [5, 4, 0, 1], [5, 4, 1, 0]])
    query = q.Query.of(one, lambda x: x[0][0])
    assert query.induced(secrets).distances.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


def test_induced_distances_are_what_the_secrets_ask_of_answers() -> None:
    one = dx.Universe.databases([0, 1], 2)
    query = q.total(one)
    induced = query.induced(dx.neighbours(one, "one_sided", sensitive=[1]))
    assert induced.distances.tolist() == [[0, np.inf, np.inf], [1, 0, np.inf], [2, 1, 0]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: q.average(dx.Universe.databases([0, 1], 2, absent=True)), "^query: "),
        (lambda: q.percentile(SMALL, 101), "^percentile: "),
        (lambda: q.total(dx.Universe.databases("ab", 2)), "^query: "),
        (lambda: q.sensitivity(q.total(SMALL), dx.line(3), q.total(SMALL).space()), "^secrets: "),
        (lambda: q.sensitivity(q.total(SMALL), SMALL.space("hamming"), dx.line(3)), "^answers: "),
    ],
)
def test_bad_input(make, message: str) -> None:
    with pytest.raises(dx.SpecError, match=message):
        make()


def test_the_nearest_secrets_are_found_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether or not the secrets with one answer fit into one block, on implicit spaces and given ones."""
    for one in (universe(2, 2), dx.Universe.databases([0, 1, 2], 3)):
        for query in (
            q.Query.of(one, lambda x, places=one.places: places[x] % 3),
            q.identity(one),
            q.Query.of(one, lambda x: 0),
        ):
            space = one.space("manhattan")
            expected = np.full((len(query.answers), len(query.answers)), np.inf)
            for (x, y), (other, z) in itertools.product(enumerate(query.index), repeat=2):
                expected[y, z] = min(expected[y, z], space.distances[x, other])
            for cells in (1, 100, 4_000_000):
                monkeypatch.setattr("dxopt.spaces.distances.BLOCK_CELLS", cells)
                assert np.array_equal(query.nearest(one.space("manhattan")), expected)


@pytest.mark.parametrize("values", [[0, True], [0.0, float("inf")], ["1", "2"]])
def test_what_is_no_number_is_refused(values: list) -> None:
    one = dx.Universe.databases([2, *values[1:]], 2)
    for make in (q.total, q.average, lambda universe: q.percentile(universe, 50)):
        with pytest.raises(dx.SpecError, match=r"^query: "):
            make(one)
