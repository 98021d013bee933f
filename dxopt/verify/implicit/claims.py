"""Channels that are not written down as one matrix, products of matrices and kernels, and the claims about them.

A product perturbs each coordinate on its own: K[x, z] = (1 - h) Π_i K_i[x_i, z_i], where

- K_i, for i from 1 to k: the factors, in which each entry that is not 0 is raised to c = 2^-(960 // k) at least,
- h: the share of each row that is held back, so that roundings never make it sum to more than 1,
- the rest of a row: what it is short of 1, which goes to one report, the slack.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.bounds.dual import Asked, bound, factor_duals, line_dual, line_dual_bound
from dxopt.verify.bounds.line import rough_line_bound
from dxopt.verify.bounds.multipliers import combine_bounds, marginals, prior_missed, sum_above
from dxopt.verify.claims import claimed_levels, require_bound, require_value
from dxopt.verify.exact import BITS, exp_bounds, weighted_sum
from dxopt.verify.files import Arrays, are_alike, indices, number, numbers, part
from dxopt.verify.folder import Result
from dxopt.verify.implicit.kernels import MOST_CELLS, NAMED, UNIT, LineKernel, Losses
from dxopt.verify.implicit.spaces import PAIRED_POINTS, Space
from dxopt.verify.privacy import ROW_SUM, Channel, Levels, bound_pairs, violation
from dxopt.verify.values import AGREEMENT, LEAST, Enclosed, Worth
from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]
Sums = tuple[Fraction, Fraction]
"""A lower and an upper bound on the sums of rows, or on what they are short of 1."""
_FLOOR_BITS = 960
_FAR = 200
_FARTHEST = 1e300
_INTEGER_CELLS = 1_200_000


@dataclass(frozen=True, eq=False)
class Written:
    """A matrix `(n, m)` on a space of few points."""

    space: Space
    matrix: Array

    @property
    def about(self) -> str:
        """The number of entries that were checked, as text for the verdict."""
        return f"{self.matrix.size:,} probabilities"

    def check_rows(self, name: str) -> Sums:
        """Return bounds on the row sums; Broken unless entries are probabilities that sum to 1 within 2^-50."""
        wrong = np.argwhere(~(np.isfinite(self.matrix) & (self.matrix >= 0)))
        if len(wrong):
            x, z = wrong[0].tolist()
            raise Broken(f"{name}: secret {x}, report {z}: {self.matrix[x, z]} is no probability")
        sums = Channel.of(self.matrix).sums()
        for x, found in enumerate(sums):
            if abs(found - 1) > ROW_SUM:
                raise Broken(f"{name}: the row of secret {x} sums to 1 {float(found - 1):+.3g}")
        return min(sums), max(sums)

    def check_private(self, epsilon: Fraction, name: str) -> None:
        """Check every pair in every report, exactly."""
        distances = self.space.distances
        levels = Levels.of(distances, bound_pairs(distances, "all"), epsilon)
        found = violation(Channel.of(self.matrix), levels)
        if found is not None:
            x, other, z = found
            raise Broken(f"{name}: secrets {x} and {other} are told apart by report {z} at {float(epsilon):.17g}")

    def cost(self, prior: Array, losses: Losses) -> Enclosed:
        """Return the exact expected loss."""
        return Worth(self.matrix, prior).expected_loss(losses.dense)


@dataclass(frozen=True, eq=False)
class Product:
    """A product of mechanisms, see the module; `held` is h, and the rests go to report `slack`.

    `factors` has one entry for each axis: the mechanism, the level that the file claims of it, its name in messages.
    """

    space: Space
    factors: tuple[tuple[Mechanism, Fraction, str], ...]
    held: Fraction
    slack: int

    @property
    def about(self) -> str:
        """The assumptions of the proof on the factors, as text for the verdict."""
        each = dict.fromkeys(factor.about for factor, _, _ in self.factors)
        return f"{len(self.factors)} factors: {'; '.join(each)}"

    @property
    def _raised(self) -> Fraction:
        """The least that an entry of a factor is raised to, c, so that no product of k of them is subnormal."""
        return Fraction(1, 1 << _FLOOR_BITS // len(self.factors))

    def _distinct(self) -> list[tuple[Mechanism, Fraction, str]]:
        """Each factor once, as axes often share theirs."""
        return list({id(factor[0]): factor for factor in self.factors}.values())

    def _rests(self) -> Sums:
        """Return a lower and an upper bound on what a row is short of 1."""
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
        """Check the rows of the factors, and that no rest is below 0; return bounds on row sums as drawn, with it."""
        least, _ = self._rests()
        if not (0 < self.held < 1 and least >= 0):
            raise Broken(f"{name}: rows may sum to 1 {float(-least):+.3g} where {float(self.held):.3g} is held back")
        return 1 - 4 * UNIT, 1 + 4 * UNIT

    def check_private(self, epsilon: Fraction, name: str) -> None:
        """Check each factor at its claimed level, or a lower one that leaves room for roundings; then the rests."""
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
        if math.isinf(nearest):  # no two points are at finite distance
            return
        # The rests of any two rows, at the least distance and thus at all.
        least, most = self._rests()
        if most * (1 + 8 * UNIT) * (1 << BITS) > least * exp_bounds(min(room, Fraction(_FAR)))[0]:
            apart = f"secrets may be told apart at epsilon {float(epsilon):.17g} by the rest of their rows"
            raise Broken(f"{name}: {apart}: {float(most):.17g} against {float(least):.17g}")

    def cost(self, prior: Array, losses: Losses) -> Enclosed:
        """Return the expected loss, factor by factor; Unproved where the loss is no sum over the axes."""
        inner, missed = losses.by_axes()
        least, most = self._rests()
        low = high = size = Fraction(0)
        raised = largest = Fraction(0)
        known: dict[tuple[int, bytes], Enclosed] = {}
        shape = tuple(len(factor.space) for factor, _, _ in self.factors)
        slack = np.unravel_index(self.slack, shape)
        beliefs = marginals(prior, shape)
        for (factor, _, _), belief, loss, report in zip(self.factors, beliefs, inner, slack, strict=True):
            # The cost of the factor under the marginal prior: once for all axes with the same factor and prior.
            key = id(factor), belief.tobytes()
            if key not in known or loss.matrix is not None:
                known[key] = factor.cost(belief, loss)
            cost = known[key]
            # What the report that gets the rests costs along this axis.
            away = weighted_sum(belief.tolist(), [Fraction(float(loss.row(x)[report])) for x in range(len(belief))])
            # A share of 1 - rest is drawn from the factors, and the rest goes to that report; costs may be negative.
            low += min(cost.low * (1 - most), cost.low * (1 - least)) + min(away * least, away * most)
            high += max(cost.high * (1 - least), cost.high * (1 - most)) + max(away * least, away * most)
            size += cost.size + most * abs(away)
            raised += len(factor.space) * self._raised
            largest += Fraction(float(loss.largest.max()))
        # What is off: entries that are raised, row sums of factors and roundings, and losses that are no exact sums.
        off = raised * (size + 2 * largest)
        off += size * (len(self.factors) + 2) * ROW_SUM
        off += sum_above(float((prior * missed).sum()))
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
    if {"reports", "space.labels"} <= {*arrays} and not are_alike(arrays["reports"], arrays["space.labels"]):
        raise Broken(f"mechanism.npz: the reports of {name} have other names than its secrets")
    points = Space.read(arrays).points
    if "report_points" in arrays and (points is None or not are_alike(arrays["report_points"].astype(float), points)):
        raise Broken(f"mechanism.npz: the reports of {name} are elsewhere than its secrets")


def _read_product(arrays: Arrays) -> Product:
    """Read a product: each factor is stored once, and `which` has the number of the factor of each axis."""
    space = Space.read(arrays)
    which = indices(arrays, "which", len(space.axes), len(space.axes)).tolist()
    if "held" not in arrays:
        raise Unproved("the file does not say what is held back of each row")
    known: dict[int, tuple[Mechanism, Fraction, str]] = {}
    for axis, index in zip(space.axes, which, strict=True):
        name = f"factor {index}"
        inner = part(arrays, str(index))
        if not inner:
            raise Broken(f"mechanism.npz: there is no {name}")
        if index not in known:
            known[index] = read_channel(inner, len(axis)), Fraction(number(inner, "epsilon")), name
        _check_reports(inner, name)
        if not axis.same(known[index][0].space):
            raise Broken(f"mechanism.npz: the points of {name} are not those of the axis")
    factors = tuple(known[index] for index in which)
    return Product(space, factors, Fraction(number(arrays, "held")), int(indices(arrays, "slack", len(space))))


def check_distances(result: Result) -> str:
    """Check the number of points, and that distances can be derived: on a line or axes they are those of norms."""
    space = Space.read(result.mechanism)
    if len(space) != result.size:
        raise Broken(f"mechanism.npz: {len(space)} points, but there are {result.size} probabilities")
    if space.line is None and len(space.axes) < 2:
        return f"{space.distances.size:,} of {space.metric or space.kind} points"
    return f"{len(space):,} points on {'a line' if space.line is not None else f'{len(space.axes)} axes'}"


def check_losses(result: Result) -> str:
    """Check that losses are finite, and as their name defines them by points where the reports are the secrets."""
    losses = _losses(result)
    labels = result.mechanism.get("reports")
    if labels is not None and len(labels) != losses.reports:
        raise Broken(f"mechanism.npz: {len(labels)} names of {losses.reports:,} reports")
    if losses.matrix is None:
        return f"{losses.name} of {result.size:,} by {losses.reports:,} points"
    if losses.name in NAMED and result.secrets:
        named = Losses(losses.space, losses.name)
        for x, row in enumerate(losses.matrix):
            off = np.flatnonzero(~(np.abs(row - named.row(x)) <= 1e-12 * named.row(x)))
            if len(off):
                raise Broken(f"loss: it is {row[off[0]]:.17g} in secret {x} and report {off[0]}, no {losses.name}")
    return f"{result.size:,} by {losses.reports:,} finite numbers, as they were given"


def check_rows(result: Result) -> str:
    """Check that entries as they are assumed sum to at most 1 in each row; the rest of it goes to one report."""
    channel = _channel(result)
    channel.check_rows("mechanism.npz")
    return f"for {channel.about}"


def check_privacy(result: Result) -> str:
    """Check privacy at the certificate's ε, and at that of each part of mechanism.npz."""
    epsilon, delta = claimed_levels(result)
    inner = result.mechanism
    if not result.private:
        raise Broken("the channel is not written down, but no privacy was asked for")
    if delta or result.delta or any(number(inner, key) for key in inner if key.rsplit("/")[-1] == "delta"):
        raise Broken(f"{result.source} or mechanism.npz: delta is not 0")
    channel = _channel(result)
    channel.check_rows("mechanism.npz")
    own = number(inner, "epsilon") if "epsilon" in inner else epsilon
    if own > epsilon:
        raise Broken(f"mechanism.npz: epsilon is {own:.17g}, but {epsilon:.17g} in {result.source}")
    channel.check_private(Fraction(own), "mechanism.npz")
    # A remapped kernel claims a level of its own before the remap, where each index is reported as itself: "…table"
    # next to "…0/epsilon".
    for key in sorted(key for key in inner if key.endswith("0/epsilon") and f"{key[:-9]}table" in inner):
        base = part(inner, key.removesuffix("/epsilon"))
        size = len(Space.read(base))
        kernel = LineKernel.read({**base, "table": np.arange(size)}, base, size)
        kernel.check_private(Fraction(number(inner, key)), key)
    return f"for {channel.about}; epsilon {float(epsilon)!r}"


