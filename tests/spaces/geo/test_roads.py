"""Road networks as OSMnx keeps them."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces import geo
from tests.material.places import BY_CAR, ON_FOOT, OSMNX, network


def test_a_file_of_osmnx(tmp_path: Path) -> None:
    space = geo.roads(network(tmp_path))
    assert space.labels == ("31", "12", "57")
    assert space.distances == pytest.approx(np.array(BY_CAR), rel=1e-15)
    assert not space.symmetric
    found = geo.positions(space)
    assert found.degrees.tolist() == [[45.50, -73.60], [45.51, -73.60], [45.51, -73.58]]
    assert found.streets is not None
    pieces = {tuple(sorted(map(tuple, piece))) for piece in found.streets.tolist()}
    bend = (45.505, -73.61)
    expected = [
        [(45.50, -73.60), bend],
        [bend, (45.51, -73.60)],
        [(45.51, -73.60), (45.51, -73.58)],
        [(45.51, -73.58), (45.50, -73.60)],
    ]
    assert pieces == {tuple(sorted(piece)) for piece in expected} and len(found.streets) == 4


def test_roads_without_one_way_streets_and_in_other_units(tmp_path: Path) -> None:
    space = geo.roads(network(tmp_path), directed=False)
    assert space.symmetric
    assert space.distances == pytest.approx(np.array(ON_FOOT), rel=1e-15)
    assert geo.roads(str(network(tmp_path)), unit="m").distances == pytest.approx(1000 * np.array(BY_CAR), rel=1e-15)


def test_roads_of_a_graph_in_memory() -> None:
    graph = nx.MultiDiGraph()
    graph.add_node(1, x=-73.6, y=45.5)
    graph.add_node(2, x=61.0, y=54.0, lon=-73.5, lat=45.5)
    graph.add_edge(1, 2, length=8000.0, minutes=7)
    graph.add_edge(2, 1, length=9000.0, minutes=6)
    by_length, by_time = geo.roads(graph), geo.roads(graph, weight="minutes")
    assert by_length.distances.tolist() == [[0, 8], [9, 0]]
    assert by_time.distances.tolist() == [[0, 7], [6, 0]]
    assert geo.roads(graph, directed=False).distances.tolist() == [[0, 8], [8, 0]]
    assert geo.positions(by_length).degrees.tolist() == [[45.5, -73.6], [45.5, -73.5]]
    assert geo.roads(nx.Graph(graph)).symmetric


def lanes(*edges: tuple[int, int], places: int) -> nx.MultiDiGraph:
    graph = nx.MultiDiGraph()
    for place in range(places, 0, -1):
        graph.add_node(place, x=place / 100, y=45.0)
    graph.add_edges_from(edges, length=500)
    return graph


def test_parallel_streets_and_loops() -> None:
    graph = lanes((1, 2), (2, 1), (2, 2), places=2)
    graph.add_edge(1, 2, length="200")
    assert geo.roads(graph).distances.tolist() == [[0, 0.5], [0.2, 0]]


@pytest.mark.parametrize(
    ("edges", "lost", "way", "fix"),
    [
        ([(1, 2), (2, 1), (2, 3)], 1, "from 3 to 2", "largest: true to leave them out, or directed: false"),
        ([(1, 2), (2, 1), (3, 2)], 1, "from 2 to 3", "largest: true to leave them out, or directed: false"),
        ([(1, 2), (2, 1)], 1, "from 2 to 3", "largest: true to leave them out"),
    ],
)
def test_places_that_no_way_joins(edges: list[tuple[int, int]], lost: int, way: str, fix: str) -> None:
    graph = lanes(*edges, places=3)
    with pytest.raises(dx.SpecError) as caught:
        geo.roads(graph)
    assert caught.value.field == "graph"
    assert caught.value.wrong == f"{lost} of 3 places are cut off: no way leads {way}"
    assert caught.value.fix == f"give {fix}"
    if "directed" in fix:
        assert np.isfinite(geo.roads(graph, directed=False).distances).all()
    else:
        with pytest.raises(dx.SpecError, match="cut off"):
            geo.roads(graph, directed=False)


def test_the_largest_part_in_the_order_of_the_network() -> None:
    graph = lanes((3, 4), (4, 3), (4, 6), (6, 4), (6, 9), (1, 3), places=9)
    space = geo.roads(graph, largest=True)
    assert space.labels == ("6", "4", "3")
    assert space.distances.tolist() == [[0, 0.5, 1.0], [0.5, 0, 0.5], [1.0, 0.5, 0]]
    found = geo.positions(space)
    assert found.degrees[:, 1].tolist() == [0.06, 0.04, 0.03]
    assert found.streets is not None and len(found.streets) == 2
    assert len(graph) == 9
    whole = lanes((1, 2), (2, 1), places=2)
    assert geo.roads(whole, largest=True).labels == geo.roads(whole).labels


def test_streets_across_the_antimeridian_stay_short() -> None:
    graph = lanes((1, 2), (2, 1), places=2)
    graph.nodes[1]["x"], graph.nodes[2]["x"] = 179.99, -179.99
    streets = geo.positions(geo.roads(graph)).streets
    assert streets is not None and np.ptp(streets[0, :, 1]) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('<data key="d1">45.50</data>', "", "graph"),
        ('<data key="d1">45.50</data>', '<data key="d1">5040000</data>', "graph"),
        ('<data key="d6">2000</data>', '<data key="d6">-1</data>', "weight"),
        ('<data key="d6">2000</data>', '<data key="d6">long</data>', "weight"),
        ('<data key="d6">2000</data>', "", "weight"),
        ("</graphml>", "", "file"),
    ],
)
def test_bad_networks(tmp_path: Path, old: str, new: str, field: str) -> None:
    file = tmp_path / "bad.graphml"
    file.write_text(OSMNX.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(dx.SpecError) as caught:
        geo.roads(file)
    assert caught.value.field == field


def test_no_network(tmp_path: Path) -> None:
    for graph, field in ((tmp_path / "none.graphml", "file"), (nx.Graph(), "graph")):
        with pytest.raises(dx.SpecError) as caught:
            geo.roads(graph)
        assert caught.value.field == field
