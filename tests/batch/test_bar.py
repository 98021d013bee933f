"""The bar of work whose share is known."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from dxopt.batch import bar
from dxopt.batch.bar import Bar


def test_away_from_a_terminal_there_is_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(bar.time, "monotonic", lambda: now[0])
    shown = io.StringIO()
    with Bar(Console(file=shown)) as told:
        for second, share in ((1, 0.1), (6, 0.255), (7, 0.3), (12, 1.0)):
            now[0] = second
            told.tell("checking, [b]9[/b] rows", share)
    assert shown.getvalue() == "checking, [b]9[/b] rows, 26%\nchecking, [b]9[/b] rows, 100%\n"


def test_on_a_terminal_there_is_one_bar_for_the_stage() -> None:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100, color_system=None)
    with Bar(console) as told:
        told.tell("checking, 5 rows", 0.5)
        told.tell("drawing, 7 rows", 0.75)
        assert told._bar is not None
        told._bar.refresh()
        tasks = told._bar.tasks
        assert [(task.description, task.completed) for task in tasks] == [("drawing, 7 rows", 0.75)]
    assert "75%" in shown.getvalue()
