"""Values that look like places under whatever name, and such that do not."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.errors import Option, SpecError
from dxopt.release.applying.place_like import Beside, is_cell, is_code, looks_like_place
from tests.material.beside import look
from tests.material.carriers import TEXT, pa, pd, pl
from tests.material.people import counts, people, town

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
    "EWKB": b"\x01\x01\x00\x00\x20\xe6\x10\x00\x00" + b"\x00" * 16,
    "WKB with the highest byte first": "00" + "00000001" + "00" * 16,
    "WKB of three axes": "01" + "E9030000" + "00" * 24,
    "EWKB in digits": "0101000020E6100000" + "00" * 16,
    "bytes of PostgreSQL": "\\x0101000020E6100000" + "00" * 16,
    "bytes in SQL": "0x0101000000" + "00" * 16,
    "text as bytes": b"POINT (2.35 48.85)",
    "a GeoPackage": b"GP\x00\x01" + b"\x00" * 30,
    "two decimals and a bar": "48.853|2.348",
    "two decimals and a low line": "48.853_2.348",
    "two decimal commas": "48,8534 2,3488",
    "directions before": "N48.8 E2.3",
    "directions behind": "48.8 N, 2.3 E",
    "names in text": "lat: 48.8 lon: 2.3",
    "a box of GDAL": {"xmin": 2, "ymin": 48, "xmax": 3, "ymax": 49},
    "a box by other names": {"min_x": 2, "minY": 48},
    "a box by directions": {"west": 2, "south": 48, "east": 3, "north": 49},
    "a point in a plane": {"x": 2, "y": 48, "spatialReference": {"wkid": 4326}},
    "an address of a map": "https://waze.com/ul?ll=48.85341%2C2.34880",
    "a marker of a map": "https://www.openstreetmap.org/?mlat=48.85341&mlon=2.34880",
    "a pin of a map": "https://www.google.com/maps/place/data=!3d48.85341!4d2.34880",
    "two decimals and a colon": "48.85341:2.34880",
    "ISO 6709": "+48.8534+002.3488/",
    "ISO 6709 in minutes": "+4851.204+00220.928+35/",
    "NMEA 0183": "$GPGLL,4851.2040,N,00220.9280,E,225444,A",
    "degrees and minutes with decimals": "N48° 51.204 E002° 20.928",
    "WKB in base 64": "AQEAAAA5tMh2vqcCQCNKe4MvbUhA",
    "WKB in base 64 of addresses": "AQEAAAA5tMh2vqcCQCNKe4MvbUhA".replace("/", "_"),
    **{
        f"degrees, {text}": text
        for text in (
            "48º51'23.8\"N 2º21'08.0\"E",
            "48 51 23.8 N 2 21 8.0 E",
            "48d51m23s N",
            "48:51:23.8N",
            "N 48 51.397 E 002 21.133",
            "4851.397,N,00221.133,E",
            "48.8566 degrees north",
            "48.8566 deg. N",
            "\u221248.8566, 2.3488",
        )
    },
    "a square of MGRS": "31UDQ5222711412",
    "a square of MGRS with blanks": "31U DQ 5222 1141",
    **{
        f"a point of UTM, {text}": text
        for text in (
            "31U 452227 5411412",
            "31T 641041.88 5065119.22",
            "31T 641042E 5065119N",
            "31T 641042mE 5065119mN",
            "31T 641042m E 5065119m N",
            "31 T 641042 5065119",
            "31T,641042,5065119",
            "31T E641042 N5065119",
            "31T N 5065119 E 641042",
            "UTM 31N 641042 5065119",
            "641042 5065119 31T",
            "Zone 31T, E 641042, N 5065119",
            "31T641042 5065119",
        )
    },
    "a square of MGRS with a word": "cell 31TFL4104206511, north",
    "a square of MGRS with all blanks": "31 U DQ 5222 1141",
    "a locator of Maidenhead": "JN35io",
    "a locator of Maidenhead with a word": "heard from JN35io24, calling",
    "a locator of Maidenhead of ten signs": "JN35io24xx",
    "a plus code of eight digits": "8FW4V75V+",
    "a plus code of an address": "https://plus.codes/8FW4V75V%2B8Q",
    "a plus code of twelve digits": "8FW4V75V+8QX2",
    "WKB in base 64 with lines": "AQMAAAABAAAABQAAAAAAAAAAAAAAAAAAAAAAAAAA\nAAAAAAAAAPA/AAAAAAAAAAA=\n",
    "WKB in digits with lines": "0103000000010000000500\n00000000000000000000000000000000000000",
    "WKB in base 64 with its name": "home=AQEAAAA5tMh2vqcCQCNKe4MvbUhA",
    "GeoJSON in text": '{"type": "Point", "coordinates": [2, 48]}',
    "GeoJSON as a name": {'{"type": "Point", "coordinates": [2, 48]}': 1},
    "two of one name": '{"a": "POINT (2 48)", "a": 1}',
    "a cell as a float": float(0x8928308280FFFFF),
    "a cell as a float in text": repr(float(0x8928308280FFFFF)),
    "a complex number": 2.35 + 48.85j,
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
    "a time and a wind": "10:30 N",
    "a time of a place": "10:30:00 New York",
    "an address": "12 45 S Main Street",
    "a degree": "1.50 degrees, not more",
    "numbers and a word": "3 4 5 Not known",
    "true": True,
    "whole numbers": [2, 48],
    "three numbers beyond degrees": [1000.5, 2000.5],
    "text in a list": ["a", "b"],
    "an object": {"lat": 48, "beds": 3},
    "a hexadecimal code": "8f14e45fceea167",
    "few bytes": b"\x01\x01",
    "many bytes": b"\x01\x01" * 40,
    "a digest": "00" * 4 + "8f14e45fceea167a" * 4,
    "bytes of text": b"GPS of a car, or none",
    "amounts": "1,234 5,678",
    "one axis": {"x": 3, "value": 4},
    "half a list": "[1, 2",
    "a sum": "4567+89",
    "a range": "0.125 - 0.250",
    "a UUID": "5c1de4d8-3f1c-4a4e-9b7e-2dad35000026",
    "an order": "12DEF456789",
    "a product": "AB12CD",
    "a product in small letters": "ab12cd",
    "a number plate": "AB12 CDE",
    "a part": "X-AB12cd-7",
    "a word with numbers": "QRSTab12cd34",
    "a cell of S2, or a hexadecimal number": "47e66e2964e34e2d",
    "a price and a rate": "EUR 1234.500, 19.000 %",
    "base 64": "AQIDBAUGBwgJCgsMDQ4PEBESExQV",
    "a number as text": "123456789.5",
    "a plus": "c++ and 2+2",
    "answers": " ".join("13251" * 9),
    "a series": "921 747 522 " * 5,
}
WRAPPED = {
    "bare": lambda value: value,
    "in a list": lambda value: [value],
    "in an object": lambda value: {"note": {"a": value}},
    "as text": lambda value: json.dumps({"a": value}),
    "as text alone": lambda value: json.dumps(value),
    "in a set": lambda value: {value},
    "with blanks": lambda value: f"  {value}\t ",
    "after a blank without width": lambda value: f"\ufeff\xa0{value}",
    "padded": lambda value: value.ljust(200) + "\r\n",
    "in quotes": lambda value: f"'{value}'",
    "as bytes": lambda value: f" {value} ".encode(),
}


def wrapped(value: Any, form: str) -> Any:
    """A value in a form, where it has one."""
    if form.startswith("as text") and type(value) in (bytes, np.ndarray, np.int64, complex):
        pytest.skip("JSON has none")
    if list(WRAPPED).index(form) > list(WRAPPED).index("as text alone") and not isinstance(value, str):
        pytest.skip("is no text")
    return WRAPPED[form](value)


@pytest.mark.parametrize("form", WRAPPED)
@pytest.mark.parametrize("name", PLACES)
def test_places(name: str, form: str) -> None:
    value = PLACES[name]
    value = wrapped(value, form)
    assert looks_like_place(value) or is_code(value)
    beside = Beside()
    look(beside, [("note", [None, value])], [["1", "2"]])
    with pytest.raises(SpecError) as refused:
        beside.require()
    assert refused.value.options == {"drop", "keep"}


@pytest.mark.parametrize("form", WRAPPED)
@pytest.mark.parametrize("name", NO_PLACES)
def test_no_places(name: str, form: str) -> None:
    value = NO_PLACES[name]
    value = wrapped(value, form)
    assert not looks_like_place(value) and not is_code(value)


@pytest.mark.parametrize("level", range(16))
def test_cells_of_every_level(level: int) -> None:
    h3 = pytest.importorskip("h3")
    cell = h3.latlng_to_cell(48.85, 2.35, level)
    assert is_cell(int(cell, 16)) and is_code(cell) and is_code(cell.upper()) and is_code(float(int(cell, 16)))
    assert is_code(Decimal(int(cell, 16))) and is_code(Decimal(f"{int(cell, 16)}.00"))
    beside = Beside()
    cells = [Decimal(int(cell, 16)), None, Decimal(int(cell, 16)), Decimal("sNaN")]
    look(beside, [("k", cells)], [["1", "2", "3", "4"]])
    with pytest.raises(SpecError):
        beside.require()
    assert not is_cell(int(cell, 16) | 1 << 63) and not is_cell(int(cell, 16) ^ 1 << 59) and not is_cell(-1)


LOW_LINES: dict[str, Any] = {
    "a number with decimals": lambda lat, lon: f"{lat:.4f}".replace(".", "_"),
    "two with decimals": lambda lat, lon: f"{lat:.4f} {lon:.4f}".replace(".", "_"),
    "thousands": lambda lat, lon: f"{round(lat * 1e7):_}",
}


@pytest.mark.parametrize("form", LOW_LINES)
def test_low_lines_in_numbers(form: str) -> None:
    rng = np.random.default_rng(1)
    lat, lon = rng.uniform(45, 45.2, 40).tolist(), rng.uniform(7, 7.3, 40).tolist()
    beside, other = Beside(), Beside()
    look(beside, [("note", [*map(LOW_LINES[form], lat, lon)])], [lat, lon])
    with pytest.raises(SpecError) as refused:
        beside.require()
    assert refused.value.options == {"drop", "keep"}
    look(other, [("note", [*map(LOW_LINES[form], rng.permutation(lat), rng.permutation(lon))])], [lat, lon])
    other.require()


def test_low_lines_around_labels() -> None:
    labels = [f"hall{i}" for i in range(20)]
    beside = Beside()
    look(beside, [("note", [f"id_{label}_{row}" for row, label in enumerate(labels)])], [labels])
    with pytest.raises(SpecError):
        beside.require()


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
        look(beside, [("copy", copy)], [secret])
        if same:
            with pytest.raises(SpecError):
                beside.require()
        else:
            beside.require()


LATITUDES = 45.7 + np.arange(1, 101) / 1e4 + 1 / 3e7
COPIES: dict[str, Any] = {
    "the same": LATITUDES,
    "text": [f"{one!r}" for one in LATITUDES.tolist()],
    "decimal commas": [f"{one!r}".replace(".", ",") for one in LATITUDES.tolist()],
    "float32": LATITUDES.astype(np.float32),
    "five digits": LATITUDES.round(5),
    "E7": np.rint(LATITUDES * 1e7).astype(int),
    "E6 as text": [f"{one * 1e6:.0f}" for one in LATITUDES.tolist()],
    "gaps": np.where(np.arange(100) % 2, LATITUDES, np.nan),
    "text with gaps": [f"{one!r}" if row % 4 else "n/a" for row, one in enumerate(LATITUDES.tolist())],
    "objects with gaps": [one if row % 4 else None for row, one in enumerate(LATITUDES.tolist())],
    "another row": np.where(np.arange(100) == 3, 0, LATITUDES),
    "few rows": {row: LATITUDES[row] for row in (3, 50, 99)},
}
OTHERS: dict[str, Any] = {
    "a year": np.full(100, 2024),
    "numbers of rows": np.arange(100),
    "other places": LATITUDES[::-1],
    "rounded to what is public": LATITUDES.round(1),
    "words": ["a"] * 100,
    "nothing": [None] * 100,
}


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("name", COPIES | OTHERS)
def test_copies_of_the_secret_in_any_unit_and_with_gaps(name: str, size: int) -> None:
    values = {**COPIES, **OTHERS}[name]
    beside = Beside()
    rows = slice(100 - size, 100)
    if isinstance(values, dict):
        look(beside, [("copy", values)], [LATITUDES, np.zeros(100)])
    else:
        look(beside, [("copy", values[rows])], [LATITUDES[rows], np.zeros(100)[rows]])
    if name in COPIES:
        with pytest.raises(SpecError):
            beside.require()
    else:
        beside.require()


def test_one_label_tells_where_it_is_long() -> None:
    for label, same in (("north-district", True), ("7", False)):
        beside = Beside()
        look(beside, [("copy", [label])], [[label]])
        if same:
            with pytest.raises(SpecError):
                beside.require()
        else:
            beside.require()


STRUCTS: list[Any] = [
    {"lat": 45.7, "lon": 4.8},
    {"xmin": 4.8, "ymin": 45.7, "xmax": 4.8, "ymax": 45.7},
    {"deep": [{"west": 4, "south": 45}]},
    [4.8123, 45.7012],
]
FRAMES = ["pandas object", "polars", "arrow", "parquet", "geojson", "pandas arrow", "polars array", "csv"]


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("struct", STRUCTS, ids=str)
def test_structs_of_places_in_every_format(tmp_path: Path, struct: Any, kind: str) -> None:
    rows = {"person": ["ann", "bob"], "beds": [1, 2], "at": [struct, None]}
    if kind == "csv":
        rows["at"] = [json.dumps(struct).replace('"', "'"), None]
    if kind == "polars array":
        data = pl.DataFrame(rows)
        data = data.with_columns(pl.col("at").cast(pl.Array(pl.Float64, 2))) if isinstance(struct, list) else data
    elif kind == "pandas arrow":
        array = pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(rows["at"])]))
        data = pd.DataFrame({**rows, "at": array})
    else:
        data = TEXT[kind](tmp_path, rows)
    output = (data.with_stem("out"),) if isinstance(data, Path) else ()
    with pytest.raises(SpecError) as refused:
        dx.apply(counts(), data, *output, column="beds")
    assert refused.value.options == {"drop", "keep"}
    dx.apply(counts(), data, *output, column="beds", columns=dx.Columns(keep=["at"]))


@pytest.mark.parametrize("unit", ["ms", "us", "ns", "object", "arrow"])
def test_durations_are_their_seconds(unit: str) -> None:
    rows = people(60)
    micros = (np.array(rows["lat"]) * 1e6).round().astype("int64")
    durations: dict[str, Callable[[], Any]] = {
        "object": lambda: pd.Series([timedelta(microseconds=int(one)) for one in micros], dtype=object),
        "arrow": lambda: pd.Series(pd.array(micros, dtype="int64")).astype("duration[us][pyarrow]"),
    }
    found = durations.get(unit, lambda: pd.Series(pd.to_timedelta(micros, unit="us")).astype(f"timedelta64[{unit}]"))
    frame = pd.DataFrame({"lat": rows["lat"], "lon": rows["lon"]})
    with pytest.raises(dx.SpecError) as caught:
        dx.apply(town(), frame.assign(since=found()), lat="lat", lon="lon")
    assert (caught.value.field, caught.value.parts[1]) == ("data", Option("drop", ["since"]))
    other = pd.to_timedelta(np.random.default_rng(1).integers(0, 10**8, 60), unit="us")
    assert "since" in dx.apply(town(), frame.assign(since=other), lat="lat", lon="lon")
