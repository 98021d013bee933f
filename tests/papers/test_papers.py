"""Statements of CABP13, Cha13, HLM14 and ECP14 that no other test is about."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.batch import run
from dxopt.spaces import families
from tests.judges.exact import violations
from tests.material.few import few
from tests.material.files import PROBLEMS

EPSILON = 0.8
BITS = dx.Universe.databases([0, 1, 2], 2)


def test_hiding_shows_what_is_not_private() -> None:
    """CABP13 Thm 3, second half: Φ_1 is maximally tight, so that some prior shows a mechanism of twice the level."""
    space = BITS.space("manhattan")
    private, leaky = (dx.classic.exponential(space, epsilon=level) for level in (EPSILON, 4 * EPSILON))
    assert dx.evaluate.smallest_epsilon(leaky) > 1.5 * EPSILON
    excess = {private: [], leaky: []}
    for hiding in {tuple(hiding): hiding for hiding in families.substitutions(BITS)}.values():
        for moved in np.flatnonzero(hiding != np.arange(len(space))):
            weights = np.full(len(space), 1e-12)
            weights[[moved, hiding[moved]]] = 1e-6, 1.0
            prior = dx.Prior.from_weights(space, weights)
            for mechanism, found in excess.items():
                learned = dx.characterise.after_hiding(mechanism, prior, hiding, epsilon=EPSILON)
                found.append(learned.gain / learned.bound)
    assert max(excess[private]) <= 1 + 1e-9
    assert max(excess[leaky]) > 1.5


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_laplace_mechanisms_with_reports_beyond_the_secrets(epsilon: float) -> None:
    """CABP13 Def 6: λ(z) e^{-d(y, z)} with 3 more reports at either end is private; at the ends again, geometric."""
    secrets, power = dx.line(5), math.exp(-epsilon)
    scale = np.full(11, (1 - power) / (1 + power))
    scale[[0, -1]] = 1 / (1 + power)
    matrix = scale * power ** np.abs(np.arange(5)[:, None] - np.arange(-3, 8))
    reports = dx.Reports(tuple(map(str, range(-3, 8))))
    laplace = dx.Mechanism.from_matrix(secrets, matrix, reports)
    assert dx.evaluate.smallest_epsilon(laplace) == pytest.approx(epsilon, rel=1e-12)
    folded = laplace.remap(np.clip(np.arange(-3, 8), 0, 4), dx.Reports.of(secrets))
    assert folded.matrix == pytest.approx(dx.classic.geometric(secrets, epsilon=epsilon).matrix, abs=1e-11)


def test_one_more_report_where_the_secrets_are_not_enough() -> None:
    """CABP13 Def 6: a star has no tight-constraints mechanism below a level; a report far from its middle helps."""
    leaves, epsilon = 6, 1.0
    power = math.exp(-epsilon)
    apart = np.full((leaves + 1, leaves + 1), 2.0)
    apart[0, :] = apart[:, 0] = 1.0
    np.fill_diagonal(apart, 0.0)
    star = dx.MetricSpace.from_distances(apart)
    with pytest.raises(dx.NoTightMechanism):
        dx.tight_constraints(star, epsilon)
    to_reports = np.column_stack([apart[:, 1:], [2.0] + [1.0] * leaves])
    far = ((leaves - 1) * power - 1) / (power**2 * (leaves - 1) * (1 + power))
    scale = np.array([(1 - far * power**2) / (leaves * power)] * leaves + [far])
    reports = dx.Reports((*(f"leaf {leaf}" for leaf in range(leaves)), "opposite"))
    laplace = dx.Mechanism.from_matrix(star, scale * np.exp(-epsilon * to_reports), reports)
    assert dx.evaluate.smallest_epsilon(laplace) == pytest.approx(epsilon, rel=1e-12)


def test_earliest_registration() -> None:
    """CABP13 Example 1: the minimum of days from 0 to 5,000 is 5,000-sensitive under d_h, 1-sensitive under d_1."""
    universe = dx.Universe.databases(range(0, 5001, 500), 2, absent=True, empty=False)
    earliest = dx.queries.percentile(universe, 0)
    hamming, manhattan = (
        dx.queries.sensitivity(earliest, universe.space(metric), earliest.space())
        for metric in ("hamming", "manhattan")
    )
    assert (hamming.delta, manhattan.delta) == (5000, 1)
    assert manhattan.uniform
    near, far = (universe.places[database] for database in ((500, 1000), (None, 1000)))
    assert [earliest.answers[earliest.index[place]] for place in (near, far)] == [500, 1000]


@pytest.mark.parametrize(("radius", "expected"), [(5, 0.8781533), (5000, 0.0020978)])
def test_usefulness_of_the_two_metrics(radius: int, expected: float) -> None:
    """CABP13 Example 1: within 10 of 5,000 days at ε = 1, for (ε/5)d_1 and, all but useless, for εd_h."""
    mechanism = dx.tight_constraints(dx.line(5001), 1 / radius)
    power = math.exp(-1 / radius)
    found = dx.evaluate.usefulness(mechanism, 10)
    assert found[11:-11] == pytest.approx(1 - 2 * power**11 / (1 + power), abs=1e-7)
    assert found[0] == pytest.approx(1 - power**11 / (1 + power), abs=1e-7)
    assert found.min() == pytest.approx(expected, abs=1e-7)


def test_usefulness_against_the_level() -> None:
    """CABP13 Fig 3: the curve of (ε/5)d_1 is far above that of εd_h, here on 0 to 100; both rise with ε and α."""
    days = dx.line(101)
    for alpha in (2, 10):
        curves = [
            [
                dx.evaluate.usefulness(dx.classic.geometric(days, epsilon=level / scale), alpha).min()
                for level in (0.2, 0.5, 1.0, 2.0)
            ]
            for scale in (5, 100)
        ]
        assert (np.diff(curves, axis=1) > 0).all()
        assert (np.array(curves[0]) > 2 * np.array(curves[1])).all()
        assert (dx.evaluate.usefulness(dx.classic.geometric(days, epsilon=0.2), alpha + 1) > curves[0][2]).all()


def test_usefulness_of_other_losses() -> None:
    space = dx.line(3, step=0.1)
    mechanism = dx.Mechanism.from_matrix(space, [[0.5, 0.3, 0.2], [0.25, 0.5, 0.25], [0, 0, 1]])
    assert dx.evaluate.usefulness(mechanism, 0.2).tolist() == pytest.approx([1, 1, 1])
    assert dx.evaluate.usefulness(mechanism, 0.3 - 0.2).tolist() == pytest.approx([0.8, 1, 1])
    assert dx.evaluate.usefulness(mechanism, 0, "binary").tolist() == pytest.approx([0.5, 0.5, 1])
    assert dx.evaluate.usefulness(mechanism, -1, [[-2, 0, 0]] * 3).tolist() == pytest.approx([0.5, 0.25, 0])
    with pytest.raises(dx.SpecError, match=r"^alpha: "):
        dx.evaluate.usefulness(mechanism, math.nan)


def test_patients() -> None:
    """Cha13: two of the patients have epilepsy; the men among them are 50 years old and weigh 101 kg on average."""
    patients = [(65, 82, "M", "yes"), (35, 120, "M", "yes"), (40, 45, "F", "no")]
    universe = dx.Universe.databases(patients, 3)
    place = universe.places[tuple(patients)]
    count = dx.queries.count(universe, lambda patient: patient[3] == "yes")
    assert count.answers[count.index[place]] == 2
    for column, expected in ((0, 50), (1, 101)):
        men = [patient[column] if patient[2:] == ("M", "yes") else None for patient in patients]
        averages = dx.queries.average(dx.Universe.databases([men[0], men[1]], 3, absent=True, empty=False))
        assert averages.answers[averages.index[averages.universe.places[tuple(men)]]] == expected


def test_adjacent_databases() -> None:
    """Cha13: ⟨32, 41, 27⟩ and ⟨21, 41, 27⟩ are adjacent, and d_h(⟨32, 41, 27⟩, ⟨21, 52, 27⟩) = 2."""
    universe = dx.Universe.databases([21, 27, 32, 41, 52], 3)
    x, adjacent, other = (universe.places[one] for one in ((32, 41, 27), (21, 41, 27), (21, 52, 27)))
    for space in (dx.neighbours(universe, "bounded"), universe.space("hamming")):
        assert (space.distances[x, adjacent], space.distances[x, other]) == (1, 2)
        records = np.array(universe.secrets)
        assert np.array_equal(space.distances, (records[:, None] != records[None]).sum(axis=2))


@pytest.fixture(scope="module")
def city() -> tuple[dx.Problem, dx.Prior]:
    """A city as one adversary sees it, and what another one believes."""
    space = dx.grid((3, 3))
    known, other = (
        dx.Prior.from_weights(space, weights) for weights in ([1, 1, 1, 1, 9, 1, 1, 1, 9], range(9, 0, -1))
    )
    problem = dx.Problem(space, epsilon=None, prior=known, objective=dx.AdversaryError(0.6, "binary"))
    return problem, other


def test_the_largest_error_depends_on_the_prior(city: tuple[dx.Problem, dx.Prior]) -> None:
    """Cha13: what is best for one prior is not for another, at the same loss, and hides nothing from everyone."""
    problem, other = city
    mechanism = dx.solve(problem).mechanism
    spent = dx.evaluate.expected_loss(mechanism, other, "distance")
    best = dx.solve(problem.but(prior=other, objective=dx.AdversaryError(spent, "binary"))).certificate.value
    assert dx.evaluate.adversary_error(mechanism, other, "binary") < best - 1e-3
    assert dx.evaluate.smallest_epsilon(mechanism) == math.inf


def test_only_utility_depends_on_the_prior(city: tuple[dx.Problem, dx.Prior]) -> None:
    """Cha13: what is private for one prior is so for another, where it only loses more than need be."""
    problem, other = city
    private = problem.but(epsilon=1.0, objective="expected_loss")
    mechanism, best = dx.solve(private).mechanism, dx.solve(private.but(prior=other)).certificate
    assert dx.evaluate.smallest_epsilon(mechanism) == pytest.approx(1.0, rel=1e-12)
    assert dx.evaluate.expected_loss(mechanism, other, "distance") > best.value + 1e-3
    for seed in range(3):
        drawn = dx.Prior.from_weights(problem.space, np.random.default_rng(seed).dirichlet(np.ones(9)))
        made = dx.solve(private.but(prior=drawn))
        assert violations(made.mechanism.matrix, problem.space.distances, 1.0) == []
        assert dx.evaluate.expected_loss(mechanism, drawn, "distance") > made.certificate.value + 1e-4


@pytest.mark.parametrize("most", [2, 3])
def test_hobbies_are_asked_for(most: int) -> None:
    """HLM14 Example 3: how many like music or football, and which 2 or 3 hobbies are the most common: a set."""
    hobbies = range(most + 1)
    people = list(itertools.product((0, 1), repeat=most + 1))
    universe = dx.Universe.databases(people, 2)

    def common(database: tuple) -> tuple[int, ...]:
        liked = Counter({hobby: sum(person[hobby] for person in database) for hobby in hobbies})
        return tuple(sorted(hobby for hobby, _ in liked.most_common(most)))

    number = dx.queries.count(universe, lambda person: bool(person[0] or person[1]))
    favourites = dx.queries.Query.of(universe, common)
    assert number.answers == (0, 1, 2)
    liking = [sum(music or football for music, football, *_ in database) for database in universe.secrets]  # pyright: ignore
    assert [number.answers[answer] for answer in number.index] == liking
    assert favourites.answers == tuple(itertools.combinations(hobbies, most))
    for database, answer in zip(universe.secrets, favourites.index, strict=True):
        totals = np.sum(database, axis=0)  # pyright: ignore[reportCallIssue, reportArgumentType]
        assert totals[list(favourites.answers[answer])].min() >= np.delete(totals, favourites.answers[answer]).max()  # pyright: ignore
    secrets = dx.neighbours(universe, "bounded")
    assert dx.queries.sensitivity(number, secrets, number.space()).delta == 1
    answers = favourites.induced(secrets)
    assert np.array_equal(answers.distances, 1 - np.eye(most + 1))
    lifted = dx.lift(favourites, dx.tight_constraints(answers, 1.0), secrets)
    assert dx.evaluate.smallest_epsilon(lifted) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(("values", "records"), [(2, 3), (3, 2), (3, 3)])
def test_pairs_to_check(values: int, records: int) -> None:
    """HLM14 after Thm 5: C(v, 2) pairs of values stand for the n C(v, 2) v^{n-1} pairs of neighbouring databases."""
    universe = dx.Universe.databases(range(values), records)
    one = dx.MetricSpace.from_points(list(range(values)), "discrete")
    factor = dx.Mechanism.from_matrix(one, dx.classic.randomised_response(one, epsilon=1.0).matrix)
    product = dx.sanitisation.product_sanitisation(factor, records)
    few = math.comb(values, 2)
    many = records * few * values ** (records - 1)
    assert np.count_nonzero(universe.space("hamming").distances == 1) == 2 * many
    assert f"all {2 * few} ordered pairs" in product.privacy.how
    whole = product.as_mechanism(universe).privacy
    assert whole is not None
    assert f"all {2 * many} ordered pairs" in whole.how
    assert product.as_mechanism(universe).matrix.shape[1] == values**records  # 2^{v^n} events, not 2^v
    assert whole.epsilon == pytest.approx(product.privacy.epsilon, rel=1e-9)


REGULAR = {
    "line": (dx.line(5), 0.7),
    "cycle": (dx.torus((5,)), 0.9),
    "grid": (dx.grid((3, 3)), 1.2),
    "databases": (BITS.space("hamming"), 1.0),
}


@pytest.mark.parametrize("name", REGULAR)
def test_optimal_for_the_uniform_prior_is_tight(name: str) -> None:
    """ECP14 Cor 3, if, and only if where every μ is positive: a linear program finds the tight mechanism."""
    space, epsilon = REGULAR[name]
    uniform = dx.Prior.uniform(space)
    mu = dx.regularity.verdict(uniform, space, epsilon).mu
    assert mu is not None
    assert (mu > 0).all()
    problem = dx.Problem(space, epsilon=epsilon, prior=uniform, loss="binary")
    report = dx.solve(problem, method="optimal", solver="highs", tolerance=1e-9)
    found, tight, size = report.mechanism, dx.tight_constraints(space, epsilon), len(space)
    remapped = found.remap(dx.evaluate.optimal_remap(found, uniform, "binary"))
    assert remapped.matrix == pytest.approx(tight.matrix, abs=1e-5)
    # if: what a remap makes tight is optimal, with its reports in another order and with each in two
    shuffled = tight.remap(np.random.default_rng(5).permutation(size))
    split = tight.compose(np.concatenate([0.3 * np.eye(size), 0.7 * np.eye(size)], axis=1))
    for one in (tight, shuffled, split):
        assert dx.evaluate.utility(one, uniform) == pytest.approx(1 - report.certificate.bound, abs=1e-6)


def test_outside_the_region() -> None:
    """ECP14 §8: from a regular prior to one that is not, the tight mechanism falls behind at the border."""
    space, epsilon = dx.grid((3, 3)), 1.2
    tight = dx.tight_constraints(space, epsilon)
    far = np.array([5, 1, 5, 1, 1, 1, 5, 1, 5]) / 25
    behind, regular = [], []
    for share in np.linspace(0, 1, 9):
        prior = dx.Prior.from_weights(space, (1 - share) / 9 + share * far)
        best = 1 - dx.solve(dx.Problem(space, epsilon=epsilon, prior=prior, loss="binary")).certificate.value
        assert best <= dx.regularity.binary_utility_bound(prior, space, epsilon) + 1e-9
        behind.append(best - dx.evaluate.utility(tight, prior))
        regular.append(dx.regularity.verdict(prior, space, epsilon).status == "regular")
    assert 1 < sum(regular) < len(regular)
    for lost, inside in zip(behind, regular, strict=True):
        assert (lost == pytest.approx(0, abs=1e-6)) if inside else (lost > 1e-4)
    outside = [lost for lost, inside in zip(behind, regular, strict=True) if not inside]
    assert outside == sorted(outside)


@pytest.mark.parametrize("name", few(["cha13-comparison-grid", "cha13-comparison-montreal"], 1))
def test_the_optimum_beats_what_people_use(name: str, tmp_path: Path) -> None:
    """Cha13's comparison: private mechanisms at the same level, with their remap or without, and by how much."""
    done = run([PROBLEMS / f"{name}.yaml"], tmp_path)
    assert done.exit_code == 0
    comparison = dx.load(tmp_path / done.lines[0].folder).comparison
    assert comparison is not None
    best, *others = comparison.rows
    assert best.gap is not None
    assert best.gap <= 1e-6
    private = [row for row in others if row.private]
    assert {"exponential", "laplace", "planar_laplace", "randomised_response", "optimal for uniform"} <= {
        row.name for row in private
    }
    for row in private:
        assert row.excess is not None
        assert row.remapped_excess is not None
        assert row.excess > row.remapped_excess - 1e-12
        assert row.remapped_excess > 0.001
        assert f"{row.excess:+.1%}" in str(comparison)
    (cloaking,) = (row for row in others if row.name == "cloaking")
    assert cloaking.epsilon is None
    assert not cloaking.private
    wrong = comparison.rows[-1]
    assert wrong.name == "optimal for uniform"
    assert wrong.under["uniform"] < best.under["uniform"]
