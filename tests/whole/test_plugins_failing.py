"""Plug-ins that print, raise or end the program: what is told of them, and where."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import Solution
from dxopt.solving.solvers import worker
from tests.material.plugged import install

LINE = dx.line(4)
PROBLEM = dx.Problem(LINE, epsilon=1.0, prior="uniform")
ENDING = """
import sys

print("imported")

def loud(one, other):
    print("measuring")
    return abs(one[0] - other[0])
def ends(*anything):
    print("ending")
    sys.exit(7)
def stopped(*anything): raise KeyboardInterrupt
"""
ENDS = r"\(?RuntimeError: it ends the program \(SystemExit: 7\)"


def test_a_solver_that_fails_is_in_the_default_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, tmp_path / "failing", {"dxopt.solvers": {"ending": "ends"}}, ENDING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "failing"), prepend=":")
    worker.end()
    report = dx.solve(PROBLEM, solver="ending")
    worker.end()
    out, err = capfd.readouterr()
    assert "ending" in err
    assert not out
    why = "ending gave no answer (ending of failing 1.0: RuntimeError: it ends the program (SystemExit: 7))"
    assert report.failed == why
    assert ("solver", why) in report.lines()
    assert dx.load(report.save(tmp_path / "saved")).failed == why
    monkeypatch.setattr(worker, "solve", lambda *rest: Solution(Status.FAILED, message="clarabel: not today"))
    for solver, failed in {"auto": "", "clarabel": "clarabel gave no answer (clarabel: not today)"}.items():
        report = dx.solve(PROBLEM.but(loss=LINE.distances**3), solver=solver, spanner=1.5)
        assert "clarabel" in report.refused
        assert report.failed == failed
        assert f"solver: {failed}" in str(dx.sweep(PROBLEM, [1.0], ["tight"], solver=solver)) or not failed
    assert report.failed in dx.compare(PROBLEM, ["tight"], solver="clarabel").rows[0].note


def test_they_neither_print_nor_end_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = {"metrics": ["loud", "ends"], "losses": ["ends", "stopped"], "mechanisms": ["ends"]}
    points = {f"dxopt.{kind}": {f"{name}_{kind}": name for name in names} for kind, names in offered.items()}
    install(monkeypatch, tmp_path / "ending", points, ENDING)
    file = tmp_path / "loud.yaml"
    text = "space: {kind: points, values: [[0], [1]], metric: loud_metrics}\nepsilon: 1\n"
    file.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, ["solve", str(file), "--output", str(tmp_path / "results"), "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["problems"]
    assert done.stderr.splitlines().count("imported") == 1
    assert "measuring" in done.stderr

    with pytest.raises(dx.SpecError, match=rf"ends_metrics of ending 1.0 gives no number .*{ENDS}"):
        dx.MetricSpace.from_points([0, 1], "ends_metrics")
    with pytest.raises(dx.SpecError, match=rf"ends_losses of ending 1.0 gives no number .*{ENDS}"):
        dx.Loss.of("ends_losses", LINE)
    with pytest.raises(dx.UnsupportedError, match=rf"ends_mechanisms of ending 1.0 makes none: {ENDS}"):
        dx.solve(PROBLEM, method="ends_mechanisms")
    with pytest.raises(KeyboardInterrupt):
        dx.Loss.of("stopped_losses", LINE)


def test_a_name_that_nobody_has_may_be_that_of_a_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = ("metrics", "losses", "solvers", "mechanisms")
    install(monkeypatch, tmp_path / "sound", {f"dxopt.{kind}": {"sound": "f"} for kind in kinds}, "raise OSError")
    install(monkeypatch, tmp_path / "gone", {f"dxopt.{kind}": {"gone_away": "f"} for kind in kinds}, "")
    (tmp_path / "gone" / "gone.py").unlink()
    asked: dict[str, Callable[[], object]] = {
        "metric": lambda: dx.MetricSpace.from_points([0, 1], "taxi"),
        "loss": lambda: dx.Loss.of("taxi", LINE),
        "solver": lambda: dx.solve(PROBLEM, solver="taxi"),
        "method": lambda: dx.solve(PROBLEM, method="taxi"),
        "methods": lambda: dx.compare(PROBLEM, "taxi"),
    }
    for field, ask in asked.items():
        with pytest.raises(dx.SpecError, match=f"^{field}: there is no 'taxi'; choose one of .*, sound") as caught:
            ask()
        assert caught.value.fix.endswith(", or install the package that brings it")
        assert "gone" not in caught.value.fix
    file = tmp_path / "taxi.yaml"
    file.write_text("space: {kind: points, values: [[0], [1]], metric: euclidian}\nepsilon: 1\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["solve", str(file), "--output", str(tmp_path / "results")])
    assert "sound, or install the package that brings it (did you mean euclidean?)\n" in done.stderr
    file.write_text("space: {kind: points, values: [[0], [1]], metric: gone_away}\nepsilon: 1\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["solve", str(file), "--output", str(tmp_path / "results")])
    assert "'gone_away' of gone 1.0 fails to load (ModuleNotFoundError" in done.stderr
