"""Products: what falls apart by coordinate, and what is off where prior and loss do so only nearly.

Statement. Let l_i be losses of the coordinates and m_i weights on their points, of total M_i, and K private for
distances that are at most d_i(a, b) along axis i, whatever the other coordinates are. Drawing the others from m_j
/ M_j and leaving out what is reported of them makes of K a channel of coordinate i that is private for d_i, as
its entries are means of sums of entries of K. If b_i is a lower bound on Σ m_i l_i K_i for all such channels,
then for the prior π and the loss l, with L_i(x) = max_z |l_i(x, z)|,

    Σ π l K ≥ Σ_i b_i Π_{j ≠ i} M_j - Σ_x |π(x) - Π_i m_i(x_i)| Σ_i L_i(x_i) - Σ_x π(x) max_z |l - Σ_i l_i|,

as Σ_z Σ_i l_i K is at most Σ_i L_i in size. The m_i are the sums of the prior along the other axes, each rounded
once. The last two sums are taken in doubles: a product of k weights is off by k·2^-53 of itself, and all else by
less than 10^-9 of what is summed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.exact import total

Array = NDArray[np.float64]
_UNIT = 2.0**-53


def marginals(prior: Array, shape: Sequence[int]) -> list[Array]:
    """m_i, correctly rounded."""
    tensor = prior.reshape(shape)
    return [
        np.array(list(map(math.fsum, np.moveaxis(tensor, axis, 0).reshape(size, -1).tolist())))
        for axis, size in enumerate(shape)
    ]


def widened(found: float) -> Fraction:
    """A bound on a sum of numbers of 0 or more that was taken in doubles."""
    return Fraction(found) * (1 + Fraction(1, 10**9))


def prior_missed(prior: Array, parts: Sequence[Array], largest: Sequence[Array]) -> Fraction:
    """A bound on Σ_x |π(x) - Π m_i(x_i)| Σ_i L_i(x_i)."""
    product = reduce(lambda made, part: np.multiply.outer(made, part).reshape(-1), parts)
    sizes = outer_sum(largest)
    # The product in doubles is off by k·2^-53 of itself, and its difference from the prior by one rounding more.
    off = np.abs(prior - product) + (len(parts) + 1) * _UNIT * product
    return widened(float((off * sizes).sum()))


def outer_sum(parts: Sequence[Array]) -> Array:
    """Σ_i f_i(x_i) for all tuples, the last one fastest."""
    return reduce(lambda made, part: np.add.outer(made, part).reshape(-1), parts)


def joined(bounds: Sequence[Fraction], parts: Sequence[Array]) -> Fraction:
    """Σ_i b_i Π_{j ≠ i} M_j."""
    masses = list(map(total, parts))
    found = Fraction(0)
    for axis, bound in enumerate(bounds):
        others = masses[:axis] + masses[axis + 1 :]
        found += bound * math.prod(others, start=Fraction(1))
    return found


def along(matrix: NDArray, shape: Sequence[int], axis: int) -> NDArray:
    """The entries `(others, s, s)` of pairs that differ along one axis of s points alone."""
    before = math.prod(shape[:axis])
    size = shape[axis]
    after = math.prod(shape[axis + 1 :])
    pairs = matrix.reshape(before, size, after, before, size, after)
    return np.einsum("ipjiqj->ijpq", pairs).reshape(-1, size, size)


def summands(losses: Array, shape: Sequence[int]) -> tuple[list[Array], Array]:
    """The l_i, and a bound on max_z |l - Σ l_i| for each secret.

    l_i are the losses where all other coordinates are the first, less the first loss of all in all axes but one.
    """
    parts = [along(losses, shape, axis)[0] - (losses[0, 0] if axis else 0.0) for axis in range(len(shape))]
    # Σ l_i for all pairs of tuples: each axis makes of a matrix (s, s) one of (s·k, s·k).
    made = reduce(
        lambda sums, part: (sums[:, None, :, None] + part[None, :, None, :]).reshape(len(sums) * len(part), -1), parts
    )
    # Each of the k sums and of the differences rounds by at most 2^-53 of all sizes together.
    sizes = sum(float(np.abs(part).max()) for part in parts) + float(np.abs(losses).max())
    return parts, np.abs(losses - made).max(axis=1) + (len(parts) + 2) * _UNIT * sizes
