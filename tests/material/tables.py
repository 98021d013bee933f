"""A table of integers for every kind of space, and every entry of its head said otherwise."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import dxopt as dx
from dxopt.release.exports.export import sampler
from dxopt.spaces.metrics import Haversine, NormalisedManhattan
from dxopt.spaces.positions import Positions

DEGREES = [[45.50, -73.57], [45.51, -73.60], [45.53, -73.55], [45.47, -73.62]]
CITY = (45.50, -73.60, 45.53, -73.55)
PLANE = [[0.0, 1.0], [1.0, 3.0], [3.0, 2.0]]
CELLS = ["872baa444ffffff", "872baa46affffff", "872baa445ffffff"]


def _streets() -> dx.MetricSpace:
    graph = nx.Graph()
    for name, (latitude, longitude) in enumerate(DEGREES):
        graph.add_node(name, y=latitude, x=longitude)
    for start, end in ((0, 1), (1, 3), (0, 2), (2, 3)):
        graph.add_edge(start, end, length=3000.0 + 700 * (start + end))
    return dx.geo.roads(graph)


def _located() -> dx.MetricSpace:
    degrees = np.array(DEGREES)
    space = dx.MetricSpace.from_points(DEGREES, "haversine")
    return replace(space, positions=Positions(degrees, streets=degrees[None, :2]))


def _of(points: Any, metric: Any, **options: Any) -> Callable[[], dx.MetricSpace]:
    return lambda: dx.MetricSpace.from_points(points, metric, **options)


SPACES: dict[str, Callable[[], dx.MetricSpace]] = {
    "line": lambda: dx.line(4, step=2.0),
    "line in metres": lambda: dx.line(4, step=5.0, unit="m"),
    "uneven line": _of([0.0, 0.5, 2.0, 7.0], "euclidean", unit="EUR"),
    **{metric: _of(PLANE, metric) for metric in ("euclidean", "manhattan", "chebyshev", "discrete")},
    "normalised_manhattan": _of(PLANE, NormalisedManhattan(10.0)),
    "hamming": _of([[0, 0], [0, 1], [2, 1]], "hamming"),
    "words": _of([["a", "x"], ["b", "x"], ["b", "y"]], "hamming"),
    **{metric: _of(DEGREES, metric) for metric in ("haversine", "conservative_haversine", "geodesic")},
    "haversine in metres": _of(DEGREES, Haversine("m"), labels=["hall", "pårk", "port", "mill"]),
    "haversine in miles": _of(DEGREES, Haversine("mi")),
    "doubled places": _of([DEGREES[0], *DEGREES[:2]], "haversine"),
    "own metric": _of([[0.0], [1.0], [4.0]], lambda x, y: math.sqrt(abs(float((x - y)[0])))),
    "map in metres": lambda: dx.geo.points(DEGREES, project=True, unit="m"),
    "cells": lambda: dx.geo.bounding_grid(*CITY, shape=(2, 2)),
    "cells on a map": lambda: dx.geo.bounding_grid(*CITY, shape=(2, 2), project=True),
    "h3": lambda: dx.geo.h3_cells(cells=CELLS),
    "roads": _streets,
    "places with streets": _located,
    "lattice": lambda: dx.grid((2, 3), spacing=0.5),
    "lattice in metres": lambda: dx.grid((2, 3), spacing=0.5, metric="manhattan", unit="m"),
    "chebyshev lattice": lambda: dx.grid((2, 2, 2), metric="chebyshev"),
    "torus": lambda: dx.torus((3, 4), spacing=0.5, unit="m"),
    "ring": lambda: dx.torus((5,)),
    "product": lambda: dx.product(dx.line(3, unit="m"), dx.line(2, step=3.0, unit="m")),
    "product of places": lambda: dx.product(
        dx.MetricSpace.from_points(DEGREES[:2], "haversine"), dx.MetricSpace.from_points(DEGREES[1:], "haversine")
    ),
    "product of kinds": lambda: dx.product(
        dx.torus((2, 2)), dx.MetricSpace.from_distances([[0, 1.5], [1, 0]], labels=["a", "b"]), dx.line(2)
    ),
    "product with infinite distances": lambda: dx.product(
        dx.line(2), dx.MetricSpace.from_distances([[0, np.inf, 1], [np.inf, 0, np.inf], [2, np.inf, 0]])
    ),
    "product of trees": lambda: dx.product(dx.MetricSpace.from_graph(nx.star_graph(2)), dx.line(2, unit="m")),
    "tree": lambda: dx.MetricSpace.from_graph(nx.star_graph(3), unit="m"),
    "graph": lambda: dx.MetricSpace.from_graph(nx.cycle_graph(5), unit="m"),
    "distances": lambda: dx.MetricSpace.from_distances([[0, 1.5, np.inf], [2, 0, np.inf], [np.inf, np.inf, 0]]),
    "neighbours": lambda: dx.neighbours(dx.Universe.databases([0, 1], 2), "bounded", unit="records"),
    "databases": lambda: dx.Universe.databases([0, 10], 2).space("manhattan", unit="EUR"),
}


def table_of(space: dx.MetricSpace, **options: Any) -> dx.IntegerTable:
    """One whose level is the least, so that no smaller one is private."""
    weights = np.arange(1.0, len(space) + 1)
    apart = space.distances[np.isfinite(space.distances) & (space.distances > 0)]
    mechanism = dx.classic.exponential(space, epsilon=1 / float(apart.max()), **options)
    return dx.integer_table(mechanism, prior=dx.Prior.from_weights(space, weights))


def parts_of(written: bytes) -> tuple[dict[str, Any], bytes]:
    """The head of a table file, and its sections."""
    length = int.from_bytes(written[8:16], "little")
    return json.loads(written[16 : 16 + length]), written[16 + length : -32]


def written_of(head: dict[str, Any], body: bytes) -> bytes:
    """A table file with its digest."""
    text = json.dumps(head, ensure_ascii=False).encode()
    return sealed(text + b" " * (-len(text) % 8), body)


def sealed(text: bytes, body: bytes) -> bytes:
    """A table file of the text of a head and sections, with its digest."""
    written = b"dxtable1" + len(text).to_bytes(8, "little") + text + body
    return written + hashlib.sha256(written).digest()


@dataclass(frozen=True)
class Forged:
    """A table file whose head says something else: `path` the entry, `change` what was done."""

    path: str
    change: str
    written: bytes

    def __str__(self) -> str:
        return f"{self.path}, {self.change}"


_NAMES = {
    "metric": ("euclidean", "manhattan", "chebyshev", "hamming", "haversine", "geodesic", "wrapped", "zzz", None),
    "unit": ("km", "m", "mi", "people", "", None, "km ", "\xa0km", "k\nm", "2 km", "k" * 25),
    "delta": (1.5,),
    "kind": ("lattice", "torus", "product", "tree", "points", "distances", "zzz"),
    "pairs": ("adjacent", "all"),
    "parameters": ("{}", '{"unit": "m"}', '{"unit": "km"}', '{"diameter": 5.0}', '{"zzz": 1}', "zzz", None),
}
_EVERYWHERE = ("metric", "unit", "parameters", "points", "spacing", "positions.unit", "zzz")
"""Entries of a space that are added where they are not there."""


def forgeries(written: bytes) -> Iterator[Forged]:
    """Every entry of the head changed, taken away or added, and distances against the level."""
    head, body = parts_of(written)
    head_of_space = {f"space.{name}" for name in _EVERYWHERE} - {f"space.{name}" for name in head["space"]}
    for path in (*(f"{name}" for name in head if name not in ("format", "version", "sections")), "zzz"):
        if path != "space":
            yield from _of_entry(head, body, (path,))
    for name in (*head["space"], *(path.removeprefix("space.") for path in sorted(head_of_space))):
        yield from _of_entry(head, body, ("space", name))
    yield from _spelled(head, body)
    for factor in (1e6, 1e-3, 1 + 1e-6):
        yield Forged("distances", f"times {factor}, and epsilon over it", _scaled(head, body, factor))
    yield Forged(
        "distances",
        "of given ones, times 1e6, called by the metric of points",
        _scaled({**head, "space": {"kind": "distances", "labels": head["secrets"]}}, body, 1e6),
    )


def _spelled(head: dict[str, Any], body: bytes) -> Iterator[Forged]:
    """The same table in other words: order, zeros, types, blanks, bytes that are not read."""
    space, text = head["space"], json.dumps(head, ensure_ascii=False).encode()
    for name in ("epsilon", "delta", "cost", "variation"):
        for other in (-0.0, 0) if not head[name] else (_longer(head[name]),):
            said = text.replace(f'"{name}": {head[name]!r}'.encode(), f'"{name}": {other}'.encode(), 1)
            yield Forged("spelling", f"{name} {other}", sealed(said + b" " * (-len(said) % 8), body))
    for change, other in {
        "head": dict(reversed(head.items())),
        "sections": {**head, "sections": dict(reversed(head["sections"].items()))},
        "space": {**head, "space": dict(reversed(space.items()))},
        **{key: _of_space(head, key, space[key] + " ") for key in space if key.endswith("parameters")},
        **{key: _of_space(head, key, float(space[key])) for key in space if key.endswith("factors")},
        **{key: _of_space(head, key, [*map(float, space[key])]) for key in space if key.endswith("shape")},
        **{
            f"{key} {space[key]!r}": _of_space(head, key, int(space[key])) for key in space if key.endswith("spacing")
        },
        **{f"not {one}": {**head, "secrets_are_reports": one} for one in (None, 0, "", 1, "True")},
    }.items():
        yield Forged("spelling", f"other {change}", written_of(other, body))
    yield Forged("spelling", "more blanks", sealed(text + b" " * (8 + -len(text) % 8), body))
    yield Forged("spelling", "no blanks", sealed(text.replace(b", ", b",", 1) + b" " * (-len(text) % 8 + 1), body))
    yield Forged("spelling", "escaped", sealed(text.replace(b'"format"', b'"f\\u006frmat"') + b" " * 3, body))
    for name, (first, size) in head["sections"].items():
        if size % 8:
            filled = body[: first + size] + b"x" + body[first + size + 1 :]
            yield Forged("spelling", f"bytes after {name}", written_of(head, filled))
    first, size = head["sections"]["distances"]
    negative = bytes([*body[: first + 7], 128, *body[first + 8 :]])
    yield Forged("spelling", "a distance of -0.0", written_of(head, negative))


def _longer(number: float) -> str:
    digits, *exponent = repr(number).split("e")
    return "e".join([f"{digits}0" if "." in digits else f"{digits}.0", *exponent])


def _of_space(head: dict[str, Any], key: str, entry: object) -> dict[str, Any]:
    return {**head, "space": {**head["space"], key: entry}}


def _of_entry(head: dict[str, Any], body: bytes, keys: tuple[str, ...]) -> Iterator[Forged]:
    inner = head if len(keys) == 1 else head["space"]
    there, value = keys[-1] in inner, inner.get(keys[-1])
    for change, other in _others(keys[-1], value):
        if other == value and there and type(other) is type(value):
            continue
        changed = copy.deepcopy(head)
        (changed if len(keys) == 1 else changed["space"])[keys[-1]] = other
        yield Forged(".".join(keys), change, written_of(changed, body))
    if there:
        changed = copy.deepcopy(head)
        del (changed if len(keys) == 1 else changed["space"])[keys[-1]]
        yield Forged(".".join(keys), "missing", written_of(changed, body))


def _others(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Other values of an entry, by what was done."""
    names = _NAMES.get(name.rsplit(".")[-1], ("zzz", 1) if value is None else ())
    yield from ((f"to {other!r}", other) for other in names)
    match value:
        case bool():
            yield "the other one", not value
        case int() | float():
            yield from (("times 2", value * 2), ("as text", str(value)), ("to null", None), ("to true", True))
            yield "a little less", value * (1 - 1e-6)
            if name in ("epsilon", "delta", "cost", "variation"):
                yield from (("to -1", -1.0), ("to 1e308", 1e308))
        case str():
            yield "upper case", value.upper()
        case list() if value:
            yield from (("reversed", value[::-1]), ("one more", [*value, value[0]]), ("one less", value[:-1]))
            yield from ((f"first {how}", [other, *value[1:]]) for how, other in _others("", value[0]))
            yield "to null", None


def _scaled(head: dict[str, Any], body: bytes, factor: float) -> bytes:
    first, size = head["sections"]["distances"]
    distances = (np.frombuffer(body[first : first + size]) * factor).tobytes()
    scaled = {**head, "epsilon": head["epsilon"] / factor}
    return written_of(scaled, body[:first] + distances + body[first + size :])


NODE = shutil.which("node")


def taken_by_javascript(folder: Path) -> set[str]:
    """The names of the table files in a folder that the script takes."""
    code = """
        const fs = require("fs");
        const taken = fs.readdirSync(__dirname).filter((name) => {
            if (!name.endsWith(".dxt")) return false;
            try {
                return new dxopt.Table(fs.readFileSync(`${__dirname}/${name}`));
            } catch (error) {
                // not one of the language's own
                if (error.constructor !== Error) throw new Error(`${name}: ${error}`);
                return false;
            }
        });
        console.log(JSON.stringify(taken));
    """
    (folder / "taken.js").write_text(sampler() + code, encoding="utf-8")
    done = subprocess.run([str(NODE), str(folder / "taken.js")], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))
