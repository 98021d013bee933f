"""Composition, exactly: the (ε, δ) of independent releases about one secret (HLM14 Def 1; ECP14 §2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.channels import channel_of, exact_rows
from dxopt.analysis.composition.composed import Composed
from dxopt.analysis.composition.distributions import (
    LossDistribution,
    Side,
    largest_loss,
    loss_distribution,
    most_loss,
)
from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.levels import checked_delta, checked_level
from dxopt.model.sampling import Sampler
from dxopt.numerics.excess import bound_pairs
from dxopt.numerics.rounding import UNIT
from dxopt.numerics.written import Written
from dxopt.runtime.shown import Shown
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
MOST_RELEASES = 1_000_000
MOST_SECRETS = 1_000
_POINTS = (8, 64, 512, 4096)
"""Of the grid, up to the largest loss of one release, in stages: each only for pairs that may be the worst."""
_MOST_POINTS = 1 << 16
_STEPS = 200
_NEAREST = 2.0**-1000
_MOST_LEVEL = 1e300
_CLOSE = 1e-9
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

    def _said(self) -> str:
        return f"{sum(self.counts):,} releases on {len(self.space):,} secrets"

    def delta(self, epsilon: Written) -> Composed:
        """The δ of all releases together at ε, an upper bound that holds for every bound pair.

        Parameters
        ----------
        epsilon : float or str
            Of all releases together, per unit of distance.
        """
        level = checked_level(epsilon)

        def exceeded(distance: float, above: LossDistribution, below: LossDistribution) -> Bounds:
            # The level is the real product of two doubles.
            budget = level * distance
            return below.delta(math.nextafter(budget, math.inf)), above.delta(math.nextafter(budget, 0.0))

        least, most, worst = self._worst(exceeded)
        return Composed("epsilon", level, most, least, self.pure, sum(self.counts), worst, self.pairs)

    def epsilon(self, delta: float) -> Composed:
        """The least ε of all releases together at δ, an upper bound; infinite where there is none.

        Parameters
        ----------
        delta : float
            From 0 to below 1.
        """
        allowed = checked_delta(delta)

        def needed(distance: float, above: LossDistribution, below: LossDistribution) -> Bounds:
            return _level(below, allowed, distance)[0], _level(above, allowed, distance)[1]

        least, most, worst = self._worst(needed)
        return Composed("delta", most, allowed, least, self.pure, sum(self.counts), worst, self.pairs)

    def curve(self, epsilons: ArrayLike) -> list[Composed]:
        """`delta` at each of some levels."""
        return [self.delta(float(one)) for one in np.asarray(epsilons, dtype=float).ravel()]

    @cached_property
    def pure(self) -> float:
        """Σ k_j ε_j with the least ε_j of each mechanism at δ = 0, rounded up: what adding levels up promises."""
        total = 0.0
        for channel, count in zip(self.channels, self.counts, strict=True):
            level = 0.0
            for x, other in self._bound:
                level = max(level, most_loss(channel[x], channel[other]) / max(self._distance(x, other), _NEAREST))
            total += level * count
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
        """The largest bounds over all bound pairs, from below and from above, and the pair of the latter."""
        pending = self._bound
        if not pending:
            return 0.0, 0.0, None
        found: dict[Pair, Bounds] = {}
        total = sum(self.counts)
        # Sums of many losses stay near their mean, so that the rest of the grid is cut off.
        width = min(2.0 * total, 24 * math.sqrt(total)) + 1
        stages = [points for points in _POINTS if points * width <= _MOST_POINTS] or [_POINTS[0]]
        least, most = 0.0, math.inf
        for points in stages:
            for x, other in pending:
                low, high = bounds(self._distance(x, other), *self._together(x, other, points))
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

    def _together(self, x: int, other: int, points: int) -> tuple[LossDistribution, LossDistribution]:
        """The losses of all releases for a pair of secrets, from above and from below."""
        rows = [(channel[x], channel[other]) for channel in self.channels]
        step = (max(largest_loss(*pair) for pair in rows) or 1.0) / points
        return _sum(rows, self.counts, step, "above"), _sum(rows, self.counts, step, "below")


def _sum(rows: Sequence[tuple[Array, Array]], counts: Sequence[int], step: float, side: Side) -> LossDistribution:
    parts = [loss_distribution(*pair, step, side).power(count) for pair, count in zip(rows, counts, strict=True)]
    total = parts[0]
    for part in parts[1:]:
        total = total.then(part)
    return total


def _level(losses: LossDistribution, delta: float, distance: float) -> Bounds:
    """Two levels ε near each other, the first with more than δ, or 0, the second with at most δ, or infinite."""
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
    times = _counted(counts, len(several))
    space = several[0].space
    for one in several[1:]:
        require_same(space, one.space)
    if not accuracy > 0:
        raise SpecError("accuracy", f"is {accuracy!r}", "give a positive number")
    if len(space) > MOST_SECRETS:
        raise UnsupportedError("mechanisms", f"have {len(space):,} secrets", f"take {MOST_SECRETS:,} or fewer")
    if sum(times) > MOST_RELEASES:
        raise UnsupportedError("counts", f"are {sum(times):,} releases", f"take {MOST_RELEASES:,} or fewer")
    bound_pairs(np.zeros((1, 1)), pairs)
    channels = tuple(channel_of(one) for one in several)
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


def _counted(counts: int | Sequence[int] | None, several: int) -> tuple[int, ...]:
    """Count the uses of each of several mechanisms."""
    given = [1] * several if counts is None else counts
    times = [given] * several if isinstance(given, int | np.integer) else list(given)
    whole = all(isinstance(one, int | np.integer) and not isinstance(one, bool) and one > 0 for one in times)
    if not whole:
        raise SpecError("counts", f"are {counts!r}", "give whole numbers from 1")
    if len(times) != several:
        raise SpecError("counts", f"are {len(times)} for {several} mechanisms", "give one for each")
    return tuple(int(one) for one in times)
