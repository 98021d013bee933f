"""Statements of Cha13 as its slides put them: levels within a radius, cloaking, traces, and its comparison."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms import traces
from dxopt.mechanisms.classic.planar_laplace import noise_rate
from dxopt.spaces.metrics import EARTH_RADIUS_KM, Euclidean, Haversine, Manhattan, OverTraces
from dxopt.spec import load
from tests.judges.exact import infinite_leakage, violations
from tests.material.files import PROBLEMS

LEVEL, RADIUS = math.log(4), 1.5
CITY = dx.grid((4, 4), spacing=0.5)
BUSY = dx.Prior.from_weights(CITY, 1 + (7 * np.arange(16)) % 11)


@functools.cache
def geo_indistinguishable() -> dict[str, dx.Mechanism]:
    """Mechanisms at the level that l within r asks for."""
    epsilon = LEVEL / RADIUS
    problem = dx.Problem(CITY, epsilon=epsilon, prior=BUSY)
    return {
        "optimal": dx.solve(problem, method="optimal").mechanism,
        "planar Laplace": dx.classic.planar_laplace(CITY, epsilon=epsilon),
        "exponential": dx.classic.exponential(CITY, epsilon=epsilon),
    }


def test_a_level_within_any_radius() -> None:
    """Geo-indistinguishability: within any radius r of the true place a level of εr, in proportion to r.

    Two places in the disc may be 2r apart, so that 2εr is what an adversary gains within it at most.
    """
    epsilon, distances = LEVEL / RADIUS, CITY.distances
    for name, mechanism in geo_indistinguishable().items():
        matrix = mechanism.matrix
        apart = np.array([[dx.characterise.multiplicative_distance(a, b) for b in matrix] for a in matrix])
        largest = {}
        for radius in np.unique(distances)[1:]:
            within = distances <= radius
            assert apart[within].max() <= epsilon * radius * (1 + 1e-12), name
            disc = max(apart[np.ix_(near, near)].max() for near in within)
            assert disc <= 2 * epsilon * radius * (1 + 1e-12), name
            largest[radius] = apart[within].max()
        # at ln 4 within 1.5 km an output is at most 4 times as likely, and within half of that at most twice
        assert np.exp(apart[distances <= RADIUS]).max() <= 4 * (1 + 1e-12)
        assert np.exp(apart[distances <= RADIUS / 2]).max() <= 2 * (1 + 1e-12)
    # it is used up: no smaller ε holds for the optimum and for planar Laplace
    for name in ("optimal", "planar Laplace"):
        assert dx.evaluate.smallest_epsilon(geo_indistinguishable()[name]) == pytest.approx(epsilon, rel=1e-6)


def test_a_problem_file_asks_for_it_as_a_level_within_a_radius() -> None:
    (task,) = load(PROBLEMS / "cha13-geo-indistinguishability-utility.yaml")
    assert task.problem.epsilon == pytest.approx(math.log(4) / 1.0, rel=1e-15)
    found = dx.solve(task.problem).mechanism.matrix
    near = task.problem.space.distances <= 1.0
    assert (found[:, None, :] / found[None, :, :])[near].max() == pytest.approx(4.0, rel=1e-9)


def test_adjacent_databases_answer_alike_and_so_do_all_by_their_distance() -> None:
    """ε-differential privacy, and that adjacent pairs at ε are εd_h for all: exact, for mechanisms of any kind."""
    universe = dx.Universe.databases([21, 27, 32], 3)
    space = universe.space("hamming")
    assert np.array_equal(dx.neighbours(universe, "bounded").distances, space.distances)
    adjacent_only = np.where(space.distances <= 1, space.distances, np.inf)
    rng = np.random.default_rng(10)
    for _ in range(3):
        rows = 1 + rng.random((len(space), 4)) * 0.3
        rows /= rows.sum(axis=1, keepdims=True)
        pairs = np.argwhere(space.distances == 1)
        epsilon = max(dx.characterise.multiplicative_distance(rows[x], rows[other]) for x, other in pairs)
        assert violations(rows, adjacent_only, epsilon * (1 + 1e-12)) == []
        assert violations(rows, space.distances, epsilon * (1 + 1e-12)) == []
        mechanism = dx.Mechanism.from_matrix(space, rows, dx.Reports(tuple("abcd")))
        assert dx.evaluate.smallest_epsilon(mechanism) == pytest.approx(epsilon, rel=1e-9)
    (task,) = load(PROBLEMS / "cha13-adjacency.yaml")
    best, epsilon = dx.solve(task.problem).mechanism.matrix, float(task.problem.epsilon)  # pyright: ignore
    for x, other in np.argwhere(task.problem.space.distances == 1):
        assert dx.characterise.multiplicative_distance(best[x], best[other]) <= epsilon * (1 + 1e-12)
    # the best uses all of it: what is ε for adjacent databases is εd_h for every pair, and no less
    logs = np.log(best)
    apart = np.array([np.abs(row - logs).max(axis=1) for row in logs])
    assert apart == pytest.approx(epsilon * task.problem.space.distances, rel=1e-6, abs=1e-9)


def test_a_mechanism_is_a_distribution_for_each_secret() -> None:
    """K(x) is a distribution on reported values: rows sum to 1, draws follow them, and what is none is refused."""
    people = dx.Universe.databases([0, 1], 2)
    query = dx.queries.count(people, bool)
    noisy = dx.classic.geometric(query.space(), epsilon=0.7)
    result_with_noise = dx.lift(query, noisy, people.space("hamming"))
    assert np.array_equal(result_with_noise.matrix, noisy.matrix[[0, 1, 1, 2]])
    drawn = np.random.default_rng(8).dirichlet(np.ones(4), size=3)
    whatever = dx.Mechanism.from_matrix(dx.line(3), drawn, dx.Reports(tuple("abcd")))
    for mechanism in (noisy, result_with_noise, whatever):
        rows = mechanism.matrix
        assert rows.min() >= 0
        assert rows.sum(axis=1) == pytest.approx(1, abs=1e-14)
        for x, row in enumerate(rows):
            reports = mechanism.sample(index=x, size=4000, rng=np.random.default_rng(1))
            assert np.bincount(np.asarray(reports), minlength=len(row)) / 4000 == pytest.approx(row, abs=0.04)
    for rows in ([[0.5, 0.4], [0.5, 0.5]], [[1.5, -0.5], [0.5, 0.5]]):
        with pytest.raises(dx.SpecError, match=r"^matrix: "):
            dx.Mechanism.from_matrix(dx.line(2), rows)


def test_both_characterisations_on_a_map() -> None:
    """Hiding: conclusions differ by 2εd(φ) at most; prior and posterior within a region: by ε times its diameter.

    Here φ moves everyone north, or to the nearest corner of the town; regions are streets, blocks and the whole.
    """
    epsilon = LEVEL / RADIUS
    places = np.arange(16).reshape(4, 4)
    north = places[np.maximum(np.arange(4) - 1, 0)].ravel()
    corners = np.array([[0, 0, 3, 3], [0, 0, 3, 3], [12, 12, 15, 15], [12, 12, 15, 15]]).ravel()
    rng = np.random.default_rng(9)
    for mechanism in geo_indistinguishable().values():
        for weights in (np.ones(16), rng.random(16) ** 4 + 1e-9, np.eye(16)[5] + 1e-6):
            prior = dx.Prior.from_weights(CITY, weights)
            for hiding in (north, corners):
                learned = dx.characterise.after_hiding(mechanism, prior, hiding, epsilon=epsilon)
                moved = CITY.distances[np.arange(16), hiding].max()
                assert learned.bound == pytest.approx(2 * epsilon * moved)
                assert learned.gain <= learned.bound * (1 + 1e-9)
            for region in (places[0], places[:2, :2].ravel(), places.ravel()):
                learned = dx.characterise.within(mechanism, prior, region, epsilon=epsilon)
                assert learned.bound == pytest.approx(epsilon * CITY.distances[np.ix_(region, region)].max())
                assert learned.gain <= learned.bound * (1 + 1e-9)
        # and conversely: below the level that it has, some prior of two places learns more than that allows
        level = 0.9 * dx.evaluate.smallest_epsilon(mechanism)
        logs = np.log(mechanism.matrix)
        apart = np.abs(logs[:, None] - logs[None]).max(axis=2) / (CITY.distances + np.eye(16))
        pair = np.array(np.unravel_index(apart.argmax(), apart.shape))
        over = []
        for x, other in (pair, pair[::-1]):
            informed = dx.Prior.from_weights(CITY, np.eye(16)[x] + 1e-9 * np.eye(16)[other])
            learned = dx.characterise.within(mechanism, informed, [x, other], epsilon=level)
            over.append(learned.gain - learned.bound)
        assert max(over) > 0.05 * level * CITY.distances[tuple(pair)]
    # a mechanism of three times the level shows on the map that it is not private at this one
    leaky = dx.classic.planar_laplace(CITY, epsilon=3 * epsilon)
    edge = dx.Prior.from_weights(CITY, np.eye(16)[0] + 1e-9)
    found = dx.characterise.within(leaky, edge, [0, 1], epsilon=epsilon)
    assert found.gain > found.bound * 1.5


def test_cloaking_fails_where_the_user_moves_between_regions() -> None:
    """A region is reported and hides the place within it; a step over its border shows for certain where it went."""
    cloak = dx.classic.cloaking(CITY, side=1.0)
    inside = cloak.regions[:, None] == cloak.regions[None, :]
    rows = cloak.matrix
    assert all(np.array_equal(rows[x], rows[other]) for x, other in np.argwhere(inside))
    steps = np.argwhere(~inside & (CITY.distances == 0.5))
    assert len(steps) > 0
    told = {(x, other) for x, other, _ in infinite_leakage(rows, CITY.distances)}
    assert all((x, other) in told for x, other in steps)
    assert dx.evaluate.smallest_epsilon(cloak) == math.inf
    # who reports twice while crossing is known to stand at the border
    uniform = dx.Prior.uniform(CITY)
    before, after = (dx.characterise.posterior(cloak, uniform, int(rows[x].argmax())) for x in steps[0])
    assert (before * after).sum() == 0
    assert CITY.distances[np.ix_(before > 0, after > 0)].min() == 0.5


def test_the_coarse_place_is_revealed_and_the_exact_one_hidden() -> None:
    """Location-based services: an adversary knows which of two towns it is, and hardly where in it."""
    streets = np.array(list(itertools.product(range(3), repeat=2))) / 2
    towns = dx.MetricSpace.from_points(np.concatenate([streets, streets + np.array([20, 0])]))
    uniform = dx.Prior.uniform(towns)
    mechanism = dx.solve(dx.Problem(towns, epsilon=LEVEL / RADIUS, prior=uniform)).mechanism
    which_town = np.repeat([[0.0, 1.0], [1.0, 0.0]], 9, axis=0)
    assert dx.evaluate.adversary_error(mechanism, uniform, which_town) < 1e-6
    place = 1 - dx.evaluate.adversary_error(mechanism, uniform, "binary")
    assert place < 0.25


@pytest.mark.parametrize("seed", range(3))
def test_numbers_and_places_have_their_natural_distances(seed: int) -> None:
    """Natural metrics: |x - x'| of numbers, and of places, on a map or on the globe, how far apart they are."""
    rng = np.random.default_rng(seed)
    step = float(rng.uniform(0.1, 3))
    numbers, town = dx.line(6, step=step), dx.grid((3, 4), spacing=step)
    for x, other in itertools.product(range(6), repeat=2):
        assert numbers.distances[x, other] == pytest.approx(step * abs(x - other))
    crossings = list(itertools.product(range(3), range(4)))
    for (x, one), (y, other) in itertools.product(enumerate(crossings), repeat=2):
        assert town.distances[x, y] == pytest.approx(step * math.dist(one, other))
    degrees = np.column_stack([rng.uniform(-80, 80, 6), rng.uniform(-170, 170, 6)])
    north, east = np.radians(degrees).T
    towards = np.column_stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])
    angles = 2 * np.arcsin(np.minimum(np.linalg.norm(towards[:, None] - towards[None], axis=2) / 2, 1))
    assert dx.geo.points(degrees).distances == pytest.approx(EARTH_RADIUS_KM * angles, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "discrete"])
