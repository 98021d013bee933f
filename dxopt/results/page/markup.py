"""HTML that escapes whatever is not HTML already."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

_VOID = ("br", "meta", "link", "input")
_LONG = 40
Attribute = str | float | bool | None


class Markup(str):
    """Text that is HTML; any other text is escaped where it enters an element."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: Attribute) -> Markup:
    """An element with its children; `class_` and `aria_label` stand for class and aria-label, None is left out."""
    written = "".join(
        f" {_name(key)}{_value(value)}" for key, value in attributes.items() if not (value is None or value is False)
    )
    if tag in _VOID:
        return Markup(f"<{tag}{written}>")
    return Markup(f"<{tag}{written}>{joined(children)}</{tag}>")


def joined(parts: Iterable[str]) -> Markup:
    """Parts one after the other, escaped unless they are HTML."""
    return Markup("".join(part if isinstance(part, Markup) else html.escape(part) for part in parts))


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _value(value: Attribute) -> str:
    return "" if value is True else f'="{html.escape(str(value))}"'


def as_data(content: Any, identifier: str) -> Markup:
    """A JSON element that scripts read; no text in it can end it."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(f'<script type="application/json" id="{html.escape(identifier)}">{text}</script>')


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text : str
    key : float or None
        What the column is sorted by; the text where there is none, or no finite one.
    link : str
    """

    text: str
    key: float | None = None
    link: str = ""

    @classmethod
    def number(cls, value: float | None, how: str) -> Cell:
        """A number, or a blank."""
        return cls("") if value is None else cls(format(value, how), float(value))


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Markup:
    """A table that is sorted by the buttons in its header and scrolls on its own where it is too wide."""
    body = list(rows)
    heads = (
        element("th", element("button", name, type="button"), scope="col", aria_sort="none")
        if name
        else element("td")
        for name in header
    )
    lines = (element("tr", *(_cell(cell, column) for column, cell in enumerate(row))) for row in body)
    written = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *heads)),
        element("tbody", *lines),
        class_="sortable",
    )
    return element("div", written, class_="wide", tabindex=0, role="region", aria_label=caption)


def _cell(cell: Cell, column: int) -> Markup:
    key = None if cell.key is None or not math.isfinite(cell.key) else repr(float(cell.key))
    tag, scope = ("td", None) if column else ("th", "row")
    text = element("a", cell.text, href=cell.link) if cell.link else cell.text
    kind = "long" if len(cell.text) > _LONG else None if key is None else "number"
    return element(tag, text, scope=scope, data_key=key, class_=kind)


def facts(pairs: Iterable[tuple[str, str]], kind: str = "facts") -> Markup:
    """Names and what they are."""
    return element(
        "dl", *(element("div", element("dt", name), element("dd", text)) for name, text in pairs), class_=kind
    )


def section(title: str, *content: str, level: int) -> Markup:
    """A section under a heading."""
    return element("section", element(f"h{level}", title), *content)


def folded(title: str, *content: str) -> Markup:
    """What opens when it is asked for."""
    return element("details", element("summary", title), *content)
