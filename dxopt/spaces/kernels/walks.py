"""Random walks on a forest that end at each point with a probability in proportion to a row of the kernel.

A walk never turns back, as there is one way between two points. The mass behind an edge is what the points on its far
side weigh, seen from its near end; a walk takes the edge with that probability, and what it meets behind it is again
in proportion to the kernel, since every point there is seen through the same edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.draws import uniforms

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Exits:
    """Sum up what lies behind every edge, from both of its ends, for n points of which c have a parent.

    Attributes
    ----------
    weights : (n,) array
        Of stopping at each point.
    parent : (n,) array
        -1 for roots.
    above : (n,) array
        The mass behind the edge to the parent; 0 for roots.
    children : (c,) array
        Sorted by parent.
    first : (n + 1,) array
        The children of point v are `children[first[v] : first[v + 1]]`.
    position : (n,) array
        Where each point is among `children`; 0 for roots.
    below : (c,) array
        The mass behind the edge to each child.
    running : (c + 1,) array
        Its sums from the first child on.
    """

    weights: Array
    parent: Indices
    above: Array
    children: Indices
    first: Indices
    position: Indices
    below: Array
    running: Array

    @classmethod
    def of(cls, weights: Array, parent: Indices, p: Array, inwards: Array, everywhere: Array) -> Exits:
        """From p of the edge to each parent, and the sums of the kernel over each subtree and over everything."""
        size = len(weights)
        has = parent >= 0
        # The parent sees everything; what it sees of the subtree of v, p S_v, is not behind the edge from v to it.
        above = np.where(has, np.maximum(everywhere[parent] - p * inwards, 0.0), 0.0) * p
        children = np.argsort(np.where(has, parent, size), kind="stable")[: int(has.sum())]
        below = (p * inwards)[children]
        first = np.searchsorted(parent[children], np.arange(size + 1))
        running = np.concatenate([[0.0], np.cumsum(below)])
        position = np.zeros(size, dtype=np.int64)
        position[children] = np.arange(len(children))
        return cls(weights, parent, above, children, first, position, below, running)

    def step(self, here: Indices, last: Indices, rng: np.random.Generator | None) -> tuple[Flags, Indices]:
        """Decide which of k walks stop, and move the others from `here`; they came from `last`, which is -1 at first.

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


def walks(exits: Exits, points: Indices, rng: np.random.Generator | None) -> Indices:
    """Return the ends `(k,)` of walks from points `(k,)`; all walks take a step at a time."""
    at = points.copy()
    came = np.full(len(points), -1)
    going = np.arange(len(points))
    while len(going):
        here = at[going]
        stop, goal = exits.step(here, came[going], rng)
        moved = ~stop
        came[going[moved]] = here[moved]
        at[going[moved]] = goal[moved]
        going = going[moved]
    return at
