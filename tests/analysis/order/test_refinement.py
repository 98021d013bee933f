"""Which mechanism is better for every prior and loss: against exact linear programs, and against what is known."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import dxopt as dx
from dxopt.analysis.order import refinement
from dxopt.analysis.order.evidence import exact_channel, shortfall_above, shortfall_below
from tests.judges import rational
from tests.material.few import few

Matrix = np.ndarray


def dyadic(rng: np.random.Generator, rows: int, columns: int, parts: int = 8) -> Matrix:
    """A channel of multiples of 1 / parts, so that products of two are exact in doubles."""
    return rng.multinomial(parts, np.full(columns, 1 / columns), size=rows) / parts


def mechanism(matrix: Matrix) -> dx.Mechanism:
    return dx.Mechanism.from_matrix(dx.line(len(matrix)), matrix, dx.Reports(tuple(map(str, range(matrix.shape[1])))))


@pytest.mark.parametrize("seed", few(range(12)))
def test_verdicts_are_those_of_exact_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(2, 5, size=2)
    better = dyadic(rng, 3, a)
    worse = better @ dyadic(rng, a, b) if seed % 2 else dyadic(rng, 3, b)
    exact = rational.shortfall(better, worse)
    found = dx.evaluate.refines(mechanism(better), mechanism(worse))
    assert found.holds is (exact == 0)
    assert found.verdict == ("refines" if exact == 0 else "does not refine")
    assert Fraction(found.low) <= exact <= Fraction(found.high)
    assert found.high - found.low <= 1e-8
    assert rational.missing(better, worse, found.remap) <= Fraction(found.high)
    if found.witness is not None:
        assert rational.advantage(better, worse, found.witness.gains) >= Fraction(found.low)
    assert (found.witness is None) is (exact == 0)


def test_some_of_these_refine_and_some_do_not() -> None:
    rng = np.random.default_rng(1)
    channel = dyadic(rng, 3, 3)
    assert rational.shortfall(np.eye(3), channel) == 0
    assert rational.shortfall(np.full((3, 1), 1.0), np.eye(3)) == Fraction(2, 3)
    found = dx.evaluate.refines(mechanism(np.full((3, 1), 1.0)), mechanism(np.eye(3)))
    assert found.low == pytest.approx(2 / 3, abs=1e-9)
    assert found.high == pytest.approx(2 / 3, abs=1e-9)
    assert str(found).startswith("does not refine: worse by 0.666666 ")
    assert str(dx.evaluate.refines(mechanism(np.eye(3)), mechanism(channel))).startswith("refines: for no prior")


def test_the_witness_is_a_prior_and_a_gain() -> None:
    space = dx.line(6)
    one = dx.classic.exponential(space, epsilon=0.7)
    other = dx.classic.geometric(space, epsilon=0.7)
    found = dx.evaluate.refines(one, other)
    witness = found.witness
    assert witness is not None
    assert ((witness.gain >= 0) & (witness.gain <= 1)).all()
    gains = [dx.evaluate.g_leakage(each, witness.prior, witness.gain).after for each in (other, one)]
    assert gains[0] - gains[1] >= found.low - 1e-12 > 0.2
    losses = [dx.evaluate.adversary_error(each, witness.prior, 1 - witness.gain) for each in (other, one)]
    assert losses[1] - losses[0] >= found.low - 1e-12


def test_the_shortfall_bounds_any_prior_and_gain() -> None:
    """Le Cam's deficiency: no prior and gain from 0 to 1 shows more than `high`."""
    rng = np.random.default_rng(4)
    one, other = (mechanism(rng.dirichlet(np.ones(5), 4)) for _ in range(2))
    found = dx.evaluate.refines(one, other)
    for _ in range(200):
        prior, gain = rng.dirichlet(np.ones(4)), rng.random((4, 6)).round()
        lost = dx.evaluate.utility(other, prior, gain) - dx.evaluate.utility(one, prior, gain)
        assert lost <= found.high + 1e-12


@pytest.mark.parametrize("seed", few(range(6)))
def test_what_the_geometric_mechanism_refines(seed: int) -> None:
    """Gupte and Sundararajan 2010, Thm 2: a private mechanism on a line is made of the geometric one if and only if
    (1 + α²) v_i ≥ α (v_{i-1} + v_{i+1}) in every column, α = e^-ε."""
    rng = np.random.default_rng(seed)
    alpha, n = 0.5, 4
    geometric = dx.classic.geometric(dx.line(n), epsilon=math.log(2))
    assert dx.evaluate.refines(geometric, geometric).holds
    # random paths whose steps are within the level, as columns; what is left of 1 is a last column, private if small
    steps = rng.uniform(-1, 1, (n - 1, 3)) if seed % 2 else rng.uniform(-0.3, 0.3, (n - 1, 3))
    columns = np.exp(math.log(2) * np.concatenate([np.zeros((1, 3)), steps]).cumsum(axis=0))
    columns /= 40 * columns.max(axis=0)
    matrix = np.concatenate([columns, 1 - columns.sum(axis=1, keepdims=True)], axis=1)
    private = dx.certify(matrix, dx.line(n), math.log(2))
    inner = (1 + alpha**2) * matrix[1:-1] - alpha * (matrix[:-2] + matrix[2:])
    assert dx.evaluate.refines(geometric, private).holds is bool((inner >= 0).all())


