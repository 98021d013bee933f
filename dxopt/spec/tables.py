"""CSV files as columns and matrices; every complaint names the file and the line in it."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxopt.runtime.column_names import NAME_THEM, listed, looks_like_data
from dxopt.runtime.reading import MOST_TABLE, BoundedLines, open_file
from dxopt.spaces.metrics import LATITUDE_FIRST, NO_DEGREES, beyond_degrees
from dxopt.spaces.positions import require_latitude_first
from dxopt.spec.source import Blame, readable

_SEPARATORS = {";": "';'", "\t": "tabs", "|": "'|'"}
_LONGEST_LINE = 10_000_000
"""Letters of a line, enough for 400,000 numbers; a longer one is no table, and would fill the memory."""


@dataclass(frozen=True)
class Table:
    """A CSV file with a header: its cells, and the line number of each row."""

    name: str
    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    @classmethod
    def read(cls, path: Path, blame: Blame, *, most_rows: int | None = None) -> Table:
        """Read a CSV file with a header; refuse one of more than `most_rows` rows, reading only one row more."""
        with _rows_of(path, blame) as rows:
            _, header = next(rows)
            header = [name.strip() for name in header]
            twice = next((name for name, often in Counter(header).items() if often > 1), None)
            if twice is not None and looks_like_data(header):
                raise blame(f"{path.name} names columns twice in its first line, which looks like data", NAME_THEM)
            if twice is not None:
                raise blame(f"{path.name} has two columns {twice!r}", "rename one")
            numbered = list(rows if most_rows is None else islice(rows, most_rows + 1))
        if not numbered:
            raise blame(f"{path.name} has no rows below its header", "add some")
        if most_rows is not None and len(numbered) > most_rows:
            raise blame(f"{path.name} has more than {most_rows:,} rows, the cap on locations", "keep fewer")
        return cls(path.name, header, [row for _, row in numbered], [line for line, _ in numbered])

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str, blame: Blame) -> list[str]:
        """Return the cells of one column, without blanks around them; refuse a column that is not there."""
        if name not in self.header:
            other = _other_separator(self.name, self.header)
            if other is not None:
                wrong = f"{self.name} has no column {name!r}, nor commas between its cells: {other.wrong}"
                raise blame(wrong, other.fix)
            if looks_like_data(self.header):
                raise blame(f"{self.name} has no column {name!r}, and its first line looks like data", NAME_THEM)
            raise blame(f"{self.name} has no column {name!r}", f"its columns are {listed(self.header)}")
        index = self.header.index(name)
        return [row[index].strip() for row in self.rows]

    def numbers(self, name: str, blame: Blame, rows: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return the cells of one column as finite numbers; of the rows with these indices only, where given."""
        cells = self.column(name, blame)
        chosen = range(len(cells)) if rows is None else rows
        return np.array([_parse_cell(cells[i], self.name, self.lines[i], repr(name), blame) for i in chosen])

    def weights(self, name: str, blame: Blame, rows: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return the cells of one column as finite numbers of 0 or more, one of them positive."""
        found = self.numbers(name, blame, rows)
        chosen = range(len(found)) if rows is None else rows
        low = next((row for row, weight in zip(chosen, found, strict=True) if weight < 0), None)
        if low is not None:
            wrong = f"{self.name} line {self.lines[low]}, column {name!r}: a negative number"
            raise blame(wrong, "give numbers of 0 or more")
        if not found.any():
            raise blame(
                f"{self.name} has 0 in all rows of column {name!r}", "name a column that has positive numbers"
            )
        return found

    def places(
        self, names: Sequence[str], blames: Sequence[Blame], rows: Sequence[int] | None = None, *, earth: bool
    ) -> NDArray[np.float64]:
        """Return the cells of several columns as numbers `(n, k)`; on the Earth, in degrees, latitude first."""
        if earth:
            require_latitude_first(names, "columns")
        found = np.stack([self.numbers(name, blame, rows) for name, blame in zip(names, blames, strict=True)], axis=1)
        beyond = beyond_degrees(found).tolist() if earth and len(names) == 2 else []
        if beyond:
            row = beyond[0] if rows is None else rows[beyond[0]]
            raise blames[0](f"{self.name} line {self.lines[row]} {NO_DEGREES}", LATITUDE_FIRST)
        return found

    def largest(self, count: int, name: str, blame: Blame) -> list[int]:
        """Return the indices of the `count` rows largest in a column, largest first; of equal rows the earlier."""
        weights = self.numbers(name, blame)
        if count > len(weights):
            raise blame(f"asks for {count} rows of {self.name}, which has {len(weights)}", "ask for fewer")
        return np.argsort(-weights, kind="stable")[:count].tolist()


def read_matrix(path: Path, blame: Blame, *, most_rows: int) -> NDArray[np.float64]:
    """Read a CSV file without a header as a matrix of numbers, of which any may be `inf`."""
    matrix: list[NDArray[np.float64]] = []
    with _rows_of(path, blame) as rows:
        for line, row in rows:
            if len(matrix) == most_rows:
                raise blame(f"{path.name} has more than {most_rows:,} rows, the cap on locations", "keep fewer")
            other = _other_separator(path.name, row, named=False)
            if other is not None:
                raise blame(f"{path.name} has no commas between its cells: {other.wrong}", other.fix)
            cells = enumerate(row, start=1)
            numbers = [_parse_cell(cell.strip(), path.name, line, str(i), blame, infinite=True) for i, cell in cells]
            matrix.append(np.array(numbers))
    return np.array(matrix)


def _parse_cell(cell: str, file: str, line: int, column: str, blame: Blame, *, infinite: bool = False) -> float:
    """Return a cell as a finite number, or as infinity where `infinite` allows it; an error names line and column."""
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    # Python reads 1_000 as a number, other programs do not
    if (math.isfinite(value) and "_" not in cell) or (infinite and cell == "inf"):
        return value
    also = " or inf" if infinite else ""
    raise blame(f"{file} line {line}, column {column}: {cell!r} is not a number", f"give a finite number{also}")


@contextmanager
def _rows_of(path: Path, blame: Blame) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """Open a CSV file and give its rows with their line numbers; whatever goes wrong becomes an error of `blame`."""
    with (
        readable(path, blame, ValueError, csv.Error),
        TextIOWrapper(open_file(path, MOST_TABLE), encoding="utf-8-sig", newline="") as file,
    ):
        yield _rows_of_equal_length(BoundedLines(file, _LONGEST_LINE), path.name, blame)


class _OtherSeparator(NamedTuple):
    """A separator other than the comma, and the way to save the file with commas."""

    wrong: str
    fix: str


def _other_separator(
    name: str, first: Sequence[str], *, commas: bool = False, named: bool = True
) -> _OtherSeparator | None:
    """Find the separator of a file that does not use commas, from its first row as commas split it; None otherwise.

    `commas` tells that cells contain commas, as decimal ones; `named` that the row has the names of columns, of
    which there is just one where commas do not separate them.
    """
    found = next((sign for sign in _SEPARATORS if any(sign in cell for cell in first)), None)
    if found is None or (named and len(first) > 1):
        return None
    decimal = ", decimal=','" if commas or len(first) > 1 else ""
    table = f"pandas.read_csv({name!r}, sep={found!r}{decimal}{'' if named else ', header=None'})"
    saved = f"{name.removesuffix('.csv')}-commas.csv"
    header = "" if named else ", header=False"
    fix = f"save it with commas, as by {table}.to_csv({saved!r}, index=False{header})"
    return _OtherSeparator(f"they are separated by {_SEPARATORS[found]}", fix)


def _rows_of_equal_length(lines: BoundedLines, name: str, blame: Blame) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, with its line number; refuse rows of another length than the first."""
    width = None
    first: list[str] = []
    reader = csv.reader(lines, strict=True)
    for row in reader:
        lines.begin()
        line = reader.line_num
        if not row:
            continue
        first = first or row
        width = len(first)
        other = _other_separator(name, first, commas=True) if len(row) != width else None
        if other is not None:
            raise blame(f"{name} has no commas between its cells: {other.wrong}", other.fix)
        if len(row) != width:
            wrong = f"{name} line {line} has {len(row)} cells where the first line has {width}"
            raise blame(wrong, "give every line the same number")
        yield line, row
    if width is None:
        raise blame(f"{name} is empty", "fill it or name another file")
