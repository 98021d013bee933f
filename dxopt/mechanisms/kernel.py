"""Tight-constraints mechanisms that are never written down: K = T·diag(w) known by the structure of the space."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import CertificateError, SpecError, UnsupportedError
from dxopt.model.loss import Loss, Reports
from dxopt.model.mechanism import Mechanism, Privacy
from dxopt.model.reports import pack_reports, unpack_reports
from dxopt.numerics.coerce import as_weights
from dxopt.numerics.draws import uniforms
from dxopt.numerics.number_syntax import digits_up
from dxopt.numerics.rounding import UNIT, deficit, row_sums
from dxopt.runtime.archive import Arrays, nested, part
from dxopt.spaces.archive import unpack
from dxopt.spaces.kernels import Circulant, Kronecker, Path, System, Toeplitz
from dxopt.spaces.kernels.systems import distance_error, system
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
POWERS = {"distance": 1, "squared": 2}
"""The losses that are powers of the distance."""
_FEW_CELLS = 10_000_000
"""Up to so many steps, or losses, the cost of a remap is computed by structure; beyond, from all pairs."""
_CLOSE = 1e-9
_LARGEST_REST = 1e-5
"""The largest part of a row that may go to the slack report."""
PAIRED_POINTS = 50_000
"""With more points than this, nothing is computed that needs every pair of them."""
_LEAST_WEIGHT = 1e-30
"""Weights below this part of the largest one count as 0, so that no product of a weight and an entry underflows."""
_SUMMED_POINTS = 4_000
_BLOCK = 64
_LARGEST_BUDGET = 50.0
"""Larger budgets count as this one where e^{εd} only bounds a ratio, so that it does not overflow."""
_LARGEST_CUT = 1e-3
"""ε' is lowered by less than this part of ε; where more would be needed, points are too close for a proof."""
_LEAST_BUDGET = 1e-300
"""Smaller budgets count as this one, so that no quotient overflows."""


def lowered_epsilon(space: MetricSpace, epsilon: float, roundings: float, distance_error: float = 0.0) -> float:
    """Return the ε' < ε such that e^{ε'd(1 + distance_error)} (1 + 2^-53)^roundings ≤ e^{εd} for all d > 0.

    A mechanism that is private at ε', with respect to distances that are off by that relative error, is private at ε
    after that many relative roundings of its entries.

    Raises
    ------
    UnsupportedError
        If points are so close that ε' would be below about 0.999 ε.
    """
    # The rounding of entries is covered by the least budget: (ε - ε')d ≥ εd · cut for the least d, and so for all.
    cut = distance_error + roundings * UNIT / max(epsilon * space.nearest, _LEAST_BUDGET) + 8 * UNIT
    if not cut < _LARGEST_CUT:
        wrong = f"has points {space.nearest:.3g} apart, too close at epsilon = {epsilon:g}"
        raise UnsupportedError("space", wrong, "join them, or raise epsilon")
    return epsilon * (1 - 1.01 * cut)


def epsilon_of_weights(space: MetricSpace, epsilon: float, kernel: System) -> float:
    """Return the ε' < ε at which to compute the kernel T of a mechanism T·diag(w) that is to be private at ε.

    It is such that ε'd plus the rounding of two entries of T and of their products with a weight stays below εd for
    all d > 0. `kernel` is T at ε, whose entries have about the same relative error. Without two points at a finite
    distance nothing binds, and ε' is ε.

    Raises
    ------
    UnsupportedError
        If points are at distance 0, or so close that ε' would be below about 0.999 ε.
    """
    if not math.isfinite(space.nearest):
        return epsilon
    if _has_twins(space):
        raise UnsupportedError("space", "has points at distance 0", "join them")
    return lowered_epsilon(space, epsilon, 2 * kernel.entry_error / UNIT + 32, distance_error(space))


