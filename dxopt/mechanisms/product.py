"""Products of mechanisms that are never written down: each coordinate by a mechanism of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import CertificateError, UnsupportedError
from dxopt.mechanisms.kernel import PAIRED_POINTS, lowered_epsilon, private_rest
from dxopt.model.factors import error_of_sums, marginals, product_of
from dxopt.model.loss import Loss, Reports
from dxopt.model.mechanism import Mechanism, Privacy, unpacked
from dxopt.numerics.coerce import as_weights
from dxopt.numerics.draws import uniforms
from dxopt.numerics.rounding import UNIT, deficit
from dxopt.proofs.privacy import ROW_SUM_ERROR
from dxopt.runtime.archive import Arrays, distinct, indices_of, nested, part
from dxopt.spaces.archive import are_same, unpack
from dxopt.spaces.products import sides
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
_FLOOR_BITS = 960
"""No product of entries of the factors is below 2^-960, which is far above the least double that is not subnormal."""


@dataclass(frozen=True, eq=False, repr=False)
class ProductMechanism(Mechanism):
    """A mechanism on tuples that perturbs each coordinate independently, by a mechanism of its own.

    K = (1 - held)·K_1 ⊗ K_2 ⊗ …, and the rest of each row goes to one report, the slack report. In real numbers no
    rest would be needed; in doubles it makes every row sum to 1. Made, and proven private, by `product_mechanism`.

    Attributes
    ----------
    factors : tuple of Mechanism
        Those of the coordinates, each with the points of its space as reports.
    held : float
        The part of each row that is held back for the slack report of the index `slack`, about 1e-13.
    floor : float
        Positive entries of the factors count as this at least, so that no product of them underflows.
    """

    space: MetricSpace
    reports: Reports
    factors: tuple[Mechanism, ...]
    held: float
    slack: int
    floor: float
    name: str
    privacy: Privacy | None

    def _rows(self, secrets: Indices) -> Array:
        rows = np.empty((len(secrets), len(self.reports)))
        coordinates = np.unravel_index(secrets, self._shape)
        by_factor = [factor.rows(at) for factor, at in zip(self.factors, coordinates, strict=True)]
        # Positive entries are raised to the floor.
        by_factor = [np.where(entries > 0, np.maximum(entries, self.floor), 0.0) for entries in by_factor]
        for row, *parts in zip(rows, *by_factor, strict=True):
            row[:] = reduce(lambda product, more: np.multiply.outer(product, more).reshape(-1), parts)
            row *= 1 - self.held
            row[self.slack] += deficit(row)
        return rows

    def apart(self, first: int, second: int) -> float:
        """Bound Σ_z |K[x, z] - K[x', z]| from below, by the coordinate whose reports alone differ most."""
        by_coordinate = zip(
            self.factors, np.unravel_index(first, self._shape), np.unravel_index(second, self._shape), strict=True
        )
        return (1 - self.held) * max(factor.apart(int(x), int(y)) for factor, x, y in by_coordinate)

    def _draw(self, secrets: Indices, rng: np.random.Generator | None) -> Indices:
        # Each coordinate by its factor; with probability `held`, the slack report instead.
        coordinates = np.unravel_index(secrets, self._shape)
        drawn = [factor.sample(index=at, rng=rng)[:, 0] for factor, at in zip(self.factors, coordinates, strict=True)]
        joined = np.ravel_multi_index(drawn, self._shape)
        joined[uniforms(len(secrets), rng) < self.held] = self.slack
        return joined

    def packed(self) -> Arrays:
        # A factor object used for several coordinates is saved once.
        kept = distinct(self.factors)
        arrays = self.packed_common() | {"which": indices_of(self.factors, kept)}
        arrays |= {"held": self.held, "slack": self.slack}
        for position, factor in enumerate(kept):
            arrays |= nested(position, factor.packed())
        return arrays

    def reported(self) -> NDArray[np.bool_] | None:
        # A tuple is reported where each of its coordinates is; None where one factor does not know.
        by_factor = [made for factor in self.factors if (made := factor.reported()) is not None]
        if len(by_factor) < len(self.factors):
            return None
        made = reduce(np.logical_and.outer, by_factor).reshape(-1)
        made[self.slack] = True
        return made

    def structured_losses(self, loss: Loss) -> Array | None:
        """Return the losses by factors for the distance, which is a sum over them."""
        if not _is_sum_of_distances(loss):
            return super().structured_losses(loss)
        # With probability 1 - held each factor reports its own coordinate, else the slack report is made.
        slack = np.unravel_index(self.slack, self._shape)
        parts: list[Array] = []
        for factor, space, at in zip(self.factors, sides(self.space), slack, strict=True):
            own = factor.structured_losses(Loss.of("distance", space))
            if own is None:
                return None
            parts.append(own * (1 - self.held) + _distances_to(space, at) * self.held)
        return reduce(np.add.outer, parts).reshape(-1)

    def correct(self, prior: ArrayLike) -> float:
        """Return Σ_z max_x π_x K[x, z] by factors, to 1e-11, where the prior is a product to 1e-12; else by rows."""
        # max over tuples of a product of non-negative numbers is the product of the maxima, in every report.
        prior = as_weights(prior, "prior", "give a probability for each secret", len(self.space))
        parts = marginals(prior, self._shape)
        if np.abs(product_of(parts) - prior).sum() > 1e-12:
            self._require_pairs("utility")
            return super().correct(prior)
        right = math.prod(factor.correct(part) for factor, part in zip(self.factors, parts, strict=True))
        # with probability held the slack report is made, which tells nothing: the likeliest secret is guessed
        return right + self.held * (float(prior.max()) - right)

    def cost(self, prior: Array, loss: Loss) -> float:
        """Return the cost by factors for the distance, a sum over the coordinates; else from all rows."""
        if not _is_sum_of_distances(loss):
            self._require_pairs(loss.name)
            return super().cost(prior, loss)
        # With probability 1 - held each factor reports its own coordinate, and with probability held the report is
        # the slack report, at its mean distance in each coordinate.
        costs: list[float] = []
        slack = np.unravel_index(self.slack, self._shape)
        priors = marginals(prior, self._shape)
        for factor, space, marginal, at in zip(self.factors, sides(self.space), priors, slack, strict=True):
            costs.append(factor.cost(marginal, Loss.of("distance", space)) * (1 - self.held))
            costs.append(self.held * float(marginal @ _distances_to(space, at)))
        return math.fsum(costs)

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(len(factor.space) for factor in self.factors)

    def _require_pairs(self, what: str) -> None:
        """Raise UnsupportedError where there are too many pairs of points for what needs all of them."""
        size = len(self.space)
        if size > PAIRED_POINTS:
            raise UnsupportedError("loss", f"{what} needs every pair of {size:,} points here", "use the distance")


def _is_sum_of_distances(loss: Loss) -> bool:
    """Return True for the distance to the secrets, a sum over the coordinates of a product."""
    return loss.by_distance and loss.name == "distance" and loss.reports.secrets


def _distances_to(space: MetricSpace, point: np.intp) -> Array:
    return space.block(np.arange(len(space)), [point])[:, 0]


def epsilon_of_factors(space: MetricSpace, epsilon: float, factors: int) -> float:
    """Return the ε' at which the factors of a product mechanism have to be private for the product to be so at ε.

    Each of the two entries of a ratio is rounded about once for each factor; distances are rounded sums.
    """
    return lowered_epsilon(space, epsilon, 2 * factors + 16, error_of_sums(factors))


def product_mechanism(space: MetricSpace, factors: Sequence[Mechanism], epsilon: float) -> ProductMechanism:
    """Make the mechanism that perturbs each coordinate of a product independently, proven private at ε.

    The budgets of the coordinates add up to that of the tuple. In doubles an entry is a product of one entry of each
    factor, each raised to the floor (the maximum of a private column and a constant is private) and rounded, for
    which the ε' of the factors leaves room. Row sums before the rest is added lie within κ of 1 - held, so that the
    rest lies between held - κ and held + κ; held is so large that the ratio of the two is at most e^{εd} for all
    d > 0, and for d = 0 rows are equal, being computed alike from equal rows. The rest makes row sums 1 up to one
    rounding.

    The space has its factors by structure; those of the mechanism report their secrets, in the order of the
    coordinates. CertificateError where one is not proven at `epsilon_of_factors` or does not fit, UnsupportedError
    where points are too close to be proven.
    """
    # The factors have to fit the space, and be proven at an ε' that leaves room for the roundings of a product.
    count = len(factors)
    lowered = epsilon_of_factors(space, epsilon, count)
    shape = tuple(len(factor.space) for factor in factors)
    if shape != tuple(map(len, sides(space))) or any(len(f.reports) != len(f.space) for f in factors):
        raise CertificateError(f"factors of {shape} points do not fit the space")
    if any(factor.privacy is None or factor.privacy.epsilon > lowered for factor in factors):
        raise CertificateError(f"a factor is not proven private at {lowered!r}")

    # κ, here `off`: how far row sums are from 1 - held, by the row sums of the factors, their roundings, and the
    # raised entries.
    floor = 2.0 ** -(_FLOOR_BITS // count)
    off = 1.01 * (count * (ROW_SUM_ERROR + 2 * UNIT) + sum(shape) * floor) + 4 * UNIT

    held = private_rest(space, epsilon, off)
    # One line for all factors that were proven alike.
    numbers: dict[str, list[str]] = {}
    for number, factor in enumerate(factors, 1):
        numbers.setdefault(factor.privacy.how if factor.privacy else "", []).append(str(number))
    how = (
        f"product of {count} factors whose budgets add up, at a level lowered by {1 - lowered / epsilon:.1e} against "
        f"rounding; {held:.1e} of each row to one report. "
        + "; ".join(f"factor {', '.join(which)}: {how}" for how, which in numbers.items())
    )
    # The middle of the product, at a small distance from the other points.
    slack = int(np.ravel_multi_index([size // 2 for size in shape], shape))
    name = " × ".join(dict.fromkeys(factor.name for factor in factors))
    return ProductMechanism(space, Reports.of(space), tuple(factors), held, slack, floor, name, Privacy(epsilon, how))


def _has_same_distances(space: MetricSpace, side: MetricSpace) -> bool:
    """Return True if the space of a factor has all distances of a side of the product."""
    if len(space) != len(side):
        return False
    if space.structure.kind == side.structure.kind == "path":
        return np.array_equal(space.points, side.points)  # pyright: ignore[reportArgumentType]
    if len(space) <= PAIRED_POINTS:
        return np.array_equal(space.distances, side.distances)
    return are_same(space, side)


def read(arrays: Arrays) -> Mechanism:
    """Return the mechanism of `ProductMechanism.packed`, proven again; an error where that fails."""
    positions = arrays["which"].tolist()
    kept = [unpacked(part(arrays, position)) for position in range(max(positions) + 1)]
    factors = [kept[position] for position in positions]
    space = unpack(arrays)
    if len(factors) != len(sides(space)):
        raise CertificateError(f"{len(factors)} factors do not fit the space")
    if not all(_has_same_distances(factor.space, side) for factor, side in zip(factors, sides(space), strict=True)):
        raise CertificateError("a factor of the product has other distances than the space")
    return product_mechanism(space, factors, float(arrays["epsilon"]))
