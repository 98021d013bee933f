"""Planar Laplace noise on a grid, discretised and truncated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.classic.cells import border_masses, rounding_of_masses
from dxopt.classic.contract import CLASSICS, proven, require, title
from dxopt.errors import CertificateError
from dxopt.loss import Reports
from dxopt.mechanism import Mechanism, Privacy
from dxopt.prior import Prior
from dxopt.problem import Problem, checked_level
from dxopt.rounding import UNIT
from dxopt.spaces.lattices import grid
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]

IMPLICIT_FROM = 400
_LOWERED = 1e-9
_SLACK = 1e-11


@CLASSICS.register("planar_laplace")
class PlanarLaplace:
    """Noise of density ε²/(2π) e^{-εr} in the plane, moved to the nearest grid point (Cha13; CABP13, Figure 2).

    K[x, z] is the mass of the cell of z under noise around x; cells of border points reach to infinity. Private
    because that only processes a private report.
    """

    name: ClassVar[str] = "planar_laplace"
    instead: ClassVar[str] = "use exponential"

    def refuses(self, problem: Problem) -> str | None:
        """Why there is none, or None."""
        if not problem.reports.secrets:
            return "needs the secrets themselves as reports"
        return _lacks(problem.space, problem.epsilon)

    def channel(self, problem: Problem) -> Array:
        """The channel `(n, n)`, up to rounding."""
        return OnGrid.of(problem.space, problem.epsilon).matrix

    @staticmethod
    def examples() -> list[Problem]:
        """A grid of the usual size, and one that is a single row of far points."""
        spaces = (grid((3, 4)), grid((1, 3), spacing=5.0))
        return [Problem(space, epsilon=0.8, prior=Prior.uniform(space), loss="distance") for space in spaces]


def _lacks(space: MetricSpace, epsilon: float) -> str | None:
    """What the mechanism needs that the space has not."""
    structure, metric = space.structure, space.metric
    plane = structure.kind == "lattice" and len(structure.shape) == 2
    if not plane or metric is None or metric.name != "euclidean":
        return "needs a grid in the plane with the Euclidean metric, as dx.grid makes it"
    return None if _rate(space, epsilon) > 0 else f"needs an epsilon times spacing above {_SLACK}"


def _rate(space: MetricSpace, epsilon: float) -> float:
    """The level per step of the grid, lowered to leave room for every rounding."""
    return epsilon * space.structure.spacing * (1 - _LOWERED) - _SLACK


@dataclass(frozen=True, eq=False, repr=False)
class OnGrid(Mechanism):
    """Planar Laplace noise on a grid, with rows on demand.

    Private in doubles at the level asked: an entry is a sum over nodes that depend on the report alone, hence the
    ratio of two entries of a report is at most e^{βr} with r the number of steps between the secrets. β is lowered by
    1e-9 relative for the rounding of the coordinates, and by 1e-11 for that of the entries and their row sums, which
    is checked. No entry is below 1e-250.
    """

    space: MetricSpace
    reports: Reports
    masses: Array
    totals: Array
    name: str
    privacy: Privacy | None

    @classmethod
    def of(cls, space: MetricSpace, epsilon: float) -> OnGrid:
        """The mechanism of a grid that `PlanarLaplace` does not refuse.

        Raises
        ------
        CertificateError
            If rounding is not within what the level was lowered by.
        """
        rows, columns = space.structure.shape
        rate = _rate(space, epsilon)
        masses = border_masses((rows, columns), rate)
        totals = _cells_seen(rows) @ masses @ _cells_seen(columns).T
        slack = 2 * rounding_of_masses(rate) + 2 * float(np.abs(totals - 1).max()) + 8 * UNIT
        if slack > _SLACK or 8 * (max(rows, columns) + 8) * UNIT > _LOWERED:
            raise CertificateError(f"the masses of the cells are only accurate to {slack:.1e}")
        how = (
            "each entry is a sum over fixed nodes, so that the triangle inequality bounds every ratio; level "
            f"lowered by {1 - rate / (epsilon * space.structure.spacing):.1e} for rounding"
        )
        privacy = Privacy(epsilon, how)
        return cls(space, Reports.of(space), masses, totals.ravel(), title(PlanarLaplace), privacy)

    def rows(self, secrets: NDArray[np.int64]) -> Array:
        rows, columns = self.space.structure.shape
        down, across = np.divmod(secrets, columns)
        first, second = _seen_from(down, rows), _seen_from(across, columns)
        table = self.masses[first[:, :, None], second[:, None, :]].reshape(len(secrets), -1)
        table /= self.totals[secrets, None]
        return table


def _seen_from(places: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Along an axis, where the mass of each cell `(k, size)` stands in the table, seen from k places."""
    cells = np.arange(size)
    border = (cells == 0) | (cells == size - 1)
    return np.abs(places[:, None] - cells) + size * border


def _cells_seen(size: int) -> Array:
    """How often each entry of the table `(size, 2·size)` is seen from each place of an axis."""
    counts = np.zeros((size, 2 * size))
    np.add.at(counts, (np.arange(size)[:, None], _seen_from(np.arange(size), size)), 1.0)
    return counts


def planar_laplace(space: MetricSpace, *, epsilon: float) -> Mechanism:
    """Planar Laplace noise on a grid, discretised and truncated, proven private (Cha13; CABP13, Figure 2).

    The noise has density ε²/(2π) e^{-εr} around the secret. Each report is moved to the nearest point of the grid, so
    that one outside goes to the border.

    Parameters
    ----------
    space : MetricSpace
        A grid in the plane with the Euclidean metric; the reports are the secrets. From 400 points on the mechanism
        is implicit: rows on demand, proven private as they are for a level lowered by a hair.
    epsilon : float
        Privacy level per unit of distance.

    Raises
    ------
    SpecError
        If ε is not positive and finite, or the space is no such grid (UnsupportedError).
    """
    level = checked_level(epsilon)
    if len(space) < IMPLICIT_FROM:
        return proven(PlanarLaplace(), space, level)
    require(PlanarLaplace(), _lacks(space, level))
    return OnGrid.of(space, level)
