"""Kept columns that hold places or the secret under another name: refused unless they are named."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from base64 import b64decode
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from itertools import product
from numbers import Real
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, SpecError
from dxopt.release.applying.column_mapping import number, numbers
from dxopt.release.applying.determined import Determined
from dxopt.runtime.column_names import has_role, listed
from dxopt.runtime.identity import composed, identity
from dxopt.spaces.naming import cell_id, is_cell, text_of

_PLACE = re.compile(
    r"""
    \b(SRID=\d+;)?\s*(POINT|LINESTRING|POLYGON|MULTI(POINT|LINESTRING|POLYGON)|GEOMETRYCOLLECTION)\s*(Z|M|ZM)?\s*\(
    | \bgeo:[-+]?\d                                                          # a URI of RFC 5870
    | (?<![\d.])\d{1,3}\.\d{3,}\s*°?\s*[NS]?\s*([,:;/|_\s]|!\dd|&\w+=)\s*[-+]?\d{1,3}\.\d{3,}(?!\.?\d)
    | (?<![\d,])\d{1,3},\d{4,}\s*°?\s*[NS]?\s*[:;/|_\s]\s*[-+]?\d{1,3},\d{4,}(?!,?\d)
    | (?<!\S)[-+]\d{2,6}\.\d+[-+]\d{3,7}\.\d+\S*/                            # ISO 6709
    | \$G[A-Z](GLL|GGA|RMC|GNS),\S*\d\.\d                                    # a sentence of NMEA 0183
    | \b[NS]\s*\d{1,2}[.,]\d+\W{0,4}[EWO]\s*\d{1,3}[.,]\d                    # N 48.85 E 2.35, and 48.85 N 2.35 E
    | \d[.,]\d+\W{0,2}[NS]\b\W{0,4}\d{1,3}[.,]\d+\W{0,2}[EWO]\b
    | \bm?lat\w*\W{0,3}\d.{0,20}?\bm?l(on|ng)\w*\W{0,3}\d
    | \d\s*°\s*\d+(\.\d+|\s*['′])                                            # degrees and minutes
    | (?<![\d.])\d{1,3}\s*[°d:\s]\s*[0-5]?\d\s*['′m:\s]\s*[0-5]?\d([.,]\d+)?\s*["″s]?\s*[NSEWO]\b
    | \b[NS]\s*\d{1,2}\s*[°d:\s]\s*[0-5]?\d[.,]\d+ | (?<![\d.])\d{4,5}\.\d+\s*,\s*[NSEW]\b
    | \d[.,]\d+\s*deg(rees?)?\b\W{0,2}[NS](orth|outh)?\b
    | \b(?=\d*[A-Z])([2-9CFGHJMPQRVWX]{4,8}\+[2-9CFGHJMPQRVWX]{2,7}\b|[2-9CFGHJMPQRVWX]{8}\+(?!\w)) # a plus code
    """,
    re.IGNORECASE | re.VERBOSE,
)
_GRID = re.compile(
    r"""
    (?<![\w-])\d{1,2}([C-HJ-NP-X]\s?|\s[C-HJ-NP-X]\s)[A-HJ-NP-Z][A-HJ-NP-V]\s?(\d{8}|\d{10}|\d{2,5}\s\d{2,5})(?![\w-])
    | (?<![\w-])(?P<locator>(?-i:[A-R]{2}\d\d[a-x]{2}(?:\d\d(?:[a-x]{2})?)?))(?![\w-])
    | (?<!\d)(?<!\d[.,])(\d{6}([.,]\d+)?\D{1,8}\d{7}|\d{7}([.,]\d+)?\D{1,8}\d{6})(?!\d)
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""A square of MGRS, a locator of Maidenhead in its usual capitals, or the two numbers of a point of UTM."""
_ZONE = re.compile(r"\b\d{1,2}\s?[C-HJ-NP-X](?![A-Z])", re.IGNORECASE)
_SHAPES = {"Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon", "GeometryCollection"}
_DIGITS = re.compile(r"(?<![0-9A-F])(?:\s?[0-9A-F]){42}", re.IGNORECASE)
"""The first bytes of a shape in digits, as databases write them."""
_BASE64 = re.compile(r"(?:A[AQ]|R1)(?:\s?[\w+/-]){26}", re.ASCII)
"""The same in base 64, where lines may end."""
_CODE = re.compile(r"(?<![^\W_])[A-Z0-9+.]{9,}", re.IGNORECASE)
"""Letters and digits of which a cell of H3 may be made, as a number or as text."""
_GEOHASH = re.compile(r"(?<![^\W_])[0-9B-HJKMNP-Z]{5,24}(?![^\W_])", re.IGNORECASE)
"""Letters and digits of which a geohash or a quadkey is made."""
_EASTWARD = {"x", "xmin", "xmax", "minx", "maxx", "west", "east", "easting"}
_NORTHWARD = {"y", "ymin", "ymax", "miny", "maxy", "south", "north", "northing"}
_DEEPEST = 16
_DISTINCT = 3
"""So many different values show that a column repeats the secret, or one that is long enough to be no accident."""
_LONG = 5
_SHARE = 0.9
"""Share of rows, of those with both values, that have the same or near ones where a column repeats the secret."""
_CLOSE = 1e-5
"""Values are the same up to this share of them, or of most secrets, as where a copy has fewer digits."""
_NEAR = 0.1
"""Values are near that differ by less than this share of the range of most secrets."""
_ROWS = 8
"""So many rows that are near are no accident."""
_ENOUGH = 100
_NUMBER = re.compile(r"(?:\d+[.,]|\.)?\d+(?:e[-+]?\d+)?", re.IGNORECASE)
_MOST = 8
"""Numbers of a text that are looked at."""
_CODES = 4
"""Codes of a text that are looked at, from its end."""
_BASE32 = "0123456789BCDEFGHJKMNPQRSTUVWXYZ"


def looks_like_place(value: Any, depth: int = 0) -> bool:
    """Return whether a value is a place in a usual notation, or has one or a code in it, or is too deep to tell."""
    if depth > _DEEPEST:
        return True
    if isinstance(value, bytes | bytearray) and _is_shape(value):
        return True
    if isinstance(text := _bare(value), str) and (_PLACE.search(text) or any(map(_is_shape, _decoded(text)))):
        return True
    if isinstance(value := _opened(text), str) and value != text:
        return looks_like_place(value, depth + 1)
    if hasattr(value, "geom_type") or isinstance(value, complex | np.complexfloating):
        return True
    if isinstance(value, Mapping) and _is_object_of_place(value):
        return True
    if (parts := _parts(value)) is not None:
        return _are_coordinates(parts) or any(looks_like_place(one, depth + 1) for one in parts)
    return depth > 0 and is_code(value)


def is_code(value: Any) -> bool:
    """Return whether a value has a cell of H3, also as a float without its last bits, MGRS, UTM or Maidenhead."""
    value = _bare(value)
    if not isinstance(value, str):
        if isinstance(value, Decimal):
            return _is_cell(str(value))
        return isinstance(value, Real) and _is_cell(text_of(value))
    found = _GRID.search(value)
    return bool(found and (found[1] or found["locator"] or _ZONE.search(value))) or any(
        map(_is_cell, _CODE.findall(value))
    )


def _is_cell(text: str) -> bool:
    """Return whether the text of a number, or in digits, is a cell of H3."""
    if len(text) < 9:
        return False
    found = number(text)
    whole = int(found) if 1 << 59 <= found < 1 << 60 else 0
    return bool(cell_id(text.strip("."))) or any(map(is_cell, (whole, whole - 1, whole | 7, whole | 63)))


def _bare(value: Any) -> Any:
    """Return text, and that of bytes, composed and without what escapes it; anything else as it is."""
    if isinstance(value, bytes | bytearray):
        value = value.decode(errors="replace")
    return _unescaped(value) if isinstance(value, str) else value


@lru_cache(8)
def _unescaped(text: str) -> str:
    return unquote(composed(text)).translate({0xBA: "°", 0x2DA: "°", 0x2212: "-"})


def _opened(value: Any) -> Any:
    """Return what JSON has, text without what surrounds it, or anything else as it is."""
    if not isinstance(text := _bare(value), str):
        return text
    found = _parsed(text) if text[:1] in ("{", "[", '"') else None
    return text.strip(" \"'") if found is None else found


def _parts(value: Any) -> list[Any] | None:
    """Return the values of a list, or the names and values of an object; None where it is neither."""
    if isinstance(value, Mapping):
        return [*value, *value.values()]
    return list(value) if isinstance(value, list | tuple | set | frozenset) or np.ndim(value) else None


def _has_text(value: Any, text: str, depth: int = 0) -> bool:
    """Return whether a value is a text, or has it in it apart from other words."""
    value = _opened(value)
    if (parts := _parts(value)) is not None and depth < _DEEPEST:
        return any(_has_text(one, text, depth + 1) for one in parts)
    return re.search(rf"(?<![^\W_]){re.escape(text)}(?![^\W_])", _text(value)) is not None


def _decoded(text: str) -> Iterator[bytes]:
    """Yield the first bytes that a text has in hexadecimal digits or in base 64."""
    for digits in _DIGITS.findall(text):
        yield bytes.fromhex("".join(digits.split()))
    for code in _BASE64.findall(text):
        yield b64decode("".join(code.split()).translate({45: 43, 95: 47}))


def _is_shape(value: bytes | bytearray) -> bool:
    """Return whether bytes are a shape in well-known binary, also with a coordinate system, or of a GeoPackage."""
    if len(value) < 21 or value[0] not in (0, 1):
        return value[:3] == b"GP\0"
    # of 32 bits the highest say what else there is, and thousands how many axes
    kind = int.from_bytes(value[1:5], "little" if value[0] else "big") & 0x1FFFFFFF
    return kind < 4000 and 1 <= kind % 1000 <= 17


def _parsed(text: str) -> Any:
    """Return what JSON, or the text of an object of Python, has; None where it has nothing."""
    for tried in (text, text.replace("'", '"')):
        with suppress(ValueError, RecursionError):
            return json.loads(tried)
    return None


def _is_object_of_place(value: Mapping[Any, Any]) -> bool:
    """Return whether an object is a geometry or a box, or has a latitude and a longitude."""
    names = [str(name) for name in value]
    located = all(any(has_role(name, role) for name in names) for role in ("latitude", "longitude"))
    bare = {re.sub(r"[\W\d_]", "", name).lower() for name in names}
    in_a_plane = bool(bare & _EASTWARD and bare & _NORTHWARD)
    return located or in_a_plane or "coordinates" in names or value.get("type") in _SHAPES


def _are_coordinates(value: Sequence[Any]) -> bool:
    """Return whether a list is of two to six finite numbers, as a point or a box has, and not all are whole."""
    if not 2 <= len(value) <= 6 or not all(isinstance(one, Real) and not isinstance(one, bool) for one in value):
        return False
    return all(abs(one) <= 360 for one in value) and not all(one % 1 == 0 for one in value)


class _Compared:
    """Counter of the rows of a column that have the value of the secret, one near to it, or one near to another's."""

    def __init__(self) -> None:
        self._rows = 0
        self._hits = np.zeros(3, dtype=np.int64)
        self._same: set[str] = set()
        self._near: set[float] = set()

    @property
    def repeats(self) -> bool:
        """True if rows have the value of the secret, or are near to it and not to another's, and not by accident."""
        same, near, another = self._hits.tolist()
        copied = len(self._same) >= _DISTINCT or any(len(re.findall(r"\w", one)) >= _LONG for one in self._same)
        rounded = len(self._near) >= _DISTINCT and near >= max(_ROWS, 2 * another)
        return max(same * copied, near * rounded) >= _SHARE * max(1, self._rows)

    @property
    def differs(self) -> bool:
        """True if the rows until now are enough to tell that there is no need to compare others."""
        return self._rows >= _ENOUGH and 2 * self._hits.max() < self._rows

    def add(self, mine: NDArray[np.float64], its: NDArray[np.float64], wide: float) -> None:
        """Compare numbers with their secrets, up to a power of ten, as ten million between degrees and E7.

        `wide` is the range of most secrets.
        """
        if self.differs:
            return
        usable = (mine != 0) & (its != 0)
        powers = np.log10(mine[usable]) - np.log10(its[usable])
        mine = mine / 10.0 ** (min(max(round(np.median(powers)), -99), 99) if len(powers) else 0)
        half = len(its) // 2
        apart = np.abs(mine - its)
        same = apart <= _CLOSE * np.maximum(np.median(its), its)
        near = apart < _NEAR * wide
        others = np.abs(mine - np.concatenate([its[half:], its[:half]])) < _NEAR * wide
        self._rows += len(mine)
        self._hits += list(map(np.count_nonzero, (same, near, others)))
        if same.any():
            self._same.update(f"{one:.12g}" for one in np.unique(its[same])[:_DISTINCT])
        if near.any():
            self._near.update(np.unique(mine[near])[:_DISTINCT].tolist())

    def add_texts(self, mine: Iterable[Any], its: Iterable[Any]) -> None:
        """Compare values, or what they have in them, with secrets that are text."""
        both = [(one, text) for one, text in zip(mine, map(_text, its), strict=True) if text and _text(one)]
        same = [text for one, text in both if _has_text(one, text)]
        self._rows += len(both)
        self._hits[0] += len(same)
        self._same.update(sorted({*same})[:_DISTINCT])


def _range_of_most(secrets: NDArray[np.float64]) -> float:
    """Return the range in which 90 % of some numbers are."""
    return float(np.subtract(*np.percentile(secrets, [95, 5]))) if len(secrets) else 0.0


def _readings(values: Any) -> Iterator[tuple[tuple[int, int], NDArray[np.float64]]]:
    """Yield names of readings, and the numbers that cells mean by them `(k,)`, whatever their signs.

    They are the numbers of a text by their order; degrees, minutes and seconds, apart or in one; and codes of cells.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        cells, texts = numbers(values)[:, None], []
    else:
        texts = [_bare(value) if isinstance(value, str) else _text(value) for value in values]
        # a low line is between numbers, or the mark of decimals or of thousands
        marks = ("_", ".", "") if any("_" in text for text in texts) else ("_",)
        written = (text.replace("_", mark) for text, mark in product(texts, marks))
        parts = ([float(one.replace(",", ".")) for one in _NUMBER.findall(text)] for text in written)
        padded = [[*some, *[math.nan] * _MOST][:_MOST] for some in parts]
        cells = np.array(padded).reshape(-1, _MOST * len(marks))
    cells = np.where(np.abs(cells) < 1e99, np.abs(cells), np.nan)
    columns = [*cells.T[np.isfinite(cells).any(axis=0)]]
    for place, whole in enumerate(columns):
        yield (place, 0), whole
        yield (place, 1), whole // 100 + whole % 100 / 60
        yield (place, 2), whole // 1e4 + whole // 100 % 100 / 60 + whole % 100 / 3600
        if columns[place + 1 :]:
            minutes = whole + columns[place + 1] / 60
            yield (place, 3), minutes
            yield from [((place, 4), minutes + one / 3600) for one in columns[place + 2 : place + 3]]
    codes = [[text, *_GEOHASH.findall(text)[-_CODES:]] for text in texts]
    for place in range(max(map(len, codes), default=0)):
        middles = np.abs([_middle(some[place]) if some[place:] else (math.nan, math.nan) for some in codes])
        yield from (((-1 - place, side), middles[:, side]) for side in range(2))


def _middle(text: str) -> tuple[float, float]:
    """Return the middle in degrees of the cell of a quadkey, a geohash, or a tile as zoom/x/y; NaN where none is."""
    if tile := re.search(r"\b([12]?\d)/(\d{1,9})/(\d{1,9})\b", text):
        level, x, y = map(int, tile.groups())
        x, y = (x + 0.5) / 2**level, (y + 0.5) / 2**level
    elif _GEOHASH.fullmatch(text):
        quadkey = {*text} <= {*"0123"}
        bits = "".join(f"{_BASE32.index(one):0{2 if quadkey else 5}b}" for one in text.upper())
        x, y = ((int(some, 2) + 0.5) / 2 ** len(some) for some in (bits[quadkey::2], bits[not quadkey :: 2]))
        if not quadkey:
            return 180 * y - 90, 360 * x - 180
    else:
        return math.nan, math.nan
    return math.degrees(math.atan(math.sinh(math.pi * max(1 - 2 * y, -1)))), 360 * x - 180


class Beside:
    """Columns that are kept without being named, looked at row by row before anything is drawn.

    Those of `persons` and times may go with one secret each, as where somebody stays at one place.
    """

    def __init__(self, persons: Collection[str] = ()) -> None:
        self._persons = persons
        self._places: defaultdict[str, float] = defaultdict(float)
        self._compared: defaultdict[str, defaultdict[Any, _Compared]] = defaultdict(lambda: defaultdict(_Compared))
        self._determined = Determined()

    def look(self, columns: Iterable[tuple[str, Any]], secrets: Sequence[Any], drawn_for: NDArray[np.int64]) -> None:
        """Look at some rows of the columns, and at the columns that have their secrets.

        A column that few rows have is a dictionary by their numbers from 0. `drawn_for` `(k,)` are the secrets of the
        space that rows are drawn for, -1 of rows that are left out.
        """
        points = ([one.replace(",", ".") if isinstance(one, str) else one for one in secret] for secret in secrets)
        known = [np.abs(numbers(secret)) for secret in points]
        ranges = [_range_of_most(secret[np.isfinite(secret)]) for secret in known]
        for name, values in columns:
            rows = np.arange(len(known[0]))
            if isinstance(values, dict):
                rows, values = np.array([*values], dtype=np.int64), [*values.values()]
            if name not in self._persons:
                self._determined.look(name, values, drawn_for[rows].tolist())
            kind = values.dtype.kind if isinstance(values, np.ndarray) else "O"
            doubtful = kind in "OUSVc" or (kind in "iuf" and (numbers(values) >= 1 << 59).any())
            for value in values if doubtful else ():
                # numbers and words may be codes by accident, so that most values are to be one
                if looks_like_place(value):
                    self._places[name] = math.inf
                elif is_code(value):
                    self._places[name] += 1
                elif isinstance(value, Decimal) or (isinstance(value, str | Real) and value == value != ""):
                    self._places[name] -= 1
            for some in (slice(0, _ENOUGH), slice(_ENOUGH, None)):
                compared = self._compared[name]
                if compared and all(one.differs for one in compared.values()):
                    break
                mine, its = values[some], [secret[rows[some]] for secret in known]
                for place, secret in enumerate(secrets):
                    if len(named := np.flatnonzero(np.isnan(its[place]))):
                        others = [secret[row] for row in rows[some][named].tolist()]
                        compared["text", place].add_texts([mine[row] for row in named.tolist()], others)
                pairs = product(_readings(mine), enumerate(its)) if np.isfinite(its).any() else ()
                for (reading, found), (place, secret) in pairs:
                    both = np.isfinite(found) & np.isfinite(secret)
                    if both.any():
                        compared[reading, place].add(found[both], secret[both], ranges[place])

    def require(self) -> None:
        """Raise SpecError where a column holds places, or repeats or fixes the secret."""
        places = [name for name, sure in self._places.items() if sure > 0]
        repeats = [name for name, found in self._compared.items() if any(one.repeats for one in found.values())]
        reasons = {
            "hold what looks like a place": places,
            "repeat the secret": repeats,
            "have values that go with one secret each": self._determined.found(),
        }
        for what, names in reasons.items():
            if names:
                fix = ("leave them out: ", Option("drop", names), ", or keep them by name: ", Option("keep"))
                raise SpecError("data", f"columns {listed(names)} {what}", *fix)


def _text(value: Any) -> str:
    """Return the text of a value, as Python writes it where it is neither text nor a number; empty for none.

    A duration is its seconds.
    """
    value = value.item() if isinstance(value, np.timedelta64) else value
    if isinstance(value, dt.timedelta):
        return repr(value.total_seconds())
    try:
        return identity(value := value.tolist() if isinstance(value, np.ndarray) else value)
    except SpecError:
        return text_of(value)


def is_same(one: Any, other: Any) -> bool:
    """Return whether two values have one text, such as 7 and 7.0."""
    return (type(one) is type(other) is str and one == other) or _text(one) == _text(other)
