"""Jobs in several processes of this machine."""

from __future__ import annotations

import os
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

import psutil

from dxopt.errors import DxoptError, SpecError
from dxopt.runtime.process import Process

if TYPE_CHECKING:
    from dxopt.batch.answering import Tell
    from dxopt.batch.jobs import Job
    from dxopt.batch.outcome import Done
    from dxopt.runtime.stopping import Stop


ONE_THREAD: dict[str, str] = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)
RENEW = 0.5
"""A worker that holds more than this share of the limit does no further job; another takes its place."""
_MIB = 2**20
_PATIENCE = 1.0
"""Seconds to wait for the exit code of a process."""


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
        """Give it a job, which it begins at once."""
        self.job = job
        self.used = True
        with suppress(OSError):  # it has died; the next `poll` finds that
            self.line.send(job)

    def ask_to_stop(self) -> None:
        """Interrupt the job that runs, if any, as Ctrl-C would; only once, however often this is called."""
        if not self._asked_to_stop and self.job is not None:
            self._asked_to_stop = True
            self.interrupt()

    def poll(self, tell: Tell) -> Done | None:
        """Pass on the messages that came; return what became of the job once that is known.

        Afterwards a worker that died, or held too much memory and was killed, is `ended`.
        """
        done = self._end_dead(over=True) if self.exceeds_memory() else self._receive(tell)
        if done is not None:
            self.job = None
        return done

    def exceeds_memory(self, share: float = 1.0) -> bool:
        """Tell whether it holds more memory than a share of the limit."""
        if self._memory_limit is None:
            return False
        return resident(self.process.pid) > share * self._memory_limit * _MIB

    @property
    def ended(self) -> bool:
        """Tell whether it can do no more jobs, because it was ended."""
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
            return self._end_dead(over=False)
        return None

    def _end_dead(self, *, over: bool) -> Done | None:
        """End a process that died, or is `over` its memory; return the outcome of its job, None if it had none.

        `over` is measured by `poll` alone: measured again, a process may have shrunk or ended since.
        """
        job = self.job
        # A process that closed its connection is about to end: its exit code tells why. One over the limit is killed.
        if not over:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_PATIENCE)
        code = self.process.poll()
        self.end()
        if job is not None:
            return self._outcome_of_lost(job, over, code)
        # Without a job: a limit that an idle process exceeds is the user's error; else it may not have started.
        if over and not self.used:
            wrong = f"is {self._memory_limit:g} MiB, which a process without a problem takes already"
            raise SpecError("memory_limit", wrong, "give more")
        self.failed = None if self.ready else f"a worker process did not start (code {code}); see what it wrote"
        return None

    def _outcome_of_lost(self, job: Job, over: bool, code: int | None) -> Done:
        """Return the outcome of a job whose process is gone; `over` tells that it was ended for its memory."""
        if over:
            return job.not_done("out of memory", f"out of memory: it took more than {self._memory_limit:g} MiB")
        if code and code < 0:
            return job.not_done("killed", f"its process was killed by signal {-code}; out of memory perhaps")
        return job.not_done("killed", f"its process ended with code {code}")


def resident(process: int) -> int:
    """Return the bytes that a process and its children, such as solvers, hold in memory; 0 if it is gone."""
    held = 0
    with suppress(psutil.Error):
        first = psutil.Process(process)
        for each in (first, *first.children(recursive=True)):
            with suppress(psutil.Error):  # it ended since it was found; the others have not
                held += each.memory_info().rss
    return held


_TICK = 0.05
STARTS = 3
"""Times that each worker may fail to start in a row: the next ones would most likely fail as well."""


class Pool:
    """A context with processes that do jobs; none of them is left behind.

    They start at once, before the jobs are known: loading takes longer than a small problem.

    Parameters
    ----------
    workers : int
        How many, at most.
    memory_limit : float, optional
        MiB for each job.
    """

    def __init__(self, workers: int, *, memory_limit: float | None) -> None:
        self._most = workers
        self._memory_limit = memory_limit
        self._arrived = threading.Event()
        self._workers: list[Worker] = []
        self._failures = 0

    def __enter__(self) -> Pool:
        self._start_up_to(min(self._most, os.cpu_count() or 1))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            if not worker.ended:
                worker.end()

    def do(self, jobs: Mapping[int, Job], stop: Stop, tell: Tell) -> Iterator[tuple[int, Done]]:
        """Yield the outcome of each job with its index, in the order in which they end.

        Raises
        ------
        DxoptError
            If processes do not start, again and again.
        SpecError
            If a process without a job takes more memory than one may.
        """
        waiting = deque(jobs.items())
        running: dict[Worker, int] = {}
        while waiting or running:
            # After Ctrl-C no job begins any more; those that run deliver what they have.
            while stop.interrupted and waiting:
                index, job = waiting.popleft()
                yield index, job.not_started()
            # Workers that died are replaced, but never by more than there are jobs.
            self._start_up_to(min(self._most, len(waiting) + len(running)))
            for worker in self._workers:
                if stop.interrupted:
                    worker.ask_to_stop()
                if waiting and worker.ready and worker.job is None:
                    # What is left in memory of earlier jobs must not count against the next one.
                    if worker.used and worker.exceeds_memory(RENEW):
                        worker.end()
                        continue
                    index, job = waiting.popleft()
                    running[worker] = index
                    worker.start(job)
            self._drop_ended()
            # Sleep until a worker has a message, or it is time to look at memory and at `stop` again.
            self._arrived.wait(_TICK)
            self._arrived.clear()
            for worker in self._workers:
                done = worker.poll(tell)
                if done is not None:
                    yield running.pop(worker), done
            self._count_failures()
            self._drop_ended()

    def _start_up_to(self, count: int) -> None:
        """Start workers until there are `count`."""
        for _ in range(count - len(self._workers)):
            self._workers.append(Worker(self._memory_limit, arrived=self._arrived))

    def _count_failures(self) -> None:
        """Raise DxoptError once too many workers in a row never became ready: jobs would wait for ever."""
        if any(worker.ready for worker in self._workers):
            self._failures = 0
        for worker in self._workers:
            self._failures += worker.failed is not None
            if worker.failed is not None and self._failures >= STARTS * self._most:
                raise DxoptError(worker.failed)

    def _drop_ended(self) -> None:
        self._workers = [worker for worker in self._workers if not worker.ended]
