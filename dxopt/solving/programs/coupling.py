"""Rows that couple the columns of a channel beyond their sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dxopt.numerics.partition import Partition
from dxopt.numerics.prior_polytope import Mixtures

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Coupling:
    """More variables u ≥ 0, and rows B v + G u ≥ h.

    `cost` is that of u, to be added to that of the columns; `columns` is B `(r, m·k)`, on the columns one after
    another, `extras` is G `(r, e)`, and `floors` is h.
    """

    cost: Array
    columns: sp.csc_array
    extras: sp.csc_array
    floors: Array

    def joined(self, other: Coupling) -> Coupling:
        """Return the rows and variables of both."""
        return Coupling(
            np.concatenate([self.cost, other.cost]),
            sp.csc_array(sp.vstack([self.columns, other.columns])),
            sp.csc_array(sp.block_diag([self.extras, other.extras])),
            np.concatenate([self.floors, other.floors]),
        )

    @property
    def rows(self) -> int:
        """The number r of rows."""
        return len(self.floors)

    def written(self) -> Coupling:
        """Return itself: its rows are written out already, unlike those of the other couplings."""
        return self


@dataclass(frozen=True, eq=False)
class WorstRows:
    """A number, to be minimised, no less than the loss under any prior of a set: Σ_x π_x Σ_z l(x, z) v_z.

    Attributes
    ----------
    losses : (n, m) array
        Of 0 or more.
    index : (n,) array
        The row of the columns that stands for each secret.
    among : Mixtures
        The set of priors, as weights on forms; their multipliers are such weights.
    classes : Partition or None
        With classes of secrets (see `reductions.symmetry`), the mean over each class takes the place of its secrets;
        only where all priors count.
    given : (r,) array or None
        What is taken off the loss of each form: for a regret, the optimum under the prior that the form is.
    """

    losses: Array
    index: NDArray[np.int64]
    among: Mixtures
    classes: Partition | None = None
    given: Array | None = None

    @property
    def rows(self) -> int:
        """The number of rows, one for each form."""
        return self.among.rows

    @property
    def floors(self) -> Array:
        """The right-hand side of each row."""
        return np.zeros(self.rows) if self.given is None else -self.given

    def written(self) -> Coupling:
        """Return a row for each form, for general solvers, which get no classes."""
        n, m = self.losses.shape
        size = int(self.index.max()) + 1
        entries = (np.arange(m) * size + self.index[:, None]).ravel()
        # row by row minus the loss of a secret, as a form of the columns one after another
        lost = sp.csr_array((-self.losses.ravel(), (np.repeat(np.arange(n), m), entries)), (n, m * size))
        forms = self.among.forms
        mixed = lost[forms] if forms.ndim == 1 else sp.csr_array(forms) @ lost
        cost, extras = self._extras()
        return Coupling(cost, sp.csc_array(mixed), extras, self.floors)

    def _extras(self) -> tuple[Array, sp.csc_array]:
        """Return the costs of the variables u = (t, a), and their matrix G.

        There is a t_g for each group, then an a_i for each form i with a cap: t_g + a_i is no less than its loss.
        """
        among = self.among
        r, count = among.rows, len(among.capped)
        groups = sp.csr_array((np.ones(r), (np.arange(r), among.group)), (r, len(among.masses)))
        own = sp.csr_array((np.ones(count), (among.capped, np.arange(count))), (r, count))
        return np.append(among.masses, among.caps[among.capped]), sp.csc_array(sp.hstack([groups, own]))


@dataclass(frozen=True, eq=False)
class GuessRows:
    """A number t_z for each report, their sum to be minimised, no less than M_g·v_z for any guess g; and a budget.

    Attributes
    ----------
    won : (k, g) array
        M, of 0 or more: what an adversary who guesses g wins in each row.
    paid : (k, m) array
        What a report costs in each row.
    budget : float
        The most that the columns may cost in all.
    orbits : (m, g) array or None
        With classes of guesses for each report (see `reductions.symmetry`), t_z is no less than the mean of M_g·v_z
        over each class instead. Classes are numbered, not necessarily from 0.
    """

    won: Array
    paid: Array
    budget: float
    orbits: NDArray[np.int64] | None = None

    @property
    def rows(self) -> int:
        """The number of rows: m·g, and the budget."""
        return self.paid.shape[1] * self.won.shape[1] + 1

    def written(self) -> Coupling:
        """Return m·g rows, report by report, and the budget, for general solvers, which get no classes."""
        m = self.paid.shape[1]
        guesses = self.won.shape[1]
        won = -sp.kron(sp.eye_array(m), sp.csc_array(self.won.T))
        columns = sp.csc_array(sp.vstack([won, sp.csc_array(-self.paid.T.ravel()[None, :])]))
        extras = sp.vstack([sp.kron(sp.eye_array(m), np.ones((guesses, 1))), sp.csc_array((1, m))])
        return Coupling(np.ones(m), columns, sp.csc_array(extras), np.append(np.zeros(m * guesses), -self.budget))


AnyCoupling = Coupling | WorstRows | GuessRows
