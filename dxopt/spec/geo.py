"""The kinds of space on the Earth that a problem file may ask for besides points."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dxopt.errors import SpecError
from dxopt.spaces.geo import Box
from dxopt.spec import fields as f
from dxopt.spec import quantities as q
from dxopt.spec.quantities import bad

Latitude = Annotated[float, Field(ge=-90, le=90), q.Written()]
Longitude = Annotated[float, Field(ge=-180, le=180), q.Written()]
UNIT = "Unit of the distances; km by default."
METRIC = "Distances on a sphere, on a sphere and never too long, or on the ellipsoid WGS 84 (needs dxopt[geo])."


class _Boxed(f.Section):
    south: Latitude = Field(description="Southern side, a latitude in degrees.")
    west: Longitude = Field(description="Western side, a longitude in degrees; above east to cross 180 degrees.")
    north: Latitude = Field(description="Northern side, a latitude in degrees.")
    east: Longitude = Field(description="Eastern side, a longitude in degrees.")
    unit: f.UnitOnEarth = Field("km", description=UNIT)
    metric: f.EarthMetric = Field("haversine", description=METRIC)

    @model_validator(mode="after")
    def _box(self) -> Self:
        try:
            Box(self.south, self.west, self.north, self.east)
        except SpecError as error:
            raise bad(error.wrong, error.fix, error.field) from None
        return self

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
    spacing: q.Positive | None = Field(None, description="Instead of shape: about how long the sides of a cell are.")
    project: bool = Field(False, description="Straight distances on a local map, instead of those on the globe.")

    @model_validator(mode="after")
    def _cells(self) -> Self:
        if self.shape is not None and self.spacing is not None:
            raise bad("is given beside shape", "keep one of the two", "spacing")
        if self.shape is None and self.spacing is None:
            raise bad("is missing", "add shape or spacing", "shape")
        cells = math.prod(self.shape or self.box.shape(self.spacing or 0.0, self.unit))
        if cells > f.MAX_LOCATIONS:
            key, fix = ("shape", "make it smaller") if self.spacing is None else ("spacing", "enlarge it")
            raise bad(f.too_many(cells, "cells"), f"check the corners or {fix}", key)
        return self


class H3Box(_Boxed):
    """Hexagons in an area."""

    kind: Literal["h3"] = Field(description="Cells of the hexagonal grid H3; needs dxopt[geo].")
    resolution: Annotated[int, Field(ge=0, le=15)] = Field(
        description="How fine the cells are; 8 is about 1 km across."
    )


class H3Cells(f.Section):
    """Hexagons by their names."""

    kind: Literal["h3"] = Field(description="Cells of the hexagonal grid H3; needs dxopt[geo].")
    cells: Annotated[list[f.Text], Field(min_length=1, max_length=f.MAX_LOCATIONS)] = Field(
        description="Ids of the cells."
    )
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
