"""Jobs on a cluster of Dask: each worker there has processes as a batch on one machine has."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import dxopt
from dxopt.batch.jobs import Job
from dxopt.batch.outcome import Done
from dxopt.batch.pool import RENEW, Worker
from dxopt.runtime.cluster import open_client
from dxopt.runtime.stopping import Stop

_TICK = 0.1
_ASK_EVERY = 1.0


def on_cluster(
    jobs: Mapping[int, Job], stop: Stop, address: str, *, memory_limit: float | None
) -> Iterator[tuple[int, Done]]:
    """Yield the outcome of each job with its index, as they end; another worker repeats the job of one that dies.

    The workers read the problem files and write the results, at the same paths as here.
    """
    with open_client(address) as client:
        from distributed import Event

        halt = Event(f"dxopt-halt-{uuid.uuid4().hex}", client=client)
        options = {"halt": halt.name, "memory_limit": memory_limit, "folder": str(Path.cwd())}
        waiting = {
            client.submit(remotely, job, dxopt.__version__, **options, pure=False): index
            for index, job in jobs.items()
        }
        halted = False
        try:
            while waiting:
                if stop.interrupted and not halted:
                    halted = True
                    halt.set()
                for future in [future for future in waiting if future.done()]:
                    index = waiting.pop(future)
                    yield index, _result(future, jobs[index])
                time.sleep(_TICK)
        finally:
            with suppress(OSError):  # the scheduler is lost
                halt.set()


def remotely(job: Job, version: str, *, halt: str, memory_limit: float | None, folder: str) -> Done:
    """Do a job on a worker of the cluster, in a process that is kept for the next one."""
    from distributed import Event

    if dxopt.__version__ != version:
        return job.not_done("failed", f"the cluster has dxopt {dxopt.__version__}, not {version}")
    halted = Event(halt)
    if halted.is_set():
        return job.not_started()
    worker = _worker(memory_limit, folder)
    worker.start(job)
    # The event is asked for rarely, as each time is a message to the scheduler.
    next_look = time.monotonic() + _ASK_EVERY
    while (done := worker.poll(lambda name, line: None)) is None:
        worker.line.poll(_TICK)
        if time.monotonic() > next_look:
            next_look = time.monotonic() + _ASK_EVERY
            if halted.is_set():
                worker.ask_to_stop()
    return done


_kept = threading.local()
"""The process of each thread of a worker of the cluster, and what it was started with."""


def _worker(memory_limit: float | None, folder: str) -> Worker:
    """Return the process that this thread keeps, or a new one where that is dead, too large or not as asked for."""
    worker = _kept.__dict__.get("worker")
    options = (memory_limit, folder)
    if worker is None or worker.ended or _kept.options != options or worker.exceeds_memory(RENEW):
        if worker is not None and not worker.ended:
            worker.end()
        worker = Worker(memory_limit, folder=folder)
        _kept.worker = worker
        _kept.options = options
    return worker


def _result(future: Any, job: Job) -> Done:
    if future.status == "finished":
        return future.result()
    if future.status == "error":
        error = future.exception()
        return job.not_done("failed", " ".join(f"{type(error).__name__}: {error}".split()))
    return job.not_done("failed", "the cluster was lost")