def test_any_metric_may_be_scaled(metric: str) -> None:
    """Generalisation: for any secrets and metric, εd_X'-privacy is d_X-privacy with d_X = εd_X'."""
    rng = np.random.default_rng(3)
    for factor in (0.2, 1.0, 7.0):
        space = dx.MetricSpace.from_points(rng.normal(size=(5, 2)), metric)
        scaled = dx.MetricSpace.from_distances(factor * space.distances)
        matrix = rng.dirichlet(np.ones(5), size=5)
        logs, pairs = np.log(matrix), list(itertools.permutations(range(5), 2))
        least = max((logs[x] - logs[other]).max() / space.distances[x, other] for x, other in pairs)
        found = [dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(one, matrix)) for one in (space, scaled)]
        assert found == pytest.approx([least, least / factor])
        budgets = dx.Problem(scaled, epsilon=1.0, prior=dx.Prior.uniform(scaled)).budgets
        assert budgets == pytest.approx(factor * space.distances)
        assert budgets == pytest.approx(dx.Problem(space, epsilon=factor, prior=dx.Prior.uniform(space)).budgets)


SCATTERED = dx.MetricSpace.from_points(np.random.default_rng(6).uniform(0, 3, (7, 2)))


@pytest.mark.parametrize(("places", "epsilon"), [(CITY, 0.9), (CITY, 3.0), (SCATTERED, 1.0)])
def test_noise_of_two_dimensions_is_added_and_the_nearest_place_reported(
    places: dx.MetricSpace, epsilon: float
) -> None:
    """Obfuscation, planar Laplace: z is the place next to x + noise, on a grid or not, private at the level asked."""
    mechanism = dx.classic.planar_laplace(places, epsilon=epsilon)
    rate = noise_rate(dx.Problem(places, epsilon=epsilon, prior=dx.Prior.uniform(places)))
    assert rate >= epsilon
    rng, draws, points = np.random.default_rng(7), 8000, np.asarray(places.points, dtype=float)
    for x, row in enumerate(mechanism.matrix):
        radius, angle = rng.gamma(2, 1 / rate, draws), rng.uniform(0, 2 * math.pi, draws)
        moved = points[x] + np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        nearest = ((moved[:, None] - points[None]) ** 2).sum(axis=2).argmin(axis=1)
        assert np.bincount(nearest, minlength=len(row)) / draws == pytest.approx(row, abs=0.025)
    assert dx.evaluate.smallest_epsilon(mechanism) == pytest.approx(epsilon, rel=1e-6)
    weights = np.exp(-epsilon * places.distances / 2)
    expected = weights / weights.sum(axis=1, keepdims=True)
    assert dx.classic.exponential(places, epsilon=epsilon).matrix == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_error_of_an_adversary_is_that_of_the_best_strategy(seed: int) -> None:
    """Measuring location privacy: Σ π(x) K(z|x) d(x̂(z), x) of the best of all ways to guess x̂ from a report z."""
    rng = np.random.default_rng(seed)
    space, reports = dx.MetricSpace.from_points(rng.normal(size=(4, 2))), 3
    matrix, prior = rng.dirichlet(np.full(reports, 0.5), size=4), rng.dirichlet(np.ones(4))
    mechanism = dx.Mechanism.from_matrix(space, matrix, dx.Reports(tuple("abc")))
    apart = {"distance": space.distances, "binary": 1 - np.eye(4)}
    for name, distances in apart.items():
        errors = [
            sum(prior[x] * matrix[x, z] * distances[x, guess[z]] for x in range(4) for z in range(reports))
            for guess in itertools.product(range(4), repeat=reports)
        ]
        found = dx.evaluate.adversary_error(mechanism, dx.Prior.from_weights(space, prior), name)
        assert found == pytest.approx(min(errors), rel=1e-9)


