"""Worker processes: their messages, the memory that they hold, and what becomes of a job whose worker dies."""

from __future__ import annotations

import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

from dxopt.errors import SpecError
from dxopt.runtime.process import Process

if TYPE_CHECKING:
    from dxopt.batch.answering import Tell
    from dxopt.batch.jobs import Job
    from dxopt.batch.outcome import Done

ONE_THREAD: dict[str, str] = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)
RENEW = 0.5
"""A worker that holds more than this share of the limit does no further job; another takes its place."""
_MIB = 2**20
_PATIENCE = 1.0


class Worker(Process):
    """A process with one thread for linear algebra, and the job that it does.

    Parameters
    ----------
    memory_limit : float, optional
        In MiB, of all memory that it and its solver hold.
    folder, arrived
        See Process.

    Attributes
    ----------
    ready, used : bool
        Whether it can take jobs, and had one.
    failed : str or None
        What went wrong, where it ended before it was ready.
    """

    def __init__(
        self,
        memory_limit: float | None = None,
        *,
        folder: str | None = None,
        arrived: threading.Event | None = None,
    ) -> None:
        super().__init__("dxopt.batch.worker_main", environment=ONE_THREAD, folder=folder, arrived=arrived)
        self.job: Job | None = None
        self.ready = False
        self.used = False
        self.failed: str | None = None
        self._memory_limit = memory_limit
        self._asked_to_stop = False

    def start(self, job: Job) -> None:
        """Begin a job."""
        self.job = job
        self.used = True
        with suppress(OSError):  # it has died; the next `poll` finds that
            self.line.send(job)

    def ask_to_stop(self) -> None:
        """Pass Ctrl-C on, once."""
        if not self._asked_to_stop and self.job is not None:
            self._asked_to_stop = True
            self.interrupt()

    def poll(self, tell: Tell) -> Done | None:
        """Pass on the messages that came; return what became of the job once that is known.

        Afterwards a worker that died, or held too much memory and was killed, is `ended`.
        """
        done = self._died() if self.exceeds_memory() else self._receive(tell)
        if done is not None:
            self.job = None
        return done

    def exceeds_memory(self, share: float = 1.0) -> bool:
        """Whether it holds more memory than a share of the limit."""
        if self._memory_limit is None:
            return False
        return resident(self.process.pid) > share * self._memory_limit * _MIB

    @property
    def ended(self) -> bool:
        """Whether it can do no more jobs."""
        return self.line.closed

    def _receive(self, tell: Tell) -> Done | None:
        """Read the messages of `worker_main`: that it is ready, lines of progress, the outcome of the job."""
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
        """End the process for good; return what became of its job, if it had one."""
        job = self.job
        over = self.exceeds_memory()
        # A process that closed its connection is about to end: its exit code tells why. One over the limit is killed.
        if not over:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_PATIENCE)
        code = self.process.poll()
        self.end()
        if job is not None:
            return self._lost(job, over, code)
        # No job is lost. Whether another one is to start in its place is up to whoever started it.
        if over and not self.used:
            wrong = f"is {self._memory_limit:g} MiB, which a process without a problem takes already"
            raise SpecError("memory_limit", wrong, "give more")
        self.failed = None if self.ready else f"a worker process did not start (code {code}); see what it wrote"
        return None

    def _lost(self, job: Job, over: bool, code: int | None) -> Done:
        """What became of a job whose process had to be killed, or died by itself with an exit code."""
        if over:
            return job.not_done("out of memory", f"out of memory: it took more than {self._memory_limit:g} MiB")
        if code and code < 0:
            return job.not_done("killed", f"its process was killed by signal {-code}; out of memory perhaps")
        return job.not_done("killed", f"its process ended with code {code}")


def resident(process: int) -> int:
    """Return the bytes that a process and those it started hold in memory; 0 of one that is gone."""
    held = 0
    with suppress(psutil.Error):
        first = psutil.Process(process)
        for each in (first, *first.children(recursive=True)):
            with suppress(psutil.Error):  # it ended since it was found; the others have not
                held += each.memory_info().rss
    return held
