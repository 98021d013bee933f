"""The bars of a comparison and the charts of a sweep, as Chromium draws them, against the numbers of the reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.results.page import Entry, page_of_batch, write
from tests.browser.driving import every, find, fresh, pressed, sized, until

METHODS = ["exponential", "randomised_response", "tight", "cloaking"]
BOX = "return arguments[0].getBoundingClientRect().toJSON()"


@pytest.fixture(scope="module")
def problem() -> dx.Problem:
    space = dx.grid((4, 3))
    prior = dx.Prior.from_weights(space, [1 + (5 * k) % 7 for k in range(12)])
    return dx.Problem(space, epsilon=0.7, prior=prior, name="town")


@pytest.fixture(scope="module")
def compared(problem: dx.Problem) -> dx.Report:
    optimal = dx.solve(problem)
    priors = {"uniform": dx.Prior.uniform(problem.space)}
    return replace(optimal, comparison=dx.compare(problem, METHODS, reference=optimal, priors=priors))


@pytest.fixture(scope="module")
def swept(problem: dx.Problem) -> dx.EpsilonSweep:
    return dx.sweep(problem, [0.5, 1.0, 2.0], METHODS)


@pytest.fixture
def browser(
    chromium: Any, compared: dx.Report, swept: dx.EpsilonSweep, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    file: Path = tmp_path_factory.mktemp("pages") / "page.html"
    write(page_of_batch([compared, Entry("sweep", sweep=swept)]), file)
    return fresh(chromium, file)


def part(browser: Any, number: int) -> Any:
    """The part of a result, opened by its link."""
    find(browser, f'a[href="#result-{number}"]').click()
    found = find(browser, f"#result-{number}")
    until(browser, lambda _: found.get_attribute("open") is not None)
    return found


def box(browser: Any, drawn: Any) -> dict[str, float]:
    return browser.execute_script(BOX, drawn)


@pytest.mark.parametrize("width", [1200, 390])
def test_bars_and_their_names_are_legible_inside_the_chart(browser: Any, compared: dx.Report, width: int) -> None:
    sized(browser, width, 900, mobile=width < 500)
    assert compared.comparison is not None
    figure = find(part(browser, 1), "figure.chart")
    inside = box(browser, find(figure, "svg"))
    texts = every(figure, "svg text")
    for row in compared.comparison.rows:
        if row.value is not None:
            name = next(text for text in texts if text.text == row.name)
            assert inside["left"] <= box(browser, name)["left"]
    assert all(box(browser, text)["right"] <= inside["right"] + 1 for text in texts)
    assert min(box(browser, text)["height"] for text in texts if text.text) > 8
    script = """
        const bars = [...arguments[0].querySelectorAll("g")].filter((bar) => bar.querySelector(":scope > title"));
        return bars.map((bar) => [bar.querySelector("title").textContent, bar.getBoundingClientRect().width]);"""
    bars = [(text, float(text.rpartition(": ")[2]), wide) for text, wide in browser.execute_script(script, figure)]
    for panel in ("expected loss", "leakage"):
        lengths, drawn = np.array([[length, wide] for text, length, wide in bars if f", {panel}" in text]).T
        assert len(lengths) and drawn == pytest.approx(lengths * drawn.max() / lengths.max(), abs=1.0)


def test_charts_follow_the_colours_of_the_page(browser: Any) -> None:
    figure = find(part(browser, 2), "figure.chart")
    script = "return getComputedStyle(arguments[0].querySelector('svg text')).fill"
    light = browser.execute_script(script, figure)
    find(browser, "#theme").click()
    assert browser.execute_script(script, figure) != light


def test_points_of_a_sweep_are_where_their_values_are(browser: Any, swept: dx.EpsilonSweep) -> None:
    chart = find(part(browser, 2), "figure.chart")
    script = """
        const points = [...arguments[0].querySelectorAll("use")].filter((point) => point.querySelector("title"));
        return points.map((point) => {
            const { left, right, top, bottom } = point.getBoundingClientRect();
            return [point.querySelector("title").textContent, (left + right) / 2, (top + bottom) / 2];
        });"""
    points = browser.execute_script(script, chart)
    upper = [np.isfinite(values).sum() for values in swept.values.values()]
    values = np.concatenate([one[np.isfinite(one)] for one in swept.values.values()])
    told = [float(text.rpartition(": ")[2].partition(" at ")[0]) for text, *_ in points[: sum(upper)]]
    assert told == pytest.approx(values, rel=1e-6)
    middles = np.array([middle for *_, middle in points[: sum(upper)]])
    slope, start = np.polyfit(values, middles, 1)
    assert slope < 0 and middles == pytest.approx(slope * values + start, abs=0.5)
    assert len({round(across) for _, across, _ in points}) == len(swept.epsilons)


def test_the_numbers_of_a_sweep_unfold_and_are_sorted(browser: Any, swept: dx.EpsilonSweep) -> None:
    found = part(browser, 2)
    fold = find(found, "article details")
    table = find(found, "article details table")
    assert not table.is_displayed()
    find(fold, "summary").click()
    assert table.is_displayed()
    find(browser, "#digits").click()

    def column(index: int) -> list[str]:
        return [cell.text for cell in every(table, f"tbody tr > :nth-child({index})")]

    rows = [
        (row.name, float(level), row.value, row.leakage)
        for level, report in zip(swept.epsilons, swept.reports, strict=True)
        for row in (report.comparison.rows if report.comparison else ())
        if row.value is not None and row.leakage is not None
    ]
    assert column(2) == [name for name, *_ in rows]
    for index, key in ((1, 1), (3, 2), (8, 3)):
        wanted = sorted(float(row[key]) for row in rows)
        button = find(table, f"thead th:nth-child({index}) button")
        button.click()
        assert [float(text) for text in column(index)] == pytest.approx(wanted, abs=1e-4)
        pressed(button, "ENTER")
        assert [float(text) for text in column(index)] == pytest.approx(wanted[::-1], abs=1e-4)
    find(table, "thead th:nth-child(7) button").click()
    gaps = [float(text) for text in column(7) if text]
    assert gaps == sorted(gaps) and gaps[0] < 1e-5 < gaps[-1]
    pressed(find(table, "thead th:nth-child(8) button"), "ENTER", "ENTER")
    first = max(rows, key=lambda row: row[3])
    assert (column(2)[0], float(column(1)[0])) == (first[0], first[1])
