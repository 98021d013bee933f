"""Columns that tell a row's own position in whatever notation or code are refused, and ordinary ones are not."""

from __future__ import annotations

import base64
import json
import math
import random
import unicodedata
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.errors import SpecError
from dxopt.release.applying.place_like import Beside
from tests.material.beside import look
from tests.material.carriers import TEXT
from tests.material.people import counts

_BASE32 = "0123456789bcdefghjkmnpqrstuvwxyz"
Written = Callable[[float, float], Any]


def geohash(lat: float, lon: float, letters: int) -> str:
    """By bisection of longitudes and latitudes in turn."""
    halves = [[-180.0, 180.0, lon], [-90.0, 90.0, lat]]
    bits = ""
    for place in range(5 * letters):
        half = halves[place % 2]
        middle = (half[0] + half[1]) / 2
        bits += "1" if half[2] >= middle else "0"
        half[0 if half[2] >= middle else 1] = middle
    return "".join(_BASE32[int(bits[start : start + 5], 2)] for start in range(0, len(bits), 5))


def tile(lat: float, lon: float, zoom: int) -> tuple[int, int]:
    """Column and row of a tile of Web Mercator."""
    north = math.asinh(math.tan(math.radians(lat))) / math.pi
    return int((lon + 180) / 360 * 2**zoom), int((1 - north) / 2 * 2**zoom)


def quadkey(lat: float, lon: float, zoom: int) -> str:
    """The digits of a tile, from the largest."""
    x, y = tile(lat, lon, zoom)
    return "".join(str((x >> bit & 1) + 2 * (y >> bit & 1)) for bit in reversed(range(zoom)))


def minutes(degrees: float, digits: int) -> str:
    """Degrees and minutes without anything between."""
    return f"{int(degrees):0{digits}d}{degrees % 1 * 60:07.4f}"


def seconds(degrees: float) -> tuple[int, int, float]:
    """Degrees, minutes and seconds."""
    return int(degrees), int(degrees % 1 * 60), degrees * 60 % 1 * 60