def _has_twins(space: MetricSpace) -> bool:
    """Return True if two points are at distance 0. Structured spaces have none, except in a factor of a product."""
    if space.structure.kind == "product":
        return any(_has_twins(factor) for factor in space.structure.factors)
    return space.structure.kind in ("general", "graph") and int((space.distances == 0).sum()) > len(space)


def costs_of_reports(kernel: Path, weights: Array, prior: Array, loss: Loss, reports: Indices) -> Array:
    """Return w_z Σ_x π_x T[x, z] l(x, r), the cost of reporting r in place of z, for k reports r, `(n, k)`."""
    # Infinite losses do not count for secrets of prior 0.
    with np.errstate(invalid="ignore"):
        costs = prior[:, None] * loss.columns(reports)
    costs[prior == 0] = 0.0
    return kernel.products(costs) * weights[:, None]


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
        """Kernel T, at ε'."""
        return system(self.space, self.epsilon)

    @cached_property
    def rest(self) -> Array:
        """Deficit of each row, `(n,)`: the additional probability of the slack report."""
        return np.maximum(1.0 - self.kernel.apply(self.weights)[0], 0.0)

    def _rows(self, secrets: Indices) -> Array:
        # What a row of T·diag(w) lacks of 1 goes to the slack report.
        rows = np.empty((len(secrets), len(self.space)))
        for row, secret in zip(rows, secrets, strict=True):
            np.multiply(self.kernel.row(int(secret)), self.weights, out=row)
            row[self.slack] += deficit(row)
        return rows

    def _draw(self, secrets: Indices, rng: np.random.Generator | None) -> Indices:
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
        return self.packed_common() | {"weights": self.weights, "level": self.epsilon, "slack": self.slack}

    def correct(self, prior: ArrayLike) -> float:
        prior = as_weights(prior, "prior", "give a probability for each secret", len(self.space))
        # max_x π_x T[x, z] for all z at once, by structure; the column of the slack report has the rest as well.
        best = self.kernel.closure(prior) * self.weights
        with_rest = self.kernel.row(self.slack) * self.weights[self.slack] + self.rest
        best[self.slack] = float((prior * with_rest).max())
        return math.fsum(best)

    def cost(self, prior: Array, loss: Loss) -> float:
        # What the rest costs at the slack report: its row of losses, which for the losses below is its column too, as
        # they are by a symmetric distance.
        rest = math.fsum(prior * self.rest * loss.rows(np.array([self.slack]))[0])

        if not self.structured(loss):
            return self.cost_by_rows(prior, loss.rows)

        # Binary loss: 1 less the probability of reporting the secret, K[x, x] = w_x, as T[x, x] = 1.
        if loss.name == "binary":
            right = math.fsum(prior * self.weights) + float(prior[self.slack] * self.rest[self.slack])
            return max(0.0, 1.0 - right)

        # On a line, one sweep carries the sum of what was passed and its moments along, whatever the steps.
        if self._offsets is None:
            assert isinstance(self.kernel, Path)
            found = self._cost_of_power(self.kernel, prior, loss)
            return self.cost_by_rows(prior, loss.rows) if found is None else found + rest

        # Other losses by distance, where T depends on the offset z - x alone: so does T[x, z] l(x, z), whose sum with
        # the weights is a convolution.
        kernel = self._offsets
        assert isinstance(kernel, Toeplitz | Circulant)
        spectrum = kernel.spectrum_of(kernel.table.reshape(-1) * loss.rows(np.array([0]))[0])
        return math.fsum(prior * kernel.convolve(spectrum, self.weights)) + rest

    def structured(self, loss: Loss) -> bool:
        """Return True if `cost` need not go through all pairs of secrets and reports."""
        if not loss.by_distance or loss.name == "binary":
            return loss.by_distance
        # The reports have to be the secrets, whose points `Reports.of` hands on as the same object.
        if loss.reports.points is not self.space.points:
            return False
        along = isinstance(self.kernel, Path) and np.isfinite(np.ptp(self.kernel.positions))
        return isinstance(self._offsets, Toeplitz | Circulant) or (bool(along) and loss.name in POWERS)

    def cost_by_rows(self, prior: Array, losses: Callable[[Indices], Array]) -> float:
        """Return the cost from a function that gives the losses `(k, n)` of k secrets, in O(n²) time.

        Raises
        ------
        UnsupportedError
            Above 50,000 points.
        """
        from dxopt.numerics.row_deficit import row_deficits

        size = len(self.space)
        if size > PAIRED_POINTS:
            fix = "use a named loss, and the secrets as reports"
            raise UnsupportedError("loss", f"needs every pair of {size:,} points", fix)
        likely = np.flatnonzero(prior)
        total = []
        for secrets in np.split(likely, range(_BLOCK, len(likely), _BLOCK)):
            rows = np.stack([self.kernel.row(int(secret)) for secret in secrets]) * self.weights
            rows[:, self.slack] += row_deficits(rows)
            rows *= prior[secrets, None]
            total.append(float((rows * np.where(rows > 0, losses(secrets), 0.0)).sum()))
        return math.fsum(total)

    def cost_of_remap(self, prior: Array, loss: Loss, table: Indices) -> float:
        """Return the cost if `table[z]` is reported instead of z, on a line often without going through all pairs."""
        if isinstance(self.kernel, Path):
            found = None
            if loss.name in POWERS and self.structured(loss):
                found = self._cost_of_power(self.kernel, prior, loss, table)
            if found is None:
                found = self._cost_of_table(self.kernel, prior, loss, table)
            if found is not None:
                at_slack = loss.column(int(table[self.slack]))
                return found + math.fsum(np.where(prior > 0, prior * self.rest * at_slack, 0.0))
        return self.cost_by_rows(prior, lambda secrets: loss.rows(secrets)[:, table])

    def _cost_of_power(self, kernel: Path, prior: Array, loss: Loss, table: Indices | None = None) -> float | None:
        """Return the cost of a power of the distance, also where the point `table[z]` is reported instead of z.

        In O(n) time, and as much again for each point between z and `table[z]`; None where these are many, or doubles
        leave it in doubt.
        """
        if table is not None and np.abs(table - np.arange(len(table))).sum() > _FEW_CELLS:
            return None
        power = POWERS[loss.name]
        cost = math.fsum(self.weights * kernel.moments(prior, power, table))
        return self._cost_if_certain(kernel, cost, float(np.ptp(kernel.positions)) ** power)

    def _cost_of_table(self, kernel: Path, prior: Array, loss: Loss, table: Indices) -> float | None:
        """Return the cost of a table from its few reports; None where many are in use, or it is in doubt."""
        used, which = np.unique(table, return_inverse=True)
        if len(used) * len(table) > _FEW_CELLS:
            return None
        costs = costs_of_reports(kernel, self.weights, prior, loss, used)
        cost = math.fsum(costs[np.arange(len(which)), which])
        return self._cost_if_certain(kernel, cost, float(np.abs(loss.columns(used)[prior > 0]).max()))

    def _cost_if_certain(self, kernel: Path, cost: float, largest: float) -> float | None:
        """Return a cost; None where entries at the cap, or rounding of deficits, may change it by 1e-9 of itself.

        `largest` bounds the losses.
        """
        doubt = math.exp(-kernel.cap) * float(self.weights.sum()) + 8 * UNIT
        return cost if math.isfinite(cost) and doubt * largest <= _CLOSE * abs(cost) else None

    @cached_property
    def _offsets(self) -> System | None:
        """T as a function of the offset, for convolutions, in a translation-invariant space; None elsewhere."""
        shape = self.space.structure.shape
        kind = self.space.structure.kind
        if isinstance(self.kernel, Toeplitz | Circulant):
            return self.kernel
        if kind not in ("path", "lattice"):
            return None
        # A line is translation-invariant only if its steps are equal, up to rounding.
        first = self.space.row(index=0)
        if kind == "path" and len(first) > 1 and np.ptp(np.diff(first)) > 8 * UNIT * float(first[-1]):
            return None
        return Toeplitz(first.reshape(shape), self.epsilon, least=0.0, distance_error=distance_error(self.space))


