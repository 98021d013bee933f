"""The linear program of a problem as a careful user writes it, for solvers that dxopt competes with.

Variables are the entries K[x, z], column by column. Independent of dxopt's own program and reductions.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

import dxopt as dx
from benchmarks.contract import Array, Places
from dxopt.proofs.duals import Dual

BYTES_A_ROW = 500
"""What a solver needs at the least for a constraint of two entries: the matrix, a copy, and its factors."""

_COUNTED = 12


@dataclass(frozen=True, eq=False)
class Triples:
    """Constraints K[first, z] ≤ e^{budget} K[second, z] for reports z, as arrays `(r,)`."""

    report: Places
    first: Places
    second: Places

    def __len__(self) -> int:
        return len(self.report)

    def joined(self, other: Triples) -> Triples:
        """Return these, then the other ones."""
        return Triples(
            np.concatenate([self.report, other.report]),
            np.concatenate([self.first, other.first]),
            np.concatenate([self.second, other.second]),
        )


@dataclass(frozen=True, eq=False)
class Program:
    """Costs and the pairs that matter: what is handed to a peer before the clock starts.

    Attributes
    ----------
    costs : (n, m) array
        π_x l(x, z).
    budgets : (n, n) array
        ε·d(x, x').
    first, second : (k,) arrays
        The pairs (x, x') that no third point lies between; the others are implied.
    """

    costs: Array
    budgets: Array
    first: Places
    second: Places

    @classmethod
    def of(cls, problem: dx.Problem) -> Program:
        """Return the program of a problem."""
        return cls(problem.costs, problem.budgets, *necessary(problem.budgets))

    @property
    def everywhere(self) -> Triples:
        """The constraint of every pair in every report."""
        reports, pairs = self.costs.shape[1], len(self.first)
        return Triples(
            np.repeat(np.arange(reports), pairs), np.tile(self.first, reports), np.tile(self.second, reports)
        )

    @property
    def totals(self) -> sp.csc_array:
        """Σ_z K[x, z], a row for each secret."""
        return sp.csc_array(sp.kron(np.ones((1, self.costs.shape[1])), sp.eye_array(len(self.costs))))

    def rows(self, triples: Triples) -> sp.csc_array:
        """Rows of e^{budget/2} K[second, z] - e^{-budget/2} K[first, z], which are to be 0 or more."""
        size, reports = self.costs.shape
        half = self.budgets[triples.first, triples.second] / 2
        place = np.arange(len(triples))
        columns = (triples.report * size + triples.second, triples.report * size + triples.first)
        return sp.csc_array(
            (np.concatenate([np.exp(half), -np.exp(-half)]), (np.tile(place, 2), np.concatenate(columns))),
            shape=(len(triples), size * reports),
        )

    def channel(self, primal: Array) -> Array:
        """Return the matrix of a solution."""
        return primal.reshape(self.costs.shape[::-1]).T

    def dual(self, prices: Array, triples: Triples, multipliers: Array) -> Dual:
        """Multipliers of `rows`, for the bound."""
        half = self.budgets[triples.first, triples.second] / 2
        unscaled = np.maximum(multipliers, 0.0) * np.exp(half)
        return Dual(prices, triples.report, triples.first, triples.second, unscaled)


def necessary(budgets: Array) -> tuple[Places, Places]:
    """Return the pairs without a third point in between, up to rounding; on a graph, its edges."""
    following = [neighbours(budgets, x) for x in range(len(budgets))]
    return np.repeat(np.arange(len(budgets)), [len(found) for found in following]), np.concatenate(following)


def neighbours(budgets: Array, x: int) -> Places:
    """Return the points that no other point lies between x and them, nearest first.

    Where there is a point in between, there is one among them: the one nearest to x.
    """
    away, found = budgets[x], []
    waiting = np.argsort(away, kind="stable")
    waiting = waiting[(waiting != x) & np.isfinite(away[waiting])]
    while len(waiting):
        via, waiting = waiting[0], waiting[1:]
        found.append(via)
        straight, onward = away[waiting], budgets[via, waiting]
        shorter = straight * (1 - 1e-9)
        implied = (away[via] + onward <= straight * (1 + 1e-12)) & (away[via] < shorter) & (onward < shorter)
        waiting = waiting[~implied]
    return np.array(found, dtype=np.int64)


def too_large(problem: dx.Problem) -> str | None:
    """Why the program does not fit in the machine's memory, or None; pairs are counted at a few points."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    size, reports = problem.shape
    if 5 * 8 * size * max(size, reports) > memory:
        return f"a {size:,} x {reports:,} matrix takes {8 * size * reports / 1e9:,.0f} GB, and it needs several"
    some = np.unique(np.linspace(0, size - 1, _COUNTED).astype(int))
    pairs = size * float(np.mean([len(neighbours(problem.budgets, x)) for x in some]))
    if BYTES_A_ROW * pairs * reports > memory:
        gigabytes = BYTES_A_ROW * pairs * reports / 1e9
        return f"about {pairs * reports:.1e} constraints, which take {gigabytes:,.0f} GB at the least"
    return None
