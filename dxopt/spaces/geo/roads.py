"""Road networks: distances along the streets, as OSMnx downloads and saves them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.runtime.reading import MOST_GRAPH, as_path, content
from dxopt.spaces.distances import required_graph
from dxopt.spaces.metrics import Haversine
from dxopt.spaces.positions import Positions, unrolled_places
from dxopt.spaces.space import MetricSpace

if TYPE_CHECKING:
    import networkx as nx

LENGTH = "length"
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def roads(
    graph: nx.Graph | str | Path,
    *,
    weight: str = LENGTH,
    unit: str | None = None,
    directed: bool = True,
    largest: bool = False,
) -> MetricSpace:
    """Take the nodes of a road network as places, with the lengths of the shortest ways between them.

    Parameters
    ----------
    graph : networkx graph, or the name of a GraphML file
        As OSMnx makes or saves it: nodes with longitude `x` and latitude `y` (or `lon` and `lat`, where it was
        projected), edges with a `length` in metres; numbers may be text. Nodes are named by their ids.
    weight : str
        Edge attribute whose sum along a way is its length.
    unit : str, optional
        Of the distances. "km", "m" or "mi" where `weight` holds metres, which are converted; km for `length`. Other
        weights are taken as they are, and another unit, such as "min", is what they are in.
    directed : bool
        Whether one-way streets count, and distances may be asymmetric; otherwise each street goes both ways.
    largest : bool
        Keep the largest part in which every node can be reached from every other. Networks that are cut out of a
        map have ends from which one cannot come back.

    Raises
    ------
    SpecError
        If the file is no GraphML, a node has no position, an edge no length of 0 or more, or there is no way from
        some node to another, which would be infinitely far away and not protected from it.

    Examples
    --------
    >>> import dxopt as dx
    >>> import networkx as nx
    >>> streets = nx.DiGraph()
    >>> streets.add_nodes_from([(1, {"x": -73.6, "y": 45.5}), (2, {"x": -73.59, "y": 45.5})])
    >>> streets.add_edge(1, 2, length=780)
    >>> streets.add_edge(2, 1, length=1200)
    >>> print(dx.geo.roads(streets).distances.tolist())
    [[0.0, 0.78], [1.2, 0.0]]
    """
    import networkx as nx

    network = _read(as_path(graph, "graph")) if isinstance(graph, str | Path) else graph
    if unit is None and weight == LENGTH:
        unit = "km"
    # the unit that lengths in metres are converted to; None where the weight is taken as it is
    length = unit if weight == LENGTH or unit in Haversine.units else None
    if length is not None:
        Haversine(length).prepare(np.zeros((1, 2)))
    required_graph(network)
    degrees = np.array([_position(node, attributes) for node, attributes in network.nodes(data=True)])
    weighted = _weighted(network, weight, length, directed=directed)
    # nodes outside of the largest part are infinitely far away, one way at least, so that nothing would hide them
    one_way = isinstance(weighted, nx.DiGraph)
    parts = nx.strongly_connected_components(weighted) if one_way else nx.connected_components(weighted)
    kept = max(parts, key=len)
    lost = dict.fromkeys(node for node in weighted if node not in kept)  # a set in the order of the nodes
    if lost and not largest:
        raise _cut_off_error(weighted, lost)
    if lost:
        degrees = degrees[[node not in lost for node in network]]
        network = network.copy()
        for part in (network, weighted):
            part.remove_nodes_from(lost)
    space = MetricSpace.from_graph(weighted, LENGTH, unit=unit or "")
    return replace(space, positions=Positions(degrees, streets=_streets(network, degrees), unit=length or "km"))


def _read(path: Path) -> nx.Graph:
    import networkx as nx

    try:
        return nx.read_graphml(BytesIO(content(path, MOST_GRAPH)))
    except FileNotFoundError:
        raise SpecError("file", f"there is no file {str(path)!r}", "check the name") from None
    except Exception as error:  # whatever the XML parser and networkx raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SpecError("file", f"{path.name} is no GraphML file ({reason})", "mend or replace it") from None


def _weighted(network: nx.Graph, weight: str, unit: str | None, *, directed: bool) -> nx.Graph:
    """Return the same nodes and edges, with lengths converted from metres to the unit; without one as they are."""
    import networkx as nx

    scale = 1.0 if unit is None else Haversine.units[unit] / 1000.0
    weighted = nx.MultiDiGraph() if directed and network.is_directed() else nx.MultiGraph()
    weighted.add_nodes_from(network)
    for start, end, attributes in network.edges(data=True):
        length = _number(attributes.get(weight))
        if length is None or length < 0:
            has = f"has {weight} = {attributes[weight]!r}" if weight in attributes else f"has no {weight}"
            fix = "give every edge one of 0 or more, or name another attribute"
            raise SpecError("weight", f"edge ({start}, {end}) {has}", fix)
        weighted.add_edge(start, end, **{LENGTH: length * scale})
    return weighted


def _cut_off_error(weighted: nx.Graph, lost: dict[Any, None]) -> SpecError:
    """Make the error that tells of the nodes that are cut off, with one way that is missing as the example."""
    import networkx as nx

    inside = next(node for node in weighted if node not in lost)
    outside = next(iter(lost))
    there = nx.has_path(weighted, inside, outside)
    start, end = (outside, inside) if there else (inside, outside)
    one_way = isinstance(weighted, nx.DiGraph) and nx.is_weakly_connected(weighted)
    wrong = f"{len(lost)} of {len(weighted)} places are cut off: no way leads from {start} to {end}"
    fix = "give largest: true to leave them out" + (", or directed: false" if one_way else "")
    return SpecError("graph", wrong, fix)


def _position(node: Any, attributes: Mapping[str, Any]) -> tuple[float, float]:
    """Return (latitude, longitude) of a node, by `lat` and `lon` before `y` and `x`."""
    for north, east in (("lat", "lon"), ("y", "x")):
        latitude = _number(attributes.get(north))
        longitude = _number(attributes.get(east))
        if latitude is not None and longitude is not None and abs(latitude) <= 90 and abs(longitude) <= 180:
            return latitude, longitude
    fix = "give every node a longitude x and a latitude y"
    raise SpecError("graph", f"node {node} has no position in degrees", fix)


def _number(value: Any) -> float | None:
    """Return an attribute, a number or text, as a number; None where it is no finite one."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _streets(network: nx.Graph, degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return straight pieces of road `(m, 2, 2)`, along the `geometry` of an edge where it is in degrees."""
    position = dict(zip(network, degrees, strict=True))
    pieces = {}
    for start, end, attributes in network.edges(data=True):
        ends = np.array([position[start], position[end]])
        course = unrolled_places(_course(attributes, ends))
        # both directions of a street are one piece
        for piece in zip(course[:-1].tolist(), course[1:].tolist(), strict=True):
            pieces[tuple(sorted(map(tuple, piece)))] = piece
    return np.array(list(pieces.values()), dtype=float).reshape(-1, 2, 2)


def _course(attributes: Mapping[str, Any], ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the positions on the way of an edge, by its `geometry` `LINESTRING (x y, x y, …)`; else its two ends."""
    text = str(attributes.get("geometry", ""))
    numbers = [float(number) for number in _NUMBER.findall(text)] if text.startswith("LINESTRING (") else []
    if len(numbers) < 4 or len(numbers) % 2:
        return ends
    course = np.array(numbers).reshape(-1, 2)[:, ::-1]
    # of a projected network the geometry is in metres, and its ends are not those of the edge
    return course if np.abs(course[[0, -1]] - ends).max() < 1e-3 else ends
