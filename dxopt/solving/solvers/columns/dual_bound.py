"""The dual side of column generation: the basis forest at some prices, and the best bound that any prices gave.

Prices `(k + r,)` are those of k rows, one for each class of points, and of r shared rows (`coupling_rows`). At fixed
prices of the shared rows these are but costs, so let c_z include them. A class's price is spread evenly over its
points.

**The bound.** For row prices y and multipliers λ_z ≥ 0 let the residual be r_z = c_z - y - A'λ_z (`multipliers`). Any
private channel K has K ≥ 0, A K_z ≥ 0 and rows that sum to 1, so

    Σ_z ⟨c_z, K_z⟩  ≥  Σ_z ⟨y + r_z, K_z⟩  ≥  Σ_x (y_x + min_z r_z(x))  ≥  Σ_x (y_x + min_z min(0, r_z(x))).

The last sum is used here, as only negative parts of the residuals are kept. Its terms are themselves feasible prices,
the floor: as r_z is no less than its negative part, no column of the cone is worth more at them than it costs. Shared
rows with right sides h (`Shared.floors`) and prices w ≥ 0 add ⟨w, h⟩ to the bound, as their terms w'G K are in c_z.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dxopt.solving.solvers.columns.coupling_rows import ConeProgram
from dxopt.solving.solvers.columns.forest import Forest, Pricer

Array = NDArray[np.float64]
_SHY = 1e-8
"""Prices are lowered by so much of their mean: one a hair too high on a far row makes columns of e^36 there."""
_PIVOTS = 2000
"""For each report and each pricing, at most."""
_NEGATIVE = -1e-11
"""Reduced costs below this are worth a column."""


class DualBound:
    """Prices every report, and keeps the best bound with the prices and trees that prove it.

    Attributes
    ----------
    forest : Forest
        The trees of the last pricing.
    value, prices, best_forest : float, (k + r,) array and Forest
        The best bound, and the prices and trees that gave it.
    floor : (k,) array
        Row prices no higher than these, feasible ones: their sum is the bound without the shared rows.
    magnitude : float
        About the size of the optimum; infinite while it is not known.
    """

    def __init__(self, program: ConeProgram, should_stop: Callable[[], bool], pricer: Pricer) -> None:
        self.program = program
        self.sizes = program.sizes
        self.should_stop = should_stop
        self.pricer = pricer
        begin = program.shared.begin()
        self.forest = Forest.of(self.costs(begin), program.factors)
        self.best_forest = self.forest
        self.value = -np.inf
        self.prices = np.concatenate([np.zeros(len(self.sizes)), begin])
        self.floor = self.row_prices
        self.magnitude = np.inf

    @property
    def row_prices(self) -> Array:
        """The part of the best prices that belongs to the rows, `(k,)`."""
        return self.prices[: len(self.sizes)]

    def split(self, prices: Array) -> tuple[Array, Array]:
        """Split prices into those of the rows, and of the shared rows."""
        rows, shared = np.split(prices, [len(self.sizes)])
        return rows, shared

    def costs(self, shared_prices: Array) -> Array:
        """Return the costs of reports in each row, `(m, n)`, at prices of the shared rows."""
        return self.program.costs + self.program.shared.costs(shared_prices)

    def spread(self, row_prices: Array) -> Array:
        """Return the prices of points `(n,)`, given those of their classes."""
        return (row_prices / self.sizes)[self.program.classes.index]

    def feasible(self, prices: Array) -> Array:
        """Return prices near these that the bound allows: each group of shared rows sums to what its t costs."""
        rows, shared = self.split(prices)
        return np.concatenate([rows, self.program.shared.feasible(shared)])

    def extend(self, added: int) -> None:
        """Make room for shared rows that have joined, at a price of 0."""
        self.prices = np.append(self.prices, np.zeros(added))

    def price(self, prices: Array) -> None:
        """Solve the pricing problem of every report at (nearly) these prices, and note the bound."""
        rows, shared = self.split(prices)
        rows = rows - _SHY * min(np.abs(rows).sum(), self.magnitude) / self.sizes.sum() * self.sizes
        if len(shared):
            self.forest = self.forest.at(self.costs(shared))
        self.pricer(self.forest, self.spread(rows), _PIVOTS, self.should_stop)
        self._keep_bound(rows, shared)

    def _keep_bound(self, rows: Array, shared: Array) -> None:
        """Keep the bound of these prices, and the trees that prove it, if it is the best so far."""
        # the least residual of each class, over its points and all reports
        least = np.zeros(len(rows))
        _, rest = self.forest.multipliers(self.spread(rows))
        np.minimum.at(least, self.program.classes.index, rest.min(axis=0))

        floor = rows + self.sizes * least
        right_sides = self.program.shared.floors
        value = float(floor.sum() + shared @ right_sides)
        if value > self.value:
            self.value = value
            self.floor = floor
            self.best_forest = self.forest.copy()
            self.prices = np.concatenate([rows, shared])

    def improving_reports(self, costs: Array, prices: Array) -> NDArray[np.int64]:
        """Find the reports whose last column has a negative reduced cost at the master's prices and costs."""
        columns = self.forest.columns
        rows, _ = self.split(prices)
        reduced = np.einsum("zx,zx->z", costs - self.spread(rows), columns) / columns.max(axis=1)
        return np.flatnonzero(reduced < _NEGATIVE)
