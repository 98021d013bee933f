"""Each fix in a message about a problem file, followed: to a good file, or to the next thing that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from dxopt.errors import SpecError
from dxopt.spec.build import load
from tests.material.advice import followed, written, yaml
from tests.material.broken_specs import BROKEN, FILES, GOOD, Broken

STEPS = 4
"""Fixes followed one after another before a file has to be good."""

Edits = list[tuple[str, str]]
MENDED: dict[str, Edits] = {
    "a label too many": [(", c]}", "]}")],
    "edge with a bad end": [("1.5", "'1.5'")],
    "two documents": [("---\n" + GOOD, "")],
    "open bracket": [("[x, y", "[x, y]")],
    "tab": [("\tfile", "  file")],
    "bad indent": [("   file", "  file")],
    "control character": [("\x07", "")],
    "key twice": [("\nname: city", "")],
    "inner key twice": [("\n  kind: points\nprivacy", "\nprivacy")],
    "cycle": [("*a", "utility")],
    "no anchor": [("*other", "&other distance")],
    "deep": [("[" * 60 + "]" * 60, "town")],
    "key that is a list": [("? [a]\n: b", "loss: distance")],
    "empty value": [("loss:", "loss: distance")],
    "empty inner value": [("~", "place")],
    "name is empty": [("''", "town")],
    "unit is a number": [("3 km", "km")],
    "bad top": [("top: people", "top: 3 by people")],
    "top is too many": [("9 by", "4 by")],
    "logarithm of 0": [("ln(0)", "ln(4)")],
    "root of a negative": [("sqrt(-1)", "sqrt(4)")],
    "division by 0": [("1/0", "1/2")],
    "range backwards": [("to: 1", "to: 3"), ("expect:", "# ")],
    "step is tiny": [("1e-9", "0.5"), ("expect:", "# ")],
    "epsilon vanishes": [("1e-200", "1"), ("1e200", "2")],
    "no such file": [("city.csv", "town.csv")],
    "file is a folder": [("file: .", "file: town.csv")],
    "file with a zero byte": [('"a\\0b"', "town.csv")],
    "haversine of one column": [("[x]", "{lat: x, lon: y}")],
    "shape too large": [("[100000, 100000]", "[2, 2]")],
    "shape is a number": [("shape: 4", "shape: [2, 2]")],
    "grid overflows": [("1e308", "1e10")],
    "ragged values": [("[2]]", "[2, 3]]")],
    "values not rows": [("[0, 1]", "[[0], [1]]")],
    "box upside down": [("north: 40", "north: 46")],
    "box without width": [("east: -73.75", "east: -73.5")],
    "box of too many cells": [("[200, 200]", "[4, 4]")],
    "box of too small cells": [("1e-9", "20")],
    "roads that are no GraphML": [("{kind: roads, file: town.csv}", "{kind: graph, file: roads.graphml}")],
    "edge of one end": [("[[a]]", "[[a, b]]")],
    "broken GraphML": [("broken.graphml", "roads.graphml")],
    "no GraphML": [("none.graphml", "roads.graphml")],
    "no such length": [("weight: toll", "weight: length")],
    "distances not square": [("wide.csv", "asymmetric.csv")],
    "triangle inequality": [("triangle.csv}", "triangle.csv, close: true}")],
    "diagonal": [("[[1, 1]", "[[0, 1]")],
    "no report is left": [("[.inf]", "[2]")],
    "reports beyond any limit": [("max_loss: -1", "max_loss: 20")],
    "prior is a list": [("prior: [0.5, 0.5]", "prior: {kind: explicit, values: [0.5, 0.25, 0.25]}")],
    "prior of another size": [("[0.5, 0.5]", "[0.5, 0.25, 0.25]")],
    "no such corner": [("point: pub", "point: inn")],
    "check-ins without places": [("[lat]", "[lat, lon]")],
    "private prior drawn at another level": [("epsilon: 2", "epsilon: 1.0")],
    "private prior not drawn yet": [("none.json", "drawn.json")],
    "loss of another size": [("[[0, 1]]", "[[0, 1], [1, 0], [1, 1]]")],
    "reports of another dimension": [("[[1]]", "[[1, 2]]")],
    "binary with reports": [("loss: binary", "loss: {kind: matrix, values: [[1], [0], [1]]}")],
    "reports off the globe": [("[[99, 0]]", "[[0, 99]]")],
    "bad solver": [("'high s'", "highs")],
    "other priors without names": [("[uniform]", "{flat: uniform}")],
    "no such point for another prior": [("point: moon", "point: {index: 1}")],
    "another prior too short": [("values: [1]", "values: [0.5, 0.5, 0]")],
    "empty source": [("source: ''", "source: by hand")],
    "list of values for one epsilon": [("[{value: 1, source: a}]", "{value: 1, source: a}")],
    "one value for a family": [
        ("{value: 0.42647", "[{value: 0.42647"),
        ("by hand}", "by hand}, {value: 1, source: a}]"),
    ],
    "two values for three": [("expect:\n", "expect:\n- {value: 1, source: a}\n")],
    "neither": [("prior:", "privacy: {level: 1, radius: 1}\nprior:")],
    "no epsilons": [
        ("epsilon: []", "epsilon: [1]"),
        ("{value: 0.42647", "[{value: 0.42647"),
        ("by hand}", "by hand}]"),
    ],
    "corner is true": [("point: true", "point: inn")],
    "check-ins of negative weight": [("weight: hours", "weight: lat")],
    "data in words": [("[x, place]", "[x, y]")],
    "weight not a number": [("nan.csv", "town.csv")],
    "data of no such file": [("{file: inn.csv, label: place}", "{file: town.csv, columns: [x, y]}")],
    "check-ins in words": [("lat: place", "lat: lat")],
    "sample elsewhere": [("file: town.csv, columns: [x, y]}\nloss", "file: seen.csv, columns: [x, y]}\nloss")],
    "no check-ins near": [("file: town.csv, columns: {lat: x, lon: y}", "file: places.csv, columns: [lat, lon]")],
    "reports in no file": [("area: none", "area: around.geojson")],
}
"""How a reader follows a fix whose words leave it open what to write."""

NEXT = {
    "no space": "prior.file",
    "two things wrong": "space.top",
    "space is text": "prior.file",
    "space is a list": "prior.file",
    "smoothing by no kernel": "prior.smoothing",
    "no words": "space.file",
    "words beside top": "space.file",
    "roads without a file": "space.file",
    "negative prior": "prior.values",
    "column without a file": "prior.column",
    "check-ins off the globe": "prior.columns[0]",
    "epsilon is negative": "epsilon[1]",
}
"""The field that is wrong as well, and is told of next."""

_NODE = '<node id="{}"><data key="x">{}</data><data key="y">0</data></node>'
_KEY = '<key id="{}" for="{}" attr.name="{}" attr.type="double"/>'
ROADS = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    + _KEY.format("x", "node", "x")
    + _KEY.format("y", "node", "y")
    + _KEY.format("l", "edge", "length")
    + f'<graph edgedefault="undirected">{_NODE.format("a", 0)}{_NODE.format("b", 0.01)}'
    + '<edge source="a" target="b"><data key="l">1500</data></edge></graph></graphml>'
).encode()

FILE_MENDED: dict[str, tuple[str, bytes, bytes]] = {
    "ragged CSV": ("ragged.csv", b"inn,3,4\n", b"inn,3,4,5\nfarm,9,9,5\n"),
    "empty CSV": ("empty.csv", b"", FILES["town.csv"]),
    "CSV without rows": ("header.csv", FILES["header.csv"], FILES["town.csv"]),
    "CSV in Latin 1": ("latin.csv", FILES["latin.csv"], FILES["town.csv"].replace(b"mill", "mühle".encode())),
    "column name twice": ("twice.csv", FILES["twice.csv"], b"x,y,z,people,place\n1,2,3,4,5\n2,3,4,5,6\n3,4,5,6,7\n"),
    "stray quote": ("quote.csv", b'"mill"s,0,0,10\n', b'"mill",0,0,10\n"inn",1,0,5\n"farm",2,2,5\n'),
    "cell not a number": ("words.csv", b"four", b"4"),
    "negative weight": ("negative.csv", b"-5", b"5"),
    "roads without places": ("nowhere.graphml", FILES["nowhere.graphml"], ROADS),
    "rows and columns in two orders": ("headed.csv", b",b,a\n", b",a,b\n"),
    "loss from a bad file": ("headed.csv", FILES["headed.csv"], b"0,1,1\n1,0,1\n1,1,0\n"),
    "a word's vector missing": ("town.csv", FILES["town.csv"], b"mill 1 2\ninn 3 4\n"),
}
"""How a reader mends a data file: its name, and what stands there before and after."""

ELSEWHERE = {"empty", "only a comment", "a list", "plain text", "bomb", "too many rows", "roads in ells"}
"""The fix is to write a file, or to take other data."""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this module, in which data files are mended."""
    folder = tmp_path_factory.mktemp("advice")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "around.geojson").write_text(
        '{"type": "Polygon", "coordinates": [[[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]]}'
    )
    return folder


