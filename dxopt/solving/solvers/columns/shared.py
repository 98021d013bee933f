"""The rows that columns share beside their sums, as column generation sees them: some at a time, with their prices.

In each group of rows a number t is no less than any of some forms of the columns, and costs 1; so prices of a group
that sum to 1 turn the forms into costs, and prove a bound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from dxopt.solving.programs.coupling import GuessRows, WorstRows
from dxopt.solving.programs.program import ChannelProgram

Array = NDArray[np.float64]
Places = NDArray[np.int64]
_OVER = 1e-9
_LEAST = 1e-15
_GUESSES = 5
_PRICE, _DEARER = 16.0, 4.0


class Shared(ABC):
    """Some rows B v + G t ≥ h; prices of them are `(r,)` arrays of 0 or more.

    Attributes
    ----------
    extras : (r, e) array
        G.
    floors : (r,) array
        h.
    most : (r,) array
        No price need be higher.
    expected : int
        About how many rows there will be.
    """

    extras: Array
    floors: Array
    most: Array

    @property
    def expected(self) -> int:
        return len(self.floors)

    @abstractmethod
    def entries(self, columns: Array, reports: Places) -> Array:
        """B for columns `(n, k)` of some reports, `(r, k)`."""

    @abstractmethod
    def costs(self, prices: Array) -> Array | float:
        """What the prices make of a report in each row, `(m, n)`."""

    @abstractmethod
    def feasible(self, prices: Array) -> Array:
        """The nearest prices of which each group sums to 1."""

    @abstractmethod
    def value(self, channel: Array) -> float:
        """Σ t for a channel `(n, m)`."""

    def begin(self) -> Array:
        """Prices to begin with."""
        return np.zeros(len(self.floors))

    def refine(self, channel: Array) -> int:
        """Take in the rows that a channel breaks most; how many."""
        return 0

    def written(self, prices: Array) -> Array:
        """The prices of all rows, in the order of `written()` of the coupling."""
        return prices


class Alone(Shared):
    """Columns that share nothing but their sums."""

    def __init__(self) -> None:
        self.extras, self.floors, self.most = np.zeros((0, 0)), np.zeros(0), np.zeros(0)

    def entries(self, columns: Array, reports: Places) -> Array:
        return np.zeros((0, columns.shape[1]))

    def costs(self, prices: Array) -> float:
        return 0.0

    def feasible(self, prices: Array) -> Array:
        return prices

    def value(self, channel: Array) -> float:
        return 0.0


class Worst(Shared):
    """One group: the loss of each secret."""

    def __init__(self, rows: WorstRows) -> None:
        self.losses, self.index = rows.losses, rows.index
        size = len(self.losses)
        self.extras, self.floors, self.most = np.ones((size, 1)), np.zeros(size), np.full(size, 2.0)

    def entries(self, columns: Array, reports: Places) -> Array:
        return -self.losses[:, reports] * columns[self.index]

    def costs(self, prices: Array) -> Array:
        weighted = (prices[:, None] * self.losses).T
        if len(self.index) == self.index.max() + 1:
            return np.ascontiguousarray(weighted[:, np.argsort(self.index)])
        summed = np.zeros((len(weighted), int(self.index.max()) + 1))
        np.add.at(summed.T, self.index, weighted.T)
        return summed

    def begin(self) -> Array:
        return np.full(len(self.losses), 1 / len(self.losses))

    def feasible(self, prices: Array) -> Array:
        kept = np.maximum(prices, _LEAST)
        return kept / kept.sum()

    def value(self, channel: Array) -> float:
        return float((self.losses * channel[self.index]).sum(axis=1).max())


class Guesses(Shared):
    """The budget, and a group for each report, of which only guesses that the adversary would make are there.

    A budget that is broken at the price that is thought to be the highest makes that higher.
    """

    def __init__(self, rows: GuessRows) -> None:
        self.missed, self.paid, self.budget = rows.missed, rows.paid, rows.budget
        reports = self.paid.shape[1]
        self.report = np.arange(reports)
        self.guess = np.full(reports, int(self.missed.sum(axis=0).argmax()))
        spare = self.budget - float(self.paid.min(axis=1).sum())
        self.price = _PRICE / max(spare, 1e-6)
        self._arrange()

    @property
    def expected(self) -> int:
        return _GUESSES * self.paid.shape[1]

    def _arrange(self) -> None:
        count, reports = len(self.guess), self.paid.shape[1]
        self.extras = np.zeros((1 + count, reports))
        self.extras[1 + np.arange(count), self.report] = 1.0
        self.floors = np.append(-self.budget, np.zeros(count))
        self.most = np.append(self.price, np.full(count, 2.0))

    def entries(self, columns: Array, reports: Places) -> Array:
        paid = -(self.paid[:, reports] * columns).sum(axis=0)
        won = (self.missed.T @ columns)[self.guess]
        return np.vstack([paid, np.where(self.report[:, None] == reports, -won, 0.0)])

    def costs(self, prices: Array) -> Array:
        return prices[0] * self.paid.T + self._mixed(prices) @ self.missed.T

    def _mixed(self, prices: Array) -> Array:
        mixed = np.zeros((self.paid.shape[1], self.missed.shape[1]))
        np.add.at(mixed, (self.report, self.guess), prices[1:])
        return mixed

    def begin(self) -> Array:
        return np.append(self.price / _PRICE, np.ones(len(self.guess)))

    def feasible(self, prices: Array) -> Array:
        kept = np.append(max(prices[0], 0.0), np.maximum(prices[1:], _LEAST))
        totals = np.bincount(self.report, kept[1:], minlength=self.paid.shape[1])
        return np.append(kept[0], kept[1:] / totals[self.report])

    def value(self, channel: Array) -> float:
        over = max(float((self.paid * channel).sum()) - self.budget, 0.0)
        return float((self.missed.T @ channel).max(axis=0).sum()) + _DEARER * self.price * over

    def refine(self, channel: Array) -> int:
        if (self.paid * channel).sum() > self.budget + _OVER:
            self.price *= _DEARER
        won = self.missed.T @ channel
        best, taken = won.argmax(axis=0), np.zeros(won.shape, dtype=bool)
        taken[self.guess, self.report] = True
        allowed = np.where(taken, won, -np.inf).max(axis=0)
        reports = np.flatnonzero(won.max(axis=0) > allowed * (1 + _OVER) + _OVER / len(allowed))
        self.report = np.append(self.report, reports)
        self.guess = np.append(self.guess, best[reports])
        self._arrange()
        return len(reports)

    def written(self, prices: Array) -> Array:
        return np.append(self._mixed(prices).ravel(), prices[0])


def shared_rows(program: ChannelProgram) -> Shared:
    """What the columns of a program share."""
    match program.coupling:
        case WorstRows():
            return Worst(program.coupling)
        case GuessRows():
            return Guesses(program.coupling)
    return Alone()
