"""What MkDocs calls while it builds: pages from elsewhere, pages from code, links between them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink

from docs.website import api, formulas, links, notebooks, papers


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Return the navigation, with the pages that are made of code."""
    tutorials = [name for name in notebooks.pages() if name.endswith(".md")]
    made = {"api/": list(api.pages()), "tutorials/": tutorials}
    assert config.nav is not None
    config.nav = [_filled(entry, made) for entry in config.nav]
    return config


def _filled(entry: Any, made: dict[str, list[str]]) -> Any:
    """Return an entry of the navigation, its folders replaced by the pages in them."""
    if isinstance(entry, list):
        return [_filled(one, made) for one in entry]
    if isinstance(entry, dict):
        return {name: _filled(one, made) for name, one in entry.items()}
    return made.get(entry, entry)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files of `docs/`, pages outside of it with what is linked there, and pages that are made of code."""
    outside = [links.ROOT / name for name in links.PAGES]
    pages = [*outside, *links.DOCS.rglob("*.md")]
    linked = {file for page in pages for file in links.linked(page)}
    for file in sorted({*outside, *linked}):
        files.append(File.generated(config, links.on_site(file), abs_src_path=str(file)))
    for name, content in {**api.pages(), **notebooks.pages()}.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page with links as they are on the site, and fences with one word after them."""
    source = page.file.abs_src_path
    if source:
        markdown = links.rewritten(markdown, Path(source))
        if Path(source).parent == papers.FOLDER:
            markdown = papers.counted(markdown)
    return re.sub(r"^( *```\w+) fragment$", r"\1", markdown, flags=re.MULTILINE)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page with formulas typeset; its table of contents names functions without parameters."""
    _shorten(page.toc)
    return formulas.typeset(html)


def _shorten(entries: Iterable[AnchorLink]) -> None:
    for entry in entries:
        if entry.title.startswith("dx."):
            entry.title = entry.title.partition("(")[0]
        _shorten(entry.children)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Return the HTML with a name for the search, which screen readers need."""
    return output.replace('role="dialog">', 'role="dialog" aria-label="Search">')