def at_loss(prior: dx.Prior, loss: float) -> dx.Mechanism:
    """The planar Laplace mechanism of the smallest ε that costs so much."""
    low, high = 0.05, 50.0
    for _ in range(14):
        middle = math.sqrt(low * high)
        costs = dx.evaluate.expected_loss(dx.classic.planar_laplace(TOWN, epsilon=middle), prior, "distance")
        low, high = (middle, high) if costs > loss else (low, middle)
    return dx.classic.planar_laplace(TOWN, epsilon=high)


TOWN = dx.grid((4, 4))
KNOWN = dx.Prior.from_weights(TOWN, [1, 1, 1, 1, 1, 9, 6, 1, 1, 6, 4, 1, 1, 1, 1, 1])
UNIFORM = dx.Prior.uniform(TOWN)


@pytest.mark.parametrize("adversary", ["distance", "binary"])
def test_the_comparison_in_the_error_of_the_adversary(adversary: str) -> None:
    """Cha13's comparison: the metric of Shokri et al., at equal loss, for Laplace, cloaking and two of their optima.

    The optimum for the right prior has the largest error by definition. The one for a uniform prior is the best for
    that, and far behind under another; planar Laplace, which knows no prior, is private under all and cloaking none.
    """
    cloak = dx.classic.cloaking(TOWN, side=2.0)
    for prior in (KNOWN, UNIFORM):
        loss = dx.evaluate.expected_loss(cloak, prior, "distance")
        made = {"cloaking": cloak, "Laplace": at_loss(prior, loss)}
        for name, p in (("right", prior), ("uniform", UNIFORM)):
            asked = dx.Problem(TOWN, epsilon=None, prior=p, objective=dx.AdversaryError(loss, adversary))
            made[name] = dx.solve(asked).mechanism
        errors = {name: dx.evaluate.adversary_error(one, prior, adversary) for name, one in made.items()}
        for name, mechanism in made.items():
            spent = dx.evaluate.expected_loss(mechanism, prior, "distance")
            assert spent <= loss * (1 + 1e-6) or name == "uniform"
            if spent <= loss:
                assert errors[name] <= errors["right"] + 1e-6
            # the adversary's error in distance is what is lost after the best remap
            remapped = mechanism.remap(dx.evaluate.optimal_remap(mechanism, prior, adversary))
            assert dx.evaluate.expected_loss(remapped, prior, adversary) == pytest.approx(errors[name], abs=1e-9)
        if prior is KNOWN:
            assert errors["uniform"] < errors["right"] - 0.1
            assert errors["cloaking"] < errors["Laplace"] - 0.2 < errors["right"] - 0.2
        else:
            assert errors["uniform"] == pytest.approx(errors["right"], abs=1e-6)
        assert dx.evaluate.smallest_epsilon(made["Laplace"]) < 2
        assert dx.evaluate.smallest_epsilon(cloak) == math.inf


