"""Φμ = π, by structure where the space has one and on classes of alike points elsewhere, with proven errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.regularity.enclosure import Enclosure
from dxopt.analysis.regularity.quotient import Quotient
from dxopt.numerics.rounding import UNIT
from dxopt.spaces.kernels import Dense, System
from dxopt.spaces.kernels.systems import structured, system
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
CLASSED_POINTS = 2_000
"""The most points that are solved on classes."""
_FEW = 600


@dataclass(frozen=True, eq=False)
class Weights:
    """An approximate solution of Φμ = π, and a proven bound on the error of each entry, both `(n,)`.

    `values` is None where Φ is singular to working precision.
    """

    values: Array | None
    error: Array | None

    @property
    def negative(self) -> NDArray[np.int64]:
        """Mask of the entries where the solution is proven negative."""
        if self.values is None or self.error is None:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(self.values + self.error < 0)

    @property
    def proven(self) -> bool:
        """True if the solution is proven to be nowhere negative."""
        return self.values is not None and self.error is not None and bool((self.values - self.error >= 0).all())

    @property
    def decided(self) -> bool:
        """True if the sign of the solution is decided."""
        return self.proven or len(self.negative) > 0


def weighting(space: MetricSpace, epsilon: float, kernel: System | None = None) -> Weights:
    """Solve Φw = 1: in closed form on lines, trees, tori and their products, which is exact at any ε; else `weights`.

    Raises
    ------
    UnsupportedError
        If the space is too large for want of structure.
    """
    known = (kernel or structured(space, epsilon)) if space.symmetric else None
    found = None if known is None else known.weighting()
    return weights(space, epsilon, np.ones(len(space)), kernel) if found is None else Weights(*found)


def weights(space: MetricSpace, epsilon: float, probabilities: Array, kernel: System | None = None) -> Weights:
    """Solve Φμ = π, where any solution that is constant on points alike will do.

    Structure is used where it costs least: always on lines, trees and products, from 600 points on lattices and tori.
    What it leaves undecided, and spaces without structure of up to 2,000 points, are solved on classes of points
    that neither the distances nor the right side tell apart, which also covers singular Φ; larger ones by Cholesky.

    Parameters
    ----------
    space : MetricSpace of n points
    epsilon : float
    probabilities : (n,) array
        π, or any numbers of 0 or more.
    kernel : System, optional
        Φ at this ε, where it is known already.

    Raises
    ------
    UnsupportedError
        If the space is too large for want of structure.
    """
    # By structure, with a right side of largest entry 1; the error bounds every entry alike.
    size = len(space)
    if space.symmetric and (size > _FEW or space.structure.kind in ("path", "tree", "product")):
        known = structured(space, epsilon) if kernel is None or isinstance(kernel, Dense) else kernel
        # Without structure, by Cholesky where that tells all; else classes do, up to their size.
        if known is None and (size > CLASSED_POINTS or (kernel is not None and math.isfinite(kernel.inverse_norm))):
            known = kernel or system(space, epsilon)
        if known is not None:
            scale = float(probabilities.max())
            solved = known.solve(probabilities / scale)
            found = Weights(solved.values * scale, np.full(size, solved.error * scale * (1 + 8 * UNIT)))
            if found.decided or size > CLASSED_POINTS:
                return found
    # On classes, with a bound for each entry: sharper, and decided where Φ is singular but the classes are apart.
    return classed(space, Quotient.of(space.distances, probabilities), epsilon)


def classed(space: MetricSpace, quotient: Quotient, epsilon: float) -> Weights:
    """The solution on the classes of a quotient."""
    enclosure = Enclosure.of(*quotient.between(epsilon, epsilon))
    if enclosure is None:
        return Weights(None, None)
    ratios, errors = enclosure.solve(np.ones(len(quotient)))
    errors = (errors + 4 * UNIT * np.abs(ratios)) * quotient.prior * (1 + 8 * UNIT) + 1e-320
    return Weights(quotient.spread(ratios * quotient.prior, len(space)), quotient.spread(errors, len(space)))
