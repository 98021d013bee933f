"""What names of columns mean: latitudes and longitudes in many spellings, and their order."""

from __future__ import annotations

import unicodedata
from itertools import product
from typing import Any

import pytest

from dxopt.runtime.column_names import has_role, latitude_first, locates, means, parts_of_degree

STYLES = {
    "{}": ("lat", "lon"),
    "{}itude": ("lat", "long"),
    "decimal{}": ("Latitude", "Longitude"),
    "decimal{} ": ("latitude", "longitude"),
    "{}_deg": ("LAT", "LNG"),
    "pickup_{}": ("latitude", "longitude"),
    "pickup{}": ("latitude", "longitude"),
    "start {}": ("Lat", "Long"),
    "GPS-{}": ("Latitude", "Longitude"),
    "GPS{}": ("Latitude", "Longitude"),
    "home.{}.wgs84": ("lat", "lon"),
    "{}E7": ("latitude", "longitude"),
    "{}_e7": ("lat", "lng"),
    "geo{}": ("lat", "lon"),
    "x{}dd": ("lat", "long"),
    "geogr. {}": ("Breite", "Länge"),
    "wide {}": ("ｌａｔ", "ｌｏｎ"),
    "{} (°)": ("Breitengrad", "Längengrad"),
    "géo_{}": ("latitud", "longitud"),
    "{} geograficzna": ("szerokość", "długość"),
    "{} WGS": ("šířka", "délka"),
    "географическая {}": ("широта", "долгота"),
    "ΓΕΩΓΡΑΦΙΚΟ {}": ("ΠΛΆΤΟΣ", "ΜΉΚΟΣ"),
    "起点{}坐标": ("纬度", "经度"),
    "{} ": ("위도", "경도"),
    "{}値": ("緯度", "経度"),
    "خط {}": ("العرض", "الطول"),
    "{}.": ("अक्षांश", "देशांतर"),
    "{} độ": ("vĩ", "kinh"),
}
PAIRS = [(style.format(lat), style.format(lon)) for style, (lat, lon) in STYLES.items()]
FORMS = ("NFC", "NFD", "NFKC")
OTHERS = (
    "flat", "plate", "salon", "belong", "platform", "relation", "population", "a", "0", "x", "y", "value", "place",
    "altitude", "elevation", "x_km", "north", "latlon", "lat_long", "",
)  # fmt: skip


@pytest.mark.parametrize(("pair", "form"), list(product(PAIRS, FORMS)), ids=str)
def test_order_of_two_names(pair: tuple[str, str], form: Any) -> None:
    first, second = (unicodedata.normalize(form, name) for name in pair)
    assert latitude_first(first, second) is True
    assert latitude_first(second, first) is False
    assert latitude_first(first, first) is None
    assert latitude_first(first, "value") is None is latitude_first("value", second)


@pytest.mark.parametrize(("first", "second"), list(product(OTHERS, OTHERS)))
def test_names_that_tell_no_order(first: str, second: str) -> None:
    assert latitude_first(first, second) is None
    assert means(first) is None


APART = (
    ("start_lat", "end_lon"), ("lat", "home_lon"), ("lat1", "lon2"), ("pickuplatitude", "dropofflongitude"),
    ("起点纬度", "终点经度"), ("широта дома", "долгота работы"), ("latitudeE7", "longitudeE6"),
)  # fmt: skip
TOGETHER = (
    ("lat_y", "lon_x"),
    ("Latitude (deg N)", "Longitude (deg E)"),
    ("start_lat", "start_lon"),
    ("home latitude", "lon home"),
)


@pytest.mark.parametrize(("first", "second"), APART)
def test_two_things_are_not_one_place(first: str, second: str) -> None:
    assert latitude_first(first, second) is None is latitude_first(second, first)
    assert (means(first), means(second)) == ("latitude", "longitude")


@pytest.mark.parametrize(("first", "second"), TOGETHER)
def test_what_stands_beside_is_the_same(first: str, second: str) -> None:
    assert latitude_first(first, second) is True and latitude_first(second, first) is False


def test_places_under_other_names() -> None:
    assert all(map(locates, ("home_address", "h3_9", "plusCode", "PLZ", "zip code", "geometry", "what3words")))
    joined = ("latlng", "lat_lon", "coord", "quadkey", "hexId", "hexagon", "anschrift", "gridref", "bbox", "cellid")
    assert all(map(locates, joined))
    assert not any(map(locates, ("person", "beds", "age", "created_at", "plate", "cancellation")))
    assert has_role("home_address", "place") and not has_role("home_address", "latitude")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("latitudeE7", 1e7), ("lat_e7", 1e7), ("LATITUDE_E7", 1e7), ("longitudeE6", 1e6), ("e7 lat", 1e7),
        ("lat", 1), ("place7", 1), ("late7", 1), ("latitudeE70", 1), ("latitudeE5", 1), ("lat_7", 1), ("latitude", 1),
    ],
)  # fmt: skip
def test_parts_of_a_degree(name: str, parts: float) -> None:
    assert parts_of_degree(name) == parts
