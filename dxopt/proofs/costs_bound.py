"""A lower bound on what a channel costs, from multipliers of any quality: the core of every bound by weak duality.

For λ ≥ 0 on constraints v_b - e^{-εd(a, b)} v_a ≥ 0, Σ_x min_z (c_z - A'λ_z)(x) is no more than Σ_z c_z·v_z, because
K ≥ 0 and its rows sum to 1. With δ the constraints of a pair (a, b) may be broken by δ e^{-εd} in all reports
together, which takes away δ Σ max_z λ e^{-εd}.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxopt.model.problem import Problem
from dxopt.numerics.excess import bound_pairs
from dxopt.numerics.rounding import SMALLEST, UNIT, factor_below, totals
from dxopt.proofs.duals import Dual

Array = NDArray[np.float64]
_TINY = 1e-250


def costs_bound(
    problem: Problem,
    costs: Array,
    weights: Array,
    dual: Dual | None,
    size: Array | None = None,
    terms: float = 3.0,
    costly: NDArray[np.bool_] | None = None,
) -> float:
    """Bound Σ_z c_z·v_z over private channels from below; the secrets' weights are in the costs `(n, m)`.

    Parameters
    ----------
    problem : Problem
    costs : (n, m) array
    weights : (n,) array
    dual : Dual or None
        Multipliers λ of any quality; none count as 0.
    size : (n, m) array, optional
        Sizes of what the costs were computed from; |costs| by default.
    terms : float
        Roundings in the costs, beyond those of the sums made here.
    costly : (n, m) array of bool, optional
        Where a cost is not 0 in real numbers, if the weight is not: by default where the loss is not.
    """
    costs_something: NDArray[np.bool_] = problem.losses != 0 if costly is None else costly
    # A sum of t numbers in any order is off by less than t·2^-53 of the sum of their sizes, to first order; twice
    # that is taken off each entry. So `size` adds up sizes and `counts` the terms of each entry of the residual.
    residual = costs
    size = np.abs(costs) if size is None else size
    counts = np.full(costs.shape, terms)
    penalty = 0.0
    if dual is not None:
        # 1. residual c - A'λ: each λ on v_b - e^{-εd(a, b)} v_a ≥ 0 takes λ from (b, z) and gives λ e^{-εd} to
        #    (a, z); e^{-εd} is rounded down, as a smaller one gives less
        dual = _valid(problem, dual)
        distances = problem.separations[dual.first, dual.second]
        back = dual.multiplier * factor_below(problem.level, distances)
        back = np.where(back < SMALLEST, 0.0, back * (1 - 2 * UNIT))
        there = (dual.second, dual.report)
        origin = (dual.first, dual.report)
        taken = totals(there, dual.multiplier, costs.shape)
        given = totals(origin, back, costs.shape)
        # where multipliers overflow, nothing is proven: the residual counts as -∞
        with np.errstate(over="ignore", invalid="ignore"):
            residual = costs - taken + given
            size = size + taken + given
        residual = np.where(np.isfinite(size), residual, -np.inf)
        for entries in (there, origin):
            counts += totals(entries, np.ones(len(dual.multiplier)), costs.shape)
        # 2. with δ the constraints of a pair may be broken by δ e^{-εd} in all
        if problem.delta:
            penalty = _penalty(problem, dual)
    # 3. each row of the channel sums to 1, so it pays at least its least residual; what underflow may have taken from
    #    the entry of a row is below the smallest normal double, and is taken off
    low = (residual - 2 * counts * UNIT * size).min(axis=1)
    total = math.fsum([*low, -penalty])
    faint = (size < _TINY) & ((size > 0) | (costs_something & (weights > 0)[:, None]))
    underflow = np.count_nonzero(faint.any(axis=1)) * SMALLEST
    return float(total - 4 * UNIT * abs(total) - underflow)


def lost(exactly: float, rounded: float) -> float:
    """Bound what underflow may have taken from a product or quotient that is not 0 in real numbers."""
    return SMALLEST if exactly and abs(rounded) < _TINY else 0.0


def _valid(problem: Problem, dual: Dual) -> Dual:
    """Return the multipliers that are numbers of 0 or more, of pairs that are bound."""
    good = np.isfinite(dual.multiplier) & (dual.multiplier > 0)
    if problem.delta:
        good &= bound_pairs(problem.separations, problem.pairs)[dual.first, dual.second]
    else:
        good &= np.isfinite(problem.separations[dual.first, dual.second])
    return Dual(dual.prices, dual.report[good], dual.first[good], dual.second[good], dual.multiplier[good])


def _penalty(problem: Problem, dual: Dual) -> float:
    """δ Σ_pairs max_z λ e^{-εd}, rounded up."""
    n, m = problem.shape
    pair = dual.first * n + dual.second
    # multipliers of one pair in one report add up; of all reports the largest counts
    cells, cell = np.unique(pair * m + dual.report, return_inverse=True)
    summed = np.bincount(cell, dual.multiplier)
    pairs, which = np.unique(cells // m, return_inverse=True)
    largest = np.zeros(len(pairs))
    np.maximum.at(largest, which, summed)
    budgets = problem.level * problem.separations[pairs // n, pairs % n]
    repeated = int(np.bincount(cell).max(initial=1))
    margin = (repeated + 64) * UNIT * (1 + float(budgets.max(initial=0.0)))
    return problem.delta * math.fsum(largest * np.exp(-budgets)) * (1 + margin)
