"""No error that axe-core finds: pages of one result and of a batch, light and dark, wide and narrow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from dxopt.results.page import Entry, page, page_of_batch, write
from tests.browser.driving import every, fresh, sized, themed, until, violations
from tests.material.pages import grid

RIVER = {"type": "LineString", "coordinates": [[4.0, 45.1], [6.0, 45.1]]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("accessible")
    towns = dx.geo.points([[45.0, 5.0], [45.1, 5.1], [45.2, 5.3]])
    counts = dx.line(8, unit="people")
    sizes = [1, 4, 6, 4, 2, 1, 0, 0]
    town = dx.solve(dx.Problem(towns, epsilon=0.1, prior=dx.Prior.uniform(towns), name="towns"))
    count = dx.solve(dx.Problem(counts, epsilon=1.0, prior=dx.Prior.from_weights(counts, sizes), name="counts"))
    frontier = dx.frontier(grid().problem, 0.5, 2.0, resolution=0.5)
    frontier.save(folder / "frontier")
    failed = Entry("bad", failure="failed", reason="out of memory")
    found = [grid(), replace(grid(2.0), problem=grid(2.0).problem.but(name="other")), town, count, failed]
    write(page(town, underlay=RIVER), folder / "towns.html")
    write(page(count), folder / "counts.html")
    write(page_of_batch(found, underlay=RIVER), folder / "batch.html")
    return folder


@pytest.mark.parametrize("name", ["towns.html", "counts.html", "batch.html"])
def test_axe_finds_no_error(chromium: Any, folder: Path, axe: str, name: str) -> None:
    browser = fresh(chromium, folder / name)
    browser.execute_script("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    until(browser, lambda _: all(low.text for low in every(browser, ".heat .low")))
    for scheme in ("light", "dark"):
        for width in (1200, 390):
            themed(browser, scheme)
            sized(browser, width, 900, mobile=width < 500)
            assert violations(browser, axe) == []


def test_all_that_is_worked_with_is_reached_by_the_tab_key(chromium: Any, folder: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    browser = fresh(chromium, folder / "towns.html")
    reached = []
    for _ in range(30):
        ActionChains(browser, duration=0).send_keys(Keys.TAB).perform()
        reached.append(
            browser.execute_script("const at = document.activeElement; return at.id || at.className || at.localName")
        )
    wanted = {"digits", "theme", "input", "select", "canvas", "summary"}
    assert wanted <= set(reached)
