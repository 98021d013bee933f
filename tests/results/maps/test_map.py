"""Maps that show what they are given, and the command that draws them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.results.maps.geojson import geojson
from dxopt.results.maps.map import draw_map
from dxopt.spaces import geo
from tests.material.places import box, network, randomised, towns


def solved(space: dx.MetricSpace) -> dx.Report:
    return dx.solve(dx.Problem(space, epsilon=0.1, prior=dx.Prior.uniform(space)))


@pytest.fixture
def roads(tmp_path: Path) -> dx.MetricSpace:
    return geo.roads(network(tmp_path), directed=False)


# maps


def collection(axes: Any, kind: type) -> Any:
    (found,) = [part for part in axes.collections if type(part) is kind]
    return found


def drawn(axes: Any, kind: type) -> list[float]:
    return np.nan_to_num(np.asarray(collection(axes, kind).get_array(), dtype=float)).tolist()


def panels(figure: Any) -> list[Any]:
    return [axes for axes in figure.axes if axes.get_title()]


def test_a_map_of_points() -> None:
    space = towns()
    mechanism = randomised(space)
    prior = dx.Prior.from_weights(space, range(6))
    before, after = panels(draw_map(mechanism, prior=prior))
    expected = prior.probabilities @ mechanism.matrix
    assert drawn(before, PathCollection) == pytest.approx(sorted(prior.probabilities))
    assert drawn(after, PathCollection) == pytest.approx(sorted(expected))
    assert space.points is not None
    order = np.argsort(expected, kind="stable")
    offsets = np.asarray(collection(after, PathCollection).get_offsets())
    assert offsets == pytest.approx(space.points[order, ::-1])
    assert after.get_aspect() == pytest.approx(1 / math.cos(math.radians(45.5)), rel=0.02)


def test_a_panel_for_each_secret() -> None:
    mechanism = randomised(box())
    figure = draw_map(mechanism, secret=["(1, 2)", (0, 0), {"index": 11}, "(1, 1)"])
    for axes, index in zip(panels(figure), (6, 0, 11, 5), strict=True):
        assert drawn(axes, PolyCollection) == mechanism.matrix[index].tolist()
        (x,), (y,) = axes.lines[0].get_data()
        assert [y, x] == pytest.approx(geo.positions(mechanism.space).degrees[index])
    colours = collection(panels(figure)[0], PolyCollection)
    figure.canvas.draw()
    never = colours.get_facecolor()[0]
    ever = colours.get_facecolor()[1]
    assert len(set(never[:3])) == 1 and len(set(ever[:3])) > 1
    assert len(panels(draw_map(mechanism, secret={"index": 3}))) == 1


def test_a_tuple_is_one_secret_and_numbers_are_labels() -> None:
    (axes,) = panels(draw_map(randomised(box()), secret=(1, 2)))
    assert drawn(axes, PolyCollection) == randomised(box()).matrix[6].tolist()
    numbered = randomised(geo.points([[45.0, -73.0], [45.1, -73.0], [45.2, -73.1]], labels=[2, 0, 7]))
    features = geojson(numbered, secret="2")["features"]
    assert [feature["properties"]["is_secret"] for feature in features] == [True, False, False]
    assert geojson(numbered, secret=2) == geojson(numbered, secret={"index": 0})
    for secret in ("1", 1):
        with pytest.raises(dx.SpecError) as refused:
            geojson(numbered, secret=secret)
        assert (refused.value.field, refused.value.options) == ("secret", {"index"})


def test_a_map_of_roads_and_hexagons(roads: dx.MetricSpace) -> None:
    (axes,) = panels(draw_map(randomised(roads), secret="57"))
    streets = geo.positions(roads).streets
    assert streets is not None
    assert len(collection(axes, LineCollection).get_segments()) == len(streets) == 4
    assert len(drawn(axes, PathCollection)) == 3
    pytest.importorskip("h3")
    hexagons = geo.h3_cells(5, box=(-18, 178, -16, -178))
    (axes,) = panels(draw_map(randomised(hexagons), secret={"index": 0}))
    paths = collection(axes, PolyCollection).get_paths()
    assert len(paths) == len(hexagons)
    assert max(np.ptp(path.vertices[:, 0]) for path in paths) < 1
    low, high = axes.get_xlim()
    assert high - low < 6
    assert all(low < path.vertices[:, 0].min() <= path.vertices[:, 0].max() < high for path in paths)


def test_the_scale_bar_is_as_long_as_it_says() -> None:
    (axes,) = panels(draw_map(randomised(box()), secret={"index": 0}))
    (text,) = [text.get_text() for text in axes.texts]
    bar = axes.lines[-1]
    (west, east), (latitude, _) = bar.get_data()
    ends = geo.points([[latitude, west], [latitude, east]])
    assert text.endswith(" km")
    assert ends.distances[0, 1] == pytest.approx(float(text.removesuffix(" km")), rel=0.01)
    low, high = axes.get_xlim()
    assert 0.08 <= (east - west) / (high - low) <= 0.26


@pytest.mark.parametrize(
    ("sides", "shape"),
    [
        ((84, -180, 90, 180), (3, 12)),
        ((-60, 20, 60, 10), (2, 7)),
        ((-18, 178, -16, -178), (2, 3)),
        ((45, -73, 45.00001, -72.99999), (3, 3)),
    ],
)
def test_cells_stay_whole_and_fill_the_map(sides: Any, shape: tuple[int, int]) -> None:
    space = geo.bounding_grid(*sides, shape=shape)
    figure = draw_map(randomised(space), secret=[{"index": 0}, {"index": len(space) - 1}])
    width = (sides[3] - sides[1]) % 360 or 360
    for axes in panels(figure):
        corners = np.array([path.vertices for path in collection(axes, PolyCollection).get_paths()])
        assert np.ptp(corners[:, :, 0], axis=1) == pytest.approx(np.full(len(space), width / shape[1]))
        west, east = axes.get_xlim()
        south, north = axes.get_ylim()
        assert west < corners[:, :, 0].min() and corners[:, :, 0].max() < east
        shrinking = 1 / axes.get_aspect()
        size = max(width * shrinking, sides[2] - sides[0])
        assert (east - west) * shrinking <= width * shrinking + 0.09 * size
        assert north - south <= sides[2] - sides[0] + 0.16 * size


def test_one_place_is_in_the_middle() -> None:
    before, _ = panels(draw_map(randomised(geo.points([[45.0, -73.0]]))))
    west, east = before.get_xlim()
    south, north = before.get_ylim()
    assert (west + east) / 2 == pytest.approx(-73.0, abs=1e-6) and south < 45 < north
    assert north - south == pytest.approx((east - west) / before.get_aspect(), rel=0.2)


def test_what_is_never_reported_is_crossed_out(roads: dx.MetricSpace) -> None:
    for space in (box(), roads):
        mechanism = randomised(space)
        (axes,) = panels(draw_map(mechanism, secret=space.labels[1]))
        (crosses,) = [line for line in axes.lines if line.get_marker() == "x"]
        never = geo.positions(space).degrees[mechanism.matrix[1] == 0]
        assert np.column_stack(crosses.get_data()[::-1]) == pytest.approx(never)


def test_degrees_have_a_hemisphere_where_there_is_one() -> None:
    (axes,) = panels(draw_map(randomised(geo.bounding_grid(-2, 176, 2, -176, shape=(2, 4))), secret={"index": 0}))
    name = axes.xaxis.get_major_formatter()
    assert [name(x) for x in (178, 180, 182, 360)] == ["178° E", "180°", "178° W", "0°"]
    assert [axes.yaxis.get_major_formatter()(y) for y in (-1.5, 0, 2)] == ["1.5° S", "0°", "2° N"]


def test_bad_secrets_of_a_map() -> None:
    for secret in ("z", 99, [], list(range(10))):
        with pytest.raises(dx.SpecError, match="secret"):
            draw_map(randomised(box()), secret=secret)


# result folders and the command line


@pytest.mark.parametrize("kind", ["points", "box", "projected", "roads"])
def test_folders_keep_what_maps_need(kind: str, roads: dx.MetricSpace, tmp_path: Path) -> None:
    spaces = {
        "points": towns(4),
        "box": box(shape=(2, 2)),
        "projected": box(shape=(2, 2), project=True),
        "roads": roads,
    }
    space = spaces[kind]
    report = solved(space)
    report.save(tmp_path / "result")
    again = dx.load(tmp_path / "result")
    assert geojson(again, secret=space.labels[0]) == geojson(report, secret=space.labels[0])
    for ours, theirs in zip(panels(draw_map(report)), panels(draw_map(again)), strict=True):
        pictures = [[np.asarray(part.get_array()).tolist() for part in axes.collections] for axes in (ours, theirs)]
        assert pictures[0] == pictures[1]
    streets = geo.positions(again.problem.space).streets
    assert (streets is not None) == (kind == "roads")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    solved(towns(4)).save(folder / "towns")
    solved(dx.line(3)).save(folder / "line")
    return folder


def call(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["map", *map(str, arguments)])


def test_the_command_draws(results: Path, tmp_path: Path) -> None:
    for name, start in (("a.png", b"\x89PNG"), ("b.svg", b"<?xml"), ("c.geojson", b'{"type": "FeatureCollection"')):
        done = call(results / "towns", "--secret", "b", "-o", tmp_path / name)
        assert done.exit_code == 0, done.output
        assert (tmp_path / name).read_bytes().startswith(start)
        assert done.output.strip() == str(tmp_path / name)
    content = json.loads((tmp_path / "c.geojson").read_text(encoding="utf-8"))
    assert [feature["properties"]["is_secret"] for feature in content["features"]] == [False, True, False, False]
    assert call(results / "towns", "--index", "0", "--secret", "c", "-o", tmp_path / "d.png").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["line", "-o", "x.png"], "positions"),
        (["none", "-o", "x.png"], "no result folder"),
        (["towns", "--secret", "zoo", "-o", "x.png"], "no location 'zoo'"),
        (["towns", "--secret", "9", "-o", "x.png"], "or --index"),
        (["towns", "-o", "x.pdf"], "no known ending"),
        (["towns", "--secret", "a", "--secret", "b", "-o", "x.geojson"], "give one"),
        (["towns", "-o", "none/x.png"], "cannot be written"),
    ],
)
def test_the_command_refuses_in_one_line(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call(results / arguments[0], *arguments[1:])
    assert done.exit_code == 2
    assert words in done.output and len(done.output.splitlines()) == 1
    assert not list(tmp_path.glob("x.*"))


def test_dots_that_are_close_are_small_enough_to_be_told_apart() -> None:
    space = dx.geo.points([[45.0, 5.0], [45.0, 5.003], [45.2, 5.3]])
    figure = dx.draw_map(dx.classic.exponential(space, epsilon=0.1), secret={"index": 2})
    (dots,) = (one for one in figure.axes[0].collections if one.get_array() is not None)
    assert isinstance(dots, PathCollection)
    places, sizes = np.asarray(dots.get_offsets()), dots.get_sizes()
    size = dict(zip(places[:, 0].round(4).tolist(), sizes.tolist(), strict=True))
    assert size[5.0] == size[5.003] < size[5.3] == 90
