"""The bars of a comparison and the charts of a sweep, as Chromium draws them, against the numbers of the reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.numerics.digits import three_digits
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
def test_bars_are_as_long_as_what_they_say_is_large(browser: Any, compared: dx.Report, width: int) -> None:
    sized(browser, width, 900, mobile=width < 500)
    assert compared.comparison is not None
    rows = [row for row in compared.comparison.rows if row.value is not None]
    loss, leakage = every(part(browser, 1), "figure.chart")
    for figure, lengths in (
        (loss, [(row.value, row.remapped) for row in rows]),
        (leakage, [(row.leakage,) for row in rows]),
    ):
        flat = np.array([length for each in lengths for length in each], dtype=float)
        drawn = [box(browser, bar) for bar in every(figure, "svg[role] rect")]
        scale = max(bar["width"] for bar in drawn) / flat.max()
        assert [bar["width"] for bar in drawn] == pytest.approx(scale * flat, abs=1.0)
        texts = [text.text for text in every(figure, "svg[role] text")]
        said = [[float(number) for number in text.split(", ")] for text in texts[1::2]]
        assert said == [[float(three_digits(float(value or 0.0))) for value in each] for each in lengths]
        assert [text.split(" (")[0] for text in texts[::2]] == [row.name for row in rows]
        names = [box(browser, text) for text in every(figure, "svg[role] text")]
        inside = box(browser, find(figure, "svg[role]"))
        assert 0.95 * inside["width"] < max(bar["width"] for bar in drawn)
        assert all(inside["left"] <= bar["left"] and bar["right"] <= inside["right"] for bar in drawn)
        assert all(inside["left"] <= name["left"] < name["right"] <= inside["right"] + 0.5 for name in names)
        assert all(left["right"] < right["left"] for left, right in zip(names[::2], names[1::2], strict=True))
        assert not any(crossing(name, bar) for name in names for bar in drawn)


def crossing(one: dict[str, float], other: dict[str, float]) -> bool:
    """Whether two boxes have more than their edges in common; the last pixels of a line of text are empty."""
    across = min(one["right"], other["right"]) - max(one["left"], other["left"])
    return across > 0 and min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) > 3


def test_what_is_not_private_is_outlined_and_the_bound_is_where_it_is(browser: Any, compared: dx.Report) -> None:
    assert compared.comparison is not None and compared.comparison.bound is not None
    rows = [row for row in compared.comparison.rows if row.value is not None]
    loss = every(part(browser, 1), "figure.chart")[0]
    filled = [bar.value_of_css_property("fill") != "none" for bar in every(loss, "svg[role] rect")[::2]]
    assert filled == [row.name != "cloaking" for row in rows] and not all(filled)
    assert "cloaking (not private, ε ∞)" in [text.text for text in every(loss, "svg[role] text")]
    bar = box(browser, find(loss, "svg[role] rect"))
    lines = every(loss, "svg[role] line")
    at = bar["left"] + bar["width"] * compared.comparison.bound / float(rows[0].value or 0)
    boxes = [box(browser, line) for line in lines]
    assert len(boxes) == len(rows)
    assert [(line["left"] + line["right"]) / 2 for line in boxes] == pytest.approx([at] * len(rows), abs=1.0)
    pairs = np.reshape([box(browser, bar)["top"] for bar in every(loss, "svg[role] rect")], (-1, 2))
    for line, (upper, lower) in zip(boxes, pairs, strict=True):
        assert upper - 4 < line["top"] < upper and lower < line["bottom"] < lower + 16
    assert [item.text for item in every(loss, ".legend li")][-1] == "bound on every private mechanism"


def test_points_of_a_sweep_are_where_their_values_are(browser: Any, swept: dx.EpsilonSweep) -> None:
    charts = every(part(browser, 2), "figure.chart")
    assert len(charts) == 2
    for chart, figures in zip(charts, (swept.values, swept.leakage), strict=True):
        names = [item.text.removesuffix(" (not private)") for item in every(chart, ".legend li")]
        assert names[: len(figures)] == list(figures)
        values = []
        boxes = []
        for name, group in zip(names[: len(figures)], every(chart, "svg[role] > g.curve"), strict=False):
            points = every(group, "circle")
            script = "return arguments[0].map((point) => point.querySelector('title').textContent)"
            kept = np.isfinite(figures[name])
            told = [text.rpartition(": ")[2].split(" at ") for text in browser.execute_script(script, points)]
            assert [float(value) for value, _ in told] == pytest.approx(figures[name][kept], rel=1e-6)
            assert [float(level) for _, level in told] == pytest.approx(swept.epsilons[kept])
            values += list(figures[name][kept])
            boxes += [box(browser, point) for point in points]
        middles = np.array([(one["top"] + one["bottom"]) / 2 for one in boxes])
        slope, start = np.polyfit(values, middles, 1)
        assert slope < 0 and middles == pytest.approx(slope * np.array(values) + start, abs=0.5)
        assert len({round(one["left"]) for one in boxes}) == len(swept.epsilons)


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
    assert column(1) == [name for name, *_ in rows]
    for index, key in ((2, 1), (3, 2), (6, 3)):
        wanted = sorted(float(row[key]) for row in rows)
        button = find(table, f"thead th:nth-child({index}) button")
        button.click()
        assert [float(text) for text in column(index)] == pytest.approx(wanted, abs=1e-4)
        pressed(button, "ENTER")
        assert [float(text) for text in column(index)] == pytest.approx(wanted[::-1], abs=1e-4)
    find(table, "thead th:nth-child(5) button").click()
    gaps = [float(text) for text in column(5) if text]
    assert gaps == sorted(gaps) and gaps[0] < 1e-5 < gaps[-1]
    pressed(find(table, "thead th:nth-child(6) button"), "ENTER", "ENTER")
    first = max(rows, key=lambda row: row[3])
    assert (column(1)[0], float(column(2)[0])) == (first[0], first[1])
