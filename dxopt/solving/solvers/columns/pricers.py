"""Who solves the pricing problems of all reports: this machine, or somebody else by the same contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.solving.solvers.columns.forest import Forest

Array = NDArray[np.float64]


class Pricer(Protocol):
    """Prices the reports of a forest; as they do not depend on each other, whoever does it gets the same trees."""

    def price(self, forest: Forest, row_prices: Array, pivots: int, should_stop: Callable[[], bool]) -> None:
        """Solve the pricing problem of every report at row prices `(n,)`, from its last tree, changed in place.

        Parameters
        ----------
        forest : Forest
        row_prices : (n,) array
        pivots : int
            For each report and root at most.
        should_stop : callable
            Asked several times a second; reports that have not been priced then keep their trees.
        """
        ...


class Here:
    """All cores of this machine."""

    def price(self, forest: Forest, row_prices: Array, pivots: int, should_stop: Callable[[], bool]) -> None:
        forest.price(row_prices, pivots, should_stop)


HERE = Here()
