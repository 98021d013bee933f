"""Runs solvers in one helper process, so that Ctrl-C, a deadline or a lack of memory stops them and nothing else.

The parent sends (solver, program, accuracy, seconds); the worker answers with any number of (iterations, value), and
then one `Solution`. To stop a solver the parent sends Ctrl-C: a solver with a callback returns what it has. One that
does not within `GRACE` seconds is ended, and a new worker is started for the next solve. However the parent ends, its
worker ends with it (see `runtime.process`).
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from dxopt.runtime.process import Line, Process
from dxopt.runtime.stopping import Status, Stop
from dxopt.solving.programs.program import LinearProgram, Solution
from dxopt.solving.solvers.base import Settings


def unlock_properties() -> None:
    """Give cached properties of dxopt new locks, where they have any (before 3.12): a fork may copy one locked."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "dxopt"]
    kinds = [kind for module in modules for kind in vars(module).values() if isinstance(kind, type)]
    for held in (entry for kind in kinds for entry in vars(kind).values()):
        if isinstance(held, cached_property) and hasattr(held, "lock"):
            held.lock = threading.RLock()  # pyright: ignore[reportAttributeAccessIssue]


Told = Callable[[int, float], None]
"""Given (iterations, value) now and then."""
GRACE = 1.0
"""Seconds that a solver has to stop by itself."""
_TICK = 0.05
"""Seconds between two looks at whether to stop."""
_SIGNAL_EVERY = 0.2
"""Seconds between two signals: one that arrives before the worker has taken up the program is lost."""
_REPORT_EVERY = 0.2
"""Seconds between two reports of progress, at least."""


class Worker(Process):
    """A helper process, seen from its parent."""

    def __init__(self) -> None:
        super().__init__("dxopt.solving.solvers.worker", guarded=True)  # no thread can watch: Clarabel keeps the GIL
        self.line.recv()  # "ready": it handles SIGINT from now on

    def solve(self, asked: tuple[str, LinearProgram, float], stop: Stop, progress: Told) -> Solution:
        """Send what is asked, and wait for the solution.

        Raises TimeoutError where the solver does not stop, and EOFError or OSError where the process has ended.
        """
        self.line.send((*asked, stop.remaining()))
        deadline = None
        signalled = 0.0
        while True:
            # 1. wait for an answer for one tick
            if self.line.poll(_TICK):
                message = self.line.recv()
                if isinstance(message, Solution):
                    return message
                progress(*message)

            # 2. pass a request to stop on, until the solver has had its time
            now = time.monotonic()
            if stop.requested:
                deadline = deadline or now + GRACE
                if now > deadline:
                    raise TimeoutError
                if now - signalled > _SIGNAL_EVERY:
                    signalled = now
                    self.interrupt()


_worker: Worker | None = None
_owner = 0
_turn = threading.Lock()


def solve(solver: str, program: LinearProgram, accuracy: float, stop: Stop, progress: Told) -> Solution:
    """Solve a linear program in the helper process, one at a time; a failure there is a status of the solution."""
    with _turn:
        try:
            solution = _running_worker().solve((solver, program, accuracy), stop, progress)
        except TimeoutError:
            end()
            solution = Solution(Status.FAILED, message=f"{solver}: did not stop when asked and was ended")
        except (EOFError, OSError):
            end()
            solution = Solution(Status.FAILED, message=f"{solver}: its process died, out of memory perhaps")
        except BaseException:  # the answer to this program must not be taken for that to the next one
            end()
            raise
    if solution.status is not Status.OPTIMAL and stop.requested:
        return replace(solution, status=Status.INTERRUPTED if stop.interrupted else Status.TIME_LIMIT)
    return solution


def _running_worker() -> Worker:
    """Return the worker of this process: a new one if the last one died, or belongs to the parent of a fork."""
    global _worker, _owner
    if _worker is not None and _owner == os.getpid() and _worker.process.poll() is not None:
        end()
    if _worker is None or _owner != os.getpid():
        _worker = Worker()
        _owner = os.getpid()
    return _worker


def end() -> None:
    """End the helper process, if there is one."""
    global _worker
    if _worker is not None and _owner == os.getpid():
        _worker.end()
    _worker = None


def _leave_to_parent() -> None:
    """Leave the helper to the parent after a fork, whose threads may wait for it; the copy starts its own."""
    global _worker, _turn
    if _worker is not None and _owner != os.getpid():
        _worker.forget()
    _worker = None
    _turn = threading.Lock()


atexit.register(end)
if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(after_in_child=_leave_to_parent)
    os.register_at_fork(after_in_child=unlock_properties)


def main(line: Line) -> None:
    """Run in the helper process: solve the programs that come, for ever."""
    from dxopt.solving.solvers.plugged import solver_named

    asked_to_stop = threading.Event()
    signal.signal(signal.SIGINT, lambda signum, frame: asked_to_stop.set())
    line.send("ready")
    while True:
        solver, program, accuracy, seconds = line.recv()
        asked_to_stop.clear()
        last = 0.0

        def report(iterations: int, value: float) -> None:
            nonlocal last
            if time.monotonic() - last > _REPORT_EVERY:
                last = time.monotonic()
                line.send((iterations, value))

        settings = Settings(accuracy, seconds, asked_to_stop.is_set, report)
        try:
            solution = solver_named(solver).solve(program, settings)
        except Exception as error:
            solution = Solution(Status.FAILED, message=f"{solver}: {type(error).__name__}: {error}")
        line.send(solution)
