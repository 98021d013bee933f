"""Every entry of a file changed in every way that may claim more: what is changed, how, and the bytes then."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml import YAML

from tests.judges.result import contents, packed

Change = tuple[str, str, Callable[[], bytes]]
WORDS = (
    ("euclidean", "manhattan", "chebyshev", "haversine", "hamming", "discrete", "wrapped", "given distances"),
    ("distance", "squared", "binary"),
    ("expected_loss", "worst_loss", "adversary_error", "expected loss", "worst loss"),
    ("adjacent", "all"),
    ("lattice", "torus", "path", "general", "product", "tree", "points", "distances"),
    ("optimal", "feasible", "interrupted", "time limit"),
    ("exact", "bound", "valid"),
    ("km", "m", "mi"),
    ("optimal", "exponential", "geometric", "planar_laplace", "cloaking"),
    ("True", "False"),
)
"""Names that stand for each other."""
FACTORS = {
    "half": 0.5,
    "twice": 2.0,
    "a little less": 1 - 1e-6,
    "a little more": 1 + 1e-6,
    "negative": -1.0,
    "0": 0.0,
}


def changes(file: Path) -> Iterator[Change]:
    """Every entry of a file changed, or taken away."""
    match file.suffix:
        case ".npz" | ".dxt":
            yield from _of_arrays(file)
        case ".json" | ".yaml":
            text = file.read_text(encoding="utf-8")
            content = json.loads(text) if file.suffix == ".json" else YAML(typ="safe").load(text)
            for path, change, other in _of_content(content):
                # JSON is YAML as well
                yield path, change, partial(_as_json, other)
        case ".csv":
            yield from _of_cells(file)
        case ".md":
            text = file.read_text(encoding="utf-8")
            for number in sorted({word for word in text.split() if word.replace(".", "").isdigit()}):
                yield number, "another", partial(str.encode, text.replace(number, f"1{number}"))
        case _:
            yield "", "replaced", partial(bytes.__add__, file.read_bytes(), b" ")


def _of_content(content: Any) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Every entry of plain content changed, or taken away."""
    for keys, value in entries(content):
        path = ".".join(map(str, keys))
        for change, other in _others(value):
            yield path, change, partial(with_entry, content, keys, other)
        yield path, "missing", partial(without_entry, content, keys)


def _as_json(other: Callable[[], Any]) -> bytes:
    return json.dumps(other()).encode()


def entries(content: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield (*keys, key), value
        yield from entries(value, (*keys, key))


def with_entry(content: Any, keys: tuple[Any, ...], other: Any) -> Any:
    copy = json.loads(json.dumps(content))
    inner = copy
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = other
    return copy


def without_entry(content: Any, keys: tuple[Any, ...]) -> Any:
    copy = json.loads(json.dumps(content))
    inner = copy
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    return copy


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    """Other values of an entry, by what was done."""
    match value:
        case bool():
            yield "the other one", not value
        case int() | float():
            yield from _other_numbers(value)
            yield "null", None
        case str():
            yield from _other_names(value)
        case list():
            if len(value) > 1:
                yield "reversed", value[::-1]
            yield "none", []
        case dict():
            yield "none", {}
        case _:
            yield from (("0", 0), ("true", True), ("a name", "regular"), ("an object", {}))


def _other_numbers(value: float) -> Iterator[tuple[str, Any]]:
    for change, factor in FACTORS.items():
        other = value * factor
        if isinstance(value, int) and float(other).is_integer():
            other = int(other)
        if other != value and not (isinstance(value, int) and "little" in change):
            yield change, other
    yield from (("one more", value + 1), ("one less", value - 1), ("no number", math.nan), ("infinite", math.inf))
    if not value:
        yield from (("tiny", 1e-6), ("negative tiny", -1e-6))


def _other_names(value: str) -> Iterator[tuple[str, str]]:
    named = {"upper case": value.upper(), "capital": value.capitalize(), "space": value + " ", "empty": ""}
    named |= {name: name for names in WORDS if value in names for name in names}
    named |= {name: name for name in ("uniform", "regular", "optimal")}
    yield from ((change, other) for change, other in named.items() if other != value)


def _of_cells(file: Path) -> Iterator[Change]:
    rows = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8"))))
    for path, change, other in _of_content(rows):
        yield path, change, partial(_as_table, other)
    for row, cells in enumerate(rows[1:], 1):
        for column, cell in enumerate(cells):
            try:
                number = float(cell)
            except ValueError:
                continue
            for change, other in _other_numbers(number):
                yield (
                    f"{row}.{column}",
                    change,
                    partial(_as_table, partial(with_entry, rows, (row, column), repr(other))),
                )


def _as_table(rows: Callable[[], list[Any]]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(row if isinstance(row, list) else [row] for row in rows())
    return stream.getvalue().encode()


def _of_arrays(file: Path) -> Iterator[Change]:
    arrays = contents(file)
    for key, array in arrays.items():
        for change, other in _other_arrays(array):
            if other.dtype.kind == array.dtype.kind and np.array_equal(other, array):
                continue
            yield key, change, partial(packed, {**arrays, key: other}, file.suffix)
        rest = {name: other for name, other in arrays.items() if name != key}
        yield key, "missing", partial(packed, rest, file.suffix)


def _other_arrays(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Other arrays, by what was done."""
    if not array.size:
        return
    yield "as text", array.astype(str)
    if array.dtype.kind == "b":
        yield "the other one", ~array
    if array.dtype.kind in "fiu":
        yield from _other_entries(array)
    if array.dtype.kind == "U":
        for change, name in _other_names(str(array.flat[0])):
            yield f"first {change}", _put(array.astype(object), 0, name).astype(str)
    for axis in range(array.ndim):
        if array.shape[axis] > 1:
            yield f"reversed along {axis}", np.flip(array, axis)
            order = [1, 0, *range(2, array.shape[axis])]
            yield f"first two along {axis}", np.take(array, order, axis)
            yield f"first twice along {axis}", np.take(array, [0, 0, *order[2:]], axis)
            yield f"shorter along {axis}", np.take(array, range(array.shape[axis] - 1), axis)
    if array.ndim == 2 and array.shape[0] == array.shape[1] > 1:
        yield "transposed", array.T.copy()


def _other_entries(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    whole = array.dtype.kind in "iu"
    for change, factor in FACTORS.items():
        if whole and "little" in change:
            continue
        with np.errstate(all="ignore"):
            yield f"all {change}", (array * factor).astype(array.dtype)
    # the largest, and one in the middle
    flat = np.nan_to_num(array.astype(float), posinf=-1.0).ravel()
    for place in sorted({int(flat.argmax()), array.size // 2}):
        for change, other in _other_numbers(array.flat[place].item()):
            if whole and (not math.isfinite(other) or other != int(other)):
                continue
            with np.errstate(all="ignore"):
                yield f"entry {place} {change}", _put(array.copy(), place, np.array(other).astype(array.dtype))


def _put(array: np.ndarray, place: int, value: Any) -> np.ndarray:
    array.reshape(-1)[place] = value
    return array
