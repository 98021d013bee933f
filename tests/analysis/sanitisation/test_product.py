"""Sanitisations by records are as private as one record is, whatever is computed from them (HLM14 §4, §5)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dxopt as dx

s = dx.sanitisation
VALUES = ("red", "green", "blue")
Matrix = np.ndarray


def colours(size: int = 3) -> dx.MetricSpace:
    return dx.MetricSpace.from_points(VALUES[:size], "discrete", labels=VALUES[:size])


def worst_excess(matrix: Matrix, epsilon: float, pairs) -> float:
    """max over the pairs and over all sets A of P(X_x in A) - e^ε P(X_x' in A), set by set."""
    sets = np.array(list(itertools.product([0.0, 1.0], repeat=matrix.shape[1])))
    return max(float((sets @ (matrix[x] - np.exp(epsilon) * matrix[other])).max()) for x, other in pairs)


def by_hand(factor: Matrix, records: int) -> tuple[Matrix, list[tuple[int, int]]]:
    """Equation 7 entry by entry, and the ordered pairs of databases that differ in one record."""
    databases = list(itertools.product(range(factor.shape[0]), repeat=records))
    outcomes = list(itertools.product(range(factor.shape[1]), repeat=records))
    matrix = [[np.prod([factor[v, z] for v, z in zip(d, o, strict=True)]) for o in outcomes] for d in databases]
    near = [
        (i, j)
        for (i, first), (j, second) in itertools.permutations(enumerate(databases), 2)
        if sum(v != w for v, w in zip(first, second, strict=True)) == 1
    ]
    return np.array(matrix), near


def factor_of(rng: np.random.Generator, values: int, reports: int) -> dx.Mechanism:
    matrix = rng.dirichlet(np.ones(reports), size=values)
    kinds = dx.Reports(tuple("xyz"[:reports])) if reports != values else None
    return dx.Mechanism.from_matrix(colours(values), matrix, kinds)


@pytest.mark.parametrize(("values", "reports", "records"), [(2, 2, 2), (3, 3, 2), (2, 3, 2), (2, 2, 3), (3, 2, 3)])
@pytest.mark.parametrize("delta", [0.0, 0.05, 0.3])
def test_records_keep_the_privacy_of_one(values: int, reports: int, records: int, delta: float) -> None:
    """HLM14 Thm 5 and Lemma 3, over all sets of outcomes: the least δ of neighbours is that of two values."""
    factor = factor_of(np.random.default_rng(values + 10 * reports + 100 * records), values, reports)
    sanitisation = s.product_sanitisation(factor, records, delta=delta)
    proven = sanitisation.privacy.epsilon
    matrix, near = by_hand(factor.matrix, records)
    two_values = list(itertools.permutations(range(values), 2))
    for epsilon in (proven, proven / 2, 0.0):
        alone = worst_excess(factor.matrix, epsilon, two_values)
        assert worst_excess(matrix, epsilon, near) == pytest.approx(alone, abs=1e-12)
    assert worst_excess(matrix, proven, near) <= delta + 1e-14
    if proven:
        assert worst_excess(matrix, 0.99 * proven, near) > delta

    explicit = sanitisation.as_mechanism(dx.Universe.databases(VALUES[:values], records))
    assert explicit.matrix == pytest.approx(matrix, abs=1e-15)
    assert explicit.privacy is not None
    assert explicit.privacy.epsilon == pytest.approx(proven, rel=1e-9)
    assert explicit.privacy.delta == delta
    assert explicit.reports.secrets == (reports == values)
    assert (
        explicit.reports.labels[1]
        == f"({', '.join(factor.reports.labels[int(i == records - 1)] for i in range(records))})"
    )


@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_every_query_is_as_private(delta: float) -> None:
    """HLM14 Thm 4 and Corollary 1, by brute force; the identity query loses nothing."""
    universe = dx.Universe.databases(VALUES, 2)
    factor = dx.classic.randomised_response(colours(), epsilon=1.0, delta=delta)
    explicit = s.product_sanitisation(factor, 2).as_mechanism(universe)
    near = np.argwhere(universe.space("hamming").distances == 1)
    queries = [
        dx.queries.count(universe, lambda value: value == "red"),
        dx.queries.Query.of(universe, lambda database: database[0] == database[1]),
        dx.queries.identity(universe),
    ]
    found = []
    for query in queries:
        answers = dx.Reports(tuple(map(str, query.answers)))
        found.append(worst_excess(explicit.remap(query.index, answers).matrix, 1.0, near))
    assert max(found) <= delta + 1e-12
    assert found[-1] == pytest.approx(delta, abs=1e-12)


def test_answers_follow_the_sanitised_database() -> None:
    universe = dx.Universe.databases(VALUES, 3)
    factor = dx.classic.randomised_response(colours(), epsilon=1.0)
    sanitisation = s.product_sanitisation(factor, 3)
    database = ["red", "blue", "red"]
    answers = sanitisation.answer(
        lambda sanitised: int((sanitised == 0).sum()), database, 20_000, np.random.default_rng(5)
    )
    query = dx.queries.count(universe, lambda value: value == "red")
    row = sanitisation.as_mechanism(universe).row("(red, blue, red)")
    expected = np.bincount(query.index, row, minlength=4)
    assert np.bincount(answers, minlength=4) / 20_000 == pytest.approx(expected, abs=0.015)
    assert len(answers) == 20_000


def test_a_hundred_thousand_records() -> None:
    factor = dx.classic.randomised_response(colours(), epsilon=1.0, delta=0.1)
    sanitisation = s.product_sanitisation(factor, 100_000)
    rng = np.random.default_rng(1)
    database = rng.integers(0, 3, 100_000)
    sanitised = sanitisation.sample(database, size=2, rng=rng)
    assert sanitised.shape == (2, 100_000)
    assert not np.array_equal(sanitised[0], sanitised[1])
    for value in range(3):
        frequencies = np.bincount(sanitised[:, database == value].ravel(), minlength=3) / (
            2 * (database == value).sum()
        )
        assert frequencies == pytest.approx(factor.matrix[value], abs=0.01)
    kept = int((sanitised[0] == database).sum())
    stay = factor.matrix[0, 0]
    other = factor.matrix[0, 1]
    likely = kept * np.log(stay) + (100_000 - kept) * np.log(other)
    assert sanitisation.log_probability(database, sanitised[0]) == pytest.approx(likely)
    assert sanitisation.probability(database, sanitised[0]) == 0.0
    uniform = dx.Prior.uniform(colours())
    assert sanitisation.record_error(uniform) == pytest.approx(2 * other)
    assert sanitisation.expected_error(uniform) == pytest.approx(2e5 * other)


def test_probabilities() -> None:
    mechanism = dx.Mechanism.from_matrix(colours(2), [[0.75, 0.25], [0.5, 0.5]])
    sanitisation = s.product_sanitisation(mechanism, 3)
    assert sanitisation.probability(["red", "green", "red"], [0, 1, 1]) == pytest.approx(0.75 * 0.5 * 0.25)
    assert sanitisation.probability(np.array([0, 1, 0]), ["red", "green", "green"]) == pytest.approx(
        0.75 * 0.5 * 0.25
    )
    certain = dx.Mechanism.from_matrix(colours(2), [[1.0, 0.0], [0.9, 0.1]])
    never = s.product_sanitisation(certain, 2, delta=0.5)
    assert never.probability([0, 0], [0, 1]) == 0.0
    assert never.log_probability([0, 0], [0, 1]) == -np.inf


def test_a_proven_factor_is_taken_at_its_word() -> None:
    for delta in (0.0, 0.1):
        factor = dx.classic.randomised_response(colours(), epsilon=1.3, delta=delta)
        sanitisation = s.product_sanitisation(factor, 4)
        assert factor.privacy is not None
        assert sanitisation.privacy.epsilon == factor.privacy.epsilon
        assert sanitisation.privacy.delta == factor.privacy.delta <= delta
        assert sanitisation.one_record == factor.privacy.epsilon
        assert factor.privacy.how in sanitisation.privacy.how
    relaxed = s.product_sanitisation(dx.classic.randomised_response(colours(), epsilon=1.3), 4, delta=0.1)
    assert relaxed.privacy.epsilon < 1.2
    assert relaxed.privacy.delta == 0.1


def test_a_proof_of_adjacent_pairs_alone_is_not_enough() -> None:
    """δ does not add up along chains: 0 and 2 are told apart by more than 0 and 1 at the same ε and δ."""
    space = dx.line(3)
    matrix = np.array([[0.7, 0.2, 0.1], [0.4, 0.2, 0.4], [0.1, 0.2, 0.7]])
    steps = [(0, 1), (1, 0), (1, 2), (2, 1)]
    claimed = dx.Privacy(0.1, "neighbours only", worst_excess(matrix, 0.1, steps) + 1e-12, "adjacent")
    factor = dx.Mechanism.from_matrix(space, matrix, privacy=claimed)
    measured = s.product_sanitisation(factor, 2).privacy
    assert measured.epsilon > 0.2
    assert worst_excess(matrix, 2 * measured.epsilon, [(0, 2), (2, 0)]) <= measured.delta + 1e-12


def test_under_a_metric_a_record_costs_its_distance() -> None:
    factor = dx.classic.geometric(dx.line(3), epsilon=0.6)
    sanitisation = s.product_sanitisation(factor, 2)
    assert sanitisation.privacy.epsilon == pytest.approx(0.6)
    assert sanitisation.one_record == pytest.approx(1.2)
    explicit = sanitisation.as_mechanism(dx.Universe.databases([0, 1, 2], 2))
    assert explicit.privacy is not None
    assert explicit.privacy.epsilon == pytest.approx(1.2)


def test_a_value_that_is_infinitely_far() -> None:
    space = dx.MetricSpace.from_distances([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]], labels=VALUES)
    factor = dx.classic.randomised_response(space, epsilon=1.0, delta=0.1)
    sanitisation = s.product_sanitisation(factor, 2)
    assert sanitisation.privacy.epsilon == 1.0
    assert sanitisation.one_record == np.inf


