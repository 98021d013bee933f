"""No mechanism errs less than the bounds of HLM14 §6, and Laplace noise of the scale of its Example 5 is private."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import linprog

import dxopt as dx
from tests.material.few import few

s = dx.sanitisation
Matrix = np.ndarray


def minimax(distances: Matrix, budgets: Matrix, delta: float) -> float:
    """The least max_x E[d(X_x, x)] of any (budget, δ)-private channel, by one dense program; d is `(n, m)`."""
    secrets, reports = distances.shape
    pairs = [(x, y) for x, y in itertools.permutations(range(secrets), 2) if np.isfinite(budgets[x, y])]
    cells = secrets * reports
    slack = {(pair, z): cells + 1 + i for i, (pair, z) in enumerate(itertools.product(pairs, range(reports)))}
    width = cells + 1 + len(slack)
    rows = []
    limits = []
    for x in range(secrets):
        row = np.zeros(width)
        row[x * reports : (x + 1) * reports], row[cells] = distances[x], -1
        rows.append(row)
        limits.append(0.0)
    for pair in pairs:
        total = np.zeros(width)
        for z in range(reports):
            row = np.zeros(width)
            row[pair[0] * reports + z], row[pair[1] * reports + z] = 1, -np.exp(budgets[pair])
            row[slack[pair, z]], total[slack[pair, z]] = -1, 1
            rows.append(row)
            limits.append(0.0)
        rows.append(total)
        limits.append(delta)
    sums = np.zeros((secrets, width))
    for x in range(secrets):
        sums[x, x * reports : (x + 1) * reports] = 1
    goal = np.eye(width)[cells]
    found = linprog(goal, A_ub=np.array(rows), b_ub=limits, A_eq=sums, b_eq=np.ones(secrets), method="highs")
    assert found.success
    return float(found.fun)


@pytest.mark.parametrize("budget", ["metric", "uniform"])
@pytest.mark.parametrize("delta", [0.0, 0.02, 0.4])
@pytest.mark.parametrize("seed", few(range(6)))
def test_no_mechanism_errs_less(seed: int, delta: float, budget: str) -> None:
    """HLM14 Thms 6, 7 and Lemma 4 against the true optimum."""
    rng = np.random.default_rng(seed)
    space = dx.MetricSpace.from_points(rng.normal(size=(2 + seed % 4, 2)))
    epsilon = (0.3, 1.0, 4.0)[seed % 3]
    distances = space.distances
    budgets = epsilon * distances if budget == "metric" else np.full(distances.shape, epsilon)
    bounds = s.error_bounds(space, epsilon=epsilon, delta=delta, budget=budget)
    optimum = minimax(distances, budgets, delta)
    if budget == "uniform":
        m, nearest = len(space) - 1, distances[distances > 0].min()
        assert bounds.packing == pytest.approx((1 - delta) * nearest * m / (m + np.exp(epsilon)), rel=1e-9)
        assert bounds.diameter == pytest.approx((1 - delta) * distances.max() / (2 * (1 + np.exp(epsilon))), rel=1e-9)
    assert 0 < bounds.diameter <= bounds.pair <= bounds.best
    assert 0 < bounds.packing <= bounds.best <= optimum * (1 + 1e-7)


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_two_secrets_attain_the_bound_of_a_pair(delta: float) -> None:
    """And so the factor 2 that HLM14 Thm 6 loses is all that it loses."""
    space = dx.MetricSpace.from_points([0.0, 1.5])
    bounds = s.error_bounds(space, epsilon=0.8, delta=delta)
    assert bounds.pair == pytest.approx(minimax(space.distances, 0.8 * space.distances, delta), rel=1e-7)


def test_as_printed() -> None:
    """HLM14 eqs 16 and 21 on a line of 4: diameter 3, κ = 1, m = 3."""
    bounds = s.error_bounds(dx.line(4), epsilon=np.log(2), delta=0.1, budget="uniform")
    assert bounds.diameter == pytest.approx(0.9 * 3 / (2 * 3), rel=1e-11)
    assert bounds.packing == pytest.approx(0.9 * 3 / (3 + 2), rel=1e-14)
    assert bounds.diameter < 0.45
    assert bounds.packing < 0.54


def test_under_a_metric_any_pair_and_any_ball_will_do() -> None:
    """By hand on {0, 1, 2, 6}: the pair at distance 1 or 2, and the point 1 with its two neighbours."""
    space = dx.MetricSpace.from_points([0.0, 1.0, 2.0, 6.0])
    bounds = s.error_bounds(space, epsilon=1.0)
    pairs = [d / (2 * (1 + np.exp(d))) for d in (1, 2, 4, 5, 6)]
    assert bounds.diameter == pytest.approx(max(pairs), rel=1e-11)
    assert bounds.packing == pytest.approx(2 / (2 + np.e), rel=1e-14)


def test_pairs_that_nothing_binds_leave_the_bounds_of_the_others() -> None:
    near = dx.line(3)
    far = np.full((4, 4), np.inf)
    far[:3, :3], far[3, 3] = near.distances, 0
    space = dx.MetricSpace.from_distances(far)
    assert s.error_bounds(space, epsilon=1.0, delta=0.1) == s.error_bounds(near, epsilon=1.0, delta=0.1)
    with pytest.raises(dx.SpecError, match=r"^space: "):
        s.error_bounds(space, epsilon=1.0, budget="uniform")
    apart = dx.MetricSpace.from_distances([[0, np.inf], [np.inf, 0]])
    for lonely in (apart, dx.line(1)):
        assert s.error_bounds(lonely, epsilon=1.0) == s.ErrorBounds(0.0, 0.0)


def test_other_reports_leave_no_packing() -> None:
    """Five places 2 apart and a report 1 from each: it is worth less than Thm 7 allows, not less than a pair does."""
    leaves = dx.MetricSpace.from_distances(2 * (1 - np.eye(5)))
    distances = np.hstack([leaves.distances, np.ones((5, 1))])
    optimum = minimax(distances, np.full((5, 5), 0.1), 0.0)
    bounds = s.error_bounds(leaves, epsilon=0.1, budget="uniform")
    elsewhere = s.error_bounds(leaves, epsilon=0.1, budget="uniform", reports=dx.Reports(tuple("abcdef")))
    assert bounds.packing > optimum * 1.2
    assert elsewhere == s.ErrorBounds(bounds.diameter, 0.0)
    assert elsewhere.best <= optimum * (1 + 1e-7)


def test_secrets_at_distance_0_leave_no_packing() -> None:
    space = dx.MetricSpace.from_distances([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    bounds = s.error_bounds(space, epsilon=1.0)
    assert bounds.packing == 0
    assert bounds.diameter > 0


def test_far_pairs_do_not_overflow() -> None:
    bounds = s.error_bounds(dx.MetricSpace.from_points([0.0, 1e4, 2e4]), epsilon=1.0)
    assert bounds == s.ErrorBounds(0.0, 0.0)


@settings(max_examples=40, deadline=None)
@given(epsilon=st.floats(0.01, 10), delta=st.floats(0, 0.9), diameter=st.floats(0.1, 100), exact=st.booleans())
def test_laplace_noise(epsilon: float, delta: float, diameter: float, exact: bool) -> None:
    """HLM14 Example 5: what the best set exceeds, by integrating the densities; the exact scale cannot be lowered."""
    scale = s.laplace_scale(diameter, epsilon=epsilon, delta=delta, exact=exact)

    def exceeds(by: float) -> float:
        """∫ max(0, f(x) - e^ε f(x - diameter)) dx at another scale, in units of it."""
        apart = diameter / (scale * by)

        def over(x: float) -> float:
            return max(0.0, np.exp(-abs(x)) - np.exp(epsilon - abs(x - apart))) / 2

        meets = max(0.0, (apart - epsilon) / 2)
        parts = [(-60.0, 0.0), (0.0, meets), (meets, apart), (apart, apart + 60.0)]
        return sum(quad(over, low, high)[0] for low, high in parts)

    assert exceeds(1.0) <= delta + 1e-7
    # it falls as the scale grows and for values that are nearer, so that this is so from the scale on, for all pairs
    for by in (0.7, 2.0, 10.0):
        falling = max(0.0, 1 - np.exp((epsilon - diameter / (scale * by)) / 2))
        assert exceeds(by) == pytest.approx(falling, abs=1e-7)
    if exact:
        assert exceeds(1.0) == pytest.approx(delta, abs=1e-7)
        assert exceeds(0.99) > delta + 1e-5 * (1 - delta) * epsilon
    elif delta:
        assert scale >= s.laplace_scale(diameter, epsilon=epsilon, delta=delta, exact=True)


def test_laplace_scale_as_printed() -> None:
    assert s.laplace_scale(6.0, epsilon=2.0) == pytest.approx(3.0)
    assert s.laplace_scale(6.0, epsilon=2.0, delta=1 - np.exp(-1)) == pytest.approx(2.0)
    assert s.laplace_scale(6.0, epsilon=2.0, delta=1 - np.exp(-1), exact=True) == pytest.approx(1.5)
    assert s.laplace_scale(6.0, epsilon=2.0) >= 3.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: s.error_bounds(dx.line(3), epsilon=1.0, budget="each"), "^budget: "),
        (lambda: s.error_bounds(dx.line(3), epsilon=0.0), "^epsilon: "),
        (lambda: s.error_bounds(dx.line(3), epsilon=1.0, delta=1.5), "^delta: "),
        (lambda: s.error_bounds(dx.MetricSpace.from_distances([[0, 1], [2, 0]]), epsilon=1.0), "^space: "),
        (lambda: s.laplace_scale(0.0, epsilon=1.0), "^diameter: "),
        (lambda: s.laplace_scale(np.inf, epsilon=1.0), "^diameter: "),
        (lambda: s.laplace_scale(1.0, epsilon=-1.0), "^epsilon: "),
        (lambda: s.laplace_scale(1.0, epsilon=1.0, delta=2.0), "^delta: "),
    ],
)
def test_bad_input(make, message: str) -> None:
    with pytest.raises(dx.SpecError, match=message):
        make()


def test_at_delta_1_everything_is_private() -> None:
    """HLM14 Def 1 has δ up to 1."""
    space = dx.line(3)
    sure = dx.Mechanism.from_matrix(space, np.eye(3))
    assert dx.evaluate.smallest_epsilon(sure, dx.evaluate.smallest_delta(sure, 0.5)) == 0.0
    assert dx.evaluate.smallest_epsilon(sure, 0.999) == math.inf
    found = dx.sanitisation.error_bounds(space, epsilon=1.0, delta=1)
    assert (found.pair, found.packing) == (0.0, 0.0)
    for delta in (1.0 + 1e-9, -0.1):
        with pytest.raises(dx.SpecError) as caught:
            dx.evaluate.smallest_epsilon(sure, delta)
        assert caught.value.field == "delta"
