"""The tables of papers on the site: how many tests a row has, which are named where the pointer rests on that."""

from __future__ import annotations

import html
import re

from docs.website.links import DOCS

FOLDER = DOCS / "theory" / "papers"
_TEST = re.compile(r"`[\w/.]*::\w+`")
_CELL = re.compile(rf"\| ({_TEST.pattern}(?:, {_TEST.pattern})*) \|$", flags=re.MULTILINE)


def counted(markdown: str) -> str:
    """Return a page with a number in the place of the tests that end a row of a table."""
    return _CELL.sub(lambda found: f"| {_number(found[1])} |", markdown)


def _number(cell: str) -> str:
    names = [name.strip("`") for name in _TEST.findall(cell)]
    return f'<abbr title="{html.escape(", ".join(names))}">{len(names)}</abbr>'
