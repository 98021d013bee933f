"""Bounds on what any private channel attains, by weak duality, from the numbers of dual.npz alone.

Statement. Let K be a channel, so that K ≥ 0 and Σ_z K[x, z] = 1 in every secret x, with
K[b, z] ≥ e^{-εd(a, b)} K[a, z] - s(a, b, z) for the ordered pairs (a, b) that are bound, where all s are 0 without δ,
and s ≥ 0 with Σ_z s(a, b, z) ≤ δ e^{-εd(a, b)} with it. For any multipliers λ(a, b, z) ≥ 0 and costs c[x, z],

    Σ c[x, z] K[x, z] ≥ Σ_x min_z r[x, z] - δ Σ_(a, b) e^{-εd(a, b)} max_z λ(a, b, z),
    r[x, z] = c[x, z] - Σ_a λ(a, x, z) + Σ_b λ(x, b, z) e^{-εd(x, b)}:

subtracting λ (K[b, z] - e^{-εd} K[a, z] + s) ≥ 0 for every triple leaves Σ r K - Σ λ s, rows of K sum to 1, and
Σ_z λ s is at most max_z λ times Σ_z s.

The expected loss is the case c = π l. The worst loss is no less than the expected one under any weights w ≥ 0 over
their sum: c = w l / Σ w. The error of an adversary is no more than under guesses γ(g | z) of his that he fixes; where
the expected loss is at most Q, a price p ≥ 0 on it gives: error ≤ p Q - Σ c K, with c = π (p l - Σ_g γ d).

All is computed in integers over a power of two. Multipliers are rounded down once, before both their uses, which
leaves multipliers; e^{-εd} is rounded down in r and up in the last sum, costs down: the bounds hold as they stand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.bounds.line import Steps, line_bound
from dxopt.verify.bounds.product import along, apart, joined, marginals, summands
from dxopt.verify.exact import Exact, dot, shrunk
from dxopt.verify.files import Arrays, number, numbers
from dxopt.verify.privacy import Levels
from dxopt.verify.verdict import Broken

Array = NDArray[np.float64]
_PLACES = 256
_AXES = 64
_NONE = {"report": np.zeros(0), "first": np.zeros(0), "second": np.zeros(0), "multiplier": np.zeros(0)}


@dataclass(frozen=True)
class Asked:
    """What a bound is about.

    Attributes
    ----------
    objective : str
    losses : (n, m) array
        Finite; 0 where they do not count.
    prior : (n,) array
    levels : Levels
        Budgets of the pairs that are bound.
    delta : Fraction
    guessed : (n, g) array or None
        What guesses cost an adversary.
    max_loss : float
    shape : tuple of int
        How the secrets are said to be all tuples; a bound from factors is one whatever they are.
    """

    objective: str
    losses: Array
    prior: Array
    levels: Levels
    delta: Fraction
    guessed: Array | None = None
    max_loss: float = np.inf
    shape: tuple[int, ...] = ()


def bound(asked: Asked, dual: Arrays) -> tuple[Fraction, str]:
    """The bound that a dual proves, and how: below the optimum, or above it for the error of an adversary.

    Raises
    ------
    Broken
        If the arrays are no dual of such a problem.
    """
    if "which" in dual and asked.objective == "expected_loss" and not asked.delta:
        return _of_product(asked, dual)
    if "roots" in dual and asked.objective == "expected_loss" and not asked.delta:
        return _on_line(asked, dual)
    if asked.objective == "worst_loss":
        return _worst(asked, dual)
    if asked.objective == "adversary_error":
        return _adversary(asked, dual)
    if asked.objective != "expected_loss" or "multiplier" not in dual:
        raise Broken(f"dual.npz holds no dual of {asked.objective}")
    return _of_costs(asked, _weighted(asked.prior, asked.losses), dual)


@dataclass(frozen=True)
class _Costs:
    """Lower bounds on costs, over 2^places."""

    rows: list[list[int]]
    places: int


def _weighted(weights: Array, losses: Array) -> _Costs:
    places = _places(np.abs(weights[:, None] * losses).max(initial=0.0))
    weighed, paid = Exact.of(weights), Exact.of(losses)
    return _Costs(
        [
            [_shifted(weight * cost, places - weighed.places - paid.places) for cost in row]
            for weight, row in zip(weighed.rows[0], paid.rows, strict=True)
        ],
        places,
    )


def _places(largest: float) -> int:
    return _PLACES - int(np.frexp(largest)[1])


def _shifted(amount: int, up: int) -> int:
    return amount << up if up >= 0 else amount >> -up


def _of_costs(asked: Asked, costs: _Costs, dual: Arrays) -> tuple[Fraction, str]:
    """A lower bound on Σ c K."""
    (n, m), levels = (len(costs.rows), len(costs.rows[0])), asked.levels
    multiplier = numbers(dual, "multiplier", None)
    report, first, second = (
        _indices(dual, key, len(multiplier), size) for key, size in (("report", m), ("first", n), ("second", n))
    )
    good = np.isfinite(multiplier) & (multiplier > 0) & levels.bound[first, second]
    kept = (values[good].tolist() for values in (report, first, second, levels.which[first, second]))
    amounts = Exact.of(multiplier[good]).scaled(costs.places)[0]
    largest: dict[tuple[int, int], dict[int, int]] = {}
    rows = [list(row) for row in costs.rows]
    for z, a, b, kind, amount in zip(*kept, amounts, strict=True):
        rows[b][z] -= amount
        rows[a][z] += shrunk(amount, levels.exponents[kind])[0]
        if asked.delta:
            sums = largest.setdefault((a, b), {})
            sums[z] = sums.get(z, 0) + amount
    lost = sum(shrunk(max(sums.values()), levels.exponents[levels.which[pair]])[1] for pair, sums in largest.items())
    found = (sum(map(min, rows)) - asked.delta * lost) / Fraction(2) ** costs.places
    return found, f"weak duality, {int(np.count_nonzero(good)):,} multipliers"


def _indices(dual: Arrays, key: str, count: int, size: int) -> NDArray[np.int64]:
    found = numbers(dual, key, count)
    wrong = np.flatnonzero((found < 0) | (found >= size) | (found != np.floor(found)))
    if len(wrong):
        raise Broken(f"dual.npz: {key}[{wrong[0]}] is {found[wrong[0]]:g}, of {size}")
    return found.astype(np.int64)


def _on_line(asked: Asked, dual: Arrays) -> tuple[Fraction, str]:
    prices, roots = line_dual(dual, *asked.losses.shape)
    ahead, back = _between(asked.levels, 1), _between(asked.levels, -1)
    return line_dual_bound(asked.prior, asked.losses, prices, roots, ahead, back)


def line_dual(dual: Arrays, size: int, reports: int) -> tuple[Array, NDArray[np.int64]]:
    """Row prices `(n,)` and roots `(m,)`."""
    prices, roots = numbers(dual, "prices", size), _indices(dual, "roots", reports, size)
    if not np.isfinite(prices).all():
        raise Broken(f"dual.npz: prices[{int(np.argmin(np.isfinite(prices)))}] is not finite")
    return prices, roots


def line_dual_bound(
    prior: Array, losses: Array, prices: Array, roots: NDArray[np.int64], ahead: Steps, back: Steps | None = None
) -> tuple[Fraction, str]:
    """From row prices and roots, with ε times the distances of neighbours upwards and downwards; by default alike."""
    costs = _weighted(prior, losses)
    scaled = Exact.of(prices).scaled(costs.places)[0]
    found = line_bound(costs.rows, scaled, roots.tolist(), ahead, ahead if back is None else back)
    return Fraction(found) / Fraction(2) ** costs.places, "weak duality along the line"


def _between(levels: Levels, step: int) -> list[Fraction]:
    """εd between neighbours, upwards or downwards."""
    first = np.arange(len(levels.bound) - 1)
    pairs = (first, first + 1) if step == 1 else (first + 1, first)
    if not levels.bound[pairs].all():
        raise Broken("distances: neighbours on the line are at infinite distance")
    return [levels.exponents[kind] for kind in levels.which[pairs].tolist()]


def _of_product(asked: Asked, dual: Arrays) -> tuple[Fraction, str]:
    """From the factors, see `products`: along an axis the largest distance counts, which says most of the factor."""
    shape, levels = asked.shape, asked.levels
    if len(shape) > _AXES or math.prod(shape) != len(asked.prior) or asked.losses.shape[0] != asked.losses.shape[1]:
        raise Broken(f"report.json: the shape {list(shape)} is not of {asked.losses.shape[0]} secrets and reports")
    parts, (losses, missed) = marginals(asked.prior, shape), summands(asked.losses, shape)

    def proven(axis: int) -> Fraction:
        bound_along = np.asarray(along(levels.bound, shape, axis).all(axis=0))
        which = np.asarray(along(levels.which, shape, axis).max(axis=0))
        inner = Levels(bound_along, which, levels.distances, levels.exponents, levels.below)
        return bound(Asked(asked.objective, losses[axis], parts[axis], inner, Fraction(0)), duals[axis])[0]

    duals = factor_duals(dual, len(shape))
    largest = [np.abs(part).max(axis=1) for part in losses]
    off = apart(asked.prior, parts, largest) + Fraction(float(asked.prior @ missed)) * (1 + Fraction(1, 10**9))
    found = joined([proven(axis) for axis in range(len(shape))], parts) - off
    return found, f"{len(shape)} factors by weak duality, less {float(off):.1e}"


def factor_duals(dual: Arrays, count: int) -> list[Arrays]:
    """The dual of each factor of a product."""
    places = _indices(dual, "which", count, count).tolist()
    return [_inner(dual, place) for place in places]


def _inner(dual: Arrays, place: int = 0) -> Arrays:
    start = f"{place}/"
    return {key.removeprefix(start): array for key, array in dual.items() if key.startswith(start)}


def _worst(asked: Asked, dual: Arrays) -> tuple[Fraction, str]:
    n = len(asked.losses)
    weights, inner = np.zeros(n), _NONE
    if "weights" in dual:
        weights, inner = numbers(dual, "weights", n), _inner(dual)
    elif dual["multiplier"].size:
        raise Broken("dual.npz holds no weights on the secrets")
    else:
        weights[int(asked.losses.min(axis=1).argmax())] = 1.0
    weights = np.where(np.isfinite(weights), np.maximum(weights, 0.0), 0.0)
    if not weights.any():
        raise Broken("dual.npz: all weights are 0")
    found, how = _of_costs(asked, _weighted(weights, asked.losses), inner)
    exact = Exact.of(weights)
    return found * (1 << exact.places) / sum(exact.rows[0]), f"{how} under {np.count_nonzero(weights)} weights"


def _adversary(asked: Asked, dual: Arrays) -> tuple[Fraction, str]:
    if asked.guessed is None:
        raise Broken("problem.npz: there is no array adversary_loss")
    m, size = asked.losses.shape[1], asked.guessed.shape[1]
    if "guesses" in dual:
        guesses, price, inner = numbers(dual, "guesses", m, size), number(dual, "price"), _inner(dual)
    elif dual["multiplier"].size:
        raise Broken("dual.npz holds no guesses")
    else:
        guesses, price, inner = np.zeros((m, size)), 0.0, _NONE
        guesses[:, int((asked.prior @ asked.guessed).argmin())] = 1.0
    guesses = np.where(np.isfinite(guesses), np.maximum(guesses, 0.0), 0.0)
    price = max(price, 0.0) if np.isfinite(price) else 0.0
    if not guesses.any(axis=1).all():
        raise Broken(f"dual.npz: there is no guess after report {int(np.argmin(guesses.any(axis=1)))}")
    found, how = _of_costs(asked, _guessed(asked, asked.guessed, guesses, price), inner)
    return Fraction(price) * Fraction(asked.max_loss) - found, f"{how}, guesses, a price of {price:.6g}"


def _guessed(asked: Asked, guessed: Array, guesses: Array, price: float) -> _Costs:
    """π (p l - Σ_g γ d / Σ_g γ), rounded down."""
    used = asked.losses
    places = _places(max(price * np.abs(used).max(initial=0.0), np.abs(guessed).max(initial=0.0)))
    beliefs, paid, missed, weights = map(Exact.of, (asked.prior, used, guessed, guesses))
    cost, chosen = Fraction(price), [np.flatnonzero(row).tolist() for row in guesses]
    sums = [sum(row) for row in weights.rows]
    picked = [[row[g] for g in some] for row, some in zip(weights.rows, chosen, strict=True)]
    up, down = places - beliefs.places - paid.places, beliefs.places + missed.places
    rows = []
    for belief, losses, misses in zip(beliefs.rows[0], paid.rows, missed.rows, strict=True):
        row = []
        for z, some in enumerate(chosen):
            won = belief * dot(picked[z], [misses[g] for g in some])
            spent = _shifted(belief * losses[z] * cost.numerator, up) // cost.denominator
            row.append(spent + -_shifted(won, max(places, 0)) // (sums[z] << down + max(-places, 0)))
        rows.append(row)
    return _Costs(rows, places)
