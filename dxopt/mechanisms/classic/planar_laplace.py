"""Planar Laplace noise moved to the nearest report: anywhere in the plane or on the globe, and without a matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError, SpecError
from dxopt.mechanisms.classic.cells import border_masses, rounding_of_masses
from dxopt.mechanisms.classic.contract import CLASSICS, Classic, proven, title
from dxopt.mechanisms.classic.voronoi import CELLS, Voronoi
from dxopt.model.loss import Reports
from dxopt.model.mechanism import Mechanism, Privacy
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.numerics.rounding import ALIKE, UNIT
from dxopt.numerics.tropical import product
from dxopt.proofs.repair import NOTHING
from dxopt.runtime.archive import Arrays
from dxopt.spaces.archive import unpack
from dxopt.spaces.lattices import grid
from dxopt.spaces.metrics import Haversine
from dxopt.spaces.projection import local_plane
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]

IMPLICIT_FROM = 400
_LOWERED = 1e-9
_SLACK = 1e-11
_CALIBRATED = 1e-7
_WIDEST = 1e100
"""Squares of larger lengths, or of the inverse of such, are no doubles."""
_DOUBLINGS = 6
_TRIALS = 60


@CLASSICS.register("planar_laplace")
class PlanarLaplace(Classic):
    """Noise of density β²/(2π) e^{-βr} in the plane, moved to the nearest report (Cha13; CABP13, Figure 2).

    K[x, z] is the mass of the Voronoi cell of z under noise around x; cells at the border reach to infinity. With
    β = ε it is private, as that only processes a private report; `noise_rate` says which β it takes.
    """

    name: ClassVar[str] = "planar_laplace"
    instead: ClassVar[str] = "use exponential"

    def refuses(self, problem: Problem) -> str | None:
        """Why there is none, or None."""
        if not problem.reports.secrets and problem.reports.points is None:
            return "needs the secrets themselves as reports, or reports with coordinates"
        return _lacks(problem.space, problem.reports, problem.epsilon)

    def channel(self, problem: Problem) -> Array:
        """The channel `(n, m)`, up to rounding."""
        on_grid = self.implicit(problem)
        if on_grid is not None:
            return on_grid.matrix
        secrets, reports = _placed(problem.space, problem.reports)
        return Voronoi.of(reports).masses(secrets, noise_rate(problem))

    def implicit(self, problem: Problem) -> Mechanism | None:
        """On a large grid the rows on demand."""
        return OnGrid.of(problem.space, problem.epsilon) if _implicit(problem.space, problem.reports) else None

    @staticmethod
    def examples() -> list[Problem]:
        """Grids, scattered and collinear places, places on the globe, and reports between the secrets."""
        scattered = MetricSpace.from_points([[0.0, 0.0], [1.0, 0.3], [0.2, 2.0], [3.0, 1.0], [1.0, 0.3]])
        collinear = MetricSpace.from_points([[0.0, 0.0], [3.0, 3.0], [1.0, 1.0]])
        globe = MetricSpace.from_points([[45.5, 179.99], [45.51, -179.98], [45.52, 179.97]], "haversine")
        spaces = (grid((3, 4)), grid((1, 3), spacing=5.0), scattered, collinear, globe)
        between = Reports.at([[0.5, 0.5], [2.0, 0.0], [0.0, 9.0]])
        asked = [*((space, None) for space in spaces), (spaces[0], between)]
        return [Problem(s, epsilon=0.8, prior=Prior.uniform(s), loss="distance", reports=r) for s, r in asked]


def noise_rate(problem: Problem) -> float:
    """The β of the noise that `planar_laplace` takes, per unit of the metric.

    From 400 secrets on it is ε; for haversine distances the largest β with β·d_plane ≤ ε·d for all pairs of secrets.
    Moving to few reports hides more than the noise alone, so that for fewer secrets β is raised until the matrix's
    realised ε, from below, is the one asked, up to 1e-7 relative: by 70 % for two places at distance 1/ε, by 2 % on
    a grid of 3 × 3, and by less than 0.05 % from 10 × 10 on. Where more noise rate does not raise the realised level
    it stays, and it ends at 64 times that.

    Parameters
    ----------
    problem : Problem
        One that planar_laplace does not refuse.
    """
    space, epsilon = problem.space, problem.epsilon
    if _implicit(space, problem.reports):
        return _per_step(space, epsilon) / space.structure.spacing
    secrets, reports = _placed(space, problem.reports)
    safe = epsilon * _shrinking(space, secrets, epsilon)
    if len(space) >= IMPLICIT_FROM:
        return safe
    cells, distances = Voronoi.of(reports), space.distances
    counted = epsilon * distances > ALIKE
    if not counted.any():
        return safe

    def realised(rate: float) -> float:
        masses = np.maximum(cells.masses(secrets, rate), NOTHING)
        return float((np.log(product(masses, 1 / masses.T)[counted]) / distances[counted]).max())

    return _calibrated(realised, safe, epsilon)


def _calibrated(realised: Callable[[float], float], safe: float, epsilon: float) -> float:
    """A rate from the safe one on at which the realised level is ε or a hair less."""
    enough, low, least = epsilon * (1 - _CALIBRATED), safe, realised(safe)
    for _ in range(_DOUBLINGS):
        if least >= enough:
            return low
        high = low * (min(2.0, 2 * epsilon / least - 1) if least > 0 else 2.0)
        most = realised(high)
        if most > epsilon:
            break
        if most <= least * (1 + _CALIBRATED):
            return low
        low, least = high, most
    else:
        return low
    for trial in range(_TRIALS):
        if least >= enough or high - low <= 4 * UNIT * high:
            break
        part = 0.5 if trial % 3 == 2 else (0.5 * (epsilon + enough) - least) / (most - least)
        rate = low + part * (high - low)
        level = realised(rate)
        if level <= epsilon:
            low, least = rate, level
        else:
            high, most = rate, level
    return low


def _placed(space: MetricSpace, reports: Reports) -> tuple[Array, Array]:
    """Secrets `(n, 2)` and reports `(m, 2)` in a plane, in units of the metric."""
    places = np.asarray(space.points, dtype=float)
    answers = places if reports.secrets else np.asarray(reports.points, dtype=float)
    if isinstance(space.metric, Haversine):
        everything = places if reports.secrets else np.concatenate([places, answers])
        plane = local_plane(everything, space.metric.unit)
        return plane[: len(places)], plane if reports.secrets else plane[len(places) :]
    return places, answers


def _shrinking(space: MetricSpace, places: Array, epsilon: float) -> float:
    """The least distance between two secrets over that in the plane, at most 1."""
    if not isinstance(space.metric, Haversine):
        return 1.0
    plane = MetricSpace.from_points(places).distances
    ratios = np.divide(space.distances, plane, out=np.ones(plane.shape), where=epsilon * plane > ALIKE)
    return min(1.0, float(ratios.min()))


def _implicit(space: MetricSpace, reports: Reports) -> bool:
    """Whether it is a large grid, for which no matrix is needed."""
    return reports.secrets and len(space) >= IMPLICIT_FROM and space.structure.kind == "lattice"


def _lacks(space: MetricSpace, reports: Reports, epsilon: float) -> str | None:
    """What the mechanism needs that the space or the reports have not."""
    metric = space.metric
    if metric is None or metric.name not in ("euclidean", "haversine") or not _flat(space.points):
        return "needs a grid or other places in the plane, with Euclidean distances, or on the globe, with haversine"
    if not reports.secrets and not _flat(reports.points):
        return "needs reports with two finite coordinates"
    if _implicit(space, reports):
        return None if _per_step(space, epsilon) > 0 else f"needs an epsilon times spacing above {_SLACK}"
    if len(space) * len(reports) > CELLS:
        return f"needs a grid for so many places, or at most {CELLS:,} pairs of secret and report"
    try:
        everything = np.concatenate(_placed(space, reports))
    except SpecError as error:
        return f"needs places that one plane shows: {error.field} {error.wrong}"
    with np.errstate(over="ignore"):
        extent = float(np.ptp(everything, axis=0).max())
    return (
        None if extent == 0 or 1 / _WIDEST < extent < _WIDEST else f"needs an extent from {1 / _WIDEST} to {_WIDEST}"
    )


def _flat(points: NDArray | None) -> bool:
    if points is None or points.shape[1] != 2 or not np.issubdtype(points.dtype, np.number):
        return False
    return bool(np.isfinite(points).all())


def _per_step(space: MetricSpace, epsilon: float) -> float:
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
        rate = _per_step(space, epsilon)
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

    def packed(self) -> Arrays:
        return self.packed_identity() | {"noise": PlanarLaplace.name}


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
    """Planar Laplace noise moved to the nearest secret, proven private (Cha13; CABP13, Figure 2).

    The noise has density β²/(2π) e^{-βr} around the secret. What falls outside goes to the cells at the border, which
    are unbounded; of secrets that coincide, the first is reported. Up to 399 secrets, β is the rate at which the
    matrix has the level asked, see `noise_rate`; beyond, it is ε.

    Parameters
    ----------
    space : MetricSpace
        Any places in the plane with Euclidean distances, or on the globe with haversine ones, where the noise and the
        cells are in the plane of `dxopt.spaces.projection.local_plane`. The reports are the secrets. A grid of 400
        points or more gives an implicit mechanism: rows on demand, proven private as they are for a level lowered by
        a hair.
    epsilon : float
        Privacy level per unit of distance.

    Raises
    ------
    SpecError
        If ε is not positive and finite, or the space is none of these (UnsupportedError).
    """
    return proven(PlanarLaplace(), space, epsilon)


def read(arrays: Arrays) -> Mechanism:
    """The mechanism of `OnGrid.packed`, made and proven again."""
    return OnGrid.of(unpack(arrays), float(arrays["epsilon"]))
