"""Graphs without cycles: everything in O(n).

The entry Φ[x, y] = e^{-εd(x, y)} is the product of p = e^{-εl} over the edges, of lengths l, on the way from x to y,
and 0 between different trees. This is why sums over all points take two passes over the tree: one towards the roots,
which gathers each subtree at its top, and one away from them, which adds what is outside of the subtree.

Φ⁻¹ is the identity plus, for each edge, p²/(1 - p²) on the diagonal at its two ends and -p/(1 - p²) between them.
Proof, for row v of Φ⁻¹Φ and a point x: an edge from v to u contributes (p² Φ[v, x] - p Φ[u, x])/(1 - p²). If x is on
the side of v, Φ[u, x] = p Φ[v, x] and that is 0. If x is on the side of u, Φ[v, x] = p Φ[u, x] and that is -Φ[v, x],
which cancels the identity. The row sums of Φ⁻¹ are the weighting, the w with Φw = 1: w_v = 1 - Σ p/(1 + p) over the
edges of v.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from dxopt.numerics.rounding import UNIT
from dxopt.spaces.kernels.contract import ROOM, System
from dxopt.spaces.kernels.walks import Exits, walks

Array = NDArray[np.float64]

_STEP = 16 * UNIT
"""The relative rounding of one step of a pass: 8 units for the factor (`exp` and `expm1` are taken to be accurate
to 4 units in the last place), the others for a few products and sums, with room to spare."""


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
    room : float
        The largest cap (see `System`).
    """

    # Norms of vectors are largest entries, norms of matrices largest row sums of absolute values.
    order = np.inf

    def __init__(
        self, size: int, edges: NDArray[np.int64], lengths: Array, distance_error: float, room: float = ROOM
    ) -> None:
        self._describe(size, distance_error, room)
        self.edges = edges
        # Only so that no p is subnormal: the cap is far below ROOM, and entries below e^{-cap} need not be right.
        self.lengths = np.minimum(lengths, ROOM)
        # p and 1 - p² of each edge, the latter without cancellation.
        self._factor = np.exp(-self.lengths)
        self._escape = -np.expm1(-2 * self.lengths)
        # The norm of Φ⁻¹, without the cap, is its largest 1 + Σ (p + p²)/(1 - p²); its inverse, rounded down, is what
        # `_inverse` takes the error of the entries and the cap off. If εl is 0 in doubles, the sum is infinite, and
        # so is `inverse_norm`: nothing is known of such systems.
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
        """Points from the roots outwards, the parent of each and the edge to it (both -1 for roots)."""
        # The first point of each tree is its root. One more point, of index n, is joined to all roots, so that one
        # search reaches everything.
        start, end = self.edges.T
        graph = csr_array((np.ones(len(start)), (start, end)), shape=(self.size, self.size))
        roots = np.unique(connected_components(graph, directed=False)[1], return_index=True)[1]
        above_all = np.full(len(roots), self.size)
        ends = np.concatenate([start, above_all]), np.concatenate([end, roots])
        joined = csr_array((np.ones(len(ends[0])), ends), shape=(self.size + 1, self.size + 1))
        reached, before = breadth_first_order(joined, self.size, directed=False)
        # Breadth first: every point comes after its parent.
        order = reached[1:].tolist()
        parent = np.where(before[:-1] == self.size, -1, before[:-1])
        # The edge to the parent: the one that has the parent at its other end, whichever end that is.
        edge = np.full(self.size, -1)
        for near, far in ((start, end), (end, start)):
            above = parent[far] == near
            edge[far[above]] = np.flatnonzero(above)
        return order, parent.tolist(), edge.tolist()

    def row(self, point: int) -> Array:
        order, parent, edge = self._walk
        lengths = self.lengths.tolist()
        away = [math.inf] * self.size
        # The distances to all points between this one and its root.
        at = point
        travelled = 0.0
        while at >= 0:
            away[at] = travelled
            travelled += lengths[edge[at]] if edge[at] >= 0 else 0.0
            at = parent[at]
        # All others are reached from their parents; other trees stay at infinity, as their roots do.
        for other in order:
            if away[other] == math.inf and parent[other] >= 0:
                away[other] = away[parent[other]] + lengths[edge[other]]
        far = np.array(away)
        return np.where(np.isinf(far), 0.0, np.exp(-np.minimum(far, self.cap)))

    def apply(self, vector: Array) -> tuple[Array, float]:
        """Two passes, with running bounds on the rounding.

        T has entries e^{-min(εd, cap)}, the passes have e^{-εd}: both are at most e^{-cap} where they differ, and so
        is the difference, which is counted as rounding.
        """
        _, outwards, error = self._passes(vector)
        capped = math.exp(-self.cap) * float(np.abs(vector).sum(axis=0).max())
        return outwards, error + capped

    def _passes(self, vector: Array) -> tuple[Array, Array, float]:
        """Of b = `vector`: Σ Φ[v, x] b_x over the subtree of each v, over all x, and a bound on the error of both."""
        order, parent, edge = self._walk
        p = self._factor.tolist()
        q = self._escape.tolist()
        # Lists of floats, as loops over them are faster than over arrays; of rows where there are several vectors.
        # `sizes` are the same sums of absolute values; `errors` bounds the error of `sums`: what the errors of the
        # summands become, and one rounding of the step, which is in proportion to `sizes`. Where no entry is negative
        # `sizes` is the list `sums` itself, so that errors are updated before sums.
        signed = bool((vector < 0).any())
        sums = _entries(vector)
        sizes = _entries(np.abs(vector)) if signed else sums
        errors = _entries(np.zeros_like(vector))
        # Inwards, S_v = b_v + Σ p S_c over the children c: what is summed at a point reaches its parent times p.
        for point in reversed(order):
            up = parent[point]
            k = edge[point]
            if up >= 0:
                errors[up] = errors[up] + p[k] * errors[point] + _STEP * (sizes[up] + p[k] * sizes[point])
                sums[up] = sums[up] + p[k] * sums[point]
                if signed:
                    sizes[up] = sizes[up] + p[k] * sizes[point]
        inwards = np.array(sums)
        # The bounds E of the outward sums are never below those of the inward ones, e: for a root both are the same,
        # and if E_u ≥ e_u, then E_v ≥ (1 - p²) e_v + p e_u ≥ e_v, as e_u ≥ p e_v. So the largest E bounds both.
        # Outwards, A_v = S_v + p (A_u - p S_v) for the parent u: all that u sees but the subtree of v, seen through
        # the edge. It is written as (1 - p²) S_v + p A_u, which subtracts nothing. For a root A is S.
        for point in order:
            up = parent[point]
            k = edge[point]
            if up >= 0:
                errors[point] = (
                    q[k] * errors[point] + p[k] * errors[up] + _STEP * (q[k] * sizes[point] + p[k] * sizes[up])
                )
                sums[point] = q[k] * sums[point] + p[k] * sums[up]
                if signed:
                    sizes[point] = q[k] * sizes[point] + p[k] * sizes[up]
        # The last factor is for the rounding of `errors` and `sizes` themselves.
        return inwards, np.array(sums), float(np.max(errors)) * (1 + 1e-6)

    def approximate(self, right: Array) -> Array:
        """Φ⁻¹b, so written that short edges cost few digits.

        An edge from v to u adds (p² b_v - p b_u)/(1 - p²) = p (b_v - b_u)/(1 - p²) - p b_v/(1 + p) to b_v, and
        -p/(1 + p) is -1/2 + (1 - p)/(2(1 + p)). So b_v has the factor 1 - degree/2 + Σ (1 - p)/(2(1 + p)), where the
        halves are exact: with p near 1 and two edges, as inside of a line, nothing cancels.
        """
        start, end = self.edges.T
        wide = (slice(None),) + (None,) * (right.ndim - 1)
        p = self._factor[wide]
        q = self._escape[wide]
        half = -0.5 * np.expm1(-self.lengths[wide]) / (1 + p)
        degree = np.bincount(self.edges.ravel(), minlength=self.size)[wide]
        solution = (1 - 0.5 * degree) * right
        for here, there in ((start, end), (end, start)):
            with np.errstate(divide="ignore", invalid="ignore"):  # points that doubles cannot tell apart
                np.add.at(solution, here, half * right[here] + p * (right[here] - right[there]) / q)
        return solution

    def closure(self, vector: Array) -> Array:
        # max_x Φ[x, z] v_x for v ≥ 0. The cap makes no difference that `System.closure` does not allow.
        order, parent, edge = self._walk
        p = self._factor.tolist()
        best = vector.tolist()
        # The same two passes with maxima. What comes back into a subtree from its own maximum is p² times that, which
        # is no more, so nothing has to be taken out on the way outwards.
        for point in reversed(order):
            up = parent[point]
            if up >= 0:
                best[up] = max(best[up], p[edge[point]] * best[point])
        for point in order:
            up = parent[point]
            if up >= 0:
                best[point] = max(best[point], p[edge[point]] * best[up])
        return np.array(best)

    def draw(self, weights: Array, points: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        """For each point x one z with a probability proportional to Φ[x, z] w_z, by a walk that never turns back.

        At each point it stops in proportion to the weight there, or takes an edge in proportion to the mass behind
        it: what the points on the far side weigh, seen from the near end (see `walks`).
        """
        inwards, everywhere, _ = self._passes(weights)
        parent = np.array(self._walk[1])
        edge = np.array(self._walk[2])
        has = parent >= 0
        p = np.where(has, self._factor[np.where(has, edge, 0)] if len(self.edges) else 0.0, 0.0)
        return walks(Exits.of(weights, parent, p, inwards, everywhere), points, rng)


def _entries(values: Array) -> list[Any]:
    """A copy as a list: of floats, or of rows."""
    return values.tolist() if values.ndim == 1 else list(values.copy())
