"""A walk over a forest from its roots outwards, and what is computed along it.

Few points take the loops of `tree_loops` as they are, over lists, which are faster there than arrays; from
`COMPILED_FROM` points on, where that would take longer than Numba takes to load, they are compiled. Both give the
same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.spaces.kernels import tree_loops as loops

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

COMPILED_FROM = 100_000
"""Points from which on compiled loops are faster, the time to load them included."""


@dataclass(frozen=True, eq=False)
class Walk:
    """The points of a forest in an order in which each comes after its parent, tree by tree, breadth first.

    All arrays are `(n,)`, by place on the walk: `above` is the place of the parent, `edge` the index of the edge to
    it, both -1 for roots; `order` is the point there, or None where points are numbered in the order of the walk.
    """

    above: Indices
    edge: Indices
    order: Indices | None = None

    @classmethod
    def of(cls, size: int, edges: Indices) -> Walk:
        """Walk over `size` points that edges `(m, 2)` join without cycles, from the first point of each tree."""
        large = size >= COMPILED_FROM
        # The slots of each point: one for each edge that it has. Short integers, so that more of them stay in cache.
        first = np.zeros(size + 1, dtype=np.int32)
        np.cumsum(np.bincount(edges.reshape(-1), minlength=size), out=first[1:])
        start, end = edges.T.astype(np.int32)
        blank = np.empty(4 * len(edges), dtype=np.int32)
        _, slots = _run(loops.adjacent, large, (start, end), (first[:-1].copy(), blank))
        points = np.empty((3, size), dtype=np.int64)
        order, above, edge, _ = _run(loops.walk, large, (first, slots), (*points, np.zeros(size, dtype=bool)))
        return cls(above, edge, order)

    @classmethod
    def along_a_path(cls, size: int) -> Walk:
        """Walk from one end of a path to the other, whose points and edges are in order."""
        before = np.arange(-1, size - 1)
        return cls(before, before)

    @cached_property
    def place(self) -> Indices:
        """The place of each point."""
        return self.by_point(np.arange(len(self.above)))

    @cached_property
    def roots(self) -> Indices:
        """The places of the roots."""
        return np.flatnonzero(self.above < 0)

    @cached_property
    def degrees(self) -> Indices:
        """The number of edges of the point at each place."""
        # its children, and its parent: `above` is -1 for roots, which are counted in bin 0, and that is dropped
        return np.bincount(self.above + 1, minlength=len(self.above) + 1)[1:] + (self.above >= 0)

    @cached_property
    def parents(self) -> Indices:
        """The parent of each point; -1 for roots."""
        if self.order is None:
            return self.above
        return self.by_point(np.where(self.above < 0, -1, self.order[self.above]))

    def by_place(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of values that are listed by point, listed by place."""
        return values.copy() if self.order is None else values[self.order]

    def by_point(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values that are listed by place, listed by point."""
        if self.order is None:
            return values
        found = np.empty_like(values)
        found[self.order] = values
        return found

    def along(self, values: Array, at_roots: float) -> Array:
        """Return, by place, the value of the edge to the parent, from values `(m,)` by edge; `at_roots` for roots."""
        # the edge -1 of roots is the last entry
        return np.concatenate([values, [at_roots]])[self.edge]

    def at_parents(self, values: Array) -> Array:
        """Sum values over the children of each point, all by place."""
        # roots are summed in bin 0, which is dropped
        return np.bincount(self.above + 1, values, len(values) + 1)[1:].astype(np.float64, copy=False)

    def sums(self, p: Array, q: Array, step: float, vector: Array) -> tuple[Array, Array, float]:
        """Return Σ Φ[v, x] b_x over the subtree of v, by place, and over all x, by point, and a bound on their error.

        `p` and `q` = 1 - p² are those of the edge to each parent, by place, `step` the relative rounding of one step,
        and `vector` is b, `(n,)` or `(n, k)` by point.
        """
        large = len(vector) >= COMPILED_FROM
        # Compiled loops take one vector at a time; lists of rows all of them at once.
        if large and vector.ndim == 2:
            each = [self.sums(p, q, step, column) for column in vector.T]
            inner, outer, errors = zip(*each, strict=True)
            return np.stack(inner, axis=1), np.stack(outer, axis=1), max(errors)
        given = self.by_place(vector)
        signed = bool((given < 0).any())
        above, p, q = (_entries(values, large) for values in (self.above, p, q))
        sizes = _entries(np.abs(given), large) if signed else None
        errors = _entries(np.zeros_like(given), large)
        sums = _entries(given, large)
        sizes = sums if sizes is None else sizes
        _loop(loops.inwards, large)(above, p, step, sums, sizes, errors, signed)
        inner = np.array(sums)
        _loop(loops.outwards, large)(above, p, q, step, sums, sizes, errors, signed)
        return inner, self.by_point(np.asarray(sums)), float(np.max(errors))

    def closure(self, p: Array, vector: Array) -> Array:
        """Return max_x Φ[x, z] v_x for every z, by point, for v ≥ 0 by point; p of the edges to parents by place."""
        (best,) = _run(loops.closure, len(vector) >= COMPILED_FROM, (self.above, p), (self.by_place(vector),))
        return self.by_point(best)

    def distances(self, lengths: Array, point: int) -> Array:
        """Return the distances `(n,)` from a point, given the lengths of the edges to the parents by place."""
        unknown = np.full(len(lengths), math.inf)
        source = int(self.place[point])
        (away,) = _run(loops.distances, len(lengths) >= COMPILED_FROM, (self.above, lengths, source), (unknown,))
        return self.by_point(away)


def _run(
    loop: Callable[..., None], large: bool, given: tuple[Any, ...], changed: tuple[NDArray[Any], ...]
) -> list[NDArray[Any]]:
    """Run a loop and return its last arguments, the arrays that it changes; the arrays given may be changed too."""
    entries = [_entries(values, large) for values in changed]
    read = [_entries(values, large) if isinstance(values, np.ndarray) else values for values in given]
    _loop(loop, large)(*read, *entries)
    return [np.asarray(values) for values in entries]


def _entries(values: NDArray[Any], large: bool) -> Any:
    """Return values as the loops take them: an array, or a list of numbers or of rows."""
    if large:
        return np.ascontiguousarray(values)
    return values.tolist() if values.ndim == 1 else list(values)


def _loop(loop: Callable[..., None], large: bool) -> Callable[..., None]:
    """Return a loop of `tree_loops` as it is, or its compiled version for a large tree."""
    if not large:
        return loop
    from dxopt.spaces.kernels import compiled_tree_loops as compiled  # which loads Numba

    return getattr(compiled, loop.__name__)
