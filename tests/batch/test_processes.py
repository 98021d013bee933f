"""Batches in processes: the same results, and nothing that happens to one problem happens to another."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt import batch
from dxopt.batch import pool
from dxopt.batch import pool as worker
from dxopt.cli.application import app
from tests.material.batches import (
    FAMILY,
    LONG,
    SMALL,
    alive,
    arrays,
    below,
    gone,
    once_below,
    start,
    told,
    until_told,
    write,
)
from tests.material.few import few


def test_two_processes_give_what_one_gives(tmp_path: Path) -> None:
    files = write(tmp_path, a=SMALL, b=FAMILY, c="space: 7\n", d=SMALL + "expect: {value: 9, source: nowhere}\n")
    one = batch.run_apart(files, tmp_path / "one", workers=1)
    seen: list[tuple[str, int, int]] = []
    two = batch.run_apart(
        files, tmp_path / "two", workers=2, settled=lambda line, count, of: seen.append((line.problem, count, of))
    )
    assert told(tmp_path / "one") == told(tmp_path / "two")
    assert arrays(tmp_path / "one") == arrays(tmp_path / "two") != {}
    assert one.errors == two.errors
    statuses = ["optimal", "optimal", "optimal", "feasible", "feasible", "bad input", "optimal"]
    assert [line.status for line in two.lines] == statuses
    assert sorted(name for name, _, _ in seen) == sorted(line.problem for line in two.lines if line.folder)
    assert [(count, of) for _, count, of in seen] == [(count, 7) for count in range(2, 8)]
    assert two.exit_code == 2
    assert dx.load(tmp_path / "two" / "a").certificate.private


def test_each_process_uses_one_thread(tmp_path: Path) -> None:
    from dxopt.batch.pool import Worker

    worker = Worker()
    try:
        assert worker.line.poll(30)
        environment = psutil.Process(worker.process.pid).environ().items()
    finally:
        worker.end()
    assert dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1").items() <= environment


def test_too_much_memory_bad_data_and_a_kill_are_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    data = "space: {kind: points, file: none.csv, columns: [x]}\nepsilon: [1, 2]\n"
    files = write(tmp_path, a=SMALL, b=LONG, c=data, d=LONG, e=SMALL, f=SMALL)
    killed: list[int] = []

    def tell(name: str, line: str) -> None:
        if name == "d" and not killed:
            killed.extend(below(os.getpid()))
            for process in killed:
                os.kill(process, signal.SIGKILL)

    outcome = batch.run_apart(files, tmp_path / "out", memory_limit=700, tell=tell)
    assert [(line.problem, line.status) for line in outcome.lines] == [
        ("a", "optimal"),
        ("b", "out of memory"),
        ("c", "bad input"),
        ("d", "killed"),
        ("e", "optimal"),
        ("f", "optimal"),
    ]
    over, bad, dead = outcome.errors
    assert over == "b: out of memory: it took more than 700 MiB"
    assert bad.startswith(f"{tmp_path / 'c.yaml'}:1:")
    assert dead == "d: its process was killed by signal 9; out of memory perhaps"
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"a", "e", "f", "summary.json", "summary.md"}


@pytest.mark.parametrize("sent", few([signal.SIGINT, signal.SIGTERM], 1))
def test_a_stop_keeps_what_is_done_and_leaves_no_process(tmp_path: Path, sent: signal.Signals) -> None:
    write(tmp_path, a=SMALL, b=LONG.replace("solver: clarabel\n", "").replace("20, 20", "28, 28"), c=SMALL)
    running = start(tmp_path)
    until_told(running, "b: ")
    time.sleep(1)
    processes = below(running.pid)
    running.send_signal(sent)
    _, stderr = running.communicate(timeout=60)
    assert running.returncode == 1
    assert [line["status"] for line in told(tmp_path / "out")["problems"]] == [
        "optimal",
        "interrupted",
        "not started",
    ]
    assert "| interrupted |" in (tmp_path / "out" / "summary.md").read_text(encoding="utf-8")
    assert dx.load(tmp_path / "out" / "b").certificate.private
    assert "c: not started" in stderr
    assert "Traceback" not in stderr
    assert processes
    assert gone(processes)


def test_a_second_stop_is_at_once(tmp_path: Path) -> None:
    write(tmp_path, a=SMALL, b=LONG)
    running = start(tmp_path)
    until_told(running, "b: ")
    time.sleep(1)
    processes = below(running.pid)
    running.send_signal(signal.SIGINT)
    time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, stderr = running.communicate(timeout=5)
    assert running.returncode in (1, 130)
    assert [line["status"] for line in told(tmp_path / "out")["problems"]] == ["optimal", "not started"]
    assert "Traceback" not in stderr
    assert gone(processes)


def test_a_killed_coordinator_takes_its_processes_along(tmp_path: Path) -> None:
    write(tmp_path, a=LONG, b=LONG)
    running = start(tmp_path, "-j", "2")
    with once_below(running, 4) as processes:
        assert len(processes) >= 4  # two of jobs, each with a solver; portable ways have a guard beside each
    assert gone(processes, 3)


@pytest.mark.parametrize("sent", few(["SIGKILL", "SIGTERM"], 1))
def test_a_solver_ends_with_the_program_that_asked_it(sent: str) -> None:
    program = (
        "import dxopt as dx; space = dx.grid((20, 20)); prior = dx.Prior.uniform(space)\n"
        "dx.solve(dx.Problem(space, epsilon=0.1, prior=prior), method='optimal', solver='clarabel')"
    )
    running = subprocess.Popen([sys.executable, "-c", program])
    with once_below(running, 1) as solvers:
        time.sleep(3)
        assert solvers
        assert all(map(alive, solvers))
        running.send_signal(getattr(signal, sent))
        running.wait()
        assert gone(solvers, 2)


def _killed_at_start(monkeypatch: pytest.MonkeyPatch, deaths: int) -> list[int]:
    """Let so many workers be killed as soon as they are started; give the list of them."""
    killed: list[int] = []

    class Doomed(worker.Worker):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            if len(killed) < deaths:
                killed.append(self.process.pid)
                self.process.kill()

    monkeypatch.setattr(pool, "Worker", Doomed)
    return killed


@pytest.mark.parametrize("deaths", few([1, 5], 1))
def test_workers_that_die_at_start_are_replaced(tmp_path: Path, deaths: int, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = _killed_at_start(monkeypatch, deaths)
    files = write(tmp_path, a=SMALL, b=SMALL, c=SMALL)
    outcome = batch.run_apart(files, tmp_path / "out", workers=2)
    assert [line.status for line in outcome.lines] == ["optimal"] * 3
    assert (outcome.exit_code, len(killed)) == (0, deaths)


def test_workers_that_never_start_end_the_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = _killed_at_start(monkeypatch, 100)
    with pytest.raises(dx.DxoptError, match="a worker process did not start"):
        batch.run_apart(write(tmp_path, a=SMALL, b=SMALL), tmp_path / "out", workers=2)
    assert len(killed) < 10
    assert [line["status"] for line in told(tmp_path / "out")["problems"]] == ["not started"] * 2


@pytest.mark.parametrize(("option", "value"), [("-j", "0"), ("--memory-limit", "-1")])
def test_bad_options_of_a_batch_are_named(tmp_path: Path, option: str, value: str) -> None:
    write(tmp_path, a=SMALL)
    done = CliRunner().invoke(app, ["batch", str(tmp_path), "-o", str(tmp_path / "out"), option, value])
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert re.match(r"(jobs|--memory-limit): is ", line)


def test_a_limit_below_what_a_process_takes_by_itself_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        dx.SpecError, match="memory_limit: is 20 MiB, which a process without a problem takes already"
    ):
        batch.run_apart(write(tmp_path, a=SMALL), tmp_path / "out", memory_limit=20)
