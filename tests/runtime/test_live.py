"""Progress that is shown: a line that is drawn anew in a terminal, an output that changes in a notebook, or lines."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import dxopt as dx
from dxopt.runtime import progress as live
from dxopt.runtime.progress import Live, Task, duration, showing, step
from tests.material.files import ROOT


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    told = Clock()
    monkeypatch.setattr(live, "time", told)
    return told


class Shell:
    """What a notebook's shell has that a terminal's lacks."""

    kernel = object()


class Handle:
    """An output of a cell."""

    def __init__(self, page: Any) -> None:
        self.pages = [page.data]

    def update(self, page: Any) -> None:
        self.pages.append(page.data)


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Handle]]:
    """The outputs of a cell of a notebook that is made up."""
    made: list[Handle] = []

    def display(page: Any, *, display_id: bool) -> Handle:
        assert display_id
        made.append(Handle(page))
        return made[-1]

    class Html:
        def __init__(self, data: str) -> None:
            self.data = data

    notebook = type(sys)("IPython")
    notebook.get_ipython = Shell  # pyright: ignore[reportAttributeAccessIssue]
    shown = type(sys)("IPython.display")
    shown.display, shown.HTML = display, Html  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    yield made


def test_elsewhere_there_is_a_line_every_five_seconds(time: Clock) -> None:
    stream = io.StringIO()
    with Live(stream, time_limit=60) as shown:
        for second, line in ((1, "round 1"), (6, "round [b]2[/b]"), (7, "round 3"), (12, "round 4")):
            time.now = 100.0 + second
            shown(line)
    assert stream.getvalue() == "round [b]2[/b] (6 s, at most 54 s left)\nround 4 (12 s, at most 48 s left)\n"


def test_time_left_is_told_of_what_takes_even_time(time: Clock) -> None:
    task = Task()
    task.at("checking, 5 rows", 0.5)
    assert task.times == "0 s"
    time.now += 10
    task.at("checking, 9 rows", 0.25)
    assert task.times == "10 s, about 30 s left"
    task.at("drawing, 1 row", 0.5)
    assert task.times == "10 s"
    time.now += 4
    assert task.times == "14 s, about 4 s left"
    task.share, task.even = 0.25, False
    assert (task.share, task.times) == (0.25, "14 s")


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Console:
    """A terminal of 80 columns."""
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr("rich.console.Console", lambda file: console)
    return console


def drawn(shown: Live) -> list[str]:
    """The lines that the terminal has now."""
    view: Any = shown._view
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    console.print(view.bars.get_renderable())
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_a_terminal_has_one_line_that_goes_away(time: Clock, console: Console) -> None:
    with Live(time_limit=60) as shown:
        shown("round 3: gap " + "9" * 80)
        shown.step(1 / 4, even=True)
        time.now += 9
        (line,) = drawn(shown)
    assert len(line) <= 80
    assert re.search(r"round 3: gap 9+… ━+ +25% 9 s, about 27 s left$", line)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().endswith("\x1b[2K")


def test_tasks_that_run_at_once_have_a_line_each_and_those_done_are_counted(time: Clock, console: Console) -> None:
    with Live(several=True) as shown:
        shown.tell("a" * 90, "building")
        time.now += 4
        shown.tell("short", "round [b]2[/b]")
        first, second = drawn(shown)
        assert len(first) <= 80 and "a…" in first and first.rstrip().endswith("4 s")
        assert "short: round [b]2[/b]" in second and second.rstrip().endswith("0 s")
        shown.done("a" * 90, "optimal", "1 of 3 done", 1 / 3)
        one, other = drawn(shown)
        assert "short" in one and "1 of 3 done" in other and "33%" in other


def test_otherwise_one_task_ends_when_another_begins(time: Clock, console: Console) -> None:
    with Live(after=2.0) as shown:
        shown.tell("early", "building")
        assert "starting" in drawn(shown)[0]
        time.now += 3
        shown.tell("one", "building")
        shown.tell("two", "building")
        (line,) = drawn(shown)
    assert "two: building" in line


def test_elsewhere_a_task_is_told_when_it_begins_every_five_seconds_and_when_it_is_done(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    stream = io.StringIO()
    with Live(stream, several=True) as shown:
        for line in ("building", "round 1", "round 2", "round 3"):
            shown.tell("one", line)
            time.now += 3
        shown.done("one", "optimal", "1 of 2 done", 0.5)
    assert stream.getvalue() == "one: building (0 s)\none: round 2 (6 s)\none: optimal (1 of 2 done)\n"


def test_a_notebook_has_one_output_that_changes(time: Clock, outputs: list[Handle]) -> None:
    with showing(True, 60.0) as told:
        assert told is not None
        told("one <b>")
        told("two")  # too soon after the other
        time.now += 3
        step(told, 1, 2)
    (output,) = outputs
    assert len(output.pages) == 4
    assert "<progress max='1' aria-label" in output.pages[1] and "one &lt;b&gt;" in output.pages[1]
    assert "value='0.500'" in output.pages[2] and "(3 s, at most 57 s left)" in output.pages[2]
    assert output.pages[3] == "<small>took 3 s</small>"


def test_in_a_notebook_every_question_shows_one_bar(outputs: list[Handle]) -> None:
    problem = dx.Problem(dx.line(3), epsilon=1.0, prior="uniform")
    dx.solve(problem, progress=True)
    dx.compare(problem, ["exponential", "geometric"], progress=True)
    dx.sweep(problem, [0.5, 1.0], ["exponential"], progress=True)
    dx.frontier(problem, 0.5, 1.0, resolution=0.9, progress=True)
    dx.smallest_epsilon(problem, 0.5, accuracy=0.5, progress=True)
    dx.budget_frontier(problem.but(objective=dx.AdversaryError(0.7)), 0.7, 0.8, resolution=0.9, progress=True)
    dx.apply(dx.solve(problem), _frame(), column="value", progress=True)
    dx.integer_table(dx.solve(problem).mechanism, progress=True)
    dx.tight_constraints(dx.line(3), 1.0, progress=True)
    dx.regularity.threshold(dx.line(3), progress=True)
    assert len(outputs) == 10
    assert all("<progress" in output.pages[0] for output in outputs)
    assert all(output.pages[-1].startswith("<small>took ") for output in outputs)


def _frame() -> Any:
    import pandas

    return pandas.DataFrame({"value": [0, 1, 2]})


@pytest.mark.parametrize("progress", [None, False])
def test_by_default_nothing_is_shown(progress: bool | None, capfd: pytest.CaptureFixture[str]) -> None:
    problem = dx.Problem(dx.line(3), epsilon=1.0, prior="uniform")
    dx.solve(problem, progress=progress)
    dx.compare(problem, ["exponential"], progress=progress)
    with showing(progress) as told:
        assert told is None
    assert capfd.readouterr() == ("", "")


def test_a_function_is_given_the_lines() -> None:
    lines: list[str] = []
    with showing(lines.append) as told:
        assert told is not None
        told("one")
        step(told, 1, 2)
    assert lines == ["one"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 00 s"), (3599, "59 min 59 s"), (7265, "2 h 01 min")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


SCRIPT = """
import dxopt as dx
problem = dx.Problem(dx.grid((3, 3)), epsilon=1.0, prior="uniform")
print("out", flush=True)
report = dx.solve(problem, method="optimal", solver="clarabel", progress=True)
print("value", round(report.certificate.value, 3), flush=True)
"""


def test_in_a_terminal_standard_output_has_what_the_script_prints(tmp_path: Path) -> None:
    """A real terminal for standard error, and a pipe for standard output."""
    main, other = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLUMNS": "90"}
    environment.pop("JPY_PARENT_PID", None)
    done = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=other, env=environment, cwd=tmp_path
    )
    os.close(other)
    drawn = b""
    try:
        while block := os.read(main, 4096):
            drawn += block
    except OSError:
        pass  # the terminal is closed
    out, _ = done.communicate(timeout=60)
    assert done.returncode == 0
    assert re.fullmatch(rb"out\nvalue 0\.\d+\n", out)
    text = drawn.decode()
    assert " s" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1  # the cursor is given back
