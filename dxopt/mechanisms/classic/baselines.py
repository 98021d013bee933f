"""Baselines without a privacy guarantee by design: cloaking, and the rate-distortion channel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.inference import rate_distortion
from dxopt.errors import SpecError, UnsupportedError
from dxopt.mechanisms.classic.base import BASELINES
from dxopt.model.loss import Reports
from dxopt.model.mechanism import Mechanism, Privacy
from dxopt.model.problem import Problem
from dxopt.numerics.coerce import POSITIVE, as_number, as_numbers
from dxopt.spaces.metrics import OnEarth
from dxopt.spaces.positions import local_plane
from dxopt.spaces.space import MetricSpace, required_space

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_ON_BORDER = 1e-9
"""A secret this near to the next square, in units of the side, is in it; sums that differ by this part are equal."""
_LARGEST = 0.51
"""The largest side that is chosen, in units of the extent of the secrets."""


@BASELINES.register("cloaking")
class Cloaking:
    """Cloaking by squares, or intervals, whose loss is about that of Laplace noise for the same ε.

    The mean distance from a point of a square of side s to its middle is s(√2 + asinh 1)/6, and s/4 in an interval; s
    is such that this is the mean length of the noise, 2/ε in the plane and 1/ε on a line. It is at most 0.51 of the
    extent of the secrets, so that there are two regions or more.
    """

    name: ClassVar[str] = "cloaking"

    def refuses(self, problem: Problem) -> str | None:
        if not problem.reports.secrets:
            return "needs the secrets themselves as reports"
        if not problem.private:
            return "needs an epsilon"
        try:
            _coordinates(problem.space)
        except SpecError as error:
            return f"needs coordinates that can be cut into squares: the {error.field} {error.wrong}"
        return None

    def channel(self, problem: Problem) -> Array:
        located = _coordinates(problem.space)
        epsilon = problem.epsilon
        # The side of a region whose mean distance to its middle is the mean length of Laplace noise at ε.
        side = 4 / epsilon if located.shape[1] == 1 else 12 / (epsilon * (math.sqrt(2) + math.asinh(1)))
        extent = float(np.ptp(located, axis=0).max())
        return cloaking(problem.space, side=min(side, _LARGEST * extent) if extent > 0 else side).matrix


@dataclass(frozen=True, eq=False, repr=False)
class Cloaked(Mechanism):
    """A mechanism without randomness: each secret reports one secret of its region.

    `regions` `(n,)` has the number of the region of each secret, and `representatives` `(k,)` the secret, by index,
    that each region reports.
    """

    space: MetricSpace
    reports: Reports
    regions: Indices
    representatives: Indices
    name: str = "cloaking"
    privacy: Privacy | None = None

    def _rows(self, secrets: Indices) -> Array:
        rows = np.zeros((len(secrets), len(self.space)))
        rows[np.arange(len(secrets)), self.representatives[self.regions[secrets]]] = 1.0
        return rows


def cloaking(space: MetricSpace, *, side: float | None = None, regions: ArrayLike | None = None) -> Cloaked:
    """Report the middle of the secret's region: no mechanism to protect anything, but one to compare with (Cha13).

    Two secrets on either side of a border are told apart for certain, however near they are, so that no finite ε
    holds unless all are in one region. The middle of a region is its secret with the least sum of squared distances
    to it, the first of such: in the plane that is the one nearest to the centroid.

    Parameters
    ----------
    space : MetricSpace
    side : float
        Of squares, or intervals, in units of the metric, the first of which begins at the least coordinates. Needs a
        line or plane with Euclidean distances, or points on the globe, which are cut up in the
        equirectangular plane around their middle.
    regions : (n,) array of int
        Or the region of each secret, in any space.

    Returns
    -------
    Mechanism
        Its `privacy` is None.

    Raises
    ------
    SpecError
        If not exactly one of side and regions is given, the side is not positive and finite, the regions do not
        suit the space, or it has no coordinates to be cut up (UnsupportedError).

    Examples
    --------
    >>> import dxopt as dx
    >>> cloaked = dx.classic.cloaking(dx.line(6), side=3.0)
    >>> print(cloaked.matrix.argmax(axis=1).tolist(), cloaked.privacy)
    [1, 1, 1, 4, 4, 4] None
    """
    required_space(space)
    if (side is None) == (regions is None):
        raise SpecError("side", "and regions are both given or both missing", "give one of them")
    if regions is None:
        length = as_number(side, "side", *POSITIVE)
        # The square of each secret `(n, k)`, numbered along each axis; a border is in the square after it.
        located = _coordinates(space)
        with np.errstate(over="ignore"):
            found = np.floor((located - located.min(axis=0)) / length + _ON_BORDER)
        if not np.isfinite(found).all():
            raise SpecError("side", f"is {length:g}, too small for doubles", "give a longer one")
    else:
        found = as_numbers(regions, "regions", fix := "give one integer per secret")
        if found.shape != (len(space),) or not (np.isfinite(found) & (found == np.rint(found))).all():
            raise SpecError("regions", f"are not {len(space)} integers", fix)
    _, numbered = np.unique(found, axis=0, return_inverse=True)
    numbered = numbered.reshape(-1)  # versions of numpy differ in the shape
    representatives = []
    for region in range(numbered.max() + 1):
        # The member with the least sum of squared distances from the members, up to rounding the first.
        members = np.flatnonzero(numbered == region)
        sums = (space.block(members, members) ** 2).sum(axis=0)
        representatives.append(members[np.flatnonzero(sums <= sums.min() * (1 + _ON_BORDER))[0]])
    return Cloaked(space, Reports.of(space), numbered, np.array(representatives))


def _coordinates(space: MetricSpace) -> Array:
    """Return the coordinates of the secrets on a line `(n, 1)` or in a plane `(n, 2)`, in units of the metric."""
    if isinstance(space.metric, OnEarth) and space.points is not None:
        return local_plane(space.points, space.metric.unit)
    euclidean = space.metric is not None and space.metric.name == "euclidean"
    if not euclidean or space.points is None or space.points.shape[1] > 2:
        wrong = "is no line or plane with Euclidean distances and not on the globe with haversine or geodesic ones"
        raise UnsupportedError("space", wrong, "give regions")
    return space.points


_LOWERED = 1e-9
"""The slope is lowered by this part against rounding, so that the channel is ε·d-private where it is in theory."""


@BASELINES.register("rate_distortion")
class RateDistortionChannel:
    """The channel of least mutual information at its expected loss, for the slope ε/2 (Blahut 1972).

    With the distance as loss it is ε·d-private, an exponential mechanism whose reports are weighted for the prior;
    other losses bound nothing.

    Examples
    --------
    >>> import dxopt as dx
    >>> problem = dx.Problem(dx.line(3), epsilon=1.0, prior=[0.5, 0.3, 0.2])
    >>> comparison = dx.compare(problem, ["rate_distortion"])
    >>> print([row.name for row in comparison.rows])
    ['optimal', 'rate_distortion']
    """

    name: ClassVar[str] = "rate_distortion"

    def refuses(self, problem: Problem) -> str | None:
        """Return the reason why a problem has no such channel; None where it has one."""
        return None if np.isfinite(problem.losses).all() else "needs finite losses"

    def channel(self, problem: Problem) -> NDArray[np.float64]:
        """Return the channel `(n, m)`, whose rows sum to 1."""
        slope = 0.5 * problem.epsilon * (1 - _LOWERED)
        found = rate_distortion(problem.space, problem.prior, problem.loss, slope=slope)
        return found.mechanism.matrix
