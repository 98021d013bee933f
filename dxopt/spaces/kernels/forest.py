"""Graphs without cycles, and numbers on a line: everything in O(n).

With p = e^{-εl} for an edge of length l, Φ⁻¹ has 1 + Σ p²/(1 - p²) over the edges of a point on the diagonal and
-p/(1 - p²) for each edge, so that the weighting is w_v = 1 - Σ p/(1 + p).
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from dxopt.numerics.draws import uniforms
from dxopt.numerics.rounding import UNIT
from dxopt.spaces.kernels.contract import ROOM, System

Array = NDArray[np.float64]

_STEP = 16 * UNIT


class Forest(System):
    """Shortest paths in a forest.

    Parameters
    ----------
    size : int
    edges : (m, 2) array
    lengths : (m,) array
        Times ε, all positive.
    distance_error : float
        Bounds the relative error of sums of lengths against the distances of the space.
    """

    order = np.inf

    def __init__(
        self, size: int, edges: NDArray[np.int64], lengths: Array, distance_error: float, room: float = ROOM
    ) -> None:
        self._describe(size, distance_error, room)
        self.edges, self.lengths = edges, np.minimum(lengths, ROOM)
        self._factor, self._escape = np.exp(-self.lengths), -np.expm1(-2 * self.lengths)
        with np.errstate(divide="ignore"):
            spread = self._factor * (1 + self._factor) / self._escape
        sums, rounding = self.apply(np.ones(size))
        self.norm = float(sums.max()) + rounding
        self.inverse_norm = self._inverse(1 / (float((1 + self._at_ends(spread)).max()) * (1 + (size + 64) * UNIT)))

    def _at_ends(self, values: Array) -> Array:
        """Sums over the edges of each point of a value per edge."""
        return np.bincount(self.edges.T.reshape(-1), np.tile(values, 2), self.size).astype(np.float64)

    @cached_property
    def _walk(self) -> tuple[list[int], list[int], list[int]]:
        """Points from the roots outwards, the parent of each (-1 for roots) and the edge to it."""
        start, end = self.edges.T
        graph = csr_array((np.ones(len(start)), (start, end)), shape=(self.size, self.size))
        roots = np.unique(connected_components(graph, directed=False)[1], return_index=True)[1]
        above_all = np.full(len(roots), self.size)
        ends = np.concatenate([start, above_all]), np.concatenate([end, roots])
        joined = csr_array((np.ones(len(ends[0])), ends), shape=(self.size + 1, self.size + 1))
        reached, before = breadth_first_order(joined, self.size, directed=False)
        order = reached[1:].tolist()
        parent = np.where(before[:-1] == self.size, -1, before[:-1])
        edge = np.full(self.size, -1)
        for near, far in ((start, end), (end, start)):
            above = parent[far] == near
            edge[far[above]] = np.flatnonzero(above)
        return order, parent.tolist(), edge.tolist()

    def row(self, place: int) -> Array:
        order, parent, edge = self._walk
        lengths, away = self.lengths.tolist(), [math.inf] * self.size
        at, travelled = place, 0.0
        while at >= 0:
            away[at] = travelled
            travelled += lengths[edge[at]] if edge[at] >= 0 else 0.0
            at = parent[at]
        for point in order:
            if away[point] == math.inf and parent[point] >= 0:
                away[point] = away[parent[point]] + lengths[edge[point]]
        far = np.array(away)
        return np.where(np.isinf(far), 0.0, np.exp(-np.minimum(far, self.cap)))

    def apply(self, vector: Array) -> tuple[Array, float]:
        """Two passes, with running bounds on the rounding; the cap is counted as rounding."""
        _, outwards, error = self._passes(vector)
        capped = math.exp(-self.cap) * float(np.abs(vector).sum(axis=0).max())
        return outwards, error + capped

    def _passes(self, vector: Array) -> tuple[Array, Array, float]:
        """The sums over each subtree, the sums over everything, and a bound on the error of both."""
        order, parent, edge = self._walk
        p, q = self._factor.tolist(), self._escape.tolist()
        signed = bool((vector < 0).any())
        scalar = vector.ndim == 1
        sums = vector.tolist() if scalar else list(vector.copy())
        sizes = np.abs(vector).tolist() if signed and scalar else list(np.abs(vector)) if signed else sums
        errors = [0.0] * self.size if scalar else list(np.zeros_like(vector))
        for point in reversed(order):
            up, k = parent[point], edge[point]
            if up >= 0:
                errors[up] = errors[up] + p[k] * errors[point] + _STEP * (sizes[up] + p[k] * sizes[point])
                sums[up] = sums[up] + p[k] * sums[point]
                if signed:
                    sizes[up] = sizes[up] + p[k] * sizes[point]
        inwards = np.array(sums)
        for point in order:
            up, k = parent[point], edge[point]
            if up >= 0:
                errors[point] = (
                    q[k] * errors[point] + p[k] * errors[up] + _STEP * (q[k] * sizes[point] + p[k] * sizes[up])
                )
                sums[point] = q[k] * sums[point] + p[k] * sums[up]
                if signed:
                    sizes[point] = q[k] * sizes[point] + p[k] * sizes[up]
        return inwards, np.array(sums), float(np.max(errors)) * (1 + 1e-6)

    def approximate(self, right: Array) -> Array:
        """Φ⁻¹b with 1 - p/(1 + p) written as (1 + tanh(l/2))/2, which keeps small weights accurate."""
        start, end = self.edges.T
        wide = (slice(None),) + (None,) * (right.ndim - 1)
        p, q = self._factor[wide], self._escape[wide]
        half = -0.5 * np.expm1(-self.lengths[wide]) / (1 + p)
        degree = np.bincount(self.edges.ravel(), minlength=self.size)[wide]
        solution = (1 - 0.5 * degree) * right
        for here, there in ((start, end), (end, start)):
            with np.errstate(divide="ignore", invalid="ignore"):  # points that doubles cannot tell apart
                np.add.at(solution, here, half * right[here] + p * (right[here] - right[there]) / q)
        return solution

    def closure(self, vector: Array) -> Array:
        order, parent, edge = self._walk
        p, best = self._factor.tolist(), vector.tolist()
        for point in reversed(order):
            up = parent[point]
            if up >= 0:
                best[up] = max(best[up], p[edge[point]] * best[point])
        for point in order:
            up = parent[point]
            if up >= 0:
                best[point] = max(best[point], p[edge[point]] * best[up])
        return np.array(best)

    def draw(self, weights: Array, places: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        """Walk from each place: at every point stop by its weight, or go on by the mass behind each edge."""
        inwards, everywhere, _ = self._passes(weights)
        parent, edge = np.array(self._walk[1]), np.array(self._walk[2])
        has = parent >= 0
        p = np.where(has, self._factor[np.where(has, edge, 0)] if len(self.edges) else 0.0, 0.0)
        behind = np.where(has, np.maximum(everywhere[parent] - p * inwards, 0.0), 0.0) * p
        children = np.argsort(np.where(has, parent, self.size), kind="stable")[: int(has.sum())]
        mass = (p * inwards)[children]
        ends = np.searchsorted(parent[children], np.arange(self.size + 1))
        running = np.concatenate([[0.0], np.cumsum(mass)])
        slot = np.zeros(self.size, dtype=np.int64)
        slot[children] = np.arange(len(children))
        at, came, going = places.copy(), np.full(len(places), -1), np.arange(len(places))
        while len(going):
            here, last = at[going], came[going]
            from_above, from_child = last == parent[here], last >= 0
            from_above &= from_child
            from_child &= ~from_above
            below = running[ends[here + 1]] - running[ends[here]]
            closed = np.where(from_child, mass[slot[np.where(from_child, last, 0)]] if len(mass) else 0.0, 0.0)
            above = np.where(from_above, 0.0, behind[here])
            drawn = uniforms(len(going), rng) * (weights[here] + above + below - closed)
            stop = drawn < weights[here]
            up = ~stop & (drawn < weights[here] + above)
            down = running[ends[here]] + drawn - weights[here] - above
            skipped = from_child & (down >= running[slot[np.where(from_child, last, 0)]])
            chosen = np.searchsorted(running, down + np.where(skipped, closed, 0.0), side="right") - 1
            chosen = np.clip(chosen, ends[here], np.maximum(ends[here + 1] - 1, ends[here]))
            stop |= ~up & (ends[here] == ends[here + 1])
            target = np.where(
                up, parent[here], children[np.minimum(chosen, len(children) - 1)] if len(children) else 0
            )
            moved = ~stop
            came[going[moved]], at[going[moved]] = here[moved], target[moved]
            going = going[moved]
        return at


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
        edges = np.stack([np.arange(len(positions) - 1), np.arange(1, len(positions))], axis=1)
        with np.errstate(over="ignore"):
            lengths = epsilon * np.diff(self.positions)
        super().__init__(len(positions), edges, lengths, distance_error, room)

    @cached_property
    def _walk(self) -> tuple[list[int], list[int], list[int]]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return list(range(self.size)), list(range(-1, self.size - 1)), list(range(-1, self.size - 1))

    def row(self, place: int) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(-np.minimum(self.epsilon * np.abs(self.positions - self.positions[place]), self.cap))

    def draw(self, weights: Array, places: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        """By inversion: the mass from a point on, seen from the near side, falls with the distance to it."""
        ahead, everywhere, _ = self._passes(weights)
        behind = np.maximum(everywhere - ahead, 0.0) + weights
        with np.errstate(divide="ignore", over="ignore"):
            along = np.minimum(self.epsilon * (self.positions - self.positions[0]), 1e300)
            up = np.maximum.accumulate(along - np.log(ahead))
            down = np.maximum.accumulate((-along - np.log(behind))[::-1])
        drawn = uniforms(len(places), rng) * everywhere[places]
        forward = drawn < ahead[places]
        with np.errstate(divide="ignore"):
            rest = np.log(np.where(forward, drawn, np.maximum(drawn - ahead[places], 0.0)))
        here = along[places]
        beyond = np.searchsorted(up, here - rest, side="left") - 1
        before = self.size - np.searchsorted(down, -here - rest, side="left")
        return np.where(forward, np.maximum(beyond, places), np.minimum(before, places - 1))
