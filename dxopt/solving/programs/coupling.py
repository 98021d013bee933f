"""Rows that couple the columns of a channel beyond their sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dxopt.numerics.partition import Partition

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Coupling:
    """More variables u ≥ 0, and rows B v + G u ≥ h.

    Attributes
    ----------
    cost : (e,) array
        Of u, to be added to that of the columns.
    columns : (r, m·k) sparse array
        B, on the columns one after another.
    extras : (r, e) sparse array
        G.
    floors : (r,) array
        h.
    """

    cost: Array
    columns: sp.csc_array
    extras: sp.csc_array
    floors: Array

    def joined(self, other: Coupling) -> Coupling:
        """The rows and variables of both."""
        return Coupling(
            np.concatenate([self.cost, other.cost]),
            sp.csc_array(sp.vstack([self.columns, other.columns])),
            sp.csc_array(sp.block_diag([self.extras, other.extras])),
            np.concatenate([self.floors, other.floors]),
        )

    @property
    def rows(self) -> int:
        """r."""
        return len(self.floors)

    def written(self) -> Coupling:
        """Itself, as rows."""
        return self


@dataclass(frozen=True, eq=False)
class WorstRows:
    """A number t, to be minimised, no less than Σ_z l(x, z) v_z for any of n secrets x.

    Attributes
    ----------
    losses : (n, m) array
        Of 0 or more.
    index : (n,) array
        The row of the columns that stands for each secret.
    classes : Partition or None
        With classes of secrets (see `reductions.symmetry`), t is no less than the mean over each class instead.
    """

    losses: Array
    index: NDArray[np.int64]
    classes: Partition | None = None

    @property
    def rows(self) -> int:
        """n."""
        return len(self.losses)

    def written(self) -> Coupling:
        """The n rows; classes are for column generation alone."""
        n, m = self.losses.shape
        size = int(self.index.max()) + 1
        entries = (np.arange(m) * size + self.index[:, None]).ravel()
        columns = sp.csc_array((-self.losses.ravel(), (np.repeat(np.arange(n), m), entries)), (n, m * size))
        return Coupling(np.ones(1), columns, sp.csc_array(np.ones((n, 1))), np.zeros(n))


@dataclass(frozen=True, eq=False)
class GuessRows:
    """A number t_z for each report, their sum to be minimised, no less than M_g·v_z for any guess g; and a budget.

    Attributes
    ----------
    missed : (k, g) array
        M, of 0 or more: what an adversary who guesses g wins in each row.
    paid : (k, m) array
        What a report costs in each row.
    budget : float
        The most that the columns may cost in all.
    orbits : (m, g) array or None
        With classes of guesses for each report (see `reductions.symmetry`), t_z is no less than the mean of M_g·v_z
        over each class instead. Classes are numbered, not necessarily from 0.
    """

    missed: Array
    paid: Array
    budget: float
    orbits: NDArray[np.int64] | None = None

    @property
    def rows(self) -> int:
        """m·g, and the budget."""
        return self.paid.shape[1] * self.missed.shape[1] + 1

    def written(self) -> Coupling:
        """m·g rows, report by report, and the budget; classes are for column generation alone."""
        m = self.paid.shape[1]
        guesses = self.missed.shape[1]
        won = -sp.kron(sp.eye_array(m), sp.csc_array(self.missed.T))
        columns = sp.csc_array(sp.vstack([won, sp.csc_array(-self.paid.T.ravel()[None, :])]))
        extras = sp.vstack([sp.kron(sp.eye_array(m), np.ones((guesses, 1))), sp.csc_array((1, m))])
        return Coupling(np.ones(m), columns, sp.csc_array(extras), np.append(np.zeros(m * guesses), -self.budget))


AnyCoupling = Coupling | WorstRows | GuessRows
