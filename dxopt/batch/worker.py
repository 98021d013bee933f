"""Processes that do the jobs: what they say, what memory they hold, and that one dies alone."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dxopt.errors import DxoptError, SpecError
from dxopt.runtime.process import Process

if TYPE_CHECKING:
    from dxopt.batch.answering import Tell
    from dxopt.batch.jobs import Job
    from dxopt.batch.outcome import Done

ONE_THREAD: dict[str, str] = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)
_MIB = 2**20
_PATIENCE = 1.0


class Hand(Process):
    """A process with one thread for linear algebra, and the job that it has.

    Parameters
    ----------
    memory_limit : float, optional
        In MiB, of all memory that it and its solver hold.
    keep, folder
        See Process.
    """

    def __init__(
        self, memory_limit: float | None = None, *, keep: Sequence[int] = (), folder: str | None = None
    ) -> None:
        super().__init__("dxopt.batch.worker_main", environment=ONE_THREAD, keep=keep, folder=folder)
        self.job: Job | None = None
        self.ready = self.used = False
        self._limit = memory_limit
        self._asked = False

    def start(self, job: Job) -> None:
        """Begin a job."""
        self.job, self.used = job, True
        with suppress(OSError):  # it has died; `hear` will say so
            self.line.send(job)

    def ask_to_stop(self) -> None:
        """Pass Ctrl-C on, once."""
        if not self._asked and self.job is not None:
            self._asked = True
            self.process.send_signal(signal.SIGINT)

    def hear(self, tell: Tell) -> Done | None:
        """Pass on what is said; what became of the job, once that is known. A hand that died is `ended`."""
        done = self._died() if self.over() else self._heard(tell)
        if done is not None:
            self.job = None
        return done

    def over(self, share: float = 1.0) -> bool:
        """Whether it holds more memory than a share of the limit."""
        return self._limit is not None and _resident(self.process.pid) > share * self._limit * _MIB

    @property
    def ended(self) -> bool:
        """Whether it can do no more jobs."""
        return self.line.closed

    def _heard(self, tell: Tell) -> Done | None:
        try:
            while self.line.poll():
                match self.line.recv():
                    case "ready":
                        self.ready = True
                    case (name, text):
                        tell(name, text)
                    case done:
                        return done
        except (EOFError, OSError):
            return self._died()
        return None

    def _died(self) -> Done | None:
        job, over = self.job, self.over()
        if not over:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_PATIENCE)
        code = self.process.poll()
        self.end()
        if job is None:
            if over and not self.used:
                wrong = f"is {self._limit:g} MiB, which a process without a problem takes already"
                raise SpecError("memory_limit", wrong, "give more")
            if not self.ready:
                raise DxoptError(f"a worker process did not start (code {code}); see what it wrote")
            return None
        if over:
            return job.not_done("out of memory", f"out of memory: it took more than {self._limit:g} MiB")
        how = f"killed by signal {-code}; out of memory perhaps" if code and code < 0 else f"ended with code {code}"
        return job.not_done("killed", f"its process was {how}" if code and code < 0 else f"its process {how}")


def _resident(process: int) -> int:
    """Bytes that a process and those it started hold in memory; 0 of one that is gone."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
        tasks = list(Path(f"/proc/{process}/task").glob("*/children"))
        children = [int(child) for task in tasks for child in task.read_text(encoding="ascii").split()]
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(map(_resident, children))
