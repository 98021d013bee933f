"""Names of columns: what they mean, what they say of a file without a header, and how messages list them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, SpecError
from dxopt.runtime.identity import composed

_ROLES = {
    "latitude": (
        "lat lats latd latitude latitudes latitud latitudine breite breitengrad breedte breedtegraad bredde "
        "breddegrad breddgrad leveysaste szerokość szerokosc šířka sirka enlem širina szélesség vĩđộ lintang "
        "широта ширина πλάτος πλατος 纬度 緯度 위도 العرض רוחב अक्षांश ละติจูด"
    ),
    "longitude": (
        "lon lons lng lngs long longd longitude longitudes longitud longitudine länge laenge längengrad "
        "laengengrad lengte lengtegraad lengde lengdegrad længde længdegrad längdgrad pituusaste długość "
        "dlugosc délka delka boylam dužina hosszúság kinhđộ bujur долгота довгота дължина μήκος μηκος 经度 經度 経度 "
        "경도 الطول אורך देशांतर ลองจิจูด"
    ),
    "place": (
        "address addr street road zip zipcode postal postcode plz geohash geom geo geometry wkt wkb h3 s2 "
        "mgrs utm easting northing place location locality city town village municipality county district "
        "ward neighborhood neighbourhood coordinate coordinates coords position gps ip pluscode what3words "
        "w3w cell station home verbatim elevation altitude adresse direccion dirección indirizzo rue strasse "
        "straße calle via ville stadt ort ciudad comune commune lieu latlng latlon coord loc quadkey olc "
        "hexid hexagon anschrift gridref maidenhead point centroid bbox cellid streetname venue venueid stopid "
        "stopname stopcode quay site siteid poi"
    ),
}
"""Words of names, in small letters and apart by blanks, by what they mean."""
_LONG = 6
"""Letters of a word that is recognised at the end of another, as in `pickuplatitude`."""
_AXES = {*"xynsewo", "north", "south", "east", "west"}
"""Words that differ between a latitude and the longitude of its place, as in `lat_y` and `lon_x`."""
_LATIN = "\u036f"
"""The last letter of Latin alphabets: words of other scripts are recognised anywhere within a name."""
_ALIKE = ("long", "lon", "lng")
"""What stands in the name of a longitude where that of the latitude has `lat`, as in `geolat` and `geolng`."""
_SCALED = re.compile(r"(?:(?<=[a-z])E|(?<![A-Za-z])[eE])([67])(?![0-9])")
"""The end of the name of whole numbers that are degrees times a power of ten, as `latitudeE7` and `lat_e7`."""
_PARTS = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-zß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST = 60
"""Letters of a name that a message shows."""
_SHOWN = 12
"""A message lists so many names at most."""
_WORDS = re.compile(r"[^\W\d_]+")
_OF_DATES = re.compile(
    r"jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|january|february|march|april|august|september|october"
    r"|november|december|(mon|tue|wed|thu|fri|sat|sun)|(mon|tues|wednes|thurs|fri|satur|sun)day|am|pm|utc|gmt"
)
_MISSING = ("", "na", "ka", "null", "none", "nil", "missing", "unknown", "undefined")
_OF_NUMBERS = re.compile(r"[tzenswoh]|km|nan|inf|infinity")
"""Letters in numbers, in degrees with a direction and in times."""


def as_asked(names: Iterable[str], asked: Iterable[str]) -> tuple[str, ...]:
    """Return the names of columns as they are asked for; blanks around them and letters that nobody sees aside.

    SpecError if one is no text that can be written.
    """
    wanted = {composed(name): name for name in asked}
    found = tuple(wanted.get(plain, plain) for plain in map(composed, names))
    try:
        "".join(found).encode()
    except UnicodeEncodeError:
        raise SpecError("data", "has a column whose name has half of a surrogate pair", "rename it") from None
    return found


def require_distinct(names: Sequence[str]) -> None:
    """Raise SpecError if two columns have one name."""
    twice = next((name for name, often in Counter(names).items() if often > 1), None)
    if twice is not None:
        raise SpecError("data", f"has two columns {twice!r}", "rename one")


def words_of(name: str) -> list[str]:
    """Return the words of a name in small letters: `pickup_lat`, `decimalLatitude`, `GPS-Latitude` have two."""
    parts = _PARTS.findall(unicodedata.normalize("NFKC", name))
    return [word.lower() for part in parts for word in _CAMEL.split(part)]


def has_role(name: str, role: str) -> bool:
    """Return whether the name of a column means a latitude, a longitude or a place; up to three words may be one."""
    return _beside(name, role) is not None


def _beside(name: str, role: str) -> list[str] | None:
    """Return the words that stand beside that with a role in the name of a column; None where it has none."""
    words, known = words_of(name), _ROLES[role].split()
    for start, end in combinations(range(len(words) + 1), 2):
        if end - start <= 3 and "".join(words[start:end]) in known:
            return words[:start] + words[end:]
    for place, one in product(range(len(words)), known):
        if len(one) > _LONG and one.isascii() and words[place].endswith(one):
            return [*words[:place], words[place].removesuffix(one), *words[place + 1 :]]
    text = unicodedata.normalize("NFKC", name.lower())
    return next((words_of(text.replace(one, " ")) for one in known if one > _LATIN and one in text), None)


def latitude_first(first: str, second: str) -> bool | None:
    """Return whether two names mean latitude and longitude of one place, in this order; None if they do not tell.

    What stands beside these words is to be the same, but for axes and directions.
    """
    for one, other, order in ((first, second, True), (second, first, False)):
        low = one.lower()
        if "lat" in low and other.lower() in [low.replace("lat", word) for word in _ALIKE]:
            return order
        if means(one) == "latitude" and means(other) == "longitude":
            rest = {*(_beside(one, "latitude") or ())} ^ {*(_beside(other, "longitude") or ())}
            return None if rest - _AXES else order
    return None


def means(name: str) -> str | None:
    """Return "latitude" or "longitude" where the name of a column means just one of them."""
    found = [role for role in ("latitude", "longitude") if has_role(name, role)]
    return found[0] if len(found) == 1 else None


def parts_of_degree(name: str) -> float:
    """Return how many of the units of a column are one degree: ten million for `latitudeE7`, else 1."""
    found = _SCALED.search(name)
    return 1.0 if found is None else 10.0 ** int(found[1])


def in_degrees(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of a column in degrees; NaN where one is to be whole, as of `latitudeE7`, and is not."""
    parts = parts_of_degree(name)
    return values if parts == 1 else np.where(values == np.rint(values), values / parts, np.nan)


