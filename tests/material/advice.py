"""Following the fix of a message about a problem file: what a reader would edit, made of the words of the fix."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from ruamel.yaml import YAML

from dxopt.errors import SpecError

Place = list[str | int]
ADDED: dict[str, Any] = {
    "space": {"kind": "line", "size": 3},
    "kind": "points",
    "columns": ["x", "y"],
    "file": "town.csv",
    "values": [[0, 0], [1, 0], [0, 2]],
    "epsilon": 1.0,
    "radius": 2.0,
    "step": 0.5,
    "resolution": 0.5,
    "source": "by hand",
    "column": "people",
    "south": 45.5,
    "east": -73.5,
    "cells": ["872baa445ffffff"],
    "shape": [2, 2],
    "spacing": 5.0,
    "area": "around.geojson",
    "label": "place",
    "person": "place",
    "per_person": 1,
}
"""What is added where a fix names no more than the key."""


def yaml() -> YAML:
    """Return a reader and writer of plain YAML."""
    return YAML(typ="safe", pure=True)


def written(content: Any) -> str:
    """Return the text of a problem file."""
    out = io.StringIO()
    writer = yaml()
    writer.default_flow_style = None
    writer.dump(content, out)
    return out.getvalue()


def path_of(field: str) -> Place:
    """Return the keys and indices that a field names."""
    return [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", field)]


def at(content: Any, path: Place) -> Any:
    """Return the part of a problem file at a path; KeyError where there is none."""
    for key in path:
        try:
            content = content[key]
        except (IndexError, TypeError) as error:
            raise KeyError(key) from error
    return content


def changed(content: Any, path: Place, value: Any) -> Any:
    """Return the content with another value at a path."""
    copy = deepcopy(content)
    at(copy, path[:-1])[path[-1]] = value
    return copy


def without(content: Any, path: Place) -> Any:
    """Return the content without what is at a path."""
    copy = deepcopy(content)
    del at(copy, path[:-1])[path[-1]]
    return copy


def renamed(content: Any, path: Place, name: str) -> Any:
    """Return the content with another name for the key at a path."""
    copy = deepcopy(content)
    parent = at(copy, path[:-1])
    parent[name] = parent.pop(path[-1])
    return copy


def _numbers(fix: str) -> Iterator[float]:
    """Yield numbers that a fix asks for, at the end of the range that it names."""
    number = r"(-?[\d.]+(?:e[+-]?\d+)?)"
    for pattern, step in (
        (rf"(?:a number|a length|numbers) of (?:at least )?{number}(?: or more)?$", 0.0),
        (rf"give a number of at most {number}", 0.0),
        (rf"give {number} or (?:more|less)", 0.0),
        (rf"give a number above {number}", 1.0),
        (rf"give a number below {number}", -0.5),
    ):
        if found := re.search(pattern, fix):
            value = float(found[1]) + step
            yield int(value) if value.is_integer() and abs(value) < 1e9 else value
    if re.search(r"give a (finite |whole )?number($|,)", fix) or "or text" in fix:
        yield 2


def followed(content: Any, error: SpecError) -> Iterator[tuple[str, Any]]:
    """Yield each way to follow a fix, and the problem file after it; nothing where its words leave it open."""
    fix, path = error.fix, path_of(error.field)
    there = _known(content, path)
    if not isinstance(content, dict):
        return
    unknown = "no known key" in error.wrong
    key_missing = "is missing" in error.wrong
    if meant := re.search(r"did you mean (\w+)\?", fix):
        yield "meant", renamed(content, path, meant[1]) if unknown else changed(content, path, meant[1])
    if choices := re.search(r"(?:choose one of|choose among) ([\w, ]+?)(?:, or | or | \(|$)", fix):
        for choice in choices[1].split(", "):
            name = f"{there.split(' by ')[0]} by {choice}" if path[-1] == "top" else choice
            yield choice, renamed(content, path, choice) if unknown else changed(content, path, name)
    if unknown:
        yield "left out", without(content, path)
    if re.search(r"give a mapping with a kind", fix) and path[-1] == "space":
        yield "kind", changed(content, path, ADDED["space"])
    wanted = re.search(r"\badd (?:a )?(\w+),?(?: or (\w+)| one of)?", fix)
    if wanted and key_missing:
        for key in filter(ADDED.get, wanted.groups()):
            yield f"add {key}", changed(content, [*path[:-1], key], ADDED[key])
    wanted = re.search(r"^give (\w+) or (\w+)$", fix)
    if wanted and key_missing:
        for key in wanted.groups():
            yield f"give {key}", changed(content, [*path[:-1], key], ADDED[key])
    left_out = re.search(r"\b(leave (it|the key|them) out|remove it|keep one|keep one of the two)\b", fix)
    if left_out and _known(content, path) is not None:
        yield "left out", without(content, path)
    either = "leave it out" in fix or "keep one of the two" in fix or "use method" in fix
    if either and (beside := re.search(r"beside (\w+)|go with (?:method: )?(\w+)", error.wrong)):
        other = beside[1] or beside[2]
        parent = path[:-1] if other in at(content, path[:-1]) else []
        if other in at(content, parent):
            yield f"without {other}", without(content, [*parent, other])
    if used := re.search(r"use (\w+): (\w+)(?: or (\w+))?", fix):
        for value in filter(None, used.groups()[1:]):
            parent = [] if used[1] in content else path[:-1]
            yield f"{used[1]}: {value}", changed(content, [*parent, used[1]], value)
    if used := re.search(r"use method (\w+) or (\w+)", fix):
        for value in used.groups():
            yield f"method: {value}", changed(content, ["method"], value)
    if here := re.search(r"write a list, here (\[.*\])", fix):
        yield "list", changed(content, path, yaml().load(here[1]))
    if plain := re.search(r"write ([\d.]+) without quotes", fix):
        yield "plain", changed(content, path, float(plain[1]))
    if "give text" in fix and type(there) in (int, float):
        yield "text", changed(content, path, str(there))
    if "give at least 1" in fix:
        yield "one", changed(content, path, [ADDED[str(path[-1])]] if path[-1] == "epsilon" else _one(path))
    for number in () if ".csv" in error.wrong or "edge (" in error.wrong else _numbers(fix):
        yield str(number), changed(content, path, number)
    if kept := re.search(r"give at most (\d+)", fix):
        yield "fewer", changed(content, path, list(there)[: int(kept[1])])
    if "divide each by" in fix:
        by = float(fix.rsplit(" ", 1)[1])
        yield "divided", changed(content, path, [value / by for value in there])
    if family := re.search(r"one value for a family of (\d+)", error.wrong):
        yield "one per epsilon", changed(content, path, [there] * int(family[1]))
    if "give one value" in fix:
        yield "one value", changed(content, path, there[0])
    if swapped := re.search(r"give \['(\w+)', '(\w+)'\]", fix):
        yield "swapped", changed(content, path, list(swapped.groups()))


def _known(content: Any, path: Place) -> Any:
    try:
        return at(content, path)
    except KeyError:
        return None


def _one(path: Place) -> Any:
    return {"columns": ["x"], "cells": ADDED["cells"], "edges": [["a", "b"]]}[str(path[-1])]