COPIES: dict[str, Written] = {
    "an address of a map": lambda lat, lon: f"https://example.org/ul?ll={lat:.5f}%2C{lon:.5f}",
    "an anchor of a map": lambda lat, lon: f"https://example.org/#map=15/{lat:.3f}/{lon:.3f}",
    "a pin of a map": lambda lat, lon: f"https://example.org/data=!3d{lat:.4f}!4d{lon:.4f}",
    "a colon": lambda lat, lon: f"{lat:.3f}:{lon:.3f}",
    "a dash": lambda lat, lon: f"{lat:.5f} - {lon:.5f}",
    "brackets": lambda lat, lon: f"[{lon:.4f}][{lat:.4f}]",
    "words": lambda lat, lon: f"seen at {lat:.3f} north and {lon:.3f} east",
    "XML": lambda lat, lon: f'<trkpt lat="{lat:.6f}" lon="{lon:.6f}">',
    "decimal commas": lambda lat, lon: f"{lat:.3f} / {lon:.3f}".replace(".", ","),
    "an object": lambda lat, lon: {"p": f"{lat:.3f}", "q": f"{lon:.3f}"},
    "a list": lambda lat, lon: ["x", f"{lat:.3f}"],
    "an array": lambda lat, lon: np.array(["x", f"{lon:.4f}"], dtype=object),
    "bytes": lambda lat, lon: f"{lat:.3f}N".encode(),
    "whole numbers": lambda lat, lon: f"{lat * 1e6:.0f} {lon * 1e6:.0f}",
    "ISO 6709": lambda lat, lon: f"+{lat:.4f}+{lon:08.4f}",
    "ISO 6709 in minutes": lambda lat, lon: f"+{minutes(lat, 2)}+{minutes(lon, 3)}",
    "ISO 6709 in seconds": lambda lat, lon: "+{:02d}{:02d}{:05.2f}+{:03d}{:02d}{:05.2f}".format(
        *seconds(lat), *seconds(lon)
    ),
    "NMEA": lambda lat, lon: f"{minutes(lat, 2)},N,{minutes(lon, 3)},E",
    "NMEA as a number": lambda lat, lon: float(minutes(lat, 2)),
    "minutes": lambda lat, lon: f"{int(lat)} {lat % 1 * 60:.3f}",
    "seconds": lambda lat, lon: "{}d {}m {:.1f}s".format(*seconds(lon)),
    "a rounded longitude": lambda lat, lon: round(lon, 3),
    "its text": lambda lat, lon: f"{lon:.3f}",
    "a rounded latitude": lambda lat, lon: round(lat, 3),
    "two decimals": lambda lat, lon: round(lat, 2),
    "two decimals of both": lambda lat, lon: f"{lat:.2f}, {lon:.2f}",
    "two decimals of E7": lambda lat, lon: int(round(lat, 2) * 1e7),
    "a cut number": lambda lat, lon: math.floor(lon * 1000) / 1000,
    "steps of 0.005": lambda lat, lon: round(lat * 200) / 200,
    "noise": lambda lat, lon: lat + random.gauss(0, 0.001),
    "a geohash": lambda lat, lon: geohash(lat, lon, 9),
    "a short geohash": lambda lat, lon: geohash(lat, lon, 6),
    "a long geohash": lambda lat, lon: geohash(lat, lon, 12),
    "a geohash in capitals": lambda lat, lon: geohash(lat, lon, 8).upper(),
    "an address of a geohash": lambda lat, lon: f"https://example.org/{geohash(lat, lon, 9)}",
    "a quadkey": lambda lat, lon: quadkey(lat, lon, 18),
    "a tile": lambda lat, lon: "18/{}/{}".format(*tile(lat, lon, 18)),
    "an address of a tile": lambda lat, lon: "https://example.org/17/{}/{}.png".format(*tile(lat, lon, 17)),
    "a geohash as bytes": lambda lat, lon: geohash(lat, lon, 8).encode(),
    "a geohash behind a word": lambda lat, lon: f"under {geohash(lat, lon, 8)}, north",
    "a geohash of two": lambda lat, lon: [geohash(0, 0, 8), geohash(lat, lon, 8)],
}
WRAPPED: dict[str, Callable[[str], Any]] = {
    "blanks": lambda text: f" {text}  ",
    "lines": lambda text: f"\xa0{text}\n",
    "a list": lambda text: [text],
    "an object": lambda text: {"a": {"b": text}},
    "a set": lambda text: {text},
    "JSON": lambda text: json.dumps({"a": [text]}),
    "JSON alone": json.dumps,
    "quotes": lambda text: f"'{text}'",
    "a name": lambda text: f"at={text}",
    "a name of a value": lambda text: {text: 1},
    "bytes": str.encode,
}
EXACT = (
    "an address of a map",
    "a dash",
    "XML",
    "whole numbers",
    "NMEA",
    "NMEA as a number",
    "a geohash",
    "a quadkey",
)
"""Copies that one row tells."""


def digits(count: int) -> str:
    """Digits by chance."""
    return "".join(random.choices("0123456789", k=count))


def word() -> str:
    """A word or a code by chance."""
    return random.choice(["under", "sweet", "greek", "hotel", "dept", "butter", "JN25", "AB12CD", "house", "trench"])


