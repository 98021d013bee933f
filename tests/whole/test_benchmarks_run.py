"""The benchmarks keep what was done, and tell it as it was."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import benchmarks.run as running
from benchmarks.__main__ import main
from benchmarks.contract import GROUPS, INSTANCES, Role
from benchmarks.growth import growths, plots
from benchmarks.once import Outcome
from benchmarks.results import Run, cells, read
from benchmarks.run import apart, run
from benchmarks.table import document
from benchmarks.usage import children
from dxopt.errors import SpecError
from tests.material.files import ROOT


def outcomes(monkeypatch: pytest.MonkeyPatch, *planned: Outcome | None) -> list[tuple[str, str, float]]:
    """Let runs come out as planned; None is Ctrl-C. What was run, and the bound that was known then."""
    coming, asked = iter(planned), []

    def planned_run(instance: str, candidate: str, limit: float, known: float) -> Outcome:
        asked.append((instance, candidate, known))
        outcome = next(coming)
        if outcome is None:
            raise KeyboardInterrupt
        return outcome

    monkeypatch.setattr(running, "apart", planned_run)
    return asked


def run_both(
    repeat: int, *instances: str, candidates: tuple[str, ...] = ("clarabel", "dxopt")
) -> tuple[list[Run], bool, list[dict[str, Any]]]:
    file = io.StringIO()
    named = instances or ("euclidean-5",)
    runs, interrupted = run(named, candidates, repeat=repeat, limit=9.0, output=file, tell=lambda line: None)
    return runs, interrupted, [json.loads(line) for line in file.getvalue().splitlines()]


def test_candidates_take_turns_and_the_slow_and_the_failed_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, slow, failed = Outcome(seconds=0.1), Outcome(seconds=2.5), Outcome(failure="no")
    outcomes(monkeypatch, fast, fast, slow, fast, failed)
    runs, interrupted, lines = run_both(4)
    assert [(r.candidate, r.repeat) for r in runs] == [
        ("dxopt", 1), ("clarabel", 1), ("dxopt", 2), ("clarabel", 2), ("clarabel", 3),
    ]  # fmt: skip
    assert not interrupted
    assert [line["seconds"] for line in lines] == [0.1, 0.1, 2.5, 0.1, None]


def test_bounds_of_dxopt_are_known_to_whoever_comes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = outcomes(monkeypatch, *(Outcome(seconds=0.1, bound=bound) for bound in (2.0, 3.0, 7.0, 1.0)))
    run_both(2)
    assert [known for *_, known in asked] == [-math.inf, 2.0, 2.0, 7.0]


def test_who_is_too_late_or_dies_is_not_asked_larger_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    late, dead = Outcome(failure="late", late=True), Outcome(failure="its process ended with -9")
    asked = outcomes(monkeypatch, late, late, dead, late, late, late, late)
    chosen = ("euclidean-7", "l1-5", "euclidean-5")
    runs, _, lines = run_both(2, *chosen, candidates=("highspy", "dxopt", "qif"))
    assert [(instance, candidate) for instance, candidate, _ in asked] == [
        ("euclidean-5", "dxopt"), ("euclidean-5", "highspy"), ("euclidean-5", "qif"), ("euclidean-7", "dxopt"),
        ("l1-5", "dxopt"), ("l1-5", "highspy"), ("l1-5", "qif"),
    ]  # fmt: skip
    skipped = [line for line in lines if line["skipped"]]
    assert [(line["instance"], line["candidate"]) for line in skipped] == [
        ("euclidean-7", "highspy"), ("euclidean-7", "qif"),
    ]  # fmt: skip
    assert "euclidean-5" in skipped[0]["skipped"]
    assert len(runs) == len(lines)


def test_an_instance_without_its_file_is_told_in_one_line() -> None:
    runs, _, (line,) = run_both(2, "gowalla-100")
    assert len(runs) == 1
    assert line["skipped"] == "give --gowalla PATH"
    assert "skipped: give --gowalla PATH" in document(runs)


def test_ctrl_c_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes(monkeypatch, Outcome(seconds=0.1), Outcome(seconds=0.2), None)
    runs, interrupted, lines = run_both(2)
    assert interrupted
    assert len(runs) == len(lines) == 2
    assert {"cores", "numpy", "load", "started", "clarabel"} <= lines[0].keys()


def took(*seconds: float, **more: Any) -> list[Outcome]:
    return [Outcome(9, seconds=s, spent=s, cpu=2 * s, private="proven", value=0.5, gap=1e-7, **more) for s in seconds]


def of(candidate: str, *found: Outcome, role: Role = "peer", instance: str = "i") -> list[Run]:
    return [Run(instance, "f", candidate, role, turn, outcome) for turn, outcome in enumerate(found, start=1)]


def rows(text: str, title: str) -> dict[str, list[str]]:
    """The rows of the table under a title, by the cell that tells them apart."""
    body = text.split(f"## {title}\n\n")[1].split("\n\n")[0].splitlines()[2:]
    split = [[cell.strip() for cell in line.strip("|").split("|")] for line in body]
    return {row[2 if title == "Runs" else 0]: row for row in split}


def test_the_tables_show_medians_ratios_and_why_there_is_no_time() -> None:
    runs = of("dxopt", *took(1.0, 9.0, 2.0), role="dxopt") + of("slow", *took(500.0))
    runs += of("route", *took(1.5), role="route") + of("fast", *took(0.5), role="classic")
    runs += of("wrong", *took(1.0), Outcome(9, failure="a reason", spent=83.0))
    runs += of("late", Outcome(9, failure="no answer within 600 s", late=True, spent=600.0))
    runs += of("big", Outcome(9, refused="too big"))
    text = document(runs)
    found = rows(text, "Runs")
    assert found["dxopt"][3:9] == ["2.0000", "1", "4.0000", "3", "proven", "1.0e-07"]
    assert found["slow"][3:7] == ["500.0000", "250", "1000.0000", "1"]
    assert found["wrong"][3:5] == ["", "(41.5)"]
    assert found["wrong"][-1] == "FAILED: a reason, after 83 s"
    assert found["late"][3:5] == ["> 600", "> 300"]
    assert found["big"][3:5] == ["", ""]
    assert found["big"][-1] == "refused: too big"
    beside = rows(text, "dxopt beside the best")["i"]
    assert beside == ["i", "9", "2.0000", "route", "1.5000", "no", "slow", "500.0000", "250", "yes"]


def test_where_all_peers_are_late_the_ratio_is_a_lower_bound() -> None:
    late = Outcome(9, failure="late", late=True, spent=60.0)
    failed = Outcome(9, failure="infinite leakage", spent=1.0)
    runs = of("dxopt", *took(0.5), role="dxopt") + of("a", late) + of("b", failed)
    assert rows(document(runs), "dxopt beside the best")["i"][6:] == ["a", "> 60", "> 120", "yes"]


def grown(candidate: str, role: Role, power: float) -> list[Run]:
    """Times on five sizes, the first of them under 50 ms."""
    return [
        Run(f"f-{n}", "f", candidate, role, 1, Outcome(n, seconds=0.04 * (n / 10) ** power, spent=1.0))
        for n in (10, 20, 40, 80, 160)
    ]


def test_exponents_are_fitted_above_50_ms() -> None:
    runs = [*grown("dxopt", "dxopt", 2.0), *grown("slow", "peer", 3.5)]
    fitted = growths(cells(runs))
    assert [growth.exponent for growth in fitted] == pytest.approx([2.0, 3.5])
    assert fitted[0].sizes == (20, 40, 80, 160)
    assert rows(document(runs), "Growth of time with the number of points")["f"][1:] == [
        "slow", "3.50", "4", "20 to 160",
    ]  # fmt: skip


def test_a_plot_for_each_family_with_two_sizes(tmp_path: Path) -> None:
    late = Run("f-320", "f", "slow", "peer", 1, Outcome(320, failure="late", late=True, spent=600.0))
    runs = [*grown("dxopt", "dxopt", 2.0), *grown("slow", "peer", 3.5), late, *of("dxopt", *took(1.0), instance="g")]
    alone = [Run("h-1", "h", "dxopt", "dxopt", 1, took(1.0)[0])]
    written = plots(cells([*runs, *alone]), tmp_path)
    assert sorted(path.name for path in written) == ["f.png", "f.svg"]
    assert all(path.stat().st_size > 10_000 for path in written)


def test_of_a_file_the_last_runs_count(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    lines = [
        {"started": started, **Run("i", "f", candidate, "peer", 1, took(seconds)[0]).flat()}
        for started, candidate, seconds in (("1", "a", 5.0), ("1", "b", 6.0), ("2", "a", 7.0), ("2", "a", 9.0))
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    assert {cell.candidate: cell.seconds for cell in cells(read(file))} == {"b": 6.0, "a": 8.0}
    file.write_text('{"started": 1}')
    with pytest.raises(SpecError, match="line 1 is no run"):
        read(file)
    with pytest.raises(SpecError, match="no-such-file"):
        read(tmp_path / "no-such-file")


def test_a_run_that_takes_too_long_is_ended_with_its_helpers() -> None:
    outcome = apart("euclidean-7", "cvxpy", 0.05)
    assert outcome.late
    assert outcome.failure == "no answer within 0.05 s"
    assert (outcome.points, outcome.spent) == (49, 0.05)
    with subprocess.Popen([sys.executable, "-c", SLEEPING], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        helper = int(process.stdout.readline())
        assert children(process.pid) == [helper]
        running.end(process)
    deadline = time.monotonic() + 5
    while alive(helper) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(helper)


SLEEPING = """
import subprocess, sys, time
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid, flush=True)
time.sleep(60)
"""


def alive(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return False
    return "State:\tZ" not in status


def test_groups_hold_what_they_are_for() -> None:
    names = {group: [name for name in INSTANCES if group in INSTANCES.get(name).groups] for group in GROUPS}
    assert set(names["full"]) >= {*names["smoke"], *names["targets"]}
    assert set(names["full"]) == {*INSTANCES}
    assert {INSTANCES.get(name).family for name in names["small"]} >= {"line", "l1", "euclidean", "scattered"}
    assert all(names.values())


APP = typer.Typer()
APP.command()(main)


def test_the_command_writes_lines_tables_and_plots_and_draws_them_again(tmp_path: Path) -> None:
    file = tmp_path / "new" / "lines.jsonl"
    chosen = ("--instance", "tight-grid-10", "--candidate", "dense", "--candidate", "dxopt")
    command = [sys.executable, "-m", "benchmarks", *chosen, "--repeat", "1", "--output", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert "dense, run 1" in done.stderr
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["candidate"] for line in lines] == ["dxopt", "dense"]
    assert all(line["seconds"] > 0 and line["points"] == 100 and line["memory"] > 10 for line in lines)
    assert lines[0]["private"] == "proven"
    written = (tmp_path / "new" / "lines" / "table.md").read_text(encoding="utf-8")
    assert written == done.stdout
    again = CliRunner().invoke(APP, ["--from", str(file)])
    assert (again.exit_code, again.stdout) == (0, written)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("--instance", "nonesuch"), "instance"),
        (("--candidate", "nonesuch"), "candidate"),
        (("--group", "nonesuch"), "group"),
        (("--family", "nonesuch"), "family"),
        (("--family", "gowalla"), "family"),
        (("--gowalla", "nonesuch.csv"), "nonesuch.csv"),
        (("--from", "nonesuch.jsonl"), "from"),
        (("--output", "."), "."),
        (("--page", "nonesuch.md"), "page"),
    ],
)
def test_a_bad_name_is_one_line(arguments: tuple[str, ...], field: str, tmp_path: Path) -> None:
    output = () if "--output" in arguments else ("--output", str(tmp_path / "lines.jsonl"))
    done = CliRunner().invoke(APP, [*arguments, *output])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"{field}: ")
    assert not (tmp_path / "lines.jsonl").exists()
