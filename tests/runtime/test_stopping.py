"""Ctrl-C, deadlines and solvers that die: a certified answer in bounded time, and the next solve works."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import dxopt as dx
from dxopt.runtime.stopping import Stop
from dxopt.solving.solvers import worker
from tests.material.checks import assert_proven

HANG = 15.0  # seconds; only to catch a solve that does not stop


@pytest.fixture(scope="module")
def big() -> dx.Problem:
    """Takes every solver far longer than the tests wait."""
    space = dx.grid((14, 14))
    prior = dx.Prior.from_weights(space, 1.0 + (11 * np.arange(196)) % 7)
    return dx.Problem(space, epsilon=0.5, prior=prior)


@pytest.fixture(scope="module")
def fallback_value(big: dx.Problem) -> float:
    return dx.solve(big, method="exponential").certificate.value


@pytest.fixture
def small() -> dx.Problem:
    space = dx.line(4)
    return dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))


@contextmanager
def after(seconds: float, action: Callable[[], None]) -> Iterator[None]:
    timer = threading.Timer(seconds, action)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def helper() -> int:
    assert worker._worker is not None
    return worker._worker.process.pid


@pytest.mark.parametrize("solver", ["clarabel", "highs"])
def test_interrupt(big: dx.Problem, fallback_value: float, solver: str) -> None:
    start = time.monotonic()
    with after(1.0, interrupt):
        report = dx.solve(big, method="optimal", solver=solver, time_limit=HANG, partial=True)
    assert time.monotonic() - start < HANG
    assert report.status == "interrupted"
    assert not report.delivered
    assert_proven(report)
    assert report.certificate.value <= fallback_value + 1e-12
    assert report.certificate.bound >= -1e-9


@pytest.mark.parametrize("solver", ["clarabel", "highs"])
def test_time_limit(big: dx.Problem, fallback_value: float, solver: str) -> None:
    start = time.monotonic()
    report = dx.solve(big, method="optimal", solver=solver, time_limit=1.0)
    assert time.monotonic() - start < HANG
    assert report.status == "time limit"
    assert_proven(report)
    assert report.certificate.value <= fallback_value + 1e-12
    assert report.certificate.bound >= -1e-9


@pytest.fixture
def heard() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, also where the tests were started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_interrupt_handler_is_put_back(big: dx.Problem, small: dx.Problem) -> None:
    before = signal.getsignal(signal.SIGINT)
    with after(0.3, interrupt):
        dx.solve(big, method="optimal", solver="clarabel", time_limit=HANG, partial=True)
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        interrupt()
        time.sleep(0.1)
    assert dx.solve(small).status == "optimal"


def test_second_interrupt_raises() -> None:
    with pytest.raises(KeyboardInterrupt), Stop() as stop:
        interrupt()
        time.sleep(0.05)
        assert stop.interrupted
        assert stop.requested
        interrupt()
        time.sleep(0.05)


PARTIAL = (
    "interrupted: stopping with the best result so far; press Ctrl-C again to stop at once (KeyboardInterrupt)\n"
)
RAISING = (
    "interrupted: stopping; what is done will be the `answer` of a KeyboardInterrupt (partial=True returns it); "
    "press Ctrl-C again to stop at once\n"
)


@pytest.fixture
def grid() -> dx.Problem:
    return dx.Problem(dx.grid((3, 3)), epsilon=1.0, prior="uniform")


def once() -> Callable[[str], None]:
    """Progress that interrupts at its first line."""
    lines: list[str] = []

    def told(line: str) -> None:
        lines.append(line)
        if len(lines) == 1:
            interrupt()

    return told


def test_the_first_interrupt_says_what_a_second_one_does(
    grid: dx.Problem, capsys: pytest.CaptureFixture[str]
) -> None:
    report = dx.solve(grid, method="optimal", progress=once(), partial=True)
    assert capsys.readouterr().err == PARTIAL
    assert_proven(report)
    with pytest.raises(KeyboardInterrupt), Stop():
        with Stop():
            interrupt()
            time.sleep(0.05)
        assert capsys.readouterr().err == PARTIAL
        interrupt()
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


QUESTIONS: dict[str, Callable[[dx.Problem, Callable[[str], None]], object]] = {
    "solve": lambda problem, tell: dx.solve(problem, method="optimal", progress=tell),
    "compare": lambda problem, tell: dx.compare(problem, ["exponential"], progress=tell),
    "sweep": lambda problem, tell: dx.sweep(problem, [0.5, 1.0], progress=tell),
    "frontier": lambda problem, tell: dx.frontier(problem, 0.5, 1.0, progress=tell),
    "level": lambda problem, tell: dx.smallest_epsilon(problem, 0.5, progress=tell),
    "budgets": lambda problem, tell: dx.budget_frontier(
        problem.but(objective=dx.AdversaryError(0.9)), 0.9, 1.0, progress=tell
    ),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_without_partial_the_first_interrupt_raises_and_keeps_what_is_done(
    name: str, grid: dx.Problem, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(dx.Interrupted, match="partial=True") as raised:
        QUESTIONS[name](grid, once())
    assert capsys.readouterr() == ("", RAISING)
    assert isinstance(raised.value, KeyboardInterrupt)
    answer = raised.value.answer
    reports = answer.reports if hasattr(answer, "reports") else [answer] if isinstance(answer, dx.Report) else []
    assert all(report.certificate.private for report in reports)
    assert type(answer).__name__ in {"Report", "Comparison", "EpsilonSweep", "Frontier", "BudgetFrontier", "Level"}
    again = pickle.loads(pickle.dumps(dx.Interrupted(3)))
    assert (again.answer, str(again)) == (3, str(dx.Interrupted(3)))


def test_an_interrupted_answer_that_is_compared_raises_nothing(grid: dx.Problem) -> None:
    stopped = dx.solve(grid, method="optimal", progress=once(), partial=True)
    assert dx.compare(grid, ["exponential"], reference=stopped).interrupted is (stopped.status == "interrupted")


def test_the_outermost_context_says_what_is_wanted() -> None:
    with Stop(partial=True) as around:
        with Stop(partial=False) as stop:
            interrupt()
            time.sleep(0.05)
        assert stop.delivered("inner") == "inner"
    assert around.delivered("outer") == "outer"
    with pytest.raises(dx.Interrupted) as raised, Stop(partial=False) as around:
        with Stop(partial=True) as stop:
            interrupt()
            time.sleep(0.05)
        assert stop.delivered("inner") == "inner"
        around.delivered("outer")
    assert raised.value.answer == "outer"


def test_an_interrupt_that_is_passed_on_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Stop(quiet=True) as stop:
        with Stop():
            interrupt()
            time.sleep(0.05)
        assert stop.interrupted
    assert capsys.readouterr().err == ""


def test_a_closed_stream_stops_no_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    with Stop() as stop:
        interrupt()
        time.sleep(0.05)
        assert stop.interrupted


def test_interrupt_before_any_solver_runs(small: dx.Problem) -> None:
    def told(line: str) -> None:
        if "program" in line:
            interrupt()

    report = dx.solve(small, method="optimal", progress=told, partial=True)
    assert_proven(report)
    assert report.status in ("interrupted", "optimal")


@pytest.mark.parametrize("solver", ["clarabel", "highs"])
def test_solver_killed_while_it_works(big: dx.Problem, small: dx.Problem, solver: str) -> None:
    killed: list[int] = []

    def kill(line: str) -> None:
        """Once it has told of an iteration, as it may take a while until it has the program."""
        if "iteration" in line and not killed:
            killed.append(helper())
            os.kill(killed[0], signal.SIGKILL)

    report = dx.solve(big, method="optimal", solver=solver, progress=kill)
    assert len(killed) == 1
    assert_proven(report)
    assert report.status == "feasible"
    assert "died" in report.refused[solver]
    again = dx.solve(small, method="optimal", solver=solver)
    assert again.status == "optimal"


def test_solver_killed_while_it_waits(small: dx.Problem) -> None:
    dx.solve(small, method="optimal", solver="clarabel")
    os.kill(helper(), signal.SIGKILL)
    time.sleep(0.2)
    assert dx.solve(small, method="optimal", solver="clarabel").status == "optimal"


def test_helper_that_does_not_start(small: dx.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    worker.end()
    monkeypatch.setattr("sys.executable", "/bin/false")
    try:
        report = dx.solve(small, method="optimal", solver="clarabel")
    except dx.DxoptError:
        pass  # loud, on purpose, and in words
    else:
        assert_proven(report)
        assert "clarabel" in report.refused
    monkeypatch.undo()
    assert dx.solve(small, method="optimal", solver="clarabel").status == "optimal"


def test_solves_in_threads_take_turns(small: dx.Problem) -> None:
    found: list[dx.Report] = []
    threads = [threading.Thread(target=lambda: found.append(dx.solve(small, method="optimal"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
    assert [report.status for report in found] == ["optimal"] * 4


def test_deadline_is_seen() -> None:
    assert Stop(1e-9).expired
    assert not Stop(1e9).requested
    assert Stop().remaining() is None


def value_on_a_line(size: int) -> float:
    space = dx.line(size)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))
    return dx.solve(problem, method="optimal", solver="clarabel", time_limit=HANG).certificate.value


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
def test_forked_processes_have_helpers_of_their_own() -> None:
    sizes = list(range(10, 18))
    expected = [value_on_a_line(size) for size in sizes]
    with multiprocessing.get_context("fork").Pool(3) as pool:
        found = pool.map_async(value_on_a_line, 3 * sizes, 1).get(4 * HANG)
    assert found == pytest.approx(3 * expected, abs=1e-7)


def test_a_spanner_that_is_stopped_at_once_is_no_worse_than_a_closed_form() -> None:
    space = dx.grid((12, 12))
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))
    report = dx.solve(problem, method="optimal", spanner=1.5, time_limit=0.05)
    assert str(report.status) == "time limit"
    assert report.certificate.private
    assert report.certificate.bound >= 0
    assert report.certificate.value <= dx.solve(problem, method="exponential").certificate.value