ORDINARY: dict[str, Written] = {
    "an id": lambda lat, lon: f"A{digits(6)}",
    "a UUID": lambda lat, lon: str(uuid.UUID(int=random.getrandbits(128))),
    "a hash": lambda lat, lon: random.getrandbits(63),
    "a hash as a float": lambda lat, lon: float(random.getrandbits(60)),
    "digits of a hash": lambda lat, lon: f"{random.getrandbits(60):015x}",
    "an id in base 32": lambda lat, lon: "".join(random.choices(_BASE32, k=9)),
    "an id in base 64": lambda lat, lon: base64.b64encode(random.randbytes(24)).decode(),
    "a number of time and machine": lambda lat, lon: random.randrange(11 * 10**17, 19 * 10**17),
    "a name": lambda lat, lon: random.choice(["Ann Lee", "Bob Ray", "Cem Öz"]),
    "a word": lambda lat, lon: word(),
    "words": lambda lat, lon: f"{word()} {word()}: {random.randint(0, 100)} of {random.randint(0, 100)}, {word()}",
    "a date": lambda lat, lon: f"2024-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}",
    "a date with strokes": lambda lat, lon: f"{random.randint(1, 12)}/{random.randint(1, 28)}/2024",
    "a time": lambda lat, lon: datetime(2024, 1, 1) + timedelta(seconds=random.randint(0, 10**7)),
    "a time as text": lambda lat, lon: f"2024-05-01T{random.randint(0, 23):02d}:{random.randint(0, 59):02d}:45.123Z",
    "seconds since 1970": lambda lat, lon: 1.7e9 + random.randint(0, 10**7),
    "a year": lambda lat, lon: random.choice([2022, 2023, 2024]),
    "a price": lambda lat, lon: round(random.uniform(1, 100), 2),
    "a price like a latitude": lambda lat, lon: round(random.uniform(40, 50), 2),
    "a price with its currency": lambda lat, lon: f"EUR {random.uniform(1, 100):.2f}",
    "two prices": lambda lat, lon: f"{random.uniform(1, 100):.2f}, {random.uniform(1, 100):.2f}",
    "a telephone number": lambda lat, lon: f"+33 4 {digits(2)} {digits(2)} {digits(2)} {digits(2)}",
    "a postcode": lambda lat, lon: str(69001 + int((lat - 45.68) / 0.006)),
    "a postcode as a number": lambda lat, lon: 69001 + int((lat - 45.68) / 0.006),
    "a postcode in letters": lambda lat, lon: f"LY{int((lat - 45.68) / 0.006)} {int((lon - 4.76) / 0.008)}AB",
    "a neighbourhood": lambda lat, lon: ["south", "centre", "north"][min(2, int((lat - 45.68) / 0.02))],
    "its number": lambda lat, lon: int((lat - 45.68) / 0.012) + 5 * int((lon - 4.76) / 0.016),
    "an address": lambda lat, lon: f"{random.randint(1, 200)} rue {word()}, 6900{random.randint(1, 9)} Lyon",
    "a latitude of the city": lambda lat, lon: 45.76,
    "a latitude rounded to the city": lambda lat, lon: round(lat, 1),
    "an age": lambda lat, lon: random.randint(0, 99),
    "a temperature": lambda lat, lon: f"{random.gauss(20, 8):.1f}°C",
    "a chance": lambda lat, lon: random.random(),
    "a measurement": lambda lat, lon: f"p={random.random():.4f}, t={random.gauss(0, 1):.3f}",
    "true or false": lambda lat, lon: random.random() < 0.5,
    "a version": lambda lat, lon: f"{random.randint(0, 9)}.{random.randint(0, 20)}.{random.randint(0, 9)}",
    "an address of IP": lambda lat, lon: ".".join(str(random.randint(0, 255)) for _ in range(4)),
    "an address of a page": lambda lat, lon: f"https://example.org/p/{digits(3)}/{digits(6)}?x={digits(2)}",
    "a size": lambda lat, lon: f"{random.randint(10, 99)}x{random.randint(10, 99)} cm",
    "a plate": lambda lat, lon: f"AB-{digits(3)}-CD",
    "an order": lambda lat, lon: f"12DEF{digits(6)}",
    "a card": lambda lat, lon: digits(16),
    "numbers without end": lambda lat, lon: random.choice([math.inf, -math.inf, 0.0, 1e308]),
    "their text": lambda lat, lon: random.choice(["1e400", "-inf", "2e-310", "9" * 400, "e1e1", "0x8928g"]),
    "whole numbers of many digits": lambda lat, lon: 10 ** random.choice([0, 30, 400, 5000]),
    "nothing": lambda lat, lon: None,
    "tags": lambda lat, lon: ["a", "b"][: random.randint(0, 2)],
    "counts": lambda lat, lon: [random.randint(0, 99), random.randint(0, 99)],
    "an object": lambda lat, lon: {"n": random.randint(0, 9), "w": word()},
}
SECRETS: dict[str, Callable[[], Any]] = {
    "positions": lambda: None,
    "ages": lambda: random.randint(0, 99),
    "incomes": lambda: round(random.lognormvariate(10, 0.6)),
    "beds": lambda: random.choice([1, 1, 2, 2, 3, 4]),
    "small parts": lambda: random.uniform(1e-7, 9e-7),
    "mostly none": lambda: random.choice([0] * 9 + [1, 2, 30]),
    "words": lambda: random.choice("abcd"),
}


