"""A bare argument is a label; `index=` and `point=` are for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.errors import Option
from dxopt.spaces.labels import Coordinates
from dxopt.spaces.naming import NoSuchPoint

IDS = dx.MetricSpace.from_points([[0, 0], [1, 0], [2, 0], [3, 0], [4, 4]], labels=[3, 7, 1, 0, 9])
GRID = dx.grid((4, 4))
FIVES = dx.line(31, step=5)
TENTHS = dx.line(31, step=0.1)
COUNTS = dx.line(31)
WIDE = dx.grid((4, 4), spacing=2.0)
RING = dx.torus((12,), spacing=2.0)
PLACES = dx.MetricSpace.from_points([[0.0], [1.0], [3.0]], labels=["bank", "café", "dock"])
TWINS = dx.MetricSpace.from_points([[0, 0], [1, 1], [1, 1]])
PAIRS = dx.product(FIVES, IDS)
TUPLES = dx.MetricSpace.from_distances(1.0 - np.eye(2), labels=[(np.int64(1), 2), (3, 4)])
FLOATS = dx.MetricSpace.from_distances(1.0 - np.eye(3), labels=[2.0, 10.5, 1e3])

LABELS: list[tuple[dx.MetricSpace, Any, Any]] = [
    (IDS, 7, 1),
    (IDS, 3, 0),
    (IDS, "0", 3),
    (IDS, 7.0, 1),
    (IDS, np.int64(7), 1),
    (IDS, ["3", "9", "3"], [0, 4, 0]),
    (IDS, [7, 3, 7], [1, 0, 1]),
    (IDS, np.array([7, 9], dtype=np.uint8), [1, 4]),
    (IDS, np.array(["7", "9"]), [1, 4]),
    (GRID, (2, 3), 11),
    (GRID, (2.0, 3.0), 11),
    (GRID, (np.int64(2), np.float64(3)), 11),
    (GRID, "(2, 3)", 11),
    (GRID, [(2, 3), (1, 1)], [11, 5]),
    (WIDE, (2, 2), 10),
    (RING, 4, 4),
    (FIVES, "10", 2),
    (FIVES, 10, 2),
    (FIVES, 10.0, 2),
    (FIVES, [0, 150], [0, 30]),
    (TENTHS, 0.3, 3),
    (TENTHS, "0.3", 3),
    (COUNTS, 10, 10),
    (COUNTS, [3, 4], [3, 4]),
    (COUNTS, range(2, 4), [2, 3]),
    (PLACES, ["dock", "bank"], [2, 0]),
    (PAIRS, (5, 7), 6),
    (PAIRS, "(5, 7)", 6),
    (TUPLES, (1, 2), 0),
    (FLOATS, 2, 0),
    (FLOATS, 1000, 2),
    (TWINS, "(0, 0)", 0),
    (TWINS, ["(1, 1) #1", "(1, 1) #2"], [1, 2]),
    (IDS, [], []),
]

REFUSED: list[tuple[dx.MetricSpace, Any, type[dx.SpecError], set[str]]] = [
    (IDS, 2, NoSuchPoint, {"index", "point"}),
    (IDS, float("nan"), NoSuchPoint, {"index", "point"}),
    (IDS, (4, 4), NoSuchPoint, {"point"}),
    (IDS, [7, 2], NoSuchPoint, {"index", "point"}),
    (GRID, 11, NoSuchPoint, {"index", "point"}),
    (GRID, (2, 9), NoSuchPoint, {"index", "point"}),
    (GRID, (1, 2, 3), NoSuchPoint, {"index", "point"}),
    (WIDE, (6, 6), NoSuchPoint, {"point"}),
    (PLACES, ("dock", "bank"), NoSuchPoint, {"index", "point"}),
    (COUNTS, [30, 31], NoSuchPoint, {"index", "point"}),
    (COUNTS, -1, NoSuchPoint, {"index", "point"}),
    (COUNTS, True, NoSuchPoint, {"index", "point"}),
    (TWINS, "(1, 1)", NoSuchPoint, {"index", "point"}),
    (TWINS, (1, 1), NoSuchPoint, {"point"}),
    (IDS, None, dx.SpecError, {"index", "point"}),
    (IDS, [None], dx.SpecError, {"index", "point"}),
    (IDS, [[7]], dx.SpecError, {"index", "point"}),
    (IDS, [(1, [2])], dx.SpecError, {"index", "point"}),
]


@pytest.mark.parametrize(("space", "given", "meant"), LABELS)
def test_a_bare_argument_is_a_label(space: dx.MetricSpace, given: Any, meant: Any) -> None:
    assert space.naming.find(given).tolist() == space.naming.find(label=given).tolist() == meant
    if isinstance(meant, int):
        assert space.index(given) == meant


@pytest.mark.parametrize(("space", "given", "kind", "options"), REFUSED)
def test_what_is_no_label_is_refused(
    space: dx.MetricSpace, given: Any, kind: type[dx.SpecError], options: set[str]
) -> None:
    with pytest.raises(dx.SpecError) as caught:
        space.naming.find(given)
    assert (type(caught.value), caught.value.field, caught.value.options) == (kind, "secret", options)
    assert "\n" not in str(caught.value)


def test_the_fix_for_an_index_can_be_taken_as_it_stands() -> None:
    for given, option in ((11, Option("index", 11)), (np.int64(11), Option("index", 11))):
        with pytest.raises(NoSuchPoint) as caught:
            GRID.index(given)
        assert option in caught.value.parts
    with pytest.raises(NoSuchPoint) as caught:
        WIDE.index((6, 6))
    assert Option("point", (6, 6)) in caught.value.parts


NAMED: list[tuple[dx.MetricSpace, dict[str, Any], Any]] = [
    (IDS, {"label": 3}, 0),
    (IDS, {"label": np.int64(3)}, 0),
    (IDS, {"label": 3.0}, 0),
    (IDS, {"label": [3, "7", 1.0]}, [0, 1, 2]),
    (IDS, {"label": np.array([3, 7])}, [0, 1]),
    (IDS, {"index": 3}, 3),
    (IDS, {"index": [3, 0]}, [3, 0]),
    (IDS, {"index": np.array([3, 0], dtype=np.int8)}, [3, 0]),
    (IDS, {"point": (4, 4)}, 4),
    (IDS, {"point": [4.0, 4.0]}, 4),
    (IDS, {"point": [(4, 4), (0, 0)]}, [4, 0]),
    (FIVES, {"label": 10}, 2),
    (FIVES, {"index": 10}, 10),
    (FIVES, {"point": 10}, 2),
    (FIVES, {"point": (10,)}, 2),
    (FIVES, {"point": [10, 15]}, [2, 3]),
    (TENTHS, {"point": 0.3}, 3),
    (WIDE, {"label": (2, 2)}, 10),
    (WIDE, {"point": (2, 2)}, 5),
    (COUNTS, {"label": 7.0}, 7),
    (TWINS, {"index": 2}, 2),
    (dx.MetricSpace.from_distances(1.0 - np.eye(2), labels=[False, True]), {"label": True}, 1),
    (FLOATS, {"label": 2}, 0),
    (FLOATS, {"label": "2.0"}, 0),
    (FLOATS, {"label": 1000}, 2),
    (PAIRS, {"label": (5.0, "7")}, 6),
]


@pytest.mark.parametrize(("space", "given", "meant"), NAMED)
def test_it_can_be_said_what_is_given(space: dx.MetricSpace, given: dict[str, Any], meant: Any) -> None:
    assert space.naming.find(**given).tolist() == meant
    if isinstance(meant, int):
        assert space.index(**given) == meant
        assert np.array_equal(space.row(**given), space.distances[meant])


@pytest.mark.parametrize(
    "given",
    [
        {"label": 4},
        {"label": "x"},
        {"label": True},
        {"label": 3, "index": 3},
        {"index": 5},
        {"index": "3"},
        {"index": True},
        {"index": [0, 5]},
        {"index": [0.0]},
        {"point": 4},
        {"point": (4, 5)},
        {"point": [[4], [4, 5]]},
        {"point": ("x", "y")},
        {"label": [3, 7]},
    ],
)
def test_what_is_said_has_to_be_there(given: dict[str, Any]) -> None:
    with pytest.raises(dx.SpecError) as refused:
        IDS.index(**given)
    assert refused.value.field == "point"


def test_swapped_coordinates_are_told() -> None:
    town = dx.geo.points([[45.7, 4.8], [45.8, 4.9]])
    for given, fix in (
        ([4.85, 45.75], "exchange the two coordinates"),
        ([45.75, 4.85], "give the coordinates of one"),
    ):
        with pytest.raises(dx.SpecError) as refused:
            town.index(point=given)
        assert refused.value.fix == fix


def test_a_number_of_too_many_digits_is_no_point() -> None:
    for given in ({"label": 10**5000}, {"index": 10**5000}, {"name": 10**5000}, {"name": (10**5000, 1)}):
        with pytest.raises(NoSuchPoint):
            IDS.index(**given)


def test_spaces_without_coordinates_say_so() -> None:
    with pytest.raises(dx.SpecError) as refused:
        FLOATS.naming.find(point=2.0)
    assert refused.value.field == "secret"


def test_lines_have_their_values_as_labels() -> None:
    assert FIVES.labels[:3] == ("0", "5", "10")
    assert TENTHS.labels[3] == "0.3"
    assert COUNTS.labels == tuple(map(str, range(31)))
    assert dx.product(FIVES, COUNTS).labels[32] == "(5, 1)"


def test_a_saved_line_keeps_the_labels_it_was_saved_with() -> None:
    # as lines of a step were labelled once
    old = dx.MetricSpace.from_points([[0.0], [5.0], [10.0]], labels=["0", "1", "2"])
    assert old.index("2") == 2
    assert old.index(2) == 2
    assert old.index(label=2) == 2
    assert old.index(point=10) == 2


@pytest.mark.parametrize("space", [IDS, FIVES, GRID])
def test_every_label_and_index_is_found(space: dx.MetricSpace) -> None:
    everyone = list(range(len(space)))
    assert space.naming.find(list(space.labels)).tolist() == everyone
    assert space.naming.find(label=list(space.labels)).tolist() == everyone
    assert space.naming.find(index=everyone).tolist() == everyone
    assert space.naming.find(point=space.points).tolist() == everyone


IN_DIGITS: dict[str, tuple[list[Any], list[str]]] = {
    "10 digits": ([0.1 + 0.2, 1 / 3, -0.0], ["0.3", "0.3333333333", "-0"]),
    "milliseconds": ([1700000000123, 1700000000124], ["1700000000123", "1700000000124"]),
    "11 digits": ([0.12345678901, 0.12345678902, 1 / 3], ["0.12345678901", "0.12345678902", "0.33333333333"]),
    "every digit": ([1.0, 1 + 2**-52], ["1", "1.0000000000000002"]),
    "told apart by another": ([[1 / 3, 1], [1 / 3 + 1e-13, 2]], ["(0.3333333333, 1)", "(0.3333333333, 2)"]),
    "largest": ([1.7e308, -1.7e308, 5e-324], ["1.7e+308", "-1.7e+308", "4.940656458e-324"]),
    "equal": ([1 / 3, 2.0, 1 / 3], ["0.3333333333 #1", "2", "0.3333333333 #2"]),
    "equal texts": ([["a"], ["a"], ["a #1"], ["b"]], ["a #2", "a #3", "a #1", "b"]),
    "texts written alike": ([["a", "b, c"], ["a, b", "c"]], ["(a, b, c) #1", "(a, b, c) #2"]),
    "not numbers": ([["a", 1 / 3], ["a", 1 / 3 + 1e-12]], ["(a, 0.333333333333)", "(a, 0.333333333334)"]),
}


@pytest.mark.parametrize("kind", IN_DIGITS)
def test_labels_have_as_many_digits_as_tell_points_apart(kind: str) -> None:
    points, expected = IN_DIGITS[kind]
    array = np.array(points, dtype=object if isinstance(np.ravel(points)[0], str) else float)
    labels = Coordinates(array.reshape(len(points), -1))
    assert list(labels) == expected
    assert [labels.index(label) for label in expected] == [*range(len(points))]


@pytest.mark.parametrize("seed", range(10))
def test_points_that_differ_have_different_labels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-300, 300)
    points = scale * (1 + rng.integers(0, 4, (200, 2)) * 2.0 ** -rng.integers(20, 53, (200, 2)))
    same = np.unique(points, axis=0, return_counts=True)[1]
    labels = list(Coordinates(points))
    assert len({*labels}) == len(points)
    assert sum("#" in label for label in labels) == same[same > 1].sum()


@pytest.mark.parametrize("given", [[[]], [[], []], [[[]]], ()])
def test_coordinates_of_no_point_are_refused(given: Any) -> None:
    for space in (dx.line(3), dx.grid((2, 2))):
        with pytest.raises(dx.SpecError) as refused:
            space.index(point=given)
        assert refused.value.field == "point"
