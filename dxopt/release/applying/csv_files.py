"""Read and write CSV: columns that are kept stay as they are, as do delimiter, line ends and byte-order mark."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.release.applying.column_mapping import Layout
from dxopt.release.applying.formats import Chunk, chunked, require_few, too_long
from dxopt.release.applying.row_checks import Fingerprints
from dxopt.runtime.column_names import NAME_THEM, looks_like_data
from dxopt.runtime.reading import MOST_ROW, BoundedLines, TooLarge
from dxopt.verify.published.sidecar import Noun

_DELIMITERS = ",;\t|"
_MARK = b"\xef\xbb\xbf"


class CsvFile:
    """A file of CSV in UTF-8, its columns named by its first line."""

    noun: Noun = "line"
    geometry = None
    hidden: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as stream:
            first = stream.readline(MOST_ROW)
        if len(first) == MOST_ROW:
            raise too_long("line", 1)
        self.marked = first.startswith(_MARK)
        self.end = "\r\n" if first.endswith(b"\r\n") else "\n"
        self.delimiter = _delimiter(_text(first))
        with path.open(encoding="utf-8-sig", newline="") as stream:
            _, _, names = next(self._numbered(stream), (1, 0, ()))
        if not names:
            raise SpecError("data", f"{path} is empty", "give a file whose first line names its columns")
        require_few(names)
        self._places = {name: place for place, name in reversed([*enumerate(names)])}
        twice = next((name for place, name in enumerate(names) if self._places[name] < place), None)
        if twice is not None and looks_like_data(names):
            raise SpecError("data", "names columns twice in the first line, which looks like data", NAME_THEM)
        if twice is not None:
            raise SpecError("data", f"names the column {twice!r} twice", "name each column once")
        self.names = tuple(names)

    def _numbered(self, stream: IO[str]) -> Iterator[tuple[int, int, list[str]]]:
        """Yield rows, also the header, each with the number of its first line (text may have several) and letters."""
        lines = BoundedLines(stream, MOST_ROW)
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        while True:
            line = reader.line_num + 1
            lines.begin()
            try:
                row = next(reader)
                yield line, lines.letters, row
            except StopIteration:
                return
            except csv.Error as error:
                raise SpecError("data", f"line {reader.line_num} is no CSV: {error}", "mend it") from None
            except UnicodeDecodeError:
                raise SpecError("data", f"{self._path} is no text in UTF-8", "save it as UTF-8") from None
            except TooLarge:
                raise too_long("line", line) from None

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows, without lines that are blank."""
        size = max(1, self._path.stat().st_size)
        with self._path.open("rb") as raw:
            stream = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
            yield from chunked(self._checked(stream), lambda: raw.tell() / size)

    def _checked(self, stream: IO[str]) -> Iterator[tuple[int, int, list[str]]]:
        """Yield rows behind the header that are not blank, each with the number of its first line, and its size."""
        for line, letters, row in islice(self._numbered(stream), 1, None):
            if row and len(row) != len(self.names):
                wrong = f"line {line} has {len(row)} fields, and the first line {len(self.names)}"
                raise SpecError("data", wrong, "mend it, or put text with the delimiter into quotes")
            if row:
                yield line, letters, row

    def columns(self, chunk: Chunk, names: Collection[str]) -> Iterator[tuple[str, list[str]]]:
        """Yield columns of a chunk by name."""
        return ((name, self.values(chunk, name)) for name in names)

    def values(self, chunk: Chunk, name: str) -> list[str]:
        """Return a column of a chunk, as text without blanks around it."""
        place = self._places[name]
        return [row[place].strip() for row in chunk.rows]

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
        self._writer = csv.writer(self._stream, delimiter=source.delimiter, lineterminator=source.end)
        self._layout = layout
        self._places = {name: place for place, name in enumerate(source.names)}
        self._texts = {
            name: np.array([_written(value) for value in values.tolist()], dtype=object)
            for name, values in layout.made.items()
        }
        self._writer.writerow(layout.order)

    def write(self, chunk: Chunk, kept: NDArray[np.bool_], drawn: NDArray[np.int64]) -> None:
        """Write the rows of a chunk that are kept, each with its report of those `drawn`."""
        rows = [row for row, wanted in zip(chunk.rows, kept.tolist(), strict=True) if wanted]
        columns: list[Any] = []
        for name in self._layout.order:
            if name in self._texts:
                columns.append(self._texts[name][drawn].tolist())
            else:
                place = self._places[name]
                columns.append([row[place] for row in rows])
        self._writer.writerows(zip(*columns, strict=True))

    def close(self) -> None:
        """Write what is buffered, and leave the stream open: whoever opened it publishes the file."""
        self._stream.flush()
        self._stream.detach()


def _delimiter(first: str) -> str:
    """Return the delimiter that makes most columns of the first line; a comma where none makes several."""
    return max(_DELIMITERS, key=lambda mark: _fields(first, mark))


def _fields(line: str, delimiter: str) -> int:
    """Return how many fields a line has; 0 where it is no CSV with this delimiter."""
    try:
        return len(next(csv.reader([line], delimiter=delimiter), []))
    except csv.Error:
        return 0


def _text(first: bytes) -> str:
    """Return the first line as text, without byte-order mark and line end."""
    try:
        return re.split("[\r\n]", first.removeprefix(_MARK).decode("utf-8"), maxsplit=1)[0]
    except UnicodeDecodeError:
        raise SpecError("data", "is no text in UTF-8", "save it as UTF-8") from None


def _written(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
