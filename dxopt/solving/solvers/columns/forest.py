"""The basis forest: a basis tree for every report, its column with 1 at the root, and the duals it proves."""

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
    """A basis tree for each of k reports over n points: see `basis`.

    Trees are kept from one round to the next: prices change little, so few pivots lead to the next optimum.

    Costs are `(k, n)`, factors E `(n, n)`, roots `(k,)`, and columns, parents and leads `(k, n)`.
    """

    costs: Array
    factors: Array
    roots: NDArray[np.int32]
    columns: Array
    parents: NDArray[np.int32]
    leads: NDArray[np.bool_]

    @classmethod
    def of(cls, costs: Array, factors: Array) -> Forest:
        """Begin with stars: every point follows the root, where the report costs least relative to the row's mean."""
        mean = costs.mean(axis=0)
        # a row in which nothing costs anything says nothing: it becomes no root
        ratios = np.where(mean > 0, costs / np.where(mean > 0, mean, 1.0), np.inf)
        roots = ratios.argmin(axis=1).astype(np.int32)
        parents = np.repeat(roots[:, None], costs.shape[1], axis=1)
        return cls(costs, factors, roots, factors[roots].copy(), parents, np.zeros(parents.shape, dtype=bool))

    def copy(self) -> Forest:
        """Return the trees as they are now, to be kept while pricing changes these in place."""
        return Forest(self.costs, self.factors, *(array.copy() for array in self.trees))

    @property
    def trees(self) -> Trees:
        """The arrays that pricing changes."""
        return self.roots, self.columns, self.parents, self.leads

    def at(self, costs: Array) -> Forest:
        """Return the same trees, to be priced at other costs `(k, n)`."""
        return replace(self, costs=np.ascontiguousarray(costs))

    def price(self, row_prices: Array, pivots: int, should_stop: Callable[[], bool]) -> None:
        """Solve the pricing problem of every report at row prices `(n,)`, from its last tree, changed in place.

        `should_stop` is asked several times a second; reports that have not been priced then keep their trees.
        """
        # Reports do not depend on each other. Those of a batch are priced in parallel, at first one for each thread,
        # then about as many as go in the time in which a stop is to be noticed.
        start = 0
        step = CORES
        while start < len(self.roots) and not should_stop():
            batch = slice(start, min(start + step, len(self.roots)))
            trees = tuple(array[batch] for array in self.trees)
            began = time.perf_counter()
            count = batch.stop - start
            on_cores(price_share, count, self.costs[batch], row_prices, self.factors, trees, pivots, _TIGHT)
            spent = max(time.perf_counter() - began, 1e-9)
            start += step
            step = CORES * max(1, int(step / CORES * min(_GROWTH, _BATCH_SECONDS / spent)))

    def multipliers(self, row_prices: Array) -> tuple[Array, Array]:
        """Return the multipliers of edges at row prices `(n,)`, and negative parts of residuals, each `(k, n)`."""
        found = np.empty(self.columns.shape)
        rest = np.empty(self.columns.shape)
        on_cores(edge_multipliers, len(self.costs), self.costs, row_prices, self.trees, found, rest)
        return found, rest

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


Pricer = Callable[[Forest, Array, int, Callable[[], bool]], None]
"""Prices the reports of a forest as `Forest.price` does, on this machine or elsewhere; the trees are the same."""
