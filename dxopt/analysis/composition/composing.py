"""Compose independent releases about one secret: bound their (ε, δ) over all pairs of secrets from both sides.

The answer is the worst pair's. Bounds from above are found for all pairs at once, cheap ones first (`many_pairs`);
bounds from below are needed of the worst pair alone (`distributions`), and whatever cannot be worse is let go.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.arguments import channel_of, exact_rows, in_levels, require_same_secrets
from dxopt.analysis.composition.distributions import (
    LossDistribution,
    largest_finite_loss,
    level_bracket,
    sum_losses,
)
from dxopt.analysis.composition.many_pairs import LOSS_ERROR, ManyPairs
from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.privacy import ShownLevels, checked_delta, checked_level
from dxopt.model.sampling import Sampler
from dxopt.numerics.coerce import POSITIVE, as_number, as_numbers, checked_counts
from dxopt.numerics.hockey_stick import bound_pairs
from dxopt.numerics.number_syntax import Written, digits_down, excluded_text, level_text
from dxopt.numerics.rounding import SMALLEST, UNIT
from dxopt.runtime.display import Shown
from dxopt.runtime.progress import Progress, Shares, shown_late
from dxopt.spaces.space import MetricSpace, required_space

Array = NDArray[np.float64]
_ROUNDING = 1e-9


@dataclass(frozen=True, repr=False)
class Composed(ShownLevels):
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
        Levels added up, at which the releases are private with δ = 0: the largest Σ k_j ε_j of a pair of secrets,
        with the least ε_j at which each mechanism keeps it; infinite where one of them is so at no ε.
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

    _LEVELS = ("epsilon", "delta", "pure")
    _EXCLUDED = ("least",)
    _SLACK = _ROUNDING

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
        pure = "at no epsilon" if math.isinf(self.pure) else f"at epsilon {level_text(self.pure, 6, _ROUNDING)}"
        if self.asked == "epsilon":
            said = f"epsilon {level_text(self.epsilon, 6)}, delta at most {level_text(self.delta, 6, _ROUNDING)}"
        elif math.isinf(self.epsilon):
            said = f"no epsilon at delta {excluded_text(self.delta)}"
        else:
            said = f"epsilon at most {level_text(self.epsilon, 6, _ROUNDING)} at delta {level_text(self.delta, 6)}"
        pair = "" if self.worst is None else f"; worst pair {self.worst[0]} and {self.worst[1]}"
        least = f"(and at least {digits_down(self.least, 6):.6g})"
        return f"{several} together, {among}: {said} {least}{pair}; delta 0 {pure}"


MOST_RELEASES = 1_000_000
MOST_PAIRS = 50_000_000
"""Of secrets, times different mechanisms."""
_POINTS = (8, 64, 512, 4096)
"""Of the grid, up to the largest loss of one release, in stages: each only for pairs that may be the worst."""
_QUICK_POINTS, _MOST_POINTS = 1 << 14, 1 << 16
_CHUNK = 1 << 12
"""Pairs after which the worst of them is looked at from below."""
_SAMPLE = 256
_FULLY = 3
"""The most pairs of which bounds are found that take seconds each."""
_HELPED = 1e-3
"""The part by which a bound is to fall, or it counts as staying."""
_LONG = 2e9
"""Quotients from which on progress is shown at once."""
_CLOSER = 1 / 16
"""Share of `accuracy` to which bounds are brought where that costs little."""
_NEAREST = 2.0**-1000
"""Smaller distances, and 0, count as this one in a quotient."""
_MOST_LEVEL = 1e300
"""Levels from here on count as infinite."""
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
    progress: Progress | bool | None = field(default=True, repr=False)

    def _summary(self) -> str:
        return f"{sum(self.counts):,} releases on {len(self.space):,} secrets"

    def delta(self, epsilon: Written) -> Composed:
        """Return the δ of all releases together at ε per unit of distance: an upper bound for every bound pair."""
        level = checked_level(epsilon)
        least, most, worst = self._worst(_Excess(level, self._distances))
        return Composed("epsilon", level, most, least, self.pure, sum(self.counts), worst, self.pairs)

    def epsilon(self, delta: float) -> Composed:
        """Bound the least ε of all releases together at δ from 0 to below 1; infinite where there is none."""
        allowed = checked_delta(delta)
        least, most, worst = self._worst(_Level(allowed, self._distances))
        return Composed("delta", most, allowed, least, self.pure, sum(self.counts), worst, self.pairs)

    def curve(self, epsilons: ArrayLike) -> list[Composed]:
        """Return `delta` at each of some levels."""
        return [self.delta(float(one)) for one in as_numbers(epsilons, "epsilons", "give numbers").ravel()]

    @cached_property
    def pure(self) -> float:
        """The largest Σ k_j ε_j of a pair, with the least ε_j that each mechanism keeps it at: levels added up."""
        levels = self._many.pure / np.maximum(self._distances, _NEAREST)[:, None]
        total = float((levels @ np.array(self.counts, dtype=np.float64)).max(initial=0.0))
        # As many products and sums as there are mechanisms, and a quotient each.
        return total * (1 + 4 * (len(self.channels) + 2) * UNIT) if total < _MOST_LEVEL else math.inf

    @cached_property
    def _many(self) -> ManyPairs:
        """The bound pairs with different rows."""
        bound = bound_pairs(self.space.distances, self.pairs)
        bound &= self.classes[:, None] != self.classes[None, :]
        work = float(bound.sum()) * sum(channel.shape[1] for channel in self.channels)
        with shown_late(self.progress, 0.0 if work > _LONG else 2.0) as tell:
            first, second = np.nonzero(bound)
            return ManyPairs(self.channels, self.counts, first, second, tell)

    @cached_property
    def _distances(self) -> Array:
        """Those of the bound pairs, `(p,)`."""
        return self.space.distances[self._many.first, self._many.second]

    def _worst(self, question: _Question) -> tuple[float, float, tuple[str, str] | None]:
        """Return bounds on the largest answer of all bound pairs, and a pair that is about there."""
        if not len(self._distances):
            return 0.0, 0.0, None
        with shown_late(self.progress) as tell:
            search = _Search(self, self._many, question, tell)
            search.run()
        labels = self.space.labels
        pair = labels[int(self._many.first[search.worst])], labels[int(self._many.second[search.worst])]
        return search.least, search.most, pair


class _Question(Protocol):
    """Question asked of each pair, with the distances `(p,)` of all: an ε or a δ, of which the largest is the answer.

    `refined` tells whether more is known than by the largest losses; `answered`, whether `answers` are bounds also
    where they are above the target.
    """

    @property
    def refined(self) -> bool: ...

    @property
    def answered(self) -> bool: ...

    def first(self, most: Array) -> Array:
        """Return upper bounds `(p,)` that follow from the largest sums of losses."""
        ...

    def least(self, place: int, most: float) -> float:
        """Return a lower bound for a pair whose largest sum of losses is `most` or more, where no more is known."""
        ...

    def useful(self, most: float, tilt: float, constant: float) -> bool:
        """Return False where moments cannot give a bound below `most`; `constant` is what is added to theirs."""
        ...

    def by_moments(self, tilt: float, moments: Array, infinite: Array) -> Array:
        """Return upper bounds `(p,)` that follow from moments, see `ManyPairs.by_moments`."""
        ...

    def levels(self, places: NDArray[np.int64], target: float) -> Array:
        """Return the levels t at which δ is computed of some pairs, to see whether their answer is above a target."""
        ...

    def answers(self, places: NDArray[np.int64], target: float, excess: Array, tilts: Array) -> tuple[Array, Array]:
        """Return upper bounds on the answers, infinite where they may be above the target, and estimates."""
        ...

    def bounds(self, place: int, above: LossDistribution, below: LossDistribution) -> Bounds:
        """Return both bounds of one pair, from its losses from above and from below."""
        ...


@dataclass(frozen=True)
class _Excess:
    """δ at the level ε."""

    level: float
    distances: Array
    refined = answered = True

    def first(self, most: Array) -> Array:
        return np.where(most <= self.levels(np.arange(len(most)), 0.0), 0.0, 1.0)

    def least(self, place: int, most: float) -> float:
        return 0.0

    def useful(self, most: float, tilt: float, constant: float) -> bool:
        return math.exp(constant - tilt * self.level * float(self.distances.max())) < most

    def by_moments(self, tilt: float, moments: Array, infinite: Array) -> Array:
        exponents = moments - tilt * self.levels(np.arange(len(moments)), 0.0)
        return infinite + np.exp(np.minimum(exponents, 0.0)) * (1 + 2.0**-30)

    def levels(self, places: NDArray[np.int64], target: float) -> Array:
        return _below(self.level * self.distances[places])

    def answers(self, places: NDArray[np.int64], target: float, excess: Array, tilts: Array) -> tuple[Array, Array]:
        return excess, excess

    def bounds(self, place: int, above: LossDistribution, below: LossDistribution) -> Bounds:
        # The level is the real product of two doubles.
        budget = self.level * float(self.distances[place])
        return below.delta(math.nextafter(budget, math.inf)), above.delta(math.nextafter(budget, 0.0))


@dataclass(frozen=True)
class _Level:
    """The least ε at δ; at 0 that is the largest loss."""

    delta: float
    distances: Array
    answered = False

    @property
    def refined(self) -> bool:
        return self.delta > 0

    def first(self, most: Array) -> Array:
        return self._up(most)

    def least(self, place: int, most: float) -> float:
        distance = float(self.distances[place])
        if most <= 0:
            return 0.0
        return most / distance * (1 - 2.0**-40) if distance else math.inf

    def useful(self, most: float, tilt: float, constant: float) -> bool:
        return self.delta > 0 and constant - math.log(self.delta) < most * tilt * float(self.distances.max())

    def by_moments(self, tilt: float, moments: Array, infinite: Array) -> Array:
        left = self.delta - infinite
        with np.errstate(divide="ignore", invalid="ignore"):
            levels = (moments - np.log(np.maximum(left, 0.0))) / tilt
        return self._up(np.where(left > 0, np.maximum(levels, 0.0), math.inf))

    def _up(self, levels: Array) -> Array:
        """Return levels as those per unit of distance, rounded up."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(levels == 0, 0.0, levels / self.distances * (1 + 2.0**-40))

    def levels(self, places: NDArray[np.int64], target: float) -> Array:
        return _below(target * self.distances[places])

    def answers(self, places: NDArray[np.int64], target: float, excess: Array, tilts: Array) -> tuple[Array, Array]:
        over = np.log(excess / max(self.delta, SMALLEST)) / (tilts * np.maximum(self.distances[places], _NEAREST))
        return np.where(excess <= self.delta, target, math.inf), target + over

    def bounds(self, place: int, above: LossDistribution, below: LossDistribution) -> Bounds:
        distance = float(self.distances[place])
        return level_bracket(below, self.delta, distance)[0], level_bracket(above, self.delta, distance)[1]


