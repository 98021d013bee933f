"""The site in Chromium, opened as files: its search, what axe-core finds, nothing loaded from elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.browser.driving import every, find, opened, sized, themed, until, violations
from tests.material.files import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once."""
    pytest.importorskip("mkdocstrings_handlers.python")
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "docs.website", "--output", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("epsilon", "epsilon"),
        ("private", ""),
        ("budget", "guides/budgets.html"),
        ("km", ""),
        ("smallest_epsilon", "api/solving.html"),
    ],
)
def test_the_search_finds_ordinary_words(chromium: Any, site: Path, words: str, page: str) -> None:
    sized(chromium, 1200, 900)
    opened(chromium, site / "index.html")
    find(chromium, ".md-search__input").send_keys(words)
    until(chromium, lambda _: every(chromium, ".md-search-result__link"))
    assert any(page in link.get_attribute("href") for link in every(chromium, ".md-search-result__link"))


PAGES = (
    "index.html",
    "start/positions.html",
    "guides/counts.html",
    "choose/epsilon.html",
    "theory/proofs.html",
    "api/errors.html",
    "tutorials/counts.html",
    "faq.html",
)


@pytest.mark.parametrize(("scheme", "colours"), [("light", "default"), ("dark", "slate")])
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_no_error(chromium: Any, site: Path, axe: str, page: str, scheme: str, colours: str) -> None:
    themed(chromium, scheme)
    opened(chromium, site / page)
    chromium.execute_script("localStorage.clear()")  # what an earlier page had chosen
    for width in (1200, 390):
        sized(chromium, width, 900, mobile=width < 500)
        opened(chromium, site / page)
        until(chromium, lambda _: chromium.execute_script("return document.readyState") == "complete")
        assert find(chromium, "body").get_attribute("data-md-color-scheme") == colours
        assert violations(chromium, axe) == []


CODE = (*PAGES, "guides/command-line.html", "guides/problem-files.html", "guides/deploying.html", "gallery.html")
CUT = """return [...document.querySelectorAll('.highlight pre > code, .formula')]
    .filter((part) => part.scrollWidth > part.clientWidth + 1).map((part) => part.textContent)"""


@pytest.mark.parametrize("page", [page for page in CODE if "tutorials" not in page])
def test_code_fits_on_a_wide_screen_and_no_page_scrolls_sideways(chromium: Any, site: Path, page: str) -> None:
    sized(chromium, 1280, 900)
    opened(chromium, site / page)
    assert chromium.execute_script(CUT) == []
    for width in (390, 768, 1280):
        sized(chromium, width, 900, mobile=width < 500)
        opened(chromium, site / page)
        needed, room = chromium.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        assert needed <= room == width


def test_formulas_are_drawn_by_the_browser(chromium: Any, site: Path) -> None:
    opened(chromium, site / "theory" / "proofs.html")
    formula = find(chromium, ".formula math")
    assert formula.rect["height"] > 15 and formula.rect["width"] > 100
    assert not [part for part in every(chromium, "p, td, li") if "$" in part.text or "\\le" in part.text]


def test_no_page_asks_for_anything_from_elsewhere(chromium: Any, site: Path) -> None:
    sized(chromium, 1200, 900)
    chromium.get_log("performance")
    for page in PAGES:
        opened(chromium, site / page)
        find(chromium, ".md-search__input").click()
    asked = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    addresses = [one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"]
    assert addresses
    assert [one for one in addresses if not one.startswith(("file:", "data:", "about:", "blob:"))] == []
