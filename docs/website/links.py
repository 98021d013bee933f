"""Links between pages as they lie in the repository, and as they lie on the site."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ELSEWHERE = "repository"
"""Where the site has pages and files that are not in `docs/`."""
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "problems/README.md",
    "problems/ecp14/README.md",
    "problems/traces/README.md",
    "benchmarks/README.md",
)
"""Pages outside of `docs/` that the site has as well."""

_CODE = re.compile(r"(^ *```.*?^ *```$|``.+?``|`[^`\n]*`)", flags=re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def on_site(path: Path) -> str:
    """Where the site has a file of the repository, from its top; notebooks are pages."""
    if path.suffix == ".ipynb":
        path = path.with_suffix(".md")
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    return f"{ELSEWHERE}/{path.relative_to(ROOT).as_posix()}"


def linked(page: Path) -> Iterator[Path]:
    """Yield the files outside of `docs/`, pages apart, that a page links or shows."""
    for place, part in enumerate(_CODE.split(page.read_text(encoding="utf-8"))):
        for _, target, _ in _LINK.findall(part) if place % 2 == 0 else ():
            found = _file(page, target)
            if found and found.is_file() and not found.is_relative_to(DOCS) and found.suffix != ".md":
                yield found


def rewritten(text: str, page: Path) -> str:
    """Return the text of a page, its links as they must be on the site."""
    here = PurePosixPath(on_site(page)).parent

    def moved(link: re.Match[str]) -> str:
        found = _file(page, link[2])
        if found is None:
            return link[0]
        anchor = link[2].partition("#")[2]
        target = os.path.relpath(on_site(found), here)
        return f"{link[1]}{target}{'#' * bool(anchor)}{anchor}{link[3]}"

    parts = _CODE.split(text)
    parts[::2] = [_LINK.sub(moved, part) for part in parts[::2]]
    return "".join(parts)


def _file(page: Path, target: str) -> Path | None:
    """Return the file that a link names in the repository; None for other addresses and for the page itself."""
    name = target.partition("#")[0]
    if not name or re.match(r"\w+:", target):
        return None
    found = (page.parent / name).resolve()
    return found / "README.md" if (found / "README.md").is_file() else found
