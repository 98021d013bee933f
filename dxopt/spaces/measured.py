"""Distances between the points of a space, read from a metric, a matrix or a graph, and how a point is named."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.spaces.graphs import Paths
from dxopt.spaces.matrices import Matrix, between, require_few
from dxopt.spaces.metrics import Metric
from dxopt.spaces.naming import Naming


class Measured:
    """The part of `MetricSpace` that reads distances and finds points."""

    labels: Sequence[str]
    points: NDArray | None
    metric: Metric | None
    given: NDArray[np.float64] | Paths | None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def _origin(self) -> str:
        """Describe the distances in a few words."""
        if self.metric is not None:
            return self.metric.name
        return Matrix.origin if self._source is None else self._source.origin

    @cached_property
    def _source(self) -> Matrix | Paths | None:
        """Source of distances that no metric computes."""
        return Matrix(self.given) if isinstance(self.given, np.ndarray) else self.given

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """All distances, `(n, n)`, read-only; entry [x, x'] is d(x, x').

        Raises
        ------
        UnsupportedError
            If there are more than 20,000 points and the matrix was not given; use `row` and `block`.
        """
        if self._source is not None:
            distances = self._source.matrix
        else:
            require_few(len(self))
            distances = self.block(everything := np.arange(len(self)), everything)
        distances.flags.writeable = False
        return distances

    def block(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Distances `(p, q)` from the points `rows` to the points `columns` (indices).

        Examples
        --------
        >>> import dxopt as dx
        >>> dx.line(5).block([0, 1], [3, 4]).tolist()
        [[3.0, 4.0], [2.0, 3.0]]
        """
        rows, columns = np.asarray(rows), np.asarray(columns)
        if self._source is not None:
            return self._source.block(rows, columns)
        return self.distances_to(self._located()[columns], rows)

    def row(self, x: Any = None, *, label: Any = None, index: Any = None, point: Any = None) -> NDArray[np.float64]:
        """Distances `(n,)` from a point, named as for `index`, to every point; in memory for a few arrays of n.

        Raises
        ------
        SpecError
            If there is no such point, or several have that label.

        Examples
        --------
        >>> import dxopt as dx
        >>> dx.grid((2, 2), metric="manhattan").row(label="(0, 0)").tolist()
        [0.0, 1.0, 1.0, 2.0]
        """
        return self._row(self.index(x, label=label, index=index, point=point))

    def _row(self, index: int) -> NDArray[np.float64]:
        if self._source is not None:
            return self._source.row(index)
        return self.distances_to(self._located(), np.array([index]))[0]

    def distances_to(self, targets: NDArray, rows: NDArray | None = None) -> NDArray[np.float64]:
        """Distances `(p, q)` from the points `rows` (all by default) to any points `(q, k)` of the same kind.

        Raises
        ------
        SpecError
            If the space has no metric, as where its distances were given, or come from a graph.

        Examples
        --------
        >>> import dxopt as dx
        >>> import numpy as np
        >>> dx.line(3).distances_to(np.array([[0.5], [10.0]])).tolist()
        [[0.5, 10.0], [0.5, 9.0], [1.5, 8.0]]
        """
        if self.metric is None:
            raise SpecError("reports", "the space has no metric between points", "give the loss as a matrix")
        sources = self._located() if rows is None else self._located()[rows]
        return between(sources, targets, self.metric)

    @cached_property
    def symmetric(self) -> bool:
        """True if d(x, x') = d(x', x) for all pairs, exactly; known at once unless the distances were given."""
        if self._source is not None:
            return self._source.symmetric
        # metrics from elsewhere need not have the attribute
        if getattr(self.metric, "symmetric", False):
            return True
        return bool(np.array_equal(self.distances, self.distances.T))

    @cached_property
    def naming(self) -> Naming:
        """Finds points by label, index or coordinates; `spaces.naming` has the rule."""
        return Naming.of(self.labels, self.points)

    def index(self, name: Any = None, *, label: Any = None, index: Any = None, point: Any = None) -> int:
        """The index of one point, given by its label, its index or its coordinates; `spaces.naming` has the rule.

        Raises
        ------
        SpecError
            If there is no such point, or several have that label.

        Examples
        --------
        >>> import dxopt as dx
        >>> space = dx.line(4, step=5)
        >>> space.index(label="10"), space.index(index=2), space.index(point=10)
        (2, 2, 2)
        """
        return self.naming.one(name, label=label, index=index, point=point, called="point")

    def _located(self) -> NDArray:
        if self.points is None:
            raise SpecError("space", "has no points, only distances", "use its labels or indices")
        return self.points
