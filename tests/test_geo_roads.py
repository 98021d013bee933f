"""Road networks as OSMnx keeps them."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from places import BY_CAR, ON_FOOT, OSMNX, network

import dxopt as dx
from dxopt.spaces import geo


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
