"""The system Φμ = π on classes of points that the distances and the prior do not tell apart.

Classes are the coarsest ones in which every point sees the same prior and the same distances, to and from each
class. Averaging over them commutes with Φ, so π = Φμ has a solution μ ≥ 0 exactly when it has one that is constant
on classes. Equal rows, equal columns and ball-size symmetry (ECP14, Def 7, Prop 9) are special cases. The comparison
is of doubles, hence exact, and the classes are the same at every ε.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.partition import Partition
from dxopt.numerics.rounding import UNIT, factor_above, factor_below

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Quotient:
    """Classes of the points that have positive probability.

    Attributes
    ----------
    support : (s,) array
        The points with positive probability.
    partition : Partition
        Classes of the support.
    lengths : (l,) array
        The distinct distances.
    kinds : (k, s) array
        Which of them is the distance from the first point of each class to each point, sorted by class.
    starts, sizes : (k,) arrays
    prior : (k,) array
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
        """Refine classes of equal probability until they are equitable in rows and columns."""
        support = np.flatnonzero(probabilities > 0)
        within = distances[np.ix_(support, support)]
        # Each distance as the index of its length, so that comparisons are of integers.
        lengths, ids = np.unique(within, return_inverse=True)
        ids = ids.reshape(within.shape).astype(np.int64)
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
        """Sums over each class of a function of the distance, given at `lengths`: `(l,)` to `(k, k)`."""
        picked = values[self.kinds]
        return picked if len(self.sizes) == len(self.support) else np.add.reduceat(picked, self.starts, axis=1)

    def between(self, low: float, high: float) -> tuple[Array, Array]:
        """Bounds `(k, k)` on π_i^{-1} Σ_{y in class j} e^{-εd(x_i, y)} π_j that hold for every ε in [low, high]."""
        return (
            self._scaled(factor_below(high, self.lengths), 1 - self._slack),
            self._scaled(factor_above(low, self.lengths), 1 + self._slack),
        )

    def slopes(self, low: float, high: float) -> tuple[Array, Array]:
        """The same for minus the derivative in ε, with a factor d(x_i, y) inside the sum."""
        finite = np.where(np.isinf(self.lengths), 0.0, self.lengths)
        return (
            self._scaled(finite * factor_below(high, self.lengths), 1 - self._slack),
            self._scaled(finite * factor_above(low, self.lengths), 1 + self._slack),
        )

    def spread(self, values: Array, size: int) -> Array:
        """A value per class as one per point `(n,)`, 0 outside the support."""
        points = np.zeros(size)
        points[self.support] = self.partition.expand(values)
        return points

    @property
    def _slack(self) -> float:
        """The relative rounding of a sum over a class, a quotient and a product, generous by a factor of 2."""
        return 2 * (int(self.sizes.max()) + 8) * UNIT

    def _scaled(self, values: Array, slack: float) -> Array:
        """Sums over classes with the prior taken into the unknowns, so that the right side is 1 everywhere."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.sums(values) * (self.prior[None, :] / self.prior[:, None]) * slack


def _refined(colours: NDArray[np.int64], views: tuple[NDArray[np.int64], ...], lengths: int) -> NDArray[np.int64]:
    """Colours split by what each point sees; one number for each pair of colour and length."""
    keys = [np.sort(colours[None, :] * lengths + ids, axis=1) for ids in views]
    numbers: dict[tuple[int, bytes], int] = {}
    signatures = ((int(colour), b"".join(key[x].tobytes() for key in keys)) for x, colour in enumerate(colours))
    return np.array([numbers.setdefault(signature, len(numbers)) for signature in signatures], dtype=np.int64)
