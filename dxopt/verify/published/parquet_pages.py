"""The bytes of a file of Parquet: all of them are those of columns and pages that its footer leads to."""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path
from typing import IO, Any

from dxopt.verify.published.bounded import MOST_ROW
from dxopt.verify.verdict import Broken

_MAGIC = 4
_WRITER = re.compile(r"parquet-cpp-arrow version [0-9.]+(-SNAPSHOT)?")
_MOST_HEADER = 1 << 16
_ROWS = 1 << 10
_MOST_DICTIONARY = 2 * MOST_ROW
"""Bytes of a dictionary: one is written of about a million, and of what was read at once."""
# fields in Thrift: of a page's header, its bytes once unpacked and as they follow, and more by kind; of a footer, its
# schema, and what depends on rows; of a column in a group
_UNPACKED, _SIZE, _PAGE, _DICTIONARY = 2, 3, 5, 7
_SCHEMA, _GROUPS, _OF_ROWS = 2, 4, {3, 4, 6}
_OF_COLUMN = {*range(1, 8), 9, 11, 13, 16}
_SNAPPY = 1
WRITTEN = {"write_statistics": False, "data_page_version": "1.0"}
"""Options of what is published: statistics would be values that nobody compares with those of the rows."""


UNIT_OF_INT96 = "us"
"""The unit of times of 96 bits: in nanoseconds, which they have, those after 2262 would be others."""


def opened_parquet(file: Path) -> Any:
    """Open a file of Parquet; an error of Arrow where what it says of a column is damaged.

    Asked for that, Arrow ends the process; to read rows of the column, even none, it refuses.
    """
    import pyarrow.parquet as pq

    opened = pq.ParquetFile(file, buffer_size=1, coerce_int96_timestamp_unit=UNIT_OF_INT96)
    for group in range(opened.num_row_groups):
        any(opened.reader.iter_batches(0, [group], use_threads=False))
    return opened


