"""Show objects to people: one line in a terminal, a table in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

Lines = Sequence[tuple[str, str]]
"""Rows of a table of two columns: names, and what they are."""
_FEW = 6
"""So many entries of a sequence or mapping are written, then their number."""


class Shown:
    """An object whose `repr` is one line, and which notebooks show as a table.

    A subclass that is a dataclass is declared with `repr=False`. By default the line is the first one of `str`, and
    the table has its fields, numbers to three digits.
    """

    def _summary(self) -> str:
        """Return the line that `repr` shows after the name of the class."""
        return str(self).partition("\n")[0]

    def _lines(self) -> Lines:
        """Return the rows of the table that notebooks show."""
        content: Any = self
        shown = (field.name for field in fields(content) if field.repr and not field.name.startswith("_"))
        return [(name.replace("_", " "), self._text_of(name)) for name in shown]

    def _text_of(self, name: str) -> str:
        """Write a field for people to read."""
        return value_text(getattr(self, name))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._summary()}>"

    def __str__(self) -> str:
        return "; ".join(f"{name} {value}" for name, value in self._lines())

    def _repr_html_(self) -> str:
        return as_html(self._lines())


def value_text(value: Any) -> str:
    """Write a value for people to read: numbers to three digits, arrays by their shape."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral):
        return f"{int(value):,}"
    if isinstance(value, Real | Fraction):
        return f"{float(value):.3g}"
    if hasattr(value, "shape"):
        return f"array of {' by '.join(f'{size:,}' for size in value.shape)}"
    if isinstance(value, Mapping):
        return _several(f"{value_text(key)}: {value_text(one)}" for key, one in value.items())
    if isinstance(value, Sequence):
        return _several(map(value_text, value))
    return repr(value).partition("\n")[0]


def _several(texts: Iterable[str]) -> str:
    """Join the first few texts, and say how many there are if not all are shown."""
    every = list(texts)
    more = f", … ({len(every):,} in all)" if len(every) > _FEW else ""
    return ", ".join(every[:_FEW]) + more


def as_html(lines: Lines) -> str:
    """Return rows of names and values as a table in HTML."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
        for name, value in lines
    )
    return f"<table>{cells}</table>"


def as_html_table(table: Sequence[Sequence[str]]) -> str:
    """Return a table in HTML; its first row has the names of the columns."""
    head, *body = table
    first = "".join(f"<th scope='col'>{html.escape(cell)}</th>" for cell in head)
    rows = ("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    return f"<table><thead><tr>{first}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def as_html_text(lines: Iterable[str]) -> str:
    """Return lines of text as a paragraph in HTML."""
    return f"<p>{'<br>'.join(map(html.escape, lines))}</p>"