def test_definition_7_is_about_monotone_losses() -> None:
    """CABP13 Def 7: some private mechanism on a path is no remap of the truncated geometric one, whatever ε; the gain
    that shows it rewards telling the middle from both ends, and is not monotone."""
    space = dx.line(3)
    for epsilon in (0.1, 0.3, math.log(2), 1.2, 2.0, 4.0):
        alpha = math.exp(-epsilon)
        column = np.array([1.0, alpha, 1.0])
        other = dx.certify(np.stack([column, 1 - column], axis=1) / 2 + [[0, 0.5]], space, epsilon, repair=True)
        found = dx.evaluate.refines(dx.classic.geometric(space, epsilon=epsilon), other)
        assert found.holds is False
        assert found.low > 1e-3
        # What is private and refines both has the extreme columns of both, no smaller: more than there is.
        rays = np.array([[1, alpha, alpha**2], [alpha, 1, alpha], [alpha**2, alpha, 1], [1, alpha, 1]]).T
        of_geometric = [*np.linalg.solve(rays[:, :3], np.ones(3)), 0.0]
        of_other = np.array([0, 1, 0, 1]) / (1 + alpha)
        np.testing.assert_allclose(rays @ of_other, 1.0)
        # At any ε: the first secret has (1 + α²)/(1 + α) too much, and the only remap has an entry below 0.
        assert (rays @ np.maximum(of_geometric, of_other))[0] == pytest.approx(1 + (1 + alpha**2) / (1 + alpha))
        lacking = np.linalg.solve(dx.classic.geometric(space, epsilon=epsilon).matrix, column)
        assert lacking[1] == pytest.approx(-alpha * (1 + alpha) / (1 - alpha))


def test_rough_channels_become_exact() -> None:
    rough = np.array([[2.0, 2.0, 0.0], [0.1, 0.2, 0.7], [0.0, np.nan, -1.0], [1e-30, 1.0, np.inf]])
    made = exact_channel(rough)
    assert made[0].tolist() == [0.5, 0.5, 0.0]
    assert made[1] == pytest.approx(rough[1], abs=1e-15)
    assert made[2] == pytest.approx(1 / 3, abs=1e-15)
    assert made[3].tolist() == [0.0, 1.0, 0.0]
    assert all(sum(map(Fraction, row)) == 1 for row in made.tolist())
    assert np.array_equal(exact_channel(made), made)


@pytest.mark.parametrize("seed", few(range(4)))
def test_optima_for_monotone_losses_are_remaps_of_the_geometric_mechanism(seed: int) -> None:
    """CABP13 Def 7 and Thm 8 (Ghosh, Roughgarden and Sundararajan 2009): whatever the prior and the monotone loss."""
    rng = np.random.default_rng(seed)
    space = dx.line(5)
    rises = rng.random((2, 5, 5)).cumsum(axis=2)
    losses = np.array([[rises[int(z < x), x, abs(x - z)] for z in range(5)] for x in range(5)])
    losses -= losses.diagonal()[:, None]
    problem = dx.Problem(space, epsilon=0.6, prior=dx.Prior.from_weights(space, rng.random(5) + 0.05), loss=losses)
    best = dx.solve(problem, method="optimal", solver="highs").mechanism
    geometric = dx.classic.geometric(space, epsilon=0.6)
    assert dx.evaluate.refines(geometric, best, tolerance=1e-5).holds
    assert dx.evaluate.refines(best, geometric, tolerance=1e-5).holds is False


def test_off_paths_no_private_mechanism_refines_all_optima() -> None:
    """CABP13 Thm 9 on a cycle of four answers at ε < ln 2, where the optima for two priors are unique.

    What is private and refines a mechanism whose columns are extreme has these columns, with weights that are no
    smaller. Two optima need more than there is: the weights together give some secret more than probability 1.
    """
    steps = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])
    space = dx.MetricSpace.from_distances(steps.astype(float))
    # extreme columns: each edge is a step of ε up or down
    heights = [(0, a, a + b, a + b + c) for a in (1, -1) for b in (1, -1) for c in (1, -1) if abs(a + b + c) == 1]
    rays = np.exp(0.5 * np.array(heights, dtype=float)).T
    weights = []
    for prior in ([0.4, 0.3, 0.2, 0.1], [0.15, 0.25, 0.35, 0.25]):
        costs = (np.array(prior)[:, None, None] * steps[:, :, None] * rays[:, None, :]).sum(axis=0).min(axis=0)
        weights.append(_only_weights(rays, costs))
        problem = dx.Problem(space, epsilon=0.5, prior=prior, loss="distance")
        assert dx.solve(problem).certificate.value == pytest.approx(costs @ weights[-1], abs=1e-7)
    one, other = (mechanism(rays * each / (rays @ each)[:, None]) for each in weights)
    assert dx.evaluate.refines(one, other).holds is False
    assert dx.evaluate.refines(other, one).holds is False
    assert (rays @ np.maximum(*weights)).max() > 1 + 1e-3


