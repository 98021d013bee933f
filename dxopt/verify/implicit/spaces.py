"""Spaces as mechanism.npz describes them: points, axes and distances, derived anew."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.files import Arrays, indices, number, numbers
from dxopt.verify.metrics import NORMS, Measured, Points, finite_points, parameters_of, points_of
from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]
PAIRED_POINTS = 3_000
_AXES = 64
_LARGEST = 10**7
_SUMS = ("manhattan", "hamming")


@dataclass(frozen=True, eq=False)
class Space:
    """A space: points `(n, k)` of a metric, a lattice or torus of a shape, parts of a product, or given distances.

    `around` `(k,)` has the lengths of a torus, after which its axes begin again.
    """

    kind: str
    metric: str = ""
    points: Points | None = None
    shape: tuple[int, ...] = ()
    around: Array | None = None
    parts: tuple[Space, ...] = ()
    given: Array | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, arrays: Arrays, prefix: str = "space") -> Space:
        """Return the space of some arrays; Unproved where it is of a kind that is not derived here."""
        kind = str(arrays[f"{prefix}.kind"])
        if kind == "product":
            count = indices(arrays, f"{prefix}.factors", _LARGEST).item()
            return cls(kind, parts=tuple(cls.read(arrays, f"{prefix}.{index}") for index in range(count)))
        if kind == "distances":
            size = len(arrays[f"{prefix}.distances"])
            return cls(kind, given=_valid_distances(numbers(arrays, f"{prefix}.distances", size, size)))
        if kind in ("lattice", "torus"):
            shape = tuple(arrays[f"{prefix}.shape"].tolist())
            spacing = number(arrays, f"{prefix}.spacing")
            if len(shape) > _AXES or math.prod(shape) > _LARGEST:
                raise Unproved(f"a {kind} of {len(shape)} axes and {math.prod(shape):,} points is too large")
            if not shape or min(shape) < 1 or not (math.isfinite(spacing) and spacing > 0):
                raise Broken(f"{prefix}: a {kind} of shape {list(shape)} and spacing {spacing:g}")
            around = np.array(shape) * spacing if kind == "torus" else None
            steps = np.stack(np.unravel_index(np.arange(math.prod(shape)), shape), axis=1).astype(np.float64)
            return cls(kind, str(arrays[f"{prefix}.metric"]), steps * spacing, shape, around)
        if kind == "tree":
            size = len(arrays[f"{prefix}.labels"])
            lengths = numbers(arrays, f"{prefix}.lengths", None)
            edges = indices(arrays, f"{prefix}.edges", size, len(lengths), 2)
            return cls(kind, given=_along_edges(size, edges, lengths))
        if kind != "points":
            raise Unproved(f"distances of a {kind} are not derived")
        points = points_of(arrays, len(arrays[f"{prefix}.labels"]), f"{prefix}.points")
        points = points if points.dtype.kind == "U" else finite_points(points)
        return cls(kind, str(arrays[f"{prefix}.metric"]), points, parameters=parameters_of(arrays, prefix))

    def __len__(self) -> int:
        if self.kind == "product":
            return math.prod(map(len, self.parts))
        return len(self.given if self.points is None else self.points)  # pyright: ignore[reportArgumentType]

    @cached_property
    def line(self) -> Array | None:
        """The coordinate `(n,)`, strictly rising or falling; None where the space is no line."""
        if self.points is None or self.around is not None or self.metric not in NORMS:
            return None
        # a lattice of several axes is a line if at most one of them has more than one point
        long = [axis for axis, size in enumerate(self.shape) if size > 1]
        if self.points.shape[1] != 1 and (self.kind != "lattice" or len(long) > 1):
            return None
        found = self.points[:, long[0] if long else 0]
        steps = np.diff(found)
        return found if (steps > 0).all() or (steps < 0).all() else None

    @cached_property
    def axes(self) -> tuple[Space, ...]:
        """Spaces whose distances sum to those of this one, for all tuples of their points, the last one fastest.

        Itself where it is no such product.
        """
        if self.kind == "product":
            return self.parts
        if self.points is None or self.around is not None or self.metric not in _SUMS:
            return (self,)
        # The values of each coordinate in the order in which they first appear; the points are a product of these if
        # they are all tuples, in the order of a mesh.
        columns = [column[np.sort(np.unique(column, return_index=True)[1])] for column in self.points.T]
        if math.prod(map(len, columns)) != len(self.points):
            return (self,)
        whole = np.meshgrid(*columns, indexing="ij")
        if not np.array_equal(np.stack(whole, axis=-1).reshape(-1, len(columns)), self.points):
            return (self,)
        return tuple(Space("points", self.metric, column[:, None]) for column in columns)

    @cached_property
    def distances(self) -> Array:
        """All distances `(n, n)`; Unproved for too many points, and for metrics that are not derived here."""
        if len(self) > PAIRED_POINTS:
            raise Unproved(f"distances of {len(self):,} points off a line are over the limit of {PAIRED_POINTS:,}")
        if self.given is not None:
            return self.given
        if self.kind == "product":
            shape = tuple(map(len, self.parts))
            coordinates = np.unravel_index(np.arange(len(self)), shape)
            found = np.zeros((len(self), len(self)))
            for part, along in zip(self.parts, coordinates, strict=True):
                found += part.distances[np.ix_(along, along)]
            return found
        measured = self.measured(self.points)
        return np.stack([measured.lengths(x) for x in range(len(self))])

    def measured(self, others: Points | None) -> Measured:
        """Return the distances to other points `(m, k)`, to be computed row by row; Unproved without points."""
        if self.points is None or others is None:
            raise Unproved("there are no points, from which distances would follow")
        return Measured(self.metric, self.parameters, self.points, others, self.around)

    @cached_property
    def places(self) -> Points | None:
        """The coordinates `(n, k)`; of a product, those of its parts side by side. None where a part has none."""
        if self.kind != "product":
            return self.points
        found = [part.places for part in self.parts]
        coordinates = np.unravel_index(np.arange(len(self)), tuple(map(len, self.parts)))
        known = [part[along] for part, along in zip(found, coordinates, strict=True) if part is not None]
        return np.hstack(known) if len(known) == len(found) else None

    @cached_property
    def identity(self) -> bytes:
        """Bytes that only spaces of one size with the same distances share, as a key of what was computed."""
        return b"" if len(self) < 2 else (self.distances if self.line is None else self.line).tobytes()

    @cached_property
    def nearest(self) -> float:
        """The least distance of two points; of a product, of two that differ in one coordinate."""
        if len(self.axes) > 1:
            return min(axis.nearest for axis in self.axes if len(axis) > 1)
        if len(self) < 2:
            return math.inf
        if self.line is not None:
            return float(np.abs(np.diff(self.line)).min())
        return float((self.distances + np.diag(np.full(len(self), np.inf))).min())

    def same(self, other: Space) -> bool:
        """Return whether all distances are those of another space; on lines, whether coordinates are the same."""
        if len(self) != len(other):
            return False
        if self.line is not None and other.line is not None:
            return np.array_equal(self.line, other.line)
        return np.array_equal(self.distances, other.distances)


def _along_edges(size: int, edges: NDArray[np.int64], lengths: Array) -> Array:
    """Return distances `(n, n)` along edges, infinite where none lead (Floyd and Warshall)."""
    found = np.where(np.eye(size, dtype=bool), 0.0, np.inf)
    for ends in (edges, edges[:, ::-1]):
        np.minimum.at(found, (ends[:, 0], ends[:, 1]), lengths)
    for via in range(size):
        np.minimum(found, found[:, via, None] + found[via], out=found)
    return _valid_distances(found)


def _valid_distances(distances: Array) -> Array:
    """Return distances as they are; Broken where some are negative, or not 0 on the diagonal."""
    if (distances < 0).any() or distances.diagonal().any():
        raise Broken("distances: some are negative, or not 0 on the diagonal")
    return distances
