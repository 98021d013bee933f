"""The rows that columns share besides their sums, as column generation sees them: some at a time, with their prices.

In each group of rows an extra variable t is no less than any of some linear forms of the columns: the master
minimises their maximum, times what t costs. By duality, prices of 0 or more that sum to that cost over a group take
the place of the maximum by one mixture of the forms, which is no greater: at fixed prices the forms are but costs of
the columns, every report is priced on its own again, and the bound holds. Two kinds of programs have such rows:

- the worst loss over a set of priors: its groups, in which some prices have caps (`Worst`); for all priors there is
  one group, and the loss of each secret is a form;
- an adversary's error within a budget: a group for each report, and what the adversary wins by each guess is a form;
  the budget is one more row, on its own (`Guesses`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dxopt.numerics.partition import Partition
from dxopt.numerics.prior_polytope import Mixtures
from dxopt.solving.programs.coupling import GuessRows, WorstRows
from dxopt.solving.programs.program import ChannelProgram

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
FAR = 36.0
"""Budgets count as no larger."""
_OVER = 1e-9
"""A row counts as broken beyond this."""
_LEAST = 1e-15
"""Prices of guesses are raised to this before they are scaled to sum to 1."""
_GUESSES = 5
"""About how many guesses of each report there will be rows for."""
_PRICE = 16.0
"""The first limit on the price of the budget is this divided by what the cheapest channel leaves of the budget."""
_DEARER = 4.0
"""The factor by which that limit grows when the budget is broken."""
_GROUP = 2.0
"""The limit on prices of a group, in units of their sum: twice as much as any can be."""


class Shared:
    """Rows B v + G t ≥ h that are in the master; prices of them are `(r,)` arrays of 0 or more. None by default.

    Attributes
    ----------
    extras : (r, e) array
        G.
    expense : (e,) array
        What t costs.
    floors : (r,) array
        h.
    most : (r,) array
        Upper bounds on the prices: no price need be higher, or may be where it is capped.
    """

    def __init__(self) -> None:
        self.extras: Array = np.zeros((0, 0))
        self.expense: Array = np.zeros(0)
        self.floors: Array = np.zeros(0)
        self.most: Array = np.zeros(0)

    @property
    def expected(self) -> int:
        """The number of rows to be expected, for the estimate of memory."""
        return len(self.floors)

    def entries(self, columns: Array, reports: Indices) -> Array:
        """Return what columns `(n, k)` of some reports add to each row, B v, `(r, k)`."""
        return np.zeros((0, columns.shape[1]))

    def costs(self, prices: Array) -> Array | float:
        """Return what the shared rows add to the cost of each report in each row at these prices, `(m, n)`."""
        return 0.0

    def feasible(self, prices: Array) -> Array:
        """Return prices near these of which each group sums to what its t costs, so that the bound holds."""
        return prices

    def value(self, channel: Array) -> float:
        """Return the cost of t for a channel `(n, m)`, all rows counted, also those that are not in the master."""
        return 0.0

    def begin(self) -> Array:
        """Return prices to begin with."""
        return np.zeros(len(self.floors))

    def refine(self, channel: Array) -> int:
        """Add the rows that a channel breaks most to those in the master; return how many."""
        return 0

    def written(self, prices: Array) -> Array:
        """Return the prices of all rows, in the order of `written()` of the coupling."""
        return prices


class Worst(Shared):
    """t_g ≥ Σ_z l(x, z) v_z mixed by each form of a group: the prices are weights on the forms, which give a prior.

    Where there are classes of secrets, the forms are their means, and a price is spread evenly.
    """

    def __init__(self, rows: WorstRows) -> None:
        self.losses = rows.losses
        self.index = rows.index
        self.classes = rows.classes
        self.sizes = np.ones(1) if rows.classes is None else np.bincount(rows.classes.index)
        self.among = rows.among if rows.classes is None else Mixtures.everyone(len(self.sizes))
        self.extras = (self.among.group[:, None] == np.arange(len(self.among.masses))).astype(float)
        self.expense = self.among.masses
        self.floors = np.zeros(self.among.rows) if rows.classes is not None else rows.floors
        self.most = np.minimum(self.among.caps, _GROUP * self.among.masses[self.among.group])

    def _forms(self, secrets: Array) -> Array:
        """Apply the forms to a number for each secret, `(n, k)` to `(r, k)`."""
        return self.among.of(secrets) if self.classes is None else self.classes.totals(secrets) / self.sizes[:, None]

    def _spread(self, prices: Array) -> Array:
        """Return the prices of all secrets, `(n,)`."""
        return self.among.prior(prices) if self.classes is None else (prices / self.sizes)[self.classes.index]

    def entries(self, columns: Array, reports: Indices) -> Array:
        return -self._forms(self.losses[:, reports] * columns[self.index])

    def costs(self, prices: Array) -> Array:
        """Return the losses weighted by the prior that the prices give, added up over secrets of one row."""
        # secrets that are one row of the columns add up there
        weighted = (self._spread(prices)[:, None] * self.losses).T
        if len(self.index) == self.index.max() + 1:  # every secret has its own row: argsort inverts `index`
            return np.ascontiguousarray(weighted[:, np.argsort(self.index)])
        summed = np.zeros((len(weighted), int(self.index.max()) + 1))
        np.add.at(summed.T, self.index, weighted.T)
        return summed

    def begin(self) -> Array:
        """Return prices that are positive wherever any may be; with classes, those of the uniform prior."""
        if self.classes is None:
            return self.among.begin
        return self.sizes / len(self.losses)

    def feasible(self, prices: Array) -> Array:
        return self.among.tidied(prices)

    def value(self, channel: Array) -> float:
        """Return the worst loss, or regret, of a channel over the set of priors."""
        lost = self._forms((self.losses * channel[self.index]).sum(axis=1, keepdims=True))[:, 0]
        return self.among.largest_of(lost + self.floors)

    def written(self, prices: Array) -> Array:
        return prices if self.classes is None else self._spread(prices)


class Guesses(Shared):
    """The budget, and a group t_z ≥ M_g·v_z for each report z, of which only likely guesses g are in the master.

    Row 0 is the budget; row 1 + i is guess `guess[i]` after report `report[i]`, or the mean of its class, `forms[i]`.
    No bound on the budget's price is known before: where the budget is broken at the highest price allowed (`price`),
    that is raised.
    """

    def __init__(self, rows: GuessRows) -> None:
        self.won = rows.won
        self.paid = rows.paid
        self.budget = rows.budget
        self.orbits = rows.orbits
        self.report = np.zeros(0, dtype=np.int64)
        self.guess = np.zeros(0, dtype=np.int64)
        self.forms = np.zeros((0, len(self.won)))
        spare = self.budget - float(self.paid.min(axis=1).sum())  # what the cheapest channel leaves
        self.price = _PRICE / max(spare, 1e-6)

        # one guess for each report at first: the one that wins most before any report
        reports = self.paid.shape[1]
        self._join(np.arange(reports), np.full(reports, int(self.won.sum(axis=0).argmax())))

    @property
    def expected(self) -> int:
        return _GUESSES * self.paid.shape[1]

    def _join(self, reports: Indices, guesses: Indices) -> None:
        """Let guesses after some reports join; set G, h and the bounds on prices for the rows there are now."""
        forms = self._shares(reports, guesses) @ self.won.T
        self.report = np.append(self.report, reports)
        self.guess = np.append(self.guess, guesses)
        self.forms = np.vstack([self.forms, forms])
        count = len(self.guess)
        self.expense = np.ones(self.paid.shape[1])
        self.extras = np.zeros((1 + count, self.paid.shape[1]))
        self.extras[1 + np.arange(count), self.report] = 1.0
        self.floors = np.append(-self.budget, np.zeros(count))
        self.most = np.append(self.price, np.full(count, _GROUP))

    def _shares(self, reports: Indices, guesses: Indices) -> sparse.csr_array:
        """Return the weight of every guess in the row of each (report, guess), `(r, g)`: 1, or even in its class."""
        count = self.won.shape[1]
        if self.orbits is None:
            return sparse.csr_array(
                (np.ones(len(guesses)), guesses, np.arange(len(guesses) + 1)), (len(guesses), count)
            )
        alike = self.orbits[reports] == self.orbits[reports, guesses][:, None]
        return sparse.csr_array(alike / alike.sum(axis=1, keepdims=True))

    def entries(self, columns: Array, reports: Indices) -> Array:
        """Return minus what columns pay (row 0), and minus what each guess wins by columns of its report."""
        paid = -(self.paid[:, reports] * columns).sum(axis=0)
        own = np.zeros((len(self.report), columns.shape[1]))
        order = np.argsort(self.report, kind="stable")
        starts = np.searchsorted(self.report[order], np.arange(self.paid.shape[1] + 1))
        for report in np.unique(reports):
            rows = order[starts[report] : starts[report + 1]]
            there = np.flatnonzero(reports == report)
            own[np.ix_(rows, there)] = -(self.forms[rows] @ columns[:, there])
        return np.vstack([paid, own])

    def costs(self, prices: Array) -> Array:
        """Return what columns pay at the price of the budget, and win by the guesses mixed at their prices."""
        rows = len(self.report)
        mixed = sparse.csr_array((prices[1:], (self.report, np.arange(rows))), (self.paid.shape[1], rows))
        return prices[0] * self.paid.T + mixed @ self.forms

    def begin(self) -> Array:
        return np.append(self.price / _PRICE, np.ones(len(self.guess)))

    def feasible(self, prices: Array) -> Array:
        """Scale the prices of the guesses after each report to sum to 1."""
        kept = np.append(max(prices[0], 0.0), np.maximum(prices[1:], _LEAST))
        totals = np.bincount(self.report, kept[1:], minlength=self.paid.shape[1])
        return np.append(kept[0], kept[1:] / totals[self.report])

    def _won_after_reports(self, channel: Array) -> Array:
        """Return what each guess wins after each report, `(g, m)`; the mean over its class where there are any."""
        won = self.won.T @ channel
        if self.orbits is None:
            return won
        pairs = self.orbits.ravel()
        counts = np.maximum(np.bincount(pairs), 1)
        return (np.bincount(pairs, won.T.ravel()) / counts)[self.orbits].T

    def value(self, channel: Array) -> float:
        """Return what the best guesses win, and a penalty for what is paid over the budget.

        The penalty is 4 times the current limit on the budget's price for each unit over: a heuristic, as that limit
        may still be too low.
        """
        over = max(float((self.paid * channel).sum()) - self.budget, 0.0)
        return float(self._won_after_reports(channel).max(axis=0).sum()) + _DEARER * self.price * over

    def refine(self, channel: Array) -> int:
        """Let the best guess after a report join if it wins more than those there; raise a broken budget's limit."""
        # 1. a broken budget gets dearer
        if (self.paid * channel).sum() > self.budget + _OVER:
            self.price *= _DEARER

        # 2. reports after which some guess wins more than all those in the master
        won = self._won_after_reports(channel)
        best = won.argmax(axis=0)
        known = np.full(won.shape[1], -np.inf)
        np.maximum.at(known, self.report, won[self.guess, self.report])
        reports = np.flatnonzero(won.max(axis=0) > known * (1 + _OVER) + _OVER / len(known))

        # 3. their best guesses join
        self._join(reports, best[reports])
        return len(reports)

    def written(self, prices: Array) -> Array:
        """Return the prices of all guesses, spread evenly over classes, then that of the budget."""
        mixed = np.zeros((self.paid.shape[1], self.won.shape[1]))
        shares = self._shares(self.report, self.guess).tocoo()
        rows, guesses = shares.coords
        np.add.at(mixed, (self.report[rows], guesses), prices[1:][rows] * shares.data)
        return np.append(mixed.ravel(), prices[0])