def require_reachable(file: Path, opened: Any) -> None:
    """Broken unless a file is the pages of its columns, and a footer that says what these are and nothing else.

    Rows have all values of dictionaries.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    metadata = opened.metadata
    leaves = [metadata.schema.column(place) for place in range(metadata.num_columns)]
    reader = pq.ParquetFile(file, read_dictionary=[leaf.path for leaf in leaves], buffer_size=_MOST_HEADER)
    again, empty = pa.BufferOutputStream(), pa.BufferOutputStream()
    metadata.write_metadata_file(again)
    if (stored := (metadata.metadata or {}).get(b"ARROW:schema")) is None:
        raise Broken("the footer has no schema of Arrow: the file was written by something else")
    schema = pa.ipc.read_schema(pa.py_buffer(b64decode(stored)))
    pq.ParquetWriter(empty, schema, **WRITTEN).close()
    footer, plain = (stream.getvalue().to_pybytes()[_MAGIC:] for stream in (again, empty))
    said, asked = _Thrift(footer).struct()[0], _Thrift(plain).struct()[0]
    with_metadata, without = (schema.to_string(show_field_metadata=shown) for shown in (True, False))
    if with_metadata != without or {**said, **dict.fromkeys(_OF_ROWS)} != {**asked, **dict.fromkeys(_OF_ROWS)}:
        raise Broken("the footer says more of the columns than their names and types")
    kinds = [field[1] for field in said[_SCHEMA] if 1 in field]
    end, rows = _MAGIC, 0
    with file.open("rb") as stream:
        if stream.read(_MAGIC) != b"PAR1":
            raise Broken("the file does not begin as Parquet does")
        for number, group in enumerate(said[_GROUPS]):
            first, rows = end, rows + group[3]
            for leaf, kind, chunk in zip(leaves, kinds, group[1], strict=True):
                about = chunk[3]
                found, known = _pages(stream, end, about[7])
                end += about[7]
                counts = {sum(levels) for key, levels in about.get(16, {}).items() if key != 1 and levels}
                if not leaf.max_repetition_level:
                    counts.add(group[3])
                name = b".".join(about[3]).decode()
                plain = (
                    {**about, **found, 1: kind, 4: _SNAPPY} == about and name == leaf.path and {*about} <= _OF_COLUMN
                )
                if not plain or chunk != {2: chunk[2] and end, 3: about} or counts - {found[5]}:
                    raise Broken(f"the footer says of column {leaf.path!r} what its pages do not")
                if known > _used(reader, number, leaf.path, known):
                    raise Broken(f"column {leaf.path!r} has values in its dictionary that no row has")
            unpacked = sum(chunk[3][6] for chunk in group[1])
            if group != {1: group[1], 2: unpacked, 3: group[3], 5: first, 6: end - first}:
                raise Broken("the footer says of a group of rows what its pages do not")
        stream.seek(end)
        if stream.read() != footer or said[3] != rows or not _WRITER.fullmatch(metadata.created_by):
            raise Broken("the file has bytes that are in no column, or was written by something else")


def _pages(stream: IO[bytes], place: int, size: int) -> tuple[dict[int, Any], int]:
    """Return what a footer says of pages of a column, and the number of values in its dictionary."""
    end, known = place + size, 0
    found = {5: 0, 6: 0, 7: size}
    while place < end:
        stream.seek(place)
        header, begins = _Thrift(stream.read(_MOST_HEADER)).struct()
        kind = _DICTIONARY if _DICTIONARY in header else _PAGE
        more = {3: False} if kind == _DICTIONARY else {3: 3, 4: 3, 5: {}}
        if {*header} != {1, 2, 3, kind} or header[kind] != {1: header[kind][1], 2: header[kind][2], **more}:
            raise Broken("a page of a column says more than its size and encoding")
        if kind == _DICTIONARY and header[_UNPACKED] > _MOST_DICTIONARY:
            raise Broken("a dictionary of a column fills the memory")
        known += header[kind][1] if kind == _DICTIONARY else 0
        found[5] += header[kind][1] if kind == _PAGE else 0
        found.setdefault(11 if kind == _DICTIONARY else 9, place)
        found[6] += begins + header[_UNPACKED]
        place += begins + max(header[_SIZE], 0)
    if place != end:
        raise Broken("the pages of a column do not fill it")
    return found, known


def _used(reader: Any, group: int, name: str, most: int) -> int:
    """Return how many different values a column of a group of rows has, up to some; those of lists count as all."""
    import pyarrow as pa

    if name not in reader.schema_arrow.names:
        return most
    found: Any = None
    for batch in reader.iter_batches(batch_size=_ROWS, row_groups=[group], columns=[name]) if most else ():
        column = batch.column(0).drop_null()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary.take(column.indices.unique())
        if pa.types.is_decimal(column.type):  # of 32 and 64 bits Arrow tells none apart
            column = column.cast(pa.decimal256(column.type.precision, column.type.scale))
        found = (column if found is None else pa.concat_arrays([found, column])).unique()
        if len(found) >= most:
            break
    return 0 if found is None else len(found)


class _Thrift:
    """Values in the compact protocol of Thrift; IndexError or KeyError where they are damaged."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def struct(self) -> tuple[dict[int, Any], int]:
        """Return the fields of a structure by their number, and where it ends."""
        fields: dict[int, Any] = {}
        number = 0
        while (byte := self._byte()) != 0:
            number = number + (byte >> 4) if byte >> 4 else self._integer()
            fields[number] = self._value(byte & 15)
        return fields, self._place

    def _byte(self) -> int:
        self._place += 1
        return self._data[self._place - 1]

    def _unsigned(self) -> int:
        byte = self._byte()
        return byte if byte < 128 else (byte & 127) + (self._unsigned() << 7)

    def _integer(self) -> int:
        found = self._unsigned()
        return -(found + 1 >> 1) if found & 1 else found >> 1

    def _value(self, kind: int) -> Any:
        """Return a value of a kind: yes, no, a byte, integers, a double, bytes, a list or a structure."""
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 9:
            size = self._byte()
            kind = {5: 5, 6: 6, 8: 8, 12: 12}[size & 15]  # each of a byte or more
            return [self._value(kind) for _ in range(size >> 4 if size < 240 else self._unsigned())]
        if kind == 12:
            return self.struct()[0]
        size = {3: 1, 7: 8}[kind] if kind != 8 else self._unsigned()
        self._place += size
        return self._data[self._place - size : self._place]
