"""Assembly of whole pages, for one result or for many, as text and as a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

from dxopt.errors import SpecError
from dxopt.results.folder import is_result
from dxopt.results.maps.underlay import shapes_of
from dxopt.results.page import channels
from dxopt.results.page.channels import Plane
from dxopt.results.page.entries import Entry, read
from dxopt.results.page.figures import save_figures
from dxopt.results.page.markup import Markup, as_data, element, section
from dxopt.results.page.overview import outcome, overview
from dxopt.results.page.sections import Drawings, sections
from dxopt.results.report import Report
from dxopt.runtime.atomic_write import replacing, unwritable
from dxopt.spaces.geo.areas import Area

_SCRIPTS = ("page.js", "table.js", "channel.js", "heat.js", "map.js")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def page(answer: Report | Entry, *, underlay: Area | None = None) -> str:
    """Return a page about one result, which needs nothing but itself.

    Parameters
    ----------
    answer : Report or Entry
        Its channel is part of the page where it has at most 640,000 entries.
    underlay : file name, GeoJSON as a mapping, geometry of Shapely, or GeoDataFrame or GeoSeries, optional
        Drawn under the map, as by `draw_map`.

    Raises
    ------
    SpecError
        If nothing of the underlay is in the map, or as `draw_map`.
    """
    entry = Entry.of(answer)
    shown = _choose_drawings([entry], underlay)
    return _document(
        entry.name, "", [element("main", sections(entry, shown[0], level=2))], _channels_data([entry], shown)
    )


def page_of_batch(answers: Sequence[Report | Entry], *, title: str = "", underlay: Area | None = None) -> str:
    """Return a page about many results: an overview, what they show together, and a part for each.

    Parameters
    ----------
    answers : sequence of Report or Entry
        Channels are part of the page as long as they have at most 640,000 entries together; later ones, which would
        go beyond that, are left out, and the page states that.
    title : str
        How many there are and what became of them by default.
    underlay : as for `page`, optional
        Drawn under each map that something of it is in.

    Raises
    ------
    SpecError
        If nothing of the underlay is in any map, or as `draw_map`.
    """
    entries = [Entry.of(answer) for answer in answers]
    shown = _choose_drawings(entries, underlay)
    alone = len(entries) == 1
    parts = [_result_part(entry, one, unfolded=alone) for entry, one in zip(entries, shown, strict=True)]
    main = element("main", *overview(entries), section("Each result", *parts, level=2))
    return _document(
        title or outcome(entries), outcome(entries) if title else "", [main], _channels_data(entries, shown)
    )


def _choose_drawings(entries: Sequence[Entry], underlay: Area | None) -> list[Drawings]:
    """Choose which entries have their channel in the page, as long as `channels.CELLS` lasts, and make their maps."""
    shapes = None if underlay is None else shapes_of(underlay)
    left = channels.CELLS
    shown = []
    for number, entry in enumerate(entries, 1):
        plane, kept = None, False
        if entry.report is not None and (size := channels.count_entries(entry.report)) <= left:
            plane, kept = Plane.of(entry.report, shapes), True
            left -= size
        shown.append(Drawings(f"result-{number}", kept, plane))
    if shapes is not None and all(one.plane is None or one.plane.beneath is None for one in shown):
        raise SpecError("underlay", "has nothing in any map", "check that longitudes come before latitudes")
    return shown


def _channels_data(entries: Sequence[Entry], shown: Sequence[Drawings]) -> Markup:
    """Return the element with the data of all channels that are part of the page, by their names."""
    content = {
        one.name: channels.as_data(entry.report, one.plane)
        for entry, one in zip(entries, shown, strict=True)
        if one.drawn and entry.report is not None
    }
    return as_data(content, "channels")


def _result_part(entry: Entry, shown: Drawings, *, unfolded: bool) -> Markup:
    """Return the part of a page about one of many results, folded or not."""
    title = element("summary", element("h3", entry.name), " ", element("span", entry.status, class_="aside"))
    content = element("article", sections(entry, shown, level=4))
    return element("details", title, content, id=shown.name, class_="result", open=unfolded)


def _document(title: str, about: str, body: Sequence[str], data: Markup) -> str:
    """Return the text of a page: styles and scripts inline, and a policy that lets it fetch nothing."""
    scripts = "\n".join(map(_asset, _SCRIPTS))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", Markup(_asset("page.css"))),
    )
    tools = element(
        "div",
        element("button", "All digits", type="button", id="digits"),
        element("button", "Dark colours", type="button", id="theme"),
        class_="tools",
    )
    named = element("div", element("h1", title), *([element("p", about, class_="aside")] if about else []))
    header = element("header", named, tools)
    footer = element(
        "footer",
        element(
            "p",
            "Made by dxopt. Unless this page says otherwise, each result was proven when it was solved, and again "
            "when it was read from its folder. Numbers are rounded to three digits; the button at the top shows all.",
        ),
    )
    content = element("body", header, *body, footer, data, element("script", Markup(scripts)))
    return f"<!DOCTYPE html>\n{element('html', head, content, lang='en')}\n"


def _asset(name: str) -> str:
    return files("dxopt.results.page").joinpath("assets", name).read_text(encoding="utf-8")


def save_page(
    folder: Path,
    file: Path,
    *,
    title: str = "",
    underlay: Area | None = None,
    figures: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Path]:
    """Write the page of a result folder, or of a folder of them; return the files written, the page first.

    Parameters
    ----------
    folder, file : Path
        Of the results, and of the page.
    title, underlay
        As for `page_of_batch`.
    figures : bool
        Whether to write `save_figures` to a folder `figures` next to the page as well.
    tell : callable
        Given a line on what is going on.

    Raises
    ------
    SpecError, CertificateError
        As `read` and `page`, and if a file cannot be written.
    """
    entries = read(folder, tell=tell)
    tell("writing the page")
    if is_result(folder):
        text = page(entries[0], underlay=underlay)
    else:
        text = page_of_batch(entries, title=title, underlay=underlay)
    written = [write(text, file)]
    if figures:
        written += save_figures(entries, file.parent / "figures", tell=tell)
    return written


def write(text: str, file: Path) -> Path:
    """Write a page in UTF-8, all at once: an earlier file is replaced only when the new one is whole.

    Raises
    ------
    SpecError
        If it cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable("output", file, error) from None
    with replacing(file, "output") as stream:
        stream.write(text.encode())
    return file