def shared_rows(program: ChannelProgram) -> Shared:
    """Return the rows that the columns of a program share besides their sums."""
    match program.coupling:
        case WorstRows():
            return Worst(program.coupling)
        case GuessRows():
            return Guesses(program.coupling)
    return Shared()


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """A channel program as column generation sees it.

    Attributes
    ----------
    costs : (m, n) array
        Those of the columns alone, without the shared rows.
    factors : (n, n) array
        E = e^{-d}, which obeys the triangle inequality.
    classes : Partition
        The master couples means over these classes of points.
    shared : Shared
    offset : float
        The accuracy of masters is relative to their value and this.
    """

    costs: Array
    factors: Array
    classes: Partition
    shared: Shared
    offset: float = 0.0

    @classmethod
    def of(cls, program: ChannelProgram) -> ConeProgram:
        """Return it for a program, whose budgets count as 36 where they are above."""
        own = np.ascontiguousarray(program.costs.T)
        factors = np.exp(-np.minimum(program.budgets, FAR))
        np.fill_diagonal(factors, 1.0)
        classes = program.classes or Partition(np.arange(len(factors)))
        offset = program.offset if program.coupling is not None else 0.0
        return cls(own, factors, classes, shared_rows(program), offset)

    @cached_property
    def sizes(self) -> Indices:
        """The number of points in each class."""
        return np.bincount(self.classes.index)

    @property
    def rows(self) -> int:
        """The number of rows of the master."""
        return self.classes.size + len(self.shared.floors)