def test_one_person_under_standard_differential_privacy() -> None:
    """All places alike: of n places the best guess is right with e^ε/(n - 1 + e^ε), next to the 1/n of no report.

    The slide says "zero utility": it is zero at ε = 0 only, and under geo-indistinguishability several times that.
    """
    places = dx.Universe.databases(range(20), 1)
    alike = dx.neighbours(places, "free_lunch")
    for standard in (dx.neighbours(places, "bounded"), places.space("hamming")):
        assert np.array_equal(standard.distances, alike.distances)
    for epsilon in (0.01, 0.5, 1.0):
        problem = dx.Problem(alike, epsilon=epsilon, prior=dx.Prior.uniform(alike), loss="binary")
        right = 1 - dx.solve(problem).certificate.value
        assert right == pytest.approx(math.exp(epsilon) / (19 + math.exp(epsilon)), abs=1e-7)
    assert right < 0.13
    line = dx.line(20)
    far = dx.solve(dx.Problem(line, epsilon=1.0, prior=dx.Prior.uniform(line), loss="binary")).certificate.value
    assert 1 - far > 3 * right


def test_mechanisms_for_traces() -> None:
    """εd_∞-privacy of traces: solved and proven as for any metric; independent noise pays ε for each point."""
    steps = dx.line(3)
    tuples = list(itertools.product(range(3), repeat=2))
    space = dx.MetricSpace.from_points(np.array(tuples, dtype=float), OverTraces(2))
    assert space.distances.max() == 2
    report = dx.solve(dx.Problem(space, epsilon=0.6, prior=dx.Prior.uniform(space), loss="binary"))
    assert violations(report.mechanism.matrix, space.distances, 0.6) == []
    noise = dx.classic.geometric(steps, epsilon=0.6)
    both = np.kron(noise.matrix, noise.matrix).astype(np.float64)
    assert violations(both, space.distances, 0.6) != []
    independent = dx.Mechanism.from_matrix(space, both)
    assert dx.evaluate.smallest_epsilon(independent) == pytest.approx(1.2, rel=1e-9)


