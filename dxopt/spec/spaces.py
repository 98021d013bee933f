"""The kinds of space a problem file may ask for."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from dxopt.spaces.geo import Box
from dxopt.spaces.metrics import METRICS, METRICS_ON_EARTH
from dxopt.spec import fields as f
from dxopt.spec import universes as u
from dxopt.spec.fields import bad
from dxopt.spec.universes import Answers

Latitude = Annotated[float, Field(ge=-90, le=90), f.Written()]
Longitude = Annotated[float, Field(ge=-180, le=180), f.Written()]
Labels = Annotated[list[f.Label], Field(min_length=1, max_length=f.MAX_LOCATIONS)]
LABELS = "A name for each point, in the order of the rows, where the matrix has none; 0, 1, … by default."
UNIT = "Unit of the distances; km by default."
METRIC = "Distances on a sphere, on a sphere and never too long, or on the ellipsoid WGS 84 (needs dxopt[geo])."


class _Boxed(f.Section):
    """An area on the Earth between two latitudes and two longitudes."""

    south: Latitude = Field(description="Southern side, a latitude in degrees.")
    west: Longitude = Field(description="Western side, a longitude in degrees; above east to cross 180 degrees.")
    north: Latitude = Field(description="Northern side, a latitude in degrees.")
    east: Longitude = Field(description="Eastern side, a longitude in degrees.")
    unit: f.UnitOnEarth = Field("km", description=UNIT)
    metric: f.EarthMetric = Field("haversine", description=METRIC)

    @property
    def box(self) -> Box:
        """The area."""
        return Box(self.south, self.west, self.north, self.east)


class BoundingBox(_Boxed):
    """A grid over an area."""

    kind: Literal["bounding_box"] = Field(description="The centres of equal cells that tile an area.")
    shape: Annotated[list[f.Count], Field(min_length=2, max_length=2)] | None = Field(
        None, description="Number of cells from south to north and from west to east."
    )
    spacing: f.Positive | None = Field(None, description="Instead of shape: about how long the sides of a cell are.")
    project: bool = Field(False, description="Straight distances on a local map, instead of those on the globe.")


class H3Box(_Boxed):
    """Hexagons in an area."""

    kind: Literal["h3"] = Field(description="Cells of the hexagonal grid H3; needs dxopt[geo].")
    resolution: Annotated[int, Field(ge=0, le=15)] = Field(
        description="How fine the cells are; 8 is about 1 km across."
    )


class H3Cells(f.Section):
    """Hexagons by their names."""

    kind: Literal["h3"] = Field(description="Cells of the hexagonal grid H3; needs dxopt[geo].")
    cells: Labels = Field(description="Ids of the cells.")
    unit: f.UnitOnEarth = Field("km", description=UNIT)
    metric: f.EarthMetric = Field("haversine", description=METRIC)


class Roads(f.Section):
    """The shortest ways on a road network."""

    kind: Literal["roads"] = Field(description="Places of a road network and the lengths of shortest ways.")
    file: f.File = Field(description="GraphML file as OSMnx writes it.")
    weight: f.Text = Field("length", description="Edge attribute that holds lengths.")
    unit: f.Unit | None = Field(
        None,
        description="Unit of the distances: km, m or mi where the weights are metres (km for the weight length); for "
        "other weights what they are in, such as min.",
    )
    directed: bool = Field(True, description="Whether one-way streets count.")
    largest: bool = Field(
        False, description="Keep the largest part in which every place can be reached from every other."
    )


TEXT_METRICS = ("hamming", "discrete")
VECTOR_METRICS = ("euclidean", "manhattan", "normalised_manhattan", "chebyshev")
Shape = Annotated[list[f.Count], Field(min_length=1, max_length=16)]


def takes_text(metric: str) -> bool:
    """Tell whether points under a metric may be text; a plug-in metric checks its own points."""
    return metric in TEXT_METRICS or metric not in METRICS


class _Metric(f.Section):
    """The keys of a metric between points."""

    metric: f.MetricName = Field("euclidean", description="Metric between points.")
    unit: f.Unit | None = Field(
        None,
        description="Unit of distances. On the Earth km (by default), m or mi; elsewhere any word, for texts alone.",
    )
    project: bool = Field(False, description="Straight distances on a local map, instead of those on the globe.")

    @model_validator(mode="after")
    def _require_earth_metric(self) -> Self:
        if self.project and self.metric not in METRICS_ON_EARTH:
            fix = "leave it out, or use metric: haversine or geodesic"
            raise bad(f"{self.metric} is not about places on the Earth", fix, "project")
        return self


class PointsFile(_Metric, f.CsvDialect):
    """Points from the rows of a CSV file with a header."""

    kind: Literal["points"] = Field(description="Points and a metric between them.")
    file: f.File = Field(description="CSV file with a header line, relative to the folder of this problem file.")
    columns: f.Columns = Field(
        description="Columns that hold the coordinates; (lat, lon) for haversine and geodesic."
    )
    top: f.Top | None = Field(
        None,
        description="`N by COLUMN` keeps the N rows largest in COLUMN, largest first; of equals the earlier.",
    )
    label: f.Text | None = Field(None, description="Column that holds the names of the points.")


class PointsValues(_Metric):
    """Points written out."""

    kind: Literal["points"] = Field(description="Points and a metric between them.")
    values: f.Rows[f.Cell] = Field(description="One row of coordinates per point; text for hamming and discrete.")


class Embedding(f.Measured):
    """Words and their vectors."""

    kind: Literal["embedding"] = Field(description="Words, and a metric between their vectors.")
    file: f.File = Field(
        description="Word vectors as text, as of GloVe, word2vec or fastText, packed by gzip or not."
    )
    top: Annotated[int, Field(ge=1, le=f.MAX_LOCATIONS), f.AS_WRITTEN] | None = Field(
        None, description="Only the first so many words."
    )
    words: Annotated[list[f.Text], Field(min_length=1, max_length=f.MAX_LOCATIONS)] | None = Field(
        None, description="Instead of top: only these words."
    )
    normalise: bool = Field(False, description="Divide each vector by its length, so that distances go by the angle.")
    metric: Annotated[str, f.OneOf(VECTOR_METRICS)] = Field("euclidean", description="Metric between vectors.")


class Lattice(f.Measured):
    """A rectangular grid of points, or a torus."""

    kind: Literal["grid", "torus"] = Field(description="A grid; a torus joins its opposite sides.")
    shape: Shape = Field(description="Number of points along each axis.")
    spacing: f.Positive = Field(1.0, description="Distance between neighbours.")
    metric: f.LatticeMetric = Field("euclidean", description="Metric between points.")

    @field_validator("shape")
    @classmethod
    def _require_small(cls, shape: list[int]) -> list[int]:
        if math.prod(shape) > f.MAX_REGULAR:
            raise bad(f.too_many(math.prod(shape), "points", f.MAX_REGULAR), "give a smaller shape")
        return shape


class Line(f.Measured):
    """Equally spaced numbers."""

    kind: Literal["line"] = Field(description="Points 0, step, 2·step, … on a line.")
    size: Annotated[int, Field(ge=1, le=f.MAX_REGULAR), f.AS_WRITTEN] = Field(description="Number of points.")
    step: f.Positive = Field(1.0, description="Distance between neighbours.")


class GraphFile(f.Measured, f.CsvDialect):
    """The shortest paths of a graph in a file."""

    kind: Literal["graph"] = Field(description="Nodes of a graph and the lengths of shortest paths.")
    file: f.File = Field(
        description="GraphML; or a CSV file with a header, whose first two columns are the ends of edges."
    )
    weight: f.Text | None = Field(None, description="Edge attribute or column that holds lengths; 1 each by default.")
    directed: bool | None = Field(None, description="Whether the edges of a CSV file are one-way; not for GraphML.")

    @model_validator(mode="after")
    def _refuse_direction(self) -> Self:
        if self.directed is not None and not self.is_csv:
            raise bad("a GraphML file says itself whether it is directed", "leave it out", "directed")
        return self

    @property
    def is_csv(self) -> bool:
        return self.file.lower().endswith(".csv")


class GraphEdges(f.Measured):
    """The shortest paths of a graph that is written out."""

    kind: Literal["graph"] = Field(description="Nodes of a graph and the lengths of shortest paths.")
    edges: Annotated[list[f.Edge], Field(min_length=1)] = Field(
        description="Edges [from, to] of length 1, or [from, to, length]."
    )
    directed: bool = Field(False, description="Whether edges are one-way.")


class DistancesFile(f.Measured, f.MatrixCsv):
    """Given distances, from a file."""

    kind: Literal["distances"] = Field(description="A matrix of distances.")
    file: f.File = Field(
        description="CSV file of the matrix of distances; `inf` is allowed. Names in its first line, its first "
        "column or both become the labels."
    )
    labels: Labels | None = Field(None, description=LABELS)
    close: bool = Field(False, description="Replace the distances by their shortest-path closure where they need it.")


class DistancesValues(f.Measured):
    """Given distances, written out."""

    kind: Literal["distances"] = Field(description="A matrix of distances.")
    values: f.Rows[f.ExtendedDistance] = Field(description="The matrix of distances; `inf` is allowed.")
    labels: Labels | None = Field(None, description=LABELS)
    close: bool = Field(False, description="Replace the distances by their shortest-path closure where they need it.")


class ReportsFile(f.CsvDialect):
    """Reports from the rows of a CSV file with a header."""

    kind: Literal["points"] = Field(description="Points with the coordinates of the space.")
    file: f.File = Field(description="CSV file with a header line.")
    columns: f.Columns = Field(description="Columns that hold the coordinates.")


class ReportsValues(f.Section):
    """Reports written out."""

    kind: Literal["points"] = Field(description="Points with the coordinates of the space.")
    values: f.Rows[f.Cell] = Field(description="One row of coordinates per report.")


class ReportsWithin(f.Section):
    """The points of the space that lie in an area."""

    kind: Literal["within"] = Field(description="The points of the space that lie in an area; needs dxopt[geo].")
    area: f.File = Field(description="GeoJSON file of polygons, such as land or a city.")


Space = Annotated[
    PointsFile
    | PointsValues
    | Lattice
    | Line
    | GraphFile
    | GraphEdges
    | DistancesFile
    | DistancesValues
    | BoundingBox
    | H3Box
    | H3Cells
    | Roads
    | Embedding
    | u.Databases
    | u.Graphs
    | u.Streams
    | u.Words
    | Answers,
    f.Kinds(),
]
Reports = Annotated[ReportsFile | ReportsValues | ReportsWithin, f.Kinds()]