def _only_weights(rays: Matrix, costs: Matrix) -> Matrix:
    """The weights of extreme columns in the private channel of least loss, shown to be the only ones."""
    least = linprog(costs, A_eq=rays, b_eq=np.ones(len(rays)))
    for sign in (1, -1):
        for ray in range(rays.shape[1]):
            side = np.zeros(rays.shape[1])
            side[ray] = sign
            again = linprog(side, A_eq=rays, b_eq=np.ones(len(rays)), A_ub=[costs], b_ub=[least.fun + 1e-12])
            assert again.x[ray] == pytest.approx(least.x[ray], abs=1e-7)
    return np.asarray(least.x)


def test_reports_that_say_the_same_count_as_one() -> None:
    space = dx.line(6)
    whole = dx.classic.geometric(space, epsilon=0.8)
    share = np.random.default_rng(0).random(6)
    split = np.concatenate([whole.matrix * share, whole.matrix * (1 - share)], axis=1)
    parted = mechanism(split)
    assert dx.evaluate.refines(parted, whole).holds
    assert dx.evaluate.refines(whole, parted).holds


def test_columns_that_depend_on_each_other() -> None:
    """More reports than secrets: no algebra tells the remap, but a linear program does."""
    rng = np.random.default_rng(2)
    better = rng.dirichlet(np.ones(9), 6)
    worse = better @ rng.dirichlet(np.full(5, 0.3), 9)
    found = dx.evaluate.refines(mechanism(better), mechanism(worse))
    assert found.holds
    assert rational.missing(better, worse, found.remap) <= Fraction(found.high)
    assert dx.evaluate.refines(mechanism(worse), mechanism(better)).holds is False


def test_a_few_hundred_secrets_and_no_more() -> None:
    space = dx.line(80)
    one = dx.classic.geometric(space, epsilon=0.3)
    other = dx.classic.exponential(space, epsilon=0.3)
    assert dx.evaluate.refines(one, other).holds
    assert dx.evaluate.refines(other, one).holds is False
    large = mechanism(np.eye(401))
    with pytest.raises(dx.UnsupportedError, match="64,481,201 products"):
        dx.evaluate.refines(large, large)


def test_tables_and_what_is_refused() -> None:
    space = dx.line(3)
    exact = dx.classic.geometric(space, epsilon=0.5)
    assert dx.evaluate.refines(dx.integer_table(exact), exact, tolerance=1e-4).holds
    with pytest.raises(dx.SpecError, match="3 and 4 secrets"):
        dx.evaluate.refines(exact, dx.classic.geometric(dx.line(4), epsilon=0.5))
    with pytest.raises(dx.SpecError, match="tolerance"):
        dx.evaluate.refines(exact, exact, tolerance=-1.0)


def test_undecided_is_said() -> None:
    """Where only a large linear program would tell, and none is solved."""
    found = refinement.Refinement(1e-12, 0.5, 1e-8, np.eye(2))
    assert (found.holds, found.verdict) == (None, "undecided")
    assert "between 1e-12 and 0.5" in str(found)


@pytest.mark.parametrize("seed", few(range(20)))
def test_every_rounding_is_counted(seed: int) -> None:
    """Channels that differ in their last places: the proofs stay on their side of the exact shortfall."""
    rng = np.random.default_rng(seed)
    better, remap = rng.dirichlet(np.ones(7), 5), exact_channel(rng.dirichlet(np.ones(6), 7))
    assert all(sum(map(Fraction, row)) == 1 for row in remap.tolist())
    worse = better @ remap
    assert shortfall_above(better, worse, remap) >= rational.missing(better, worse, remap)
    nearly = np.nextafter(better, rng.choice([0.0, 1.0], better.shape))
    gains = rng.random((5, 4))
    # each of these sums is rounded up in every addition
    rising = np.full((60, 1), 1.01 * 2.0**-54)
    rising[0] = 0.5
    ones, nothing = np.ones((60, 1)), np.zeros((60, 1))
    assert 0 < shortfall_below(nothing, rising, ones) <= rational.advantage(nothing, rising, ones)
    assert shortfall_below(better, nearly, gains) <= max(Fraction(0), rational.advantage(better, nearly, gains))
    assert shortfall_below(nearly, better, gains) <= max(Fraction(0), rational.advantage(nearly, better, gains))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("tolerance", [0, 5e-324, 1e-320])
def test_a_mechanism_refines_itself_at_any_tolerance(tolerance: float) -> None:
    mechanism = dx.classic.geometric(dx.line(4), epsilon=1.0)
    assert dx.evaluate.refines(mechanism, mechanism, tolerance=tolerance).holds is not False
