"""H∘f: its rows, draws and proven level, and what is lost by looking at the answer alone (CABP13 §4)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from tests.judges.exact import violations
from tests.judges.oracle import optimum

q = dx.queries
SMALL = dx.Universe.databases([0, 1, 2], 2, absent=True, empty=False)
UNIFORM = [
    ("sum", "manhattan"),
    ("sum", "normalised_manhattan"),
    ("minimum", "chebyshev"),
    ("median", "manhattan"),
    ("maximum", "normalised_manhattan"),
]


def tight(space: dx.MetricSpace, epsilon: float) -> dx.Mechanism:
    """Proven at ε, and at no less: the truncated geometric mechanism."""
    return dx.classic.geometric(space, epsilon=epsilon)


def claiming(space: dx.MetricSpace, matrix: object, epsilon: float, delta: float = 0.0) -> dx.Mechanism:
    """A matrix that is taken to be proven."""
    rows = np.array(matrix, dtype=float)
    reports = dx.Reports(tuple(f"z{column}" for column in range(rows.shape[1])))
    return dx.Mechanism.from_matrix(space, rows, reports, privacy=dx.Privacy(epsilon, "by assumption", delta))


@pytest.mark.parametrize(("name", "metric"), [*UNIFORM, ("sum", "hamming"), ("average", "manhattan")])
def test_the_level_is_proven_and_no_lower_than_it_must_be(name: str, metric: str) -> None:
    """CABP13 Fact 5, in exact arithmetic over all pairs of databases; a tight H leaves no slack."""
    query, secrets = q.QUERIES[name](SMALL), SMALL.space(metric)
    lifted = dx.lift(query, tight(query.space(), 0.7), secrets)
    assert lifted.privacy is not None
    delta = q.sensitivity(query, secrets, query.space()).delta
    assert lifted.privacy.epsilon == pytest.approx(0.7 * delta, rel=1e-12)
    assert violations(lifted.matrix, secrets.distances, lifted.privacy.epsilon) == []
    assert violations(lifted.matrix, secrets.distances, 0.99 * lifted.privacy.epsilon) != []


@pytest.mark.parametrize(("name", "metric"), UNIFORM)
def test_where_a_query_is_uniformly_sensitive_nothing_is_lost(name: str, metric: str) -> None:
    """CABP13 Thm 6: what is not d_Y-private is not Δ·d_X-private for the secrets, wherever it goes wrong."""
    query, secrets = q.QUERIES[name](SMALL), SMALL.space(metric)
    answers = query.space()
    found = q.sensitivity(query, secrets, answers)
    assert found.uniform
    rng = np.random.default_rng(5)
    for _ in range(20):
        rows = rng.random((len(answers), 3)) + 0.3
        rows /= rows.sum(axis=1, keepdims=True)
        ratios = np.log((rows[:, None, :] / rows[None, :, :]).max(axis=2))
        least = float(np.max(ratios / np.where(answers.distances > 0, answers.distances, np.inf)))
        channel = dx.lift(query, claiming(answers, rows, least * (1 + 1e-12)), secrets).matrix
        assert violations(channel, secrets.distances, found.delta * least * (1 + 1e-9)) == []
        assert violations(channel, secrets.distances, found.delta * least * (1 - 1e-9)) != []


def test_the_converse_of_fact_5_fails_without_uniformity() -> None:
    """CABP13 Fig 1: f is 1-sensitive onto answers 1 apart, H∘f is ln 2-private, H is not."""
    one = dx.Universe.databases([0, 1], 2)
    query, secrets = q.total(one), one.space("hamming")
    alike = dx.MetricSpace.from_distances(1 - np.eye(3))
    found = q.sensitivity(query, secrets, alike)
    assert (found.delta, found.apart) == (1.0, (0.0, 2.0))
    rows = [[3 / 4, 1 / 4], [1 / 2, 1 / 2], [1 / 4, 3 / 4]]
    reports = dx.Reports(("z1", "z2"))
    lifted = dx.lift(query, dx.Mechanism.from_matrix(alike, rows, reports), secrets)
    assert lifted.privacy is None
    assert violations(lifted.matrix, secrets.distances, 0.69315) == []
    assert violations(np.array(rows), alike.distances, 0.69315) == [(0, 2, 0), (2, 0, 1)]


@pytest.mark.parametrize("metric", ["hamming", "normalised_manhattan", "manhattan", "chebyshev"])
@pytest.mark.parametrize("name", list(q.QUERIES))
def test_on_the_induced_space_the_level_is_the_same(name: str, metric: str) -> None:
    query, secrets = q.QUERIES[name](SMALL), SMALL.space(metric)
    noisy = dx.classic.exponential(query.induced(secrets), epsilon=1.3)
    lifted = dx.lift(query, noisy, secrets)
    assert lifted.privacy is not None
    assert noisy.privacy is not None
    assert lifted.privacy.epsilon == noisy.privacy.epsilon
    assert violations(lifted.matrix, secrets.distances, lifted.privacy.epsilon) == []


def test_levels_are_rounded_up() -> None:
    """ε·d_Y ≤ ε'·d_X holds for the doubles as they are, in rationals, and by no more than a few units too much."""
    one = dx.Universe.databases([0, 1, 2, 3], 1)
    query = q.total(one)
    rng = np.random.default_rng(11)
    for trial in range(200):
        numbers, others = rng.random(4), rng.random(4) * 10.0 ** rng.integers(-3, 4)
        secrets, answers = (dx.MetricSpace.from_points(points) for points in (numbers, others))
        if trial % 4 == 0:  # the two differ by one unit in the last place
            given = np.where(np.eye(4), 0.0, 1.0)
            secrets = dx.MetricSpace.from_distances(given)
            answers = dx.MetricSpace.from_distances(np.nextafter(given, np.where(np.eye(4), 0.0, 2.0)))
        epsilon = float(rng.random()) + 0.1
        lifted = dx.lift(query, claiming(answers, np.full((4, 4), 0.25), epsilon), secrets)
        assert lifted.privacy is not None
        needed = max(
            Fraction(epsilon) * Fraction(float(answers.distances[y, z])) / Fraction(float(secrets.distances[y, z]))
            for y, z in np.argwhere(~np.eye(4, dtype=bool))
        )
        assert needed <= Fraction(lifted.privacy.epsilon) <= needed * (1 + Fraction(1, 2**48))


