"""Every rounding counted: what is claimed of doubles against rationals, at sizes where the margin decides.

Each claim is made of many random instances, so that one whose margin is dropped, or turned, is false of some of them.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.kernel import KernelMechanism, prove_kernel
from dxopt.numerics.rounding import UNIT, factor_above
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import certify
from dxopt.proofs.duals import AdversaryDual, Dual, LineDual, WorstDual, pack_dual, unpack_dual
from dxopt.proofs.privacy import prove_private, realised_levels, require_channel
from dxopt.proofs.repair import expected_above
from tests.judges.duality import by_multipliers, on_line, products
from tests.judges.exact import violations

TIMES = 40
TINY = 2.0**-1060
"""Products of numbers of this size have a few digits at most."""


def apart(epsilon: float, distances: np.ndarray) -> list[list[Fraction]]:
    """εd as the product of two doubles."""
    return [[Fraction(epsilon) * Fraction(float(length)) for length in row] for row in distances]


def posed(rng: np.random.Generator, size: int, reports: int, spread: float, scale: float = 1.0) -> dx.Problem:
    """Points on a line at no round distances; losses of a size that differ by a part of it."""
    space = dx.MetricSpace.from_points(np.sort(rng.random(size)) * 10.0 ** rng.uniform(-2, 1))
    losses = scale * (1 + spread * rng.standard_normal((size, reports)))
    prior = dx.Prior.from_weights(space, rng.random(size) + 0.1)
    return dx.Problem(space, epsilon=float(rng.uniform(0.3, 3)), prior=prior, loss=losses)


def multipliers(rng: np.random.Generator, size: int, reports: int, count: int, largest: float) -> Dual:
    """Multipliers between any two secrets, of sizes that differ."""
    first = rng.integers(0, size, count)
    second = (first + rng.integers(1, size, count)) % size
    amounts = largest * 10.0 ** rng.uniform(-6, 0, count)
    return Dual(np.zeros(size), rng.integers(0, reports, count), first, second, amounts)


def triples(dual: Dual) -> list[tuple[int, int, int, float]]:
    """Its entries, one after another."""
    lists = (dual.report.tolist(), dual.first.tolist(), dual.second.tolist(), dual.multiplier.tolist())
    return list(zip(*lists, strict=True))


@pytest.mark.parametrize("scale", [1.0, TINY])
@pytest.mark.parametrize("count", [1, 12])
def test_multipliers_prove_no_more_than_they_do(count: int, scale: float) -> None:
    rng = np.random.default_rng(count)
    for spread in np.repeat([1.0, 1e-6], TIMES):
        problem = posed(rng, 4, 3, spread, scale)
        dual = multipliers(rng, 4, 3, count, scale * 0.3 * spread)
        exact = by_multipliers(
            products(problem.prior.probabilities.tolist(), problem.losses.tolist()),
            apart(problem.epsilon, problem.space.distances),
            triples(dual),
        )
        found = Fraction(proven_bound(problem, dual)[0])
        assert exact - Fraction(scale) * Fraction(1, 10**12) - 8 * Fraction(2) ** -1022 <= found <= exact


@pytest.mark.parametrize("scale", [1.0, TINY])
def test_least_losses_prove_no_more_than_they_do(scale: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(4 * TIMES):
        problem = posed(rng, 5, 3, 0.3, scale)
        rows = products(problem.prior.probabilities.tolist(), problem.losses.tolist())
        exact = sum(map(min, rows), start=Fraction(0))
        found = Fraction(proven_bound(problem, None)[0])
        assert exact - Fraction(scale) * Fraction(1, 10**14) - 8 * Fraction(2) ** -1022 <= found <= exact


@pytest.mark.parametrize("budget", [1e-3, 30.0, 600.0])
@pytest.mark.parametrize("repeated", [1, 4000])
def test_delta_costs_no_less_than_it_does(repeated: int, budget: float) -> None:
    """Costs that are 0 or large leave the penalty alone; multipliers next to one of 1 are lost in doubles."""
    rng = np.random.default_rng(repeated)
    for _ in range(TIMES if repeated == 1 else 4):
        distances = np.array([[0.0, budget], [budget, 0.0]]) * rng.uniform(0.9, 1.1)
        space = dx.MetricSpace.from_distances(distances)
        losses = np.array([[0.0, 4.0], [0.0, 4.0]])
        asked = dx.Problem(space, epsilon=float(rng.uniform(0.9, 1.1)), prior=[0.5, 0.5], loss=losses, delta=0.3)
        amounts = np.array([rng.random(), *[1e-17] * (repeated - 1)])
        ones, zeros = np.ones(repeated, dtype=np.int64), np.zeros(repeated, dtype=np.int64)
        dual = Dual(np.zeros(2), ones, zeros, ones, amounts)
        costs = products([0.5, 0.5], losses.tolist())
        exact = by_multipliers(costs, apart(asked.epsilon, distances), triples(dual), Fraction(0.3))
        found = Fraction(proven_bound(asked, dual)[0])
        assert exact * (1 + Fraction(1, 10**9)) <= found <= exact < 0


@pytest.mark.parametrize("scale", [1.0, TINY])
def test_weights_prove_no_more_than_they_do(scale: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(2 * TIMES):
        problem = posed(rng, 4, 3, 0.5, scale).but(objective="worst_loss")
        weights = rng.random(4) * 10.0 ** rng.uniform(-3, 3 if scale == 1 else 300)
        inner = multipliers(rng, 4, 3, 6, scale * 0.1)
        costs = products(weights.tolist(), problem.losses.tolist())
        total = by_multipliers(costs, apart(problem.epsilon, problem.space.distances), triples(inner))
        exact = total / sum(map(Fraction, weights.tolist()))
        found = Fraction(proven_bound(problem, WorstDual(weights, inner))[0])
        assert exact - Fraction(scale) * Fraction(1, 10**11) - 8000 * Fraction(2) ** -1022 <= found <= exact


def test_weights_count_their_own_roundings() -> None:
    """With few multipliers, next to losses that are small: what is left to the roundings of the weights decides."""
    rng = np.random.default_rng(0)
    for size, reports, count in [(2, 1, 1), (2, 2, 1), (2, 2, 1), (3, 2, 1), (3, 2, 2)] * TIMES:
        space = dx.MetricSpace.from_points(np.sort(rng.random(size)) * 10.0 ** rng.uniform(-8, 0))
        losses = 1e-8 * rng.standard_normal((size, reports))
        problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=losses, objective="worst_loss")
        weights = rng.random(size)
        inner = multipliers(rng, size, reports, count, 1.0)
        costs = products(weights.tolist(), losses.tolist())
        total = by_multipliers(costs, apart(1.0, space.distances), triples(inner))
        exact = total / sum(map(Fraction, weights.tolist()))
        found = Fraction(proven_bound(problem, WorstDual(weights, inner))[0])
        assert exact - Fraction(1, 10**10) <= found <= exact


def test_no_dual_is_written_as_prices_of_0() -> None:
    written = unpack_dual(pack_dual(None, 3))
    assert isinstance(written, Dual)
    assert np.array_equal(written.prices, np.zeros(3))


@pytest.mark.parametrize("scale", [1.0, TINY])
@pytest.mark.parametrize("many", [3, 200])
def test_guesses_prove_no_less_than_they_do(many: int, scale: float) -> None:
    """Guesses of any sum count as the probabilities they are in proportion to."""
    rng = np.random.default_rng(many)
    for _ in range(TIMES if many < 10 else 6):
        missed = scale * rng.random((3, many))
        budget = float(scale * rng.random())
        objective = dx.AdversaryError(budget, missed)
        problem = posed(rng, 3, 4, 0.5, scale).but(objective=objective)
        guesses = rng.random((4, many))
        price = float(rng.random())
        inner = multipliers(rng, 3, 4, 5, scale * 0.1)
        odds = [[Fraction(number) for number in row] for row in guesses.tolist()]
        costs = [
            [
                Fraction(belief)
                * (
                    Fraction(price) * Fraction(losses[z])
                    - sum((a * Fraction(b) for a, b in zip(row, misses, strict=True)), Fraction(0)) / sum(row)
                )
                for z, row in enumerate(odds)
            ]
            for belief, losses, misses in zip(
                problem.prior.probabilities.tolist(), problem.losses.tolist(), missed.tolist(), strict=True
            )
        ]
        left = by_multipliers(costs, apart(problem.epsilon, problem.space.distances), triples(inner))
        exact = Fraction(price) * Fraction(budget) - left
        found = Fraction(proven_bound(problem, AdversaryDual(guesses, price, inner))[0])
        assert exact <= found <= exact + Fraction(scale) * Fraction(1, 10**10) + 100 * Fraction(2) ** -1022


def test_guesses_next_to_nothing_are_not_lost_in_a_long_sum() -> None:
    """Each guess of 1e-17 is lost beside the one of 1, where it costs the adversary twice as much."""
    many = 20_000
    space = dx.line(2)
    missed = np.full((2, many), 2.0)
    missed[:, 0] = 1.0
    objective = dx.AdversaryError(1.0, missed)
    problem = dx.Problem(space, epsilon=1.0, prior=[0.5, 0.5], loss=np.ones((2, 1)), objective=objective)
    guesses = np.full((1, many), 1e-17)
    guesses[0, 0] = 1.0
    small = (many - 1) * Fraction(1e-17)
    exact = (1 + 2 * small) / (1 + small)
    found = Fraction(proven_bound(problem, AdversaryDual(guesses, 0.0, Dual(np.zeros(2))))[0])
    assert exact <= found <= exact * (1 + Fraction(1, 10**10))


@pytest.mark.parametrize("spread", [1.0, 1e-6, 1e-9])
@pytest.mark.parametrize("size", [2, 9])
def test_prices_on_a_line_prove_no_more_than_they_do(size: int, spread: float) -> None:
    """Where costs are next to their prices, what is moved is small against what it was rounded from."""
    rng = np.random.default_rng(size)
    for _ in range(TIMES):
        problem = posed(rng, size, 3, spread)
        prices = problem.prior.probabilities * (1 + spread * rng.standard_normal(size))
        roots = rng.permutation(size + 2)[:3] % size
        costs = products(problem.prior.probabilities.tolist(), problem.losses.tolist())
        around = apart(problem.epsilon, problem.space.distances)
        steps = [around[x][x + 1] for x in range(size - 1)]
        exact = on_line(costs, prices.tolist(), roots.tolist(), steps)
        found = Fraction(proven_bound(problem, LineDual(prices, roots))[0])
        growth = math.exp(float(sum(steps)))
        assert exact - Fraction(growth) * Fraction(1, 10**12) <= found <= exact


@pytest.mark.parametrize("scale", [1.0, TINY])
def test_the_loss_of_a_channel_is_not_understated(scale: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(TIMES):
        problem = posed(rng, 5, 4, 0.5, scale)
        channel = rng.dirichlet(np.ones(4), 5)
        rows = products(problem.prior.probabilities.tolist(), problem.losses.tolist())
        exact = sum(
            (cost * Fraction(entry) for row, entries in zip(rows, channel.tolist(), strict=True)
             for cost, entry in zip(row, entries, strict=True)),
            start=Fraction(0),
        )  # fmt: skip
        most = exact * (1 + Fraction(1, 10**14)) + 21 * Fraction(2) ** -1022
        assert exact <= Fraction(expected_above(problem, channel)) <= most


@pytest.mark.parametrize("amount", [1e-3, 1e-17, 1e-300, 5e-324])
def test_an_entry_below_0_is_no_probability(amount: float) -> None:
    channel = np.array([[0.5, 0.5, 0.0], [0.5, 0.5 + amount, -amount]])
    with pytest.raises(dx.CertificateError, match="no probabilities"):
        require_channel(channel)
    require_channel(np.array([[0.5, 0.5, -0.0]]))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_an_entry_that_is_no_number_is_no_probability(number: float) -> None:
    channel = np.full((2, 2), 0.5)
    channel[1, 1] = number
    with pytest.raises(dx.CertificateError, match="no probabilities"):
        require_channel(channel)


def test_rows_sum_to_1_within_the_bits_that_are_promised() -> None:
    for sign in (1, -1):
        require_channel(np.array([[0.25, 0.75 + sign * 2.0**-50]]))
        with pytest.raises(dx.CertificateError, match="sums to 1 only within"):
            require_channel(np.array([[0.5, 0.5], [0.25, 0.75 + sign * (2.0**-50 + 2.0**-53)]]))


@pytest.mark.parametrize("budget", [1e-15, 1e-6, 1.0, 30.0, 300.0, 650.0])
def test_the_realised_level_is_enough_and_hardly_more(budget: float) -> None:
    """The private level of two rows whose ratio is any double, at a distance that is no round number."""
    rng = np.random.default_rng(int(budget))
    for _ in range(TIMES):
        length = float(10.0 ** rng.uniform(-3, 3))
        space = dx.MetricSpace.from_distances(np.array([[0.0, length], [length, 0.0]]))
        asked = dx.Problem(space, epsilon=(budget + 1) / length, prior=[0.5, 0.5], loss=np.ones((2, 2)))
        low = float(rng.uniform(0.1, 0.3)) * math.exp(-budget)
        high = low * math.exp(budget) * float(1 + 4 * UNIT * rng.integers(-3, 4))
        channel = np.array([[high, 1 - high], [low, 1 - low]])
        realised = prove_private(asked, channel)
        assert violations(channel, space.distances, realised) == []
        assert realised * length <= budget * (1 + 1e-14) + 1e-14
        least = float(realised_levels(channel, space.distances).max())
        assert realised - 1e-13 * (1 + budget) / length <= least <= realised


def test_what_a_repair_leaves_is_proven() -> None:
    """Entries next to each other by a rounded product with the factor of the proof, at any budget."""
    rng = np.random.default_rng(5)
    for _ in range(10 * TIMES):
        length = float(10.0 ** rng.uniform(-6, 2.5))
        space = dx.MetricSpace.from_distances(np.array([[0.0, length], [length, 0.0]]))
        asked = dx.Problem(space, epsilon=1.0, prior=[0.5, 0.5], loss=np.ones((2, 2)))
        high = float(rng.uniform(0.1, 0.3))
        low = high * float(factor_above(1.0, np.array([length]))[0])
        prove_private(asked, np.array([[high, 1 - high], [low, 1 - low]]))


@pytest.mark.parametrize("roots", [[0, 3, 1], [0, -1, 1], [0, 1]])
def test_roots_that_are_no_points_prove_nothing(roots: list[int]) -> None:
    space = dx.line(3)
    asked = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))
    with pytest.raises(dx.CertificateError, match="do not fit a line"):
        proven_bound(asked, LineDual(np.full(3, 0.1), np.array(roots)))


def test_a_mechanism_by_structure_is_only_as_private_as_it_says() -> None:
    space = dx.line(40)
    asked = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary")
    looser = dx.tight_constraints(space, 1.0)
    assert certify(asked, Candidate(looser)).certificate.epsilon <= 1.0
    with pytest.raises(dx.CertificateError, match=r"not proven private at 0\.999"):
        certify(asked.at(0.999), Candidate(looser))
    matrix = dx.Mechanism.from_matrix(space, looser.matrix)
    assert certify(asked, Candidate(matrix)).certificate.epsilon <= 1.0
    with pytest.raises(dx.CertificateError, match="told apart"):
        certify(asked.at(0.999), Candidate(matrix))


@pytest.mark.parametrize("wrong", [-0.1, math.nan, math.inf])
def test_a_kernel_of_weights_below_0_is_refused(wrong: float) -> None:
    space = dx.line(40)
    found = dx.tight_constraints(space, 1.0)
    assert isinstance(found, KernelMechanism)
    weights = found.weights.copy()
    prove_kernel(space, 1.0, found.kernel, found.epsilon, weights)
    weights[7] = wrong
    with pytest.raises(dx.CertificateError, match="not all numbers of 0 or more"):
        prove_kernel(space, 1.0, found.kernel, found.epsilon, weights)