def wrong(folder: Path, text: str) -> SpecError | None:
    """Return what is wrong with a problem file, if anything."""
    path = folder / "problem.yaml"
    path.write_text(text, encoding="utf-8")
    try:
        load(path)
    except SpecError as error:
        return error
    return None


def ends_well(folder: Path, content: Any, error: SpecError, steps: int = STEPS) -> bool:
    """Tell whether some fixes followed in turn make a file good."""
    for _, edited in followed(content, error):
        left = wrong(folder, written(edited))
        if left is None or (steps > 1 and differs(left, error) and ends_well(folder, edited, left, steps - 1)):
            return True
    return False


def differs(one: SpecError, other: SpecError) -> bool:
    """Tell whether two messages say different things."""
    return (one.field, one.wrong) != (other.field, other.wrong)


def mechanical(one: Broken) -> Any:
    """Return the content of a broken file whose fix says by its words what to write; None for others."""
    others = (MENDED, FILE_MENDED, ELSEWHERE)
    return None if any(one.name in names for names in others) else yaml().load(one.text)


@pytest.mark.parametrize("one", BROKEN, ids=lambda one: one.name)
def test_a_fix_leads_on(own: Path, one: Broken) -> None:
    error = wrong(own, one.text)
    assert error is not None and error.fix
    if one.name in ELSEWHERE:
        return
    if one.name in MENDED:
        text = one.text
        for old, new in MENDED[one.name]:
            assert old in text
            text = text.replace(old, new, 1)
        assert wrong(own, text) is None
        return
    if one.name in FILE_MENDED:
        name, before, after = FILE_MENDED[one.name]
        kept = (own / name).read_bytes()
        try:
            (own / name).write_bytes(kept.replace(before, after) if before else after)
            left = wrong(own, one.text)
        finally:
            (own / name).write_bytes(kept)
        assert left is None
        return
    content = mechanical(one)
    ways = list(followed(content, error))
    assert ways
    for way, edited in ways:
        left = wrong(own, written(edited))
        assert left is None or differs(left, error), way
    if one.name in NEXT:
        assert NEXT[one.name] in {left.field for _, edited in ways if (left := wrong(own, written(edited)))}
    else:
        assert ends_well(own, content, error)


