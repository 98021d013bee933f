"""Notebooks as pages, with the outputs that are saved in them: nothing is executed."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.website.links import DOCS, on_site, rewritten

FOLDER = DOCS / "tutorials"
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def pages() -> dict[str, str | bytes]:
    """Return the page of every notebook in Markdown, and the pictures in it, by where they are on the site."""
    found: dict[str, str | bytes] = {}
    for file in sorted(FOLDER.glob("*.ipynb")):
        place = on_site(file)
        pictures: list[bytes] = []
        parts = list(_parts(file, pictures))
        found[place] = "\n\n".join([*parts, _footer(file)]) + "\n"
        found |= {f"tutorials/{_picture(file, number)}": data for number, data in enumerate(pictures)}
    return found


def _parts(file: Path, pictures: list[bytes]) -> Iterator[str]:
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield rewritten(source, file)
        elif source.strip():
            yield _fenced(source, "sh" if source.startswith("!") else "python")
            yield from (_output(output, file, pictures) for output in cell["outputs"])


def _output(output: dict[str, Any], file: Path, pictures: list[bytes]) -> str:
    """Return an output as a picture, as it is on a page, or as text; whichever comes first."""
    data = output.get("data", {})
    if "image/png" in data:
        pictures.append(base64.b64decode("".join(data["image/png"])))
        return f"![Figure drawn by the code above]({_picture(file, len(pictures) - 1)})"
    if "text/html" in data:
        return f'<div class="output">\n{"".join(data["text/html"])}\n</div>'
    if "text/markdown" in data:
        return "".join(data["text/markdown"])
    text = "".join(output.get("text", data.get("text/plain", "")))
    return _fenced(_ESCAPES.sub("", text), "text") if text.strip() else ""


def _fenced(text: str, language: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````"


def _picture(file: Path, number: int) -> str:
    return f"{file.stem}-{number + 1}.png"


def _footer(file: Path) -> str:
    where = f"docs/tutorials/{file.name}"
    return f"---\n\nThis page is the notebook `{where}` with its saved outputs; `make tutorials` executes it again."
