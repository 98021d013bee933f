"""Planar Laplace noise moved to the nearest report: anywhere in the plane or on the globe, and without a matrix."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.mechanisms.classic.base import CLASSICS, Classic, make_proven
from dxopt.mechanisms.classic.calibration import finite_points, largest_private_rate, refused_extent
from dxopt.mechanisms.classic.on_grid import NAME, SLACK, OnGrid, level_per_step
from dxopt.mechanisms.classic.voronoi import CELLS, Voronoi
from dxopt.model.loss import Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import Written
from dxopt.numerics.rounding import ALIKE
from dxopt.spaces.metrics import METRICS_ON_EARTH, OnEarth
from dxopt.spaces.positions import local_plane
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]

IMPLICIT_FROM = 400
"""From this many secrets on, a grid gets no matrix, and the noise has the rate ε."""
_LARGEST_RATE = 1e300
"""Per extent of the places: noise of a larger rate has the same masses, and products with it overflow."""
_SECONDS = 1.8e-6
"""For each pair of secret and report; four times that where the rate is looked for."""


@CLASSICS.register(NAME)
class PlanarLaplace(Classic):
    """Noise of density β²/(2π) e^{-βr} in the plane, moved to the nearest report (Cha13; CABP13, Figure 2).

    K[x, z] is the mass of the Voronoi cell of z under noise around x; cells at the border reach to infinity. With
    β = ε it is private, as that only processes a private report; `noise_rate` is the β that it takes.
    """

    name: ClassVar[str] = NAME
    instead: ClassVar[str] = "use exponential"

    def refuses(self, problem: Problem) -> str | None:
        space = problem.space
        reports = problem.reports
        metric = space.metric
        if metric is None or metric.name not in ("euclidean", *METRICS_ON_EARTH) or not _are_planar(space.points):
            return "needs a grid or other places in the plane, with Euclidean distances, or places on the globe"
        if not reports.secrets and not _are_planar(reports.points):
            return "needs the secrets themselves as reports, or reports with two finite coordinates"
        if _is_implicit(space, reports):
            level = level_per_step(space, problem.epsilon)
            return None if level > 0 else f"needs an epsilon times spacing above {SLACK}"
        if len(space) * len(reports) > CELLS:
            return f"needs a grid for so many places, or at most {CELLS:,} pairs of secret and report"
        try:
            everything = np.concatenate(_in_plane(space, reports))
        except SpecError as error:
            return f"needs places that one plane shows: {error.field} {error.wrong}"
        return refused_extent(everything)

    def channel(self, problem: Problem) -> Array:
        if (on_grid := self.implicit(problem)) is not None:
            return on_grid.matrix
        secrets, reports = _in_plane(problem.space, problem.reports)
        return Voronoi.of(reports).masses(secrets, noise_rate(problem))

    def implicit(self, problem: Problem) -> Mechanism | None:
        return OnGrid.of(problem.space, problem.epsilon) if _is_implicit(problem.space, problem.reports) else None

    def expected_seconds(self, problem: Problem) -> float:
        if _is_implicit(problem.space, problem.reports):
            return super().expected_seconds(problem)
        return (4 if len(problem.space) < IMPLICIT_FROM else 1) * _SECONDS * problem.variables


def noise_rate(problem: Problem) -> float:
    """Return the β of the noise of `planar_laplace` for a problem that it does not refuse, per unit of the metric.

    From 400 secrets on it is the safe rate: ε, on whole grids less a margin for rounding (`OnGrid`); for haversine
    distances the largest β ≤ ε with β·d_plane ≤ ε·d for all pairs of secrets.
    Moving to few reports hides more than the noise alone, so that for fewer secrets β is raised until the matrix's
    realised ε is, from below, that of the problem, up to 1e-7 relative: by 70 % for two points at distance 1/ε, by
    2 % on a grid of 3 × 3, and by less than 0.05 % from 10 × 10 on. Where a larger β does not raise the realised ε,
    β stays as it is; `largest_private_rate` searches up to 64 times the safe one.
    """
    space = problem.space
    epsilon = problem.epsilon
    if _is_implicit(space, problem.reports):
        return level_per_step(space, epsilon) / space.structure.spacing

    # The rate at which the noise itself is private.
    secrets, reports = _in_plane(space, problem.reports)
    safe = epsilon
    if isinstance(space.metric, OnEarth):
        # By the least ratio of a distance between two secrets to that in the plane, at most 1; secrets that one plane
        # shows as one point are told apart by no noise, whatever its rate.
        plane = MetricSpace.from_points(secrets).distances
        ratios = np.divide(space.distances, plane, out=np.ones(plane.shape), where=plane > ALIKE / epsilon)
        safe *= float(ratios.min(initial=1.0))
    safe = min(safe, _LARGEST_RATE / max(1.0, *np.ptp(secrets, axis=0), *np.ptp(reports, axis=0)))
    if len(space) >= IMPLICIT_FROM:
        return safe

    # For few secrets, the rate at which the matrix is.
    cells = Voronoi.of(reports)
    return largest_private_rate(lambda rate: cells.masses(secrets, rate), space, epsilon, safe)


def _in_plane(space: MetricSpace, reports: Reports) -> tuple[Array, Array]:
    """Return secrets `(n, 2)` and reports `(m, 2)` in a plane, in units of the metric."""
    points = np.asarray(space.points, dtype=float)
    answers = points if reports.secrets else np.asarray(reports.points, dtype=float)
    if isinstance(space.metric, OnEarth):
        # One plane for all of them, so that distances between secrets and reports agree.
        everything = points if reports.secrets else np.concatenate([points, answers])
        plane = local_plane(everything, space.metric.unit)
        return plane[: len(points)], plane if reports.secrets else plane[len(points) :]
    return points, answers


def _is_implicit(space: MetricSpace, reports: Reports) -> bool:
    """Return True for a large grid, for which no matrix is needed."""
    return reports.secrets and len(space) >= IMPLICIT_FROM and space.structure.kind == "lattice"


def _are_planar(points: NDArray | None) -> bool:
    """Return True if points have two finite coordinates each."""
    return finite_points(points) is not None and points.shape[1] == 2  # pyright: ignore[reportOptionalMemberAccess]


def planar_laplace(space: MetricSpace, *, epsilon: Written) -> Mechanism:
    """Move planar Laplace noise to the nearest secret, proven private (Cha13; CABP13, Figure 2).

    The noise has density β²/(2π) e^{-βr} around the secret. What falls outside goes to the cells at the border, which
    are unbounded; of secrets that coincide, the first is reported. Up to 399 secrets, β is the rate at which the
    matrix is private at ε and no less, see `noise_rate`; beyond, it is ε.

    Parameters
    ----------
    space : MetricSpace
        Any points in the plane with Euclidean distances, or on the globe, where the noise and the
        cells are in the equirectangular plane around their middle. The reports are the secrets. A grid of 400
        points or more gives an implicit mechanism: rows on demand, made at an ε lowered by a hair against rounding.
    epsilon : float
        Privacy level per unit of distance.

    Raises
    ------
    SpecError
        If ε is not positive and finite, or the space is none of these (UnsupportedError).

    Examples
    --------
    >>> import dxopt as dx
    >>> town = dx.grid((2, 2))
    >>> mechanism = dx.classic.planar_laplace(town, epsilon=1.0)
    >>> print(mechanism.row(label="(0, 0)").round(2).tolist(), round(mechanism.privacy.epsilon, 2))
    [0.46, 0.21, 0.21, 0.11] 1.0
    """
    return make_proven(PlanarLaplace(), space, epsilon)
