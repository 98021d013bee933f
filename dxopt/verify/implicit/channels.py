"""Channels that are not written down as one matrix: products, and the matrices and kernels they are made of.

A product perturbs each coordinate on its own: K[x, z] = (1 - h) Π_i K_i[x_i, z_i], each entry of a factor that is
not 0 raised to 2^-(960 // k) at least for k factors, and what a row is short of 1, its rest, goes to one report.
Assumed of whoever draws from it is that each of these k products is rounded once, and the rest as well.

Statement. If all factors are private at ε', and the rows of factor i sum to between low_i and high_i, the rest of a
row lies between 1 - (1 - h) Π high_i and 1 - (1 - h) Π low_i, widened by k + 1 roundings and what raising adds.
If the least of this is 0 or more, its largest at most e^{εd} times its least, and (ε - ε')·d room for 2 (k + 2)
roundings, with d the least distance of two points, the product is private at ε. Proof: budgets add up as
distances do, max(K_i, c) is as private as K_i, and the ratio of sums is at most the largest of the ratios.
Distances in doubles are within (k + 4)·2^-53 of sums.

A loss that is a sum over the coordinates costs Σ_i of what l_i costs in factor i under the sums of the prior
along all other axes, times 1 - h, and what the rest pays; row sums of factors are within 2^-50 of 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.bounds.multipliers import marginals, widened
from dxopt.verify.exact import BITS, exp_bounds
from dxopt.verify.files import Arrays, alike, indices, number, numbers, part
from dxopt.verify.implicit.kernels import UNIT, LineKernel, Losses
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.privacy import Channel, Levels, bound_pairs, violation
from dxopt.verify.values import Enclosed, Worth
from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]
Sums = tuple[Fraction, Fraction]
"""A lower and an upper bound on the sums of rows, or on what they are short of 1."""
_FLOOR_BITS = 960
_ROW_SUM = Fraction(1, 1 << 50)
_FAR = 200
_FARTHEST = 1e300


@dataclass(frozen=True, eq=False)
class Written:
    """A matrix `(n, m)` on a space of few points."""

    space: Space
    matrix: Array

    @property
    def about(self) -> str:
        """Its size."""
        return f"{self.matrix.size:,} probabilities"

    def check_rows(self, name: str) -> Sums:
        """Return bounds on the row sums; Broken unless entries are probabilities that sum to 1 within 2^-50."""
        wrong = np.argwhere(~(np.isfinite(self.matrix) & (self.matrix >= 0)))
        if len(wrong):
            x, z = wrong[0].tolist()
            raise Broken(f"{name}: secret {x}, report {z}: {self.matrix[x, z]} is no probability")
        channel = Channel.of(self.matrix)
        sums = [Fraction(sum(row), channel.scale) for row in channel.rows]
        for x, found in enumerate(sums):
            if abs(found - 1) > _ROW_SUM:
                raise Broken(f"{name}: the row of secret {x} sums to 1 {float(found - 1):+.3g}")
        return min(sums), max(sums)

    def check_private(self, epsilon: Fraction, name: str) -> None:
        """Check every pair in every report, exactly."""
        distances = self.space.distances
        levels = Levels.of(distances, bound_pairs(distances, "all"), epsilon)
        found = violation(Channel.of(self.matrix), levels)
        if found is not None:
            x, other, z = found
            raise Broken(
                f"{name}: secrets {x} and {other} are told apart by report {z}: {self.matrix[x, z]:.17g} against "
                f"{self.matrix[other, z]:.17g} at epsilon {float(epsilon):.17g}"
            )

    def cost(self, prior: Array, losses: Losses) -> Enclosed:
        """Return the exact expected loss."""
        return Worth(self.matrix, prior).expected_loss(losses.dense)


@dataclass(frozen=True, eq=False)
class Product:
    """Factors in the order of the axes, see the module.

    Attributes
    ----------
    space : Space
    factors : tuple of (Mechanism, Fraction, str)
        Each with the level that the file claims of it, and a name.
    held : Fraction
        h, what is held back of each row.
    slack : int
        The report that the rests go to.
    """

    space: Space
    factors: tuple[tuple[Mechanism, Fraction, str], ...]
    held: Fraction
    slack: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each axis."""
        return tuple(len(factor.space) for factor, _, _ in self.factors)

    @property
    def about(self) -> str:
        """Conditions of the proof on the factors, as text."""
        return f"{len(self.factors)} factors: " + "; ".join(
            dict.fromkeys(factor.about for factor, _, _ in self.factors)
        )

    @property
    def _raised(self) -> Fraction:
        """The least that an entry of a factor is raised to."""
        return Fraction(1, 1 << _FLOOR_BITS // len(self.factors))

    def _distinct(self) -> list[tuple[Mechanism, Fraction, str]]:
        """Each factor once, as axes often share theirs."""
        return list({id(factor[0]): factor for factor in self.factors}.values())

    def _rests(self) -> Sums:
        """Bounds on what a row is short of 1."""
        sums = {id(factor): factor.check_rows(name) for factor, _, name in self._distinct()}
        count = len(self.factors)
        low = high = 1 - self.held
        for factor, _, _ in self.factors:
            least, most = sums[id(factor)]
            low = low * least
            high = high * (most + len(factor.space) * self._raised)
        # k products and the rest are rounded once each; one rounding more makes up for these being of second order.
        return 1 - high * (1 + (count + 2) * UNIT), 1 - low * (1 - (count + 2) * UNIT)

    def check_rows(self, name: str) -> Sums:
        """Check the rows of the factors, and that no rest is below 0."""
        least, _ = self._rests()
        if not (0 < self.held < 1 and least >= 0):
            raise Broken(f"{name}: rows may sum to 1 {float(-least):+.3g} where {float(self.held):.3g} is held back")
        return 1 - 4 * UNIT, 1 + 4 * UNIT

    def check_private(self, epsilon: Fraction, name: str) -> None:
        """Check factor by factor, at the level that is claimed and one that leaves room; then the rest."""
        count = len(self.factors)
        nearest = self.space.nearest
        if not nearest > 0:
            raise Unproved("there are points at distance 0")
        # What is left of εd once distances are rounded, at the least distance: the factors may use all of it but for
        # the roundings of both products.
        least_distance = Fraction(min(nearest, _FARTHEST))
        room = epsilon * (1 - (count + 4) * UNIT) * least_distance
        enough = (room - (2 * count + 5) * UNIT) / least_distance
        for factor, level, which in self._distinct():
            factor.check_private(min(level, max(enough, Fraction(0))), which)
        if math.isinf(nearest):
            return
        # The rests of any two rows, at the least distance and thus at all.
        least, most = self._rests()
        if most * (1 + 8 * UNIT) * (1 << BITS) > least * exp_bounds(min(room, Fraction(_FAR)))[0]:
            raise Broken(
                f"{name}: secrets may be told apart by the rest of their rows at epsilon {float(epsilon):.17g}: "
                f"{float(most):.17g} against {float(least):.17g}"
            )

    def cost(self, prior: Array, losses: Losses) -> Enclosed:
        """Return the expected loss, factor by factor; Unproved where the loss is no sum over the axes."""
        inner, missed = losses.by_axes()
        least, most = self._rests()
        low = high = size = Fraction(0)
        raised = largest = Fraction(0)
        known: dict[tuple[int, bytes], Enclosed] = {}
        slack = np.unravel_index(self.slack, self.shape)
        beliefs = marginals(prior, self.shape)
        for (factor, _, _), belief, loss, report in zip(self.factors, beliefs, inner, slack, strict=True):
            # The cost of the factor under the marginal prior: once for all axes with the same factor and prior.
            key = id(factor), belief.tobytes()
            if key not in known or loss.matrix is not None:
                known[key] = factor.cost(belief, loss)
            cost = known[key]
            # What the report that gets the rests costs along this axis.
            away = sum(
                (Fraction(weight) * Fraction(float(loss.row(x)[report])) for x, weight in enumerate(belief.tolist())),
                Fraction(0),
            )
            # A share of 1 - rest is drawn from the factors, and the rest goes to that report; costs may be negative.
            low += min(cost.low * (1 - most), cost.low * (1 - least)) + min(away * least, away * most)
            high += max(cost.high * (1 - least), cost.high * (1 - most)) + max(away * least, away * most)
            size += cost.size + most * abs(away)
            raised += len(factor.space) * self._raised
            largest += Fraction(float(loss.largest.max()))
        # What is off: entries that are raised, row sums of factors and roundings, and losses that are no exact sums.
        off = raised * (size + 2 * largest)
        off += size * (len(self.factors) + 2) * _ROW_SUM
        off += widened(float((prior * missed).sum()))
        return Enclosed(low - off, high + off, size)


Mechanism = Written | LineKernel | Product


def read_channel(arrays: Arrays, reports: int) -> Mechanism:
    """Return the channel of mechanism.npz, or of a part of it, with m reports; Unproved where it is another kind."""
    if "which" in arrays:
        return _read_product(arrays)
    if "table" in arrays:
        return LineKernel.read(arrays, part(arrays, "0"), reports)
    if "matrix" in arrays:
        space = Space.read(arrays)
        return Written(space, numbers(arrays, "matrix", len(space), reports))
    if "noise" in arrays:
        raise Unproved(f"{arrays['name']}: the masses of its cells are not in the files")
    raise Unproved(f"{arrays.get('name')}: weights are proven again on a line alone")


def _check_reports(arrays: Arrays, name: str) -> None:
    """Check that the reports of a factor are its secrets: in their places, by their names."""
    if "secrets" in arrays and not arrays["secrets"]:
        raise Broken(f"mechanism.npz: the reports of {name} are not its secrets")
    if {"reports", "space.labels"} <= {*arrays} and not alike(arrays["reports"], arrays["space.labels"]):
        raise Broken(f"mechanism.npz: the reports of {name} have other names than its secrets")
    points = Space.read(arrays).points
    if "report_points" in arrays and (points is None or not alike(arrays["report_points"].astype(float), points)):
        raise Broken(f"mechanism.npz: the reports of {name} are elsewhere than its secrets")


def _read_product(arrays: Arrays) -> Product:
    space = Space.read(arrays)
    which = indices(arrays, "which", len(space.axes), len(space.axes)).tolist()
    if "held" not in arrays:
        raise Unproved("the file does not say what is held back of each row")
    made: dict[int, tuple[Mechanism, Fraction, str]] = {}
    for axis, index in zip(space.axes, which, strict=True):
        name = f"factor {index}"
        inner = part(arrays, str(index))
        if not inner:
            raise Broken(f"mechanism.npz: there is no {name}")
        if index not in made:
            made[index] = read_channel(inner, len(axis)), Fraction(number(inner, "epsilon")), name
        _check_reports(inner, name)
        if not axis.same(made[index][0].space):
            raise Broken(f"mechanism.npz: the points of {name} are not those of the axis")
    factors = tuple(made[index] for index in which)
    return Product(space, factors, Fraction(number(arrays, "held")), int(indices(arrays, "slack", len(space))))