LABELS = {
    "01001": ("1001", "2002", "write '01001' for '1001'"),
    "Mill": ("mill", "inn", "write 'Mill' for 'mill'"),
    "inn": ("mill", "farm", ""),
}


@pytest.mark.parametrize("label", list(LABELS))
def test_a_row_that_is_missing_is_looked_for_under_names_like_it(own: Path, label: str) -> None:
    one, other, near = LABELS[label]
    (own / "places2.csv").write_text(f"place,x\n'{label}',0\nz,1\n".replace("'", '"'), encoding="utf-8")
    (own / "weights2.csv").write_text(f"place,w\n{one},1\n{other},1\nz,2\n", encoding="utf-8")
    text = (
        "space: {kind: points, file: places2.csv, columns: [x], label: place}\nepsilon: 1\n"
        "prior: {kind: column, file: weights2.csv, column: w, label: place}\n"
    )
    error = wrong(own, text)
    assert error is not None and near in error.fix and "upper" not in error.fix
    (own / "weights2.csv").write_text(f"place,w\n{label},1\nz,2\n", encoding="utf-8")
    assert wrong(own, text) is None


@pytest.mark.parametrize(("label", "near"), [("01001", "1001"), ("Mill", "mill"), ("a b", "ab"), ("007", "7")])
def test_a_point_that_is_missing_is_looked_for_under_names_like_it(own: Path, label: str, near: str) -> None:
    (own / "places3.csv").write_text(f"place,x\n{label},0\nz,1\n", encoding="utf-8")
    text = (
        "space: {kind: points, file: places3.csv, columns: [x], label: place}\nepsilon: 1\n"
        "prior: {kind: corner, point: %s}\n"
    )
    error = wrong(own, text % near)
    assert error is not None and repr(label) in error.fix
    assert wrong(own, text % f"'{label}'") is None
    named = dx.MetricSpace.from_points([[0], [1]], "euclidean", labels=[label, "z"])
    for given in (near, int(near)) if near.isdigit() else (near,):
        with pytest.raises(dx.SpecError) as caught:
            named.index(given)
        assert repr(label) in caught.value.fix
        with pytest.raises(dx.SpecError) as caught:
            dx.integer_table(dx.classic.exponential(named, epsilon=1.0)).sample(given)
        assert label not in str(caught.value)


def test_doubled_labels_are_wrong_at_their_own_key(own: Path) -> None:
    (own / "doubled.csv").write_text("place,x\na,0\na,1\n", encoding="utf-8")
    text = "space: {kind: points, file: doubled.csv, columns: [x], label: place}\nepsilon: 1\nprior: uniform\n"
    error = wrong(own, text)
    assert error is not None and error.field == "space.label"
    (own / "doubled.csv").write_text("place,x\na,0\nb,1\n", encoding="utf-8")
    assert wrong(own, text) is None
