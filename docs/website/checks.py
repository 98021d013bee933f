"""What is wrong with a built site: things loaded from elsewhere, links that lead nowhere, code that builds it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
_LOADING = {"stylesheet", "icon", "preload", "preconnect", "modulepreload", "prefetch", "dns-prefetch", "manifest"}
_ELSEWHERE = re.compile(r"^(?:https?:)?//")


class _Page(HTMLParser):
    """What a page loads, what it links, and the places in it."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.places.add(given["id"])
        if tag in _LOADED and _LOADED[tag] in given:
            self.loaded.append(given[_LOADED[tag]])
        elif tag == "link" and _LOADING & set(given.get("rel", "").split()):
            self.loaded.append(given.get("href", ""))
        elif tag == "a" and "href" in given:
            self.linked.append(given["href"])


def faults(site: Path) -> Iterator[str]:
    """Return a line for each asset from elsewhere, dead link or asset, and missing module."""
    for path in sorted(site.rglob("*.py*")):
        yield f"{path.relative_to(site)}: is code that builds the site; exclude it in mkdocs.yml"
    for path in sorted(site.rglob("*.html")):
        page, where = _read(path), path.relative_to(site)
        for target in page.loaded:
            if _ELSEWHERE.match(target):
                yield f"{where}: loads {target}"
        # the page for addresses that are not there has links from the top of a server
        for target in [*page.loaded, *page.linked] if path.name != "404.html" else ():
            if not re.match(r"(?:\w+:|//)", target) and not _leads(path, target):
                yield f"{where}: {target} leads nowhere"
    for path in sorted(site.rglob("*.css")):
        for target in re.findall(r"url\([\"']?([^\"')]+)|@import [\"']([^\"']+)", path.read_text(encoding="utf-8")):
            if _ELSEWHERE.match("".join(target)):
                yield f"{path.relative_to(site)}: loads {''.join(target)}"


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _leads(path: Path, target: str) -> bool:
    """Whether a link of a page leads to a file, and to a place in it."""
    name, _, place = unquote(target).partition("#")
    found = path.parent / name.partition("?")[0] if name else path
    if not found.is_file():
        return False
    return not place or place == "__skip" or found.suffix != ".html" or place in _read(found.resolve()).places
