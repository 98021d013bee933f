"""The rows of a published file, and the reports that a mechanism can give, in the form of the file's columns."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from dxopt.errors import SpecError, UnsupportedError
from dxopt.verify.published.bounded import bounded_lines, csv_rows, require_few
from dxopt.verify.published.geo_parquet import all_described
from dxopt.verify.published.parquet_pages import opened_parquet, require_reachable
from dxopt.verify.published.sidecar import GEOMETRY
from dxopt.verify.table_file import TableFile
from dxopt.verify.verdict import Broken

REPORT = "report"
# a point in WKB: the order of bytes, the kind of geometry, longitude and latitude
_POINT = struct.Struct("<BIdd")
_POINT_BEGINS = struct.pack("<BI", 1, 1)


@dataclass(frozen=True, eq=False)
class Outputs:
    """Reports that some secret gives, each as coordinates, a label, or both; `possible` has the index of each.

    The first `coordinates` of the columns have coordinates, written as `apply` writes them, and the last one the
    label, where it is there.
    """

    columns: tuple[str, ...]
    coordinates: int
    possible: Mapping[tuple[str, ...], int]

    @classmethod
    def of(cls, table: TableFile, kind: str, where: Sequence[str], made: Sequence[str]) -> Outputs:
        """Return the outputs of a table; Broken where it has no reports of this kind, or the columns have none.

        Parameters
        ----------
        table : TableFile
        kind : str
            "earth" and "plane" are two coordinates, "value" is one, "label" none.
        where : sequence of str
            The columns that had the secrets, or those that have reports in another format.
        made : sequence of str
            The columns that the output has instead, or besides.
        """
        labels = [str(label) for label in table.head["reports"]]
        places = places_of(table, kind)
        kept = [name for name in where if name in made]  # columns of secrets that have reports now
        if kept and len(kept) < len(where):
            raise Broken(f"column {kept[0]!r} was replaced, and {next(n for n in where if n not in made)!r} was not")
        named = [name for name in (where if kind == "label" else [REPORT]) if name in made]
        columns = (*(kept if kind != "label" else ()), *named)
        if not columns:
            raise Broken("no column of the file has reports")
        some = {report for row in table.rows for report in row}
        at: dict[int, tuple[str, ...]] = dict.fromkeys(some, ())
        if columns != tuple(named):
            whole = kind != "earth" and all(axis == round(axis) for place in places for axis in place)
            parts = [0 if whole else _parts_of_degree(name) if kind == "earth" else 1 for name in kept]
            at = {report: _written(places[report], parts) for report in some}
        possible = {(*at[report], *([labels[report]] if named else [])): report for report in some}
        return cls(columns, len(columns) - len(named), possible)


def _parts_of_degree(name: str) -> int:
    """Return how many of the units of a column are one degree: ten million for `latitudeE7`, else 1."""
    found = re.search(r"(?:(?<=[a-z])E|(?<![A-Za-z])[eE])([67])(?![0-9])", name)
    return 1 if found is None else 10 ** int(found[1])


def _written(place: Sequence[float], parts: Sequence[int]) -> tuple[str, ...]:
    """Return coordinates as columns have them: a point, numbers, or whole numbers, perhaps of parts of a degree."""
    if len(parts) != len(place):
        return (repr(tuple(place)),)
    each = zip(place, parts, strict=True)
    return tuple(repr(axis if part == 1 else round(axis * (part or 1))) for axis, part in each)


def places_of(table: TableFile, kind: str) -> list[Any]:
    """Return the coordinates of each report, none for labels; Broken where the table has none of this kind."""
    head = table.head
    if kind == "label":
        return []
    found = head["report_points"]
    if kind == "earth" and head["secrets_are_reports"]:
        found = head["space"].get("positions.degrees", found)
    size = {"earth": 2, "plane": 2, "value": 1}.get(kind)
    if found is None or any(len(place) != size for place in found):
        raise Broken(f"secrets are said to be of kind {kind!r}, which the reports of the table are not")
    return found


def spelled(entry: object) -> str:
    """Return a number, a point or another value of a file that has types, as `repr` writes it.

    A point in well-known binary is that of its latitude and longitude.
    """
    if isinstance(entry, bytes) and len(entry) == _POINT.size and entry.startswith(_POINT_BEGINS):
        *_, lon, lat = _POINT.unpack(entry)
        return repr((lat, lon))
    return repr(entry)


def spelled_with_comma(text: str) -> str:
    """Return the text of a number with a decimal comma as that with a point; one with a point becomes none."""
    return text.translate({ord(","): ".", ord("."): ","})


def number_of(text: str) -> float | None:
    """Return the number of a text, "None" being infinite; None unless `apply` writes the number so."""
    try:
        found = math.inf if text == "None" else float(text)
    except ValueError:
        return None
    return found if text in (repr(found), f"{found:z.0f}", "None") else None


_ID = "id"
_POINTS = "binary"
_TYPES = ("int64", "double", "string", _POINTS)
"""Types of Arrow in which reports and what is beside them are written."""
_DELIMITERS = ",;\t|"
_MOST_ROWS = 1 << 16
_BUFFER = 1 << 16
"""Bytes of each column of Parquet that are read at once, instead of all those of a group of rows."""
_MOST_UNPACKED = 64_000_000
"""Bytes of Parquet that are unpacked at once; or in all, unless the file has a thousandth."""
_MOST_OF_GROUP = 256_000_000
"""Bytes that made columns have in a group of rows: they may be unpacked all at once."""

Entries = Callable[[Sequence[str]], Iterator[tuple[int, tuple[Any, ...]]]]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a file, by the names of their columns.

    `entries` yields for some columns the number of each row and its entries: text in CSV; points of GeoJSON are
    latitude and longitude. Numbers count lines of CSV, rows of Parquet, features of GeoJSON from 1, as `apply` does.
    """

    names: tuple[str, ...]
    entries: Entries
    noun: str


