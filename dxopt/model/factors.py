"""Problems on products that fall apart by coordinate, where prior and loss do.

For K = K_1 ⊗ K_2 ⊗ … budgets add up and, if the loss is a sum over coordinates, so do the expected losses. Conversely
any private K gives a private channel of each coordinate, when the others are drawn from their prior and their reports
ignored; if the prior is a product, the expected loss of K is the sum of theirs. So the optima of the factors add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dxopt.model.loss import Loss, Reports
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.numerics.rounding import UNIT
from dxopt.spaces.distances import in_blocks
from dxopt.spaces.products import sides
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
FACTOR_SLACK = 1e-12
"""Tolerance of a prior against a product of marginals, and of a loss against a sum, relative to its largest."""


@dataclass(frozen=True, eq=False)
class Split:
    """A problem on a product as one smaller problem for each coordinate, whose optima add up to its own.

    - `factors`: the smaller problems, at the ε of the whole; equal ones are one object.
    - `distance_error`: a bound on the relative difference between distances of the space and sums over its factors.
    - `deviation`: the optimum is at most this much below the sum of the optima of the factors at
      ε(1 + distance_error). It counts how far the prior is from a product, the loss from a sum, and rounding.
    """

    factors: tuple[Problem, ...]
    distance_error: float
    deviation: float


def error_of_sums(factors: int) -> float:
    """Return a bound on the relative error of distances that are sums over so many factors, each rounded."""
    return 8 * (factors + 4) * UNIT


_splits: WeakKeyDictionary[Problem, Split | str] = WeakKeyDictionary()


def split(problem: Problem) -> Split | str:
    """Split a problem on a product into its factors; a text says why it cannot be. Kept for the next call."""
    if problem not in _splits:
        _splits[problem] = _new_split(problem)
    return _splits[problem]


def _new_split(problem: Problem) -> Split | str:
    """Find the factors, and bound all by which the problem differs from their sum."""
    spaces = sides(problem.space)
    if len(spaces) < 2:
        return "the space is no product"
    if not problem.reports.secrets:
        return "the reports are not the secrets"
    shape = tuple(map(len, spaces))
    # Each distance of the space is a sum over the factors, in which every addition and every summand was rounded.
    distance_error = error_of_sums(len(shape))

    # The loss has to be a sum over the coordinates, ...
    losses = _losses_of_factors(problem, spaces, distance_error)
    if isinstance(losses, str):
        return losses
    summands, missed = losses

    # ... and the prior the product of its marginals, both up to rounding.
    prior = problem.prior.probabilities
    parts = _alike_as_one(marginals(prior, shape))
    product = product_of(parts)
    apart = np.abs(prior - product)
    if float(apart.sum()) > FACTOR_SLACK:
        return f"the prior is no product of its marginals (off by {float(apart.sum()):.1e} in total)"

    # What rounding hid is counted. A channel loses at most `largest[x]` for the secret x, so that replacing the prior
    # by the product changes any expected loss by at most Σ_x |π_x - product_x| · largest[x]; the product itself is
    # rounded once per factor. Marginals whose sums are off 1 scale the optima of the other factors.
    largest = reduce(lambda sums, more: np.add.outer(sums, more).reshape(-1), [size for _, size in summands])
    deviation = float(((apart + 4 * len(shape) * UNIT * product) * largest).sum()) + missed
    off_one = sum(abs(math.fsum(part) - 1) + UNIT for part in parts)
    deviation += 2 * off_one * float((product * largest).sum())

    # Equal factors become one object, which is solved once.
    made: dict[tuple[bytes, ...], Problem] = {}
    factors = [
        made.setdefault(
            _key(space, part, loss),
            Problem(space, epsilon=problem.epsilon, prior=Prior(part), loss=loss, name=f"{problem.name}, factor {i}"),
        )
        for i, (space, part, (loss, _)) in enumerate(zip(spaces, parts, summands, strict=True), 1)
    ]
    return Split(tuple(factors), distance_error, deviation * (1 + 1e-9))  # which covers its own rounding


def marginals(prior: Array, shape: tuple[int, ...]) -> list[Array]:
    """Return the marginal distribution of each coordinate under a prior, scaled to sum to 1."""
    tensor = prior.reshape(shape)
    axes = range(len(shape))
    sums = [tensor.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]
    return [part / math.fsum(part) for part in sums]


def product_parts(prior: Array, shape: tuple[int, ...]) -> list[Array] | None:
    """Return the marginals of a prior that is their product up to rounding; None of any other.

    Probabilities of a marginal that differ by rounding alone are made equal, so that points alike stay alike.
    """
    parts = _alike_as_one([_without_rounding(part) for part in marginals(prior, shape)])
    product = product_of(parts)
    return parts if (np.abs(prior - product) <= FACTOR_SLACK * product).all() else None


def _without_rounding(part: Array) -> Array:
    """Make probabilities equal that differ by rounding alone: each becomes the least of its run in sorted order."""
    order = np.argsort(part)
    rising = part[order]
    # True where a new run of equal probabilities begins
    begins = np.concatenate([[True], np.diff(rising) > 0.1 * FACTOR_SLACK * rising[1:]])
    levelled = np.empty_like(part)
    levelled[order] = rising[begins][np.cumsum(begins) - 1]
    return levelled


def _alike_as_one(parts: list[Array]) -> list[Array]:
    """Replace each part by the first that differs from it only by rounding, so that equal factors are solved once."""
    kept: list[Array] = []
    for part in parts:
        alike = (other for other in kept if len(other) == len(part) and np.abs(other - part).max() < 1e-15)
        kept.append(next(alike, part))
    return kept


def product_of(parts: Sequence[Array]) -> Array:
    """Return the product of distributions, `(Π sizes,)`; the coordinate of the last one varies fastest."""
    return reduce(lambda product, part: np.multiply.outer(product, part).reshape(-1), parts)


def _losses_of_factors(
    problem: Problem, spaces: tuple[MetricSpace, ...], distance_error: float
) -> tuple[list[tuple[Loss, Array]], float] | str:
    """Return a loss for each factor with max_z |l(x, z)| of each secret, and how far their sum is off.

    The last is an expected loss under the prior. If the loss is no sum over the coordinates, return the reason.
    """
    loss = problem.loss
    shape = tuple(map(len, spaces))
    reason = f"{loss.name} loss is no sum over the coordinates"
    # Of the named losses only the distance is a sum; it misses what the distances of the space are rounded by.
    if loss.by_distance:
        if loss.name != "distance":
            return reason
        named = [Loss.of("distance", space) for space in spaces]
        largest = [_largest(part) for part in named]
        if not all(np.isfinite(size).all() for size in largest):
            return "some points of a factor are infinitely far apart"
        parts = marginals(problem.prior.probabilities, shape)
        expected = sum(float(size @ part) for size, part in zip(largest, parts, strict=True))
        return list(zip(named, largest, strict=True)), distance_error * expected
    # Of a matrix the only possible summands are read off, up to constants, and compared with it entry by entry.
    matrix = problem.losses
    if not np.isfinite(matrix).all():
        return "some losses are infinite"
    summands = _summands(matrix, shape)
    # a(x, z) + b(x', z') over pairs (x, x') and (z, z')
    total = reduce(lambda a, b: (a[:, None, :, None] + b[None, :, None, :]).reshape(len(a) * len(b), -1), summands)
    missed = np.abs(matrix - total).max(axis=1)
    size = float(np.abs(matrix).max())
    if missed.max() > FACTOR_SLACK * size:
        return reason
    missed = missed + 4 * len(shape) * UNIT * size
    parts = [
        Loss(part, Reports.of(space), loss.name, unit=loss.unit) for part, space in zip(summands, spaces, strict=True)
    ]
    return [(part, _largest(part)) for part in parts], float(problem.prior.probabilities @ missed)


def _summands(matrix: Array, shape: tuple[int, ...]) -> list[Array]:
    """Return the only l_i that the loss can be the sum of, up to constants: l_i(x_i, z_i) for each coordinate i.

    They are the losses with all other coordinates at their first value. The loss at the first value of all, which
    each contains, is taken from all but the first l_i, so that the sum counts it once.
    """
    tensor = matrix.reshape(*shape, *shape)
    parts = []
    for axis in range(len(shape)):
        where = tuple(slice(None) if other == axis else 0 for other in range(len(shape)))
        parts.append(np.array(tensor[where + where]) - (tensor.reshape(-1)[0] if axis else 0.0))
    return parts


def _largest(loss: Loss) -> Array:
    """Return max_z |l(x, z)| for each secret x, `(n,)`."""
    blocks = in_blocks(np.arange(len(loss.reports)), len(loss.reports))
    return np.concatenate([np.abs(loss.rows(secrets)).max(axis=1) for secrets in blocks])


def _key(space: MetricSpace, part: Array, loss: Loss) -> tuple[bytes, ...]:
    """Return a key that is equal for factors that are the same problem: by geometry, prior and loss.

    The geometry is that of the points and their metric; without these it is the space object itself.
    """
    geometry = str(id(space)).encode()
    if space.points is not None and space.given is None and space.points.dtype == float:
        geometry = repr((space.metric, space.structure)).encode() + space.points.tobytes()
    return geometry, part.tobytes(), loss.name.encode() if loss.by_distance else loss.matrix.tobytes()
