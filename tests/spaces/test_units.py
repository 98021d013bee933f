"""Units of spaces and losses: where they come from, what goes with which, and how they read."""

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.archive import pack, unpack
from dxopt.spaces.metrics import Haversine
from dxopt.spaces.space import MetricSpace
from dxopt.spaces.units import per, squared_unit, with_unit

PLACES = [[45.0, 4.0], [45.1, 4.1], [45.2, 4.0]]


def spaces() -> list[tuple[MetricSpace, str]]:
    """Spaces of every constructor, and their units."""
    universe = dx.Universe.databases([0, 1], 2)
    one_way = np.array([[0.0, 1.0], [2.0, 0.0]])
    return [
        (dx.line(3, unit="people"), "people"),
        (dx.line(3), ""),
        (dx.grid((2, 2), unit="m"), "m"),
        (dx.torus((4,), unit="hours"), "hours"),
        (MetricSpace.from_points([[0.0], [2.0]], unit=" EUR "), "EUR"),
        (MetricSpace.from_points(PLACES, "haversine"), "km"),
        (MetricSpace.from_points(PLACES, Haversine("mi")), "mi"),
        (MetricSpace.from_points([["a"], ["b"]], lambda a, b: float(a[0] != b[0]), unit="edits"), "edits"),
        (MetricSpace.from_distances(one_way, unit="min"), "min"),
        (MetricSpace.from_graph(nx.path_graph(3), unit="hops"), "hops"),
        (dx.geo.points(PLACES, project=True, unit="m"), "m"),
        (dx.geo.bounding_grid(45.0, 4.0, 45.1, 4.1, shape=(2, 2)), "km"),
        (dx.neighbours(universe, "bounded", unit="records"), "records"),
        (universe.space("manhattan", unit="EUR"), "EUR"),
        (dx.product(dx.line(2, unit="EUR"), dx.line(3, unit="EUR")), "EUR"),
        (dx.product(dx.line(2, unit="EUR"), dx.line(3)), ""),
    ]


def test_every_constructor_and_its_archive_keep_the_unit():
    for space, unit in spaces():
        assert space.unit == unit, space
        assert unpack(pack(space)).unit == unit, space
        assert (f" in {unit}," in repr(space)) is bool(unit)


def test_a_unit_on_the_earth_is_computed_in():
    km, metres = (MetricSpace.from_points(PLACES, "haversine", unit=unit).distances for unit in ("km", "m"))
    np.testing.assert_allclose(metres, 1000 * km)
    with pytest.raises(dx.SpecError, match="unit"):
        MetricSpace.from_points(PLACES, Haversine("m"), unit="km")
    with pytest.raises(dx.SpecError, match="unit: is 'people'"):
        MetricSpace.from_points(PLACES, "haversine", unit="people")


@pytest.mark.parametrize("unit", ["per person", "a\nb", "x" * 25, "1 km", 3, None, "a\x1b[0m"])
def test_what_is_no_word_is_refused(unit):
    with pytest.raises(dx.SpecError, match=r"^unit: "):
        dx.line(3, unit=unit)


def test_losses_have_units_of_their_own():
    space = dx.line(3, unit="km")
    named = {name: dx.Loss.of(name, space).unit for name in ("distance", "squared", "binary")}
    assert named == {"distance": "km", "squared": "km²", "binary": ""}
    assert dx.Loss.of(np.eye(3), space).unit == ""
    assert dx.Loss.of(np.eye(3), space, unit="EUR").unit == "EUR"
    problem = dx.Problem(space, epsilon=1.0, prior="uniform", loss="squared")
    assert (problem.unit, problem.at(2.0).unit) == ("km²", "km²")
    against = dx.Problem(
        space, epsilon=1.0, prior="uniform", objective=dx.AdversaryError(1.0, "distance"), loss=np.eye(3)
    )
    assert (against.unit, against.loss.unit) == ("km", "")


def test_units_read_as_words():
    read = [(per(unit), with_unit("1", unit), with_unit("0.5", unit)) for unit in ("km", "people", "visits", "EUR")]
    assert read == [
        ("per km", "1 km", "0.5 km"),
        ("per person", "1 person", "0.5 people"),
        ("per visit", "1 visit", "0.5 visits"),
        ("per EUR", "1 EUR", "0.5 EUR"),
    ]
    assert (per(""), with_unit("1", "")) == ("per unit of distance", "1")
    assert [per(unit) for unit in ("boxes", "cities", "words", "GPUs")] == [
        "per box",
        "per city",
        "per word",
        "per GPUs",
    ]
    assert [squared_unit(unit) for unit in ("", "km", "km/h")] == ["", "km²", "(km/h)²"]