@pytest.mark.parametrize("step", [Euclidean(), Manhattan(), Haversine()])
def test_traces_of_any_places(step: Euclidean | Manhattan | Haversine) -> None:
    """d_∞ of drawn traces is the largest distance at one time, on a map or on the globe; the optimum is private."""
    rng = np.random.default_rng(4)
    for length in (1, 2, 4):
        drawn = rng.uniform(-0.01, 0.01, (6, length, 2))
        space = dx.MetricSpace.from_points(drawn.reshape(6, -1), OverTraces(length, step))
        apart = [dx.MetricSpace.from_points(drawn[:, time], step).distances for time in range(length)]
        assert space.distances == pytest.approx(np.max(apart, axis=0))
        epsilon = 1.5 / space.distances.max()
        best = dx.solve(dx.Problem(space, epsilon=epsilon, prior=rng.dirichlet(np.ones(6)))).mechanism
        assert violations(best.matrix, space.distances, epsilon) == []


@pytest.mark.parametrize(("length", "epsilon"), [(2, 0.4), (2, 1.5), (3, 0.7)])
def test_independent_noise_pays_for_each_point(length: int, epsilon: float) -> None:
    """Of n points of any places: nε under d_∞ and no less, where each of them gets planar Laplace noise at ε."""
    places = np.random.default_rng(length).uniform(0, 3, (3, 2))
    noise = dx.classic.planar_laplace(dx.MetricSpace.from_points(places), epsilon=epsilon)
    walks = np.array(list(itertools.product(range(3), repeat=length)))
    space = dx.MetricSpace.from_points(places[walks].reshape(len(walks), -1), OverTraces(length))
    matrix = functools.reduce(np.kron, [np.asarray(noise.matrix, dtype=float)] * length)
    independent = dx.Mechanism.from_matrix(space, matrix)
    assert dx.evaluate.smallest_epsilon(independent) == pytest.approx(length * epsilon, rel=1e-6)