def check_value(result: Result) -> str:
    """Check the expected loss, to 1e-12 of the size of its terms."""
    _require_expected(result)
    return f"expected loss {require_value(result, expected_loss(result)):.12g}"


def expected_loss(result: Result) -> Enclosed:
    """Return the expected loss under the prior."""
    return _channel(result).cost(result.prior, _losses(result))


def check_bound(result: Result) -> str:
    """Check that the certificate claims no more than the dual proves, up to 1e-12 relative."""
    _require_expected(result)
    claimed = result.claimed("bound")
    losses = _losses(result)
    wanted = claimed - float(AGREEMENT) * abs(claimed)
    if "which" in result.dual:
        proven, how = _bound_of_product(result, losses)
    else:
        proven, how = _bound_of_axis(result.epsilon, result.prior, losses, result.dual, wanted)
    return require_bound(result, proven, how, LEAST)


CLAIMS: Mapping[str, Callable[[Result], str]] = {
    "distances": check_distances,
    "loss": check_losses,
    "rows": check_rows,
    "privacy": check_privacy,
    "value": check_value,
    "bound": check_bound,
}
"""Checks by name, instead of those of `verify.claims` where the channel is not written down."""


def _losses(result: Result) -> Losses:
    """Return the losses as they are in problem.npz, or as their name says for the points of mechanism.npz."""
    arrays = result.mechanism
    space = Space.read(arrays)
    if result.named.get("loss_by_distance") is not True:
        matrix = numbers(result.problem, "losses", result.size, None)
        return Losses(space, str(result.named.get("loss")), matrix=matrix)
    if len(space) != result.size:
        raise Broken(f"mechanism.npz: {len(space)} points, but there are {result.size} probabilities")
    if not result.secrets and "report_points" not in arrays:
        raise Broken("mechanism.npz: where the reports lie is missing, but losses follow from it")
    answers = None if result.secrets else numbers(arrays, "report_points", None, None)
    return Losses(space, str(result.named.get("loss")), answers)