def test_levels_of_distances_too_small_for_doubles() -> None:
    one = dx.Universe.databases([0, 1], 1)
    query = q.total(one)
    answers, secrets = (dx.MetricSpace.from_distances([[0, d], [d, 0]]) for d in (5e-324, 3.0))
    lifted = dx.lift(query, claiming(answers, [[0.5, 0.5]] * 2, 0.3), secrets)
    assert lifted.privacy is not None
    assert Fraction(lifted.privacy.epsilon) * 3 >= Fraction(0.3) * Fraction(5e-324)


def excess(matrix: np.ndarray, distances: np.ndarray, epsilon: float) -> float:
    """The largest Σ_z max(0, K[x, z] - e^{εd(x, x')} K[x', z]) of all pairs."""
    return max(
        float(np.maximum(matrix[x] - np.exp(epsilon * distances[x, other]) * matrix[other], 0).sum())
        for x in range(len(matrix))
        for other in range(len(matrix))
        if np.isfinite(distances[x, other])
    )


def test_delta_is_measured_for_all_pairs_of_secrets() -> None:
    """H is (ln 2, 0.1)-private for answers that are neighbours; further apart it takes more."""
    one = dx.Universe.databases([0, 1], 3)
    query, secrets = q.total(one), one.space("hamming")
    rows = np.array([[0.7, 0.3], [0.3, 0.7], [0.1, 0.9], [0.0, 1.0]])
    neighbours = np.where(query.space().distances <= 1, query.space().distances, np.inf)
    claimed = excess(rows, neighbours, np.log(2))
    lifted = dx.lift(query, claiming(query.space(), rows, float(np.log(2)), claimed), secrets)
    assert lifted.privacy is not None
    needed = excess(lifted.matrix, secrets.distances, lifted.privacy.epsilon)
    assert (claimed, needed) == pytest.approx((0.1, 0.7))
    assert needed <= lifted.privacy.delta <= needed * (1 + 1e-9)


