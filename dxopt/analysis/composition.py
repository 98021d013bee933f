"""Composition: joint privacy of several independent releases about one secret.

Two rows P and Q of a channel are told apart by their privacy loss ln(P_z / Q_z), where z follows P. What k
independent releases exceed is δ(t) = E[max(0, 1 - e^{t - L})] with L the sum of their losses (Meiser and Mohammadi
2018). On a grid such sums stay on the grid, so that rounding to it happens once for each release. Releases are
convolved directly, not by Fourier transforms: these err by 2^-53 of the largest mass or more (Higham 2002, Thm 24.2),
which hides a small δ, while sums of products of what is not negative are right to some 2^-53 of themselves, however
small (§3.1 there). The assumption of `numerics.rounding` is made of `expm1` as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.arguments import channel_of, exact_rows
from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.privacy import checked_delta, checked_level
from dxopt.model.sampling import Sampler
from dxopt.numerics.coerce import POSITIVE, as_number, as_numbers, checked_counts
from dxopt.numerics.hockey_stick import bound_pairs
from dxopt.numerics.number_syntax import Written, digits_down, six_digits_up
from dxopt.numerics.rounding import UNIT
from dxopt.runtime.display import Shown
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Side = Literal["above", "below"]
TAIL = 2.0**-100
"""At most this mass is cut off each end of a distribution, and counted."""
_LOST = 2.0**-1000
"""More than what all products that underflow can amount to."""
_SLIP = 2.0**-30
"""From below, a loss that is this part of a step under a grid point counts as being there; the level pays for it."""


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """Masses of P, the reports of one secret, on the grid of losses against Q, those of another.

    Mass i is at the loss (start + i)·step. `side` tells whether `delta` is an upper or a lower bound. Reports that
    the other secret never makes have the mass `infinite`. From above, no loss is larger than `most`, so that δ is 0
    from there on; `most` is infinite where a loss is.
    """

    side: Side
    step: float
    start: int
    masses: Array
    infinite: float
    most: float
    releases: int = 1

    def then(self, other: LossDistribution) -> LossDistribution:
        """Return the sum of two independent losses."""
        masses = np.convolve(self.masses, other.masses)
        ours, theirs = float(self.masses.sum()), float(other.masses.sum())
        infinite = self.infinite * (theirs + other.infinite) + ours * other.infinite
        # Sums of as many products as the shorter one has, and those of the masses.
        room = _room(self.side, len(self.masses) + len(other.masses))
        most = (self.most + other.most) * (1 + 2 * UNIT)
        start, releases = self.start + other.start, self.releases + other.releases
        return _trimmed(LossDistribution(self.side, self.step, start, masses * room, infinite * room, most, releases))

    def power(self, count: int) -> LossDistribution:
        """Return the sum of as many independent losses, by repeated squaring."""
        if count == 1:
            return self
        half = self.power(count // 2)
        double = half.then(half)
        return double.then(self) if count % 2 else double

    def delta(self, level: float) -> float:
        """Return a bound on what the releases exceed at the level t = εd: E[max(0, 1 - e^{t - L})]."""
        if level >= self.most:
            return 0.0
        grid = (self.start + np.arange(len(self.masses))) * self.step
        error = 4 * UNIT * (np.abs(grid) + abs(level))
        # t - L at each point of the grid, off to the side on which the result stays a bound
        if self.side == "above":
            gaps = level - grid - error
        else:
            gaps = level - grid + error + self.releases * (_SLIP * self.step) * (1 + 4 * UNIT)
        counted = gaps < 0
        total = float(self.masses[counted] @ -np.expm1(gaps[counted])) + self.infinite
        total *= _room(self.side, len(grid) + 16)
        return min(total + _LOST, 1.0) if self.side == "above" else min(max(total - _LOST, 0.0), 1.0)


def loss_distribution(first: Array, second: Array, step: float, side: Side) -> LossDistribution:
    """Return the losses of one release, where P and Q are `first` and `second`, `(m,)`, right to 2^-53 of each entry.

    From above, each report is split between the two points of the grid about its loss, so that both P and Q keep
    their masses: δ(t) becomes its chords in e^t between the points of the grid, which lie above as it is convex
    (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). From below, each loss is rounded down.
    """
    only_first = (first > 0) & (second == 0)
    p = first[(first > 0) & (second > 0)]
    losses, error = _finite_losses(first, second)
    room = _room(side, len(first) + 8)
    infinite = float(first[only_first].sum()) * room
    if side == "below":
        cells = np.floor((losses - error) / step + _SLIP / 2).astype(np.int64)
        start, masses = _masses_by_cell(cells, p)
        return LossDistribution(side, step, start, masses * room, infinite, math.inf)
    losses = losses + error
    cells = np.floor(losses / step).astype(np.int64)
    into = np.maximum(losses - cells * step, 0.0)
    # w, the part that stays at the lower point, rounded down, solves e^{-θ} = w + (1 - w) e^{-h}, where the loss is
    # θ, `into`, above that point, and h is the step.
    stay = np.expm1(step - into) / math.expm1(step) * (1 - 16 * UNIT) - 8 * UNIT * (1 + step)
    low = p * np.clip(stay, 0.0, 1.0)
    start, masses = _masses_by_cell(np.concatenate([cells, cells + 1]), np.concatenate([low, p - low]))
    return LossDistribution(side, step, start, masses * room, infinite, most_loss(first, second))


def _finite_losses(first: Array, second: Array) -> tuple[Array, Array]:
    """Return ln(P_z / Q_z) of the reports that both make, and bounds on its error."""
    seen = (first > 0) & (second > 0)
    here, there = np.log(first[seen]), np.log(second[seen])
    # The error of two logarithms of numbers that are right to a unit, of their difference, and of grid points.
    return here - there, 16 * UNIT * (1 + np.abs(here) + np.abs(there))


def most_loss(first: Array, second: Array) -> float:
    """Return the largest ln(P_z / Q_z), or 0, rounded up; infinite where only P makes a report."""
    if ((first > 0) & (second == 0)).any():
        return math.inf
    losses, error = _finite_losses(first, second)
    return float((losses + error).max(initial=0.0))


def _masses_by_cell(cells: NDArray[np.int64], masses: Array) -> tuple[int, Array]:
    """Add up masses by the cell of the grid they are in: return the lowest cell, and the masses from there on."""
    if not len(cells):
        return 0, np.zeros(1)
    start = int(cells.min())
    return start, np.bincount(cells - start, masses).astype(np.float64)


def _room(side: Side, terms: int) -> float:
    """Return a factor that makes a computed sum of so many products an upper or lower bound, whatever their order."""
    return 1 + 2 * (terms + 8) * UNIT if side == "above" else 1 - 2 * (terms + 8) * UNIT


def _trimmed(given: LossDistribution) -> LossDistribution:
    """Cut the tails, so that sums of many losses stay short. What is cut moves to where the result stays a bound.

    From above it moves up: to infinity, or to the lowest point that is kept.
    """
    masses = given.masses
    kept = np.flatnonzero((np.cumsum(masses) > TAIL) & (np.cumsum(masses[::-1])[::-1] > TAIL))
    if not len(kept) or len(kept) == len(masses):
        return given
    low, high = int(kept[0]), int(kept[-1])
    inner = masses[low : high + 1].copy()
    under, over = float(masses[:low].sum()), float(masses[high + 1 :].sum())
    room = _room(given.side, len(masses))
    infinite = given.infinite
    if given.side == "above":
        inner[0] += under * room
        infinite += over * room
    else:
        # From below it moves down: to the highest point that is kept, or away.
        inner[-1] += over * room
    room = _room(given.side, 1)
    return replace(given, start=given.start + low, masses=inner * room, infinite=infinite * room)


_ROUNDING = 1e-9


@dataclass(frozen=True, repr=False)
class Composed(Shown):
    """Privacy of independent releases together: a proven bound, and another one that shows how loose it is.

    Attributes
    ----------
    asked : {"epsilon", "delta"}
        Which of the two was given: δ at that ε, or the least ε at that δ.
    epsilon : float
        Per unit of distance. The releases together are proven (εd, δ)-private with `delta`.
    delta : float
    least : float
        What was not given, ε or δ, is at least this: proven as well, so that `epsilon` or `delta` is too large by at
        most the difference.
    pure : float
        Σ k_j ε_j, at which the releases are private with δ = 0; infinite where one of them is so at no ε.
    releases : int
        k, all of them.
    worst : tuple of two str, or None
        The labels of the pair of secrets that is told apart best, as far as the bounds say; None where no pair is.
    pairs : {"all", "adjacent"}
        Which pairs of secrets it is about: all, or neighbours alone.

    Examples
    --------
    >>> import dxopt as dx
    >>> answer = dx.compose(dx.classic.geometric(dx.line(3), epsilon=0.5), 4).epsilon(0.01)
    >>> print(round(answer.least, 2), round(answer.epsilon, 2), round(answer.pure, 2), answer.worst)
    1.97 1.97 2.0 ('0', '2')
    """

    asked: Literal["epsilon", "delta"]
    epsilon: float
    delta: float
    least: float
    pure: float
    releases: int
    worst: tuple[str, str] | None
    pairs: str

    def __str__(self) -> str:
        several = f"{self.releases} releases" if self.releases > 1 else "1 release"
        among = "for all pairs of secrets" if self.pairs == "all" else "for neighbours alone"
        pure = "at no epsilon" if math.isinf(self.pure) else f"at epsilon {six_digits_up(self.pure, _ROUNDING)}"
        if self.asked == "epsilon":
            said = f"epsilon {self.epsilon:.6g}, delta at most {six_digits_up(self.delta, _ROUNDING)}"
        elif math.isinf(self.epsilon):
            said = f"no epsilon at delta {self.delta:.6g}"
        else:
            said = f"epsilon at most {six_digits_up(self.epsilon, _ROUNDING)} at delta {self.delta:.6g}"
        pair = "" if self.worst is None else f"; worst pair {self.worst[0]} and {self.worst[1]}"
        least = f"(and at least {digits_down(self.least, 6):.6g})"
        return f"{several} together, {among}: {said} {least}{pair}; delta 0 {pure}"


MOST_RELEASES = 1_000_000
MOST_SECRETS = 1_000
_POINTS = (8, 64, 512, 4096)
"""Of the grid, up to the largest loss of one release, in stages: each only for pairs that may be the worst."""
_MOST_POINTS = 1 << 16
_STEPS = 200
_NEAREST = 2.0**-1000
"""Smaller distances, and 0, count as this one in a quotient."""
_MOST_LEVEL = 1e300
"""Levels from here on count as infinite."""
_CLOSE = 1e-9
"""Two levels that differ by this part at most are near enough."""
Bounds = tuple[float, float]
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False, repr=False)
class Composition(Shown):
    """Independent releases about one secret; `compose` makes one.

    Attributes
    ----------
    space : MetricSpace
        The n secrets.
    channels : tuple of (n, m_j) arrays
        The probabilities of the different mechanisms, right to 2^-53 of each.
    counts : tuple of int
        How often each of them is used, k_j.
    classes : (n,) array
        Secrets of the same class have the same rows exactly.
    pairs : {"all", "adjacent"}
    accuracy : float

    Examples
    --------
    >>> import dxopt as dx
    >>> releases = dx.compose(dx.classic.geometric(dx.line(3), epsilon=0.5), 4)
    >>> print(round(releases.pure, 6), round(releases.epsilon(0.01).epsilon, 3), round(releases.delta(1.0).delta, 3))
    2.0 1.966 0.22
    >>> print([round(answer.delta, 3) for answer in releases.curve([0.5, 1, 1.5])])
    [0.439, 0.22, 0.095]
    """

    space: MetricSpace
    channels: tuple[Array, ...] = field(repr=False)
    counts: tuple[int, ...]
    classes: NDArray[np.int64] = field(repr=False)
    pairs: str = "all"
    accuracy: float = 1e-3

    def _summary(self) -> str:
        return f"{sum(self.counts):,} releases on {len(self.space):,} secrets"

    def delta(self, epsilon: Written) -> Composed:
        """Return the δ of all releases together at ε per unit of distance: an upper bound for every bound pair."""
        level = checked_level(epsilon)

        def exceeded(distance: float, above: LossDistribution, below: LossDistribution) -> Bounds:
            # The level is the real product of two doubles.
            budget = level * distance
            return below.delta(math.nextafter(budget, math.inf)), above.delta(math.nextafter(budget, 0.0))

        least, most, worst = self._worst(exceeded)
        return Composed("epsilon", level, most, least, self.pure, sum(self.counts), worst, self.pairs)

    def epsilon(self, delta: float) -> Composed:
        """Bound the least ε of all releases together at δ from 0 to below 1; infinite where there is none."""
        allowed = checked_delta(delta)

        def needed(distance: float, above: LossDistribution, below: LossDistribution) -> Bounds:
            return _level_bracket(below, allowed, distance)[0], _level_bracket(above, allowed, distance)[1]

        least, most, worst = self._worst(needed)
        return Composed("delta", most, allowed, least, self.pure, sum(self.counts), worst, self.pairs)

    def curve(self, epsilons: ArrayLike) -> list[Composed]:
        """Return `delta` at each of some levels."""
        return [self.delta(float(one)) for one in as_numbers(epsilons, "epsilons", "give numbers").ravel()]

    @cached_property
    def pure(self) -> float:
        """Σ k_j ε_j with the least ε_j of each mechanism at δ = 0, rounded up: what adding levels up promises."""
        total = 0.0
        for channel, count in zip(self.channels, self.counts, strict=True):
            levels = (
                most_loss(channel[x], channel[other]) / max(self._distance(x, other), _NEAREST)
                for x, other in self._bound
            )
            total += max(levels, default=0.0) * count
        # As many products and sums as there are mechanisms, and a quotient each.
        return total * (1 + 4 * (len(self.channels) + 2) * UNIT) if total < _MOST_LEVEL else math.inf

    @cached_property
    def _bound(self) -> list[Pair]:
        """The bound pairs with different rows."""
        bound = bound_pairs(self.space.distances, self.pairs)
        bound &= self.classes[:, None] != self.classes[None, :]
        return [(int(x), int(other)) for x, other in np.argwhere(bound)]

    def _distance(self, x: int, other: int) -> float:
        return float(self.space.distances[x, other])

    def _worst(
        self, bounds: Callable[[float, LossDistribution, LossDistribution], Bounds]
    ) -> tuple[float, float, tuple[str, str] | None]:
        """Return the largest lower and the largest upper bound over all bound pairs, and the pair of the latter.

        `bounds` gives both for one pair, from its distance and its loss distributions from above and from below.
        """
        pending = self._bound
        if not pending:
            return 0.0, 0.0, None
        found: dict[Pair, Bounds] = {}
        total = sum(self.counts)
        # Sums of many losses stay near their mean, so that the rest of the grid is cut off: `width`, in units of the
        # largest loss of one release, is about what is left.
        width = min(2.0 * total, 24 * math.sqrt(total)) + 1
        stages = [points for points in _POINTS if points * width <= _MOST_POINTS] or [_POINTS[0]]
        least, most = 0.0, math.inf
        for points in stages:
            for x, other in pending:
                low, high = bounds(self._distance(x, other), *self._losses_together(x, other, points))
                # The bounds of every stage hold, and so do the better ones.
                before = found.get((x, other), (0.0, math.inf))
                found[x, other] = max(low, before[0]), min(high, before[1])
            least = max(low for low, _ in found.values())
            most = max(high for _, high in found.values())
            if most <= least * (1 + self.accuracy):
                break
            pending = [pair for pair, (_, high) in found.items() if high > least]
        worst = max(found, key=lambda pair: found[pair][1])
        labels = self.space.labels
        return least, most, (labels[worst[0]], labels[worst[1]])

    def _losses_together(self, x: int, other: int, points: int) -> tuple[LossDistribution, LossDistribution]:
        """Return the sum of the losses of all releases for a pair of secrets, from above and from below."""
        rows = [(channel[x], channel[other]) for channel in self.channels]
        largest = max(float(np.abs(_finite_losses(*pair)[0]).max(initial=0.0)) for pair in rows)
        step = (largest or 1.0) / points
        return _sum_losses(rows, self.counts, step, "above"), _sum_losses(rows, self.counts, step, "below")


def _sum_losses(
    rows: Sequence[tuple[Array, Array]], counts: Sequence[int], step: float, side: Side
) -> LossDistribution:
    """Return the sum of independent losses, `counts` times that of each pair of rows."""
    parts = (loss_distribution(*pair, step, side).power(count) for pair, count in zip(rows, counts, strict=True))
    return reduce(LossDistribution.then, parts)


def _level_bracket(losses: LossDistribution, delta: float, distance: float) -> Bounds:
    """Bracket the least ε at which the losses exceed no more than δ, per unit of distance.

    Return two levels near each other: δ is exceeded at the first, and not at the second. Both are 0 where it is never
    exceeded, and infinite where it always is.
    """
    if losses.delta(0.0) <= delta:
        return 0.0, 0.0
    # The masses end at the largest loss: no more than what is infinite is left there.
    end = max((losses.start + len(losses.masses)) * losses.step, 0.0)
    high = min(losses.most, end + 1) if losses.side == "above" else end + 1
    if distance == 0 or losses.delta(high) > delta:
        return math.inf, math.inf
    low = 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high or high - low <= _CLOSE * high:
            break
        if losses.delta(middle) <= delta:
            high = middle
        else:
            low = middle
    # Divided by the distance, away from each other by more than rounding: ε·d is not below `high`.
    return low / distance * (1 - 2.0**-51), high / distance * (1 + 2.0**-51)


def compose(
    mechanisms: Sampler | Sequence[Sampler],
    counts: int | Sequence[int] | None = None,
    *,
    pairs: str = "all",
    accuracy: float = 1e-3,
) -> Composition:
    """Compose independent releases about one secret exactly: δ at any ε, and ε at any δ.

    For two secrets x and x' the tuples of reports are told apart by
    δ(x, x') = Σ_z max(0, P[z | x] - e^{εd(x, x')} P[z | x']), and the answer is the worst over the pairs that are
    bound. It is bounded from above and from below by distributions of the privacy loss, with every rounding counted.
    Levels that add up (ECP14 §2) are the other bound, `pure`.

    Parameters
    ----------
    mechanisms : Mechanism, IntegerTable, or a sequence of them
        About the same n secrets.
    counts : int or sequence of int
        How often each one is used; once by default.
    pairs : {"all", "adjacent"}
        Which pairs of secrets the answers are about. "all": every two at a finite distance d, at the level εd. Or
        neighbours alone, which have no third secret between them, as counts that differ by 1 and adjacent databases:
        the (ε, δ) of differential privacy. At δ = 0 one follows from the other; at a positive δ "all" promises more.
    accuracy : float
        The grid is refined until both bounds agree to this part of the answer, or the finest grid is reached.

    Raises
    ------
    SpecError
        If mechanisms are about different secrets, or counts do not fit.
    UnsupportedError
        If there are more than 1,000 secrets, or a million releases.

    Examples
    --------
    >>> import dxopt as dx
    >>> releases = dx.compose(dx.classic.geometric(dx.line(3), epsilon=0.1), 50)
    >>> print(round(releases.epsilon(1e-6).epsilon, 2), "instead of", round(releases.pure, 2))
    3.37 instead of 5.0
    """
    several: list[Any] = list(mechanisms) if isinstance(mechanisms, Iterable) else [mechanisms]
    if not several or not all(isinstance(one, Sampler) for one in several):
        raise SpecError("mechanisms", "are not all mechanisms or integer tables", "give a list of at least one")
    times = tuple(checked_counts("counts", [1] * len(several) if counts is None else counts))
    if len(times) != len(several):
        raise SpecError("counts", f"are {len(times)} for {len(several)} mechanisms", "give one for each")
    space = several[0].space
    for one in several[1:]:
        require_same(space, one.space)
    accuracy = as_number(accuracy, "accuracy", *POSITIVE)
    if len(space) > MOST_SECRETS:
        raise UnsupportedError("mechanisms", f"have {len(space):,} secrets", f"take {MOST_SECRETS:,} or fewer")
    if sum(times) > MOST_RELEASES:
        raise UnsupportedError("counts", f"are {sum(times):,} releases", f"take {MOST_RELEASES:,} or fewer")
    bound_pairs(np.zeros((1, 1)), pairs)  # refuses an unknown kind of pairs
    channels = tuple(channel_of(one) for one in several)
    # Secrets with equal rows of every mechanism get the number of one class.
    names: dict[tuple[Any, ...], int] = {}
    rows = zip(*(exact_rows(one) for one in several), strict=True)
    classes = np.array([names.setdefault(row, len(names)) for row in rows])
    return Composition(space, channels, times, classes, pairs, accuracy)


def require_same(mine: MetricSpace, theirs: MetricSpace, fix: str = "compose releases about the same secret") -> None:
    """Raise SpecError unless two spaces have the same points, by label, at the same distances."""
    if mine is theirs:
        return
    if len(mine) != len(theirs):
        wrong = f"are about {len(mine):,} and {len(theirs):,} secrets"
        raise SpecError("mechanisms", wrong, fix)
    for ours, other in zip(mine.labels, theirs.labels, strict=True):
        if ours != other:
            wrong = f"are about different secrets, such as {ours!r} and {other!r}"
            raise SpecError("mechanisms", wrong, fix)
    if not np.array_equal(mine.distances, theirs.distances):
        raise SpecError("mechanisms", "are about secrets at different distances", "make them for the same space")
