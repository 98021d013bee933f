"""A page with a small grid, whose first location has a hostile name, and of mechanisms of Montreal, in Chromium."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.results.page import page, page_of_batch, write
from dxopt.results.page.overview import HEADER
from dxopt.spec import load
from tests.browser.driving import (
    darkest,
    every,
    find,
    fresh,
    named,
    opened,
    painted,
    pointed,
    pressed,
    shown,
    sized,
    state,
    themed,
    until,
)
from tests.material.files import PROBLEMS

EVIL = '<img src=x onerror="document.title=1">'
LARGEST = 5_000_000
OVERVIEW = "main > section:has(+ section > .result) table"
MONTREAL = ("montreal-249-every-pair", "montreal-249", "montreal-60", "montreal-grid")


@pytest.fixture(scope="module")
def reports() -> list[dx.Report]:
    """Each problem of Montreal by a mechanism that is made in no time, and a small one with a comparison."""
    tasks = [task for name in MONTREAL for task in load(PROBLEMS / f"{name}.yaml")]
    found = [dx.solve(task.problem, method="exponential") for task in tasks]
    points = [[i, j] for i in range(4) for j in range(3)]
    space = dx.MetricSpace.from_points(points, "manhattan", labels=[EVIL, *(f"place {k}" for k in range(1, 12))])
    prior = dx.Prior.from_weights(space, [1 + (5 * k) % 7 for k in range(12)])
    problem = dx.Problem(space, epsilon=0.7, prior=prior, name="grid")
    optimal = dx.solve(problem)
    compared = dx.compare(problem, ["exponential", "randomised_response", "tight"], reference=optimal)
    return [*found, replace(optimal, comparison=compared)]


@pytest.fixture(scope="module")
def folder(reports: list[dx.Report], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    write(page_of_batch(reports, title="Montreal"), folder / "batch.html")
    write(page(reports[-1]), folder / "grid.html")
    return folder


@pytest.fixture
def browser(chromium: Any, folder: Path) -> Any:
    return fresh(chromium, folder / "batch.html")


def test_the_page_of_montreal_is_small_and_runs_without_a_word(browser: Any, folder: Path) -> None:
    assert (folder / "batch.html").stat().st_size < LARGEST
    for number in range(1, 6):
        shown(browser, number)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_a_table_is_sorted_by_its_headers(browser: Any) -> None:
    def column() -> list[str]:
        return [cell.text for cell in every(browser, f"{OVERVIEW} tbody td:nth-child(7)")]

    head = find(browser, f"{OVERVIEW} thead th:nth-child(7)")
    sizes = sorted(int(size) for size in column())
    button = find(head, "button")
    button.click()
    assert [int(size) for size in column()] == sizes
    assert head.get_attribute("aria-sort") == "ascending"
    pressed(button, "ENTER")
    assert [int(size) for size in column()] == sizes[::-1]
    assert head.get_attribute("aria-sort") == "descending"
    other = find(browser, f"{OVERVIEW} thead th:nth-child(1)")
    find(other, "button").click()
    assert (head.get_attribute("aria-sort"), other.get_attribute("aria-sort")) == ("none", "ascending")


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_column_of_any_table_is_cut(browser: Any, width: int) -> None:
    sized(browser, width, 900, mobile=width < 500)
    browser.execute_script("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    cut = """return [...document.querySelectorAll('.wide')]
        .filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.innerText.slice(0, 80))"""
    until(browser, lambda _: browser.execute_script(cut) == [])
    cards = "const box = document.querySelector(arguments[0]).parentElement; return box.classList.contains('cards')"
    assert browser.execute_script(cards, OVERVIEW) is (width < 1000)


def test_a_table_is_cards_only_where_it_does_not_fit(browser: Any) -> None:
    box = find(browser, OVERVIEW).find_element("xpath", "..")
    for width in (1280, 390, 1280):
        sized(browser, width, 900)
        until(browser, lambda _, narrow=width == 390: ("cards" in box.get_attribute("class")) is narrow)
    sized(browser, 390, 900)
    until(browser, lambda _: "cards" in box.get_attribute("class"))
    row = find(browser, f"{OVERVIEW} tbody tr")
    names = [cell.get_attribute("data-name") for cell in row.find_elements("css selector", "th, td")]
    assert names == list(HEADER)
    assert find(browser, OVERVIEW).get_attribute("role") == "table" and row.get_attribute("role") == "row"


def test_dark_colours_are_chosen_kept_and_painted(browser: Any, folder: Path) -> None:
    canvas = find(shown(browser, 5), ".map canvas")
    before = painted(browser, canvas)
    paper = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(paper)
    find(browser, "#theme").click()
    assert find(browser, "#theme").text == "Light colours"
    assert browser.execute_script(paper) != light
    assert painted(browser, canvas) != before
    opened(browser, folder / "batch.html")
    assert browser.execute_script(paper) != light
    find(browser, "#theme").click()
    assert browser.execute_script(paper) == light


def test_all_digits_are_shown_when_asked_for(browser: Any, folder: Path, reports: list[dx.Report]) -> None:
    opened(browser, folder / "grid.html")
    value = find(browser, ".figures dd data")
    exact = reports[4].certificate.value
    assert value.text == f"{exact:.3g}" and float(value.get_attribute("title")) == exact
    told = find(browser, ".map .told")
    until(browser, lambda _: told.text)
    short = told.text
    find(browser, "#digits").click()
    assert float(value.text) == exact and find(browser, "#digits").text == "Three digits"
    assert len(told.text) > len(short)
    find(browser, "#digits").click()
    assert (value.text, told.text) == (f"{exact:.3g}", short)


def test_the_system_may_ask_for_dark_colours(browser: Any) -> None:
    paper = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(paper)
    themed(browser, "dark")
    assert browser.execute_script(paper) != light
    assert find(browser, "#theme").text == "Light colours"


def test_pointing_at_a_location_shows_where_its_reports_go(browser: Any, reports: list[dx.Report]) -> None:
    figure = find(shown(browser, 5), ".map")
    canvas = find(figure, "canvas")
    matrix = reports[4].mechanism.matrix
    seen = set()
    for across, down in ((0.0, 0.0), (1.0, 0.0), (0.5, 0.6), (0.0, 0.9), (1.0, 0.9)):
        pointed(browser, canvas, min(max(across, 0.01), 0.99), min(max(down, 0.01), 0.99))
        mode, index, _, most = state(figure)
        assert mode == "reports" and most == pytest.approx(matrix[index].max(), rel=1e-6)
        seen.add((index, painted(browser, canvas)))
    corners = {2, 11, 0, 9}
    assert corners <= {index for index, _ in seen} and len({picture for _, picture in seen}) == len(seen) == 5
    assert darkest(browser, canvas) > 100


def test_names_are_text_wherever_they_are_shown(browser: Any) -> None:
    figure = find(shown(browser, 5), ".map")
    for mode in ("reports", "posterior"):
        find(figure, f"input[value={mode}]").click()
        listed = set()
        for index in range(1, 13):
            find(figure, f"select option:nth-child({index})").click()
            listed |= {line.text for line in every(figure, ".told li span:last-child")}
        assert mode == "reports" or EVIL in listed
        find(figure, "select option:nth-child(1)").click()
        assert EVIL in find(figure, ".told > div").text
    pointed(browser, find(browser, "#result-5 .heat canvas"), 0.01, 0.01)
    assert find(browser, "#result-5 .tip").text.startswith(f"{EVIL} → {EVIL}: ")
    assert not every(browser, "img") and browser.title == "Montreal"


def test_pointing_at_a_report_shows_what_an_adversary_believes(browser: Any, reports: list[dx.Report]) -> None:
    figure = find(shown(browser, 1), ".map")
    canvas = find(figure, "canvas")
    report = reports[0]
    before = painted(browser, canvas)
    find(figure, "input[value=posterior]").click()
    assert painted(browser, canvas) != before
    for across in (0.3, 0.6):
        pointed(browser, canvas, across, 0.5)
        mode, index, _, most = state(figure)
        joint = report.problem.prior.probabilities * report.mechanism.matrix[:, index]
        assert mode == "posterior" and most == pytest.approx((joint / joint.sum()).max(), rel=1e-5)
        told = find(figure, ".told").text
        names = named(report)
        assert told.startswith(f"After the report {names[index]}, which comes with probability")
        assert names[int(joint.argmax())] in told
    assert find(figure, ".chosen").text == "Report"


def test_a_map_is_used_by_keyboard_and_by_its_list(browser: Any) -> None:
    figure = find(shown(browser, 5), ".map")
    canvas = find(figure, "canvas")
    find(figure, "select option:nth-child(1)").click()
    assert state(figure)[1] == 0
    pressed(canvas, "ARROW_RIGHT")
    assert state(figure)[1] == 3
    pressed(canvas, "ARROW_UP", "ARROW_RIGHT")
    assert state(figure)[1] == 7
    pressed(canvas, "ARROW_DOWN", "ARROW_LEFT", "ARROW_LEFT", "ARROW_LEFT")
    assert state(figure)[1] == 0
    assert find(figure, "select").get_attribute("value") == "0"


def test_the_heat_map_tells_entries_to_pointer_and_keyboard(browser: Any, reports: list[dx.Report]) -> None:
    figure = find(shown(browser, 5), ".heat")
    canvas = find(figure, "canvas")
    matrix = reports[4].mechanism.matrix

    def entry() -> tuple[int, int]:
        secret, report = (int(canvas.get_attribute(f"data-{name}")) for name in ("secret", "report"))
        assert float(canvas.get_attribute("data-probability")) == pytest.approx(matrix[secret, report], rel=1e-6)
        return secret, report

    pointed(browser, canvas, 3.5 / 12, 7.5 / 12)
    assert entry() == (7, 3)
    assert find(figure, ".told").text.startswith("From place 7 to place 3: probability")
    assert find(figure, ".tip").is_displayed() and "place 7" in find(figure, ".tip").text
    pressed(canvas, "ARROW_DOWN", "ARROW_RIGHT", "ARROW_RIGHT")
    assert entry() == (8, 5)
    pressed(canvas, "HOME", "PAGE_DOWN", "ARROW_DOWN")
    assert entry() == (11, 0)


@pytest.mark.parametrize("name", ["batch.html", "grid.html"])
def test_a_phone_never_scrolls_the_page_sideways(browser: Any, folder: Path, name: str) -> None:
    sized(browser, 375, 800, mobile=True)
    opened(browser, folder / name)
    browser.execute_script("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    until(browser, lambda _: every(browser, ".map[data-place]"))
    wide = "return [document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]"
    assert browser.execute_script(wide) == [375, 375, 375]
    over = browser.execute_script("""
        const inside = (part) => part.closest(".wide, svg, .legend, select");
        return [...document.querySelectorAll("body *")]
            .filter((part) => !inside(part) && part.getBoundingClientRect().right > innerWidth + 1).length""")
    assert over == 0
    canvas = find(browser, ".map canvas")
    assert np.isclose(canvas.rect["width"], find(browser, ".map").rect["width"])