def good() -> s.ProductSanitisation:
    return s.product_sanitisation(dx.classic.randomised_response(colours(), epsilon=1.0), 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: s.product_sanitisation(good().factor, 0), "^records: "),
        (lambda: s.product_sanitisation(good().factor, 2, delta=1.5), "^delta: "),
        (lambda: s.product_sanitisation(dx.Mechanism.from_matrix(colours(2), np.eye(2)), 2, delta=0.5), "^factor: "),
        (lambda: good().sample([0, 1, 2]), "^database: "),
        (lambda: good().sample(np.array(7)), "^database: "),
        (lambda: good().sample([0, 3]), "^database: "),
        (lambda: good().sample([-1, 0]), "^database: "),
        (lambda: good().sample(["red", "pink"]), "^database: "),
        (lambda: good().sample([0, 1], size=-1), "^size: "),
        (lambda: good().probability([0, 1], [0, 5]), "^sanitised: "),
        (lambda: good().expected_error(dx.Prior.uniform(dx.line(2))), "^prior: "),
        (lambda: good().as_mechanism(dx.Universe.databases("abc", 2)), "^universe: "),
        (lambda: good().as_mechanism(dx.Universe.words(VALUES, 2)), "^universe: "),
        (lambda: good().as_mechanism(dx.Universe.databases(VALUES, 3)), "^universe: "),
        (lambda: good().as_mechanism(dx.Universe.databases(VALUES, 3).where(lambda d: d[0] == "red")), "^universe: "),
    ],
)
def test_bad_input(make, message: str) -> None:
    with pytest.raises(dx.SpecError, match=message):
        make()


def test_too_many_probabilities() -> None:
    factor = dx.classic.randomised_response(colours(2), epsilon=1.0)
    with pytest.raises(dx.UnsupportedError, match=r"^universe: "):
        s.product_sanitisation(factor, 14).as_mechanism(dx.Universe.databases(VALUES[:2], 14))


def test_it_says_what_it_is() -> None:
    mechanism = "<Mechanism randomised response mechanism: 3 secrets, 3 reports, ε 1>"
    assert repr(good()) == f"<ProductSanitisation of 2 records by {mechanism}>"
