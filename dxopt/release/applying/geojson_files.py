"""Read and write GeoJSON of points feature by feature, as files may be larger than memory."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.release.applying.column_mapping import Layout
from dxopt.release.applying.formats import Chunk, chunked
from dxopt.release.applying.row_checks import Fingerprints
from dxopt.runtime.column_names import as_asked
from dxopt.runtime.csv_text import number
from dxopt.runtime.reading import MOST_ROW, require_few
from dxopt.spaces.positions import require_geojson_in_wgs84
from dxopt.verify.published.sidecar import Noun

_BLOCK = 1 << 20
_BLANK = " \t\n\r"
_AFTER = (*_BLANK, ",", "}", "]")
_FEATURES = "features"
_MEMBERS = ("type", "crs")
_DIGITS = 17
"""A float of no more is the number that is written, or the only one near it."""


class JsonStream:
    """Reader of an object of JSON whose member `features` is a long list.

    `members` has those others that say what the file is, read by now, and `letters` the length of the last value.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._text = ""
        self._place = 0
        self._ended = False
        # JSON has neither NaN nor infinity
        self._decoder = json.JSONDecoder(
            parse_constant=lambda name: None, parse_float=_exact, object_pairs_hook=_distinct
        )
        self.members: dict[str, Any] = {}
        self.letters = 0

    def features(self) -> Iterator[Any]:
        """Yield the entries of `features`; SpecError where the text is no such object."""
        found = False
        names: set[str] = set()
        for _ in self._parts("{", "}"):
            name = self._value()
            if not isinstance(name, str):
                raise _no_collection()
            if name in names:
                raise _twice()
            names.add(name)
            self._expect(":")
            if name == _FEATURES and self._peek() == "[":
                found = True
                for _ in self._parts("[", "]"):
                    yield self._value()
            else:
                value = self._value()
                if name in _MEMBERS:
                    self.members[name] = value
        if self._peek() or not found:
            raise _no_collection()

    def _parts(self, begin: str, end: str) -> Iterator[None]:
        """Read the marks of a list or object, and yield at each part, which the caller reads before going on."""
        self._expect(begin)
        if self._peek() != end:
            yield
            while self._peek() == ",":
                self._expect(",")
                yield
        self._expect(end)

    def _expect(self, mark: str) -> None:
        """Read a mark; SpecError if another one is next."""
        if self._peek() != mark:
            raise _no_collection()
        self._place += 1

    def _peek(self) -> str:
        """Return the next character that is no blank, without reading it; "" at the end."""
        while True:
            while self._place < len(self._text) and self._text[self._place] in _BLANK:
                self._place += 1
            if self._place < len(self._text):
                return self._text[self._place]
            if not self._more():
                return ""

    def _value(self) -> Any:
        """Read the value that is next, with as much more text as it takes."""
        self._peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._place)
                # a number may go on beyond what has been read, as 0 does with "0." and more
                if self._ended or isinstance(value, str | list | dict) or self._text[end : end + 1] in _AFTER:
                    self.letters = end - self._place
                    self._place = end
                    return value
            except json.JSONDecodeError:
                if self._ended:
                    raise _no_collection() from None
            except SpecError:
                raise
            except ValueError:
                raise SpecError("data", "has a number of thousands of digits", "round it") from None
            except RecursionError:
                raise _no_collection() from None
            pending = len(self._text) - self._place
            if pending > MOST_ROW:
                wrong = f"has a feature or member of more than {MOST_ROW:,} letters, or is damaged"
                raise SpecError("data", wrong, "leave out what is not needed, or write it again")
            self._more(pending)

    def _more(self, least: int = 0) -> bool:
        """Get more text, `least` characters or more, and forget what was read; False at the end of the stream."""
        try:
            block = self._stream.read(max(_BLOCK, least))
        except UnicodeDecodeError:
            raise SpecError("data", "is no text in UTF-8", "save it as UTF-8") from None
        self._ended = not block
        self._text = self._text[self._place :] + block
        self._place = 0
        return bool(block)