@pytest.mark.parametrize("name", ["optimal", "planar Laplace", "exponential"])
def test_obfuscation_is_probabilistic_cloaking(name: str) -> None:
    """A draw among maps of places to reports, of which cloaking is a single one: with chances that give K exactly."""
    cloaked = dx.classic.cloaking(CITY, side=1.0).matrix
    assert set(np.unique(cloaked)) == {0, 1}
    matrix = geo_indistinguishable()[name].matrix
    # one number between 0 and 1 is drawn, and each place reports where its cumulated row passes it
    cumulated = np.cumsum(matrix, axis=1)
    ends = np.unique(np.concatenate([[0.0, 1.0], np.clip(cumulated[:, :-1].ravel(), 0, 1)]))
    mixed = np.zeros_like(matrix)
    for low, high in itertools.pairwise(ends):
        reports = np.minimum((cumulated <= (low + high) / 2).sum(axis=1), matrix.shape[1] - 1)
        mixed[np.arange(len(matrix)), reports] += high - low
    assert mixed == pytest.approx(matrix, abs=1e-9)
    assert len(ends) > 3


@pytest.mark.parametrize("steps", [5, 50])
def test_the_savings_of_good_predictions_are_big(steps: int) -> None:
    """Of a user who stands still: ε once and ε_t for each test, where independent noise pays ε each time."""
    level, test = 1.0, 0.05
    still, rng = np.zeros((steps, 2)), np.random.default_rng(1)
    plan = traces.Plan(test, level, 400.0)
    predictive = traces.PredictiveMechanism(traces.on_plane(), traces.FixedLevels(1000.0, plan)).run(still, rng)
    independent = traces.IndependentNoise(traces.on_plane(), level).run(still, rng)
    assert independent.spent == pytest.approx(steps * level)
    assert predictive.spent == pytest.approx(level + (steps - 1) * test)
    assert predictive.spent < independent.spent / (3 if steps == 5 else 14)

    # a prediction that is never good saves nothing
    def astray(past: object, noise: object) -> tuple[float, float]:
        return (1e9, 0.0)

    wrong = traces.PredictiveMechanism(traces.on_plane(), traces.FixedLevels(1000.0, plan), astray).run(still, rng)
    assert wrong.spent >= independent.spent


