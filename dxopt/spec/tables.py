"""CSV files as columns and matrices; every complaint names the file and the line in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from sys import getsizeof
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, SpecError
from dxopt.runtime.column_names import in_degrees, no_header, no_such_column
from dxopt.runtime.csv_text import CsvText, decimal_of, has_comma, number, with_point
from dxopt.runtime.identity import CommaError
from dxopt.runtime.reading import MOST_TABLE
from dxopt.spaces.metrics import LATITUDE_FIRST, NO_DEGREES, beyond_degrees
from dxopt.spaces.naming import Naming, SeveralPoints
from dxopt.spaces.positions import require_latitude_first, require_same_order
from dxopt.spaces.space import MetricSpace
from dxopt.spec.fields import Columns, CsvDialect, LatLon
from dxopt.spec.source import Blame, SpecFileError, readable

_MOST_CELLS = 400_000_000
"""Bytes of memory of the cells that are kept of a file: two million places. Twice as many take 1 GB as numbers."""
_ROW = 112
"""Bytes of memory of the list of a row, and of its line number."""


@dataclass(frozen=True)
class Table:
    """A CSV file with a header: the cells of its columns `names`, all or some, and the line number of each row."""

    text: CsvText
    said: CsvDialect
    names: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]

    @classmethod
    def read(
        cls,
        path: Path,
        blame: Blame,
        said: CsvDialect,
        columns: Sequence[str | None] = (),
        *,
        most_rows: int | None = None,
        whole: bool = True,
    ) -> Table:
        """Read a CSV file with a header, of which columns are asked for; keep only these unless it is wanted whole.

        Refuse one of more than `most_rows` rows, reading only one row more, or of more cells than memory should have.
        """
        asked = [name for name in columns if name is not None]
        with _readable(path, blame):
            text = CsvText.of(path, said.dialect, asked, most=MOST_TABLE)
            with text.opened() as stream:
                kept = [place for place, column in enumerate(text.names) if whole or column in asked]
                rows, lines, size = list[list[str]](), list[int](), 0
                for line, _, row in islice(text.rows(stream), None if most_rows is None else most_rows + 1):
                    rows.append(row if whole else [row[place] for place in kept])
                    lines.append(line)
                    size += _ROW + sum(map(getsizeof, rows[-1])) + 8 * len(kept)
                    if size > _MOST_CELLS:
                        raise blame(f"{path.name} has more cells than {_MOST_CELLS:,} bytes hold", "keep fewer rows")
        if not rows:
            raise blame(f"{path.name} has no rows below its header", "add some")
        if most_rows is not None and len(rows) > most_rows:
            raise blame(f"{path.name} has more than {most_rows:,} rows, the cap on locations", "keep fewer")
        return cls(text, said, tuple(text.names[place] for place in kept), rows, lines)

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.text.path.name

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str, blame: Blame) -> list[str]:
        """Return the cells of one column, without blanks around them; refuse a column that is not there."""
        if name not in self.text.names:
            # a first line in which no column has numbers may be somebody's data
            names = self.text.names if self.text.named else None
            error = no_such_column("columns", name, names, self.said.header)
            raise blame(f"{self.name} has no column {name!r}", error.fix_in(Option.in_file))
        index = self.names.index(name)
        return [row[index].strip() for row in self.rows]

    def labels(self, name: str, blame: Blame, space: MetricSpace) -> list[str]:
        """Return the cells of a column of labels, those of the space as it has them.

        Refuse one that is named by a label, as without a header, or has one with a decimal comma that was not said.
        """
        cells = self.column(name, blame)
        if self.said.header is None and space.naming.with_label(name) is not None:
            error = no_header(f"of {self.name} has a label, {name!r}")
            raise blame(error.wrong, error.fix_in(Option.in_file))
        for row, cell in enumerate(cells):
            try:
                point = space.naming.with_label(cell, self.said.decimal)
            except SeveralPoints:
                continue
            except CommaError as error:
                if space.naming.with_label(cell, ",") is None:
                    continue
                wrong = f"{self.name} line {self.lines[row]}, column {name!r} {error.wrong}"
                raise blame(wrong, error.fix_in(Option.in_file)) from None
            cells[row] = cell if point is None else space.labels[point]
        return cells

    def numbers(
        self, name: str, blame: Blame, rows: Sequence[int] | None = None, decimal: str | None = None
    ) -> NDArray[np.float64]:
        """Return the cells of one column as finite numbers; of the rows with these indices only, where given."""
        cells = self.column(name, blame)
        chosen = range(len(cells)) if rows is None else rows
        mark = decimal or self.said.decimal or decimal_of(cells)
        return np.array([_parse_cell(cells[i], self.name, self.lines[i], repr(name), blame, mark) for i in chosen])

    def usable(self, columns: Sequence[Column], *, drop: bool) -> list[int]:
        """Return the indices of the rows with numbers in some columns; of all rows unless others are dropped.

        Refuse an empty cell then, and a table of which no row is left. Numbers with a comma that may mean two are
        refused when they are read.
        """
        if not drop:
            self.require_filled(columns)
        found = list(range(len(self)))
        for name, blame, _ in columns:
            cells = self.column(name, blame)
            mark = self.said.decimal or decimal_of(cells)
            if drop:
                found = [row for row in found if has_comma(cells[row]) or _is_number(with_point(cells[row], mark))]
        if not found:
            names = ", ".join(repr(column.name) for column in columns)
            raise columns[0].blame(f"{self.name} has no row with numbers in {names}", "check the columns")
        return found

    def require_filled(self, columns: Sequence[Column]) -> None:
        """Refuse an empty cell in some columns, and name what leaves out such rows."""
        for name, blame, _ in columns:
            cells = self.column(name, blame)
            if "" in cells:
                fix = f"fill it, or leave such rows out: {Option('unusable', 'drop').in_file()}"
                raise blame(f"{self.name} line {self.lines[cells.index('')]}, column {name!r} is empty", fix)

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
        self, columns: Sequence[Column], rows: Sequence[int] | None = None, *, earth: bool, axes: Sequence[str] = ()
    ) -> NDArray[np.float64]:
        """Return the cells of several columns as numbers `(n, k)`; on the Earth, in degrees, latitude first.

        Columns that have the names of the axes of a space have their order.
        """
        names = [column.name for column in columns]
        require_same_order(names, axes, "columns")
        if earth and len(names) == 2:
            require_latitude_first(names, "columns", "" if columns[0].told else _TELL.format(*names))
        cells = chain(*(self.column(column.name, column.blame) for column in columns))
        mark = self.said.decimal or decimal_of(cells)
        found = np.stack([self.numbers(column.name, column.blame, rows, mark) for column in columns], axis=1)
        if not earth or len(names) != 2:
            return found
        found = np.stack([in_degrees(name, values) for name, values in zip(names, found.T, strict=True)], axis=1)
        beyond = beyond_degrees(found).tolist()
        if beyond:
            row = beyond[0] if rows is None else rows[beyond[0]]
            raise columns[0].blame(f"{self.name} line {self.lines[row]} {NO_DEGREES}", LATITUDE_FIRST)
        return found

    def largest(self, count: int, name: str, blame: Blame) -> list[int]:
        """Return the indices of the `count` rows largest in a column, largest first; of equal rows the earlier."""
        weights = self.numbers(name, blame)
        if count > len(weights):
            raise blame(f"asks for {count} rows of {self.name}, which has {len(weights)}", "ask for fewer")
        return np.argsort(-weights, kind="stable")[:count].tolist()


class Column(NamedTuple):
    """A column that is asked for; `told` where it was named as that of latitudes or longitudes."""

    name: str
    blame: Blame
    told: bool


def columns_of(asked: Columns, blame: Callable[..., Blame]) -> list[Column]:
    """Return the columns of a key `columns`; `blame` makes the blame of a key and an entry of it."""
    if isinstance(asked, LatLon):
        return [Column(name, blame("columns", key), True) for key, name in (("lat", asked.lat), ("lon", asked.lon))]
    return [Column(name, blame("columns", place), False) for place, name in enumerate(asked)]


@dataclass(frozen=True)
class Matrix:
    """A matrix of numbers in a CSV file, of which any may be `inf`, and the names of its rows and columns.

    `rows` and `columns` are None where the file has no such names.
    """

    file: str
    numbers: NDArray[np.float64]
    rows: tuple[str, ...] | None
    columns: tuple[str, ...] | None

    @classmethod
    def read(cls, path: Path, blame: Blame, said: CsvDialect, *, most_rows: int, square: bool = False) -> Matrix:
        """Read a matrix; refuse one of more rows or columns than `most_rows`.

        Its first line has names where that is said; otherwise where its first cell is empty, or none of its cells is
        a number. Its first column has names where the first line has an empty cell for it, where its first entry is
        no number, or, in a file that is `square`, where there is one column more than rows.
        """
        names: list[str] | None = None
        leading, found, named = list[str](), list[NDArray[np.float64]](), False
        with _readable(path, blame):
            text = CsvText.of(path, said.dialect, most=MOST_TABLE, matrix=True)
            with text.opened() as stream:
                for line, _, row in text.rows(stream):
                    cells = [cell.strip() for cell in row]
                    if names is None and not found:
                        numeric = [_is_entry(cell, text.decimal) for cell in cells]
                        if (not cells[0] or not any(numeric)) if said.header is None else said.header:
                            names = cells
                            continue
                    if not found:
                        named = bool(names and not names[0]) or not _is_entry(cells[0], text.decimal)
                    if len(found) == most_rows:
                        raise _beyond(path, blame, most_rows, "rows")
                    if len(row) - named > most_rows:
                        raise _beyond(path, blame, most_rows, "columns")
                    also = ", or, if the first line has names, {header: true}"
                    also = also if not found and names is None and said.header is None else ""
                    leading.append(cells[0])
                    entries = [
                        _parse_cell(cell, path.name, line, str(i), blame, text.decimal, infinite=True, also=also)
                        for i, cell in enumerate(cells[named:], start=1 + named)
                    ]
                    found.append(np.array(entries))
        if not found:
            raise blame(f"{path.name} has no rows below its header", "add some")
        matrix = np.array(found)
        if square and names and not named and matrix.shape[1] == len(matrix) + 1:
            named, matrix = True, matrix[:, 1:]
        if square and names is None and said.header is None and len(matrix) == matrix.shape[1] + 1:
            raise blame(f"{path.name} has one row more than columns", "if its first line has names: {header: true}")
        return cls(
            path.name, matrix, tuple(leading) if named else None, None if names is None else tuple(names[named:])
        )

    def labels(self, blame: Blame) -> tuple[str, ...] | None:
        """Return the names of the rows, which are those of the columns; None without any.

        Refuse two that differ.
        """
        if self.rows is None or self.columns is None:
            return self.rows or self.columns
        for place, (row, column) in enumerate(zip(self.rows, self.columns, strict=False), start=1):
            if row != column:
                wrong = (
                    f"{self.file} has {row!r} as the name of row {place}, and {column!r} as that of column {place}"
                )
                raise blame(wrong, "give rows and columns the same names, in the same order")
        return self.rows

    def require_names(self, axis: Literal["row", "column"], labels: Sequence[str], blame: Blame) -> None:
        """Refuse names of the rows, or of the columns, that are others than these labels, or in another order."""
        names = self.rows if axis == "row" else self.columns
        naming = Naming(labels)
        for place, name in enumerate(names or ()):
            if naming.with_label(name) != place:
                meant = f"{labels[place]!r}" if place < len(labels) else "none"
                wrong = f"{self.file} has {name!r} as the name of {axis} {place + 1}, whose label is {meant}"
                raise blame(wrong, f"give each {axis} the name of its label, in the order of the labels")


def _beyond(path: Path, blame: Blame, most: int, what: str) -> SpecFileError:
    return blame(f"{path.name} has more than {most:,} {what}, the cap on locations", "keep fewer")


def _parse_cell(
    cell: str,
    file: str,
    line: int,
    column: str,
    blame: Blame,
    decimal: str,
    *,
    infinite: bool = False,
    also: str = "",
) -> float:
    """Return a cell as a finite number, or as infinity where `infinite` allows it; an error names line and column.

    `also` is what else the error says of the fix.
    """
    value = number(with_point(cell, decimal))
    if math.isfinite(value) or (infinite and _is_entry(cell, decimal)):
        return value
    fix = f"give a finite number{' or inf' if infinite else ''}{also}"
    if has_comma(cell):
        fix = f"write it without comma, or, where commas are decimal ones, {Option('decimal', ',').in_file()}"
    raise blame(f"{file} line {line}, column {column} is not a number", fix)


def _is_number(cell: str) -> bool:
    return math.isfinite(number(cell))


def _is_entry(cell: str, decimal: str) -> bool:
    """Tell whether a cell is an entry of a matrix: a finite number, or inf, which R writes as Inf."""
    return cell in ("inf", "Inf") or _is_number(with_point(cell, decimal))


_TELL = "write {{lat: {}, lon: {}}}, or the other way round"


@contextmanager
def _readable(path: Path, blame: Blame) -> Iterator[None]:
    """Turn whatever goes wrong while a CSV file is read into an error of `blame`."""
    with readable(path, blame, ValueError):
        try:
            yield
        except SpecFileError:
            raise
        except SpecError as error:
            raise blame(f"{path.name}: {error.wrong}", error.fix_in(Option.in_file)) from None
