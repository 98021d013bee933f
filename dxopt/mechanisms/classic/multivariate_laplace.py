"""Laplace noise in three or more dimensions, discretised, and moved to the nearest report: for word vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.mechanisms.classic.base import CLASSICS, Classic, make_proven
from dxopt.mechanisms.classic.calibration import (
    CALIBRATED_BELOW,
    checked_rate,
    coordinates_of_reports,
    largest_private_rate,
    normalised,
    refused_extent,
)
from dxopt.mechanisms.noise.laplace import MultivariateLaplace as MultivariateNoise
from dxopt.model.loss import Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.problem import Problem
from dxopt.numerics.coerce import POSITIVE, keep_number
from dxopt.numerics.number_syntax import Written
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]

_SEED = 20200203
_ENTRIES = 6_000_000
"""At most as many pairs of a node and a secret, unless that leaves fewer than 8 nodes around each secret."""
_NUMBERS = 10_000_000
"""At most as many coordinates of nodes, likewise."""
_MOST = 1024
_LEAST = 8
"""At most and at least as many nodes around each secret."""
_BLOCK = 2_000_000
_SECONDS = (3e-8, 4e-10)
"""For each pair of a node and a secret or report, and for each of their coordinates."""
_RESOLUTION = 1e-3
"""Nodes move with the rate, from cell to cell, so that the realised level jumps by about as much."""
_TRIED = 12
"""About how many rates are tried."""


@CLASSICS.register("multivariate_laplace")
@dataclass(frozen=True, eq=False)
class MultivariateLaplace(Classic):
    """Noise of density ∝ e^{-β‖y - x‖} in k ≥ 3 dimensions, moved to the nearest report (Feyisetan et al. 2020).

    The cells of reports have no mass in closed form there, so the noise is made discrete: it falls on finitely many
    nodes y, the same for all secrets. K[x, z] is the sum of a_y e^{-β‖y - x‖} over the nodes nearest to z, divided
    by that over all nodes; these are the exact masses of a mechanism that is private with β = ε/2 whatever nodes and
    weights are, by the triangle inequality. Nodes are draws of the noise around each secret, as many around each,
    from a fixed seed, and 1/a_y is the mean density of the draws at y: then the sums are unbiased estimates of the
    masses under the continuous noise, and those over all nodes of 1, with a variance below n K[x, z] over the number
    of nodes. So nearly all of the level is left: up to 999 secrets β is raised until the matrix is private at ε and
    no less; beyond that it is ε, and the repair mends what is above.
    """

    rate: float | None = None
    name: ClassVar[str] = "multivariate_laplace"
    instead: ClassVar[str] = "use exponential"

    def __post_init__(self) -> None:
        if self.rate is not None:
            keep_number(self, "rate", *POSITIVE)

    def refuses(self, problem: Problem) -> str | None:
        metric, points = problem.space.metric, problem.space.points
        if metric is None or metric.name != "euclidean" or points is None:
            return "needs points with Euclidean distances"
        if points.shape[1] < 3:
            return "is for three coordinates or more, as laplace and planar_laplace have exact masses for fewer"
        reports = coordinates_of_reports(problem, points)
        if reports is None:
            return "needs the secrets as reports, or reports with as many coordinates"
        return refused_extent(np.concatenate([points, reports]))

    def channel(self, problem: Problem) -> Array:
        points = np.asarray(problem.space.points, dtype=float)
        reports = coordinates_of_reports(problem, points)
        assert reports is not None
        nodes = Nodes.around(points, reports)
        epsilon = problem.epsilon
        if self.rate is not None:
            return nodes.channel(checked_rate(self.rate, epsilon, "ε"))
        # For many secrets the noise has the rate ε, and the repair mends what is above; for few, a rate is looked for
        # from one on that is private whatever the nodes are.
        if len(points) >= CALIBRATED_BELOW:
            return nodes.channel(epsilon)
        safe = 0.5 * epsilon
        rate = largest_private_rate(nodes.channel, problem.space, epsilon, safe, resolution=_RESOLUTION)
        return nodes.channel(rate)

    def expected_seconds(self, problem: Problem) -> float:
        secrets, reports = problem.shape
        points = problem.space.points
        dimensions = 1 if points is None else points.shape[1]
        entries = secrets * nodes_around(secrets, dimensions) * (secrets + reports)
        each = _SECONDS[0] + _SECONDS[1] * dimensions
        return entries * each * (_TRIED if secrets < CALIBRATED_BELOW else 1)


def nodes_around(secrets: int, dimensions: int) -> int:
    """Return the number of nodes that are drawn around each secret, as many as the limits above allow."""
    return max(_LEAST, min(_MOST, _ENTRIES // secrets**2, _NUMBERS // (secrets * dimensions)))


@dataclass(frozen=True, eq=False)
class Nodes:
    """Discretised noise: q nodes around each secret, at its place plus `offsets` `(n, q, k)` over the rate."""

    secrets: Array
    reports: Array
    offsets: Array

    @classmethod
    def around(cls, secrets: Array, reports: Array, each: int | None = None) -> Nodes:
        """Draw `each` nodes around every secret."""
        middle = secrets.mean(axis=0)
        count, dimensions = secrets.shape
        each = nodes_around(count, dimensions) if each is None else each
        noise = MultivariateNoise(1.0, dimensions)
        offsets = noise.sample(np.zeros((count, each, dimensions)), np.random.default_rng(_SEED))
        return cls(secrets - middle, reports - middle, offsets)

    def channel(self, rate: float) -> Array:
        """Return the channel `(n, m)` of noise at a rate, up to rounding."""
        return normalised(self.masses(rate))

    def masses(self, rate: float) -> Array:
        """Estimate the masses `(n, m)` of the cells under the continuous noise."""
        from scipy.sparse import csr_array

        count, each, _ = self.offsets.shape
        masses = np.zeros((len(self.reports), count))
        step = max(1, _BLOCK // (each * (count + len(self.reports))))
        for start in range(0, count, step):
            # Some secrets at a time: the nodes around them, ...
            with np.errstate(over="ignore"):
                around = self.secrets[start : start + step, None, :] + self.offsets[start : start + step] / rate
            if not np.isfinite(around).all():
                raise SpecError("rate", f"is {rate:g}, too small for doubles", "give a larger one")
            nodes = around.reshape(-1, around.shape[2])

            # ... for each the share that noise around every secret has in all that falls there, ...
            exponents = -rate * _distances(nodes, self.secrets)
            shares = np.exp(exponents - exponents.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)

            # ... and the nearest report, the first of equals, which gets it.
            nearest = _distances(nodes, self.reports).argmin(axis=1)
            moved = csr_array(
                (np.ones(len(nodes)), (nearest, np.arange(len(nodes)))), shape=(len(masses), len(nodes))
            )
            masses += moved @ shares
        return masses.T / each


def _distances(nodes: Array, places: Array) -> Array:
    """Return Euclidean distances `(q, n)` by |a|² + |b|² - 2a·b, which needs no array `(q, n, k)`.

    The absolute error is about 1e-8 of the extent. It is safe: the matrix is repaired and certified afterwards.
    """
    squares = (nodes**2).sum(axis=1)[:, None] + (places**2).sum(axis=1) - 2 * nodes @ places.T
    return np.sqrt(np.maximum(squares, 0.0))


def multivariate_laplace(
    space: MetricSpace, *, epsilon: Written, reports: Reports | None = None, rate: float | None = None
) -> Mechanism:
    """Move Laplace noise in k ≥ 3 dimensions to the nearest report, proven private (Feyisetan et al. 2020).

    The noise falls on finitely many nodes, so that its masses are exact; see `dx.noise.MultivariateLaplace` for the
    continuous noise of the paper, of which nothing is proven in doubles. In many dimensions moving to the nearest of
    few reports hides much more than the noise alone, so that up to 999 secrets β is raised until ε is used up.

    Parameters
    ----------
    space : MetricSpace
        n points of three coordinates or more with Euclidean distances, such as word vectors (`dx.embedding`).
    epsilon : float
        Privacy level per unit of distance.
    reports : Reports, optional
        Any points with as many coordinates; the secrets by default.
    rate : float, optional
        β, at most ε; by default the largest that is private, and ε for 1,000 secrets and more.

    Raises
    ------
    SpecError
        If ε or the rate is out of range, or the space is none of these (UnsupportedError).

    Examples
    --------
    >>> import dxopt as dx
    >>> words = dx.MetricSpace.from_points([[0, 0, 0], [1, 0, 0], [0, 2, 0]], labels=["cat", "dog", "car"])
    >>> mechanism = dx.classic.multivariate_laplace(words, epsilon=1.0)
    >>> print(mechanism.row(label="cat").round(2).tolist())
    [0.63, 0.25, 0.12]
    """
    return make_proven(MultivariateLaplace(rate), space, epsilon, reports=reports)
