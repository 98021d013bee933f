"""The best remap that draws: against a dense linear program, and against bounds that rationals confirm."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import dxopt as dx
from dxopt.analysis.order.remaps import bound_of_weights, proven_worst_case
from tests.judges.rational import fractions
from tests.material.few import few
from tests.material.optima import optimum

Matrix = np.ndarray


def best_by_linprog(channel: Matrix, losses: Matrix, cases: Matrix, offsets: Matrix) -> float:
    """min t over R: every loss of a case, written out, less its offset."""
    m, w = channel.shape[1], losses.shape[1]
    costs = np.array([[case @ (channel[:, z] * losses[:, y]) for z in range(m) for y in range(w)] for case in cases])
    sums = np.kron(np.eye(m), np.ones(w))
    found = linprog(
        [*[0.0] * (m * w), 1.0],
        A_ub=np.hstack([costs, -np.ones((len(cases), 1))]),
        b_ub=offsets,
        A_eq=np.hstack([sums, np.zeros((m, 1))]),
        b_eq=np.ones(m),
        bounds=[*[(0, None)] * (m * w), (None, None)],
    )
    return float(found.fun)


@pytest.mark.parametrize("seed", few(range(8)))
def test_no_remap_is_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m, w = rng.integers(2, 7, size=3)
    channel, losses = rng.dirichlet(np.ones(m), n), rng.normal(size=(n, w))
    made = dx.Mechanism.from_matrix(dx.line(int(n)), channel, dx.Reports(tuple(map(str, range(m)))))
    found = dx.evaluate.optimal_random_remap(made, losses)
    assert found.value == pytest.approx(best_by_linprog(channel, losses, np.eye(n), np.zeros(n)), abs=1e-7)
    assert found.value - 1e-7 <= found.bound <= found.value
    assert all(sum(map(Fraction, row)) == 1 for row in found.channel.tolist())
    assert dx.evaluate.worst_loss(made.compose(found.channel, found.reports), losses) == pytest.approx(found.value)


@pytest.mark.parametrize("seed", few(range(6)))
def test_the_worst_of_some_priors_and_regret(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = dx.line(4)
    made = dx.classic.exponential(space, epsilon=0.9)
    cases = rng.dirichlet(np.ones(4), 3)
    alone = [dx.evaluate.adversary_error(made, case) for case in cases]
    for offsets in (None, alone, [5.0, 3.0, 9.0], [-1.0, 0.0, -2.0]):
        found = dx.evaluate.optimal_random_remap(made, priors=cases, offsets=offsets)
        wanted = best_by_linprog(made.matrix, space.distances, cases, np.array(offsets or [0.0] * 3))
        assert found.value == pytest.approx(wanted, abs=1e-7)
        assert found.bound == pytest.approx(wanted, abs=1e-7)
    one = dx.evaluate.optimal_random_remap(made, priors=[dx.Prior.of(cases[0], space)])
    assert one.value == pytest.approx(alone[0], abs=1e-9)


def test_the_geometric_mechanism_is_optimal_for_risk_averse_users() -> None:
    """CABP13 §4.2, "our results can be extended to risk-averse consumers": with a remap that draws (Gupte and
    Sundararajan 2010), for several levels and monotone losses; no table does that."""
    space = dx.line(7)
    for epsilon, loss in ((math.log(2), "distance"), (0.4, "squared"), (1.2, "binary")):
        geometric = dx.classic.geometric(space, epsilon=epsilon)
        found = dx.evaluate.optimal_random_remap(geometric, loss)
        problem = dx.Problem(space, epsilon=epsilon, loss=loss, objective="worst_loss")
        optimum = dx.solve(problem).certificate
        assert found.value == pytest.approx(optimum.value, abs=1e-7)
        assert found.bound == pytest.approx(optimum.bound, abs=1e-6)
        proven = dx.classic.remapped(geometric, loss=loss, objective="worst_loss")
        assert proven.privacy is not None
        assert proven.privacy.epsilon <= epsilon
        assert dx.evaluate.worst_loss(proven, loss) == pytest.approx(optimum.value, abs=1e-7)
    assert dx.evaluate.worst_loss(dx.classic.geometric(space, epsilon=math.log(2))) == pytest.approx(7 / 6)
    assert dx.evaluate.optimal_random_remap(dx.classic.geometric(space, epsilon=math.log(2))).value == pytest.approx(
        0.9878542510121451, abs=1e-9
    )


@pytest.mark.parametrize("seed", few(range(10), 6))
def test_risk_averse_users_with_losses_that_are_drawn(seed: int) -> None:
    """CABP13 §4.2: at any level, for any loss that rises with the distance, TG with a remap that draws is best."""
    rng = np.random.default_rng(seed)
    size, epsilon = int(rng.integers(3, 7)), rng.uniform(0.2, 2)
    rises = rng.random((2, size, size)).cumsum(axis=2)
    losses = np.array([[rises[int(z < y), y, abs(y - z)] for z in range(size)] for y in range(size)])
    space = dx.line(size)
    found = dx.evaluate.optimal_random_remap(dx.classic.geometric(space, epsilon=epsilon), losses)
    best = optimum(dx.Problem(space, epsilon=epsilon, loss=losses, objective="worst_loss"))
    assert found.value == pytest.approx(best, abs=1e-7)


def test_no_table_is_best_for_risk_averse_users() -> None:
    """CABP13 §4.2: all 7^7 tables of the problem of the paper, at 7/6 or more; a remap that draws has 0.988."""
    channel, costs = dx.classic.geometric(dx.line(7), epsilon=math.log(2)).matrix, dx.line(7).distances
    paid = np.zeros((7, 1))
    for report in range(7):
        paid = (paid[:, :, None] + channel[:, report, None, None] * costs[:, None, :]).reshape(7, -1)
    assert paid.shape[1] == 7**7
    assert paid.max(axis=0).min() == pytest.approx(7 / 6)


def test_infinite_losses_are_never_drawn() -> None:
    rng = np.random.default_rng(3)
    channel = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]])
    losses = rng.random((3, 3))
    losses[0, 2] = losses[2, 0] = np.inf
    made = dx.Mechanism.from_matrix(dx.line(3), channel)
    found = dx.evaluate.optimal_random_remap(made, losses)
    assert found.channel[0, 2] == found.channel[1, 0] == found.channel[1, 2] == found.channel[2, 0] == 0
    assert found.bound <= found.value <= found.bound + 1e-7
    losses[1, 1] = np.inf
    with pytest.raises(dx.SpecError, match="infinite after report 1"):
        dx.evaluate.optimal_random_remap(made, losses)
    with pytest.raises(dx.CertificateError, match="loses inf"):
        proven_worst_case(channel, np.eye(3), losses, np.ones(3))


def test_what_is_best_already_stays_as_it_is() -> None:
    made = dx.classic.randomised_response(dx.line(17), epsilon=1.0)
    found = dx.evaluate.optimal_random_remap(made, "binary")
    assert np.array_equal(found.channel, np.eye(17))
    assert found.value == pytest.approx(dx.evaluate.worst_loss(made, "binary"), abs=0)


def test_what_does_not_fit_is_refused() -> None:
    made = dx.classic.geometric(dx.line(4), epsilon=1.0)
    with pytest.raises(dx.SpecError, match="priors"):
        dx.evaluate.optimal_random_remap(made, priors=[])
    with pytest.raises(dx.SpecError, match="offsets"):
        dx.evaluate.optimal_random_remap(made, offsets=[1.0])
    with pytest.raises(dx.UnsupportedError, match="2,197,000"):
        dx.evaluate.optimal_random_remap(dx.classic.geometric(dx.line(130), epsilon=1.0))


@pytest.mark.parametrize("seed", few(range(20)))
def test_bounds_count_every_rounding(seed: int) -> None:
    """Against rationals, where terms nearly cancel and the margin decides."""
    rng = np.random.default_rng(seed)
    channel, losses, weights = rng.dirichlet(np.ones(6), 5), rng.normal(size=(5, 4)), rng.random(5)
    losses -= (weights[:, None] * losses).sum(axis=0) / weights.sum()
    found = bound_of_weights(channel, losses, weights)
    entries, costs, shares = fractions(channel), fractions(losses), [Fraction(one) for one in weights.tolist()]
    terms = [[s * row[z] for s, row in zip(shares, entries, strict=True)] for z in range(6)]

    def paid(z: int, y: int) -> Fraction:
        return sum((term * cost[y] for term, cost in zip(terms[z], costs, strict=True)), Fraction(0))

    exact = sum((min(paid(z, y) for y in range(4)) for z in range(6)), Fraction(0)) / sum(shares)
    assert Fraction(found) <= exact <= Fraction(found) + Fraction(1, 10**12)
    alike = np.tile(losses[:, :1], (1, 4))
    assert Fraction(bound_of_weights(channel, alike, weights)) <= sum(paid(z, 0) for z in range(6)) / sum(shares)
