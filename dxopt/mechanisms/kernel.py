"""Tight-constraints mechanisms that are never written down: K = Φ·diag(w) known by the structure of the space."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError, SpecError, UnsupportedError
from dxopt.mechanisms.lowering import epsilon_of_weights
from dxopt.model.loss import Loss, Reports
from dxopt.model.mechanism import Mechanism, Privacy
from dxopt.numerics.draws import uniforms
from dxopt.numerics.rounding import UNIT, deficit, row_sums
from dxopt.runtime.archive import Arrays
from dxopt.spaces.archive import unpack
from dxopt.spaces.kernels import Circulant, Kronecker, Path, System, Toeplitz
from dxopt.spaces.kernels.systems import distance_error, system
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
POWERS = {"distance": 1, "squared": 2}
"""The losses that are powers of the distance."""
_FEW_CELLS = 10_000_000
_CLOSE = 1e-9


def costs_of_reports(kernel: Path, weights: Array, prior: Array, loss: Loss, reports: NDArray[np.int64]) -> Array:
    """w_z Σ_x π_x T[x, z] l(x, r), what it costs to report r instead of z: `(n, k)` for k reports, in O(nk) time."""
    with np.errstate(invalid="ignore"):
        costs = prior[:, None] * loss.columns(reports)
    costs[prior == 0] = 0.0
    return kernel.products(costs) * weights[:, None]


def cost_of_power(
    kernel: Path, weights: Array, prior: Array, loss: Loss, table: NDArray[np.int64] | None = None
) -> float | None:
    """The cost of a power of the distance, also where the point `table[z]` is reported instead of z.

    In O(n) time, and as much again for each point between z and `table[z]`; None where these are many, or doubles
    leave it in doubt.
    """
    if table is not None and np.abs(table - np.arange(len(table))).sum() > _FEW_CELLS:
        return None
    power = POWERS[loss.name]
    cost = math.fsum(weights * kernel.moments(prior, power, table))
    return cost if _is_sure(kernel, weights, cost, float(np.ptp(kernel.positions)) ** power) else None


def cost_of_table(
    kernel: Path, weights: Array, prior: Array, loss: Loss, table: NDArray[np.int64], *, points: bool
) -> float | None:
    """The cost where `table[z]` is reported instead of z; None where many reports are in use, or it is in doubt.

    Where what is reported are `points` of the line, powers of the distance may have many of them.
    """
    if points and loss.name in POWERS and (found := cost_of_power(kernel, weights, prior, loss, table)) is not None:
        return found
    used, which = np.unique(table, return_inverse=True)
    if len(used) * len(table) > _FEW_CELLS:
        return None
    costs = costs_of_reports(kernel, weights, prior, loss, used)
    cost = math.fsum(costs[np.arange(len(which)), which])
    largest = float(np.abs(loss.columns(used)[prior > 0]).max())
    return cost if _is_sure(kernel, weights, cost, largest) else None


def _is_sure(kernel: Path, weights: Array, cost: float, largest: float) -> bool:
    """Return True if the cap and the rounding of deficits change a cost by little, for losses up to the largest."""
    doubt = math.exp(-kernel.cap) * float(weights.sum()) + 8 * UNIT
    return math.isfinite(cost) and doubt * largest <= _CLOSE * abs(cost)


LARGEST_REST = 1e-5
"""The largest part of a row that may go to the slack report."""
PAIRED_POINTS = 50_000
"""With more points than this, nothing is computed that needs every pair of them."""
_LEAST_WEIGHT = 1e-30
"""Weights below this part of the largest one count as 0, so that no product of a weight and an entry underflows."""
_SUMMED_POINTS = 4_000
_BLOCK = 64
_LARGEST_BUDGET = 50.0
"""Larger budgets count as this one where e^{εd} only bounds a ratio, so that it does not overflow."""
_EVEN = ("path", "lattice")


@dataclass(frozen=True, eq=False, repr=False)
class KernelMechanism(Mechanism):
    """K[x, z] = T[x, z] w_z, and what is missing from 1 in a row goes to one report, the slack report.

    T is e^{-min(ε'd, cap)} in doubles, at an ε' a hair below the ε of `privacy`. Rows, samples and evaluations are
    computed on demand; nothing of size n² is stored.

    Such a mechanism is private in doubles for three reasons, which `prove_kernel` checks. Entries of T obey the
    triangle inequality up to their rounding, and ε - ε' leaves room for that rounding. The row sums of T·diag(w) are
    all a little less than 1 and near each other, so that the rest of a row is positive and about the same in every
    row. And a column that is the sum of two private columns is private, which is what the slack report has.

    Attributes
    ----------
    weights : (n,) array
        w ≥ 0, scaled so that every row of T·diag(w) sums to a little less than 1.
    epsilon : float
        ε', the mechanism's own; `privacy` has the ε that is proven.
    slack : int
        Index of the slack report, which gets the rest of each row.
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
        """T, at ε'."""
        return system(self.space, self.epsilon)

    @cached_property
    def rest(self) -> Array:
        """Deficit of each row, `(n,)`: the additional probability of the slack report."""
        return np.maximum(1.0 - self.kernel.apply(self.weights)[0], 0.0)

    def _rows(self, secrets: NDArray[np.int64]) -> Array:
        rows = np.empty((len(secrets), len(self.space)))
        for row, secret in zip(rows, secrets, strict=True):
            np.multiply(self.kernel.row(int(secret)), self.weights, out=row)
            row[self.slack] += deficit(row)
        return rows

    def _draw(self, secrets: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        # A row is the mixture of T[x, ·] w, scaled to sum to 1, and of the slack report with probability `rest`.
        drawn = self.kernel.draw(self.weights, secrets, rng)
        drawn[uniforms(len(secrets), rng) < self.rest[secrets]] = self.slack
        return drawn

    def reported(self) -> NDArray[np.bool_]:
        made = self.weights > 0
        made[self.slack] = True
        return made

    def packed(self) -> Arrays:
        # "level" is the name of ε' in saved files; their "epsilon" is the one that is proven.
        return self.packed_identity() | {"weights": self.weights, "level": self.epsilon, "slack": self.slack}

    def correct(self, prior: Array) -> float:
        # max_x π_x T[x, z] for all z at once, by structure; the column of the slack report has the rest as well.
        best = self.kernel.closure(prior) * self.weights
        with_rest = self.kernel.row(self.slack) * self.weights[self.slack] + self.rest
        best[self.slack] = float((prior * with_rest).max())
        return math.fsum(best)

    def cost(self, prior: Array, loss: Loss) -> float:
        # What the rest costs at the slack report; losses by distance are symmetric here.
        rest = math.fsum(prior * self.rest * loss.rows(np.array([self.slack]))[0])

        if not self.structured(loss):
            return self.cost_by_rows(prior, loss.rows)

        # Binary loss: 1 less the probability of reporting the secret, K[x, x] = w_x, as T[x, x] = 1.
        if loss.name == "binary":
            right = math.fsum(prior * self.weights) + float(prior[self.slack] * self.rest[self.slack])
            return max(0.0, 1.0 - right)

        # On a line, what has gathered on the way and its moments move on together, whatever the steps.
        if self._offsets is None:
            assert isinstance(self.kernel, Path)
            found = cost_of_power(self.kernel, self.weights, prior, loss)
            return self.cost_by_rows(prior, loss.rows) if found is None else found + rest

        # Other losses by distance, where T depends on the offset z - x alone: so does T[x, z] l(x, z), whose sum with
        # the weights is a convolution.
        kernel = self._offsets
        assert isinstance(kernel, Toeplitz | Circulant)
        spectrum = kernel.spectrum_of(kernel.table.reshape(-1) * loss.rows(np.array([0]))[0])
        return math.fsum(prior * kernel.convolve(spectrum, self.weights)) + rest

    def structured(self, loss: Loss) -> bool:
        """True if `cost` need not go through all pairs of secrets and reports."""
        if not loss.by_distance or loss.name == "binary":
            return loss.by_distance
        if loss.reports.points is not self.space.points:
            return False
        along = isinstance(self.kernel, Path) and np.isfinite(np.ptp(self.kernel.positions))
        return isinstance(self._offsets, Toeplitz | Circulant) or (bool(along) and loss.name in POWERS)

    def cost_by_rows(self, prior: Array, losses: Callable[[NDArray[np.int64]], Array]) -> float:
        """Σ_x π_x Σ_z K[x, z] l(x, z) from a function that gives the losses `(k, n)` of k secrets, in O(n²) time.

        Raises
        ------
        UnsupportedError
            Above 50,000 points.
        """
        from dxopt.numerics.row_deficit import missing

        size = len(self.space)
        if size > PAIRED_POINTS:
            raise UnsupportedError(
                "loss", f"needs every pair of {size:,} points", "use a named loss, and the secrets as reports"
            )
        likely = np.flatnonzero(prior)
        total = []
        for secrets in np.split(likely, range(_BLOCK, len(likely), _BLOCK)):
            rows = np.stack([self.kernel.row(int(secret)) for secret in secrets]) * self.weights
            rows[:, self.slack] += missing(rows)
            rows *= prior[secrets, None]
            total.append(float((rows * np.where(rows > 0, losses(secrets), 0.0)).sum()))
        return math.fsum(total)

    def cost_of_remap(self, prior: Array, loss: Loss, table: NDArray[np.int64]) -> float:
        """The cost where `table[z]` is reported instead of z; on a line often without going through all pairs."""
        if isinstance(self.kernel, Path):
            found = cost_of_table(self.kernel, self.weights, prior, loss, table, points=self.structured(loss))
            if found is not None:
                at_slack = loss.column(int(table[self.slack]))
                return found + math.fsum(np.where(prior > 0, prior * self.rest * at_slack, 0.0))
        return self.cost_by_rows(prior, lambda secrets: loss.rows(secrets)[:, table])

    @cached_property
    def _offsets(self) -> System | None:
        """T as a function of the offset, where the space is translation-invariant."""
        shape = self.space.structure.shape
        kind = self.space.structure.kind
        if isinstance(self.kernel, Toeplitz | Circulant):
            return self.kernel
        # A line is translation-invariant only if its steps are equal, up to rounding.
        first = self.space.row(index=0)
        if kind == "path" and len(first) > 1 and np.ptp(np.diff(first)) > 8 * UNIT * float(first[-1]):
            return None
        if kind not in _EVEN:
            return None
        return Toeplitz(first.reshape(shape), self.epsilon, 0.0, distance_error(self.space))


def kernel_mechanism(
    space: MetricSpace, epsilon: float, kernel: System, lowered: float, weights: Array
) -> KernelMechanism:
    """The mechanism of weights w ≥ 0 with Tw ≈ 1, scaled so that the rest of each row is private as well, and proven.

    Parameters
    ----------
    space : MetricSpace
    epsilon : float
        ε, which is proven.
    kernel : System
        T, at ε'.
    lowered : float
        ε', at most `epsilon_of_weights`.
    weights : (n,) array

    Raises
    ------
    UnsupportedError
        If the row sums are not close enough to 1 for that.
    """
    # Row sums lie within `off` of 1. Scaling the weights by 1 - room brings the rest of each row between room - off
    # and room + off. The ratio of these two is at most e^a, with a = ε times the least distance, if room ≥ off (e^a +
    # 1)/(e^a - 1) = off (1 + 2/(e^a - 1)): then the rest is private for every pair of secrets.
    kept = np.where(weights > _LEAST_WEIGHT * float(weights.max()), weights, 0.0)
    low, high = _sums(kernel, kept)
    off = max(abs(low - 1), abs(high - 1)) + 2.0**-50
    room = 1.01 * off * (1 + 2 / math.expm1(min(epsilon * space.nearest, _LARGEST_BUDGET)))
    if not room < LARGEST_REST:
        raise UnsupportedError(
            "space",
            f"row sums are known only within {off:.1e}, which is too little for a proof",
            "take a larger epsilon",
        )
    scaled = kept * (1 - room)
    scaled.flags.writeable = False
    proof = prove_kernel(space, epsilon, kernel, lowered, scaled)
    slack = int(scaled.argmax())
    return KernelMechanism(space, Reports.of(space), scaled, lowered, slack, "tight-constraints", proof)


def prove_kernel(space: MetricSpace, epsilon: float, kernel: System, lowered: float, weights: Array) -> Privacy:
    """Prove that a kernel mechanism is private at ε.

    T at ε' obeys T[x, z] ≤ e^{ε'd(x, x')} T[x', z] up to its rounding, by the triangle inequality, and ε' is at most
    `epsilon_of_weights`, which leaves room for that rounding. What is missing from 1 in a row lies between two bounds
    whose ratio is at most e^{εd} for all d > 0.

    Raises
    ------
    CertificateError
        If one of the steps fails.
    """
    # 1. The weights are such that no T[x, z] w_z underflows: T is at least e^{-600} by its cap, and each positive
    # weight at least 5e-31 of the largest, which is at least 1e-12. So the relative error of a product is one
    # rounding.
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise CertificateError("the weights are not all numbers of 0 or more")
    largest = float(weights.max())
    if (weights[weights > 0] < 0.5 * _LEAST_WEIGHT * largest).any() or not 1e-12 < largest <= 1:
        raise CertificateError("the weights range over too many decades")

    # 2. For x ≠ x', (ε - ε')d(x, x') covers the rounding of the two entries and of their products with w_z, so that
    # every column of T·diag(w) is private at ε.
    if not 0 < lowered <= epsilon_of_weights(space, epsilon, kernel):
        raise CertificateError(f"the level {lowered!r} leaves no room for rounding")

    # 3. The rest of each row is positive, and the largest at most e^{εd} times the least for the least distance d,
    # with a few roundings to spare. Added to the column of the slack report, it keeps that column private.
    low, high = _sums(kernel, weights)
    least = 1 - high
    most = 1 - low
    ratio = math.exp(min(epsilon * space.nearest, _LARGEST_BUDGET))
    if not (least > 0 and most <= least * ratio * (1 - 64 * UNIT)):
        raise CertificateError(f"rows sum to between {low:.17g} and {high:.17g}, and what they lack is not private")
    return Privacy(
        epsilon,
        f"triangle inequality at a level lowered by {1 - lowered / epsilon:.1e}, against the rounding of entries; "
        f"row sums within {high - low:.1e}; at most {most:.1e} of each row to one report",
    )


def _sums(kernel: System, weights: Array) -> tuple[float, float]:
    """Bounds on the row sums of T·diag(w) in doubles; for lines and products up to 4,000 points the sums."""
    if isinstance(kernel, Path | Kronecker) and kernel.size <= _SUMMED_POINTS:
        steps = (range(start, min(start + _BLOCK, kernel.size)) for start in range(0, kernel.size, _BLOCK))
        sums = np.concatenate([row_sums(np.stack([kernel.row(x) for x in secrets]) * weights) for secrets in steps])
        return float(sums.min()) * (1 - 2 * UNIT), float(sums.max()) * (1 + 2 * UNIT)
    # `apply` states its own rounding. The entries that `rows` computes may differ from those that it multiplies by
    # the error of entries, which is relative, and by the cap, without which an entry is at most e^{-cap} smaller.
    product, rounding = kernel.apply(weights)
    error = rounding + (kernel.entry_error + 8 * UNIT) * float(product.max()) + 2.0**-52
    error += math.exp(-kernel.cap) * float(weights.sum())
    return float(product.min()) - error, float(product.max()) + error


def read(arrays: Arrays) -> KernelMechanism:
    """The mechanism of `KernelMechanism.packed`, proven again; SpecError or CertificateError where that fails."""
    space = unpack(arrays)
    weights = arrays["weights"]
    lowered = float(arrays["level"])
    slack = int(arrays["slack"])
    if weights.shape != (len(space),) or not 0 <= slack < len(space):
        raise SpecError("weights", f"have shape {weights.shape}", f"there are {len(space)} points")
    weights.flags.writeable = False
    privacy = prove_kernel(space, float(arrays["epsilon"]), system(space, lowered), lowered, weights)
    return KernelMechanism(space, Reports.of(space), weights, lowered, slack, str(arrays["name"]), privacy)
