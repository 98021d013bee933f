"""Mechanisms made of others and never written down: a kernel mechanism with a remap, and products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError, UnsupportedError
from dxopt.kernel import MOST_SLACK, PAIRED_POINTS, KernelMechanism
from dxopt.loss import Loss, Reports
from dxopt.mechanism import Mechanism, Privacy
from dxopt.reductions.product import marginals, product_of, sides
from dxopt.rounding import UNIT
from dxopt.sampling import uniforms
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Places = NDArray[np.int64]
ROW_SUM = 2.0**-50
"""How far from 1 the row sums of any proven mechanism are at most."""
_REMAPPED = 8
_FLOOR_BITS = 960


def level_of_parts(space: MetricSpace, epsilon: float, roundings: int, doubt: float = 0.0) -> float:
    """The level ε' < ε such that e^{ε'd(1 + doubt)} (1 + 2^-53)^roundings ≤ e^{εd} for all d > 0.

    Raises
    ------
    UnsupportedError
        If points are too close for that at a level that is only a hair below ε.
    """
    lowered = doubt + roundings * UNIT / max(epsilon * space.nearest, 1e-300) + 8 * UNIT
    if not lowered < 1e-3:
        raise UnsupportedError(
            "space", f"has points {space.nearest:.3g} apart, too close at epsilon = {epsilon:g}", "raise epsilon"
        )
    return epsilon * (1 - 1.01 * lowered)


@dataclass(frozen=True, eq=False, repr=False)
class RemappedMechanism(Mechanism):
    """A kernel mechanism that says `table[i]` instead of i. Make it with `remapped`.

    Attributes
    ----------
    base : KernelMechanism
    table : (n,) int64 array
        Indices among the reports.
    """

    space: MetricSpace
    reports: Reports
    base: KernelMechanism
    table: Places
    name: str
    privacy: Privacy | None

    def rows(self, secrets: Places) -> Array:
        from dxopt.summing import grouped

        return grouped(self.base.rows(secrets), self.table, len(self.reports))

    def _draw(self, places: Places, rng: np.random.Generator | None) -> Places:
        return self.table[self.base.sample(places, 1, rng)[:, 0]]

    def cost(self, prior: Array, loss: Loss) -> float:
        return self.base.cost_by_rows(prior, lambda secrets: loss.rows(secrets)[:, self.table])


def level_of_base(space: MetricSpace, epsilon: float) -> float:
    """The level to ask of a kernel mechanism that is to be remapped at ε."""
    return level_of_parts(space, epsilon, _REMAPPED)


def remapped(base: KernelMechanism, table: Places, reports: Reports, epsilon: float) -> RemappedMechanism:
    """Post-process a kernel mechanism `(n, n)` by a table `(n,)` into the reports, and prove it private at ε.

    Sums of its entries obey the same inequalities (CABP13 §3). In doubles each sum is off by 2^-53 relative and a
    little more, which the level of the base, below `level_of_base`, leaves room for; it also keeps row sums within
    2^-50 of 1, as those of the base are within 2^-52. No entry of the base underflows.

    Raises
    ------
    CertificateError
        If the level of the base leaves no such room, or the table does not fit.
    """
    if base.privacy is None or base.privacy.epsilon > level_of_base(base.space, epsilon):
        raise CertificateError("the level of the mechanism to remap leaves no room for rounding")
    if table.shape != (len(base.space),) or table.min() < 0 or table.max() >= len(reports):
        raise CertificateError("the remap does not fit the reports")
    how = f"post-processing keeps privacy; before it, {base.privacy.how}"
    return RemappedMechanism(base.space, reports, base, table, f"{base.name}, remapped", Privacy(epsilon, how))


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
    doubt : float
        Bounds how far the distances of the space are from the sums over its factors, relatively.
    """

    space: MetricSpace
    reports: Reports
    factors: tuple[Mechanism, ...]
    held: float
    slack: int
    floor: float
    doubt: float
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


def level_of_factors(space: MetricSpace, epsilon: float, factors: int, doubt: float) -> float:
    """The level to ask of the factors of a product mechanism at ε; `doubt` bounds the relative error of distances."""
    return level_of_parts(space, epsilon, 2 * factors + 16, doubt)


def product_mechanism(
    space: MetricSpace, factors: Sequence[Mechanism], epsilon: float, doubt: float
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
        Proven private at `level_of_factors` or below, in the order of the coordinates; they report their secrets.
    epsilon : float
    doubt : float
        Bounds how far the distances of the space are from the sums over its factors, relatively.

    Raises
    ------
    CertificateError
        If a factor is not proven at such a level, or does not fit.
    UnsupportedError
        If points are too close to be proven.
    """
    level, count = level_of_factors(space, epsilon, len(factors), doubt), len(factors)
    shape = tuple(len(factor.space) for factor in factors)
    if shape != tuple(map(len, sides(space))) or any(len(f.reports) != len(f.space) for f in factors):
        raise CertificateError(f"factors of {shape} points do not fit the space")
    if any(factor.privacy is None or factor.privacy.epsilon > level for factor in factors):
        raise CertificateError(f"a factor is not proven private at {level!r}")
    floor = 2.0 ** -(_FLOOR_BITS // count)
    off = 1.01 * (count * (ROW_SUM + 2 * UNIT) + sum(shape) * floor) + 4 * UNIT
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
        space, Reports.of(space), tuple(factors), held, slack, floor, doubt, name, Privacy(epsilon, how)
    )


def _stories(factors: Sequence[Mechanism]) -> list[str]:
    """How each factor was proven, those alike once."""
    places: dict[str, list[str]] = {}
    for place, factor in enumerate(factors, 1):
        places.setdefault(factor.privacy.how if factor.privacy else "", []).append(str(place))
    return [f"factor {', '.join(which)}: {how}" for how, which in places.items()]
