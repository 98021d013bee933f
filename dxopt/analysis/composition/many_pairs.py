"""Upper bounds on what independent releases exceed, for very many pairs of secrets at once.

Two kinds, and the cheap one first. By moments, for any λ > 0 and the sum L of the losses,
δ(t) ≤ E[e^{λL}] e^{-λt} λ^λ / (1 + λ)^{1 + λ} (Canonne, Kamath and Steinke 2020, proof of Prop. 12). These moments
multiply over releases, and those of all pairs are one product of matrices: Σ_z P_z^{1 + λ} Q_z^{-λ}.

By distributions on a grid, as in `distributions` from above, but convolved by Fourier transforms. These err by
2^-53 of the norm of what they transform (Higham 2002, Thm 24.2), which hides a small δ; so masses are multiplied by
e^{λL} before and by e^{-λL} after, with λ such that the losses near t become the likely ones. What all roundings
amount to is added. The assumption of `numerics.rounding` is made of `expm1`, and of transforms that theorem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.composition.distributions import LOST
from dxopt.numerics import tropical
from dxopt.numerics.rounding import UNIT
from dxopt.runtime.progress import Shares

Array = NDArray[np.float64]
Places = NDArray[np.int64]
_FEW = 16
"""Up to this many pairs a secret they are taken one by one, not by products of matrices."""
_SCALE = 2.0**60
"""Quotients are divided by this, so that those by subnormal numbers are finite."""
_LARGEST_LOG = 700.0
"""Exponents up to this are used: e^700 times a few thousand is finite."""
_TILTS = 40
"""The most λ for which moments are computed, each twice the one before."""
_HALVINGS = 8
"""Steps by which the range of λ, 2^20, is halved in the exponent."""
_BLOCK = 1 << 16
"""Numbers of one array that are computed at a time, so that they stay in cache."""
_OUTSIDE = 2.0**-48
"""The part of the masses that may lie outside the window of a transform, or count too little to be looked at."""
MOST_WINDOW = 1 << 18
"""The longest transform."""
_ALONG = 4
"""Points of a transform that cost about as much as one probability that is read."""
LOSS_ERROR = 2.0**-36
"""More than what the largest loss of a release is rounded up by: logarithms of doubles are up to 745."""
_EACH = 2.0**-39
"""More than each release adds to the relative error: that of exponents up to `_LARGEST_LOG`, a few times."""


class ManyPairs:
    """Ordered pairs of secrets, with the probabilities of several mechanisms, each used `counts` times.

    Attributes
    ----------
    first, second : (p,) arrays
        The pairs: P are the reports of the first secret, Q those of the second.
    most : (p,) array
        The largest sum of losses, rounded up; infinite where only P makes a report.
    pure : (p, J) array
        The largest loss of each mechanism, likewise.
    """

    def __init__(
        self, channels: Sequence[Array], counts: Sequence[int], first: Places, second: Places, tell: Shares
    ) -> None:
        self.first, self.second = first, second
        self._channels = channels
        self._counts = counts
        self._zeros = [bool((channel == 0).any()) for channel in channels]
        with np.errstate(divide="ignore"):
            self._logs = [np.log(channel) for channel in channels]
        finite = [np.where(channel > 0, log, 0.0) for channel, log in zip(channels, self._logs, strict=True)]
        # Their difference is a loss, with its error and that of the grid.
        self._above = [log + 16 * UNIT * np.abs(log) for log in finite]
        self._below = [log - 16 * UNIT * (1 + np.abs(log)) for log in finite]
        n = len(channels[0])
        self._together = len(first) > _FEW * n
        self._finite: list[Array] = []  # the largest finite losses, by pair of secrets or by pair
        self._width = np.zeros(len(first))  # of the finite losses, both ways
        infinite = np.zeros(len(first))
        self.pure = np.zeros((len(first), len(channels)))
        for j, (channel, count) in enumerate(zip(channels, counts, strict=True)):
            tell("largest losses of all pairs", j / len(channels))
            ahead, behind, never = (self._losses_of_all if self._together else self._losses_of_each)(channel)
            self._width = np.maximum(self._width, np.maximum(ahead, behind))
            self.pure[:, j] = np.where(never > 0, math.inf, ahead)
            with np.errstate(divide="ignore"):
                infinite += count * np.log1p(-np.minimum(never * self._room, 1.0))
        self._infinite = -np.expm1(infinite) * self._room
        self.most = self.pure @ np.array(counts, dtype=np.float64) * (1 + 2 * (len(channels) + 2) * UNIT)

    @property
    def _room(self) -> float:
        """A factor for the relative error of all that is computed of all releases."""
        return 1 + (sum(self._counts) + max(channel.shape[1] for channel in self._channels) + 16) * _EACH

    def _losses_of_all(self, channel: Array) -> tuple[Array, Array, Array]:
        """Return the largest finite losses of the pairs, of the pairs turned round, and the masses at infinity."""
        with np.errstate(divide="ignore"):
            inverse = np.where(channel > 0, 1 / (channel * _SCALE), 0.0)
            largest = np.log(tropical.product(channel, np.ascontiguousarray(inverse.T))) + math.log(_SCALE)
        # Errors of the quotient of two numbers that are right to a unit, and of the logarithm.
        largest = np.maximum(largest + 16 * UNIT * (1 + math.log(_SCALE) + np.abs(largest)), 0.0)
        self._finite.append(largest)
        zero = channel == 0
        never = channel @ zero.T.astype(np.float64) if zero.any() else np.zeros(largest.shape)
        pairs = self.first, self.second
        return largest[pairs], largest.T[pairs], never[pairs]

    def _losses_of_each(self, channel: Array) -> tuple[Array, Array, Array]:
        """Return the same for few pairs."""
        found = np.zeros((3, len(self.first)))
        log = np.log(np.where(channel > 0, channel, 1.0))
        for some in self._blocks(np.arange(len(self.first)), channel.shape[1]):
            x, other = self.first[some], self.second[some]
            here, there = channel[x] > 0, channel[other] > 0
            losses = np.where(here & there, log[x] - log[other], 0.0)
            error = 16 * UNIT * (1 + np.abs(log[x]) + np.abs(log[other]))
            found[0, some] = (losses + error).max(axis=1)
            found[1, some] = (error - losses).max(axis=1)
            found[2, some] = np.where(there, 0.0, channel[x]).sum(axis=1)
        return found[0], found[1], found[2]

    @staticmethod
    def _blocks(places: Places, width: int) -> Iterator[Places]:
        step = max(1, _BLOCK // width)
        for begin in range(0, len(places), step):
            yield places[begin : begin + step]

    def by_moments(
        self, useful: Callable[[float, float], bool], tell: Shares
    ) -> Iterator[tuple[float, Array, Array]]:
        """Yield λ, upper bounds (p,) on ln E[e^{λL}; L < ∞] + ln(λ^λ / (1 + λ)^{1 + λ}), and on P[L = ∞]; or none.

        The λ grow; those are left out of which, by λ and that constant, none is `useful`.
        """
        positive = self._width[self._width > 0]
        if not self._together or not len(positive):
            return
        exponent = math.floor(math.log2(0.03 / positive.max()))
        last = min(math.ceil(math.log2(30 / positive.min())), exponent + _TILTS)
        for done, tilt in enumerate(2.0**power for power in range(exponent, last + 1)):
            constant = tilt * math.log(tilt / (1 + tilt)) - math.log1p(tilt)
            if useful(tilt, constant):
                total = np.zeros(len(self.first))
                for j, count in enumerate(self._counts):
                    total += count * self._log_moments(j, tilt)
                    tell("bounds of all pairs", (done + (j + 1) / len(self._counts)) / (last + 1 - exponent))
                error = 8 * UNIT * (np.abs(total) + abs(constant) + tilt + 1) * (len(self._counts) + 1)
                yield tilt, total + constant + error, self._infinite

    def _log_moments(self, j: int, tilt: float) -> Array:
        """Return upper bounds on ln E[e^{λL}; L < ∞] of one release of a mechanism, `(p,)`.

        Powers that are too small are left out: the masses of P there count with the largest loss of the pair.
        """
        channel, log, largest = self._channels[j], self._logs[j], self._finite[j]
        small = (1 + tilt) * log < -_LARGEST_LOG / 2
        powers = np.exp((1 + tilt) * np.where(small, -math.inf, log))
        with np.errstate(invalid="ignore"):
            apart = -tilt * log > _LARGEST_LOG
        inverse = np.exp(-tilt * np.where(apart, math.inf, log))
        found = powers @ inverse.T
        apart &= channel > 0
        if apart.any():
            # A report that P makes, and Q hardly: nothing is known of the pair with this λ.
            told = (~small).astype(np.float32) @ apart.T.astype(np.float32)
            found[told > 0] = math.inf
        rest = np.where(small, channel, 0.0).sum(axis=1)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if rest.any():
                found += np.where(rest[:, None] > 0, rest[:, None] * np.exp(tilt * largest), 0.0)
            moments = np.log(found[self.first, self.second])
        return moments + 4 * UNIT * (channel.shape[1] + 2 * tilt + 2**12)

    def grids(self, points: Sequence[int]) -> list[int]:
        """Return those of some numbers of points, in order, up to the largest loss, that are worth a look.

        Coarse ones are not where finer ones cost little beside reading the probabilities; too fine ones have no room.
        """
        windows = [self._window([2 * some + 3] * len(self._counts)) for some in points]
        read = sum(channel.shape[1] for channel in self._channels)
        coarse = max((place for place, window in enumerate(windows) if window <= _ALONG * read), default=0)
        fine = zip(points[coarse:], windows[coarse:], strict=True)
        return [some for some, window in fine if window <= MOST_WINDOW] or [points[0]]

    def _window(self, widths: Sequence[int]) -> int:
        """Return how many points hold a sum of losses on so many points each, but for `_OUTSIDE` (Hoeffding 1963)."""
        squares = sum(count * width**2 for count, width in zip(self._counts, widths, strict=True))
        spread = 2 * math.sqrt(squares * math.log(2 / _OUTSIDE) / 2) + 2
        whole = sum(count * (width - 1) for count, width in zip(self._counts, widths, strict=True)) + 1
        return math.ceil(min(spread, whole))

    def excess(self, places: Places, levels: Array, points: int) -> Iterator[tuple[Places, Array, Array]]:
        """Yield upper bounds on δ at levels t of some pairs, by a grid of so many points up to the largest loss.

        Parameters
        ----------
        places : (q,) array
            Of the pairs.
        levels : (q,) array
            Of each, not above the real one.
        points : int

        Yields
        ------
        places, bounds, tilts : arrays
            Of one block after the other; near the level δ falls as e^{-tilt·t}.
        """
        widest = max(channel.shape[1] for channel in self._channels)
        width = max(widest, self._window([2 * points + 3] * len(self._counts)))
        for some in self._blocks(np.arange(len(places)), width):
            # Above all finite losses δ stays as it is.
            ends = self._width[places[some]] * sum(self._counts) + 1
            yield places[some], *self._excess(places[some], np.minimum(levels[some], ends), points)

    def _excess(self, places: Places, levels: Array, fineness: int) -> tuple[Array, Array]:
        step = np.where(self._width[places] > 0, self._width[places], 1.0)[:, None] / fineness
        lowest, masses = zip(*(self._masses(j, places, step) for j in range(len(self._counts))), strict=True)
        tilts = self._tilts(lowest, masses, step, levels[:, None])
        # Masses of the finite losses that add up to 1 each, their logarithms aside, and their Fourier transforms.
        size = _fast_size(self._window([one.shape[1] for one in masses]))
        scale = np.zeros(len(places))
        mean = np.zeros(len(places))
        spectrum = np.ones((len(places), size // 2 + 1), dtype=np.complex128)
        for low, given, count in zip(lowest, masses, self._counts, strict=True):
            tilted, logarithm = _tilted(given, low, tilts * step)
            scale += count * logarithm
            mean += count * (tilted @ np.arange(low, low + given.shape[1]))
            spectrum *= _power(np.fft.rfft(tilted, size), count)
        sums = np.fft.irfft(spectrum, size)
        # The point i of the grid is at the place i - base on a circle: all of them, or those about the mean.
        base = sum(low * count for low, count in zip(lowest, self._counts, strict=True))
        end = sum((one.shape[1] - 1) * count for one, count in zip(masses, self._counts, strict=True))
        begin = np.where(end < size, base, np.floor(mean) - size // 2)[:, None]
        # From the level up to where e^{λ(t - L)} is too small to count.
        first = np.maximum(np.floor(levels[:, None] / step), begin)
        many = min(size, math.ceil((-math.log(_OUTSIDE) / (tilts * step)).max()) + 2)
        points = np.minimum(first + np.arange(many), begin + size)
        grid = points * step
        # As in `LossDistribution.delta`.
        gaps = grid - levels[:, None] + 4 * UNIT * (np.abs(grid) + levels[:, None])
        gaps = np.maximum(gaps, 0.0, out=gaps)
        weights = np.where(points < begin + size, np.exp(-tilts * gaps) * -np.expm1(-gaps), 0.0)
        sums = np.take_along_axis(sums, (points - base).astype(np.int64) % size, axis=1)
        error = 32 * UNIT * (math.log2(size) + 1) * (sum(self._counts) + 2)
        error = error * np.sqrt((weights**2).sum(axis=1)) + 3 * _OUTSIDE
        found = np.maximum((sums * weights).sum(axis=1), 0.0) + error
        with np.errstate(over="ignore"):
            finite = np.exp(scale - tilts[:, 0] * levels) * found
        return np.minimum((finite + self._infinite[places]) * self._room + LOST, 1.0), tilts[:, 0]

    def _masses(self, j: int, places: Places, step: Array) -> tuple[int, Array]:
        """Return the masses of the finite losses of one release at the points of the grid, from the lowest one on.

        The reports between two points count as one with their masses p of P and q of Q, at these points: w at the
        lower one and p - w at the upper, as in `split`, solves q = w e^{-i h} + (p - w) e^{-(i + 1) h}.
        """
        x, other = self.first[places], self.second[places]
        channel = self._channels[j]
        losses = self._above[j][x] - self._below[j][other]
        here, there = channel[x], channel[other]
        if self._zeros[j]:
            unseen = (here == 0) | (there == 0)
            for given in (losses, here, there):
                given[unseen] = 0.0
        cells = np.floor(np.divide(losses, step, out=losses), out=losses).astype(np.int64)
        lowest = int(cells.min())
        width = int(cells.max()) + 2 - lowest
        cells += np.arange(len(places))[:, None] * width - lowest
        shape = len(places), width
        p, q = (np.bincount(cells.ravel(), one.ravel(), math.prod(shape)).reshape(shape) for one in (here, there))
        # q over what P has at the upper point, and what P loses by roundings of the sums, the powers and the losses:
        # of the part 1 - e^{-h} of it that δ can lose.
        q *= np.exp(np.minimum(np.arange(lowest + 1, lowest + 1 + width) * step, _LARGEST_LOG))
        lost = (channel.shape[1] + 2**18) * UNIT / -np.expm1(-step)
        low = np.clip((q - p) / np.expm1(step) - (p + q) * lost, 0.0, p)
        p -= low
        low[:, 1:] += p[:, :-1]
        return lowest, low

    def _tilts(self, lowest: Sequence[int], masses: Sequence[Array], step: Array, levels: Array) -> Array:
        """Return λ `(q, 1)` with which the mean of all losses is about at the level; any other is right too."""
        widest = max(max(-low, one.shape[1] + low) for low, one in zip(lowest, masses, strict=True))
        top = np.log2(_LARGEST_LOG / (step * widest))
        low, high = top - 20, top.copy()
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            mean = np.zeros(step.shape)
            for start, given, count in zip(lowest, masses, self._counts, strict=True):
                tilted, _ = _tilted(given, start, 2.0**middle * step)
                mean += count * (tilted @ np.arange(start, start + given.shape[1]))[:, None]
            below = mean * step < levels
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return 2.0**low


def _tilted(masses: Array, lowest: int, each: Array) -> tuple[Array, Array]:
    """Return masses times e^{`each` i} at the points i, which add up to 1, and the logarithm of what they did."""
    grid = np.arange(lowest, lowest + masses.shape[1])
    exponents = each * grid
    # Nothing overflows, and what underflows beside the largest is less than is added for rounding.
    masses = np.where(masses > 0, np.maximum(masses, LOST), 0.0)
    largest = np.where(masses > 0, exponents, -math.inf).max(axis=1, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    found = masses * np.exp(np.minimum(exponents - largest, 0.0))
    total = np.maximum(found.sum(axis=1, keepdims=True), LOST)
    return found / total, (np.log(total) + largest)[:, 0]


def _power(given: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """Return powers by repeated squaring."""
    if count == 1:
        return given
    half = _power(given, count // 2)
    return half * half * given if count % 2 else half * half


def _fast_size(least: int) -> int:
    """Return the least even 2^a, 3·2^a or 5·2^a of that size."""
    return min(part << max(1, math.ceil(math.log2(least / part))) for part in (1, 3, 5))
