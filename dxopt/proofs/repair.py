"""From any matrix to a private channel near it.

A column of a channel is private where it lies in the cone {v ≥ 0 : v_b ≥ e^{-εd(a, b)} v_a for all a, b}. So a matrix
is repaired in three steps: raise each column to its closure v_b ← max_a e^{-εd(a, b)} v_a, the least member of the
cone above it; scale the columns so that rows sum to a little less than 1, which keeps them in the cone; give what
each row is short of 1 to one report. The scale leaves room for that shortfall to lie in the cone as well.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError
from dxopt.model.impossible import joined_secrets
from dxopt.model.problem import Problem
from dxopt.numerics.hockey_stick import bound_pairs, least_delta, relaxed_closure
from dxopt.numerics.partition import Partition
from dxopt.numerics.rounding import ALIKE, SMALLEST, UNIT, factor_above
from dxopt.numerics.tropical import scale_into_cone
from dxopt.proofs.beliefs import mix_for_beliefs
from dxopt.proofs.on_workers import close
from dxopt.proofs.privacy import broken_pairs

Array = NDArray[np.float64]

NOTHING = 1e-150
"""Entries up to this count as 0, so that products with factors from `FAINTEST` on are never subnormal."""
FAINTEST = math.exp(-300.0)
"""Larger budgets are kept to as if they were 300, so that no entry pulled by one of 1e-150 is subnormal."""
ROOM = 2.0**-50
MOST_ROOM = 2.0**-30
_RIDGE = 1e-10
_REFINEMENTS = 3
_ATTEMPTS = 20


def repair(problem: Problem, raw: Array) -> Array:
    """Return a channel `(n, m)` near `raw` that `prove_private` proves to be private.

    For `certify`, `user_channel`, and the closed-form route, which needs the loss of what will be proven. With δ > 0,
    entries may stay below their closure as long as the total shortfall is at most δ. With pairs of beliefs, which
    exclude δ, as little of a constant report as they ask for is mixed in (`proofs.beliefs`).

    Any numbers `(n, m)` will do; negative and non-finite ones count as 0, larger ones than 1 as 1. Raises
    CertificateError where no amount of room makes the result private (never seen; better loud than wrong).
    """
    if problem.beliefs is not None:
        repaired = partial(_repair_without_delta, problem)
        return mix_for_beliefs(problem.beliefs, repaired(raw), repaired)
    return _repair_with_delta(problem, raw) if problem.delta else _repair_without_delta(problem, raw)


def _repair_without_delta(problem: Problem, raw: Array) -> Array:
    """Return the repair where δ is 0, by the three steps of the module."""
    # 1. points at distance (nearly) 0 must have equal rows: work on their classes, with the largest factor e^{-εd}
    #    of any two members, rounded up; budgets above 300 count as 300, so that no entry becomes subnormal
    factors = factor_above(problem.level, problem.separations)
    partition = Partition.joining(problem.budgets <= ALIKE)
    factors = -partition.least(-factors)
    factors = np.where(factors > 0, np.maximum(factors, FAINTEST), 0.0)
    np.fill_diagonal(factors, 1.0)
    counts = np.bincount(partition.index)[:, None]
    # 2. probabilities only, averaged over each class, each column raised to its closure
    rows = np.where(np.isfinite(raw) & (raw > NOTHING), np.minimum(raw, 1.0), 0.0)
    rows = close(partition.totals(rows) / counts, factors)
    costs = partition.totals(problem.costs)
    # 3. make rows sum to 1, separately for groups of points that share no constraint
    for group in _groups(factors):
        rows[group] = _normalise(rows[group], factors[group][:, group], costs[group])
    return partition.expand(rows)


def expected_above(problem: Problem, channel: Array) -> float:
    """Return the expected loss of a channel, rounded up, so that a budget is kept to in real numbers."""
    # besides roundings, each product of a probability, an entry and a loss may have been lost to underflow
    paid = (problem.costs * channel).ravel()
    likely = problem.prior.probabilities[:, None] > 0
    counted = np.count_nonzero(likely & (problem.losses != 0) & (channel > 0))
    return math.fsum([*paid, 4 * UNIT * math.fsum(np.abs(paid)), SMALLEST * counted])


def bring_within_budget(problem: Problem, channel: Array, within: Array | None) -> Array:
    """Return a private channel whose expected loss is within the budget of the objective.

    For channels that the repair, or rounding, left above it: mixed with as little as can be of `within`, a private
    channel well within the budget. CertificateError where there is none, or it is not within the budget either.
    """
    budget = problem.objective.max_loss
    loss = expected_above(problem, channel)
    if loss <= budget:
        return channel
    least = math.inf if within is None else expected_above(problem, within)
    if within is not None and least <= budget:
        # the loss of a mixture is the mixture of the losses; a little more each time makes up for the repair's cost,
        # which is of the order of rounding however little is over the budget
        for attempt in range(_ATTEMPTS):
            more = 4.0**attempt
            part = (loss - budget) / (loss - least) * (1 + more * 2.0**-40) + more * UNIT
            mixed = repair(problem, (1 - part) * channel + part * within) if part < 1 else within
            if expected_above(problem, mixed) <= budget:
                return mixed
        # next to the smallest doubles no share is right but all of it
        return within
    raise CertificateError(f"the expected loss {loss} is not brought within its budget {budget}")


def _repair_with_delta(problem: Problem, raw: Array) -> Array:
    """Return the repair where δ > 0: entries may stay below their closure as long as the total shortfall is within δ.

    Groups of secrets that privacy does not join are repaired each by itself, as not all of them may make all reports.
    A δ below what rounding adds to measured excesses gives the repair for δ = 0.
    """
    bound = bound_pairs(problem.separations, problem.pairs)
    delta = problem.delta
    rows = np.where(np.isfinite(raw) & (raw > NOTHING), np.minimum(raw, 1.0), 0.0)
    # 1. keep what is good as it is
    off = max(abs(math.fsum([-1.0, *row])) for row in rows)  # the largest error of a row sum
    if off <= UNIT and least_delta(rows, problem.separations, problem.epsilon, bound) <= delta:
        return rows
    # a channel that is private without δ is kept as well: what rounding adds to its measured excess may be above δ
    if off <= 2 * ROOM and not broken_pairs(rows, factor_above(problem.level, problem.separations)).any():
        return rows
    for group in _members(joined_secrets(problem)):
        rows[group] = _relaxed(problem, rows[group], group, bound)
    if least_delta(rows, problem.separations, problem.epsilon, bound) <= delta:
        return rows
    return _repair_without_delta(problem, rows)


def _relaxed(problem: Problem, rows: Array, group: NDArray[np.int64] | slice, bound: NDArray[np.bool_]) -> Array:
    """Return the rows of a group of secrets, with excesses within δ; nearly so where rounding adds more than δ.

    The columns are scaled so that the shortfall of the rows lies in the cone, which uses up nothing of δ. Where
    rounding still leaves a pair above δ, a constant report is mixed in: the excess of a mixture is at most its share.
    """
    delta = problem.delta
    separations, bound = problem.separations[group][:, group], bound[group][:, group]
    costs = problem.costs[group]
    constant = constant_channel(costs)
    # 2. raise entries until the excess of each bound pair is within δ
    short = rows.sum(axis=1) < 0.5  # nearly empty rows, of which nothing is to be kept
    rows[short] = constant[short]
    factors = np.where(bound, np.maximum(factor_above(problem.level, separations), FAINTEST), 0.0)
    rows = relaxed_closure(rows, factors, delta)
    # 3. make rows sum to 1 by one report; budgets that leave no room for the scale are left to step 4
    rows *= scale_into_cone(rows.sum(axis=1), np.where(1 - factors > max(delta, 2 * ROOM), factors, 0.0), ROOM)
    missing = np.maximum([math.fsum([1.0, *(-row)]) for row in rows], 0.0)
    rows[:, int((missing @ costs).argmin())] += missing
    # 4. mix in a constant report until the excess is proven to be within δ
    for attempt in range(_ATTEMPTS):
        excess = least_delta(rows, separations, problem.epsilon, bound)
        if excess <= delta:
            break
        part = min(max(1 - delta / excess, UNIT) * (1 + 4.0**attempt * 2.0**-20), 1.0)
        rows = (1 - part) * rows + part * constant
        rows += np.array([math.fsum([1.0, *(-row)]) for row in rows])[:, None] * constant
    return rows


def _groups(factors: Array) -> list[NDArray[np.int64]] | list[slice]:
    """Return groups of rows that chains of finite budgets join; rows of different groups share no constraint."""
    return _members(Partition.joining(factors > 0))


def _members(groups: Partition) -> list[NDArray[np.int64]] | list[slice]:
    """Return the members of each group; all of them as a slice where there is one."""
    return [slice(None)] if groups.size == 1 else [groups.members(which) for which in range(groups.size)]


def _normalise(rows: Array, factors: Array, costs: Array) -> Array:
    """Return columns in the cone, scaled so that rows sum to 1, with the last bit of each row given to one report.

    `factors` are e^{-εd}, rounded up; `costs` choose the report. CertificateError where no scale is found.
    """
    # where some row is (nearly) empty, all get a constant report first: rows of zeros could not be scaled. The
    # greater of two columns of the cone is in it as well
    if rows.sum(axis=1).min() < 0.5:
        rows = np.maximum(rows, constant_channel(costs))
    weights = _balance(rows)
    sums = rows @ weights
    # the scale is chosen in real numbers with some room; whether doubles keep to it is tested, each time with more
    room = ROOM
    while room < MOST_ROOM:
        scaled = _scaled(rows, weights * scale_into_cone(sums, factors, room), factors)
        missing = np.array([math.fsum([1.0, *(-row)]) for row in scaled])
        if missing.min() >= 0:
            # the report for which the shortfall costs least; its column must still be its own closure
            slack = [int((missing @ costs).argmin())]
            scaled[:, slack] += missing[:, None]
            if np.array_equal(close(scaled[:, slack], factors), scaled[:, slack]):
                return scaled
        room *= 4
    raise CertificateError("no scale of the columns leaves room for the slack report")


def _scaled(rows: Array, weights: Array, factors: Array) -> Array:
    """Return columns of the cone times weights, which each lie in it to one rounding of either side of a pair.

    `prove_private` has room for that. Entries that become nothing are 0, and those beside them their closure.
    """
    scaled = rows * weights
    faint = (scaled <= NOTHING) & (scaled > 0)
    scaled[faint] = 0.0
    columns = np.flatnonzero(faint.any(axis=0))
    scaled[:, columns] = close(scaled[:, columns], factors)
    return scaled


def constant_channel(costs: Array) -> Array:
    """Return the channel `(n, m)` that always gives the report of least cost, whatever the secret."""
    channel = np.zeros_like(costs)
    channel[:, int(costs.sum(axis=0).argmin())] = 1.0
    return channel


def _balance(rows: Array) -> Array:
    """Return weights of the columns `(m,)` by which rows sum to 1 as nearly as small changes can make them.

    They leave less for the report that makes up for the rest. Least squares by the Gram matrix of the rows, with a
    ridge, since columns of a private channel are much alike.
    """
    from scipy.linalg import cho_factor, cho_solve
    from threadpoolctl import threadpool_limits

    # minimise |w - 1|² with rows·w = 1: w = 1 + rows'·(rows rows' + ridge)⁻¹ (1 - rows·1), refined for the ridge
    weights = np.ones(rows.shape[1])
    with threadpool_limits(limits=1, user_api="blas"):  # several wait for each other for longer than one takes
        gram = rows @ rows.T
        np.fill_diagonal(gram, gram.diagonal() + _RIDGE * gram.trace())
        triangle = cho_factor(gram, overwrite_a=True)
        for _ in range(_REFINEMENTS):
            weights += rows.T @ cho_solve(triangle, 1 - rows @ weights)
    weights = np.maximum(weights, 0.0)
    better = np.abs(rows @ weights - 1).max() < np.abs(rows.sum(axis=1) - 1).max()
    return weights if better else np.ones(rows.shape[1])