def _channel(result: Result) -> Mechanism:
    return read_channel(result.mechanism, _losses(result).reports)


def _require_expected(result: Result) -> None:
    """Unproved for objectives that are proven again from a matrix alone."""
    if result.objective != "expected_loss":
        raise Unproved(f"{result.objective} of a channel that is not written down")


def _bound_of_axis(
    epsilon: float, prior: np.ndarray, losses: Losses, dual: Arrays, wanted: float
) -> tuple[Fraction, str]:
    """Return the lower bound that a dual proves on one axis, and how; in doubles, none above `wanted` is looked for.

    Along a line it is proven from coordinates, elsewhere from all distances.
    """
    space = losses.space
    cells = len(space) * losses.reports
    # 1. A line with row prices and roots: in integers, or in doubles where these would take too long.
    if "roots" in dual and space.line is not None:
        steps = [Fraction(epsilon) * Fraction(step) for step in np.abs(np.diff(space.line)).tolist()]
        prices, roots = line_dual(dual, len(space), losses.reports)
        if cells > MOST_CELLS:
            raise Unproved(f"{cells:,} losses are over the limit of {MOST_CELLS:,}")
        if cells > _INTEGER_CELLS:
            found = rough_line_bound(prior, losses.row, prices, roots, steps, wanted)
            return found, "weak duality along the line, in doubles with every rounding counted"
        return line_dual_bound(prior, losses.dense, prices, roots, steps, steps)
    # 2. No multipliers: the least that each secret pays.
    if "multiplier" in dual and not dual["multiplier"].size:
        least = [Fraction(float(losses.row(x).min())) for x in range(len(prior))]
        return weighted_sum(prior.tolist(), least), "no dual needed"
    # 3. Multipliers of any pairs, for which all distances are made.
    if max(len(space), losses.reports) > PAIRED_POINTS:
        raise Unproved(f"a dual of {len(space):,} points off a line is over the limit of {PAIRED_POINTS:,}")
    levels = Levels.of(space.distances, bound_pairs(space.distances, "all"), Fraction(epsilon))
    return bound(Asked("expected_loss", losses.dense, prior, levels, Fraction(0)), dual)


