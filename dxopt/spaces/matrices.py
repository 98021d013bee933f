"""Matrices of distances: checked, closed under shortest paths, and read by a space block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import Option, SpecError, UnsupportedError
from dxopt.numerics.given import as_numbers
from dxopt.spaces.metrics import Metric

TRIANGLE_SLACK = 1e-12
MATRIX_POINTS = 20_000
"""The most points of a matrix of distances that is computed, not given: 3.2 GB."""
BLOCK_CELLS = 4_000_000
"""The most numbers of a block of distances: 32 MB."""

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Matrix:
    """Distances that were given, one for each pair of points; a source of distances, as `graphs.Paths` is.

    Attributes
    ----------
    matrix : (n, n) array
    """

    matrix: Array
    origin: ClassVar[str] = "given distances"

    @cached_property
    def symmetric(self) -> bool:
        """Return True if the matrix is its own transpose, exactly."""
        return bool(np.array_equal(self.matrix, self.matrix.T))

    @cached_property
    def nearest(self) -> float:
        """The least distance that is neither 0 nor infinite; infinite where there is none."""
        return least_by_rows(self.block, len(self.matrix))

    def block(self, rows: NDArray, columns: NDArray) -> Array:
        """Distances `(p, q)` from the points `rows` to the points `columns` (indices)."""
        return self.matrix[np.ix_(rows, columns)]

    def row(self, index: int) -> Array:
        """A copy of the distances `(n,)` from one point to every point."""
        return self.matrix[index].copy()


def between(sources: NDArray, targets: NDArray, metric: Metric) -> Array:
    """Distances `(p, q)` between points `(p, k)` and `(q, k)` under a metric prepared for them."""
    # metrics take p·q·k cells of memory: cut rows and columns so that no piece takes more than BLOCK_CELLS
    cells = max(1, BLOCK_CELLS // sources.shape[1])
    wide = max(1, min(len(targets), cells))
    high = max(1, cells // wide)
    distances = np.empty((len(sources), len(targets)))
    for i in range(0, len(sources), high):
        for j in range(0, len(targets), wide):
            distances[i : i + high, j : j + wide] = metric.block(sources[i : i + high], targets[j : j + wide])
    return distances


def least(distances: Array) -> float:
    """The least of some distances that is not 0; infinite where there is none."""
    return float(np.min(distances, where=distances > 0, initial=np.inf))


def least_step(axes: Iterable[Array], ring: float | None = None) -> float:
    """The least distance between neighbours along some axes, and over the seam of each that is closed to a ring.

    Parameters
    ----------
    axes : iterable of (k,) array
        Sorted coordinates.
    ring : float, optional
        The spacing, where axes are closed.
    """
    steps = [np.abs(np.diff(axis)) for axis in axes]
    seams = [] if ring is None else [(len(step) + 1) * ring - step.sum() for step in steps if len(step)]
    return min([*map(least, steps), *seams])


def least_by_rows(block: Callable[[NDArray, NDArray], Array], size: int) -> float:
    """The least distance between `size` points that is not 0, from blocks of whole rows."""
    rows_at_once = max(1, BLOCK_CELLS // size)
    everything = np.arange(size)
    starts = range(0, size, rows_at_once)
    return min(least(block(everything[start : start + rows_at_once], everything)) for start in starts)


def require_few(size: int) -> None:
    """Raise UnsupportedError where points are too many for a matrix of their distances."""
    if size > MATRIX_POINTS:
        raise UnsupportedError(
            "space",
            f"has {size:,} points, too many for a matrix of distances ({MATRIX_POINTS:,} at most)",
            "use fewer, or dx.tight_constraints, which needs no matrix",
        )


class BrokenTriangle(SpecError):
    """Distances that break the triangle inequality."""


def checked_matrix(distances: ArrayLike) -> Array:
    """A copy of square distances; raises SpecError where one is negative or NaN, or the diagonal is not 0."""
    matrix = as_numbers(distances, "distances", "give an n × n array of numbers")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise SpecError("distances", f"have shape {matrix.shape}", "give a square matrix")
    for bad, wrong in ((np.isnan(matrix), "is not a number"), (matrix < 0, "is negative")):
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise SpecError("distances", f"entry [{row}, {column}] {wrong}", "distances are 0 or more, or inf")
    if np.diagonal(matrix).any():
        row = int(np.flatnonzero(np.diagonal(matrix))[0])
        raise SpecError("distances", f"entry [{row}, {row}] is {matrix[row, row]:g}", "the diagonal must be 0")
    return matrix


def metric_matrix(matrix: Array, names: Sequence[str], *, close: bool, slack: float = 0.0) -> Array:
    """The same distances where they obey the triangle inequality, else their closure if `close` is set.

    Raises
    ------
    BrokenTriangle
        If they do not, by more than 1e-12 relative and `slack`, and `close` is not set; the message names the three
        points.
    """
    broken = _triangle_violation(matrix, slack)
    if broken is None:
        return matrix
    if close:
        return path_closure(matrix)
    i, j, k = broken
    a, b, c = (names[index] for index in broken)
    raise BrokenTriangle(
        "distances",
        f"d({a}, {c}) = {matrix[i, k]:.6g} exceeds d({a}, {b}) + d({b}, {c}) = {matrix[i, j] + matrix[j, k]:.6g}",
        "mend the triangle inequality, or give ",
        Option("close", True),
    )


def require_triangles(matrix: Array, names: Sequence[str]) -> None:
    """Raise SpecError where distances that were computed break the triangle inequality.

    Rounding may break it by 1e-12 relative, and by as much of the largest finite distance.
    """
    largest = float(np.max(matrix, where=np.isfinite(matrix), initial=0.0))
    broken = _triangle_violation(matrix, TRIANGLE_SLACK * largest)
    if broken is not None:
        a, b, c = (names[index] for index in broken)
        raise SpecError("distances", f"d({a}, {c}) exceeds d({a}, {b}) + d({b}, {c})", "solve the problem again")


def _triangle_violation(matrix: Array, slack: float = 0.0) -> tuple[int, int, int] | None:
    """Indices (a, b, c) with d(a, c) > d(a, b) + d(b, c) beyond rounding and some slack, or None."""
    for via in range(len(matrix)):
        detour = matrix[:, via, None] + matrix[None, via, :]
        bad = matrix > detour * (1 + TRIANGLE_SLACK) + slack
        if bad.any():
            start, end = np.argwhere(bad)[0]
            return int(start), via, int(end)
    return None


def path_closure(lengths: Array) -> Array:
    """Lengths `(n, n)` of shortest paths, where a step from i to j is `lengths[i, j]` long."""
    # Floyd and Warshall: after round k, `closed` has the shortest paths whose inner points are among the first k
    closed = lengths.copy()
    for via in range(len(closed)):
        np.minimum(closed, closed[:, via, None] + closed[None, via, :], out=closed)
    return closed