def _first_largest(values: Array) -> int:
    """Return the place of the first of the largest values, of which some may differ by rounding alone."""
    largest = float(values.max())
    return int((values >= (largest * (1 - _ROUNDING) if largest > 0 else largest)).argmax())


def _below(budgets: Array) -> Array:
    """Return doubles that are not above the real products of which these are rounded."""
    return np.nextafter(budgets, 0.0)


class _Search:
    """The search for the worst of all pairs: `upper` has a bound of each, and `most` is the largest of them."""

    def __init__(self, composition: Composition, many: ManyPairs, question: _Question, tell: Shares) -> None:
        self._composition, self._question, self._tell = composition, question, tell
        self._many = many
        self.upper = question.first(self._many.most)
        self.least, self.worst = 0.0, 0
        self._highest = 0.0  # the largest upper bound of a pair of which both are known
        self._known: dict[int, Bounds] = {}

    @property
    def most(self) -> float:
        return float(self.upper.max())

    @property
    def _target(self) -> float:
        """Bound above which a pair matters."""
        return max(self._highest * (1 + _ROUNDING), self.least * (1 + self._composition.accuracy * _CLOSER))

    def _pending(self) -> NDArray[np.int64]:
        """Return the places of pairs that may be the worst, by their bounds, the worst first."""
        places = np.flatnonzero(self.upper > self._target)
        return places[np.argsort(-self.upper[places], kind="stable")]

    def run(self) -> None:
        """Lower the bounds of the pairs until none matters."""
        self._judge(_first_largest(self.upper))
        if not self._question.refined:
            releases = sum(self._composition.counts)
            self.least = self._question.least(self.worst, float(self._many.most[self.worst]) - releases * LOSS_ERROR)
            return
        stages = self._many.grids(_POINTS[:-1])
        self._sample(stages[0])
        if len(self._pending()):
            self._lower_by_moments()
            self._judge(_first_largest(self.upper))
            self._sample(stages[0])
        for points in stages:
            self._refine(points)
        for done in range(_FULLY):
            self._tell("the worst pair", done / _FULLY)
            if self._is_close() or not self._judge(self.worst, fully=True):
                break
        if not self._is_close():
            self._refine(stages[-1])
        # What the finest grid leaves is as close as it gets: the target is raised until all are below.
        factor = 1 + self._composition.accuracy * _CLOSER
        while not self._question.answered and len(self._pending()):
            self._highest = self._target * factor
            factor = factor**2
            self._refine(stages[-1])

    def _lower_by_moments(self) -> None:
        """Lower the bounds of all pairs by moments, with one λ after another until these do not help any more."""
        helped = False
        most = float(self.upper.max())
        useful = partial(self._question.useful, most)
        for tilt, moments, infinite in self._many.by_moments(useful, self._tell):
            bounds = self._question.by_moments(tilt, moments, infinite)
            helps = bool(((bounds < self.upper * (1 - _HELPED)) & (self.upper > self._target)).any())
            self._lower(slice(None), bounds)
            if helped and not helps:
                break
            helped = helps

    def _lower(self, places: NDArray[np.int64] | slice, bounds: Array) -> None:
        self.upper[places] = np.fmin(self.upper[places], bounds)

    def _judge(self, place: int, *, fully: bool = False) -> bool:
        """Bound the answer of a pair from both sides, better if asked for; return whether that changed the target."""
        if place in self._known and not fully:
            return False
        before = self._target
        known = self._known.get(place, (0.0, math.inf))
        low, high = self._known[place] = self._bracket(place, known, fully=fully)
        self._lower(slice(place, place + 1), np.array([high]))
        self.least = max(self.least, low)
        places = sorted(self._known)
        highs = np.array([self._known[one][1] for one in places])
        self.worst = places[_first_largest(highs)]
        self._highest = float(highs.max())
        return self._target != before

    def _bracket(self, place: int, known: Bounds, *, fully: bool) -> Bounds:
        """Bound the answer of one bound pair from below and from above, by finer and finer grids.

        What is `known` is made better; only `fully` by grids that take seconds.
        """
        x, other = int(self._many.first[place]), int(self._many.second[place])
        total = sum(self._composition.counts)
        # Sums of many losses stay near their mean, so that the rest of the grid is cut off: `width`, in units of the
        # largest loss of one release, is about what is left.
        width = min(2.0 * total, 24 * math.sqrt(total)) + 1
        quick = [points for points in _POINTS if points * width <= _QUICK_POINTS] or [_POINTS[0]]
        long = [points for points in _POINTS if points not in quick and points * width <= _MOST_POINTS]
        least, most = known
        for points in long if fully else quick:
            if most <= least * (1 + self._composition.accuracy * _CLOSER):
                break
            low, high = self._question.bounds(place, *self._losses_together(x, other, points))
            # The bounds of every stage hold, and so do the better ones.
            least, most = max(low, least), min(high, most)
        return least, most

    def _losses_together(self, x: int, other: int, points: int) -> tuple[LossDistribution, LossDistribution]:
        """Return the sum of the losses of all releases for a pair of secrets, from above and from below."""
        rows = [(channel[x], channel[other]) for channel in self._composition.channels]
        step = (max(largest_finite_loss(*pair) for pair in rows) or 1.0) / points
        return sum_losses(rows, self._composition.counts, step, "above"), sum_losses(
            rows, self._composition.counts, step, "below"
        )

    def _is_close(self) -> bool:
        return self.most <= self.least * (1 + self._composition.accuracy)

    def _sample(self, points: int) -> None:
        """Look for the worst pair among a few of those that may be it, so that fewer matter afterwards."""
        while len(places := self._pending()) > 4 * _SAMPLE:
            some = places[np.linspace(0, len(places) - 1, _SAMPLE).astype(np.int64)]
            best = self._tighten(some, points)
            if best is None or not self._judge(best) or len(self._pending()) > 0.9 * len(places):
                return

    def _refine(self, points: int) -> None:
        """Lower the bounds of all pairs that matter by a grid of so many points."""
        places = self._pending()
        for begin in range(0, len(places), _CHUNK):
            some = places[begin : begin + _CHUNK]
            best = self._tighten(some[self.upper[some] > self._target], points)
            if best is not None:
                self._judge(best)
            self._tell(f"pairs of secrets, at {points} points", min(begin + _CHUNK, len(places)) / len(places))

    def _tighten(self, places: NDArray[np.int64], points: int) -> int | None:
        """Lower the bounds of some pairs; return the one that seems to be the worst, if any is above the target."""
        target = self._target
        best: tuple[float, int] | None = None
        for some, excess, tilts in self._many.excess(places, self._question.levels(places, target), points):
            bounds, estimates = self._question.answers(some, target, excess, tilts)
            self._lower(some, bounds)
            above = np.where(self.upper[some] > target, estimates, -math.inf)
            place = _first_largest(above)
            if above[place] > target and (best is None or above[place] > best[0] * (1 + _ROUNDING)):
                best = float(above[place]), int(some[place])
        return None if best is None else best[1]


