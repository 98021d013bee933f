"""Stabilisation: what keeps row prices from jumping between rounds.

While few columns are known, the master's prices are far from the optimal ones and jump from round to round, and most
columns priced at them are never used. Besides stopping the master early (`master`) two devices keep prices near:

- **A box**: bounds low ≤ y ≤ high on the row prices y, or those of differences of rows (`differences`), at first
  from 0 to a guess, then around the best prices so far, narrower as the gap closes, and none at the end. It always
  contains feasible prices, those at which no column is worth more than it costs: 0 at first, where costs are 0 or
  more, later the floor. So the dual of the boxed master is feasible, and the master is bounded. A bound that binds
  lets rows miss their sums (see `master`): while there is a box, the master's value is no value of a channel, only
  near one. The rounds may end before the box does, where an incumbent is good enough.
- **Smoothing**: reports are priced between the master's prices and those that gave the best bound (Wentges 1997).

The best prices are those that gave the best bound so far. The gap is that of value and bound, relative to the value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.partition import Partition
from dxopt.solving.solvers.columns.master import Box

Array = NDArray[np.float64]
SMOOTHING = (0.5, 0.9, 0.7, 0.3, 0.0)
"""Shares of the best prices so far in those that are priced, one after another; 0 is the master's prices alone."""
_FIRST_WIDTH = 10.0
"""The first box ends at this times what each row costs under the exponential mechanism."""
_LEAST_LIMIT = 1e-3
"""No row's first limit is less than this times the mean limit, as a row may cost nothing under that mechanism."""
_WIDTH = 10.0
"""Later boxes reach this times the root of the gap to both sides, relative to the price."""
_LEAST_SIZE = 0.1
"""There prices count as no less than this times their mean size, as a price may be near 0."""


def starting_limit(costs: Array, capped: Array, classes: Partition) -> tuple[Array, NDArray[np.int64]]:
    """Return the limits of the first box, from the exponential mechanism with the best remap, and a centre each.

    Parameters
    ----------
    costs : (m, n) array
    capped : (n, n) array
        Finite budgets.
    classes : Partition

    Returns
    -------
    limit : (k,) array
        For the row prices; the box begins at 0.
    centres : (k,) array
        Of the points of a class, the one whose kernel column costs least.
    """
    # 1. the exponential mechanism, and the best report for each of its outputs
    guess = np.exp(-0.5 * capped)
    guess /= guess.sum(axis=1, keepdims=True)
    expected = costs @ guess
    best = expected.argmin(axis=0)

    # 2. the cheapest output of each class
    order = np.lexsort((expected.min(axis=0), classes.index))
    _, first = np.unique(classes.index[order], return_index=True)
    centres = order[first]

    # 3. what each row costs then; prices at the optimum were between 0.23 and 3.5 times that
    sizes = np.bincount(classes.index)
    losses = (guess[:, centres] * costs[best[centres]].T) @ sizes
    limit = _FIRST_WIDTH * classes.totals(losses[:, None])[:, 0]
    return np.maximum(limit, _LEAST_LIMIT * limit.mean()), centres


def box_around(prices: Array, floor: Array, gap: float) -> Box:
    """Return a box around the best prices so far of the combined rows `(k,)`, the closer the gap the narrower.

    `floor` is feasible prices (see `dual_bound`) of these, which the box must contain.
    """
    size = np.abs(prices)
    width = _WIDTH * np.sqrt(gap) * np.maximum(size, _LEAST_SIZE * size.mean())
    return np.minimum(prices - width, floor), np.maximum(prices + width, floor)
