"""Rebuild the streets of the west of Nauru, an island in the Pacific, from the public package that carries them.

    pip install 'dxopt[data]' && python problems/rebuild_nauru.py

The Python package aequilibrae carries a model of Nauru made from OpenStreetMap in January 2021 (data © OpenStreetMap
contributors, Open Database Licence 1.0). Of it

nauru.graphml       has the streets for cars west of 166.92° E, joined at junctions and dead ends, in the form of
                    OSMnx: nodes are named by their OpenStreetMap ids and have a position, edges a course and its
                    length in metres, by great circles as there; one-way streets have one edge. Both files are
                    derived databases, under the same licence.
nauru-streets.csv   has half the length of all streets that meet at each of them, in metres: a prior for people who
                    are spread evenly along the streets. That is an assumption.
"""

from __future__ import annotations

import csv
import io
import math
import sqlite3
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import networkx as nx

HERE = Path(__file__).parent
WEST_OF = 166.92
FOR_CARS = ("primary", "secondary", "tertiary", "unclassified", "residential", "living_street")
RADIUS_M = 6_371_009
Course = list[tuple[float, float]]


def model() -> sqlite3.Connection:
    """Return the model of Nauru, copied out of the package into memory; the package itself is not run."""
    package = find_spec("aequilibrae")
    if package is None or package.origin is None:
        raise SystemExit("needs the package aequilibrae: pip install 'dxopt[data]'")
    archive = Path(package.origin).parent / "reference_files" / "nauru.zip"
    kept = sqlite3.connect(":memory:")
    with zipfile.ZipFile(archive) as stored, tempfile.TemporaryDirectory() as folder:
        with sqlite3.connect(stored.extract("project_database.sqlite", folder)) as read:
            read.backup(kept)
        read.close()
    return kept


def course(blob: bytes) -> Course:
    """Return the positions (longitude, latitude) of a SpatiaLite line: 43 bytes, their number, then doubles."""
    (count,) = struct.unpack_from("<i", blob, 43)
    numbers = [round(number, 6) for number in struct.unpack_from(f"<{2 * count}d", blob, 47)]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def metres(way: Course) -> float:
    """Return the length of a course: great circles from each position to the next, by the haversine formula."""
    total = 0.0
    for (x, y), (u, v) in pairwise(way):
        north, east = math.radians(v - y) / 2, math.radians(u - x) / 2
        across = math.cos(math.radians(y)) * math.cos(math.radians(v)) * math.sin(east) ** 2
        total += 2 * RADIUS_M * math.asin(math.sqrt(math.sin(north) ** 2 + across))
    return total


def streets() -> nx.MultiDiGraph:
    """Return the streets for cars as they are mapped: an edge for each piece and direction."""
    read = model()
    name = dict(read.execute("select node_id, osm_id from nodes"))
    graph = nx.MultiDiGraph()
    links = "select a_node, b_node, direction, link_type, geometry from links order by link_id"
    for start, end, direction, kind, blob in read.execute(links):
        way = course(blob)
        if kind not in FOR_CARS or max(longitude for longitude, _ in way) >= WEST_OF:
            continue
        if direction >= 0:
            graph.add_edge(name[start], name[end], way=way, kind=kind)
        if direction <= 0:
            graph.add_edge(name[end], name[start], way=way[::-1], kind=kind)
    reached = max(nx.strongly_connected_components(graph), key=len)
    return graph.subgraph([node for node in graph if node in reached]).copy()


def passed(graph: nx.MultiDiGraph, node: int) -> bool:
    """Whether a street only passes here: there are two neighbours, and it goes on both ways, or one way."""
    before, after = set(graph.predecessors(node)), set(graph.successors(node))
    there = len(before | after) == 2
    if graph.in_degree(node) == graph.out_degree(node) == 2:
        return there and before == after
    return there and graph.in_degree(node) == graph.out_degree(node) == 1


def joined(graph: nx.MultiDiGraph) -> Iterator[tuple[int, int, Course, str]]:
    """Yield the ways from each junction or dead end to the next: ends, course and kind."""
    ends = {node for node in graph if not passed(graph, node)}
    for start in (node for node in graph if node in ends):
        for _, first, data in graph.out_edges(start, data=True):
            way, last, here = list(data["way"]), start, first
            while here not in ends:
                _, following, data = next(e for e in graph.out_edges(here, data=True) if e[1] != last)
                last, here = here, following
                way += data["way"][1:]
            yield start, here, way, data["kind"]


def main() -> None:
    """Write both files."""
    network = nx.MultiDiGraph(crs="epsg:4326", source="© OpenStreetMap contributors, ODbL 1.0")
    for start, end, way, kind in joined(streets()):
        if start == end:
            continue
        for node, (x, y) in ((start, way[0]), (end, way[-1])):
            network.add_node(node, x=str(x), y=str(y))
        # Rounded up, so that no street is shorter than the straight line between its ends.
        length = f"{math.ceil(1000 * metres(way)) / 1000:.3f}"
        between = ", ".join(f"{x} {y}" for x, y in way)
        network.add_edge(start, end, length=length, highway=kind, geometry=f"LINESTRING ({between})")
    written = io.BytesIO()
    nx.write_graphml(network, written, named_key_ids=True, prettyprint=True)
    (HERE / "nauru.graphml").write_bytes(written.getvalue())

    # A street of both directions has two edges, a quarter of each of which counts at either end.
    meeting = dict.fromkeys(network, 0.0)
    for start, end, length in network.edges(data="length"):
        share = 0.25 if network.has_edge(end, start) else 0.5
        meeting[start] += share * float(length)
        meeting[end] += share * float(length)
    with (HERE / "nauru-streets.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("node", "metres"))
        writer.writerows((node, f"{length:.1f}") for node, length in meeting.items())


if __name__ == "__main__":
    main()