def require_readable(file: Path) -> None:
    """Raise SpecError unless the ending of a file is one of those that are read, and what reads it is installed."""
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise SpecError("file", f"{file} has the ending {file.suffix!r}", f"give one of {', '.join(_READERS)}")
    if reader is _read_parquet and find_spec("pyarrow") is None:
        raise UnsupportedError("pyarrow", "is not installed", "install dxopt[frames]")


def read_rows(file: Path, made: Sequence[str]) -> Rows:
    """Return the rows of a file by its ending; Broken where it is not of that format, of CSV perhaps only later."""
    return _READERS[file.suffix.lower()](file, made)


def _read_csv(file: Path, made: Sequence[str]) -> Rows:
    """Read text with the delimiter that makes the columns of the first line, numbering rows by their first line."""
    found = []
    for mark in _DELIMITERS:
        try:
            _, first = next(csv_rows(file, mark), (0, []))
        except Broken:
            continue
        found.append(({*made} <= {*first}, len(first), mark, tuple(first)))
    if not found:
        raise Broken("the first line is no CSV, or longer than any that is written")
    _, _, delimiter, names = max(found, key=lambda one: one[:2])
    require_few(names)
    if len(set(names)) < len(names):
        raise Broken("the file has two columns of one name")

    def entries(columns: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
        places = [names.index(column) for column in columns]
        for line, row in islice(csv_rows(file, delimiter), 1, None):
            if len(row) != len(names):
                raise Broken(f"line {line} has {len(row)} fields, and the first {len(names)}")
            yield line, tuple(row[place] for place in places)

    return Rows(names, entries, "line")


_BEGIN, _END = '{"type": "FeatureCollection", "features": [\n', "]}\n"


def _read_geojson(file: Path, made: Sequence[str]) -> Rows:
    before: dict[str, set[str]] = {}
    first: list[str] | None = None
    for feature in _features(file):
        before |= {name: set() for name in feature if name not in before}
        for name, later in pairwise(feature):
            before[later].add(name)
        require_few(before)
        own = [name for name in feature if name in made]
        first = own if first is None else first
        if own != first:
            raise Broken("what was made is not in all features, or in another order")
    try:
        names = (*TopologicalSorter(before).static_order(),)
    except CycleError:
        raise Broken("the properties of some features are in another order") from None

    def entries(columns: Sequence[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        return ((number, tuple(map(feature.get, columns))) for number, feature in enumerate(_features(file), 1))

    return Rows(names, entries, "feature")


def _features(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the features of a collection one by one, flat; Broken unless each is a line, as `apply` writes it."""
    with file.open(encoding="utf-8", newline="\n") as opened:
        lines = bounded_lines(opened)
        after, number = ",\n", 0
        if next(lines, "") != _BEGIN:
            raise Broken("the file does not begin as a collection of features that is written")
        for number, line in enumerate(lines, 1):
            if line == _END and (after == "\n" or number == 1):
                break
            if number > 1 and after == "\n":
                raise Broken(f"feature {number:,} is not parted from the one before")
            after = ",\n" if line.endswith(",\n") else "\n"
            text = line.removesuffix(after)
            try:
                feature = json.loads(text)
                same = json.dumps(feature, ensure_ascii=False, allow_nan=False) == text
            except (ValueError, RecursionError) as error:
                raise Broken(f"feature {number:,} is no JSON that is written ({error})") from None
            if not same:
                raise Broken(f"feature {number:,} is not as it is written, with each number and blank")
            yield _flat_properties(number, feature)
        else:
            raise Broken("the file ends within its collection of features")
        if next(lines, ""):
            raise Broken("the file goes on after its JSON")


def _flat_properties(number: int, feature: Any) -> dict[str, Any]:
    """Return the properties of a feature, its id and its point; what is no plain value as text.

    Broken where it has anything else: what is written has nothing else.
    """
    called = f"feature {number:,}"
    identified = isinstance(feature, dict) and _ID in feature
    asked: dict[str, Any] = {"type": "Feature", _ID: str | int | float, "properties": dict, GEOMETRY: dict | None}
    _require_members(feature, {key: asked[key] for key in asked if key != _ID or identified}, called)
    found = dict(feature["properties"])
    if identified:
        if _ID in found:
            raise Broken(f"{called} has an id twice")
        found[_ID] = feature[_ID]
    geometry = feature[GEOMETRY]
    if geometry is not None:
        _require_members(geometry, {"type": "Point", "coordinates": list}, f"the geometry of {called}")
        if len(geometry["coordinates"]) != 2:
            raise Broken(f"the geometry of {called} has {len(geometry['coordinates'])} coordinates")
        found[GEOMETRY] = tuple(geometry["coordinates"][::-1])
    return {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in found.items()}


def _require_members(given: Any, asked: Mapping[str, Any], called: str) -> None:
    """Broken unless an object has these members and no others: each a text, or a value of a type."""
    if not isinstance(given, dict):
        raise Broken(f"{called} is no object")
    if (other := next((name for name in (*asked, *given) if (name in given) != (name in asked)), None)) is not None:
        raise Broken(f"{called} has {'no' if other in asked else 'a'} member {other!r}")
    if [*given] != [*asked]:
        raise Broken(f"{called} has its members in another order than is written")
    for name, kind in asked.items():
        if given[name] != kind if isinstance(kind, str) else not isinstance(given[name], kind):
            raise Broken(f"{called} has {name} {str(given[name])[:40]!r}")


def _read_parquet(file: Path, made: Sequence[str]) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        opened = opened_parquet(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise Broken(f"the file is no Parquet ({' '.join(str(error).split())[:120]})") from None
    names = opened.schema_arrow.names
    require_few(names)
    if len(set(names)) < len(names):
        raise Broken("the file has two columns of one name")
    _require_bare(opened, made)
    require_reachable(file, opened)

    def entries(columns: Sequence[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        size, texts = _rows_at_once(opened, columns, file.stat().st_size)
        reader = pq.ParquetFile(file, read_dictionary=texts, buffer_size=_BUFFER)
        number = 1
        for batch in reader.iter_batches(batch_size=size, columns=list(columns)):
            yield from enumerate(zip(*(_listed(batch.column(name)) for name in columns), strict=True), number)
            number += batch.num_rows

    return Rows(tuple(names), entries, "row")


def _listed(column: Any) -> list[Any]:
    """Return the entries of a column of Arrow, those of a dictionary as the same object in every row."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column.to_pylist()
    values = column.dictionary.to_pylist()
    return [None if place is None else values[place] for place in column.indices.to_pylist()]


def _rows_at_once(opened: Any, columns: Sequence[str], stored: int) -> tuple[int, list[str]]:
    """Return how many rows of some columns to unpack at once, and the columns whose texts are all in dictionaries.

    Broken where they unpack to far more than is stored.
    """
    import pyarrow as pa

    metadata = opened.metadata
    if nested := next((name for name in columns if pa.types.is_nested(opened.schema_arrow.field(name).type)), None):
        raise Broken(f"column {nested!r} has lists or objects")
    kinds = [(place, metadata.schema.column(place)) for place in range(metadata.num_columns)]
    kinds = [(place, kind) for place, kind in kinds if kind.path in columns]
    count, whole = _MOST_ROWS, 0
    texts = {kind.path for _, kind in kinds if kind.physical_type == "BYTE_ARRAY"}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        unpacked = at_once = 0
        for place, kind in kinds:
            column = group.column(place)
            shared = "DELTA_BYTE_ARRAY" in column.encodings
            if shared or not any("DICTIONARY" in one for one in column.encodings):
                texts.discard(kind.path)
            fixed = kind.physical_type == "FIXED_LEN_BYTE_ARRAY"
            size = max(column.total_uncompressed_size, column.num_values * (kind.length if fixed else 8))
            unpacked += size
            # each value may repeat all that was before
            at_once += size * group.num_rows if shared else size
        whole += unpacked
        if unpacked > _MOST_OF_GROUP or whole > max(_MOST_UNPACKED, 1000 * stored):
            raise Broken(f"the file unpacks to {whole:,} bytes or more, from {stored:,}")
        count = min(count, _MOST_UNPACKED * group.num_rows // max(at_once, 1))
    return max(1, count), sorted(texts)


def _require_bare(opened: Any, made: Sequence[str]) -> None:
    """Broken where made columns have other types than are written, or more is said than what their points are."""
    schema = opened.schema_arrow
    types = {name: str(schema.field(name).type) for name in made if name in schema.names}
    if other := next((name for name in types if types[name] not in _TYPES), None):
        raise Broken(f"column {other!r} is of type {types[other]}, in which none is made")
    stored = schema.metadata or {}
    others = [name.decode(errors="replace") for name in stored if name != b"geo"]
    if others:
        raise Broken(f"the file has metadata besides its columns: {', '.join(others)}")
    points = [name for name in types if types[name] == _POINTS]
    may = [one for column in points for one in all_described(column)] or [None]
    if stored.get(b"geo") not in may:
        raise Broken("the metadata of geometry say something else than its column and its coordinate system")


_READERS: dict[str, Callable[[Path, Sequence[str]], Rows]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), _read_csv),
    **dict.fromkeys((".parquet", ".geoparquet"), _read_parquet),
    **dict.fromkeys((".geojson", ".json"), _read_geojson),
}
