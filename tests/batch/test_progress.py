"""What a terminal shows while problems are solved, and the table after that."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.batch.outcome import Line, summary
from dxopt.batch.printing import progress_printer
from dxopt.cli.application import app
from dxopt.results.page import save_page
from dxopt.runtime.progress import Live
from tests.material.few import few


def test_what_is_done_and_what_has_failed_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    stream = io.StringIO()
    with Live(stream, several=True) as live:
        settled = progress_printer(live)
        settled(Line("good", status="optimal", seconds=1.0), 1, 3)
        settled(Line("bad", status="crashed", delivered=False), 2, 3)
    assert stream.getvalue() == "good: optimal, 1.0 s (1 of 3 done)\nbad: crashed (2 of 3 done, 1 failed)\n"


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_table_fits_a_terminal_and_says_what_is_left_out(width: int) -> None:
    lines = [
        Line("montreal-249-every-pair", 249, 1.3863, 0.0, "optimal", "expected loss", 1.0861459, 1.0861457, 1.7e-7),
        Line("no-answer", 9, 1.0, 0.0, "auto", "worst loss", status="out of memory", delivered=False),
    ]
    whole, cut = summary(lines), summary(lines, width)
    assert max(map(len, cut.splitlines())) <= width < max(map(len, whole.splitlines()))
    head, *_, last = cut.splitlines()
    left_out = last.removeprefix("not shown: ").split(", ")
    assert all(name in whole.split("\n")[0] and name not in head.split() for name in left_out)
    assert {"problem", "ε", "value", "status"} <= set(head.split())


def test_long_names_lose_their_middle_in_a_narrow_terminal_and_only_there() -> None:
    names = [f"{'a' * 70} [epsilon={level}]" for level in ("0.5", "1.5")]
    lines = [Line(name, 9, 0.5, 0.0, "auto", "expected loss", 1.25, 1.25, 0.0, status="optimal") for name in names]
    head, one, two, _ = summary(lines, 60).splitlines()
    assert max(map(len, (head, one, two))) == 60
    assert one.startswith("aaaa") and "…" in one and "psilon=0.5]  0.5" in one and "psilon=1.5]  0.5" in two
    assert all(name in summary(lines) for name in names)


@pytest.mark.parametrize("sign", few([signal.SIGINT, signal.SIGTERM], 1), ids=["ctrl-c", "sigterm"])
def test_an_interrupted_batch_gives_the_cursor_back(sign: signal.Signals, tmp_path: Path) -> None:
    text = "name: {}\nspace: {{kind: grid, shape: [22, 22]}}\nepsilon: 0.3\nprior: {{kind: explicit, values: {}}}\n"
    for name in ("one", "two"):
        weights = [1 + (7 * index) % 13 for index in range(484)]
        weights = [weight / sum(weights) for weight in weights]
        (tmp_path / f"{name}.yaml").write_text(text.format(name, weights) + "method: optimal\n", encoding="utf-8")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dxopt.cli", "batch", str(tmp_path), "-j", "2", "-o", str(tmp_path / "out")]
    environment = {**os.environ, "COLUMNS": "80", "LINES": "24", "TERM": "xterm"}
    batch = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen, running = bytearray(), threading.Event()

    def read() -> None:
        try:
            while part := os.read(ours, 65536):
                seen.extend(part)
                if b" s" in seen and b": " in seen:
                    running.set()
        except OSError:
            return

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert running.wait(30)
        batch.send_signal(sign)
        assert batch.wait(30) == 1
    finally:
        batch.kill()
        reader.join(10)
        os.close(ours)
    printed = seen.decode("utf-8", "replace")
    assert "\x1b[?25l" in printed and printed.rfind("\x1b[?25h") > printed.rfind("\x1b[?25l")
    assert "Traceback" not in printed
    assert "problem" in printed[printed.rfind("\x1b[?25h") :]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two of them."""
    space = dx.line(3)
    for name in ("one", "two"):
        dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), name=name)).save(tmp_path / name)
    return tmp_path


def test_a_page_tells_what_is_proven_and_drawn(results: Path) -> None:
    printed: list[str] = []
    save_page(results, results / "page.html", figures=True, tell=printed.append)
    assert printed == [
        "proving 1 of 2: one",
        "proving 2 of 2: two",
        "writing the page",
        "drawing 1 of 2: one",
        "drawing 2 of 2: two",
    ]


def test_an_interrupted_page_leaves_what_was_there(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = results / "report.html"
    page.write_text("before", encoding="utf-8")

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    found = CliRunner().invoke(app, ["report", str(results)])
    assert (found.exit_code, found.stdout, found.stderr) == (1, "", "interrupted\n")
    assert page.read_text(encoding="utf-8") == "before"
    assert sorted(file.name for file in results.iterdir()) == ["one", "report.html", "two"]
