"""Read and write CSV: columns that are kept stay as they are, as do delimiter, decimal mark and line ends."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.release.applying.column_mapping import Layout
from dxopt.release.applying.formats import Chunk, chunked
from dxopt.release.applying.formulas import neutralised
from dxopt.release.applying.row_checks import Fingerprints
from dxopt.runtime.csv_text import CsvText, Dialect
from dxopt.runtime.reading import MOST_ROW
from dxopt.verify.published.sidecar import Noun

_MARK = b"\xef\xbb\xbf"
_MARKS = (_MARK, b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
"""Byte-order marks of UTF-8, UTF-16 and UTF-32; the output is in UTF-8, with a mark where the input has one."""


class CsvFile:
    """A file of CSV, whose columns are named by its first line unless that was said to be none.

    Where it is `neutral`, cells that are kept and would be formulas are written with an apostrophe before them.
    """

    neutral = False
    noun: Noun = "line"
    geometry = None
    hidden: tuple[str, ...] = ()

    def __init__(self, path: Path, said: Dialect, columns: Sequence[str], numbers: Sequence[str]) -> None:
        self._path = path
        self.text = CsvText.of(path, said, columns, numbers, most=sys.maxsize)
        self.names, self.named = self.text.names, self.text.named
        self._places = {name: place for place, name in enumerate(self.names)}
        with path.open("rb") as raw:
            self.marked = raw.read(4).startswith(_MARKS)
        with self.text.opened() as stream:
            self.end = "\r\n" if stream.readline(MOST_ROW).endswith("\r\n") else "\n"

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows, without lines that are blank."""
        size = max(1, self._path.stat().st_size)
        with self.text.opened() as stream:
            yield from chunked(self.text.rows(stream), lambda: os.lseek(stream.fileno(), 0, os.SEEK_CUR) / size)

    def columns(self, chunk: Chunk, names: Collection[str]) -> Iterator[tuple[str, list[str]]]:
        """Yield columns of a chunk by name."""
        return ((name, self.values(chunk, name)) for name in names)

    def values(self, chunk: Chunk, name: str) -> list[str]:
        """Return a column of a chunk, as text."""
        place = self._places[name]
        return [row[place] for row in chunk.rows]

    def fingerprints(self, chunk: Chunk) -> Fingerprints:
        """Return a fingerprint for each row `(k,)`, the same for rows of the same text."""
        return np.fromiter(map(hash, map(tuple, chunk.rows)), np.int64, len(chunk.rows)).view(np.uint64)

    def sink(self, stream: IO[bytes], layout: Layout) -> CsvSink:
        """Return a writer of rows in the same dialect."""
        return CsvSink(self, stream, layout)


class CsvSink:
    """Writer of the output in CSV, in the dialect of the input."""

    def __init__(self, source: CsvFile, stream: IO[bytes], layout: Layout) -> None:
        if source.marked:
            stream.write(_MARK)
        self._stream = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
        text = source.text
        write, end = self._stream.write, source.end
        # quotes are put around what has letters of the line end: so around a CR, whatever the end
        rows: Any = SimpleNamespace(write=lambda row: write(row[:-2] + end))
        self._writer = csv.writer(rows, delimiter=text.delimiter, lineterminator="\r\n")
        self.layout = layout
        self._neutral = source.neutral
        self._places = {name: place for place, name in enumerate(source.names)}
        self._texts = {
            name: np.array([_written(value, text.decimal) for value in values.tolist()], dtype=object)
            for name, values in layout.made.items()
        }
        self._writer.writerow(layout.order)

    def write(self, chunk: Chunk, kept: NDArray[np.bool_], drawn: NDArray[np.int64]) -> None:
        """Write the rows of a chunk that are kept, each with its report of those `drawn`."""
        rows = [row for row, wanted in zip(chunk.rows, kept.tolist(), strict=True) if wanted]
        columns: list[Any] = []
        for name in self.layout.order:
            if name in self._texts:
                columns.append(self._texts[name][drawn].tolist())
            else:
                place = self._places[name]
                cells = [row[place] for row in rows]
                columns.append([neutralised(cell) for cell in cells] if self._neutral else cells)
        self._writer.writerows(zip(*columns, strict=True))

    def close(self) -> None:
        """Write what is buffered, and leave the stream open: whoever opened it publishes the file."""
        self._stream.flush()
        self._stream.detach()


def _written(value: Any, decimal: str) -> str:
    return value if isinstance(value, str) else repr(value).replace(".", decimal)
