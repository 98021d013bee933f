"""Text of published files, read row by row and refused where a row would fill the memory."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any, NoReturn

from dxopt.verify.files import unique_entries
from dxopt.verify.verdict import Broken

MOST_ROW = 8_000_000
"""Letters of a row: twice what `apply` reads of one, as what it writes has blanks, and columns that were made."""
MOST_COLUMNS = 101_000
"""Columns: those that `apply` reads, and those it makes."""
_BLOCK = 1 << 20
_BLANKS = re.compile(r"[ \t\n\r]*")


def require_few(names: Collection[str]) -> None:
    """Broken where a file has more columns than any that is written."""
    if len(names) > MOST_COLUMNS:
        raise Broken(f"the file has more than {MOST_COLUMNS:,} columns")


def csv_rows(file: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a text, each with its first line; Broken where one is no CSV, or too long."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        line = letters = 0

        def lines() -> Iterator[str]:
            nonlocal letters
            while found := stream.readline(MOST_ROW + 1 - letters):
                letters += len(found)
                if letters > MOST_ROW:
                    raise Broken(f"line {line} has more than {MOST_ROW:,} letters")
                yield found

        csv.field_size_limit(max(csv.field_size_limit(), MOST_ROW))  # of the process: rows are bounded here
        reader = csv.reader(lines(), delimiter=delimiter, strict=True)
        while True:
            line, letters = reader.line_num + 1, 0  # a row may have several lines
            try:
                row = next(reader, None)
            except csv.Error as error:
                raise Broken(f"line {reader.line_num} is no CSV: {error}") from None
            if row is None:
                return
            yield line, row


def _no_number(name: str) -> NoReturn:
    """Refuse NaN and infinity, which JSON has not."""
    raise ValueError(f"it has {name}")


class JsonStream:
    """Values of JSON in a text that may be larger than memory, none of them longer than a row may be."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._text = ""
        self._place = 0
        self._decoder = json.JSONDecoder(object_pairs_hook=unique_entries, parse_constant=_no_number)

    def next_mark(self) -> str:
        """Return the next character that is no blank, without reading it; "" at the end."""
        while True:
            self._place = _BLANKS.match(self._text, self._place).end()  # pyright: ignore[reportOptionalMemberAccess]
            if self._place < len(self._text) or not self._read_more(0):
                return self._text[self._place : self._place + 1]

    def read_end(self) -> None:
        """Broken unless the text ends here."""
        if self.next_mark():
            raise Broken("the file goes on after its JSON")

    def read_mark(self, mark: str) -> None:
        """Read a character; Broken where another one is next."""
        if self.next_mark() != mark:
            raise Broken("the file is no JSON, or not that of a collection of features")
        self._place += 1

    def parts(self, begin: str, end: str) -> Iterator[None]:
        """Read the marks of a list or object, yielding at each part, which the caller reads before going on."""
        self.read_mark(begin)
        if self.next_mark() != end:
            yield
            while self.next_mark() == ",":
                self.read_mark(",")
                yield
        self.read_mark(end)

    def value(self) -> Any:
        """Read a value; Broken where it is none, has an entry twice, or is longer than a row."""
        self.next_mark()
        while True:
            pending = len(self._text) - self._place
            try:
                value, end = self._decoder.raw_decode(self._text, self._place)
                pending = end - self._place
            except json.JSONDecodeError as error:
                value, end = None, None
                if pending <= MOST_ROW and not self._read_more(pending):
                    raise Broken(f"the file is no JSON ({error.msg})") from None
            except (ValueError, RecursionError) as error:  # of an entry that is there twice, or thousands of digits
                raise Broken(f"the file is no JSON that is written ({error})") from None
            if pending > MOST_ROW:
                raise Broken(f"a feature or member has more than {MOST_ROW:,} letters, or is no JSON")
            if end is not None:
                self._place = end
                return value

    def _read_more(self, least: int) -> bool:
        """Read more text, `least` letters or more, and forget what was used; False at the end."""
        block = self._stream.read(max(_BLOCK, least))
        self._text, self._place = self._text[self._place :] + block, 0
        return bool(block)
