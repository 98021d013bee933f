"""The tree of every report, and its column with 1 at the root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from dxopt.proofs.duals import Dual
from dxopt.solving.solvers.columns.pricing import multipliers, price_reports

Array = NDArray[np.float64]
_TIGHT = 1e-13
_MOST_REPORTS, _LEAST_REPORTS, _WORK = 256, 8, 2**26


@dataclass(frozen=True, eq=False)
class Forest:
    """A tree of tight constraints for each of k reports over n points: see `pricing`.

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
        """The trees as they are now."""
        changing = {one.name: getattr(self, one.name) for one in fields(self)[2:]}
        return Forest(self.costs, self.factors, **{name: array.copy() for name, array in changing.items()})

    def at(self, costs: Array) -> Forest:
        """The same trees, to be priced at other costs `(k, n)`."""
        return replace(self, costs=np.ascontiguousarray(costs))

    def price(self, rows: Array, pivots: int, should_stop: Callable[[], bool]) -> None:
        """Price every report at row prices `(n,)`, from its last tree."""
        step = max(_LEAST_REPORTS, min(_MOST_REPORTS, _WORK // len(self.factors) ** 2))
        for start in range(0, len(self.roots), step):
            if should_stop():
                return
            some = np.arange(start, min(start + step, len(self.roots)))
            trees = self.roots, self.columns, self.parents, self.leads
            price_reports(self.costs, rows, self.factors, *trees, some, pivots, _TIGHT)

    def multipliers(self, rows: Array) -> tuple[Array, Array]:
        """For each edge at row prices `(n,)`, and the negative parts of what is left of r: `(k, n)` each."""
        found, rest = np.empty(self.columns.shape), np.empty(self.columns.shape)
        multipliers(self.costs, rows, self.columns, self.parents, self.leads, self.roots, found, rest)
        return found, rest

    def dual(self, rows: Array) -> Dual:
        """The multipliers of all edges at row prices `(n,)`."""
        found, _ = self.multipliers(rows)
        report, point = np.nonzero(found)
        above, leading = self.parents[report, point].astype(np.int64), self.leads[report, point]
        first, second = np.where(leading, point, above), np.where(leading, above, point)
        return Dual(rows, report, first, second, found[report, point])
