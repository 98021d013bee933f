"""Graphs without cycles: everything in O(n).

A walk never turns back, as there is one way between two points. The mass behind an edge is what the points on its far
side weigh, seen from its near end; a walk takes the edge with that probability, and what it meets behind it is again
in proportion to the kernel, since every point there is seen through the same edge.

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

from dxopt.numerics.draws import uniforms
from dxopt.numerics.rounding import UNIT
from dxopt.spaces.kernels.base import ROOM, System
from dxopt.spaces.kernels.trees import Walk

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Exits:
    """Masses behind every edge, from both of its ends: where the walks of `Forest.draw` go from each point.

    Made of the weights, the parents (-1 for roots), p of the edges to them, and the sums of the kernel over each
    subtree (`inwards`) and over everything, all `(n,)` by point; c of the n points have a parent.
    """

    def __init__(self, weights: Array, parent: Indices, p: Array, inwards: Array, everywhere: Array) -> None:
        size = len(weights)
        has = parent >= 0
        self.weights = weights
        self.parent = parent
        # The mass behind the edge to the parent, 0 for roots. The parent sees everything; what it sees of the subtree
        # of v, p S_v, is not behind the edge from v to it.
        self.above = np.where(has, np.maximum(everywhere[parent] - p * inwards, 0.0), 0.0) * p
        # The children `(c,)`, sorted by parent: those of point v are `children[first[v] : first[v + 1]]`.
        self.children = np.argsort(np.where(has, parent, size), kind="stable")[: int(has.sum())]
        self.first = np.searchsorted(parent[self.children], np.arange(size + 1))
        self.position = np.zeros(size, dtype=np.int64)
        self.position[self.children] = np.arange(len(self.children))
        # The mass behind the edge to each child, and its sums from the first child on.
        self.below = (p * inwards)[self.children]
        self.running = np.concatenate([[0.0], np.cumsum(self.below)])

    def step(self, here: Indices, last: Indices, rng: np.random.Generator | None) -> tuple[Flags, Indices]:
        """Return a mask of the k walks that stop at `here`, and where the others go; they came from `last`, first -1.

        One random number for each walk falls into its weight, the mass above, or the masses below in their order; the
        edge that it came by is left out.
        """
        # Where each walk came from: its parent, a child, or nowhere.
        from_above = last == self.parent[here]
        from_child = last >= 0
        from_above &= from_child
        from_child &= ~from_above
        came_by = self.position[np.where(from_child, last, 0)]
        below = self.running[self.first[here + 1]] - self.running[self.first[here]]
        closed = np.where(from_child, self.below[came_by] if len(self.below) else 0.0, 0.0)
        above = np.where(from_above, 0.0, self.above[here])
        drawn = uniforms(len(here), rng) * (self.weights[here] + above + below - closed)
        stop = drawn < self.weights[here]
        up = ~stop & (drawn < self.weights[here] + above)
        # The rest of the number, on the scale of `running`; beyond the child that it came from, that one is skipped.
        down = self.running[self.first[here]] + drawn - self.weights[here] - above
        skipped = from_child & (down >= self.running[came_by])
        chosen = np.searchsorted(self.running, down + np.where(skipped, closed, 0.0), side="right") - 1
        # Rounding may lead to the children of a neighbour, or below a point that has none.
        chosen = np.clip(chosen, self.first[here], np.maximum(self.first[here + 1] - 1, self.first[here]))
        stop |= ~up & (self.first[here] == self.first[here + 1])
        child = self.children[np.minimum(chosen, len(self.children) - 1)] if len(self.children) else 0
        return stop, np.where(up, self.parent[here], child)


_STEP = 16 * UNIT
"""The relative rounding of one step of a pass: 8 units for the factor (`exp` and `expm1` are taken to be accurate
to 4 units in the last place), the others for a few products and sums, with room to spare."""


class Forest(System):
    """Shortest paths in a forest along edges `(m, 2)`, with lengths `(m,)` times ε, all positive.

    `distance_error` bounds the relative error of sums of lengths against the distances of the space.
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
        """The length of the edge to the parent of the point at each place of the walk; ROOM for roots."""
        # Longer ones count as ROOM only so that no p is subnormal: the cap is not above ROOM, and entries below
        # e^{-cap} need not be right.
        return self._walk.along(np.minimum(self.lengths, ROOM), ROOM)

    @cached_property
    def _factor(self) -> Array:
        """The p = e^{-εl} of the edge to the parent, by place of the walk."""
        return np.exp(-self._lengths)

    @cached_property
    def _escape(self) -> Array:
        """The 1 - p² of the same edges, without cancellation."""
        return -np.expm1(-2 * self._lengths)

    @cached_property
    def norm(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The largest of the row sums as computed, and its error."""
        sums, rounding = self.apply(np.ones(self.size))
        return float(sums.max()) + rounding

    @cached_property
    def inverse_norm(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A bound by the largest row sum of |Φ⁻¹|, which is 1 + Σ (p + p²)/(1 - p²) over the edges of a point.

        If εl is 0 in doubles, the sum is infinite, and so is the result: nothing is known of such systems.
        """
        with np.errstate(divide="ignore"):
            spread = self._factor * (1 + self._factor) / self._escape
        spread[self._walk.roots] = 0.0
        largest = float((1 + spread + self._walk.at_parents(spread)).max())
        return self._bound_inverse(1 / (largest * (1 + (self.size + 64) * UNIT)))

    def row(self, point: int) -> Array:
        """Return one row of T, `(n,)`, from the distances along the tree times ε."""
        away = self._walk.distances(self._lengths, point)
        return np.where(np.isinf(away), 0.0, np.exp(-np.minimum(away, self.cap)))

    def apply(self, vector: Array) -> tuple[Array, float]:
        """Return T v by two passes over the tree, and a bound on the error of its entries that is computed along.

        T has entries e^{-min(εd, cap)}, the passes have e^{-εd}: both are at most e^{-cap} where they differ, and so
        is the difference, which is counted as rounding.
        """
        _, outwards, error = self._passes(vector)
        capped = math.exp(-self.cap) * float(np.abs(vector).sum(axis=0).max())
        return outwards, error + capped

    def _passes(self, vector: Array) -> tuple[Array, Array, float]:
        """Sum Φ[v, x] b_x over the subtree of each v, by place, and over all x, by point; bound the errors.

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
        """Compute Φ⁻¹b, so written that short edges cost few digits.

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
        """Return w_v = 1 - degree/2 + Σ tanh(εl/2)/2, and a bound on the error of each.

        It is what `approximate` computes where b is 1 everywhere, as (1 - p)/(1 + p) = tanh(εl/2).
        """
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
        """Return max_x Φ[x, z] v_x for every z, `(n,)`, for v ≥ 0."""
        # Entries e^{-εd} below e^{-cap} are not raised to it as in T; `System.closure` allows to leave them out.
        return self._walk.closure(self._factor, vector)

    def draw(self, weights: Array, points: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        """Draw for each point x one z in proportion to Φ[x, z] w_z, by a walk that never turns back.

        At each point it stops in proportion to the weight there, or takes an edge in proportion to the mass behind
        it: what the points on the far side weigh, seen from the near end (see `Exits`).
        """
        inwards, everywhere, _ = self._passes(weights)
        walk = self._walk
        exits = Exits(weights, walk.parents, walk.by_point(self._factor), walk.by_point(inwards), everywhere)
        at = points.copy()
        came = np.full(len(points), -1)
        going = np.arange(len(points))
        # All walks take a step at a time.
        while len(going):
            here = at[going]
            stop, goal = exits.step(here, came[going], rng)
            moved = ~stop
            came[going[moved]] = here[moved]
            at[going[moved]] = goal[moved]
            going = going[moved]
        return at


class Path(Forest):
    """Numbers on a line: positions `(n,)`, strictly increasing or decreasing."""

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
        """Multiply columns `(n, k)` by Φ, by a sweep in each direction, for expected losses by report.

        Where a column has one sign, only numbers of one sign are added, so that no digits cancel.
        """
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
        """Sum m_x Φ[x, z] |p_x - p_t|^k over x for all z, `(n,)`: the expected k-th power of the distance, k = 1, 2.

        p are the positions, m the masses of 0 or more, and t is z, or `table[z]`, what is reported instead of z. In
        O(n) time, but k = 1 with a table takes as much again for the points between each z and its t.
        """
        before, after = self._beside(masses, 1), self._beside(masses, -1)
        if table is None:
            return before[power] + after[power]
        way = self.positions[table] - self.positions
        if power == 2:
            return before[2] + after[2] + 2 * way * (before[1] - after[1]) + way**2 * (before[0] + masses + after[0])
        # From t on, points are nearer to t than to z by the way; before z they are as much further from it. What is
        # between counts as if it were beyond t, as -|p_x - p_t|, until twice that is added.
        beyond = np.where(way > 0, after[0], before[0])
        behind = np.where(way > 0, before[0], after[0]) + masses
        return before[1] + after[1] + np.abs(way) * (behind - beyond) + 2 * self._between(masses, table)

    def _beside(self, masses: Array, order: int) -> Array:
        """Sum m_x Φ[x, z] |p_x - p_z|^k for k = 0, 1, 2, `(3, n)`, over all x before z, or with order -1 after it."""
        factors = np.exp(-np.minimum(self.lengths, self.cap)).tolist()
        steps = np.diff(self.positions).tolist()
        # Σ m Φ |p_x - p_z|^k for k = 0, 1, 2. A step s to the next z multiplies Φ by its factor, and makes d + s
        # of distances d: (d + s)² = d² + 2sd + s². `further` comes before `far`, as it needs that of the last z.
        near = far = further = 0.0
        gathered = [(0.0, 0.0, 0.0)]
        for mass, factor, step in zip(masses[::order].tolist(), factors[::order], steps[::order], strict=False):
            near = factor * (near + mass)
            further = factor * (further + 2 * step * far) + step * step * near
            far = factor * far + step * near
            gathered.append((near, far, further))
        return np.array(gathered[::order]).T

    def _between(self, masses: Array, table: NDArray[np.int64]) -> Array:
        """Sum m_x Φ[x, z] |p_x - p_t| over all x between z and t = `table[z]`, `(n,)`."""
        # x goes from every z towards its t, one point at a time; those that have arrived drop out.
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
        """Draw by inversion: the mass from a point on, seen from the near side, falls with the distance to it."""
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