def locates(name: str) -> bool:
    """Return whether the name of a column says that it locates somebody."""
    return any(has_role(name, role) for role in _ROLES)


def is_data(name: str) -> bool:
    """Return True if the name of a column reads as a number, a date or a time: "45.5 N", "3 May", but not "x1"."""
    bare = name.strip().lower()
    words = _WORDS.findall(bare)
    if "_" in bare or not all(_OF_NUMBERS.fullmatch(word) or _OF_DATES.fullmatch(word) for word in words):
        return False
    if bare in ("nan", "inf", "-inf", "infinity", "-infinity"):
        return True
    dated = any(_OF_DATES.fullmatch(word) for word in words)
    return any(sign.isdigit() for sign in bare) and (dated or not bare[0].isalpha())


def is_name(name: str) -> bool:
    """Return True unless the name of a column begins as no name does, or reads as data or as a missing value."""
    bare = re.sub(r"[\W_]", "", name).lower()
    unlike = not re.match(r"\s*[^\W\d_]", name) or name.startswith("Unnamed: ")
    return not (unlike or is_data(name) or bare in _MISSING)


def no_column(name: str, names: Sequence[str]) -> tuple[str, str]:
    """Return what is wrong, and the fix, for the error about a table with these columns that lacks one."""
    return f"there is no column {name!r}", f"choose among {listed(names)}" if names else "add it"


def no_such_column(field: str, name: str, names: Sequence[str] | None, header: bool | None) -> SpecError:
    """Return the error about people's data that lack a column; `names` are None where they may be data themselves.

    None is listed where one looks like data.
    """
    if names is not None and not looks_like_data(names):
        return SpecError(field, *no_column(name, names))
    say = (", or say whether that has names: ", Option("header")) if header is None else ()
    return SpecError(field, f"there is no column {name!r}", "name one of the first line", *say)


def require_header(names: Sequence[str], asked: Iterable[str], header: bool | None, *, proven: bool) -> None:
    """Raise SpecError if names of columns look like data: there may be no header.

    Not where it was said whether there is a `header`. Names that are not asked for may look like data where a column
    of numbers has a name, by which the header is `proven`.
    """
    if header is None and looks_like_data([*{*asked}.intersection(names)] if proven else names):
        raise no_header("looks like data")


def no_header(wrong: str) -> SpecError:
    """Return the error about a first line that seems to have no names of columns."""
    fix = "add a line that names the columns, or say whether there is one: "
    return SpecError("header", f"the first line {wrong}", fix, Option("header"))


def looks_like_data(names: Sequence[str]) -> bool:
    """Return True if some name of a column reads as a number or a date, as in a file without a header."""
    return any(map(is_data, names))


def listed(names: Sequence[str]) -> str:
    """Join the first names by commas; those that are empty, or begin or end with blanks, are quoted to be seen."""
    short = [name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…" for name in names[:_SHOWN]]
    some = ", ".join(name if name and name == name.strip() else repr(name) for name in short)
    return some + (", …" if len(names) > _SHOWN else "")
