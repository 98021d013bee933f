"""Tight-constraints mechanisms that are never written down: K = Φ·diag(w) known by the structure of the space."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError, SpecError, UnsupportedError
from dxopt.model.loss import Loss, Reports
from dxopt.model.mechanism import Mechanism, Privacy
from dxopt.numerics.draws import uniforms
from dxopt.numerics.rounding import UNIT
from dxopt.runtime.archive import Arrays
from dxopt.spaces.archive import unpack
from dxopt.spaces.kernels import Circulant, Path, System, Toeplitz
from dxopt.spaces.kernels.systems import distance_error, system
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
MOST_SLACK = 1e-5
_NOTHING = 1e-30
PAIRED_POINTS = 50_000
_SUMMED_POINTS = 4_000
_BLOCK = 64
_EVEN = ("path", "lattice")


@dataclass(frozen=True, eq=False, repr=False)
class KernelMechanism(Mechanism):
    """K[x, z] = T[x, z] w_z, and what a row lacks of 1 goes to one report.

    T is e^{-min(ε'd, cap)} in doubles, at a level ε' a hair below the one asked for. Rows, samples and evaluations
    are computed on demand; nothing of size n² is stored.

    Attributes
    ----------
    weights : (n,) array
        w ≥ 0, scaled so that every row sums to a little less than 1.
    epsilon : float
        ε'.
    slack : int
        The report that gets the rest of each row.
    """

    space: MetricSpace
    reports: Reports
    weights: Array
    epsilon: float
    slack: int
    name: str
    privacy: Privacy | None

    @cached_property
    def kernel(self) -> System:
        """T."""
        return system(self.space, self.epsilon)

    @cached_property
    def rest(self) -> Array:
        """What each row lacks of 1, `(n,)`."""
        return np.maximum(1.0 - self.kernel.apply(self.weights)[0], 0.0)

    def rows(self, secrets: NDArray[np.int64]) -> Array:
        rows = np.empty((len(secrets), len(self.space)))
        for place, secret in enumerate(secrets):
            np.multiply(self.kernel.row(int(secret)), self.weights, out=rows[place])
            rows[place, self.slack] += math.fsum([1.0, *(-rows[place])])
        return rows

    def _draw(self, places: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        drawn = self.kernel.draw(self.weights, places, rng)
        drawn[uniforms(len(places), rng) < self.rest[places]] = self.slack
        return drawn

    def packed(self) -> Arrays:
        return self.packed_identity() | {"weights": self.weights, "level": self.epsilon, "slack": self.slack}

    def correct(self, prior: Array) -> float:
        best = self.kernel.closure(prior) * self.weights
        with_rest = self.kernel.row(self.slack) * self.weights[self.slack] + self.rest
        best[self.slack] = float((prior * with_rest).max())
        return math.fsum(best)

    def cost(self, prior: Array, loss: Loss) -> float:
        rest = math.fsum(prior * self.rest * loss.rows(np.array([self.slack]))[0])
        if loss.by_distance and loss.name == "binary":
            right = math.fsum(prior * self.weights) + float(prior[self.slack] * self.rest[self.slack])
            return max(0.0, 1.0 - right)
        here = loss.reports.points is self.space.points
        if loss.by_distance and here and isinstance(self._offsets, Toeplitz | Circulant):
            kernel = self._offsets
            spectrum = kernel.spectrum_of(kernel.table.reshape(-1) * loss.rows(np.array([0]))[0])
            return math.fsum(prior * kernel.convolve(spectrum, self.weights)) + rest
        return self.cost_by_rows(prior, loss.rows)

    def cost_by_rows(self, prior: Array, losses: Callable[[NDArray[np.int64]], Array]) -> float:
        """Σ_x π_x Σ_z K[x, z] l(x, z) for losses `(k, n)` that are given for k secrets at a time, in O(n²) time.

        Raises
        ------
        UnsupportedError
            Above 50,000 points.
        """
        from dxopt.numerics.sums import missing

        size = len(self.space)
        if size > PAIRED_POINTS:
            raise UnsupportedError(
                "loss", f"needs every pair of {size:,} points", "use a named loss, and the secrets as reports"
            )
        likely, total = np.flatnonzero(prior), []
        for secrets in np.split(likely, range(_BLOCK, len(likely), _BLOCK)):
            rows = np.stack([self.kernel.row(int(secret)) for secret in secrets]) * self.weights
            rows[:, self.slack] += missing(rows)
            rows *= prior[secrets, None]
            total.append(float((rows * np.where(rows > 0, losses(secrets), 0.0)).sum()))
        return math.fsum(total)

    @cached_property
    def _offsets(self) -> System | None:
        """T as a function of the offset, where the space is translation-invariant."""
        shape, kind = self.space.structure.shape, self.space.structure.kind
        if isinstance(self.kernel, Toeplitz | Circulant):
            return self.kernel
        first = self.space.row(0)
        if kind == "path" and len(first) > 1 and np.ptp(np.diff(first)) > 8 * UNIT * float(first[-1]):
            return None
        return (
            Toeplitz(first.reshape(shape), self.epsilon, 0.0, distance_error(self.space)) if kind in _EVEN else None
        )


def kernel_mechanism(
    space: MetricSpace, epsilon: float, kernel: System, level: float, weights: Array
) -> KernelMechanism:
    """The mechanism of weights w ≥ 0 with Tw ≈ 1, scaled so that what rows lack of 1 is private as well, and proven.

    Raises
    ------
    UnsupportedError
        If the row sums are not close enough to 1 for that.
    """
    kept = np.where(weights > _NOTHING * float(weights.max()), weights, 0.0)
    low, high = _sums(kernel, kept)
    off = max(abs(low - 1), abs(high - 1)) + 2.0**-50
    room = 1.01 * off * (1 + 2 / math.expm1(min(epsilon * space.nearest, 50.0)))
    if not room < MOST_SLACK:
        raise UnsupportedError(
            "space", f"row sums are known only within {off:.1e}, which is too little for a proof", "use method: tight"
        )
    scaled = kept * (1 - room)
    scaled.flags.writeable = False
    proof = prove_kernel(space, epsilon, kernel, level, scaled)
    return KernelMechanism(space, Reports.of(space), scaled, level, int(scaled.argmax()), "tight-constraints", proof)


def prove_kernel(space: MetricSpace, epsilon: float, kernel: System, level: float, weights: Array) -> Privacy:
    """Prove that a kernel mechanism is private at ε.

    T at the level ε' obeys T[x, z] ≤ e^{ε'd(x, x')} T[x', z] up to its rounding, by the triangle inequality, and ε'
    is below `epsilon_of_weights`, which leaves room for that rounding. What rows lack of 1 lies between two bounds whose
    ratio is at most e^{εd} for all d > 0.

    Raises
    ------
    CertificateError
        If one of the steps fails.
    """
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise CertificateError("the weights are not all numbers of 0 or more")
    if (weights[weights > 0] < 0.5 * _NOTHING * float(weights.max())).any() or not 1e-12 < float(weights.max()) <= 1:
        raise CertificateError("the weights range over too many decades")
    if not 0 < level <= epsilon_of_weights(space, epsilon, kernel):
        raise CertificateError(f"the level {level!r} leaves no room for rounding")
    low, high = _sums(kernel, weights)
    least, most = 1 - high, 1 - low
    if not (least > 0 and most <= least * math.exp(min(epsilon * space.nearest, 50.0)) * (1 - 64 * UNIT)):
        raise CertificateError(f"rows sum to between {low:.17g} and {high:.17g}, and what they lack is not private")
    return Privacy(
        epsilon,
        f"triangle inequality at a level lowered by {1 - level / epsilon:.1e}, against the rounding of entries; row "
        f"sums within {high - low:.1e}; at most {most:.1e} of each row to one report",
    )


def _sums(kernel: System, weights: Array) -> tuple[float, float]:
    """Bounds on the row sums of T·diag(w) in doubles; on lines of up to 4,000 points the sums themselves."""
    if isinstance(kernel, Path) and kernel.size <= _SUMMED_POINTS:
        sums = [math.fsum(kernel.row(place) * weights) for place in range(kernel.size)]
        return min(sums) * (1 - 2 * UNIT), max(sums) * (1 + 2 * UNIT)
    product, rounding = kernel.apply(weights)
    error = rounding + (kernel.entry_error + 8 * UNIT) * float(product.max()) + 2.0**-52
    error += math.exp(-kernel.cap) * float(weights.sum())
    return float(product.min()) - error, float(product.max()) + error


def epsilon_of_weights(space: MetricSpace, epsilon: float, kernel: System) -> float:
    """ε' < ε such that ε'd plus the rounding of two entries of T and their products stays below εd, for all d > 0."""
    nearest = space.nearest
    if not math.isfinite(nearest):
        return epsilon
    if _has_twins(space):
        raise UnsupportedError("space", "has points at distance 0", "join them")
    lowered = distance_error(space) + (2 * kernel.entry_error + 32 * UNIT) / max(epsilon * nearest, 1e-300) + 8 * UNIT
    if not lowered < 1e-3:
        raise UnsupportedError(
            "space",
            f"has points {nearest:.3g} apart, too close at epsilon = {epsilon:g}",
            "join them, or raise epsilon",
        )
    return epsilon * (1 - 1.01 * lowered)


def _has_twins(space: MetricSpace) -> bool:
    """Whether two points are at distance 0; structured spaces have none but in a factor of a product."""
    if space.structure.kind == "product":
        return any(_has_twins(factor) for factor in space.structure.factors)
    return space.structure.kind in ("general", "graph") and int((space.distances == 0).sum()) > len(space)


def lowered_epsilon(space: MetricSpace, epsilon: float, roundings: int, distance_error: float = 0.0) -> float:
    """The level ε' < ε such that e^{ε'd(1 + distance_error)} (1 + 2^-53)^roundings ≤ e^{εd} for all d > 0.

    Raises
    ------
    UnsupportedError
        If points are too close for that at a level that is only a hair below ε.
    """
    lowered = distance_error + roundings * UNIT / max(epsilon * space.nearest, 1e-300) + 8 * UNIT
    if not lowered < 1e-3:
        raise UnsupportedError(
            "space", f"has points {space.nearest:.3g} apart, too close at epsilon = {epsilon:g}", "raise epsilon"
        )
    return epsilon * (1 - 1.01 * lowered)


def read(arrays: Arrays) -> KernelMechanism:
    """The mechanism of `KernelMechanism.packed`, proven again; SpecError or CertificateError where that fails."""
    space, weights, level = unpack(arrays), arrays["weights"], float(arrays["level"])
    if weights.shape != (len(space),) or not 0 <= int(arrays["slack"]) < len(space):
        raise SpecError("weights", f"have shape {weights.shape}", f"there are {len(space)} points")
    weights.flags.writeable = False
    privacy = prove_kernel(space, float(arrays["epsilon"]), system(space, level), level, weights)
    return KernelMechanism(
        space, Reports.of(space), weights, level, int(arrays["slack"]), str(arrays["name"]), privacy
    )
