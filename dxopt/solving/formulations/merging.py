"""Points at distance 0 are one row of a program; a dual of the program is carried back to the points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.model.problem import Problem
from dxopt.numerics.partition import Partition
from dxopt.numerics.rounding import ALIKE, totals
from dxopt.proofs.duals import Dual
from dxopt.solving.formulations.contract import Compiled

Array = NDArray[np.float64]


def classes(problem: Problem) -> tuple[Partition, Array]:
    """Classes of points at distance (nearly) 0, and the budgets between them; with δ each point is one of its own."""
    if problem.delta:
        return Partition(np.arange(len(problem.space))), problem.budgets
    partition = Partition.joining(problem.budgets <= ALIKE)
    budgets = partition.least(problem.budgets)
    np.fill_diagonal(budgets, 0.0)
    return partition, budgets


def unscaled(dual: Dual | None, compiled: Compiled, shift: Array, costs: Array) -> Dual | None:
    """The dual of a problem of these costs `(n, m)` from one of its program: carried from classes to points.

    Parameters
    ----------
    dual : Dual or None
    compiled : Compiled
    shift : (k,) array
        What was taken off each row of the costs of the classes.
    costs : (n, m) array
    """
    if dual is None:
        return None
    # 1. undo the scale and the shift of the costs
    prices = shift + compiled.scale * dual.prices
    multiplier = compiled.scale * dual.multiplier
    partition = compiled.partition
    budgets = compiled.problem.budgets
    if partition.trivial:
        first = partition.representatives[dual.first]
        second = partition.representatives[dual.second]
        return Dual(prices[partition.index], dual.report, first, second, multiplier)
    # 2. a pair of classes is represented by its two closest members; prices go to the points in `_within_classes`
    first, second = (points[dual.first, dual.second] for points in partition.closest(budgets))
    lifted = Dual(np.zeros(len(partition.index)), dual.report, first, second, multiplier)
    return _within_classes(lifted, prices, costs, budgets, partition)


def _within_classes(dual: Dual, class_prices: Array, costs: Array, budgets: Array, partition: Partition) -> Dual:
    """The dual of the points, with multipliers within the classes, that proves the bound of the classes.

    Every point's residual is brought to the same number in all reports, its price; what exceeds it is moved to one
    point of the class along distances of (nearly) 0. The least (or largest) residual over the reports makes that
    possible with multipliers of one sign.
    """
    # the residual c - A'λ of every point in every report
    back = dual.multiplier * np.exp(-budgets[dual.first, dual.second])
    residual = costs - totals((dual.second, dual.report), dual.multiplier, costs.shape)
    residual += totals((dual.first, dual.report), back, costs.shape)
    # `prices[x]` becomes a lower bound on the residual of x in every report. A class is a tree of points at distance
    # 0; from the leaves on, what exceeds a point's price moves to its parent by multipliers of its own, report by
    # report: downwards where d(parent, child) is 0, so that the least residual stays; else upwards, the largest.
    prices = np.zeros(len(partition.index))
    reports = np.arange(residual.shape[1])
    extra: list[tuple[NDArray[np.int64], int, int, Array]] = []
    for which in np.flatnonzero(np.bincount(partition.index) > 1):
        members = partition.members(int(which))
        for child, parent in reversed(_tree(budgets, members)):
            downward = budgets[parent, child] <= ALIKE
            first, second = (parent, child) if downward else (child, parent)
            prices[child] = residual[child].min() if downward else residual[child].max()
            moved = np.abs(residual[child] - prices[child])
            residual[parent] += residual[child] - prices[child]
            extra.append((reports, first, second, moved))
        prices[members[0]] = class_prices[which] - prices[members[1:]].sum()
    singles = np.bincount(partition.index)[partition.index] == 1
    prices[singles] = class_prices[partition.index][singles]
    return Dual(
        prices,
        np.concatenate([dual.report, *(report for report, _, _, _ in extra)]),
        np.concatenate([dual.first, *(np.full(len(reports), a) for _, a, _, _ in extra)]),
        np.concatenate([dual.second, *(np.full(len(reports), b) for _, _, b, _ in extra)]),
        np.concatenate([dual.multiplier, *(moved for _, _, _, moved in extra)]),
    )


def _tree(budgets: Array, members: NDArray[np.int64]) -> list[tuple[int, int]]:
    """(child, parent) pairs at distance (nearly) 0 that join the members, parents first, from the first member."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    alike = csr_array(budgets[np.ix_(members, members)] <= ALIKE)
    reached, above = breadth_first_order(alike, 0, directed=False)
    return [(int(members[child]), int(members[above[child]])) for child in reached[1:]]
