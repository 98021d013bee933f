"""Pages as text."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from dxopt.results.page import channels
from dxopt.results.page.entries import Entry
from dxopt.results.page.families import families, family_chart
from dxopt.results.page.markup import Markup, as_data, element, section
from dxopt.results.page.plane import Plane
from dxopt.results.page.sections import sections
from dxopt.results.page.summary import summary
from dxopt.results.report import Report

_SCRIPTS = ("page.js", "table.js", "channel.js", "heat.js", "map.js")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def page(answer: Report | Entry) -> str:
    """A page about one result, which needs nothing but itself.

    Parameters
    ----------
    answer : Report or Entry
        Its channel is part of the page where it has at most 640,000 entries.
    """
    entry = _entry(answer)
    drawn = _drawn([entry])
    return _document(
        entry.name, [element("main", sections(entry, "result-1", drawn=drawn[0], level=2))], _data([entry], drawn)
    )


def page_of_batch(answers: Sequence[Report | Entry], *, title: str = "Results") -> str:
    """A page about many results: a table, what they show together, and a part for each.

    Parameters
    ----------
    answers : sequence of Report or Entry
        Channels are part of the page as long as they have at most 640,000 entries together; later ones, which would
        go beyond that, are left out, and the page states that.
    title : str
    """
    entries = [_entry(answer) for answer in answers]
    drawn = _drawn(entries)
    groups = families(entries)
    together = [section("Against ε", *map(family_chart, groups), level=2)] if groups else []
    parts = [
        _part(entry, f"result-{number}", kept)
        for number, (entry, kept) in enumerate(zip(entries, drawn, strict=True), 1)
    ]
    main = element(
        "main", section("All results", summary(entries), level=2), *together, section("Each result", *parts, level=2)
    )
    return _document(title, [main], _data(entries, drawn))


def _entry(answer: Report | Entry) -> Entry:
    return answer if isinstance(answer, Entry) else Entry.of(answer)


def _drawn(entries: Sequence[Entry]) -> list[bool]:
    """Whether the channel of each entry is part of the page: those that fit into what earlier ones left, in order."""
    left = channels.CELLS
    kept = []
    for entry in entries:
        size = channels.cells(entry.report) if entry.report is not None else left + 1
        kept.append(size <= left)
        left -= size if size <= left else 0
    return kept


def _data(entries: Sequence[Entry], drawn: Sequence[bool]) -> Markup:
    content = {
        f"result-{number}": channels.as_data(entry.report, Plane.of(entry.report))
        for number, (entry, kept) in enumerate(zip(entries, drawn, strict=True), 1)
        if kept and entry.report is not None
    }
    return as_data(content, "channels")


def _part(entry: Entry, name: str, drawn: bool) -> Markup:
    title = element("summary", element("h3", entry.name), " ", element("span", entry.status, class_="aside"))
    return element(
        "details", title, element("article", sections(entry, name, drawn=drawn, level=4)), id=name, class_="result"
    )


def _document(title: str, body: Sequence[str], data: Markup) -> str:
    style = _asset("page.css")
    scripts = "\n".join(map(_asset, _SCRIPTS))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", Markup(style)),
    )
    tools = element(
        "div",
        element("button", "All digits", type="button", id="digits"),
        element("button", "Dark colours", type="button", id="theme"),
        class_="tools",
    )
    header = element("header", element("h1", title), tools)
    footer = element(
        "footer",
        element(
            "p",
            "Made by dxopt. Every result was proven when it was solved, and again when it was read from its folder. "
            "Numbers in text and tables come from double precision; those shown on pointing have four digits.",
        ),
    )
    content = element("body", header, *body, footer, data, element("script", Markup(scripts)))
    return f"<!DOCTYPE html>\n{element('html', head, content, lang='en')}\n"


def _asset(name: str) -> str:
    return files("dxopt.results.page").joinpath("assets", name).read_text(encoding="utf-8")
