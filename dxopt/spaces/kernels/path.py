"""Numbers on a line: a forest with one branch, whose rows and draws need no walk."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.draws import uniforms
from dxopt.spaces.kernels.contract import ROOM
from dxopt.spaces.kernels.forest import Forest
from dxopt.spaces.kernels.trees import Walk

Array = NDArray[np.float64]


class Path(Forest):
    """Numbers on a line, sorted.

    Parameters
    ----------
    positions : (n,) array
        Strictly increasing or decreasing.
    epsilon : float
    distance_error : float
        Bounds the relative error of differences against the distances of the space.
    """

    def __init__(self, positions: Array, epsilon: float, distance_error: float, room: float = ROOM) -> None:
        self.positions = positions if positions[-1] >= positions[0] else -positions
        self.epsilon = epsilon
        self._describe(len(positions), distance_error, room)
        with np.errstate(over="ignore"):
            self.lengths = epsilon * np.diff(self.positions)

    @cached_property
    def _walk(self) -> Walk:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Walk.along_a_path(self.size)

    def row(self, point: int) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(-np.minimum(self.epsilon * np.abs(self.positions - self.positions[point]), self.cap))

    def products(self, columns: Array) -> Array:
        """Φ times each column, `(n, k)`: sums of one sign where a column has one, so that no digits cancel."""
        factors = np.exp(-np.minimum(self.lengths, self.cap))
        sums = columns.copy()
        for x in range(1, self.size):
            sums[x] += factors[x - 1] * sums[x - 1]
        behind = np.zeros(columns.shape[1])
        for x in range(self.size - 2, -1, -1):
            behind = factors[x] * (behind + columns[x + 1])
            sums[x] += behind
        return sums

    def moments(self, masses: Array, power: int, table: NDArray[np.int64] | None = None) -> Array:
        """Σ_x m_x Φ[x, z] |p_x - p_t|^k for all z, `(n,)`, k = 1 or 2; t = z, or `table[z]`; masses of 0 or more.

        In O(n) time, but for k = 1 with the points between each z and its t.
        """
        before, after = self._beside(masses, 1), self._beside(masses, -1)
        if table is None:
            return before[power] + after[power]
        way = self.positions[table] - self.positions
        if power == 2:
            return before[2] + after[2] + 2 * way * (before[1] - after[1]) + way**2 * (before[0] + masses + after[0])
        # From t on, points are nearer to t than to z by the way; before z they are as much further from it. What is
        # between counts as if it were beyond t, until that is put right.
        beyond = np.where(way > 0, after[0], before[0])
        behind = np.where(way > 0, before[0], after[0]) + masses
        return before[1] + after[1] + np.abs(way) * (behind - beyond) + 2 * self._between(masses, table)

    def _beside(self, masses: Array, order: int) -> Array:
        """Σ_x m_x Φ[x, z] |p_x - p_z|^k for k = 0, 1, 2, `(3, n)`, over all x before z, or with order -1 after it."""
        factors = np.exp(-np.minimum(self.lengths, self.cap)).tolist()
        steps = np.diff(self.positions).tolist()
        near = far = further = 0.0
        gathered = [(0.0, 0.0, 0.0)]
        for mass, factor, step in zip(masses[::order].tolist(), factors[::order], steps[::order], strict=False):
            near = factor * (near + mass)
            further = factor * (further + 2 * step * far) + step * step * near
            far = factor * far + step * near
            gathered.append((near, far, further))
        return np.array(gathered[::order]).T

    def _between(self, masses: Array, table: NDArray[np.int64]) -> Array:
        """Σ_x m_x Φ[x, z] |p_x - p_t| over all x between z and t = `table[z]`, `(n,)`."""
        found = np.zeros(self.size)
        places = self.positions
        z = x = np.arange(self.size)
        while len(z):
            x = x + np.sign(table[z] - z)
            going = x != table[z]
            z, x = z[going], x[going]
            with np.errstate(over="ignore"):
                kernel = np.exp(-np.minimum(self.epsilon * np.abs(places[x] - places[z]), self.cap))
            found[z] += masses[x] * kernel * np.abs(places[table[z]] - places[x])
        return found

    def draw(self, weights: Array, points: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        """By inversion: the mass from a point on, seen from the near side, falls with the distance to it."""
        # Seen from each point, the mass from it on, and the mass up to it.
        ahead, everywhere, _ = self._passes(weights)
        behind = np.maximum(everywhere - ahead, 0.0) + weights
        # The mass from j on is e^{-(a_j - a_i)} ahead_j from i; the logarithm of its inverse rises with j, which the
        # running maximum makes true of doubles as well. In the other direction likewise.
        with np.errstate(divide="ignore", over="ignore"):
            along = np.minimum(self.epsilon * (self.positions - self.positions[0]), 1e300)
            up = np.maximum.accumulate(along - np.log(ahead))
            down = np.maximum.accumulate((-along - np.log(behind))[::-1])
        # A number below all mass: ahead, or what is left of it behind.
        drawn = uniforms(len(points), rng) * everywhere[points]
        forward = drawn < ahead[points]
        with np.errstate(divide="ignore"):
            rest = np.log(np.where(forward, drawn, np.maximum(drawn - ahead[points], 0.0)))
        # The furthest point with at least so much mass from it on: inversion of the distribution, by bisection.
        here = along[points]
        beyond = np.searchsorted(up, here - rest, side="left") - 1
        before = self.size - np.searchsorted(down, -here - rest, side="left")
        return np.where(forward, np.maximum(beyond, points), np.minimum(before, points - 1))
