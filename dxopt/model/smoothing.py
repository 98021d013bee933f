"""Smoothing of counts, so that a prior has no zeros only because few were seen.

With c_x of data at the secret x, N = Σ c_x in all and n secrets:

- pseudo-counts α: (c_x + α) / (N + nα). The posterior mean under a Dirichlet prior with all parameters α; α = 1 is
  Laplace's rule of succession, 1/2 that of Jeffreys (Lidstone 1920; Jeffreys 1946).
- a kernel k of bandwidth h: each datum is spread over the secrets in proportion to k(d(y, x)), where y is the secret
  that it is at. Σ_y c_y k(d(y, x)) / Σ_z k(d(y, z)), which keeps N (Wang and van Ryzin 1981). Gaussian:
  e^{-d²/(2h²)}; exponential: e^{-d/h}. d is the distance of the space, and h is in its unit.
- both: first the kernel, then the pseudo-counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, UnsupportedError, required_choice
from dxopt.numerics.coerce import NONNEGATIVE, POSITIVE, as_number, as_weights, keep_number
from dxopt.spaces.distances import in_blocks
from dxopt.spaces.lattices import line, torus
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]

KERNELS: dict[str, Callable[[Array], Array]] = {
    "gaussian": lambda apart: np.exp(-0.5 * apart**2),
    "exponential": lambda apart: np.exp(-apart),
}
"""k by name, of the distance over the bandwidth."""
AXIS_POINTS = 4_000
"""The most points of an axis along which a kernel is written down."""
PAIRS = 1_000_000_000
"""The most pairs of a secret with data and a secret, where the space has no structure that a kernel can use."""
_SUMS = {"manhattan": "exponential", "euclidean": "gaussian"}
"""The kernel, for each metric of a lattice, that is a product over the axes: e^-Σ|d_i| and e^-Σd_i²."""


@dataclass(frozen=True)
class Smoothing:
    """Method by which counts are smoothed; see the formulas above, and `dx.Prior.from_check_ins`.

    Attributes
    ----------
    add : float
        Pseudo-counts for each secret, 0 or more, in the unit of the weights.
    kernel : {"gaussian", "exponential"} or None
    bandwidth : float or None
        Of the kernel, in the unit of the distances.

    Raises
    ------
    SpecError
        If a number is out of range, a kernel has no bandwidth or a bandwidth no kernel, or nothing is smoothed.

    Examples
    --------
    >>> import dxopt as dx
    >>> space = dx.line(5)
    >>> spread = dx.Smoothing(kernel="gaussian", bandwidth=1.0)
    >>> print(spread.name)
    gaussian kernel of bandwidth 1
    >>> print(dx.Prior.from_weights(space, [0, 0, 8, 0, 0], smoothing=spread).probabilities.round(3).tolist())
    [0.054, 0.244, 0.403, 0.244, 0.054]
    """

    add: float = 0.0
    kernel: str | None = None
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        keep_number(self, "add", *NONNEGATIVE)
        if self.kernel is not None:
            required_choice("kernel", self.kernel, KERNELS)
        if (self.kernel is None) != (self.bandwidth is None):
            missing = "bandwidth" if self.bandwidth is None else "kernel"
            raise SpecError("smoothing", f"has no {missing}", "give kernel and bandwidth together, or neither")
        if self.bandwidth is not None:
            keep_number(self, "bandwidth", *POSITIVE)
        if not self.add and self.kernel is None:
            raise SpecError("smoothing", "smooths nothing", "give pseudo-counts to add, or a kernel and a bandwidth")

    @classmethod
    def of(cls, smoothing: float | Smoothing) -> Smoothing:
        """Return pseudo-counts from a number, or smoothing as it is.

        Examples
        --------
        >>> import dxopt as dx
        >>> print(dx.Smoothing.of(0.5))
        Smoothing(add=0.5, kernel=None, bandwidth=None)
        """
        return smoothing if isinstance(smoothing, Smoothing) else cls(as_number(smoothing, "smoothing", *NONNEGATIVE))

    @property
    def name(self) -> str:
        """Describe the smoothing in a few words."""
        parts = [f"{self.kernel} kernel of bandwidth {self.bandwidth:g}"] if self.kernel else []
        return ", ".join([*parts, f"{self.add:g} added"] if self.add else parts)

    def smoothed(self, space: MetricSpace, counts: ArrayLike) -> Array:
        """Return the smoothed counts `(n,)` of counts `(n,)` of 0 or more.

        Raises
        ------
        SpecError
            If counts are not as many finite numbers of 0 or more as there are points.
        UnsupportedError
            If a kernel would need more than a billion pairs of a secret with data and a secret.

        Examples
        --------
        >>> import dxopt as dx
        >>> import numpy as np
        >>> print(dx.Smoothing(add=0.5).smoothed(dx.line(3), np.array([2.0, 0.0, 1.0])).tolist())
        [2.5, 0.5, 1.5]
        """
        counts = as_weights(counts, "counts", "give a number for each point", len(space))
        spread = counts if self.kernel is None else _spread_out(space, counts, self.kernel, self.bandwidth or 1.0)
        return spread + self.add


def _spread_out(space: MetricSpace, counts: Array, kernel: str, bandwidth: float) -> Array:
    """Return Σ_y c_y k(d(y, x)) / Σ_z k(d(y, z)) for each x, `(n,)`."""
    # 1. Along a path or a tree the exponential kernel is a product over edges: two passes are enough for all points.
    if kernel == "exponential" and space.structure.kind in ("path", "tree"):
        from dxopt.spaces.kernels.systems import system

        along = system(space, 1 / bandwidth)  # `apply` returns the product, and a bound on its rounding
        return along.apply(counts / along.apply(np.ones(len(space)))[0])[0]
    # 2. If the kernel is a product over the axes, so are the shares of a datum: it is spread along one after another.
    axes = _axes(space, kernel)
    if axes and max(map(len, axes)) <= AXIS_POINTS:
        spread = counts.reshape(tuple(map(len, axes)))
        for position, axis in enumerate(axes):
            shares = _shares(axis, np.arange(len(axis)), kernel, bandwidth)
            # tensordot puts the new axis last, which goes to the place of the one that was summed over
            spread = np.moveaxis(np.tensordot(spread, shares, (position, 0)), -1, position)
        return spread.reshape(-1)
    # 3. Otherwise compute the distances from each secret with data to all others.
    seen = np.flatnonzero(counts)
    if len(seen) * len(space) > PAIRS:
        raise UnsupportedError(
            "smoothing",
            f"needs {len(seen):,} times {len(space):,} distances, over the limit of {PAIRS:,}",
            "add pseudo-counts instead, or take fewer points",
        )
    spread = np.zeros(len(space))
    for some in in_blocks(seen, len(space)):
        spread += counts[some] @ _shares(space, some, kernel, bandwidth)
    return spread


def _axes(space: MetricSpace, kernel: str) -> Sequence[MetricSpace]:
    """Return spaces, one for each axis, over which a kernel is a product; none if it is no product."""
    structure = space.structure
    if structure.kind == "product" and kernel == "exponential":
        return structure.factors
    metric = getattr(space.metric, "flat", space.metric)  # of a torus, the metric without wrapping
    if structure.kind in ("lattice", "torus") and metric is not None and _SUMS.get(metric.name) == kernel:
        if structure.kind == "torus":
            return [torus((size,), spacing=structure.spacing) for size in structure.shape]
        return [line(size, step=structure.spacing) for size in structure.shape]
    return ()


def _shares(space: MetricSpace, secrets: NDArray[np.int64], kernel: str, bandwidth: float) -> Array:
    """Return, for each of k secrets, the share of a datum there that every secret gets, `(k, n)`; rows sum to 1."""
    with np.errstate(over="ignore"):
        near = KERNELS[kernel](space.block(secrets, np.arange(len(space))) / bandwidth)
    return near / near.sum(axis=1, keepdims=True)