def compose(
    mechanisms: Sampler | Sequence[Sampler],
    counts: int | Sequence[int] | None = None,
    *,
    space: MetricSpace | None = None,
    pairs: str = "all",
    accuracy: float = 1e-3,
    progress: Progress | bool | None = True,
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
    space : MetricSpace, optional
        The same secrets at the distances d that levels are for: by default those of the mechanisms. Where these are
        private for different metrics d_j, at ε_j, it is Σ k_j ε_j d_j, for which all are together at ε = 1.
    pairs : {"all", "adjacent"}
        Which pairs of secrets the answers are about. "all": every two at a finite distance d, at the level εd. Or
        neighbours alone, which have no third secret between them, as counts that differ by 1 and adjacent databases:
        the (ε, δ) of differential privacy. At δ = 0 one follows from the other; at a positive δ "all" promises more.
    accuracy : float
        The grid is refined until both bounds agree to this part of the answer, or the finest grid is reached.
    progress : bool or callable, optional
        True for a bar once an answer takes more than two seconds, or a function that is given lines; False for none.

    Raises
    ------
    SpecError
        If mechanisms are about different secrets, or counts do not fit; or at different distances, without a space,
        one of them has no proven level.
    UnsupportedError
        If there are more than 50 million pairs of secrets, times different mechanisms, or a million releases.

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
    if space is not None:
        required_space(space)
    about = _space_of(several, times) if space is None else space
    for one in several:
        require_same_secrets(about, one.space, "compose releases about the same secret")
    accuracy = as_number(accuracy, "accuracy", *POSITIVE)
    with shown_late(progress):  # refuses what shows none
        pass
    if sum(times) > MOST_RELEASES:
        raise UnsupportedError("counts", f"are {sum(times):,} releases", f"take {MOST_RELEASES:,} or fewer")
    bound_pairs(np.zeros((1, 1)), pairs)  # refuses an unknown kind of pairs
    # Releases of the same rows are of one mechanism; secrets with equal rows of every mechanism are of one class.
    together: dict[tuple[Any, ...], int] = {}
    chosen: dict[tuple[Any, ...], Sampler] = {}
    for one, count in zip(several, times, strict=True):
        rows = tuple(exact_rows(one))
        together[rows] = together.get(rows, 0) + count
        chosen.setdefault(rows, one)
    size = len(about) ** 2 * len(chosen)
    if size > MOST_PAIRS:
        wrong = f"have {size:,} pairs of {len(about):,} secrets, times different mechanisms"
        fix = f"take {MOST_PAIRS:,} or fewer: secrets further apart, or fewer mechanisms at a time"
        raise UnsupportedError("mechanisms", wrong, fix)
    names: dict[tuple[Any, ...], int] = {}
    classes = np.array([names.setdefault(row, len(names)) for row in zip(*together, strict=True)])
    channels = tuple(channel_of(one) for one in chosen.values())
    return Composition(about, channels, tuple(together.values()), classes, pairs, accuracy, progress)


def _space_of(mechanisms: Sequence[Any], counts: Sequence[int]) -> MetricSpace:
    """Return the space that all mechanisms are about, or where their distances differ that of their levels."""
    # a table of integers has its level itself
    proven = [getattr(getattr(one, "privacy", one), "epsilon", math.inf) for one in mechanisms]
    levels = [count * level if math.isfinite(level) else 0.0 for count, level in zip(counts, proven, strict=True)]
    space, _ = in_levels([one.space for one in mechanisms], levels, add=True)
    if space is not mechanisms[0].space and not all(map(math.isfinite, proven)):
        fix = "prove it with dx.certify(mechanism, space, epsilon), or give space"
        raise SpecError("mechanisms", "are at different distances, and one has no proven level", fix)
    return space
