"""Every rounding of the verifier counted: bounds, sums and comparisons against rationals, where margins decide."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dxopt.verify.bounds.dual import Asked, bound, line_dual_bound
from dxopt.verify.bounds.line import rough_line_bound
from dxopt.verify.bounds.multipliers import marginals, prior_missed, summands
from dxopt.verify.prior_sets import everyone
from dxopt.verify.privacy import Levels, bound_pairs
from tests.judges.duality import by_multipliers, on_line, products

TIMES = 30
TINY = 2.0**-1060
ALMOST = Fraction(1, 10**30)


def apart(rng: np.random.Generator, size: int) -> np.ndarray:
    """Distances of points on a line at no round places."""
    places = np.sort(rng.random(size)) * 10.0 ** rng.uniform(-2, 1)
    return np.abs(places[:, None] - places[None, :])


def asked(rng: np.random.Generator, objective: str, scale: float, delta: float = 0.0) -> Asked:
    """A question of four secrets and three reports."""
    distances = apart(rng, 4)
    epsilon = float(rng.uniform(0.3, 3))
    levels = Levels.of(distances, bound_pairs(distances, "all"), Fraction(epsilon))
    losses = scale * rng.standard_normal((4, 3))
    guessed = scale * rng.random((4, 5))
    prior = rng.dirichlet(np.ones(4))
    return Asked(objective, losses, prior, levels, Fraction(delta), guessed, float(scale * rng.random()))


def budgets(question: Asked) -> list[list[Fraction]]:
    """εd of all pairs."""
    return [[question.levels.exponent(kind) for kind in row] for row in question.levels.which.tolist()]


def multipliers(rng: np.random.Generator, scale: float) -> dict[str, np.ndarray]:
    """A dozen, some of them for the same triple."""
    first = rng.integers(0, 4, 12)
    amounts = scale * 10.0 ** rng.uniform(-6, 0, 12)
    found = {"report": rng.integers(0, 3, 12), "first": first, "second": (first + rng.integers(1, 4, 12)) % 4}
    return {"multiplier": amounts, **{key: array.astype(float) for key, array in found.items()}}


def triples(dual: dict[str, np.ndarray]) -> list[tuple[int, int, int, float]]:
    """Its entries, one after another."""
    report, first, second = (dual[key].astype(int).tolist() for key in ("report", "first", "second"))
    return list(zip(report, first, second, dual["multiplier"].tolist(), strict=True))


def parts(dual: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """As the part of another dual."""
    return {f"0/{key}": array for key, array in dual.items()}


@pytest.mark.parametrize("scale", [1.0, TINY])
@pytest.mark.parametrize("delta", [0.0, 0.3])
def test_multipliers(delta: float, scale: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(TIMES):
        question = asked(rng, "expected_loss", scale, delta)
        dual = multipliers(rng, scale)
        costs = products(question.prior.tolist(), question.losses.tolist())
        exact = by_multipliers(costs, budgets(question), triples(dual), Fraction(delta))
        found = bound(question, dual)[0]
        assert exact - Fraction(scale) * ALMOST <= found <= exact


@pytest.mark.parametrize("scale", [1.0, TINY])
def test_weights(scale: float) -> None:
    rng = np.random.default_rng(2)
    for _ in range(TIMES):
        question = replace(asked(rng, "worst_loss", scale), priors=everyone(4))
        inner = multipliers(rng, scale)
        weights = rng.random(4)
        costs = products(weights.tolist(), question.losses.tolist())
        exact = by_multipliers(costs, budgets(question), triples(inner)) / sum(map(Fraction, weights.tolist()))
        found = bound(question, {"weights": weights, **parts(inner)})[0]
        assert exact - Fraction(scale) * ALMOST <= found <= exact


@pytest.mark.parametrize("scale", [1.0, TINY])
def test_guesses(scale: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(TIMES):
        question = asked(rng, "adversary_error", scale)
        inner = multipliers(rng, scale)
        guesses = rng.random((3, 5)) * (rng.random((3, 5)) > 0.2) + 0.01
        price = float(rng.random())
        odds = [[Fraction(number) for number in row] for row in guesses.tolist()]
        assert question.guessed is not None
        missed = [[Fraction(number) for number in row] for row in question.guessed.tolist()]
        costs = [
            [
                Fraction(belief) * (
                    Fraction(price) * Fraction(losses[z])
                    - sum((a * b for a, b in zip(row, misses, strict=True)), Fraction(0)) / sum(row)
                )
                for z, row in enumerate(odds)
            ]
            for belief, losses, misses in zip(question.prior.tolist(), question.losses.tolist(), missed, strict=True)
        ]  # fmt: skip
        left = by_multipliers(costs, budgets(question), triples(inner))
        exact = Fraction(price) * Fraction(question.max_loss) - left
        found = bound(question, {"guesses": guesses, "price": np.array(price), **parts(inner)})[0]
        assert exact <= found <= exact + Fraction(scale) * ALMOST


@pytest.mark.parametrize("spread", [1.0, 1e-6, 1e-9])
@pytest.mark.parametrize("size", [2, 7])
def test_prices_on_a_line(size: int, spread: float) -> None:
    """In integers and in doubles: where costs are next to their prices, what is moved is small."""
    rng = np.random.default_rng(size)
    for _ in range(TIMES):
        prior = rng.dirichlet(np.ones(size))
        losses = 1 + spread * rng.standard_normal((size, 3))
        prices = prior * (1 + spread * rng.standard_normal(size))
        roots = rng.permutation(size + 2)[:3] % size
        steps = [Fraction(float(rng.uniform(0.05, 0.9))) for _ in range(size - 1)]
        exact = on_line(products(prior.tolist(), losses.tolist()), prices.tolist(), roots.tolist(), steps)
        found = line_dual_bound(prior, losses, prices, roots, steps, steps)[0]
        assert exact - ALMOST <= found <= exact
        rough = rough_line_bound(prior, losses.__getitem__, prices, roots, steps, math.inf)
        assert exact - Fraction(1, 10**12) <= rough <= exact


def test_prices_on_a_line_that_is_longer_one_way() -> None:
    rng = np.random.default_rng(8)
    for _ in range(TIMES):
        ups, downs = np.cumsum(rng.uniform(0.1, 1, (2, 5)), axis=1)
        distances = np.where(
            np.triu(np.ones((5, 5))) > 0, ups[None, :] - ups[:, None], downs[:, None] - downs[None, :]
        )
        question = Asked(
            "expected_loss",
            rng.random((5, 3)),
            rng.dirichlet(np.ones(5)),
            Levels.of(distances, bound_pairs(distances, "all"), Fraction(1)),
            Fraction(0),
        )
        prices = question.prior * rng.random(5)
        roots = rng.permutation(5)[:3]
        ahead = [Fraction(float(distances[x, x + 1])) for x in range(4)]
        back = [Fraction(float(distances[x + 1, x])) for x in range(4)]
        costs = products(question.prior.tolist(), question.losses.tolist())
        exact = on_line(costs, prices.tolist(), roots.tolist(), ahead, back)
        found = bound(question, {"prices": prices, "roots": roots.astype(float)})[0]
        assert exact - ALMOST <= found <= exact


@pytest.mark.parametrize("scale", [1.0, 1e-12])
def test_what_is_no_product_is_not_understated(scale: float) -> None:
    """A prior and a loss next to a product and a sum: by rounding alone, and by a little more."""
    rng = np.random.default_rng(6)
    for noise in [0.0] * TIMES + [1e-9] * 5:
        one, other = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4))
        prior = np.multiply.outer(one, other).reshape(-1) * (1 + noise * rng.standard_normal(12))
        first, second = scale * rng.random((3, 3)), scale * rng.random((4, 4))
        losses = (first[:, None, :, None] + second[None, :, None, :]).reshape(12, 12)
        losses = losses * (1 + noise * rng.standard_normal((12, 12)))
        made = marginals(prior, (3, 4))
        sizes = [rng.random(3), rng.random(4)]
        exact = Fraction(0)
        for x in range(12):
            i, j = divmod(x, 4)
            product = Fraction(float(made[0][i])) * Fraction(float(made[1][j]))
            size = Fraction(float(sizes[0][i])) + Fraction(float(sizes[1][j]))
            exact += abs(Fraction(float(prior[x])) - product) * size
        found = prior_missed(prior, made, sizes)
        assert exact <= found <= exact + Fraction(1, 10**14)
        pieces, missed = summands(losses, (3, 4))
        for x in range(12):
            i, j = divmod(x, 4)
            off = max(
                abs(
                    Fraction(float(losses[x, z]))
                    - Fraction(float(pieces[0][i, z // 4]))
                    - Fraction(float(pieces[1][j, z % 4]))
                )
                for z in range(12)
            )
            assert off <= Fraction(float(missed[x])) <= off + Fraction(scale) * Fraction(1, 10**14)
