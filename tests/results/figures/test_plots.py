"""Figures show what they are given, leave no trace, and are the same bytes each time."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from dxopt.results.figures import plots


def example(title: str = "a setting") -> Figure:
    return plots.against_epsilon(
        [
            plots.Curve("one", [0.5, 1.0, 1.5], [1.0, np.nan, 3.0]),
            plots.Curve("two", [1.0], [2.0], "points", colour=1),
        ],
        title=title,
        quantity="loss (km)",
        level="ε per km",
    )


def test_everything_is_drawn_and_named() -> None:
    figure = example()
    (axes,) = figure.axes
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("a setting", "ε per km", "loss (km)")
    drawn = {str(line.get_label()): np.asarray(line.get_xydata()) for line in axes.lines}
    assert drawn["one"] == pytest.approx(np.array([[0.5, 1.0], [1.0, np.nan], [1.5, 3.0]]), nan_ok=True)
    assert drawn["two"].tolist() == [[1.0, 2.0]]
    (legend,) = figure.legends
    names = {text.get_text() for text in legend.get_texts()}
    assert names == {"one", "two"}


def test_points_are_not_joined() -> None:
    lines = {str(line.get_label()): line for line in example().axes[0].lines}
    assert (lines["one"].get_linestyle(), lines["one"].get_marker()) == ("-", "None")
    assert (lines["two"].get_linestyle(), lines["two"].get_marker()) == ("None", "o")


def test_the_same_figure_gives_the_same_bytes(tmp_path: Path) -> None:
    first = plots.save(example(), tmp_path / "deep" / "first", "figure")
    second = plots.save(example(), tmp_path / "second", "figure")
    other = plots.save(example("another setting"), tmp_path / "other", "figure")
    assert [file.name for file in first] == ["figure.svg", "figure.png"]
    for one, same, different in zip(first, second, other, strict=True):
        assert one.read_bytes() == same.read_bytes()
        assert one.read_bytes() != different.read_bytes()
    assert ElementTree.parse(first[0]).getroot().tag.endswith("svg")
    assert b"<dc:date>" not in first[0].read_bytes()
    assert first[1].read_bytes().startswith(b"\x89PNG")


def test_settings_of_the_user_are_neither_changed_nor_used(tmp_path: Path) -> None:
    plain = plots.save(example(), tmp_path / "plain", "figure")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "savefig.dpi": 30}):
        before = dict(matplotlib.rcParams)
        changed = plots.save(example(), tmp_path / "changed", "figure")
        assert dict(matplotlib.rcParams) == before
    assert plain[1].read_bytes() == changed[1].read_bytes()


def test_names_are_no_formulas(tmp_path: Path) -> None:
    drawn, _ = plots.save(example("$\\nothing$ for $5"), tmp_path, "figure")
    assert drawn.is_file()
