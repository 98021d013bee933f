"""The report of the Montreal batch, solved and written as a user does, and clicked through from the file system."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.batch import run_apart
from dxopt.results.page import save_page
from tests.browser.driving import (
    every,
    find,
    fresh,
    named,
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

NAMES = ("cha13-comparison-montreal", "montreal-249-every-pair", "montreal-60", "montreal-grid")
LARGEST = 5_000_000
PHONE = 390


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The batch as `dxopt batch` and `dxopt report` leave it."""
    folder = tmp_path_factory.mktemp("montreal")
    outcome = run_apart([PROBLEMS / f"{name}.yaml" for name in NAMES], folder, workers=2)
    assert outcome.exit_code == 0
    save_page(folder, folder / "report.html")
    return folder


@pytest.fixture(scope="module")
def reports(folder: Path) -> list[dx.Report]:
    """In the order of the page."""
    return [dx.load(folder / name) for name in NAMES]


@pytest.fixture
def browser(chromium: Any, folder: Path) -> Any:
    return fresh(chromium, folder / "report.html")


def unfolded(browser: Any) -> None:
    """Open all that is folded, and wait until it is drawn."""
    browser.execute_script("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    until(browser, lambda _: len(every(browser, ".map[data-place]")) == len(NAMES))
    until(browser, lambda _: all(low.text for low in every(browser, ".heat .low")))


def test_the_page_is_small_and_asks_the_network_for_nothing(browser: Any, folder: Path) -> None:
    assert (folder / "report.html").stat().st_size < LARGEST
    assert browser.current_url.startswith("file://")
    browser.get_log("performance")
    browser.refresh()
    unfolded(browser)
    asked = [entry["message"] for entry in browser.get_log("performance")]
    sent = [text for text in asked if '"Network.requestWillBeSent"' in text]
    assert sent and all('"url":"file://' in text or '"url":"data:' in text for text in sent)
    assert browser.get_log("browser") == []


def test_every_column_is_sorted_both_ways(browser: Any, reports: list[dx.Report]) -> None:
    table = find(browser, "main > section:has(+ section > .result) table")
    heads = table.find_elements("css selector", "thead th")

    def column(index: int) -> list[str]:
        script = "return [...arguments[0].tBodies[0].rows].map((row) => row.cells[arguments[1]].textContent)"
        return browser.execute_script(script, table, index)

    for index, head in enumerate(heads):
        button = find(head, "button")
        texts = column(index)
        ordered = sorted(texts, key=_natural)
        button.click()
        assert head.get_attribute("aria-sort") == "ascending" and column(index) == ordered
        button.click()
        assert head.get_attribute("aria-sort") == "descending" and column(index) == ordered[::-1]
        assert sum(each.get_attribute("aria-sort") != "none" for each in heads) == 1
    find(heads[1], "button").click()
    values = {name: report.certificate.value for name, report in zip(NAMES, reports, strict=True)}
    assert [values[name] for name in column(0)] == sorted(values.values())


def test_links_open_the_result_that_they_name(browser: Any) -> None:
    for number, name in enumerate(NAMES, 1):
        link = find(browser, f'a[href="#result-{number}"]')
        assert link.text == name
        part = shown(browser, number)
        assert find(part, "summary h3").text == name
        find(part, "summary").click()
        assert part.get_attribute("open") is None


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_maps_show_rows_and_posteriors_of_the_mechanism(browser: Any, reports: list[dx.Report], number: int) -> None:
    figure = find(shown(browser, number), ".map")
    report = reports[number - 1]
    canvas = find(figure, "canvas")
    matrix = report.mechanism.matrix
    labels = named(report)
    prior = report.problem.prior.probabilities
    seen = set()
    for across, down in ((0.15, 0.3), (0.5, 0.5), (0.8, 0.7)):
        pointed(browser, canvas, across, down)
        mode, index, top, most = state(figure)
        assert mode == "reports" and matrix[index, top] == pytest.approx(matrix[index].max(), rel=1e-6)
        assert most == pytest.approx(matrix[index].max(), rel=1e-6)
        told = find(figure, ".told").text
        assert told.startswith(f"From {labels[index]}") and f", with prior {_said(prior[index])} and" in told
        assert "° N" in told.partition(", with")[0]
        listed = [float(line.text) for line in every(figure, ".told li span:first-child")]
        assert listed == [float(f"{entry:.3g}") for entry in np.sort(matrix[index])[::-1][: len(listed)]]
        seen.add(index)
    assert len(seen) == 3
    find(figure, "input[value=posterior]").click()
    for across, down in ((0.4, 0.5), (0.6, 0.6)):
        pointed(browser, canvas, across, down)
        mode, index, top, most = state(figure)
        joint = prior * matrix[:, index]
        assert mode == "posterior"
        assert most == pytest.approx(joint.max() / (joint.sum() or 1.0), rel=1e-4)
        assert joint[top] == pytest.approx(joint.max(), rel=1e-4)
    before = state(figure)[1]
    pressed(canvas, "ARROW_UP")
    moved = state(figure)[1]
    assert moved != before and find(figure, "select").get_attribute("value") == str(moved)


def test_a_map_answers_to_touch(browser: Any, reports: list[dx.Report]) -> None:
    sized(browser, PHONE, 800, mobile=True)
    figure = find(shown(browser, 3), ".map")
    canvas = find(figure, "canvas")
    before = state(figure)[1]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    box = browser.execute_script("return arguments[0].getBoundingClientRect().toJSON()", canvas)
    point = {"x": box["left"] + 0.3 * box["width"], "y": box["top"] + 0.85 * box["height"]}
    browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    until(browser, lambda _: state(figure)[1] != before)
    _, index, _, most = state(figure)
    assert most == pytest.approx(reports[2].mechanism.matrix[index].max(), rel=1e-6)


@pytest.mark.parametrize("number", [2, 4])
def test_heat_maps_show_entries_and_name_rows_and_columns(
    browser: Any, reports: list[dx.Report], number: int
) -> None:
    figure = find(shown(browser, number), ".heat")
    report = reports[number - 1]
    canvas = find(figure, "canvas")
    matrix = report.mechanism.matrix
    labels = named(report)
    size = len(labels)
    for across, down in ((0.31, 0.31), (0.72, 0.13)):
        pointed(browser, canvas, across, down)
        secret, said = (int(canvas.get_attribute(f"data-{name}")) for name in ("secret", "report"))
        assert abs(secret - down * size) <= 2 and abs(said - across * size) <= 2
        assert float(canvas.get_attribute("data-probability")) == pytest.approx(matrix[secret, said], rel=1e-6)
        assert labels[secret] in find(figure, ".told").text and find(figure, ".tip").is_displayed()
    for side, along in (("down", "top"), ("across", "left")):
        names = every(figure, f".{side} span")
        assert len(names) > 5
        for name in (names[0], names[-1]):
            drawn = float(browser.execute_script(f"return parseFloat(getComputedStyle(arguments[0]).{along})", name))
            length = canvas.rect["height" if along == "top" else "width"]
            text = browser.execute_script("return arguments[0].textContent", name)
            assert labels[min(int(drawn / length * size), size - 1)] == text
    low, middle, high = (find(figure, f".numbers .{index}").text for index in ("low", "middle", "high"))
    assert float(low.removeprefix("≤ ")) < float(middle) < float(high) == 1


def test_dark_pages_are_dark_and_legible(browser: Any) -> None:
    canvas = find(shown(browser, 3), ".heat canvas")
    light = painted(browser, canvas)
    for how in (lambda: themed(browser, "dark"), find(browser, "#theme").click, find(browser, "#theme").click):
        how()
        ink, paper = (
            browser.execute_script(f"return getComputedStyle(document.body).{which}")
            for which in ("color", "backgroundColor")
        )
        assert _contrast(ink, paper) > 7
        dark = find(browser, "#theme").text == "Light colours"
        assert (_luminance(paper) < 0.1) is dark and (painted(browser, canvas) != light) is dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_without_scrolling_sideways(browser: Any, scheme: str) -> None:
    sized(browser, PHONE, 800, mobile=True)
    themed(browser, scheme)
    unfolded(browser)
    wide = "return [document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]"
    assert browser.execute_script(wide) == [PHONE] * 3
    small = browser.execute_script("""
        return [...document.querySelectorAll("button, select, summary, .modes label, td a, th a")]
            .filter((part) => part.getBoundingClientRect().height < 24).map((part) => part.outerHTML)""")
    assert small == []


def test_everything_has_a_name_and_headings_are_in_order(browser: Any) -> None:
    unfolded(browser)
    tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    found = [
        (node["role"]["value"], node.get("name", {}).get("value", "").strip())
        for node in tree
        if not node["ignored"] and "role" in node
    ]
    wanted = {"button", "link", "radio", "combobox", "application", "table", "image", "img", "region", "group"}
    assert {role for role, _ in found} >= {"button", "link", "radio", "combobox", "application", "table", "heading"}
    assert [role for role, name in found if role in wanted - {"group"} and not name] == []
    levels = [int(head.tag_name[1]) for head in every(browser, "h1, h2, h3, h4, h5")]
    assert levels[0] == 1 and all(after - before <= 1 for before, after in pairwise(levels))


def _natural(text: str) -> list[Any]:
    """A number by its value; of words, the numbers in them too."""
    try:
        return [float(text.replace(",", ""))]
    except ValueError:
        return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", text)]


def _said(number: float) -> str:
    """A number as pages show it."""
    return np.format_float_positional(float(f"{number:.3g}"), trim="-")


def _luminance(colour: str) -> float:
    """By WCAG 2, from `rgb(r, g, b)`."""
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def _contrast(one: str, other: str) -> float:
    darker, lighter = sorted(_luminance(colour) for colour in (one, other))
    return (lighter + 0.05) / (darker + 0.05)
