"""Lines of summary.json and input.json, one by one: what is no line, or says more than was found, is seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dxopt.verify.lines import check_input, check_summary
from dxopt.verify.verdict import Broken, Unproved
from tests.material.verified import KINDS


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return KINDS["line"]().save(tmp_path_factory.mktemp("lines") / "out")


def summarised(folder: Path, problems: Any) -> str:
    """What is found of a summary with these lines, beside the folder of a result."""
    (folder / "summary.json").write_text(json.dumps({"problems": problems}), encoding="utf-8")
    return check_summary(folder)


@pytest.mark.parametrize("problems", [None, {}, {"folder": "out"}, 3, "out", [3], [{}, []]])
def test_lines_that_are_none(problems: Any, tmp_path: Path) -> None:
    with pytest.raises(Broken, match="problems is no list of lines"):
        summarised(tmp_path, problems)


def test_what_failed_has_no_figures(tmp_path: Path) -> None:
    line = {"problem": "grid", "folder": None, "delivered": False}
    assert summarised(tmp_path, [line]).startswith("1 lines")
    for key, content in (("delivered", True), ("delivered", None), ("value", 1.0), ("private", True), ("gap", 0.0)):
        with pytest.raises(Broken, match=f"grid.*{key}"):
            summarised(tmp_path, [{**line, key: content}])


@pytest.mark.parametrize("name", ["gone", "../out", "out/.", 7, ["out"], "/tmp"])
def test_folders_are_in_that_of_the_summary(name: Any, saved: Path) -> None:
    with pytest.raises(Unproved, match="there is no folder"):
        summarised(saved.parent, [{"problem": "line", "folder": name, "delivered": True}])


def test_a_line_may_say_that_less_was_delivered(saved: Path) -> None:
    for delivered in (True, False):
        assert "1 lines" in summarised(saved.parent, [{"problem": "line", "folder": "out", "delivered": delivered}])
        (saved / "input.json").write_text(json.dumps({"line": {"delivered": delivered}}), encoding="utf-8")
        assert "1 figures" in check_input(saved)
    with pytest.raises(Broken, match="delivered"):
        summarised(saved.parent, [{"problem": "line", "folder": "out", "delivered": 1.0}])
    with pytest.raises(Broken, match="cost is no figure"):
        summarised(saved.parent, [{"problem": "line", "folder": "out", "cost": 1.0}])
