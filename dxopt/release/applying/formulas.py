"""Cells of CSV that a spreadsheet would run as formulas: refused, or neutralised by an apostrophe."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from dxopt.errors import Option, SpecError
from dxopt.release.applying.formats import Chunk
from dxopt.release.applying.row_checks import listed

POLICIES = ("keep", "refuse", "neutralise")
_BEGINS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?[0-9]*[.,]?[0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?")
_SHOWN = 5
"""Most lines that an error lists."""


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet may run a cell: text that begins as a formula, and is no number."""
    return text.lstrip(" ").startswith(_BEGINS) and _NUMBER.fullmatch(text.strip()) is None


def neutralised(text: str) -> str:
    """Return text as a spreadsheet shows it, and never runs it."""
    return f"'{text}" if is_formula(text) else text


class Formulas:
    """Look at cells of a file of CSV that are kept, under a policy for those that are formulas.

    SpecError if a policy is asked for in other data, which spreadsheets do not run.
    """

    def __init__(self, policy: str, source: Any) -> None:
        self._policy = policy
        self._source = source
        self._count = 0
        self._first: list[int] = []
        self._column = ""
        if policy != "keep":
            if not hasattr(source, "neutral"):  # as files of CSV have it
                raise SpecError("formulas", "are a matter of CSV, and the data are none", "leave it out")
            source.neutral = policy == "neutralise"

    def look(self, chunk: Chunk, names: Collection[str]) -> None:
        """Count the formulas in columns of some rows."""
        for name, cells in self._source.columns(chunk, names):
            found = [line for line, cell in zip(chunk.lines.tolist(), cells, strict=True) if is_formula(cell)]
            self._column = self._column or (name if found else "")
            self._count += len(found)
            self._first += found[: _SHOWN - len(self._first)]

    def require_none(self, names: Collection[str], reports: Iterable[Any]) -> None:
        """Raise SpecError if a cell is a formula where they are refused, or the name of a column or a report is one.

        Reports are the labels of the result, so that neither is neutralised.
        """
        if self._policy != "keep" and any(map(is_formula, names)):
            raise SpecError("formulas", "are the names of columns", "rename them, or leave the columns out")
        if self._policy != "keep":
            found = next((one for one in reports if isinstance(one, str) and is_formula(one)), None)
            if found is not None:
                raise SpecError("formulas", f"are labels of the result, as {found!r}", "rename them in its problem")
        if self._count:
            where = listed(self._first, self._source.noun, self._count)
            wrong = f"stand in {self._count:,} cells ({where}), the first in column {self._column!r}"
            fix = "leave the column out, or put an apostrophe before such cells: "
            raise SpecError("formulas", wrong, fix, Option("formulas", "neutralise"))