def _bound_of_product(result: Result, losses: Losses) -> tuple[Fraction, str]:
    """Return the lower bound that the duals of all axes prove together (see `bounds.multipliers`), and how."""
    inner, missed = losses.by_axes()
    shape = tuple(len(loss.space) for loss in inner)
    parts = marginals(result.prior, shape)
    off = prior_missed(result.prior, parts, [loss.largest for loss in inner])
    off += sum_above(float((result.prior * missed).sum()))
    known: dict[tuple[object, ...], Fraction] = {}
    bounds = []
    hows = []
    for marginal, loss, dual in zip(parts, inner, factor_duals(result.dual, len(shape)), strict=True):
        # Axes with the same prior, dual and points have the same bound, which is found once, unless the losses are a
        # matrix, which is not in the key. No bound of a single axis is claimed: the best one is looked for.
        stored = sorted((name, array.dtype.str, array.tobytes()) for name, array in dual.items())
        key = (marginal.tobytes(), *stored, loss.space.identity)
        if key not in known or loss.matrix is not None:
            known[key], how = _bound_of_axis(result.epsilon, marginal, loss, dual, float("inf"))
            hows.append(how)
        bounds.append(known[key])
    found = combine_bounds(bounds, parts) - off
    return found, f"{len(shape)} factors, less {float(off):.1e}; {'; '.join(dict.fromkeys(hows))}"
