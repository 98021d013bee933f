"""Spaces and reports as a problem file describes them."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic_core import PydanticCustomError

from dxopt.model.loss import Reports
from dxopt.runtime.reading import MOST_GRAPH, content
from dxopt.spaces import geo
from dxopt.spaces.embeddings import embedding
from dxopt.spaces.geo.hexagons import advise, cell_count
from dxopt.spaces.lattices import grid, line, torus
from dxopt.spaces.metrics import METRICS_ON_EARTH, OnEarth
from dxopt.spaces.positions import require_same_order
from dxopt.spaces.space import MetricSpace
from dxopt.spec import spaces as m
from dxopt.spec import universes as u
from dxopt.spec.fields import MAX_LOCATIONS, LatLon, Point, number, too_many
from dxopt.spec.source import Blame, Source, SpecFileError, readable
from dxopt.spec.tables import Column, Matrix, Table, columns_of
from dxopt.spec.universes import Answers

if TYPE_CHECKING:
    import networkx as nx


M = TypeVar("M", bound=Sized)
_SMALLER = ("nodes", "give a smaller graph")


@dataclass(frozen=True)
class Secrets:
    """A space, and which rows of which CSV file its points come from, where they come from one."""

    space: MetricSpace
    table: Table | None = None
    rows: Sequence[int] = ()


def _has_finite_distances(space: MetricSpace) -> bool:
    """Tell whether all distances are finite; a regular space has its largest one from the first point."""
    regular = space.structure.kind in ("path", "lattice", "torus")
    return bool(np.isfinite(space.row(index=0) if regular else space.distances).all())


def point_named(space: MetricSpace, name: str | int | Point) -> int:
    """Return the index of the point with a label, or of a section with one of `label`, `index` and `point`."""
    if not isinstance(name, Point):
        return space.index(name)
    return space.index(**{key: getattr(name, key) for key in name.model_fields_set})


def build_space(source: Source, asked: m.Space) -> Secrets:
    """Build the space of the key `space`; errors of the library get their position in the file."""
    with source.within("space", keys=type(asked).model_fields):
        secrets = _build_kind(source, asked)
        if asked.unit and secrets.space.unit != asked.unit:
            secrets = replace(secrets, space=replace(secrets.space, unit=asked.unit))
        # without a metric, as of a graph, distances may be infinite; with one they are so only by overflow
        if secrets.space.metric is not None and not _has_finite_distances(secrets.space):
            raise source.error(("space",), "has distances too large for a number", "use a larger unit")
    return secrets


def build_reports(source: Source, asked: m.Reports, space: MetricSpace) -> Reports:
    """Build the reports of the key `reports`, in the coordinates of the space, so that losses can be computed."""
    if isinstance(asked, m.ReportsWithin):
        with source.within("reports"):
            return Reports.within(space, source.resolve(asked.area))
    if space.points is None:
        raise source.error(
            ("reports",), "need a space with coordinates", "leave them out; a matrix loss may have any columns"
        )
    if space.positions is not None and not isinstance(space.metric, OnEarth):
        raise source.error(("reports",), "do not go with a projected space", "leave out project: true")
    as_text = not np.issubdtype(space.points.dtype, np.number)
    with source.within("reports"):
        if isinstance(asked, m.ReportsFile):
            columns = columns_of(asked.columns, partial(source.blame, "reports"))
            names = [column.name for column in columns]
            blame = source.blame("reports", "file")
            table = Table.read(source.resolve(asked.file), blame, asked, names, most_rows=MAX_LOCATIONS)
            require_same_order(names, space.axes, "columns")
            points = _coordinates(table, columns, range(len(table)), as_text, earth=isinstance(space.metric, OnEarth))
        else:
            points = _cell_array(asked.values, "reports", source, as_text)
        if points.shape[1] != space.points.shape[1]:
            wrong = f"have {points.shape[1]} coordinates where the space has {space.points.shape[1]}"
            key = "columns" if isinstance(asked, m.ReportsFile) else "values"
            raise source.error(("reports", key), wrong, "give the same number")
        if isinstance(space.metric, OnEarth):
            space.metric.prepare(points)  # refuses what is no latitude and longitude
        return Reports.at(points)


def _build_kind(source: Source, asked: m.Space) -> Secrets:
    """Build the space of each kind; `build_space` then sets its unit and refuses infinite distances."""
    match asked:
        case m.PointsFile():
            return _from_table(source, asked)
        case m.PointsValues():
            as_text = m.takes_text(asked.metric) and any(isinstance(c, str) for row in asked.values for c in row)
            return Secrets(_space_of_points(asked, _cell_array(asked.values, "space", source, as_text)))
        case m.Embedding():
            given = asked.model_dump(include={"top", "words", "normalise", "metric"})
            space = embedding(source.resolve(asked.file), **given)
            return Secrets(_require_few_points(space, source, "file", "words", "give top or words"))
        case m.Lattice():
            make = grid if asked.kind == "grid" else torus
            return Secrets(make(asked.shape, spacing=asked.spacing, metric=asked.metric))
        case m.Line():
            return Secrets(line(asked.size, step=asked.step))
        case m.GraphFile():
            graph = _require_few_points(_read_graph(source, asked), source, "file", *_SMALLER)
            return Secrets(MetricSpace.from_graph(graph, asked.weight))
        case m.GraphEdges():
            graph = _graph_of_edges(asked.edges, directed=asked.directed)
            return Secrets(MetricSpace.from_graph(_require_few_points(graph, source, "edges", *_SMALLER), "length"))
        case m.DistancesFile():
            blame = source.blame("space", "file")
            found = Matrix.read(source.resolve(asked.file), blame, asked, most_rows=MAX_LOCATIONS, square=True)
            labels = found.labels(blame)
            if labels is not None and asked.labels is not None:
                raise source.error(("space", "labels"), f"{found.file} has names already", "leave them out")
            labels = labels or asked.labels
            return Secrets(MetricSpace.from_distances(found.numbers, labels=labels, close=asked.close))
        case m.DistancesValues():
            return Secrets(MetricSpace.from_distances(asked.values, labels=asked.labels, close=asked.close))
        case m.BoundingBox() | m.H3Box() | m.H3Cells() | m.Roads():
            return Secrets(_space_on_earth(source, asked))
        case u.Databases() | u.Graphs() | u.Streams() | u.Words():
            return Secrets(asked.space(asked.universe()))
        case Answers():
            with source.within("space", "universe"):
                universe = asked.universe.universe()
                secrets = asked.universe.space(universe) if asked.induced else None
            query = asked.query_on(universe)
            return Secrets(query.space(asked.metric) if secrets is None else query.induced(secrets))


def _space_of_points(
    asked: m.PointsFile | m.PointsValues, points: NDArray[Any], labels: Sequence[str] | None = None
) -> MetricSpace:
    """Build a space from coordinates; elsewhere than on the Earth, columns of a file are the names of its axes."""
    if asked.metric in METRICS_ON_EARTH:
        return geo.points(points, labels=labels, project=asked.project, unit=asked.unit or "km", metric=asked.metric)
    axes = tuple(asked.columns) if isinstance(asked, m.PointsFile) and not isinstance(asked.columns, LatLon) else ()
    return replace(MetricSpace.from_points(points, asked.metric, labels=labels), axes=axes)


def _space_on_earth(source: Source, asked: m.BoundingBox | m.H3Box | m.H3Cells | m.Roads) -> MetricSpace:
    """Build a space of places on the Earth; refuse too many of them, with the key that makes them fewer."""
    match asked:
        case m.BoundingBox():
            key, fix = "shape" if asked.spacing is None else "spacing", "check the corners, or ask for larger cells"
            space = geo.bounding_grid(**asked.model_dump(exclude={"kind"}))
        case m.H3Box():
            key, fix = "resolution", advise(asked.box, MAX_LOCATIONS)
            cells = cell_count(asked.box, asked.resolution)
            # far too many to list: the count is an estimate, and `_require_few_points` below is exact
            if cells > 2 * MAX_LOCATIONS:
                raise source.error(("space", key), too_many(round(cells), "cells or so"), fix)
            space = geo.h3_cells(asked.resolution, box=asked.box, unit=asked.unit, metric=asked.metric)
        case m.H3Cells():  # whose schema allows no more cells than the limit
            return geo.h3_cells(cells=asked.cells, unit=asked.unit, metric=asked.metric)
        case m.Roads():
            key, fix = "file", "give a smaller network"
            given = asked.model_dump(include={"weight", "unit", "directed", "largest"})
            space = geo.roads(source.resolve(asked.file), **given)
    return _require_few_points(space, source, key, "locations", fix)


def _from_table(source: Source, asked: m.PointsFile) -> Secrets:
    """Build a space from rows of a CSV file, and keep table and rows: a prior may come from another column."""
    most = MAX_LOCATIONS if asked.top is None else None
    count, _, by = (asked.top or "").partition(" by ")
    columns = columns_of(asked.columns, partial(source.blame, "space"))
    names = [asked.label, by or None, *(column.name for column in columns)]
    table = Table.read(source.resolve(asked.file), source.blame("space", "file"), asked, names, most_rows=most)
    rows = range(len(table))
    if asked.top is not None:
        if int(count) > MAX_LOCATIONS:
            raise source.error(("space", "top"), too_many(int(count), "locations"), "ask for fewer")
        rows = table.largest(int(count), by, source.blame("space", "top"))
    labels = None
    if asked.label is not None:
        blame = source.blame("space", "label")
        cells = table.column(asked.label, blame)
        labels = [cells[row] for row in rows]
        _require_distinct(labels, rows, table, blame)
    as_text = None if m.takes_text(asked.metric) else False  # None: text only if some cells are no numbers
    points = _coordinates(table, columns, rows, as_text, earth=asked.metric in METRICS_ON_EARTH)
    return Secrets(_space_of_points(asked, points, labels), table, rows)


def _require_distinct(labels: Sequence[str], rows: Sequence[int], table: Table, blame: Blame) -> None:
    """Refuse labels of which two are the same, by the line of the second."""
    met: set[str] = set()
    for label, row in zip(labels, rows, strict=True):
        if label in met:
            raise blame(f"{table.name} line {table.lines[row]} has {label!r} again", "give each point its own label")
        met.add(label)


def _coordinates(
    table: Table, columns: Sequence[Column], rows: Sequence[int], as_text: bool | None, *, earth: bool
) -> NDArray[Any]:
    """Return chosen rows of the columns, `(n, k)`: numbers, text, or (None) text only if not all are numbers."""
    cells = [table.column(column.name, column.blame) for column in columns]
    if not as_text:
        try:
            return table.places(columns, rows, earth=earth)
        except SpecFileError:
            if as_text is False:
                raise
    return np.array([[column[row] for column in cells] for row in rows])


def _cell_array(values: list[list[str | int | float]], section: str, source: Source, as_text: bool) -> NDArray[Any]:
    """Return cells that are written out as an array of text or of numbers; an error points at its cell."""
    if as_text:
        return np.array([[str(cell) for cell in row] for row in values])
    try:
        return np.array([[number(cell, i, j) for j, cell in enumerate(row)] for i, row in enumerate(values)])
    except PydanticCustomError as error:
        found = error.context or {}
        raise source.error((section, "values", *found["at"]), found["wrong"], found["fix"]) from None


def _read_graph(source: Source, asked: m.GraphFile) -> nx.Graph:
    """Read a graph from GraphML, or from a CSV file of edges, whose first two columns are the ends of each."""
    blame = source.blame("space", "file")
    if asked.is_csv:
        table = Table.read(source.resolve(asked.file), blame, asked, [asked.weight])
        if len(table.text.names) < 2:
            raise blame(f"{table.name} has one column", "give the two ends of each edge in the first two")
        ends = [[row[0].strip(), row[1].strip()] for row in table.rows]
        lengths = np.ones(len(table))
        if asked.weight is not None:
            lengths = table.numbers(asked.weight, source.blame("space", "weight"))
        edges = [(a, b, float(length)) for (a, b), length in zip(ends, lengths, strict=True)]
        return _graph_of_edges(edges, directed=bool(asked.directed), attribute=asked.weight or "length")
    import networkx as nx

    path = source.resolve(asked.file)
    with readable(path, blame, Exception):  # the reader of GraphML lets whatever it meets escape
        return nx.read_graphml(BytesIO(content(path, MOST_GRAPH)))


def _graph_of_edges(edges: list[tuple[str, str, float]], *, directed: bool, attribute: str = "length") -> nx.Graph:
    """Build a graph of edges; a multigraph, so that of parallel edges the shortest counts and not the last."""

    import networkx as nx

    graph = nx.MultiDiGraph() if directed else nx.MultiGraph()
    graph.add_weighted_edges_from(edges, weight=attribute)
    return graph


def _require_few_points(found: M, source: Source, key: str, noun: str, fix: str) -> M:
    """Return a space or a graph; refuse one with more points than the limit, by an error at the key `key`."""
    if len(found) > MAX_LOCATIONS:
        raise source.error(("space", key), too_many(len(found), noun), fix)
    return found