def private_rest(space: MetricSpace, epsilon: float, off: float) -> float:
    """Return the part of each row to hold back so that a rest within `off` of it is private for all secrets.

    The ratio of rest + off to rest - off is at most e^a, with a = ε times the least distance, if rest ≥ off (e^a +
    1)/(e^a - 1) = off (1 + 2/(e^a - 1)).

    Raises
    ------
    UnsupportedError
        If it is too large a part for one report.
    """
    rest = 1.01 * off * (1 + 2 / math.expm1(min(epsilon * space.nearest, _LARGEST_BUDGET)))
    if not rest < _LARGEST_REST:
        raise UnsupportedError("space", f"would send {rest:.1e} of each row to one report", "take a larger epsilon")
    return rest


def kernel_mechanism(
    space: MetricSpace, epsilon: float, kernel: System, lowered: float, weights: Array
) -> KernelMechanism:
    """Make the mechanism of weights w ≥ 0 with Tw ≈ 1, scaled so that the rest of each row is private, and prove it.

    `kernel` is T at ε', `lowered`, which is at most `epsilon_of_weights`.

    Raises
    ------
    UnsupportedError
        If the row sums are not close enough to 1 for that.
    """
    # Row sums lie within `off` of 1. Scaling the weights by 1 - rest brings what each row lacks between about
    # rest - off and rest + off.
    kept = np.where(weights > _LEAST_WEIGHT * float(weights.max()), weights, 0.0)
    low, high = _bounds_of_row_sums(kernel, kept)
    off = max(abs(low - 1), abs(high - 1)) + 2.0**-50
    scaled = kept * (1 - private_rest(space, epsilon, off))
    scaled.flags.writeable = False
    proof = prove_kernel(space, epsilon, kernel, lowered, scaled)
    slack = int(scaled.argmax())
    return KernelMechanism(space, Reports.of(space), scaled, lowered, slack, "tight-constraints", proof)