def town(rows: int) -> list[tuple[float, float]]:
    """Positions by chance within 6 km."""
    return [(random.uniform(45.68, 45.74), random.uniform(4.76, 4.84)) for _ in range(rows)]


def refused(values: list[Any], secrets: list[Any]) -> bool:
    """Whether a column is refused beside these, as a list and as an array where it has one type of numbers."""
    found = set()
    bare = len({*map(type, values)} & {int, float}) == 1 == len({*map(type, values)})
    for form in (values, np.array(values)) if bare else (values,):
        beside = Beside()
        look(beside, [("note", form)], secrets)
        try:
            beside.require()
        except SpecError:
            found.add(True)
        else:
            found.add(False)
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize("rows", [1, 40, 300])
@pytest.mark.parametrize("name", COPIES)
def test_copies_in_any_notation(name: str, rows: int) -> None:
    random.seed(rows)
    places = town(rows)
    values = [COPIES[name](*place) for place in places]
    if rows > 1 or name in EXACT:
        assert refused(values, list(map(np.array, zip(*places, strict=True))))
        assert refused(values, [[str(one) for one in axis] for axis in zip(*places, strict=True)])
    if rows == 40:
        sparse = [value if row % 3 == 0 else None for row, value in enumerate(values)]
        assert refused(sparse, list(map(np.array, zip(*places, strict=True))))


@pytest.mark.parametrize("form", WRAPPED)
def test_texts_are_found_within_what_surrounds_them(form: str) -> None:
    random.seed(1)
    places = town(40)
    secrets = list(map(np.array, zip(*places, strict=True)))
    for name, written in COPIES.items():
        values = [written(*place) for place in places]
        if isinstance(values[0], str):
            assert refused([*map(WRAPPED[form], values)], secrets), name


@pytest.mark.parametrize("form", WRAPPED)
def test_labels_are_found_within_what_surrounds_them(form: str) -> None:
    labels = ["mill", "North harbour", "Žižkov (old)", "a", "7b", "3.5 km", "it's"] * 5
    assert refused([*map(WRAPPED[form], labels)], [labels])
    assert refused([*map(WRAPPED[form], map(partial(unicodedata.normalize, "NFD"), labels))], [labels])
    assert not refused([*map(WRAPPED[form], labels[1:] + labels[:1])], [labels])


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_columns(name: str, secret: str) -> None:
    for rows in (1, 3, 30, 120):
        random.seed(rows)
        places = town(rows)
        secrets = [[SECRETS[secret]() for _ in places]]
        if secret == "positions":
            secrets = [list(axis) for axis in zip(*places, strict=True)]
        values = [ORDINARY[name](*place) for place in places]
        assert not refused(values, secrets)
        assert not refused(values, [sorted(axis) for axis in secrets])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("secret", [[0.0, math.inf, 5e-324, 1e308, -3.0], ["a", "", "1e400", "7", None]])
@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_columns_beside_any_secret(name: str, secret: list[Any]) -> None:
    random.seed(1)
    assert not refused([ORDINARY[name](*place) for place in town(5)], [secret])


def test_codes_by_accident_are_few() -> None:
    """A column that has a code of a place in most rows is refused, and one that has it in few is not."""
    for share, wrong in ((0.8, True), (0.2, False)):
        values = [0x8928308280FFFFF if row < 100 * share else random.getrandbits(59) for row in range(100)]
        assert refused(values, [list(range(100))]) == wrong


@pytest.mark.parametrize("kind", ["csv", "pandas object", "polars", "arrow", "parquet", "geojson"])
def test_copies_in_every_format(tmp_path: Path, kind: str) -> None:
    rows = {"person": [f"p{row}" for row in range(6)], "beds": [1, 2, 3, 3, 2, 1]}
    data = TEXT[kind](tmp_path, rows | {"note": [f"has {beds}.00 beds" for beds in rows["beds"]]})
    output = (data.with_stem("out"),) if isinstance(data, Path) else ()
    with pytest.raises(SpecError) as wrong:
        dx.apply(counts(), data, *output, column="beds")
    assert wrong.value.options == {"drop", "keep"}
    dx.apply(counts(), data, *output, column="beds", columns=dx.Columns(keep=["note"]))
