"""Progress goes to the logger "dxopt", each line once."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

import dxopt as dx
from dxopt.runtime.progress import Logged
from tests.material.files import ROOT


def problem_on(space: dx.MetricSpace) -> dx.Problem:
    return dx.Problem(space, epsilon=0.8, prior=dx.Prior.uniform(space), loss="distance")


@pytest.mark.parametrize(
    "space",
    [dx.grid((3, 3)), dx.grid((4, 3), metric="manhattan")],
    ids=["one program", "a product, whose factors are solved on their own"],
)
def test_every_line_of_progress_is_logged_once(space: dx.MetricSpace, caplog: pytest.LogCaptureFixture) -> None:
    lines: list[str] = []
    with caplog.at_level(logging.INFO, logger="dxopt"):
        dx.solve(problem_on(space), progress=lines.append)
    assert lines != []
    assert [record.getMessage() for record in caplog.records if record.name == "dxopt"] == lines


def test_lines_are_logged_without_a_callable_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="dxopt"):
        dx.solve(problem_on(dx.line(3)))
    assert "proving privacy" in caplog.messages


def test_a_prefix_is_kept_by_what_is_wrapped_again(caplog: pytest.LogCaptureFixture) -> None:
    lines: list[str] = []
    part = Logged.of(Logged(lines.append).under("axis 1, "))
    with caplog.at_level(logging.INFO, logger="dxopt"):
        part("round 2")
    assert lines == caplog.messages == ["axis 1, round 2"]


def test_nothing_is_printed_unless_logging_is_set_up() -> None:
    code = (
        "import dxopt as dx\n"
        "space = dx.line(3)\n"
        "dx.solve(dx.Problem(space, epsilon=0.8, prior=dx.Prior.uniform(space), loss='distance'))\n"
        "import logging; logging.getLogger('dxopt').warning('unheard')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == done.stderr == ""
