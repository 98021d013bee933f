"""One good problem file, and small edits of it that each make it bad."""

from __future__ import annotations

from typing import NamedTuple


class Broken(NamedTuple):
    """A bad problem file, and where the error must point."""

    name: str
    text: str
    line: int
    column: int
    field: str


GOOD = """\
name: town
space:
  kind: points
  file: town.csv
  columns: [x, y]
  metric: euclidean
  top: 3 by people
  label: place
privacy: {level: ln(4), radius: 2.0}
prior:
  kind: column
  column: people
loss: distance
method: optimal
solver: highs
spanner: 1.5
tolerance: 1e-6
time_limit: 60
evaluate: [expected_loss, utility]
expect: {value: 0.42647, tolerance: 1e-4, source: by hand}
"""

FILES: dict[str, bytes] = {
    "town.csv": b"place,x,y,people\nmill,0,0,10\ninn,3,4,30\nfarm,9,9,5\nchurch,0,8,30\n",
    "ragged.csv": b"place,x,y,people\nmill,0,0,10\ninn,3,4\n",
    "words.csv": b"place,x,y,people\nmill,0,0,10\ninn,3,four,30\nfarm,9,9,5\n",
    "nan.csv": b"place,x,y,people\nmill,0,0,nan\ninn,3,4,30\nfarm,9,9,5\n",
    "negative.csv": b"place,x,y,people\nmill,0,0,1\ninn,3,4,3\nfarm,9,9,-5\n",
    "twice.csv": b"x,x,y,people,place\n1,2,3,4,5\n",
    "quote.csv": b'place,x,y,people\n"mill"s,0,0,10\n',
    "empty.csv": b"",
    "header.csv": b"place,x,y,people\n",
    "latin.csv": "place,x,y,people\nmühle,0,0,10\n".encode("latin-1"),
    "large.csv": b"place,x,y,people\n" + b"mill,0,0,10\n" * 4001,
    "matrix.csv": b"0,1,inf\n1,0,inf\ninf,inf,0\n",
    "wide.csv": b"0,1,2\n1,0,1\n",
    "asymmetric.csv": b"0,1\n2,0\n",
    "drawn.json": b'{"format": "dxopt private counts 1", "epsilon": 1.0, "unit": "per person", "per_person": 1, '
    b'"labels": ["0", "1", "2"], "counts": [3, 5, -1]}',
    "triangle.csv": b"0,1,5\n1,0,1\n5,1,0\n",
    "headed.csv": b",b,a\na,0,1\nb,1,0\n",
    "named.csv": b"a,b\n0,1\n1,0\n",
    "broken.graphml": b"<graphml><graph",
    "roads.graphml": b"""<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="edge" attr.name="length" attr.type="double"/>
  <graph edgedefault="undirected">
    <node id="a"/> <node id="b"/> <node id="c"/>
    <edge source="a" target="b"><data key="d0">1.5</data></edge>
    <edge source="b" target="c"><data key="d0">2</data></edge>
  </graph>
</graphml>
""",
    "nowhere.graphml": b"""<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="edge" attr.name="length" attr.type="string"/>
  <graph edgedefault="directed"><node id="a"/><node id="b"/>
    <edge source="a" target="b" id="0"><data key="d0">1500.5</data></edge>
  </graph>
</graphml>
""",
    "poles.csv": b"lat,lon\n120,0\n0,120\n",
    "places.csv": b"place,lat,lon,hours\nmill,45.50,-73.60,2\ninn,45.51,-73.58,1\nfarm,45.60,-73.60,-3\n",
    "roads.csv": b"from,to,length\na,b,1.5\nb,c,2\n",
    "seen.csv": b"x,y,place\n0,8,church\n3,4,inn\n3,4,inn\n3,4,inn\n",
    "weights.csv": b"weight\n1\n2\n1\n",
}

_SPACE = GOOD[GOOD.index("space:") : GOOD.index("privacy:")]
_PRIOR = GOOD[GOOD.index("prior:") : GOOD.index("loss:")]
_PRIVACY = "privacy: {level: ln(4), radius: 2.0}"
_EXPECT = "expect: {value: 0.42647, tolerance: 1e-4, source: by hand}\n"
_BOMB = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))


def edited(*edits: tuple[str, str]) -> str:
    """The good file after replacing each first text by the second."""
    text = GOOD
    for old, new in edits:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} is there {text.count(old)} times")
        text = text.replace(old, new)
    return text


