"""Read CSV as people write it: what is not said of a file is guessed, and the guess checked by columns and lines.

A delimiter is taken where rows have equal lengths and the columns asked for are there. Encodings are told by their
marks, or as UTF-8; others cannot be told apart and are asked for, as is the comma of 1,234.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from dxopt.errors import Option, SpecError, required_choice
from dxopt.runtime.column_names import as_asked, is_data, is_name, require_distinct, require_header
from dxopt.runtime.reading import MOST_ROW, BoundedLines, TooLarge, open_file, require_few, too_long

DELIMITERS = (",", ";", "\t", "|")
DECIMALS = (".", ",")
_TAB = "tab"
"""A delimiter that is hard to type."""
_MARKS = (b"\xff\xfe", b"\xfe\xff")
_ROWS = 1000
_CELLS = 100_000
"""Rows by which a guess is checked, unless they have more cells than this."""
_BLOCK = 1 << 20
_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*")
_NO_NUMBERS = bool, np.bool_, np.datetime64, np.timedelta64
_EXCEL = re.compile(r"sep=.?", re.IGNORECASE)
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2},\d{3}\s*")


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """What is said of a file of CSV; None is guessed, and as UTF-8, by a header, where nothing tells otherwise."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None

    def __post_init__(self) -> None:
        if self.delimiter == _TAB:
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter not in (None, *DELIMITERS):
            raise SpecError("delimiter", f"is {self.delimiter!r}", f"choose one of , ; | and {_TAB}")
        if self.decimal is not None:
            required_choice("decimal", self.decimal, DECIMALS)
        try:
            io.TextIOWrapper(io.BytesIO(), encoding=self.encoding)
        except (LookupError, TypeError, ValueError):  # also of a codec that makes no text
            fix = "give a name such as utf-8, cp1252 or utf-16"
            raise SpecError("encoding", f"there is none called {self.encoding!r}", fix) from None


