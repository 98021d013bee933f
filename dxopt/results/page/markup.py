"""HTML that escapes whatever is not HTML already."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dxopt.numerics.digits import three_digits

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


def told(template: str, **parts: str) -> Markup:
    """A sentence with parts in place of their names in braces; all of it is escaped unless it is HTML."""
    return Markup(html.escape(template).format_map({name: joined([part]) for name, part in parts.items()}))


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _value(value: Attribute) -> str:
    return "" if value is True else f'="{html.escape(str(value))}"'


def as_data(content: Any, identifier: str) -> Markup:
    """A JSON element that scripts read; no text in it can end it."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(f'<script type="application/json" id="{html.escape(identifier)}">{text}</script>')


def number(value: float, unit: str = "", short: str = "") -> Markup:
    """A number to three digits, or as given, with all of them on pointing and where the reader asks, and its unit."""
    short, full = short or three_digits(value), repr(float(value))
    whole = not math.isfinite(value) or value == int(value)
    shown = short if whole else element("data", short, value=full, title=full)
    return joined([shown, f" {unit}" if unit else ""])


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
    def number(cls, value: float | None, unit: str = "", short: str = "") -> Cell:
        """A number to three digits, or as given, with its unit, or a blank."""
        return cls("") if value is None else cls(number(value, unit, short), float(value))


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[Cell]], *, cards: bool = False) -> Markup:
    """A table that is sorted by the buttons in its header, and scrolls on its own where it is too wide.

    With `cards`, each row is a card on a narrow screen, with the names of its columns, and nothing scrolls.
    """
    head, row, group = ("columnheader", "row", "rowgroup") if cards else (None, None, None)
    heads = (
        element("th", element("button", name, type="button"), scope="col", aria_sort="none", role=head)
        if name
        else element("td")
        for name in header
    )
    lines = (
        element("tr", *(_cell(cell, name, not place, cards) for place, (cell, name) in enumerate(named)), role=row)
        for named in (zip(cells, header, strict=True) for cells in rows)
    )
    # What is laid out as cards is a table to a screen reader by its roles alone.
    written = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *heads, role=row), role=group),
        element("tbody", *lines, role=group),
        class_="sortable cards" if cards else "sortable",
        role=cards and "table",
    )
    return element("div", written, class_="wide", tabindex=0, role="group", aria_label=caption)


def _cell(cell: Cell, name: str, first: bool, cards: bool) -> Markup:
    key = None if cell.key is None or not math.isfinite(cell.key) else repr(float(cell.key))
    tag, scope, role = ("th", "row", "rowheader") if first else ("td", None, "cell")
    text = element("a", cell.text, href=cell.link) if cell.link else cell.text
    kind = "number" if key is not None else "long" if len(cell.text) > _LONG else None
    about = {"data_name": name, "role": role} if cards and cell.text else {"role": cards and role}
    return element(tag, text, scope=scope, data_key=key, class_=kind, **about)


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
