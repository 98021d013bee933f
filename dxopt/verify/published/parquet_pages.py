"""The bytes of a file of Parquet: all of them are those of columns and pages that its footer leads to."""

from __future__ import annotations

import re
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
# fields of a page's header in Thrift: its bytes once unpacked and as they follow, and the number of values by kind
_UNPACKED, _SIZE, _DICTIONARY, _PAGES = 2, 3, 7, (5, 8)
_VALUES = 1


def require_reachable(file: Path, opened: Any) -> None:
    """Broken unless the pages of all columns fill a file of Parquet, and rows have all values of dictionaries."""
    import pyarrow.parquet as pq

    metadata = opened.metadata
    leaves = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
    reader = pq.ParquetFile(file, read_dictionary=leaves, buffer_size=_MOST_HEADER)
    if not _WRITER.fullmatch(metadata.created_by):
        raise Broken("the file of Parquet was written by something else")
    groups = range(metadata.num_row_groups)
    end = _MAGIC
    with file.open("rb") as stream:
        for group in groups:
            for place in range(metadata.num_columns):
                column = metadata.row_group(group).column(place)
                first = min(filter(None, (column.dictionary_page_offset, column.data_page_offset)), default=0)
                if column.file_path or (column.total_compressed_size and first != end):
                    raise Broken(f"column {column.path_in_schema!r} is not where the one before it ends")
                known = _values_of_dictionary(stream, end, column)
                if known > _used(reader, group, column.path_in_schema, known):
                    raise Broken(f"column {column.path_in_schema!r} has values in its dictionary that no row has")
                end += column.total_compressed_size
    if end + metadata.serialized_size + 2 * _MAGIC != file.stat().st_size:
        raise Broken("the file has bytes that are in no column")


def _values_of_dictionary(stream: IO[bytes], place: int, column: Any) -> int:
    """Return the number of values in the dictionary of a column; Broken unless its pages fill it."""
    end = place + column.total_compressed_size
    left, known = column.num_values, 0
    while place < end:
        stream.seek(place)
        read = stream.read(_MOST_HEADER)
        header, size = _Thrift(read).struct()
        if _DICTIONARY in header and header[_UNPACKED] > _MOST_DICTIONARY:
            raise Broken(f"column {column.path_in_schema!r} has a dictionary that fills the memory")
        known += header.get(_DICTIONARY, {}).get(_VALUES, 0)
        left -= sum(header[kind][_VALUES] for kind in _PAGES if kind in header)
        place += size + max(header[_SIZE], 0)
    if place != end or left:
        raise Broken(f"the pages of column {column.path_in_schema!r} do not fill it")
    return known


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
        if kind == 12:
            return self.struct()[0]
        size = {3: 1, 7: 8}[kind] if kind != 8 else self._unsigned()
        self._place += size
        return self._data[self._place - size : self._place]
