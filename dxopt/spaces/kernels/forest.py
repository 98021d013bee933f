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

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.rounding import UNIT
from dxopt.spaces.kernels.contract import ROOM, System
from dxopt.spaces.kernels.trees import Walk
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
        self.lengths = lengths

    @cached_property
    def _walk(self) -> Walk:
        return Walk.of(self.size, self.edges)

    @cached_property
    def _lengths(self) -> Array:
        """Those of the edge to the parent of the point at each place of the walk; ROOM for roots."""
        # Longer ones count as ROOM only so that no p is subnormal: the cap is not above ROOM, and entries below
        # e^{-cap} need not be right.
        return self._walk.along(np.minimum(self.lengths, ROOM), ROOM)

    @cached_property
    def _factor(self) -> Array:
        """p of these edges."""
        return np.exp(-self._lengths)

    @cached_property
    def _escape(self) -> Array:
        """1 - p² of these edges, without cancellation."""
        return -np.expm1(-2 * self._lengths)

    @cached_property
    def norm(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The largest of the row sums as computed, and its error."""
        sums, rounding = self.apply(np.ones(self.size))
        return float(sums.max()) + rounding

    @cached_property
    def inverse_norm(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The norm of Φ⁻¹, without the cap, is its largest 1 + Σ (p + p²)/(1 - p²).

        Its inverse, rounded down, is what `_inverse` takes the error of the entries and the cap off. If εl is 0 in
        doubles, the sum is infinite, and so is the result: nothing is known of such systems.
        """
        with np.errstate(divide="ignore"):
            spread = self._factor * (1 + self._factor) / self._escape
        spread[self._walk.roots] = 0.0
        largest = float((1 + spread + self._walk.at_parents(spread)).max())
        return self._inverse(1 / (largest * (1 + (self.size + 64) * UNIT)))

    def row(self, point: int) -> Array:
        away = self._walk.distances(self._lengths, point)
        return np.where(np.isinf(away), 0.0, np.exp(-np.minimum(away, self.cap)))

    def apply(self, vector: Array) -> tuple[Array, float]:
        """Two passes, with running bounds on the rounding.

        T has entries e^{-min(εd, cap)}, the passes have e^{-εd}: both are at most e^{-cap} where they differ, and so
        is the difference, which is counted as rounding.
        """
        _, outwards, error = self._passes(vector)
        capped = math.exp(-self.cap) * float(np.abs(vector).sum(axis=0).max())
        return outwards, error + capped

    def _passes(self, vector: Array) -> tuple[Array, Array, float]:
        """Of b = `vector`: Σ Φ[v, x] b_x over the subtree of each v, over all x, and a bound on the error of both.

        The former by place of the walk, the latter by point.

        Inwards, S_v = b_v + Σ p S_c over the children c. Outwards, A_v = S_v + p (A_u - p S_v) for the parent u: all
        that u sees but the subtree of v, seen through the edge. It is written as (1 - p²) S_v + p A_u, where nothing
        is subtracted. For a root A is S.

        The bounds E of the outward sums are never below those of the inward ones, e: for a root both are the same,
        and if E_u ≥ e_u, then E_v ≥ (1 - p²) e_v + p e_u ≥ e_v, as e_u ≥ p e_v. So the largest E bounds both.
        """
        inwards, outwards, error = self._walk.sums(self._factor, self._escape, _STEP, vector)
        # The last factor is for the rounding of the bounds themselves.
        return inwards, outwards, error * (1 + 1e-6)

    def approximate(self, right: Array) -> Array:
        """Φ⁻¹b, so written that short edges cost few digits.

        An edge from v to u adds (p² b_v - p b_u)/(1 - p²) = p (b_v - b_u)/(1 - p²) - p b_v/(1 + p) to b_v, and
        -p/(1 + p) is -1/2 + (1 - p)/(2(1 + p)). So b_v has the factor 1 - degree/2 + Σ (1 - p)/(2(1 + p)), where the
        halves are exact: with p near 1 and two edges, as inside of a line, nothing cancels.
        """
        walk = self._walk
        wide = (slice(None),) + (None,) * (right.ndim - 1)
        p = self._factor[wide]
        here = walk.by_place(right)
        parent = here[walk.above]
        # What the edge to the parent adds at its two ends: to each its own half, and the difference with either sign.
        half = np.expm1(-self._lengths)[wide]
        half *= -0.5
        half /= 1 + p
        apart = here - parent
        apart *= p
        with np.errstate(divide="ignore", invalid="ignore"):  # points that doubles cannot tell apart
            apart /= self._escape[wide]
        half[walk.roots] = 0.0
        apart[walk.roots] = 0.0
        solution = (1 - 0.5 * walk.degrees[wide]) * here
        np.add.at(solution, walk.above, half * parent - apart)
        solution += half * here + apart
        return walk.by_point(solution)

    def weighting(self) -> tuple[Array, Array]:
        """w_v = 1 - degree/2 + Σ tanh(εl/2)/2, which is what `approximate` gives where b is 1 everywhere."""
        walk = self._walk
        values = self.approximate(np.ones(self.size))
        half = 0.5 * np.tanh(0.5 * self._lengths)
        half[walk.roots] = 0.0
        varying = half + walk.at_parents(half)
        # A length that is off by a part of itself moves its tanh by no more than that part; the rest are sums.
        error = (self.distance_error + _STEP) * varying
        error += (walk.degrees + 4) * UNIT * (np.abs(1 - 0.5 * walk.degrees) + varying)
        return values, walk.by_point(error)

    def closure(self, vector: Array) -> Array:
        # max_x Φ[x, z] v_x for v ≥ 0. The cap makes no difference that `System.closure` does not allow.
        return self._walk.closure(self._factor, vector)

    def draw(self, weights: Array, points: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        """For each point x one z with a probability proportional to Φ[x, z] w_z, by a walk that never turns back.

        At each point it stops in proportion to the weight there, or takes an edge in proportion to the mass behind
        it: what the points on the far side weigh, seen from the near end (see `walks`).
        """
        inwards, everywhere, _ = self._passes(weights)
        walk = self._walk
        exits = Exits.of(weights, walk.parents, walk.by_point(self._factor), walk.by_point(inwards), everywhere)
        return walks(exits, points, rng)