@dataclass(frozen=True)
class CsvText:
    """A file of CSV, the names of its columns, and how it is written.

    `named` is True where a column of numbers has a name, which proves that the first line is a header.
    """

    path: Path
    most: int
    delimiter: str
    decimal: str
    encoding: str
    header: bool
    names: tuple[str, ...] = ()
    named: bool = False

    @classmethod
    def of(
        cls,
        path: Path,
        said: Dialect,
        columns: Sequence[str] = (),
        numbers: Sequence[str] = (),
        *,
        most: int,
        matrix: bool = False,
    ) -> CsvText:
        """Return a file of at most `most` bytes; guess what is not said.

        Parameters
        ----------
        columns, numbers : sequence of str
            The columns that are asked for, and those of them that are of numbers.
        matrix : bool
            True for a matrix of numbers, whose first row is read like the others: it may have names or numbers.

        Raises
        ------
        SpecError
            If it is empty, is no text in the encoding, its first line looks like data, or a column is named twice.
        OSError, ValueError
            If it cannot be opened.
        """
        header = not matrix and said.header is not False
        encoding = said.encoding or _encoding_of(path, most)
        guesses: list[tuple[tuple[bool, float, float, int], CsvText, list[list[str]]]] = []
        for mark in DELIMITERS if said.delimiter is None else (said.delimiter,):
            text = cls(path, most, mark, ".", encoding, header)
            rows, error = text._first_rows()
            if rows:
                require_few(rows[0])
                _require_no_mark(mark.join(rows[0]))
                text = replace(text, names=text._names(rows[0], columns))
                rows = rows[1:] if header else rows
                width = len(text.names)
                fits = matrix or {*columns} <= {*text.names}
                cells = text._cells(rows, text.names if matrix else columns)
                numeric = _share(not math.isnan(number(cell.replace(",", "."))) for cell in cells)
                equal = _share(len(row) == width > 1 for row in rows) if error is None else 0.0
                guesses.append(((fits, numeric, equal, width), text, rows))
            elif error is None:
                raise SpecError("data", "is empty", "fill it or name another file")
        if not guesses:
            raise SpecError("data", "is no CSV: its first line has open quotes", "mend it")
        (*best, _), text, rows = max(guesses, key=lambda guess: guess[0])
        fitting = [text for (*rank, _), text, _ in guesses if rank == best]
        cells = text._cells(rows, columns)
        others = any(equal for (_, _, equal, _), other, _ in guesses if other is not text)
        unlike = text.delimiter == said.decimal and others and not any(map(has_comma, cells))
        if best[0] and best[2] and (len(fitting) > 1 or unlike):
            raise SpecError("data", "may have more than one delimiter", "name the right one: ", Option("delimiter"))
        below = zip(*(row for row in rows if len(row) == len(text.names)), strict=True)
        named = any(
            is_name(name) and any(cells) and all(is_data(cell) for cell in cells if cell)
            for name, cells in zip(text.names, below, strict=False)
        )
        if not matrix:
            require_header(text.names, columns, said.header, proven=named)
            require_distinct(text.names)
        cells = text._cells(rows, text.names if matrix else numbers)
        if matrix:  # names may have points
            cells = [cell for cell in cells if not math.isnan(number(cell.replace(",", ".")))]
        return replace(text, decimal=said.decimal or decimal_of(cells), named=named)

    def _cells(self, rows: Iterable[Sequence[str]], columns: Iterable[str]) -> list[str]:
        """Return the cells of some columns in rows, which may be too short."""
        found = {name: place for place, name in enumerate(self.names)}
        places = [found[name] for name in columns if name in found]
        return [row[place] for row in rows for place in places if place < len(row)]

    def _first_rows(self) -> tuple[list[list[str]], csv.Error | None]:
        """Return the first rows, up to where they are no CSV."""
        rows: list[list[str]] = []
        try:
            with self.opened() as stream:
                cells = 0
                for _, _, row in islice(self._records(stream), _ROWS):
                    rows.append(row)
                    cells += len(row)
                    if cells > _CELLS and len(rows) > 1:
                        break
        except csv.Error as error:
            return rows, error
        return rows, None

    def _names(self, first: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the columns: those of the first row, as they are asked for; or else column_1, ..."""
        if not self.header:
            return tuple(f"column_{place}" for place in range(1, len(first) + 1))
        return as_asked(first, columns)

    def opened(self) -> io.TextIOWrapper:
        """Return a stream of the text of the file, with line ends as they are."""
        encoding = "utf-8-sig" if codecs.lookup(self.encoding).name == "utf-8" else self.encoding
        return io.TextIOWrapper(open_file(self.path, self.most), encoding=encoding, newline="")

    def _records(self, stream: IO[str]) -> Iterator[tuple[int, int, list[str]]]:
        """Yield rows that are not blank, each with the number of its first line and its letters, over all its lines.

        Quoted text may have several lines.
        """
        csv.field_size_limit(max(csv.field_size_limit(), MOST_ROW))  # of the process: rows are bounded here
        lines = BoundedLines(stream, MOST_ROW)
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        while True:
            line = reader.line_num + 1
            lines.begin()
            try:
                row = next(reader, None)
            except csv.Error as error:
                raise csv.Error(f"line {reader.line_num} is no CSV: {error}") from None
            except UnicodeError:
                raise no_text(self.encoding) from None
            except TooLarge:
                raise too_long("line", line) from None
            if row is None:
                return
            if row:
                yield line, lines.letters, row

    def rows(self, stream: IO[str]) -> Iterator[tuple[int, int, list[str]]]:
        """Yield rows below the header, each with its line and its letters; SpecError for one of another length."""
        try:
            for line, letters, row in islice(self._records(stream), int(self.header), None):
                if len(row) != len(self.names):
                    wrong = f"line {line} has {len(row)} cells where the first line has {len(self.names)}"
                    fix = "mend it, put cells with the delimiter (as decimal commas) into quotes, or name another: "
                    raise SpecError("data", wrong, fix, Option("delimiter"))
                yield line, letters, row
        except csv.Error as error:
            raise SpecError("data", str(error), "mend it, or name another delimiter: ", Option("delimiter")) from None


def _require_no_mark(line: str) -> None:
    """Raise SpecError where the first line is one that tells Excel the delimiter."""
    if _EXCEL.fullmatch(line):
        fix = "remove it: the delimiter is told without it, or name it: "
        raise SpecError("data", f"begins with the line {line!r}, which is for Excel", fix, Option("delimiter"))


def decimal_of(cells: Iterable[str]) -> str:
    """Return the decimal mark of numbers: a comma where some have one that parts no thousands, and none a point."""
    listed = list(cells)
    commas = [cell for cell in listed if has_comma(cell)]
    clear = any(not _THOUSANDS.fullmatch(cell) for cell in commas)
    return "," if clear and not any("." in cell for cell in listed) else "."


def has_comma(cell: object) -> bool:
    """Return whether a cell is the text of a number with a comma, which is its decimal mark or parts thousands."""
    return isinstance(cell, str) and _COMMA.fullmatch(cell) is not None


def with_point(cell: str, decimal: str) -> str:
    """Return the text of a number with a decimal point; that of none where it has one, and its mark is a comma."""
    if decimal == ".":
        return cell
    return "" if "." in cell else cell.replace(",", ".")


def number(value: Any) -> float:
    """Return a value as a number, NaN if it is none; `float` would take True for 1, "1_0" for 10, and times."""
    if isinstance(value, _NO_NUMBERS) or (isinstance(value, str) and "_" in value):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _share(given: Iterable[bool]) -> float:
    """Return the share of what is true; 0 of nothing."""
    listed = list(given)
    return sum(listed) / max(len(listed), 1)


def _encoding_of(path: Path, most: int) -> str:
    """Return the encoding that the mark at the beginning or the places of the bytes that are 0 tell, or UTF-8."""
    with open_file(path, most) as stream:
        head = stream.read(_BLOCK)
    if head.startswith((codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE)):
        return "utf-32"
    if 2 * head.count(0) > len(head):  # at least two of the four bytes of a letter are 0
        return "utf-32-le" if head[0] else "utf-32-be"
    zeros = head[::2].count(0), head[1::2].count(0)
    if head.startswith(_MARKS):
        return "utf-16"
    if not min(zeros) and 4 * max(zeros) > len(head):
        return "utf-16-be" if zeros[0] else "utf-16-le"
    return "utf-8"


def no_text(encoding: str) -> SpecError:
    """Return the error about bytes that are no text in an encoding."""
    fix = "save it as UTF-8, or say what it is, such as cp1252: "
    return SpecError("data", f"is no text in {encoding.upper()}", fix, Option("encoding"))
