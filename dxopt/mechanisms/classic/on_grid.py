"""Planar Laplace noise on a grid, moved to the nearest point of the grid, without a matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError
from dxopt.mechanisms.classic.cells import border_masses, rounding_of_masses
from dxopt.model.loss import Reports
from dxopt.model.mechanism import Mechanism, Privacy
from dxopt.numerics.rounding import UNIT
from dxopt.runtime.archive import Arrays
from dxopt.spaces.archive import unpack
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

NAME = "planar_laplace"
SLACK = 1e-11
"""Reduction of the level per step for the rounding of entries and of row sums."""
_LOWERED = 1e-9
"""Relative reduction of the level before, for the rounding of coordinates."""


@dataclass(frozen=True, eq=False, repr=False)
class OnGrid(Mechanism):
    """Planar Laplace noise on a grid, with rows on demand.

    Private in doubles at ε: an entry is a sum over nodes that depend on the report alone, hence the ratio of two
    entries of a report is at most e^{βr} with r the number of steps between the secrets. β is lowered by 1e-9
    relative for the rounding of the coordinates, and by 1e-11 for that of the entries and their row sums, which is
    checked. No entry is below 1e-250.

    Attributes
    ----------
    masses : (2·rows, 2·columns) array
        The masses of cells by how far away and of which kind they are; see `border_masses`.
    totals : (n,) array
        The sum of each row before it is divided by that.
    """

    space: MetricSpace
    reports: Reports
    masses: Array
    totals: Array
    name: str
    privacy: Privacy | None

    @classmethod
    def of(cls, space: MetricSpace, epsilon: float) -> OnGrid:
        """The mechanism of a grid that `PlanarLaplace` does not refuse, proven private at ε.

        Raises
        ------
        CertificateError
            If rounding is not within what ε was lowered by.
        """
        rows, columns = space.structure.shape
        rate = level_per_step(space, epsilon)

        # A row is made of entries of one table, those at the distances and kinds at which its secret sees the cells.
        # Its sum follows from how often each entry is seen from each row and each column of the grid.
        masses = border_masses((rows, columns), rate)
        totals = _cells_seen(rows) @ masses @ _cells_seen(columns).T

        # The logarithm of an entry of a row is off by at most its rounding and that of the row sum; the ratio of two
        # has twice that.
        slack = 2 * rounding_of_masses(rate) + 2 * float(np.abs(totals - 1).max()) + 8 * UNIT
        if slack > SLACK or 8 * (max(rows, columns) + 8) * UNIT > _LOWERED:
            raise CertificateError(f"the masses of the cells are only accurate to {slack:.1e}")
        how = (
            "each entry is a sum over fixed nodes, so that the triangle inequality bounds every ratio; level "
            f"lowered by {1 - rate / (epsilon * space.structure.spacing):.1e} for rounding"
        )
        title = f"{NAME.replace('_', ' ')} mechanism"
        return cls(space, Reports.of(space), masses, totals.ravel(), title, Privacy(epsilon, how))

    def _rows(self, secrets: Indices) -> Array:
        rows, columns = self.space.structure.shape
        down, across = np.divmod(secrets, columns)
        first = _seen_from(down, rows)
        second = _seen_from(across, columns)
        table = self.masses[first[:, :, None], second[:, None, :]].reshape(len(secrets), -1)
        table /= self.totals[secrets, None]
        return table

    def packed(self) -> Arrays:
        return self.packed_identity() | {"noise": NAME}


def _seen_from(positions: Indices, size: int) -> Indices:
    """Along an axis, the index in the table of the mass of each cell `(k, size)`, seen from k positions."""
    cells = np.arange(size)
    border = (cells == 0) | (cells == size - 1)
    return np.abs(positions[:, None] - cells) + size * border


def _cells_seen(size: int) -> Array:
    """Count the positions of an axis that see each entry of the table, `(size, 2·size)`."""
    counts = np.zeros((size, 2 * size))
    np.add.at(counts, (np.arange(size)[:, None], _seen_from(np.arange(size), size)), 1.0)
    return counts


def level_per_step(space: MetricSpace, epsilon: float) -> float:
    """The level per step of the grid, lowered to leave room for every rounding."""
    return epsilon * space.structure.spacing * (1 - _LOWERED) - SLACK


def read(arrays: Arrays) -> Mechanism:
    """The mechanism of `OnGrid.packed`, made and proven again."""
    return OnGrid.of(unpack(arrays), float(arrays["epsilon"]))