def _distinct(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; SpecError where it has two members of one name, as readers would differ."""
    found = dict(entries)
    if len(found) < len(entries):
        raise _twice()
    return found


def _twice() -> SpecError:
    return SpecError("data", "has an object with two members of one name", "rename one, or leave it out")


def _exact(text: str) -> float | Decimal:
    """Return a number with a fraction or an exponent, infinity for no usable one; of many digits none is lost."""
    value = float(text)
    if len(text) <= _DIGITS or not math.isfinite(value):
        return value
    try:
        whole = Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        return math.inf
    return value if whole == Decimal(repr(value)) else whole


def _no_collection() -> SpecError:
    return SpecError(
        "data", "is no GeoJSON FeatureCollection, or damaged", "write it again, as one FeatureCollection"
    )


GEOMETRY = "geometry"
_ID = "id"
"""The member of a feature that counts as a property, where it has none of this name; no other member is written."""


class GeoJsonFile:
    """A FeatureCollection of points; its columns are the properties, and known once all features were read."""

    noun: Noun = "feature"
    geometry = GEOMETRY
    hidden: tuple[str, ...] = ()
    named = True

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self._path = path
        self._asked = columns
        self._named: dict[str, str] = {}
        self._names: dict[str, None] = {GEOMETRY: None}
        self.members: dict[str, Any] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The properties that any feature has had by now, after the geometry."""
        return tuple(self._names)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the features."""
        size = max(1, self._path.stat().st_size)
        with self._path.open("rb") as raw:
            stream = JsonStream(io.TextIOWrapper(raw, encoding="utf-8-sig"))
            numbered = (
                (number, stream.letters, self._checked(number, feature))
                for number, feature in enumerate(stream.features(), 1)
            )
            yield from chunked(numbered, lambda: raw.tell() / size)
            self.members = stream.members
            self._check_members()

    def _checked(self, number: int, feature: Any) -> dict[str, Any]:
        """Return a feature, and remember the names of its properties; SpecError if it is none."""
        if not isinstance(feature, dict) or feature.get("type") != "Feature":
            raise SpecError("data", f"feature {number} is none", "give a FeatureCollection of features")
        properties = feature.get("properties") or {}
        if not isinstance(properties, dict):
            raise SpecError("data", f"feature {number} has properties that are no object", "mend it")
        properties = self._as_asked(number, properties)
        if GEOMETRY in properties:
            raise SpecError("data", f"feature {number} has a property {GEOMETRY!r}", "rename it")
        named = isinstance(feature.get(_ID), str | int | float | Decimal) and _ID not in properties
        if named:
            properties = {_ID: feature[_ID], **properties}
        try:
            json.dumps(properties, ensure_ascii=False, allow_nan=False, default=float).encode()
        except (ValueError, RecursionError):
            wrong = (
                f"feature {number} has half of a surrogate pair, a number too large for JSON, or is nested too deep"
            )
            raise SpecError("data", wrong, "mend it: it could not be written") from None
        self._names.update(dict.fromkeys(properties))
        require_few(self._names)
        return {_ID: named, "properties": properties, GEOMETRY: feature.get(GEOMETRY)}

    def _as_asked(self, number: int, properties: dict[str, Any]) -> dict[str, Any]:
        """Return the properties of a feature by the names that they are asked for; SpecError if two have one name."""
        new = [name for name in properties if name not in self._named]
        self._named.update(zip(new, as_asked(new, self._asked), strict=True))
        found = {self._named[name]: value for name, value in properties.items()}
        if len(found) < len(properties):
            raise SpecError("data", f"feature {number} has two properties of one name", "rename one")
        return found

    def _check_members(self) -> None:
        """Raise SpecError unless the members besides `features` are those of a collection in WGS 84."""
        if self.members.get("type") != "FeatureCollection":
            raise SpecError("data", "is no GeoJSON FeatureCollection", "give a collection of features")
        require_geojson_in_wgs84(self.members.get("crs"))

    def columns(self, chunk: Chunk, names: Collection[str]) -> Iterator[tuple[str, Any]]:
        """Yield properties of these names; of one that most features lack, the values that there are, by feature.

        The time so goes with what is written, however many properties few features have.
        """
        found: dict[str, dict[int, Any]] = {}
        for row, feature in enumerate(chunk.rows):
            for name, value in feature["properties"].items():
                found.setdefault(name, {})[row] = value
        for name in names:
            if values := found.get(name):
                yield name, values if 2 * len(values) < len(chunk.rows) else self.values(chunk, name)

    def values(self, chunk: Chunk, name: str) -> list[Any]:
        """Return a property of each feature; None where it has none."""
        return [feature["properties"].get(name) for feature in chunk.rows]

    def places(self, chunk: Chunk) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return latitudes and longitudes of the points."""
        found = np.array([_place(feature.get(GEOMETRY)) for feature in chunk.rows], dtype=float)
        return found[:, 0], found[:, 1]

    def fingerprints(self, chunk: Chunk) -> Fingerprints:
        """Return a fingerprint for each feature `(k,)`, the same for features with equal members in equal order."""
        return np.fromiter(map(hash, map(repr, chunk.rows)), np.int64, len(chunk.rows)).view(np.uint64)

    def sink(self, stream: IO[bytes], layout: Layout) -> GeoJsonSink:
        """Return a writer of features."""
        return GeoJsonSink(self, stream, layout)


class GeoJsonSink:
    """Writer of the output in GeoJSON."""

    def __init__(self, source: GeoJsonFile | None, stream: IO[bytes], layout: Layout) -> None:
        self._stream = stream
        self._layout = layout
        self._written: dict[str, None] = {GEOMETRY: None}
        # JSON has no infinity
        self._made: dict[str, list[Any]] = {
            name: [None if value in (math.inf, -math.inf) else value for value in values.tolist()]
            for name, values in layout.made.items()
        }
        self._places = {name: place for place, name in enumerate(layout.order)}
        self._comma = ""
        stream.write(b'{"type": "FeatureCollection", "features": [')

    def write(self, chunk: Chunk, kept: NDArray[np.bool_], drawn: NDArray[np.int64]) -> None:
        """Write the features of a chunk that are kept, each with its report of those `drawn`."""
        wanted = (feature for feature, taken in zip(chunk.rows, kept.tolist(), strict=True) if taken)
        for feature, report in zip(wanted, drawn.tolist(), strict=True):
            text = json.dumps(self._feature(feature, report), ensure_ascii=False, default=float)
            self._stream.write(f"{self._comma}\n{text}".encode())
            self._comma = ","

    @property
    def layout(self) -> Layout:
        """The columns as the features have them that were written, without properties of others."""
        return self._layout.among(self._written)

    def _feature(self, feature: dict[str, Any], report: int) -> dict[str, Any]:
        """Return a feature with the report in the place of the position, and the properties that are kept."""
        given = feature["properties"]
        self._written.update(dict.fromkeys(given))
        names = sorted(self._places.keys() & {*given, *self._made} - {GEOMETRY}, key=self._places.__getitem__)
        properties = {name: self._made[name][report] if name in self._made else given[name] for name in names}
        point = None
        if GEOMETRY in self._made:
            lat, lon = self._made[GEOMETRY][report]
            point = {"type": "Point", "coordinates": [lon, lat]}
        named = {_ID: properties.pop(_ID)} if feature[_ID] and _ID in properties else {}
        return {"type": "Feature", **named, "properties": properties, "geometry": point}

    def close(self) -> None:
        """Write the end of the collection."""
        self._stream.write(b"\n]}\n")


def _place(geometry: Any) -> tuple[float, float]:
    """Return latitude and longitude of a point, or of several that are one; NaN where it is none."""
    if isinstance(geometry, dict) and geometry.get("type") in ("Point", "MultiPoint"):
        coordinates = geometry.get("coordinates")
        if geometry["type"] == "MultiPoint":
            coordinates = coordinates[0] if isinstance(coordinates, list) and len(coordinates) == 1 else None
        if isinstance(coordinates, list) and len(coordinates) >= 2:
            lon, lat = coordinates[:2]
            if all(isinstance(part, int | float | Decimal) and not isinstance(part, bool) for part in (lon, lat)):
                return number(lat), number(lon)
    return math.nan, math.nan