def line_mechanism(space: MetricSpace, epsilon: float) -> KernelMechanism:
    """Make the truncated geometric mechanism of a line, proven private at ε without a matrix.

    UnsupportedError or CertificateError where points are too close for that proof.
    """
    lowered = epsilon_of_weights(space, epsilon, system(space, epsilon))
    kernel = system(space, lowered)
    # about the solution of Tw = 1; `kernel_mechanism` bounds how far the row sums are from 1
    weights = np.maximum(kernel.approximate(np.ones(len(space))), 0.0)
    return kernel_mechanism(space, epsilon, kernel, lowered, weights)


def prove_kernel(space: MetricSpace, epsilon: float, kernel: System, lowered: float, weights: Array) -> Privacy:
    """Prove that a kernel mechanism is private at ε.

    `kernel` is T at ε', `lowered`, and `weights` are w. What T·diag(w) lacks of 1 in a row goes to the slack report.
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
    low, high = _bounds_of_row_sums(kernel, weights)
    least = 1 - high
    most = 1 - low
    ratio = math.exp(min(epsilon * space.nearest, _LARGEST_BUDGET))
    if not (least > 0 and most <= least * ratio * (1 - 64 * UNIT)):
        raise CertificateError(f"rows sum to between {low:.17g} and {high:.17g}, and what they lack is not private")
    return Privacy(
        epsilon,
        f"triangle inequality at a level lowered by {1 - lowered / epsilon:.1e}, against the rounding of entries; "
        f"row sums within {digits_up(high - low, 2):.1e}; at most {digits_up(most, 2):.1e} of each row to one report",
    )


def _bounds_of_row_sums(kernel: System, weights: Array) -> tuple[float, float]:
    """Return a lower and an upper bound on all row sums of T·diag(w) in doubles.

    For lines and products of up to 4,000 points the rows are summed, as the bounds are then nearer to each other.
    """
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
    """Return the mechanism of `KernelMechanism.packed`, proven again; an error where that fails."""
    space = unpack(arrays)
    weights = arrays["weights"]
    lowered = float(arrays["level"])
    slack = int(arrays["slack"])
    if weights.shape != (len(space),) or not 0 <= slack < len(space):
        raise SpecError("weights", f"have shape {weights.shape}", f"there are {len(space)} points")
    weights.flags.writeable = False
    privacy = prove_kernel(space, float(arrays["epsilon"]), system(space, lowered), lowered, weights)
    return KernelMechanism(space, Reports.of(space), weights, lowered, slack, str(arrays["name"]), privacy)


@dataclass(frozen=True, eq=False, repr=False)
class RemappedMechanism(Mechanism):
    """A kernel mechanism that reports `table[i]` instead of i. Made by `remapped`, which proves it private.

    `table` `(n,)` has for each secret that `base` may report the index of the report given instead.
    """

    space: MetricSpace
    reports: Reports
    base: KernelMechanism
    table: Indices
    name: str
    privacy: Privacy | None

    def _rows(self, secrets: Indices) -> Array:
        from dxopt.numerics.row_deficit import grouped

        return grouped(self.base.rows(secrets), self.table, len(self.reports))

    def packed(self) -> Arrays:
        own = {"table": self.table, **pack_reports(self.reports)}
        return self.packed_common() | own | nested(0, self.base.packed())

    def _draw(self, secrets: Indices, rng: np.random.Generator | None) -> Indices:
        return self.table[self.base.sample(index=secrets, rng=rng)[:, 0]]

    def reported(self) -> NDArray[np.bool_]:
        made = np.zeros(len(self.reports), dtype=bool)
        made[self.table[self.base.reported()]] = True
        return made

    def cost(self, prior: Array, loss: Loss) -> float:
        # One report whatever the secret: its mean loss.
        if (self.table == self.table[0]).all():
            return math.fsum(prior * np.where(prior > 0, loss.column(int(self.table[0])), 0.0))
        same = loss.reports.secrets and np.array_equal(self.table, np.arange(len(self.table)))
        if same and self.base.structured(loss):
            return self.base.cost(prior, loss)
        return self.base.cost_of_remap(prior, loss, self.table)


def epsilon_of_base(space: MetricSpace, epsilon: float) -> float:
    """Return the ε' at which a kernel mechanism has to be private for its remap to be private at ε."""
    return lowered_epsilon(space, epsilon, 8)


