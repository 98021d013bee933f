"""Φμ = π, by structure where the space has one and on classes of alike points elsewhere, with proven errors.

Classes are the coarsest ones in which every point sees the same prior and the same distances, to and from each
class. Averaging over them commutes with Φ, so π = Φμ has a solution μ ≥ 0 exactly when it has one that is constant
on classes. Equal rows, equal columns and ball-size symmetry (ECP14, Def 7, Prop 9) are special cases. The comparison
is of doubles, hence exact, and the classes are the same at every ε.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.partition import Partition
from dxopt.numerics.rounding import UNIT, factor_above, factor_below
from dxopt.spaces.kernels import Dense, System
from dxopt.spaces.kernels.systems import structured, system
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
UNDERFLOW = 1e-290
"""More than all that a sum of products of doubles loses to underflow."""


@dataclass(frozen=True, eq=False)
class Enclosure:
    """An approximate inverse Y of every matrix A between two bounds, with ‖I - YA‖ < 1 proven.

    The bounds are `middle` ± `radius`, Y is `inverse`, and `rows` bounds the row sums of |I - YA|, each below 1.
    """

    middle: Array
    radius: Array
    inverse: Array
    rows: Array

    @classmethod
    def of(cls, low: Array, high: Array) -> Enclosure | None:
        """Invert the middle of two bounds; None where ‖I - YA‖ is not proven below 1: some A is nearly singular."""
        # Every A is middle ± radius, and the inverse of the middle, whatever its error, serves as Y for all of them.
        middle = 0.5 * low + 0.5 * high
        if not np.isfinite(middle).all():
            return None
        radius = _radius(low, middle, high)
        try:
            inverse: Array = np.asarray(np.linalg.inv(middle), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(inverse).all():
            return None
        # |I - YA| ≤ |I - Y middle| + |Y| radius, with the rounding of both products. Row sums below 1 bound its norm,
        # so that by Neumann's series YA, and hence A, is invertible.
        unit = np.eye(len(middle))
        grow = growth(len(middle))
        with np.errstate(over="ignore", invalid="ignore"):
            off = np.abs(unit - inverse @ middle) + grow * unit
            off += (np.abs(inverse) @ (radius + grow * np.abs(middle))) * (1 + grow) + UNDERFLOW
            rows = off.sum(axis=1) * (1 + grow)
        if not rows.max() < 0.99:
            return None
        return cls(middle, radius, inverse, rows)

    @classmethod
    def around(cls, low: Array, high: Array, wider: Enclosure) -> Enclosure:
        """Make the enclosure of bounds within those of a `wider` one, whose inverse and `rows` hold for them too."""
        middle = 0.5 * low + 0.5 * high
        return cls(middle, _radius(low, middle, high), wider.inverse, wider.rows)

    def solve(self, right: Array, unsure: Array | float = 0.0) -> tuple[Array, Array]:
        """Return an approximate x with Ax = b `(k,)`, and a bound on its error for all A and |b - right| ≤ unsure."""
        # Two steps of iterative refinement; the bound holds for whatever they lead to.
        solution = self.inverse @ right
        for _ in range(2):
            solution = solution + self.inverse @ (right - self.middle @ solution)
        return solution, self.error(solution, right, unsure)

    def error(self, solution: Array, right: Array, unsure: Array | float = 0.0) -> Array:
        """Return a bound `(k,)` on |solution - A⁻¹b| for all A within the bounds and |b - right| ≤ unsure.

        With r = b - A·solution and e the error, e = Yr + (I - YA)e, so |e| ≤ |Yr| + rows ‖Yr‖ / (1 - ‖rows‖).
        """
        # |r| for all A and b: as computed, what b may be off, what A may be off, and rounding.
        grow = growth(len(right) + 2)
        residual = np.abs(right - self.middle @ solution) + np.asarray(unsure) + grow * np.abs(right) + UNDERFLOW
        residual = residual + (self.radius + grow * np.abs(self.middle)) @ np.abs(solution)
        # |Yr|, and the largest entry of it for the second term.
        moved = (np.abs(self.inverse) @ residual) * (1 + 2 * grow)
        return (moved + self.rows * moved.max() / (1 - self.rows.max())) * (1 + grow)


def _radius(low: Array, middle: Array, high: Array) -> Array:
    """Bound the distance of the bounds from their middle, rounded up."""
    return np.maximum(high - middle, middle - low) * (1 + 4 * UNIT) + UNDERFLOW


def growth(terms: int) -> float:
    """Return a relative bound on the rounding of sums of so many products, generous by a factor of 2."""
    return 2 * (terms + 8) * UNIT


@dataclass(frozen=True, eq=False)
class Quotient:
    """Classes of the points that have positive probability, `support` `(s,)`.

    `kinds` `(k, s)` says which of the distinct `lengths` is the distance from the first point of each class to each
    point, sorted by class. In that order a class begins at its place in `starts` and has its number of `sizes`;
    `prior` is the probability of each of its points.
    """

    support: NDArray[np.int64]
    partition: Partition
    lengths: Array
    kinds: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    prior: Array

    def __len__(self) -> int:
        return len(self.prior)

    @classmethod
    def of(cls, distances: Array, probabilities: Array) -> Quotient:
        """Refine classes of equal probability until points of a class see as many of each class at each distance."""
        support = np.flatnonzero(probabilities > 0)
        within = distances[np.ix_(support, support)]
        # Each distance as the index of its length, so that comparisons are of integers.
        lengths, ids = np.unique(within, return_inverse=True)
        ids = ids.reshape(within.shape).astype(np.int64)  # versions of numpy differ in the shape
        colours = np.unique(probabilities[support], return_inverse=True)[1].astype(np.int64)
        # Colour refinement: points of a colour are split by the multisets of (colour, distance) that they see, to and
        # from each point, until no colour splits. What is left is equitable.
        views = (ids,) if np.array_equal(ids, ids.T) else (ids, ids.T)
        while True:
            refined = _refined(colours, views, len(lengths))
            if refined.max() == colours.max():
                break
            colours = refined
        # Of each class one row is enough, with its columns sorted by class, so that sums over classes are of slices.
        partition = Partition(refined)
        order = np.argsort(refined, kind="stable")
        sizes = np.bincount(refined)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        first = partition.representatives
        return cls(
            support, partition, lengths, ids[np.ix_(first, order)], starts, sizes, probabilities[support][first]
        )

    def sums(self, values: Array) -> Array:
        """Return sums over each class of a function of the distance, given at `lengths`: `(l,)` to `(k, k)`."""
        # Where every point is a class of its own, there is nothing to add up.
        picked = values[self.kinds]
        return picked if len(self.sizes) == len(self.support) else np.add.reduceat(picked, self.starts, axis=1)

    def between(self, low: float, high: float) -> tuple[Array, Array]:
        """Bound π_i^{-1} Σ_{y in class j} e^{-εd(x_i, y)} π_j, `(k, k)`, for every ε in [low, high]."""
        return self._bounds(np.ones(len(self.lengths)), low, high)

    def slopes(self, low: float, high: float) -> tuple[Array, Array]:
        """Bound minus the derivative in ε of the sums of `between`: a factor d(x_i, y) comes inside; `(k, k)`."""
        return self._bounds(np.where(np.isinf(self.lengths), 0.0, self.lengths), low, high)

    def spread(self, values: Array, size: int) -> Array:
        """Return a value per class as one per point `(n,)`, 0 outside the support."""
        points = np.zeros(size)
        points[self.support] = self.partition.expand(values)
        return points

    def _bounds(self, each: Array, low: float, high: float) -> tuple[Array, Array]:
        """Bound π_i^{-1} Σ_{y in class j} f(d) e^{-εd} π_j over ε in [low, high]; `each` has f at the `lengths`.

        The prior is in the matrix, so that the unknowns are μ over the prior, and the right side is 1 everywhere.
        """
        # The relative rounding of a sum over a class, a quotient and a product, generous by a factor of 2.
        slack = growth(int(self.sizes.max()))
        below = self.sums(each * factor_below(high, self.lengths))
        above = self.sums(each * factor_above(low, self.lengths))
        with np.errstate(over="ignore", invalid="ignore"):
            shares = self.prior[None, :] / self.prior[:, None]
            return below * shares * (1 - slack), above * shares * (1 + slack)


def _refined(colours: NDArray[np.int64], views: tuple[NDArray[np.int64], ...], lengths: int) -> NDArray[np.int64]:
    """Split colours by what each point sees, a sorted list of one number for each pair of colour and length."""
    keys = [np.sort(colours[None, :] * lengths + ids, axis=1) for ids in views]
    numbers: dict[tuple[int, bytes], int] = {}
    signatures = ((int(colour), b"".join(key[x].tobytes() for key in keys)) for x, colour in enumerate(colours))
    return np.array([numbers.setdefault(signature, len(numbers)) for signature in signatures], dtype=np.int64)


CLASSED_POINTS = 2_000
"""The most points that are solved on classes."""
_FEW = 600
"""Up to so many points classes are faster than the structure of lattices and tori."""


@dataclass(frozen=True, eq=False)
class Weights:
    """An approximate solution of Φμ = π, and a proven bound on the error of each entry, both `(n,)`.

    `values` is None where Φ is singular to working precision.
    """

    values: Array | None
    error: Array | None

    @property
    def negative(self) -> NDArray[np.int64]:
        """Indices of the entries where the solution is proven negative."""
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
    """Solve Φw = 1: in closed form on lines, trees, tori and their products, exact at any ε; else `weights`."""
    known = (kernel or structured(space, epsilon)) if space.symmetric else None
    found = None if known is None else known.weighting()
    return weights(space, epsilon, np.ones(len(space)), kernel) if found is None else Weights(*found)


def weights(space: MetricSpace, epsilon: float, probabilities: Array, kernel: System | None = None) -> Weights:
    """Solve Φμ = π, where any solution that is constant on points alike will do; π may be any numbers of 0 or more.

    Structure is used where it costs least: always on lines, trees and products, from 600 points on lattices and tori.
    What it leaves undecided, and spaces without structure of up to 2,000 points, are solved on classes of points that
    neither the distances nor the right side tell apart, which also covers singular Φ; larger ones by Cholesky.
    UnsupportedError if the space is too large for want of structure. `kernel` is Φ where it is known already.
    """
    # By structure, with a right side of largest entry 1; the error bounds every entry alike.
    size = len(space)
    if space.symmetric and (size > _FEW or space.structure.kind in ("path", "tree", "product")):
        known = structured(space, epsilon) if kernel is None or isinstance(kernel, Dense) else kernel
        # Without structure, by Cholesky where that has bounded the inverse; else classes do, up to their size.
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
    """Return the solution of Φμ = π on the classes of a quotient, spread to all points; None where Φ is singular."""
    enclosure = Enclosure.of(*quotient.between(epsilon, epsilon))
    if enclosure is None:
        return Weights(None, None)
    ratios, errors = enclosure.solve(np.ones(len(quotient)))
    # from ratios μ/π to μ: the rounding of the product, and what underflow may take from it
    errors = (errors + 4 * UNIT * np.abs(ratios)) * quotient.prior * (1 + 8 * UNIT) + 1e-320
    return Weights(quotient.spread(ratios * quotient.prior, len(space)), quotient.spread(errors, len(space)))