def test_no_level_for_answers_infinitely_further_apart() -> None:
    one = dx.Universe.databases([0, 1], 1)
    query = q.total(one)
    alike = dx.MetricSpace.from_distances([[0, 0], [0, 0]])
    noisy = claiming(query.space(), [[0.6, 0.4], [0.4, 0.6]], 1.0)
    with pytest.raises(dx.UnsupportedError, match=r"^secrets: "):
        dx.lift(query, noisy, alike)
    free = claiming(dx.MetricSpace.from_distances([[0, np.inf], [np.inf, 0]]), np.eye(2), 1.0)
    with pytest.raises(dx.UnsupportedError, match="0 and 1 are 1 apart, their answers inf"):
        dx.lift(query, free, one.space("hamming"))
    unproven = dx.Mechanism.from_matrix(query.space(), np.eye(2))
    assert dx.lift(query, unproven, alike).privacy is None


def test_secrets_that_may_be_told_apart_bind_nothing() -> None:
    """The answers of the one database that is protected, and of its neighbours, are all that count."""
    query, secrets = q.total(SMALL), dx.neighbours(SMALL, "individual", at=(0, 0))
    lifted = dx.lift(query, tight(query.space(), 0.5), secrets)
    assert lifted.privacy is not None
    assert lifted.privacy.epsilon == pytest.approx(1.0)
    assert violations(lifted.matrix, secrets.distances, lifted.privacy.epsilon) == []


def test_rows_and_draws_are_those_of_the_answers() -> None:
    """1,728 databases, no matrix: an implicit H stays implicit."""
    one = dx.Universe.databases(range(12), 3)
    query, secrets = q.total(one), one.space("manhattan")
    noisy = dx.tight_constraints(query.space(), 0.4)
    lifted = dx.lift(query, noisy, secrets)
    secret = one.places[(3, 0, 11)]
    assert lifted.row(index=secret).tolist() == noisy.row(index=14).tolist()
    assert lifted.row("(3, 0, 11)").tolist() == noisy.row(index=14).tolist()
    places = np.array([5, 0, 1727, 5])
    drawn = lifted.sample(index=places, size=50, rng=np.random.default_rng(2))
    assert drawn.tolist() == noisy.sample(index=query.index[places], size=50, rng=np.random.default_rng(2)).tolist()
    prior = dx.Prior.from_weights(secrets, 1.0 + np.arange(len(one)) % 7)
    belief = dx.Prior.from_weights(noisy.space, np.bincount(query.index, prior.probabilities))
    lost = dx.evaluate.expected_loss(lifted, prior, dx.lift_loss(query))
    assert lost == pytest.approx(dx.evaluate.expected_loss(noisy, belief, "distance"), rel=1e-12)
    assert lifted.privacy is not None
    assert lifted.privacy.epsilon == pytest.approx(0.4)
    assert not {"matrix"} & {*vars(lifted), *vars(noisy)}
    assert np.array_equal(lifted.matrix, noisy.matrix[query.index])


def test_reports_are_not_the_secrets() -> None:
    query, secrets = q.total(SMALL), SMALL.space("manhattan")
    lifted = dx.lift(query, tight(query.space(), 0.7), secrets)
    assert (len(lifted.reports), lifted.reports.secrets) == (5, False)
    assert list(lifted.reports.labels) == list(query.space().labels)
    with pytest.raises(dx.SpecError, match="binary needs the secrets"):
        dx.evaluate.worst_loss(lifted, "binary")
    assert dx.evaluate.worst_loss(lifted, dx.lift_loss(query, "binary")) < 1


