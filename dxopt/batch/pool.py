"""Jobs in several processes of this machine."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from dxopt.batch.worker import RENEW, Worker
from dxopt.errors import DxoptError

if TYPE_CHECKING:
    from dxopt.batch.answering import Tell
    from dxopt.batch.jobs import Job
    from dxopt.batch.outcome import Done
    from dxopt.runtime.stopping import Stop

_TICK = 0.05
STARTS = 3
"""How often each worker may fail to start in a row: the next ones would most likely fail as well."""


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
        """What becomes of each job, with its index, in the order in which they are done.

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
        for _ in range(count - len(self._workers)):
            self._workers.append(Worker(self._memory_limit, arrived=self._arrived))

    def _count_failures(self) -> None:
        """Raise DxoptError once too many workers in a row have ended before they were ready."""
        if any(worker.ready for worker in self._workers):
            self._failures = 0
        for worker in self._workers:
            self._failures += worker.failed is not None
            if worker.failed is not None and self._failures >= STARTS * self._most:
                raise DxoptError(worker.failed)

    def _drop_ended(self) -> None:
        self._workers = [worker for worker in self._workers if not worker.ended]