def test_every_draw_of_noise_pays() -> None:
    """Budget: each time that noise is drawn ε is paid, whoever plans it, and levels add up in the account."""

    def astray(past: object, noise: object) -> tuple[float, float] | None:
        return (1e9, 0.0) if past else None

    still, rng, plane = np.zeros((6, 2)), np.random.default_rng(2), traces.on_plane()
    utility = traces.FixedUtility(total=1e4, error=0.3)
    plan = utility.plan(plane, traces.LaplaceTest())
    run = traces.PredictiveMechanism(plane, utility, astray).run(still, rng)
    assert run.kinds == ("hard",) * 6
    levels = [plan.noise, *[plan.noise + plan.test] * 5]
    assert run.spending.tolist() == pytest.approx(np.cumsum(levels))
    account = traces.Ledger(Fraction(10**4)).pay(*[plan.noise] * 6).pay(*[plan.test] * 5)
    assert (account.paid, account.left) == (run.exactly_spent, 10**4 - run.exactly_spent)
    rate = traces.PredictiveMechanism(plane, traces.FixedRate(total=60, steps=6), astray).run(still, rng)
    # the first step has nothing to test, and its part for the test goes to the others
    share, test = 60 / 6, float(traces.Balance().share)
    assert float(rate.steps[0].cost) == pytest.approx(share * (1 - test))
    assert [float(step.cost) for step in rate.steps[1:]] == pytest.approx([(60 - share * (1 - test)) / 5] * 5)


def turned(steps: Sequence[traces.Step], noise: object) -> int | None:
    """Predict from all reports so far, and not the last one: their sum, modulo 3."""
    return sum(step.report for step in steps) % 3 if steps else None  # pyright: ignore


@pytest.mark.parametrize("predict", [traces.repeat, turned])
def test_a_step_reports_the_prediction_if_close_and_else_fresh_noise(predict: traces.Prediction) -> None:
    """Predictive mechanism, step: z* if a private test finds it close to x_n, else a draw of K(x_n); exact."""

    def noise(x: int, z: int) -> Fraction:
        """Geometric noise of base 4 on 0, 1, 2, cut off at the ends."""
        return Fraction(1, 4) ** abs(x - z) * (Fraction(3, 5) if z == 1 else Fraction(4, 5))

    def close(distance: int) -> Fraction:
        """P(distance + N ≤ 1) for N of mass 2^{-|k|}/3."""
        room = 1 - distance
        return 1 - Fraction(1, 2) ** (room + 1) / Fraction(3, 2) if room >= 0 else Fraction(1, 3)

    plan = traces.Plan(test=1.0, noise=2.0, threshold=1.0)
    mechanism = traces.PredictiveMechanism(
        traces.RationalGeometric(3),
        traces.FixedLevels(100.0, plan),
        predict,
        traces.GeometricTest(1.0, Fraction(2)),
    )
    for trace in itertools.product(range(3), repeat=3):
        runs = mechanism.distribution(trace)
        assert sum(runs.values()) == 1
        for run, likely in runs.items():
            reports = run.reports.tolist()
            assert run.kinds[0] == "hard"
            expected = noise(trace[0], reports[0])
            for t in (1, 2):
                predicted = reports[t - 1] if predict is traces.repeat else sum(reports[:t]) % 3
                near = close(abs(predicted - trace[t]))
                if run.kinds[t] == "easy":
                    assert reports[t] == predicted
                expected *= near if run.kinds[t] == "easy" else (1 - near) * noise(trace[t], reports[t])
            assert likely == expected