@pytest.mark.parametrize("metric", ["hamming", "manhattan", "chebyshev"])
@pytest.mark.parametrize("name", ["sum", "average", "median"])
def test_the_best_for_answers_lifted_is_the_best_oblivious_one(name: str, metric: str) -> None:
    """Against a linear program over H with one constraint for each pair of databases; none is better than the best of
    all, which may tell databases with one answer apart (and does)."""
    query, secrets = q.QUERIES[name](SMALL), SMALL.space(metric)
    prior = dx.Prior.from_weights(secrets, np.random.default_rng(3).random(len(SMALL)) ** 2)
    answers = query.induced(secrets)
    belief = dx.Prior.from_weights(answers, np.bincount(query.index, prior.probabilities))
    losses = np.abs(np.subtract.outer(query.answers, query.answers))
    best = dx.solve(dx.Problem(answers, epsilon=1.0, prior=belief, loss=losses))
    lifted = dx.lift(query, best.mechanism, secrets)
    assert np.array_equal(lifted.matrix, best.mechanism.matrix[query.index])
    loss = dx.lift_loss(query)
    value = dx.evaluate.expected_loss(lifted, prior, loss)
    nearest = np.full((len(answers), len(answers)), np.inf)
    for x, y in enumerate(query.index):
        for other, z in enumerate(query.index):
            nearest[y, z] = min(nearest[y, z], secrets.distances[x, other])
    assert value == pytest.approx(optimum(nearest, 1.0, belief.probabilities, losses), abs=1e-7)
    assert lifted.privacy is not None
    assert lifted.privacy.epsilon <= 1.0
    assert violations(lifted.matrix, secrets.distances, 1.0) == []
    free = dx.solve(dx.Problem(secrets, epsilon=1.0, prior=prior, loss=loss))
    assert free.certificate.value <= value + 1e-9
    if (name, metric) == ("sum", "manhattan"):
        assert free.certificate.value < value - 0.03


def test_losses_of_answers() -> None:
    query = q.total(SMALL)
    assert np.array_equal(
        dx.lift_loss(query).matrix, np.abs(np.subtract.outer(query.answers, query.answers))[query.index]
    )
    table = np.arange(10.0).reshape(5, 2)
    lifted = dx.lift_loss(query, table)
    assert np.array_equal(lifted.matrix, table[query.index])
    assert list(lifted.reports.labels) == ["0", "1"]
    induced = query.induced(SMALL.space("hamming"))
    assert np.array_equal(dx.lift_loss(query, "squared", induced).matrix, (induced.distances**2)[query.index])
    assert not lifted.by_distance
    with pytest.raises(ValueError, match="read-only"):
        lifted.matrix[0, 0] = 1.0


def test_bad_input(tmp_path) -> None:
    query, secrets = q.total(SMALL), SMALL.space("hamming")
    noisy = tight(query.space(), 1.0)
    with pytest.raises(dx.SpecError, match=r"^mechanism: "):
        dx.lift(query, tight(dx.line(3), 1.0), secrets)
    with pytest.raises(dx.SpecError, match=r"^secrets: "):
        dx.lift(query, noisy, dx.line(7))
    with pytest.raises(dx.SpecError, match=r"^loss: "):
        dx.lift_loss(query, np.ones((8, 5)))
    with pytest.raises(dx.SpecError, match=r"^loss: "):
        dx.lift_loss(query, dx.Loss.of("distance", dx.line(3)))
    with pytest.raises(dx.SpecError, match=r"^metric: "):
        dx.lift_loss(q.identity(SMALL))
    with pytest.raises(dx.UnsupportedError, match="of sum cannot be saved; save its matrix"):
        dx.lift(query, noisy, secrets).save(tmp_path / "lifted.npz")
