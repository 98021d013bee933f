"""Which points are meant: labels, indices, coordinates, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dxopt as dx

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

MEANT: list[tuple[dx.MetricSpace, Any, Any]] = [
    (IDS, 7, 1),
    (IDS, 9, 4),
    (IDS, "3", 0),
    (IDS, "0", 3),
    (IDS, 7.0, 1),
    (IDS, np.int64(7), 1),
    (IDS, (4, 4), 4),
    (IDS, ["3", "9", "3"], [0, 4, 0]),
    (IDS, [7, 9, 7], [1, 4, 1]),
    (IDS, np.array([7, 9], dtype=np.uint8), [1, 4]),
    (IDS, np.array(["7", "9"]), [1, 4]),
    (GRID, (2, 3), 11),
    (GRID, (2.0, 3.0), 11),
    (GRID, (np.int64(2), np.float64(3)), 11),
    (GRID, "(2, 3)", 11),
    (GRID, 11, 11),
    (GRID, [2, 3], [2, 3]),
    (GRID, np.array([2, 3]), [2, 3]),
    (GRID, range(2, 4), [2, 3]),
    (GRID, [(2, 3), (1, 1)], [11, 5]),
    (WIDE, (0, 0), 0),
    (WIDE, (6, 6), 15),
    (FIVES, 0, 0),
    (FIVES, "10", 2),
    (FIVES, 10.0, 2),
    (FIVES, 150, 30),
    (FIVES, [0, 150], [0, 30]),
    (TENTHS, 0.3, 3),
    (TENTHS, "0.3", 3),
    (COUNTS, 10, 10),
    (COUNTS, 10.0, 10),
    (COUNTS, [3, 4], [3, 4]),
    (PLACES, 2, 2),
    (PLACES, "dock", 2),
    (PLACES, ("dock", "bank"), [2, 0]),
    (PLACES, (2, 0), [2, 0]),
    (PAIRS, (5, 7), 6),
    (PAIRS, "(5, 7)", 6),
    (TUPLES, (1, 2), 0),
    (TUPLES, 1, 1),
    (FLOATS, 1000, 2),
    (TWINS, "(0, 0)", 0),
    (TWINS, 2, 2),
    (IDS, [], []),
]

REFUSED: list[tuple[dx.MetricSpace, Any, str]] = [
    (IDS, 3, "secret: 3 may be a label or an index; write label=3 or index=3"),
    (IDS, [7, 3], "secret: 3 may be a label or an index; write label=3 or index=3"),
    (IDS, np.array([7, 3]), "secret: 3 may be a label or an index; write label=3 or index=3"),
    (IDS, np.int64(3), "secret: 3 may be a label or an index; write label=3 or index=3"),
    (GRID, (np.int64(2), 9), "secret: there is no point (2, 9)"),
    (IDS, 2, "secret: 2 is no label; write index=2 if it is an index"),
    (IDS, 5, "secret: there is no point 5; use an index or a label"),
    (IDS, float("nan"), "secret: there is no point nan; use an index or a label"),
    (FIVES, 10, "secret: 10 may be a label or an index; write label=10 or index=10"),
    (FIVES, (10,), "secret: 10 may be a label or an index; write label=10 or index=10"),
    (FIVES, 3, "secret: 3 is no label; write index=3 if it is an index"),
    (FIVES, 3.0, "secret: there is no point 3.0; use an index or a label"),
    (WIDE, (2, 2), "secret: (2, 2) may be a label or coordinates; write label=(2, 2) or point=(2, 2)"),
    (RING, 4, "secret: 4 may be a label or a coordinate; write label=4 or point=4"),
    (GRID, (2, 9), "secret: there is no point (2, 9); use an index or a label; write a list for several points"),
    (GRID, [(2, 3), (2, 9)], "secret: there is no point (2, 9); use an index or a label; write a list for several"),
    (GRID, (1, 2, 3), "secret: there is no point (1, 2, 3)"),
    (COUNTS, 31, "secret: there is no point 31; use an index or a label"),
    (COUNTS, -1, "secret: there is no point -1; use an index or a label"),
    (COUNTS, True, "secret: is True; give an index or a label"),
    (FLOATS, 2, "secret: 2 may be a label or an index; write label=2 or index=2"),
    (TWINS, "(1, 1)", "secret: '(1, 1)' names several points; give an index, as index="),
    (TWINS, (1, 1), "secret: (1, 1) names several points; give an index, as index="),
    (IDS, None, "secret: is missing; give a label or an index, or one of label=, index= and point="),
    (IDS, [None], "secret: is no list of indices or labels"),
    (IDS, [[7]], "secret: is no list of indices or labels"),
]


@pytest.mark.parametrize(("space", "given", "meant"), MEANT)
def test_what_can_mean_one_thing_means_it(space: dx.MetricSpace, given: Any, meant: Any) -> None:
    assert space.naming.find(given).tolist() == meant
    if isinstance(meant, int):
        assert space.index(given) == meant


@pytest.mark.parametrize(("space", "given", "message"), REFUSED)
def test_what_may_mean_two_things_is_refused(space: dx.MetricSpace, given: Any, message: str) -> None:
    with pytest.raises(dx.SpecError) as caught:
        space.naming.find(given)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


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
    ("given", "message"),
    [
        ({"label": 4}, "there is no point 4"),
        ({"label": "x"}, "there is no point 'x'"),
        ({"label": True}, "there is no point True"),
        ({"label": 3, "index": 3}, "is given twice"),
        ({"index": 5}, "there is no point with index 5; give an index from 0 to 4, or a label"),
        ({"index": "3"}, "is '3'; give a whole number"),
        ({"index": True}, "is True; give a whole number"),
        ({"index": [0, 5]}, "has an index out of range; indices run from 0 to 4"),
        ({"index": [0.0]}, "is no list of whole numbers"),
        ({"point": 4}, r"has shape \(\); give 2 coordinates for each"),
        ({"point": (4, 5)}, r"there is no point at \[4, 5\]"),
        ({"point": [[4], [4, 5]]}, "is no array"),
        ({"point": ("x", "y")}, "there is no point at"),
        ({"label": [3, 7]}, "is a list of 2; give one point"),
    ],
)
def test_what_is_said_has_to_be_there(given: dict[str, Any], message: str) -> None:
    with pytest.raises(dx.SpecError, match=rf"^point: {message}"):
        IDS.index(**given)


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
        with pytest.raises(dx.SpecError, match=r"^point: there is no point (with index )?of so many digits"):
            IDS.index(**given)


def test_spaces_without_coordinates_say_so() -> None:
    with pytest.raises(dx.SpecError, match=r"^secret: the points have no coordinates"):
        FLOATS.naming.find(point=2.0)


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
