"""Mechanisms made of others and never written down: a kernel mechanism with a remap, and products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError, UnsupportedError
from dxopt.mechanisms.kernel import MOST_SLACK, PAIRED_POINTS, lowered_epsilon
from dxopt.model.factors import marginals, product_of
from dxopt.model.loss import Loss, Reports
from dxopt.model.mechanism import Mechanism, Privacy, unpacked
from dxopt.numerics.draws import uniforms
from dxopt.numerics.rounding import UNIT
from dxopt.proofs.certify import ROW_SUM_ERROR
from dxopt.runtime.archive import Arrays, distinct, nested, part, which
from dxopt.spaces.archive import unpack
from dxopt.spaces.products import sides
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Places = NDArray[np.int64]
_FLOOR_BITS = 960


@dataclass(frozen=True, eq=False, repr=False)
class ProductMechanism(Mechanism):
    """Each coordinate by a mechanism of its own: K = (1 - held)·K_1 ⊗ K_2 ⊗ …, and the rest of a row to one report.

    Make it with `product_mechanism`. Entries of the factors that are not 0 count as `floor` at least, so that no
    product underflows.

    Attributes
    ----------
    factors : tuple of Mechanism
        Each with the points of its space as reports.
    held : float
        About 1e-13.
    slack : int
        The report that gets the rest.
    floor : float
    distance_error : float
        Bounds how far the distances of the space are from the sums over its factors, relatively.
    """

    space: MetricSpace
    reports: Reports
    factors: tuple[Mechanism, ...]
    held: float
    slack: int
    floor: float
    distance_error: float
    name: str
    privacy: Privacy | None

    def rows(self, secrets: Places) -> Array:
        rows = np.empty((len(secrets), len(self.reports)))
        by_factor = [
            _raised(factor.rows(at), self.floor)
            for factor, at in zip(self.factors, np.unravel_index(secrets, self._shape), strict=True)
        ]
        for place in range(len(secrets)):
            parts = [factor[place] for factor in by_factor]
            rows[place] = reduce(lambda row, more: np.multiply.outer(row, more).reshape(-1), parts) * (1 - self.held)
            rows[place, self.slack] += math.fsum([1.0, *(-rows[place])])
        return rows

    def _draw(self, places: Places, rng: np.random.Generator | None) -> Places:
        drawn = [
            factor.sample(at, 1, rng)[:, 0]
            for factor, at in zip(self.factors, np.unravel_index(places, self._shape), strict=True)
        ]
        joined = np.ravel_multi_index(drawn, self._shape)
        joined[uniforms(len(places), rng) < self.held] = self.slack
        return joined

    def packed(self) -> Arrays:
        kept = distinct(self.factors)
        arrays = self.packed_identity() | {"which": which(self.factors, kept), "doubt": self.distance_error}
        arrays |= {"held": self.held, "slack": self.slack}
        for position, factor in enumerate(kept):
            arrays |= nested(position, factor.packed())
        return arrays

    def correct(self, prior: Array) -> float:
        """By factors where the prior is a product, up to 1e-11; from all rows elsewhere."""
        parts = marginals(prior, self._shape)
        if np.abs(product_of(parts) - prior).sum() > 1e-12:
            self._require_pairs("utility")
            return super().correct(prior)
        right = math.prod(factor.correct(part) for factor, part in zip(self.factors, parts, strict=True))
        return right + self.held * (float(prior.max()) - right)

    def cost(self, prior: Array, loss: Loss) -> float:
        """The distance is a sum over the factors, of which each sees its marginal of the prior alone."""
        if not (loss.by_distance and loss.name == "distance" and loss.reports.secrets):
            self._require_pairs(loss.name)
            return super().cost(prior, loss)
        spaces, parts = sides(self.space), marginals(prior, self._shape)
        costs = [
            factor.cost(part, Loss.of("distance", space))
            for factor, space, part in zip(self.factors, spaces, parts, strict=True)
        ]
        away = [
            float(part @ space.block(np.arange(len(space)), [at])[:, 0])
            for space, part, at in zip(spaces, parts, np.unravel_index(self.slack, self._shape), strict=True)
        ]
        return math.fsum([*(cost * (1 - self.held) for cost in costs), *(self.held * far for far in away)])

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(len(factor.space) for factor in self.factors)

    def _require_pairs(self, what: str) -> None:
        size = len(self.space)
        if size > PAIRED_POINTS:
            raise UnsupportedError("loss", f"{what} needs every pair of {size:,} points here", "use the distance")


def _raised(rows: Array, floor: float) -> Array:
    return np.where(rows > 0, np.maximum(rows, floor), 0.0)


def epsilon_of_factors(space: MetricSpace, epsilon: float, factors: int, distance_error: float) -> float:
    """The level to ask of the factors of a product mechanism at ε; `distance_error` bounds the relative error of distances."""
    return lowered_epsilon(space, epsilon, 2 * factors + 16, distance_error)


def product_mechanism(
    space: MetricSpace, factors: Sequence[Mechanism], epsilon: float, distance_error: float
) -> ProductMechanism:
    """Perturb each coordinate of a product on its own, and prove that private at ε.

    The budgets of the coordinates add up to that of the tuple. In doubles an entry is a product of one of each
    factor, each raised to the floor (the maximum of a private column and a constant is private) and rounded, which
    the level of the factors leaves room for. Row sums before the rest is added lie within κ of 1 - held, so that the
    rest lies between held - κ and held + κ; held is so large that the ratio of the two is at most e^{εd} for all
    d > 0, and for d = 0 rows are equal, being computed alike from equal rows. The rest makes row sums 1 up to one
    rounding.

    Parameters
    ----------
    space : MetricSpace
        With factors known by its structure.
    factors : sequence of Mechanism
        Proven private at `epsilon_of_factors` or below, in the order of the coordinates; they report their secrets.
    epsilon : float
    distance_error : float
        Bounds how far the distances of the space are from the sums over its factors, relatively.

    Raises
    ------
    CertificateError
        If a factor is not proven at such a level, or does not fit.
    UnsupportedError
        If points are too close to be proven.
    """
    level, count = epsilon_of_factors(space, epsilon, len(factors), distance_error), len(factors)
    shape = tuple(len(factor.space) for factor in factors)
    if shape != tuple(map(len, sides(space))) or any(len(f.reports) != len(f.space) for f in factors):
        raise CertificateError(f"factors of {shape} points do not fit the space")
    if any(factor.privacy is None or factor.privacy.epsilon > level for factor in factors):
        raise CertificateError(f"a factor is not proven private at {level!r}")
    floor = 2.0 ** -(_FLOOR_BITS // count)
    off = 1.01 * (count * (ROW_SUM_ERROR + 2 * UNIT) + sum(shape) * floor) + 4 * UNIT
    held = 1.01 * off * (1 + 2 / math.expm1(min(epsilon * space.nearest, 50.0)))
    if not held < MOST_SLACK:
        raise UnsupportedError("space", f"would send {held:.1e} of each row to one report", "raise epsilon")
    how = (
        f"product of {count} factors whose budgets add up, at a level lowered by {1 - level / epsilon:.1e} against "
        f"rounding; {held:.1e} of each row to one report. " + "; ".join(_stories(factors))
    )
    slack = int(np.ravel_multi_index([size // 2 for size in shape], shape))
    name = " × ".join(dict.fromkeys(factor.name for factor in factors))
    return ProductMechanism(
        space, Reports.of(space), tuple(factors), held, slack, floor, distance_error, name, Privacy(epsilon, how)
    )


def _stories(factors: Sequence[Mechanism]) -> list[str]:
    """How each factor was proven, those alike once."""
    places: dict[str, list[str]] = {}
    for place, factor in enumerate(factors, 1):
        places.setdefault(factor.privacy.how if factor.privacy else "", []).append(str(place))
    return [f"factor {', '.join(which)}: {how}" for how, which in places.items()]


def read(arrays: Arrays) -> Mechanism:
    """The mechanism of `ProductMechanism.packed`, proven again; SpecError or CertificateError where that fails."""
    positions = arrays["which"].tolist()
    kept = [unpacked(part(arrays, position)) for position in range(max(positions) + 1)]
    factors = [kept[position] for position in positions]
    return product_mechanism(unpack(arrays), factors, float(arrays["epsilon"]), float(arrays["doubt"]))
