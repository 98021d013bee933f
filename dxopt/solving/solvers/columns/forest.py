"""The basis forest: a basis tree for every report, its column with a greatest entry of 1, and the duals it proves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dxopt.proofs.duals import Dual
from dxopt.solving.solvers.columns.basis import Trees, edge_multipliers
from dxopt.solving.solvers.columns.cores import CORES, on_cores
from dxopt.solving.solvers.columns.pricing import price_share

Array = NDArray[np.float64]
_TIGHT = 1e-13
"""The tolerance of pricing: see `price_share`."""
_BATCH_SECONDS = 0.2
_GROWTH = 8.0
"""A batch of reports takes about so many seconds, so that a stop is noticed, and grows by this factor at most."""


@dataclass(frozen=True, eq=False)
class Forest:
    """A basis tree for each of k reports over n points and the ceiling, the last one: see `basis`.

    Trees are kept from one round to the next: prices change little, so few pivots lead to the next optimum.

    Costs, values, parents and leads are `(k, n + 1)`, factors E `(n + 1, n + 1)`.
    """

    costs: Array
    factors: Array
    values: Array
    parents: NDArray[np.int32]
    leads: NDArray[np.bool_]

    @classmethod
    def of(cls, costs: Array, factors: Array) -> Forest:
        """Begin with stars: every point follows that where the report costs least relative to the row's mean.

        Costs are `(k, n)` and factors `(n, n)`, to which the ceiling is added.
        """
        count, size = costs.shape
        mean = costs.mean(axis=0)
        # a row in which nothing costs anything says nothing: it becomes no centre
        ratios = np.where(mean > 0, costs / np.where(mean > 0, mean, 1.0), np.inf)
        centres = ratios.argmin(axis=1).astype(np.int32)
        below = np.block([[factors, np.ones((size, 1))], [np.zeros((1, size)), np.ones((1, 1))]])
        parents = np.repeat(centres[:, None], size + 1, axis=1)
        leads = np.zeros(parents.shape, dtype=bool)
        every = np.arange(count)
        parents[every, centres] = size
        leads[every, centres] = True
        return cls(_with_ceiling(costs), below, below[centres], parents, leads)

    def copy(self) -> Forest:
        """Return the trees as they are now, to be kept while pricing changes these in place."""
        return Forest(self.costs, self.factors, *(array.copy() for array in self.trees))

    @property
    def columns(self) -> Array:
        """The columns `(k, n)`."""
        return self.values[:, :-1]

    @property
    def trees(self) -> Trees:
        """The arrays that pricing changes."""
        return self.values, self.parents, self.leads

    def at(self, costs: Array) -> Forest:
        """Return the same trees, to be priced at other costs `(k, n)`."""
        return replace(self, costs=_with_ceiling(costs))

    def price(self, row_prices: Array, pivots: int, should_stop: Callable[[], bool]) -> None:
        """Solve the pricing problem of every report at row prices `(n,)`, from its last tree, changed in place.

        `should_stop` is asked several times a second; reports that have not been priced then keep their trees.
        """
        # Reports do not depend on each other. Those of a batch are priced in parallel, at first one for each thread,
        # then about as many as go in the time in which a stop is to be noticed.
        start = 0
        step = CORES
        prices = _with_ceiling(row_prices)
        while start < len(self.parents) and not should_stop():
            batch = slice(start, min(start + step, len(self.parents)))
            trees = tuple(array[batch] for array in self.trees)
            began = time.perf_counter()
            count = batch.stop - start
            on_cores(price_share, count, self.costs[batch], prices, self.factors, trees, pivots, _TIGHT)
            spent = max(time.perf_counter() - began, 1e-9)
            start += step
            step = CORES * max(1, int(step / CORES * min(_GROWTH, _BATCH_SECONDS / spent)))

    def multipliers(self, row_prices: Array) -> tuple[Array, Array]:
        """Return the multipliers of edges at row prices `(n,)`, and negative parts of residuals, each `(k, n)`."""
        found = np.empty(self.values.shape)
        rest = np.empty(self.values.shape)
        prices = _with_ceiling(row_prices)
        on_cores(edge_multipliers, len(self.costs), self.costs, prices, self.trees, found, rest)
        return found[:, :-1], rest[:, :-1]

    def dual(self, row_prices: Array) -> Dual:
        """Return the dual to be certified: row prices `(n,)`, and multipliers of pairs v_first ≤ e^d v_second."""
        found, _ = self.multipliers(row_prices)
        report, point = np.nonzero(found)
        above = self.parents[report, point].astype(np.int64)
        leading = self.leads[report, point]

        # x follows p: v_p is at most e^d v_x, and the pair is (p, x); x leads p: the pair is (x, p)
        first = np.where(leading, point, above)
        second = np.where(leading, above, point)
        return Dual(row_prices, report, first, second, found[report, point])


def _with_ceiling(numbers: Array) -> Array:
    """Return costs or prices of points `(..., n)` with a 0 for the ceiling."""
    return np.append(numbers, np.zeros((*numbers.shape[:-1], 1)), axis=-1)


Pricer = Callable[[Forest, Array, int, Callable[[], bool]], None]
"""Prices the reports of a forest as `Forest.price` does, on this machine or elsewhere; the trees are the same."""