def remapped(base: KernelMechanism, table: Indices, reports: Reports, epsilon: float) -> RemappedMechanism:
    """Replace the reports of a kernel mechanism `(n, n)` by a table `(n,)`, proven private at ε.

    An entry of the remap is the sum of the base's entries over the reports that become one, and sums obey the same
    inequalities (HLM14 Thm 4). In doubles each sum is off by 2^-53 relative and a little more, for which the ε of the
    base, at most `epsilon_of_base`, leaves room. Row sums stay within 2^-50 of 1, as those of the base are within
    2^-52. No entry of the base underflows. CertificateError where there is no such room, or the table does not fit.
    """
    if base.privacy is None or base.privacy.epsilon > epsilon_of_base(base.space, epsilon):
        raise CertificateError("the level of the mechanism to remap leaves no room for rounding")
    if table.shape != (len(base.space),) or table.min() < 0 or table.max() >= len(reports):
        raise CertificateError("the remap does not fit the reports")
    how = f"post-processing keeps privacy; before it, {base.privacy.how}"
    return RemappedMechanism(base.space, reports, base, table, f"{base.name}, remapped", Privacy(epsilon, how))


def read_remapped(arrays: Arrays) -> Mechanism:
    """Return the mechanism of `RemappedMechanism.packed`, proven again; an error where that fails."""
    base = read(part(arrays, 0))
    return remapped(base, arrays["table"], unpack_reports(arrays, base.space), float(arrays["epsilon"]))
