"""Places, and ways between them, for the tests of locations."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

import dxopt as dx
from dxopt.spaces import geo

RADIUS = 6371.0088
CITY = (45.5, -73.6)

OSMNX = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <key id="d7" for="edge" attr.name="geometry" attr.type="string" />
  <key id="d6" for="edge" attr.name="length" attr.type="string" />
  <key id="d5" for="edge" attr.name="oneway" attr.type="string" />
  <key id="d4" for="edge" attr.name="osmid" attr.type="string" />
  <key id="d3" for="node" attr.name="street_count" attr.type="string" />
  <key id="d2" for="node" attr.name="x" attr.type="string" />
  <key id="d1" for="node" attr.name="y" attr.type="string" />
  <key id="d0" for="graph" attr.name="crs" attr.type="string" />
  <graph edgedefault="directed">
    <node id="31"><data key="d1">45.50</data><data key="d2">-73.60</data><data key="d3">2</data></node>
    <node id="12"><data key="d1">45.51</data><data key="d2">-73.60</data><data key="d3">2</data></node>
    <node id="57"><data key="d1">45.51</data><data key="d2">-73.58</data><data key="d3">2</data></node>
    <edge source="31" target="12" id="0">
      <data key="d4">[7, 8]</data><data key="d5">True</data><data key="d6">1200.5</data>
      <data key="d7">LINESTRING (-73.60 45.50, -73.61 45.505, -73.60 45.51)</data>
    </edge>
    <edge source="12" target="57" id="0"><data key="d4">9</data><data key="d6">1600.0</data></edge>
    <edge source="57" target="12" id="0"><data key="d4">9</data><data key="d6">1600.0</data></edge>
    <edge source="57" target="12" id="1"><data key="d4">10</data><data key="d6">1500.0</data></edge>
    <edge source="57" target="31" id="0"><data key="d4">11</data><data key="d6">2000</data></edge>
    <data key="d0">epsg:4326</data>
  </graph>
</graphml>
"""
BY_CAR = [[0, 1.2005, 2.8005], [3.6, 0, 1.6], [2.0, 1.5, 0]]
ON_FOOT = [[0, 1.2005, 2.0], [1.2005, 0, 1.5], [2.0, 1.5, 0]]


def great_circle(a: Any, b: Any) -> float:
    """By the angle between vectors, not by haversines."""
    (p, s), (q, t) = np.radians(a), np.radians(b)
    u = np.array([math.cos(p) * math.cos(s), math.cos(p) * math.sin(s), math.sin(p)])
    v = np.array([math.cos(q) * math.cos(t), math.cos(q) * math.sin(t), math.sin(q)])
    return RADIUS * math.atan2(float(np.linalg.norm(np.cross(u, v))), float(u @ v))


def around(rng: np.random.Generator, size: int, middle: tuple[float, float] = CITY, spread: float = 0.2) -> Any:
    """Random places in a box."""
    return np.asarray(middle) + spread * rng.uniform(-1, 1, (size, 2))


def network(folder: Path) -> Path:
    """The network in a file as OSMnx writes it."""
    file = folder / "city.graphml"
    file.write_text(OSMNX, encoding="utf-8")
    return file


def randomised(space: dx.MetricSpace, reports: dx.Reports | None = None) -> dx.Mechanism:
    matrix = np.random.default_rng(8).random((len(space), len(reports or space)))
    matrix[:, :-1][:, :1] = 0  # never reported, where there is another
    return dx.Mechanism.from_matrix(space, matrix / matrix.sum(axis=1, keepdims=True), reports, name="random")


def towns(size: int = 6) -> dx.MetricSpace:
    return geo.points(
        np.random.default_rng(9).uniform(45, 46, (size, 2)) - [0, 119], labels=list("abcdefghij"[:size])
    )


def box(**options: Any) -> dx.MetricSpace:
    return geo.bounding_grid(45.4, -73.8, 45.6, -73.4, **{"shape": (3, 4), **options})
