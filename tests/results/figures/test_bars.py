"""Comparisons as figures and as charts of a page: the lengths are those of the rows."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.patches import Rectangle
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.numerics.number_syntax import three_digits
from dxopt.results.comparison import Compared, Comparison
from dxopt.results.page import Entry, page, page_of_batch, read, save_page
from tests.material.pages import Parsed

METHODS = ("exponential", "planar_laplace", "cloaking", "staircase")


@pytest.fixture(scope="module")
def problem() -> dx.Problem:
    space = dx.grid((3, 3))
    return dx.Problem(space, epsilon=0.9, prior=dx.Prior.from_weights(space, np.arange(1, 10)), name="town")


@pytest.fixture(scope="module")
def report(problem: dx.Problem) -> dx.Report:
    report = dx.solve(problem)
    return replace(report, comparison=dx.compare(problem, METHODS, reference=report))


@pytest.fixture(scope="module")
def found(report: dx.Report) -> dx.Comparison:
    assert report.comparison is not None
    return report.comparison


@pytest.fixture(scope="module")
def sweep(problem: dx.Problem) -> dx.EpsilonSweep:
    return dx.sweep(problem, [0.4, 0.8, 1.2], ["exponential", "cloaking", "tight"])


def widths(axes: object) -> list[list[Rectangle]]:
    return [list(container) for container in axes.containers]  # pyright: ignore[reportAttributeAccessIssue]


def test_bars_are_as_long_as_the_figures(found: dx.Comparison) -> None:
    figure = found.figure()
    loss, leakage = figure.axes
    rows = [row for row in found.rows if row.value is not None]
    names = [label.get_text().splitlines()[0] for label in loss.get_yticklabels()]
    assert names == ["optimal", "exponential", "planar_laplace", "cloaking"]
    values, remapped = widths(loss)
    (leaked,) = widths(leakage)
    assert [bar.get_width() for bar in values] == [row.value for row in rows]
    assert [bar.get_width() for bar in remapped] == [row.remapped for row in rows]
    assert [bar.get_width() for bar in leaked] == [row.leakage for row in rows]
    for bars in (values, remapped, leaked):
        assert [bool(bar.get_hatch()) for bar in bars] == [False, False, False, True]
    for index, (upper, lower) in enumerate(zip(values, remapped, strict=True)):
        assert upper.get_y() < index < lower.get_y() + lower.get_height()
        assert upper.get_y() + upper.get_height() == pytest.approx(lower.get_y())
    assert loss.get_yticklabels()[3].get_text() == "cloaking\nnot private: ε ∞"
    assert loss.get_ylim()[0] > loss.get_ylim()[1]
    lines = {str(line.get_label()): float(np.asarray(line.get_xdata())[0]) for line in loss.lines}
    assert lines == {"optimal": rows[0].value, "bound on every private mechanism": found.bound}
    assert (loss.get_xlabel(), leakage.get_xlabel()) == ("expected loss", "leakage (bits)")
    assert figure.get_suptitle() == "town: ε = 0.9"


def test_other_objectives_have_no_remap(problem: dx.Problem) -> None:
    error = dx.compare(problem.but(objective=dx.AdversaryError(2.0), delta=0.01), ["exponential"])
    loss, _ = error.figure().axes
    assert len(widths(loss)) == 1
    assert loss.get_xlabel() == "adversary's error"
    assert error.figure().get_suptitle() == "town: ε = 0.9, δ 0.01"


def test_the_worst_loss_has_one_that_draws(problem: dx.Problem) -> None:
    loss, _ = dx.compare(problem.but(objective="worst_loss"), ["exponential"]).figure().axes
    assert len(widths(loss)) == 2
    assert loss.get_xlabel() == "worst loss"


def test_what_is_missing_or_infinite_has_no_bar() -> None:
    odd = (
        Compared("optimal", value=0.0, leakage=0.0),
        Compared("b", value=math.inf, leakage=None),
        Compared("c", note="none"),
    )
    loss, leakage = Comparison("odd", epsilon=None, rows=odd, bound=-math.inf).figure().axes
    assert [bar.get_width() for bar in widths(loss)[0]] == [0.0, 0.0]
    assert loss.get_xlim() == leakage.get_xlim() == (0.0, 1.0)
    assert [str(line.get_label()) for line in loss.lines] == ["optimal"]
    assert Comparison("none", epsilon=1.0, rows=()).figure().axes


def test_labels_do_not_overlap(found: dx.Comparison) -> None:
    many = tuple(replace(found.rows[3], name=f"a mechanism with a long name {index}") for index in range(8))
    figure = replace(found, rows=(found.rows[0], *many)).figure()
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert not any(above.overlaps(below) for above, below in pairwise(boxes))
    assert min(box.x0 for box in boxes) >= 0


def test_plotted_again_it_is_the_same(found: dx.Comparison, tmp_path: Path) -> None:
    figure = found.plot(tmp_path / "new" / "one")
    assert figure.axes
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"one.svg", "one.png"}
    for ending in ("svg", "png", "pdf"):
        found.plot(save=tmp_path / f"two.{ending}")
        found.plot(save=tmp_path / f"three.{ending}")
        assert (tmp_path / f"two.{ending}").read_bytes() == (tmp_path / f"three.{ending}").read_bytes()
    assert (tmp_path / "two.svg").read_bytes() == (tmp_path / "new" / "one.svg").read_bytes()


def test_a_picture_of_another_kind_is_refused(found: dx.Comparison, tmp_path: Path) -> None:
    with pytest.raises(dx.SpecError, match=r"^save: .*two.gif ends with .gif; end it with .svg, .png, .pdf$"):
        found.plot(save=tmp_path / "two.gif")
    (tmp_path / "file").touch()
    with pytest.raises(dx.SpecError, match=r"^save: .* cannot be written"):
        found.plot(save=tmp_path / "file" / "two.svg")
    assert {path.name for path in tmp_path.iterdir()} == {"file"}


def test_a_notebook_shows_a_figure_once_at_the_size_that_it_has(found: dx.Comparison) -> None:
    import matplotlib.pyplot

    before = matplotlib.pyplot.get_fignums()
    figure: Any = found.plot()
    picture, size = figure._repr_png_()
    assert picture.startswith(b"\x89PNG")
    assert size == {"width": round(100 * figure.get_figwidth()), "height": round(100 * figure.get_figheight())}
    # pyplot would show it again at the end of the cell
    assert matplotlib.pyplot.get_fignums() == before


def test_compare_draws_and_solve_does_not(tmp_path: Path) -> None:
    text = "name: a\nspace: {kind: line, size: 3}\nepsilon: 1\ncompare: [geometric]\n"
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    pictures = {"comparison.svg", "comparison.png"}
    for command, folder, kept in (("compare", "a-compare", pictures), ("solve", "a", set())):
        done = CliRunner().invoke(app, [command, str(tmp_path / "a.yaml"), "-o", str(tmp_path / "out")])
        assert done.exit_code == 0, done.output
        assert {path.name for path in (tmp_path / "out" / folder).iterdir()} & pictures == kept


def test_the_page_draws_the_comparison(report: dx.Report, found: dx.Comparison) -> None:
    parsed = Parsed(page(report))
    assert not parsed.open
    (described,) = (str(a["aria-label"]) for a in parsed.all("svg") if "optimal remap" in str(a["aria-label"]))
    assert described.startswith("town: ε = 0.9: optimal is at ")
    for row in found.rows:
        if row.value is not None and row.remapped is not None and row.leakage is not None:
            name = f"{row.name} not private: ε ∞" if row.unproven else row.name
            assert f"{name}, expected loss, as it is: {row.value:.7g}" in parsed.texts["title"]
            assert f"{name}, expected loss, with the optimal remap: {row.remapped:.7g}" in parsed.texts["title"]
            assert f"{name}, leakage (bits): {row.leakage:.7g}" in parsed.texts["title"]
            assert f"{name} {row.value:.4g}" in described


def test_the_page_of_a_sweep(sweep: dx.EpsilonSweep, tmp_path: Path) -> None:
    folder = sweep.save(tmp_path / "out" / "town")
    (entry,) = read(folder)
    assert entry.sweep is not None
    assert (entry.status, entry.name) == ("optimal", "town")
    parsed = Parsed(page(entry))
    assert not parsed.open
    assert len([a for a in parsed.all("figure") if a["class"] == "chart"]) == 1
    (label,) = (str(a["aria-label"]) for a in parsed.all("svg"))
    best = sweep.values["optimal"]
    assert label.startswith("town: expected loss and min-entropy leakage at 3 levels (optimal): optimal goes from")
    assert f"{best[0]:.4g} at 0.4 to {best[2]:.4g} at 1.2" in label
    assert "cloaking (not private) goes from" in label
    entries = {float(str(number["value"])) for number in parsed.all("data")}
    for row in sweep.figures:
        for name in ("value", "leakage") if row["value"] is not None else ():
            assert three_digits(row[name]) in parsed.words
            assert row[name] in entries or row[name] == int(row[name])
    assert any(table.get("class") == "sortable" for table in parsed.all("table"))


def test_a_sweep_among_other_results(sweep: dx.EpsilonSweep, report: dx.Report, tmp_path: Path) -> None:
    sweep.save(tmp_path / "out" / "b")
    report.save(tmp_path / "out" / "a")
    entries = read(tmp_path / "out")
    assert [entry.sweep is None for entry in entries] == [True, False]
    words = Parsed(page_of_batch(entries)).words
    assert "0.4 to 1.2" in words
    assert save_page(tmp_path / "out", tmp_path / "page.html")


def test_a_sweep_that_does_not_hold_is_an_entry_that_says_so(sweep: dx.EpsilonSweep, tmp_path: Path) -> None:
    sweep.save(tmp_path / "out" / "b")
    (tmp_path / "out" / "b" / "parts" / "001" / "dual.npz").unlink()
    (entry,) = read(tmp_path / "out")
    assert isinstance(entry, Entry)
    assert (entry.failure, entry.sweep) == ("not proven", None)
    with pytest.raises(dx.SpecError, match="damaged"):
        read(tmp_path / "out" / "b")


def test_an_interrupted_sweep_says_so(sweep: dx.EpsilonSweep) -> None:
    stopped = replace(sweep, reports=sweep.reports[:2])
    words = Parsed(page(Entry("town", sweep=stopped))).words
    assert "at 2 of 3 levels" in words
