"""The basis forest: a basis tree for every report, its column with 1 at the root, and the duals it proves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from dxopt.proofs.duals import Dual
from dxopt.solving.solvers.columns.basis import edge_multipliers
from dxopt.solving.solvers.columns.cores import CORES
from dxopt.solving.solvers.columns.pricing_parallel import price_reports

Array = NDArray[np.float64]
_TIGHT = 1e-13
"""The tolerance of pricing: see `price_reports`."""
_BATCH_SECONDS = 0.2
_GROWTH = 8.0
"""Reports are priced in batches, so that a stop is noticed: in about so much time each, and growing so fast."""


@dataclass(frozen=True, eq=False)
class Forest:
    """A basis tree for each of k reports over n points: see `basis`.

    Trees are kept from one round to the next: prices change little, so few pivots lead to the next optimum.

    Attributes
    ----------
    costs : (k, n) array
    factors : (n, n) array
        E.
    roots : (k,) array
    columns, parents, leads : (k, n) arrays
    """

    costs: Array
    factors: Array
    roots: NDArray[np.int32]
    columns: Array
    parents: NDArray[np.int32]
    leads: NDArray[np.bool_]

    @classmethod
    def of(cls, costs: Array, factors: Array) -> Forest:
        """Stars, where every point follows the root: the row in which the report costs least, against its mean."""
        mean = costs.mean(axis=0)
        ratios = np.where(mean > 0, costs / np.where(mean > 0, mean, 1.0), np.inf)
        roots = ratios.argmin(axis=1).astype(np.int32)
        parents = np.repeat(roots[:, None], costs.shape[1], axis=1)
        return cls(costs, factors, roots, factors[roots].copy(), parents, np.zeros(parents.shape, dtype=bool))

    def copy(self) -> Forest:
        """Return the trees as they are now."""
        changing = {field.name: getattr(self, field.name) for field in fields(self)[2:]}
        return Forest(self.costs, self.factors, **{name: array.copy() for name, array in changing.items()})

    def at(self, costs: Array) -> Forest:
        """Return the same trees, to be priced at other costs `(k, n)`."""
        return replace(self, costs=np.ascontiguousarray(costs))

    def price(self, row_prices: Array, pivots: int, should_stop: Callable[[], bool]) -> None:
        """Solve the pricing problem of every report at row prices `(n,)`, from its last tree, changed in place.

        Parameters
        ----------
        row_prices : (n,) array
        pivots : int
            For each report and root at most.
        should_stop : callable
            Asked several times a second; reports that have not been priced then keep their trees.
        """
        # Reports do not depend on each other. Those of a batch are priced in parallel, at first one for each thread,
        # then about as many as go in the time in which a stop is to be noticed.
        threads = CORES
        start = 0
        step = threads
        while start < len(self.roots) and not should_stop():
            batch = np.arange(start, min(start + step, len(self.roots)))
            trees = self.roots, self.columns, self.parents, self.leads
            began = time.perf_counter()
            price_reports(self.costs, row_prices, self.factors, *trees, batch, pivots, _TIGHT)
            spent = max(time.perf_counter() - began, 1e-9)
            start += step
            step = threads * max(1, int(step / threads * min(_GROWTH, _BATCH_SECONDS / spent)))

    def multipliers(self, row_prices: Array) -> tuple[Array, Array]:
        """Return multipliers of all edges at row prices `(n,)`, and the negative parts of residuals: `(k, n)`."""
        found = np.empty(self.columns.shape)
        rest = np.empty(self.columns.shape)
        edge_multipliers(self.costs, row_prices, self.columns, self.parents, self.leads, self.roots, found, rest)
        return found, rest

    def dual(self, row_prices: Array) -> Dual:
        """Return the row prices `(n,)` and the multipliers of all edges, as pairs v_first ≤ e^d v_second."""
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
