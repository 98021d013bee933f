"""Linear programs folded along automorphisms: one variable and one row for each class. Exact.

The mean of a solution over the automorphisms is a solution as good, with equal values throughout each class of
variables. So these are one variable, and then the rows of a class say the same, so that one stands for all. Its
multiplier, spread evenly over them, is a dual of the whole program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dxopt.numerics.partition import Partition
from dxopt.proofs.applied import AppliedReduction
from dxopt.solving.programs.program import ChannelProgram, LinearProgram, Solution
from dxopt.solving.reductions.automorphisms import Automorphism, automorphisms, orbits

Indices = NDArray[np.int64]
_MOST = 20_000_000
"""Triples of two points and a report up to which their orbits are looked for."""
_WORTH = 0.75
"""Programs are folded where at most this share of their cells is left."""


@dataclass(frozen=True, eq=False)
class Folding:
    """Classes of the variables, equalities and inequalities of a linear program."""

    variables: Partition
    equalities: Partition
    inequalities: Partition

    def apply(self, whole: LinearProgram) -> LinearProgram:
        """Return the program with one variable for each class, and one row."""
        count = len(self.variables.index)
        joined = sp.csc_array((np.ones(count), (np.arange(count), self.variables.index)))  # adds up columns by class
        equal = self.equalities.representatives
        rows = self.inequalities.representatives
        return LinearProgram(
            joined.T @ whole.cost,
            sp.csc_array(sp.csr_array(whole.equalities)[equal] @ joined),
            whole.totals[equal],
            sp.csc_array(sp.csr_array(whole.inequalities)[rows] @ joined),
            whole.floors[rows],
            whole.signed[self.variables.representatives],
        )

    def lift(self, found: Solution) -> Solution:
        """Return the solution of the whole program: values repeated in a class, multipliers spread evenly over it."""
        primal, equal, multipliers = found.primal, found.equality_dual, found.inequality_dual
        return replace(
            found,
            primal=None if primal is None else primal[self.variables.index],
            equality_dual=None if equal is None else _spread_evenly(equal, self.equalities),
            inequality_dual=None if multipliers is None else _spread_evenly(multipliers, self.inequalities),
        )


def _spread_evenly(multipliers: NDArray[np.float64], classes: Partition) -> NDArray[np.float64]:
    return (multipliers / np.bincount(classes.index))[classes.index]


@dataclass(frozen=True, eq=False)
class EntryOrbits:
    """Orbits under the automorphisms of a channel program of n rows and m reports, to fold programs with δ along.

    Each kind is numbered from 0.
    Cells `(m, n)` are a report and a row, triples `(n, n, m)` a pair of rows and a report.
    """

    rows: Indices
    cells: Indices
    pairs: Indices
    triples: Indices

    def closed(self, entries: Indices) -> Indices:
        """Return triples `(t, 3)` with all others of their orbits, as `folding` needs them."""
        there = np.zeros(int(self.triples.max()) + 1, dtype=bool)
        there[self.triples[tuple(entries.T)]] = True
        return np.argwhere(there[self.triples])

    def folding(self, entries: Indices) -> Folding:
        """Return the classes of the program of `WithDelta`, whose `entries` `(t, 3)` are whole orbits (`closed`).

        Its variables are the cells, report by report, then a slack for each entry. Its equalities are the sums of
        rows, its inequalities those of the entries, then those of their pairs in order.
        """
        first, second, report = entries.T
        triples = self.triples[first, second, report]
        found = np.unique(first * len(self.rows) + second)
        pairs = self.pairs[found // len(self.rows), found % len(self.rows)]
        cells = self.cells.ravel()
        return Folding(
            _renumbered(np.concatenate([cells, cells.max() + 1 + triples])),
            _renumbered(self.rows),
            _renumbered(np.concatenate([triples, triples.max() + 1 + pairs])),
        )

    def record(self) -> AppliedReduction:
        """Describe it for the report."""
        note = f"rows {len(self.rows)} → {self.rows.max() + 1}; averaging over automorphisms keeps loss and privacy"
        return AppliedReduction("symmetry", True, self.cells.size, int(self.cells.max()) + 1, note, "variables")


def _renumbered(classes: Indices) -> Partition:
    """Return classes of any numbers as a partition, whose numbers have no gaps."""
    return Partition(np.unique(classes, return_inverse=True)[1].astype(np.int64))


def entry_orbits(program: ChannelProgram, should_stop: Callable[[], bool] = lambda: False) -> EntryOrbits | None:
    """Find the orbits of a program; None where it is coupled, n²m is large, or folding saves less than a quarter."""
    n, m = program.costs.shape
    if program.coupling is not None or n * n * m > _MOST:
        return None
    found = automorphisms(program, should_stop).generators
    cells = _orbits_of_images(found, lambda one: one.reports[:, None] * n + one.rows, m * n)
    if not found or cells.max() + 1 > _WORTH * n * m:
        return None

    def pairs(one: Automorphism) -> Indices:
        return one.rows[:, None] * n + one.rows

    return EntryOrbits(
        _orbits_of_images(found, lambda one: one.rows, n),
        cells.reshape(m, n),
        _orbits_of_images(found, pairs, n * n).reshape(n, n),
        _orbits_of_images(found, lambda one: pairs(one)[:, :, None] * m + one.reports, n * n * m).reshape(n, n, m),
    )


def _orbits_of_images(found: list[Automorphism], image: Callable[[Automorphism], Indices], size: int) -> Indices:
    """Return the orbit of each of `size` things; `image` gives the number of the image of each, in their order."""
    return orbits((image(one).ravel() for one in found), size)