def with_space(space: str, prior: str = "prior: uniform\n") -> str:
    """The good file with another space, on line 2, and another prior, on line 4."""
    return edited((_SPACE, f"space: {space}\n"), (_PRIOR, prior))


def _broken(name: str, old: str, new: str, line: int, column: int, field: str) -> Broken:
    return Broken(name, edited((old, new)), line, column, field)


def _space(name: str, space: str, line: int, column: int, field: str) -> Broken:
    return Broken(name, with_space(space), line, column, field)


def _box(rest: str, kind: str = "bounding_box", **changes: float) -> str:
    sides = {"south": 45.5, "west": -73.75, "north": 45.75, "east": -73.5, **changes}
    return f"{{kind: {kind}, {', '.join(f'{name}: {side}' for name, side in sides.items())}, {rest}}}"


def _check_ins(name: str, rest: str, line: int, column: int, field: str, file: str = "places.csv") -> Broken:
    space = "{kind: points, file: places.csv, columns: [lat, lon], metric: haversine}"
    return Broken(name, with_space(space, f"prior: {{kind: check_ins, file: {file}, {rest}}}\n"), line, column, field)


_PRIVATE = "kind: private, file: drawn.json, check_ins: places.csv, columns: [lat], "

BROKEN: list[Broken] = [
    # YAML
    Broken("empty", "", 1, 1, "file"),
    Broken("only a comment", "# nothing\n", 1, 1, "file"),
    Broken("a list", "# a list\n- a\n- b\n", 2, 1, "file"),
    Broken("plain text", "town", 1, 1, "file"),
    Broken("two documents", GOOD + "---\n" + GOOD, 21, 1, "file"),
    _broken("open bracket", "[x, y]", "[x, y", 6, 9, "syntax"),
    _broken("tab", "  file: town.csv", "\tfile: town.csv", 4, 1, "syntax"),
    _broken("bad indent", "  file: town.csv", "   file: town.csv", 4, 8, "syntax"),
    _broken("control character", "by hand", "by\x07hand", 20, 53, "syntax"),
    _broken("key twice", "loss: distance", "loss: distance\nname: city", 14, 1, "name"),
    _broken("inner key twice", "  label: place", "  label: place\n  kind: points", 9, 3, "space.kind"),
    _broken("cycle", "[expected_loss, utility]", "&a [expected_loss, *a]", 19, 30, "evaluate[1]"),
    _broken("no anchor", "loss: distance", "loss: *other", 13, 7, "loss"),
    _broken("bomb", "name: town\n", "a0: &a0 [1, 1]\n" + _BOMB, 7, 20, "a6[2]"),
    _broken("deep", "town\n", "[" * 60 + "]" * 60 + "\n", 1, 57, "name"),
    _broken("tag", "tolerance: 1e-6", "tolerance: !!float 1e-6", 17, 12, "tolerance"),
    _broken("key that is a list", "loss: distance", "? [a]\n: b", 13, 3, "file"),
    # keys
    _broken("unknown key", "loss: distance", "los: distance", 13, 1, "los"),
    _broken("unknown inner key", "  metric:", "  metrc:", 6, 3, "space.metrc"),
    _broken("unknown key in flow", "radius:", "raduis:", 9, 25, "privacy.raduis"),
    _broken("number as key", "loss: distance", "1: distance", 13, 1, "1"),
    _broken("no space", _SPACE, "", 1, 1, "space"),
    _broken("space without kind", "  kind: points\n", "", 2, 1, "space.kind"),
    _broken("no columns", "  columns: [x, y]\n", "", 2, 1, "space.columns"),
    _broken("no file", "  file: town.csv\n", "", 2, 1, "space.file"),
    _broken("empty value", "loss: distance", "loss:", 13, 1, "loss"),
    _broken("empty inner value", "  label: place", "  label: ~", 8, 3, "space.label"),
    _broken(
        "two things wrong",
        "  metric: euclidean\n  top: 3",
        "  metric: euclid\n  top: x",
        6,
        11,
        "space.metric",
    ),
    # types
    _broken("name is a number", "name: town", "name: 2024", 1, 7, "name"),
    _broken("name is empty", "name: town", "name: ''", 1, 7, "name"),
    _broken("space is text", _SPACE, "space: grid\n", 2, 8, "space"),
    _broken("space is a list", _SPACE, "space: [1, 2]\n", 2, 1, "space"),
    _broken("unknown kind", "kind: points", "kind: pionts", 3, 9, "space.kind"),
    _broken("column is a number", "[x, y]", "[x, 1]", 5, 16, "space.columns[1]"),
    _broken("columns are text", "[x, y]", "x", 5, 12, "space.columns"),
    _broken("no columns in the list", "[x, y]", "[]", 5, 3, "space.columns"),
    _broken("unknown metric", "euclidean", "euclidian", 6, 11, "space.metric"),
    _broken("unit is a number", "  label: place", "  unit: 3 km", 8, 9, "space.unit"),
    _broken("bad top", "3 by people", "people", 7, 8, "space.top"),
    _broken("top is too many", "3 by people", "9 by people", 7, 8, "space.top"),
    # numbers
    _broken("number is text", "1.5", "much", 16, 10, "spanner"),
    _broken("number is quoted", "1.5", "'1.5'", 16, 10, "spanner"),
    _broken("number is true", "1.5", "true", 16, 10, "spanner"),
    _broken("number is a list", "1.5", "[1.5]", 16, 1, "spanner"),
    _broken("number is nan", "1.5", ".nan", 16, 10, "spanner"),
    _broken("number is infinite", "time_limit: 60", "time_limit: .inf", 18, 13, "time_limit"),
    _broken("number too large", "time_limit: 60", "time_limit: 1e999", 18, 13, "time_limit"),
    _broken("number in hexadecimal", "time_limit: 60", "time_limit: 0x10", 18, 13, "time_limit"),
    _broken("sum", "ln(4)", "ln(4) + 1", 9, 18, "privacy.level"),
    _broken("other function", "ln(4)", "exp(4)", 9, 18, "privacy.level"),
    _broken("nested function", "ln(4)", "ln(sqrt(4))", 9, 18, "privacy.level"),
    _broken("logarithm of 0", "ln(4)", "ln(0)", 9, 18, "privacy.level"),
    _broken("root of a negative", "2.0}", "sqrt(-1)}", 9, 33, "privacy.radius"),
    _broken("division by 0", "2.0}", "1/0}", 9, 33, "privacy.radius"),
    # privacy
    _broken("both privacy and epsilon", "loss: distance", "loss: distance\nepsilon: 1", 14, 10, "epsilon"),
    _broken("neither", _PRIVACY + "\n", "", 1, 1, "epsilon"),
    _broken("epsilon is 0", _PRIVACY, "epsilon: 0", 9, 10, "epsilon"),
    _broken("epsilon is subnormal", _PRIVACY, "epsilon: 1e-320", 9, 10, "epsilon"),
    _broken("epsilon overflows", _PRIVACY, "epsilon: [1, 1e308]", 9, 14, "epsilon[1]"),
    _broken("epsilon is negative", _PRIVACY, "epsilon: [1, -1]", 9, 14, "epsilon[1]"),
    _broken("no epsilons", _PRIVACY, "epsilon: []", 9, 1, "epsilon"),
    _broken("epsilon twice", _PRIVACY, "epsilon: [1, 2, 1.0]", 9, 17, "epsilon[2]"),
    _broken("range backwards", _PRIVACY, "epsilon: {from: 2, to: 1, step: 1}", 9, 24, "epsilon.to"),
    _broken("range without step", _PRIVACY, "epsilon: {from: 1, to: 2}", 9, 1, "epsilon.step"),
    _broken("step is 0", _PRIVACY, "epsilon: {from: 1, to: 2, step: 0}", 9, 33, "epsilon.step"),
    _broken("step is tiny", _PRIVACY, "epsilon: {from: 1, to: 2, step: 1e-9}", 9, 33, "epsilon.step"),
    _broken("no radius", ", radius: 2.0", "", 9, 1, "privacy.radius"),
    _broken("radius is 0", "radius: 2.0", "radius: 0", 9, 33, "privacy.radius"),
    _broken("level for a position", "radius: 2.0}", "radius: 2.0, for: position}", 9, 43, "privacy.for"),
    _broken(
        "level for positions without cells", "radius: 2.0}", "radius: 2.0, for: positions}", 9, 43, "privacy.for"
    ),
    _broken("epsilon vanishes", "{level: ln(4), radius: 2.0}", "{level: 1e-200, radius: 1e200}", 9, 1, "privacy"),
    # files
    _broken("no such file", "town.csv", "city.csv", 4, 9, "space.file"),
    _broken("file is a folder", "file: town.csv", "file: .", 4, 9, "space.file"),
    _broken("file with a zero byte", "town.csv", '"a\\0b"', 4, 9, "space.file"),
    _broken("empty CSV", "town.csv", "empty.csv", 4, 9, "space.file"),
    _broken("CSV without rows", "town.csv", "header.csv", 4, 9, "space.file"),
    _broken("ragged CSV", "town.csv", "ragged.csv", 4, 9, "space.file"),
    _broken("CSV in Latin 1", "town.csv", "latin.csv", 4, 9, "space.file"),
    _broken("column name twice", "town.csv", "twice.csv", 4, 9, "space.file"),
    _broken("stray quote", "town.csv", "quote.csv", 4, 9, "space.file"),
    _broken("cell not a number", "town.csv", "words.csv", 5, 16, "space.columns[1]"),
    _broken("weight not a number", "town.csv", "nan.csv", 7, 8, "space.top"),
    _broken("negative weight", "town.csv", "negative.csv", 12, 11, "prior.column"),
    _broken("unknown column", "[x, y]", "[x, z]", 5, 16, "space.columns[1]"),
    _broken("unknown column of top", "by people", "by persons", 7, 8, "space.top"),
    _broken("unknown label", "label: place", "label: plaice", 8, 10, "space.label"),
    _broken("smoothing by nothing", "column: people", "column: people\n  smoothing: 0", 13, 14, "prior.smoothing"),
    _broken(
        "smoothing by no kernel",
        "column: people",
        "column: people\n  smoothing: {kernel: box}",
        13,
        23,
        "prior.smoothing.kernel",
    ),
    _broken("unknown column of prior", "column: people", "column: persons", 12, 11, "prior.column"),
    Broken("too many rows", edited(("town.csv", "large.csv"), ("  top: 3 by people\n", "")), 4, 9, "space.file"),
    _broken(
        "haversine of one column",
        "[x, y]\n  metric: euclidean",
        "[x]\n  metric: haversine",
        5,
        3,
        "space.columns",
    ),
    # other spaces
    _space("shape of 0", "{kind: grid, shape: [2, 0]}", 2, 32, "space.shape[1]"),
    _space("shape not whole", "{kind: grid, shape: [2.5, 2]}", 2, 29, "space.shape[0]"),
    _space("shape too large", "{kind: grid, shape: [100000, 100000]}", 2, 21, "space.shape"),
    _space("shape is a number", "{kind: grid, shape: 4}", 2, 28, "space.shape"),
    _space("grid in haversine", "{kind: grid, shape: [2, 2], metric: haversine}", 2, 44, "space.metric"),
    _space("spacing below 0", "{kind: torus, shape: [2, 2], spacing: -1}", 2, 46, "space.spacing"),
    _space("line too long", "{kind: line, size: 1000001}", 2, 27, "space.size"),
    _space("grid overflows", "{kind: grid, shape: [9], spacing: 1e308}", 2, 42, "space.spacing"),
    _space(
        "both values and file",
        "{kind: points, values: [[0]], file: town.csv, columns: [x]}",
        2,
        23,
        "space.values",
    ),
    _space("ragged values", "{kind: points, values: [[0, 1], [2]]}", 2, 40, "space.values[1]"),
    _space("values not rows", "{kind: points, values: [0, 1]}", 2, 32, "space.values[0]"),
    _space("no words", "{kind: embedding, file: town.csv, top: 0}", 2, 47, "space.top"),
    _space("words beside top", "{kind: embedding, file: town.csv, top: 2, words: [a]}", 2, 50, "space.words"),
    _space("a word's vector missing", "{kind: embedding, file: town.csv}", 2, 32, "space.file"),
    _space("projected plane", "{kind: points, values: [[0, 0]], project: true}", 2, 50, "space.project"),
    _space(
        "projected globe",
        "{kind: points, values: [[0, 0], [70, 90]], metric: haversine, project: true}",
        2,
        79,
        "space.project",
    ),
    _space("box upside down", _box("shape: [2, 2]", north=40), 2, 63, "space.north"),
    _space("box without width", _box("shape: [2, 2]", east=-73.75), 2, 76, "space.east"),
    _space("box off the globe", _box("shape: [2, 2]", south=-100), 2, 36, "space.south"),
    _space("box without a side", _box("shape: [2, 2]").replace(", east: -73.5", ""), 2, 1, "space.east"),
    _space("box without cells", _box("unit: km"), 2, 1, "space.shape"),
    _space("box with two sizes", _box("shape: [2, 2], spacing: 2"), 2, 107, "space.spacing"),
    _space("box of three axes", _box("shape: [2, 2, 2]"), 2, 83, "space.shape"),
    _space("box of too many cells", _box("shape: [200, 200]"), 2, 83, "space.shape"),
    _space("box of too small cells", _box("spacing: 1e-9"), 2, 92, "space.spacing"),
    _space("hexagons too fine", _box("resolution: 16", kind="h3"), 2, 85, "space.resolution"),
    _space("hexagons nowhere", "{kind: h3, resolution: 7}", 2, 1, "space.south"),
    _space("hexagons twice", _box("resolution: 7, cells: [a]", kind="h3"), 2, 88, "space.cells"),
    _space("no hexagons", "{kind: h3, cells: []}", 2, 19, "space.cells"),
    _space("roads without places", "{kind: roads, file: nowhere.graphml}", 2, 28, "space.file"),
    _space("roads that are no GraphML", "{kind: roads, file: town.csv}", 2, 28, "space.file"),
    _space("roads without a file", "{kind: roads}", 2, 1, "space.file"),
    _space("roads in ells", "{kind: roads, file: roads.graphml, unit: ell}", 2, 49, "space.unit"),
    _space("text in values", "{kind: points, values: [[0], [x]]}", 2, 38, "space.values[1][0]"),
    _space("graph without edges", "{kind: graph, edges: []}", 2, 22, "space.edges"),
    _space("edge of one end", "{kind: graph, edges: [[a]]}", 2, 30, "space.edges[0]"),
    _space("edge of negative length", "{kind: graph, edges: [[a, b, -1]]}", 2, 37, "space.edges[0][2]"),
    _space("edge with a bad end", "{kind: graph, edges: [[a, 1.5]]}", 2, 34, "space.edges[0][1]"),
    _space("broken GraphML", "{kind: graph, file: broken.graphml}", 2, 28, "space.file"),
    _space("no GraphML", "{kind: graph, file: none.graphml}", 2, 28, "space.file"),
    _space("no such length", "{kind: graph, file: roads.graphml, weight: toll}", 2, 51, "space.weight"),
    _space("direction of GraphML", "{kind: graph, file: roads.graphml, directed: true}", 2, 53, "space.directed"),
    _space("distances not square", "{kind: distances, file: wide.csv}", 2, 32, "space.file"),
    _space("rows and columns in two orders", "{kind: distances, file: headed.csv}", 2, 32, "space.file"),
    _space("labels beside names", "{kind: distances, file: named.csv, labels: [a, b]}", 2, 43, "space.labels"),
    _space(
        "a label too many", "{kind: distances, values: [[0, 1], [1, 0]], labels: [a, b, c]}", 2, 52, "space.labels"
    ),
    _space("triangle inequality", "{kind: distances, file: triangle.csv}", 2, 32, "space.file"),
    _space("negative distance", "{kind: distances, values: [[0, -1], [1, 0]]}", 2, 39, "space.values[0][1]"),
    _space("diagonal", "{kind: distances, values: [[1, 1], [1, 0]]}", 2, 26, "space.values"),
    _broken("no report is left", "loss: distance", "loss: {kind: matrix, values: [[.inf], [0], [0]]}", 13, 1, "loss"),
    _broken("reports beyond any limit", "loss: distance", "loss: distance\nmax_loss: -1", 14, 11, "max_loss"),
    Broken(
        "tight and asymmetric",
        with_space("{kind: distances, file: asymmetric.csv}")
        .replace("method: optimal", "method: tight")
        .replace("spanner: 1.5\n", ""),
        6,
        9,
        "method",
    ),
    # prior, loss and reports
    _broken("unknown prior", _PRIOR, "prior: normal\n", 10, 8, "prior"),
    _broken("prior is a list", _PRIOR, "prior: [0.5, 0.5]\n", 10, 1, "prior"),
    _broken(
        "prior of another sum",
        _PRIOR,
        "prior: {kind: explicit, values: [0.5, 0.4, 0.2]}\n",
        10,
        25,
        "prior.values",
    ),
    _broken(
        "prior of another size",
        _PRIOR,
        "prior: {kind: explicit, values: [0.5, 0.5]}\n",
        10,
        25,
        "prior.values",
    ),
    _broken("negative prior", _PRIOR, "prior: {kind: explicit, values: [2, -1]}\n", 10, 37, "prior.values[1]"),
    _broken("no such corner", _PRIOR, "prior: {kind: corner, point: pub}\n", 10, 30, "prior.point"),
    _broken("corner is true", _PRIOR, "prior: {kind: corner, point: true}\n", 10, 30, "prior.point"),
    _broken(
        "sample elsewhere",
        _PRIOR,
        "prior: {kind: samples, file: town.csv, columns: [x, y]}\n",
        10,
        40,
        "prior.columns",
    ),
    Broken(
        "column without a file",
        with_space("{kind: line, size: 3}", "prior: {kind: column, column: weight}\n"),
        4,
        1,
        "prior.file",
    ),
    _check_ins("check-ins without places", "columns: [lat]", 4, 44, "prior.columns"),
    _check_ins("check-ins off the globe", "columns: [lon, lat], weight: lat", 4, 43, "prior.columns", "poles.csv"),
    _check_ins("check-ins in words", "columns: {lat: place, lon: lon}", 4, 59, "prior.columns.lat"),
    _check_ins("check-ins of negative weight", "columns: [lat, lon], weight: hours", 4, 73, "prior.weight"),
    _check_ins("check-ins of no such weight", "columns: [lat, lon], weight: days", 4, 73, "prior.weight"),
    _check_ins("no check-ins near", "columns: {lat: x, lon: y}, within: 3", 4, 42, "prior.columns", "town.csv"),
    _check_ins("check-ins within nothing", "columns: [lat, lon], within: 0", 4, 73, "prior.within"),
    *(
        Broken(f"private prior {name}", with_space("{kind: line, size: 3}", f"prior: {{{_PRIVATE}{rest}}}\n"), *at)
        for name, rest, at in (
            ("of nobody", "epsilon: 1, per_person: 1", (4, 1, "prior.person")),
            ("without a cap", "person: x, epsilon: 1", (4, 1, "prior.per_person")),
            ("at no level", "person: x, per_person: 1, epsilon: 0", (4, 116, "prior.epsilon")),
            ("with weights", "person: x, per_person: 1, epsilon: 1, weight: x", (4, 119, "prior.weight")),
            ("drawn at another level", "person: x, per_person: 1, epsilon: 2", (4, 116, "prior.epsilon")),
        )
    ),
    Broken(
        "private prior not drawn yet",
        with_space("{kind: line, size: 3}", f"prior: {{{_PRIVATE}person: x, per_person: 1, epsilon: 1}}\n").replace(
            "drawn.json", "none.json"
        ),
        4,
        30,
        "prior.file",
    ),
    _broken("unknown loss", "loss: distance", "loss: distances", 13, 7, "loss"),
    _broken(
        "loss of another size",
        "loss: distance",
        "loss: {kind: matrix, values: [[0, 1]]}",
        13,
        22,
        "loss.values",
    ),
    _broken(
        "loss beyond less than nothing",
        "loss: distance",
        "loss: {kind: beyond, distance: -1}",
        13,
        32,
        "loss.distance",
    ),
    _broken(
        "loss from a bad file",
        "loss: distance",
        "loss: {kind: matrix, file: headed.csv}",
        13,
        28,
        "loss.file",
    ),
    _broken(
        "reports of another dimension",
        "loss: distance",
        "loss: distance\nreports: {kind: points, values: [[1]]}",
        14,
        25,
        "reports.values",
    ),
    _broken(
        "reports are text",
        "loss: distance",
        "loss: distance\nreports: {kind: points, values: [[1, a]]}",
        14,
        38,
        "reports.values[0][1]",
    ),
    _broken(
        "binary with reports",
        "loss: distance",
        "loss: binary\nreports: {kind: points, values: [[1, 2]]}",
        13,
        7,
        "loss",
    ),
    Broken(
        "reports off the globe",
        with_space("{kind: points, values: [[0, 0]], metric: haversine}")
        + "reports: {kind: points, values: [[99, 0]]}\n",
        13,
        25,
        "reports.values",
    ),
    Broken(
        "reports in no file",
        with_space("{kind: points, values: [[0, 0]], metric: haversine}") + "reports: {kind: within, area: none}\n",
        13,
        31,
        "reports.area",
    ),
    Broken(
        "reports within nothing",
        with_space("{kind: points, values: [[0, 0]], metric: haversine}") + "reports: {kind: within}\n",
        13,
        1,
        "reports.area",
    ),
    Broken(
        "cells in a plane",
        with_space("{kind: bounding_box, south: 0, west: 0, north: 1, east: 1, shape: [2, 2], metric: euclidean}"),
        2,
        90,
        "space.metric",
    ),
    Broken(
        "reports on a graph",
        with_space("{kind: graph, edges: [[a, b]]}") + "reports: {kind: points, values: [[1]]}\n",
        13,
        1,
        "reports",
    ),
    # how to solve
    _broken("unknown method", "optimal", "optimum", 14, 9, "method"),
    _broken("bad solver", "highs", "'high s'", 15, 9, "solver"),
    _broken("spanner below 1", "1.5", "1/2", 16, 10, "spanner"),
    _broken("spanner when tight", "method: optimal", "method: tight", 16, 10, "spanner"),
    _broken("tolerance of 1", "tolerance: 1e-6", "tolerance: 1", 17, 12, "tolerance"),
    _broken("no time", "time_limit: 60", "time_limit: 0", 18, 13, "time_limit"),
    _broken("unknown evaluation", "utility", "utilty", 19, 27, "evaluate[1]"),
    _broken("data without columns", "[expected_loss, utility]", "{file: town.csv}", 19, 1, "evaluate.columns"),
    _broken("data in words", "utility", "{file: town.csv, columns: [x, place]}", 19, 57, "evaluate[1].columns[1]"),
    _broken("data of no such file", "utility", "{file: inn.csv, label: place}", 19, 34, "evaluate[1].file"),
    _broken("evaluation not a list", "[expected_loss, utility]", "utility", 19, 11, "evaluate"),
    _broken(
        "unknown mechanism to compare",
        "evaluate: [expected_loss, utility]",
        "evaluate: [utility]\ncompare: [tight, laplas]",
        20,
        18,
        "compare[1]",
    ),
    _broken(
        "compare not a list",
        "evaluate: [expected_loss, utility]",
        "evaluate: [utility]\ncompare: tight",
        20,
        10,
        "compare",
    ),
    *(
        _broken(
            name, "evaluate: [expected_loss, utility]", f"evaluate: [utility]\npriors: {written}", 20, column, field
        )
        for name, written, column, field in (
            ("other priors without names", "[uniform]", 1, "priors"),
            ("unknown name of another prior", "{day: uniform, night: unifrm}", 31, "priors.night"),
            ("no kind of another prior", "{night: {column: people}}", 10, "priors.night.kind"),
            ("unknown kind of another prior", "{night: {kind: colum, column: people}}", 24, "priors.night.kind"),
            (
                "unknown key of another prior",
                "{night: {kind: column, column: people, fil: x}}",
                48,
                "priors.night.fil",
            ),
            ("another prior without a column", "{night: {kind: column}}", 10, "priors.night.column"),
            ("no such column for another prior", "{night: {kind: column, column: night}}", 40, "priors.night.column"),
            ("no such point for another prior", "{night: {kind: corner, point: moon}}", 39, "priors.night.point"),
            ("another prior too short", "{night: {kind: explicit, values: [1]}}", 34, "priors.night.values"),
        )
    ),
    _broken("no source", ", source: by hand", "", 20, 1, "expect.source"),
    _broken("empty source", "source: by hand", "source: ''", 20, 51, "expect.source"),
    _broken("list of values for one epsilon", _EXPECT, "expect: [{value: 1, source: a}]\n", 20, 1, "expect"),
    _broken("one value for a family", _PRIVACY, "epsilon: [1, 2]", 20, 1, "expect"),
    Broken(
        "two values for three",
        edited((_PRIVACY, "epsilon: [1, 2, 3]"), (_EXPECT, "expect:\n" + "- {value: 1, source: a}\n" * 2)),
        20,
        1,
        "expect",
    ),
    _broken("a wrong value in a list", _EXPECT, "expect:\n- {value: x, source: a}\n", 21, 11, "expect[0].value"),
]
