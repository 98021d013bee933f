"""Text of published files, read row by row and refused where a row would fill the memory."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

from dxopt.verify.verdict import Broken

MOST_ROW = 8_000_000
"""Letters of a row: twice what `apply` reads of one, as what it writes has blanks, and columns that were made."""
MOST_COLUMNS = 101_000
"""Columns: those that `apply` reads, and those it makes."""


def require_few(names: Collection[str]) -> None:
    """Broken where a file has more columns than any that is written."""
    if len(names) > MOST_COLUMNS:
        raise Broken(f"the file has more than {MOST_COLUMNS:,} columns")


def bounded_lines(stream: IO[str]) -> Iterator[str]:
    """Yield the lines of a text; Broken where one is longer than a row may be."""
    while line := stream.readline(MOST_ROW + 1):
        if len(line) > MOST_ROW:
            raise Broken(f"a line has more than {MOST_ROW:,} letters")
        yield line


def csv_rows(file: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a text, each with its first line; Broken where one is too long, or no CSV that is written."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        line, letters, end = 0, 0, ""
        read: list[str] = []

        def lines() -> Iterator[str]:
            nonlocal letters
            for found in bounded_lines(stream):
                read.append(found)
                letters += len(found)
                if letters > MOST_ROW:
                    raise Broken(f"line {line} has more than {MOST_ROW:,} letters")
                yield found

        csv.field_size_limit(max(csv.field_size_limit(), MOST_ROW))  # of the process: rows are bounded here
        reader = csv.reader(lines(), delimiter=delimiter, strict=True)
        while True:
            line, letters = reader.line_num + 1, 0  # a row may have several lines
            read.clear()
            try:
                row = next(reader, None)
            except csv.Error as error:
                raise Broken(f"line {reader.line_num} is no CSV: {error}") from None
            if row is None:
                return
            end = end or ("\r\n" if read[-1].endswith("\r\n") else "\n")
            if "".join(read) != _written(row, delimiter, end):
                raise Broken(f"line {line} is not as it is written: with other quotes, or another end")
            yield line, row


def _written(row: list[str], delimiter: str, end: str) -> str:
    """Return the text of a row as `apply` writes it."""
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, lineterminator="\r\n").writerow(row)  # quotes a CR, and an LF
    return stream.getvalue()[:-2] + end
