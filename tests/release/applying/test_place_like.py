"""Values that look like places under whatever name, and such that do not."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from dxopt.errors import SpecError
from dxopt.release.applying.place_like import Beside, is_cell, looks_like_place

PLACES: dict[str, Any] = {
    "WKT": "POINT (2.35 48.85)",
    "EWKT": "SRID=4326;LINESTRING Z (0 0 1, 1 1 1)",
    "a URI": "geo:48.85,2.35",
    "two decimals": "48.8534, 2.3488",
    "two decimals and blanks": "at 48.8534 2.3488.",
    "directions": "48.8534° N, 2.3488° E",
    "degrees and minutes": "48° 51.2′ N",
    "an open location code": "8FW4V75V+8QX",
    "WKB in digits": "0101000000" + "00" * 16,
    "WKB": b"\x01\x01\x00\x00\x00" + b"\x00" * 16,
    "a cell as text": "8928308280fffff",
    "a cell as bytes": b"8928308280fffff",
    "a cell with a prefix": "0x8928308280fffff",
    "an object of Python as text": "{'lat': 48.85, 'lon': 2.35}",
    "a cell as a number": 0x8928308280FFFFF,
    "a cell of NumPy": np.int64(0x8928308280FFFFF),
    "GeoJSON": {"type": "Point", "coordinates": [2, 48]},
    "an object": {"lat": 48, "lon": 2},
    "an object of E7": {"latitudeE7": 488534000, "longitudeE7": 23488000},
    "an object in Chinese": {"纬度": 48, "经度": 2},
    "a pair": [2.3488, 48.8534],
    "an array": np.array([2.3488, 48.8534]),
    "a box": (2.1, 48.2, 2.3, 48.4),
}
NO_PLACES: dict[str, Any] = {
    "a word": "Paris",
    "a version": "1.2.3",
    "a price": "12.50",
    "a date": "2024-05-01",
    "a time": "10:30:00",
    "nothing": None,
    "a number": 48.8534,
    "a year": 2024,
    "true": True,
    "whole numbers": [2, 48],
    "three numbers beyond degrees": [1000.5, 2000.5],
    "text in a list": ["a", "b"],
    "an object": {"lat": 48, "beds": 3},
    "a hexadecimal code": "8f14e45fceea167",
    "few bytes": b"\x01\x01",
    "half a list": "[1, 2",
    "a plus": "c++ and 2+2",
}
WRAPPED = {
    "bare": lambda value: value,
    "in a list": lambda value: [value],
    "in an object": lambda value: {"note": {"a": value}},
    "as text": lambda value: json.dumps({"a": value}),
}


@pytest.mark.parametrize("form", WRAPPED)
@pytest.mark.parametrize("name", PLACES)
def test_places(name: str, form: str) -> None:
    value = PLACES[name]
    if form == "as text" and type(value) in (bytes, np.ndarray, np.int64):
        pytest.skip("JSON has none")
    assert looks_like_place(WRAPPED[form](value))
    beside = Beside()
    beside.look([("note", np.array([None, WRAPPED[form](value)], dtype=object))], [["1", "2"]])
    with pytest.raises(SpecError) as refused:
        beside.require()
    assert refused.value.options == {"drop", "keep"}


@pytest.mark.parametrize("form", WRAPPED)
@pytest.mark.parametrize("name", NO_PLACES)
def test_no_places(name: str, form: str) -> None:
    value = NO_PLACES[name]
    if form == "as text" and isinstance(value, bytes):
        pytest.skip("JSON has none")
    assert not looks_like_place(WRAPPED[form](value))


@pytest.mark.parametrize("level", range(16))
def test_cells_of_every_level(level: int) -> None:
    h3 = pytest.importorskip("h3")
    cell = h3.latlng_to_cell(48.85, 2.35, level)
    assert is_cell(int(cell, 16)) and looks_like_place(cell) and looks_like_place(cell.upper())
    assert not is_cell(int(cell, 16) | 1 << 63) and not is_cell(int(cell, 16) ^ 1 << 59) and not is_cell(-1)


def test_a_column_that_repeats_the_secret() -> None:
    copies: list[tuple[Any, bool]] = [
        (["1", "2", "3.0", "4,0", "5"], True),
        (["1", None, "3", "", "5"], True),
        ([1, math.nan, 3, 4, 5], True),
        (np.array([1, np.nan, 3, 4, 5]), True),
        (["1", "2", "4", "4", "5"], False),
        (["1", None, None, None, "5"], False),
        ([None] * 5, False),
    ]
    for copy, same in [*copies, (["1"] * 5, False)]:
        beside = Beside()
        secret = ["1"] * 5 if not same and list(copy) == ["1"] * 5 else ["1", "2", "3", "4,00", "5"]
        beside.look([("copy", copy)], [secret])
        if same:
            with pytest.raises(SpecError):
                beside.require()
        else:
            beside.require()
