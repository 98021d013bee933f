"""Metric spaces: a finite set of secrets, and the distances that say which of them must look alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, required
from dxopt.numerics.coerce import checked_count, require_same_rows, require_values
from dxopt.spaces.callables import Called, Distance, called_matrix
from dxopt.spaces.distances import (
    Paths,
    between,
    checked_matrix,
    least_by_rows,
    least_step,
    metric_matrix,
    nodes_and_edges,
    require_few,
)
from dxopt.spaces.labels import Coordinates
from dxopt.spaces.metrics import NORMS, Hamming, Manhattan, Metric, NormalisedManhattan, OnEarth, metric_named
from dxopt.spaces.naming import Naming, checked_labels
from dxopt.spaces.positions import Positions, coordinates, located_under, names_of
from dxopt.spaces.units import in_unit, unit_of

if TYPE_CHECKING:
    import networkx as nx


def product_columns(points: NDArray, metric: Metric) -> list[NDArray] | None:
    """Return the values of each column where points `(n, k)` are a product under a prepared metric, else None.

    A full product of two or more columns, the last one fastest, is one under hamming, manhattan and
    normalised_manhattan, which are sums over columns. Values that repeat are left to methods that join points at
    distance 0.
    """
    if points.shape[1] == 1 or not isinstance(metric, Hamming | Manhattan | NormalisedManhattan):
        return None
    columns: list[NDArray] = []
    inner = 1
    for column in points.T[::-1]:
        # in a product a column keeps its value while the columns to its right run through their `inner` combinations
        values = column[::inner]
        # and starts anew when its first value comes back
        again = np.flatnonzero(values[1:] == values[0])
        columns.insert(0, values[: again[0] + 1] if len(again) else values)
        if len(set(columns[0].tolist())) < len(columns[0]):
            return None
        inner *= len(columns[0])
    shape = [len(values) for values in columns]
    if math.prod(shape) != len(points) or sum(size > 1 for size in shape) < 2:
        return None
    return columns if (points == combined([values[:, None] for values in columns])).all() else None


def combined(parts: Sequence[NDArray]) -> NDArray:
    """Put the coordinates `(n_i, k_i)` of all combinations side by side, the last part fastest; read-only."""
    shape = [len(part) for part in parts]
    points = np.empty((*shape, sum(part.shape[1] for part in parts)), parts[0].dtype)
    column = 0
    for axis, part in enumerate(parts):
        width = part.shape[1]
        points[..., column : column + width] = part.reshape(-1, *[1] * (len(parts) - axis - 1), width)
        column += width
    points = points.reshape(math.prod(shape), -1)
    points.flags.writeable = False
    return points


Kind = Literal["general", "path", "lattice", "torus", "graph", "tree", "product"]


@dataclass(frozen=True, eq=False)
class Structure:
    """The kind of a space, and what is known of that kind; formulations and solvers choose by it.

    Attributes
    ----------
    kind : str
        path: one coordinate, strictly rising or falling. lattice, torus: a regular grid under a norm, open or closed
        to a ring along each axis. product: all tuples of the factors' points, the last factor fastest, under the sum
        of the factors' distances. tree: shortest paths in an undirected graph without cycles, with positive lengths;
        it may have several components. graph: shortest paths in any other graph. general: none of these.
    shape : tuple of int
        Points along each axis (lattice, torus, path), or of each factor (product).
    spacing : float
        Of a lattice, a torus or an even path.
    factors : tuple of MetricSpace
        Of a product.
    edges, lengths : (m, 2) int64 array, (m,) array
        The two ends of each edge of a tree, and its length, positive.
    """

    kind: Kind = "general"
    shape: tuple[int, ...] = ()
    spacing: float = 1.0
    factors: tuple[MetricSpace, ...] = field(default=(), repr=False)
    edges: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), np.int64), repr=False)
    lengths: NDArray[np.float64] = field(default_factory=lambda: np.empty(0), repr=False)

    @property
    def ticks(self) -> tuple[NDArray[np.float64], ...]:
        """The coordinates along each axis of a lattice, a torus or an even path that starts at 0."""
        return tuple(np.arange(size, dtype=float) * self.spacing for size in self.shape)


@dataclass(frozen=True, eq=False)
class MetricSpace:
    """A finite extended, pseudo- or quasi-metric space (CABP13 §3).

    Distances are unscaled: a `Problem` multiplies them by ε. Infinite means no constraint between the two;
    0 between different points forces them to be reported alike; asymmetric distances are one-sided.
    Build one with `from_points`, `from_distances`, `from_graph`, `line`, `grid`, `torus` or `product`.

    Attributes
    ----------
    labels : sequence of str, length n
        A tuple, or computed from indices or coordinates on demand where no labels were given.
    points : (n, k) array or None
    metric : Metric or None
        None where distances were given, come from a graph, or are sums over factors.
    positions : Positions or None
        Where the points are on the Earth, where `points` are not in degrees; see `spaces.geo`.
    axes : tuple of str
        What the coordinates are called, where a data frame or a file says so.
    unit : str
        Of the distances, such as "km" or "people", for texts alone; "" where it is not known.

    Examples
    --------
    >>> import dxopt as dx
    >>> town = dx.grid((2, 3), spacing=0.5)
    >>> print(len(town.labels), town.labels[0], town.labels[5])
    6 (0, 0) (1, 2)
    >>> print(town.distances[0].round(2).tolist())
    [0.0, 0.5, 1.0, 0.5, 0.71, 1.12]
    >>> print(town.symmetric, float(town.nearest))
    True 0.5
    """

    labels: Sequence[str]
    points: NDArray | None = None
    metric: Metric | None = None
    structure: Structure = field(default_factory=Structure)
    given: NDArray[np.float64] | Paths | None = field(default=None, repr=False)
    positions: Positions | None = field(default=None, repr=False, kw_only=True)
    axes: tuple[str, ...] = field(default=(), repr=False, kw_only=True)
    unit: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        parts = [factor.unit for factor in self.structure.factors]
        # ways along roads may be in minutes, but not in miles where their ends are in km
        if self.positions is not None and (self.points is not None or self.unit in OnEarth.units):
            parts.append(self.positions.unit)
        object.__setattr__(self, "unit", unit_of(self.unit, self.metric, parts))

    def __repr__(self) -> str:
        distances = f"{self._distances_text}{in_unit(self.unit)}"
        return f"<MetricSpace of {len(self)} points, {distances}, {self.structure.kind}>"

    @cached_property
    def nearest(self) -> float:
        """The least distance that is neither 0 nor infinite, in O(n) by structure, else O(n²); inf without one."""
        structure = self.structure
        if structure.kind == "product":
            return min(factor.nearest for factor in structure.factors)
        if structure.kind in ("lattice", "torus"):
            return least_step(structure.ticks, structure.spacing if structure.kind == "torus" else None)
        if structure.kind == "path":
            return least_step([self._located()[:, 0]])
        return self.given.nearest if isinstance(self.given, Paths) else least_by_rows(self.block, len(self))

    @classmethod
    def from_points(
        cls,
        points: ArrayLike,
        metric: str | Metric | Distance = "euclidean",
        *,
        labels: Sequence[Any] | None = None,
        unit: str = "",
    ) -> MetricSpace:
        """Make a space of coordinates; a sorted line or a full product under a sum over columns is recognised.

        Parameters
        ----------
        points : (n, k) array or data frame, or (n,) for one coordinate; or points of GeoPandas in any CRS
        metric : str, Metric or callable
            A registered name, a metric object, or a function of two points, called for each pair of up to 2,000.
        unit : str
            What distances are in. On the Earth it is "km", "m" or "mi", and distances are computed in it.
        labels : sequence, optional
            A name for each point; by default its coordinates, in 10 digits or as many more as tell points apart,
            and with a number where others have the same ones.

        Raises
        ------
        SpecError
            If the points do not suit the metric, as columns of (longitude, latitude) do not suit haversine.

        Examples
        --------
        >>> import dxopt as dx
        >>> places = dx.MetricSpace.from_points([[0, 0], [3, 4], [6, 0]], labels=["home", "work", "gym"])
        >>> places.row(label="home").tolist()
        [0.0, 5.0, 6.0]
        >>> salaries = dx.MetricSpace.from_points([20, 30, 50], lambda x, y: abs(x - y) / 10)
        >>> salaries.distances.tolist()
        [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
        """
        located = located_under(points, metric)
        require_same_rows(points, labels, "labels")
        names = Coordinates(located) if labels is None else checked_labels(labels, len(located))
        axes = names_of(points)
        if (called := Called.of(metric, points)) is not None:
            return cls(names, located, called, given=called_matrix(called, located, names), axes=axes, unit=unit)
        prepared = metric_named(metric, unit).prepare(located)  # pyright: ignore[reportArgumentType]
        return cls(names, located, prepared, _recognised(located, prepared, unit), axes=axes, unit=unit)

    @classmethod
    def from_distances(
        cls, distances: ArrayLike, *, close: bool = False, labels: Sequence[Any] | None = None, unit: str = ""
    ) -> MetricSpace:
        """Make a space of a matrix of distances; may be asymmetric, infinite, or 0 off the diagonal.

        Parameters
        ----------
        distances : (n, n) array
        close : bool
            Replace distances that break the triangle inequality by their shortest-path closure, which induces the
            same constraints.
        labels : sequence, optional
            A name for each point; 0, 1, … by default.
        unit : str
            What distances are in.

        Raises
        ------
        SpecError
            If entries are negative or NaN, the diagonal is not 0, or the triangle inequality fails by more than
            1e-12 relative.

        Examples
        --------
        >>> import dxopt as dx
        >>> one_way = dx.MetricSpace.from_distances([[0, 1], [3, 0]], labels=["A", "B"])
        >>> one_way.symmetric
        False
        >>> shortcut = dx.MetricSpace.from_distances([[0, 1, 9], [1, 0, 1], [9, 1, 0]], close=True)
        >>> float(shortcut.distances[0, 2])
        2.0
        """
        matrix = checked_matrix(distances)
        names = checked_labels(labels if labels is not None else range(len(matrix)), len(matrix))
        matrix = metric_matrix(matrix, names, close=close)
        matrix.flags.writeable = False
        return cls(names, given=matrix, unit=unit)

    @classmethod
    def from_graph(cls, graph: nx.Graph | nx.DiGraph, weight: str | None = None, *, unit: str = "") -> MetricSpace:
        """Make a space of shortest paths in a networkx graph (CABP13 §2), computed when they are read.

        Parameters
        ----------
        graph : networkx graph
            Directed graphs give asymmetric distances; points that no path joins are infinitely far apart.
            Of parallel edges the shortest counts. An undirected graph without cycles and without lengths of 0 is
            a tree, in one or several components.
        weight : str, optional
            Edge attribute that holds the length; every edge counts 1 without it.
        unit : str
            What lengths are in.

        Raises
        ------
        SpecError
            If it is no graph, it is empty, two nodes are the same as text, or a length is missing, negative or not
            finite.

        Examples
        --------
        >>> import dxopt as dx
        >>> import networkx as nx
        >>> space = dx.MetricSpace.from_graph(nx.path_graph(["A", "B", "C"]))
        >>> space.row(label="A").tolist()
        [0.0, 1.0, 2.0]
        """
        names, edges, lengths = nodes_and_edges(graph, weight)
        names = checked_labels(names, len(names))
        return space_of_edges(names, edges, lengths, directed=graph.is_directed(), unit=unit)

    def thinned(self, count: int) -> tuple[MetricSpace, NDArray[np.int64]]:
        """Return a space of some of the points, far from each other, and which of them is nearest to each point.

        The first point is the first of all, and each next one the farthest from those before, which is within twice
        the least possible distance. It takes all distances, 8 n² bytes.

        Parameters
        ----------
        count : int
            How many points to keep, from 1 to n.

        Returns
        -------
        space : MetricSpace
            The points that are kept, in their order, with their labels; without the areas that cells stand for.
        nearest : (n,) array
            The index in it of the point nearest to each point, by which weights of all are added up.

        Raises
        ------
        SpecError
            If there are fewer points.

        Examples
        --------
        >>> import dxopt as dx
        >>> import numpy as np
        >>> stops = dx.MetricSpace.from_points([[0, 0], [0, 1], [5, 0], [5, 1], [9, 9]])
        >>> few, nearest = stops.thinned(3)
        >>> print(list(few.labels), nearest.tolist())
        ['(0, 0)', '(5, 1)', '(9, 9)'] [0, 0, 1, 1, 2]
        >>> prior = dx.Prior.from_weights(few, np.bincount(nearest, weights=[10, 20, 5, 5, 1]))
        """
        from dxopt.numerics.farthest_first import farthest_first

        kept = checked_count("count", count, most=len(self))
        seeds, index, _ = farthest_first(self.distances, kept, kept, 0.0)
        order = np.argsort(seeds)
        chosen = seeds[order]
        labels = [self.labels[int(one)] for one in chosen]
        nearest = np.argsort(order)[index]
        if self.points is not None and self.metric is not None and not isinstance(self.metric, Called):
            few = MetricSpace.from_points(self.points[chosen], self.metric, labels=labels, unit=self.unit)
        else:
            few = MetricSpace.from_distances(self.block(chosen, chosen), labels=labels, unit=self.unit)
        where = self.positions and replace(self.positions, degrees=self.positions.degrees[chosen], outlines=None)
        return replace(few, positions=where, axes=self.axes), nearest

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def _distances_text(self) -> str:
        """The distances in a few words, for `repr`: the name of their metric, or where they come from."""
        if self.metric is not None:
            return self.metric.name
        return "shortest paths" if isinstance(self.given, Paths) else "given distances"

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """All distances, `(n, n)`, read-only; entry [x, x'] is d(x, x').

        Raises
        ------
        UnsupportedError
            If there are more than 20,000 points and the matrix was not given; use `row` and `block`.
        """
        distances = self.given.matrix if isinstance(self.given, Paths) else self.given
        if distances is None:
            require_few(len(self))
            distances = self.block(everything := np.arange(len(self)), everything)
        distances.flags.writeable = False
        return distances

    def block(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Return the distances `(p, q)` from the points `rows` to the points `columns` (indices).

        Raises
        ------
        SpecError
            If one is no index.

        Examples
        --------
        >>> import dxopt as dx
        >>> dx.line(5).block([0, 1], [3, 4]).tolist()
        [[3.0, 4.0], [2.0, 3.0]]
        """
        rows, columns = self._indices(rows, "rows"), self._indices(columns, "columns")
        if isinstance(self.given, Paths):
            return self.given.block(rows, columns)
        if self.given is not None:
            return self.given[np.ix_(rows, columns)]
        return between(self._located()[rows], self._located()[columns], self._metric)

    def row(self, x: Any = None, *, label: Any = None, index: Any = None, point: Any = None) -> NDArray[np.float64]:
        """Return the distances `(n,)` from a point, named as for `index`, to every point, in O(n) memory.

        Examples
        --------
        >>> import dxopt as dx
        >>> dx.grid((2, 2), metric="manhattan").row(label="(0, 0)").tolist()
        [0.0, 1.0, 1.0, 2.0]
        """
        return self._row(self.index(x, label=label, index=index, point=point))

    def _row(self, index: int) -> NDArray[np.float64]:
        if self.given is not None:
            return self.block([index], np.arange(len(self)))[0]
        return between(self._located()[[index]], self._located(), self._metric)[0]

    def _indices(self, given: ArrayLike, field: str) -> NDArray[np.int64]:
        """Return indices `(p,)` of points; SpecError where one is none."""
        require_values(given, field)
        found = np.asarray(given)
        whole = found.ndim == 1 and found.dtype.kind in "iu"
        if found.shape == (0,) or (whole and found.min() >= 0 and found.max() < len(self)):
            return found.astype(np.int64, copy=False)
        raise SpecError(field, "are no indices of points", f"give whole numbers from 0 to {len(self) - 1}")

    @property
    def _metric(self) -> Metric:
        """The metric; SpecError where there is none."""
        if self.metric is None:
            raise SpecError("reports", "the space has no metric between points", "give the loss as a matrix")
        return self.metric

    def distances_to(self, targets: ArrayLike, rows: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the distances `(p, q)` from the points `rows`, by default all, to any points `(q, k)` of this kind.

        Raises
        ------
        SpecError
            If the space has no metric, as where its distances were given, or come from a graph; if targets are no
            finite coordinates, as many as points have; if a row is no index.

        Examples
        --------
        >>> import dxopt as dx
        >>> import numpy as np
        >>> dx.line(3).distances_to(np.array([[0.5], [10.0]])).tolist()
        [[0.5, 10.0], [0.5, 9.0], [1.5, 8.0]]
        """
        metric, points = self._metric, self._located()
        sources = points if rows is None else points[self._indices(rows, "rows")]
        return between(sources, self._targets(targets), metric)

    def _targets(self, given: ArrayLike) -> NDArray:
        """Return rows of coordinates `(q, k)` of the kind that points have; SpecError where they are none."""
        points = self._located()
        if points.dtype.kind == "f":
            return coordinates(given, points.shape[1], "targets")
        require_values(given, "targets")
        found = np.asarray(given)
        if found.ndim != 2 or found.shape[1] != points.shape[1]:
            fix = f"give rows of {points.shape[1]} coordinates"
            raise SpecError("targets", f"have shape {found.shape}", fix)
        return found

    @cached_property
    def symmetric(self) -> bool:
        """True if d(x, x') = d(x', x) for all pairs, exactly; known at once unless the distances were given."""
        # metrics from elsewhere need not have the attribute
        undirected = isinstance(self.given, Paths) and not self.given.directed
        if undirected or getattr(self.metric, "symmetric", False):
            return True
        return bool(np.array_equal(self.distances, self.distances.T))

    @cached_property
    def naming(self) -> Naming:
        """Finder of points by label, index or coordinates."""
        return Naming(self.labels, self.points)

    def index(self, name: Any = None, *, label: Any = None, index: Any = None, point: Any = None) -> int:
        """Return the index of one point, given by its label, its index or its coordinates; see `spaces.naming`.

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
        """Return the points; SpecError where the space has only distances."""
        if self.points is None:
            raise SpecError("space", "has no points, only distances", "use its labels or indices")
        return self.points


def required_space(space: Any, field: str = "space") -> None:
    """Raise SpecError unless a space is given."""
    required(field, space, MetricSpace, "give a dx.MetricSpace, such as dx.line(5)")


def _recognised(points: NDArray, metric: Metric, unit: str) -> Structure:
    """Return the path or product that points `(n, k)` are under a metric prepared for them; else no structure."""
    if points.shape[1] == 1 and metric.name in NORMS:
        steps = np.diff(points[:, 0])
        if (steps > 0).all() or (steps < 0).all():
            return Structure("path", (len(points),))
    columns = product_columns(points, metric)
    if columns is None:
        return Structure()
    factors = tuple(MetricSpace.from_points(column, metric, unit=unit) for column in columns)
    return Structure("product", tuple(map(len, factors)), factors=factors)


def space_of_edges(
    labels: Sequence[str], edges: NDArray[np.int64], lengths: NDArray[np.float64], *, directed: bool, unit: str
) -> MetricSpace:
    """Return the space of shortest paths along edges `(m, 2)` of some lengths `(m,)` between points with labels."""
    edges.flags.writeable = lengths.flags.writeable = False
    paths = Paths.along(edges, lengths, len(labels), directed=directed)
    structure = Structure("tree", edges=edges, lengths=lengths) if paths.is_forest() else Structure("graph")
    return MetricSpace(labels, structure=structure, given=paths, unit=unit)
