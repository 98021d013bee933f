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
    """Yield the outcome of each job with its index, in the order in which they end.

    Jobs of a worker that dies go to another one. Workers read problem files and write results at the same paths as
    this process. Ctrl-C reaches them by an event of the scheduler, which each of them asks for.
    """
    with open_client(address) as client:
        from distributed import Event

        halt = Event(f"dxopt-halt-{uuid.uuid4().hex}", client=client)
        options = {"halt": halt.name, "memory_limit": memory_limit, "folder": str(Path.cwd())}
        waiting = {
            client.submit(do_on_worker, job, dxopt.__version__, **options, pure=False): index
            for index, job in jobs.items()
        }
        halted = False
        try:
            while waiting:
                if stop.interrupted and not halted:  # those that run then deliver what they have
                    halted = True
                    halt.set()
                for future in [future for future in waiting if future.done()]:
                    index = waiting.pop(future)
                    yield index, _outcome_of_future(future, jobs[index])
                time.sleep(_TICK)
        finally:
            with suppress(OSError):  # the scheduler is lost
                halt.set()


def do_on_worker(job: Job, version: str, *, halt: str, memory_limit: float | None, folder: str) -> Done:
    """Do a job on a worker, in a process that it keeps for the next job; `halt` names the event that stops all."""
    from distributed import Event

    if dxopt.__version__ != version:
        return job.not_done("failed", f"the cluster has dxopt {dxopt.__version__}, not {version}")
    halted = Event(halt)
    if halted.is_set():
        return job.not_started()
    worker = _kept_worker(memory_limit, folder)
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


def _kept_worker(memory_limit: float | None, folder: str) -> Worker:
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


def _outcome_of_future(future: Any, job: Job) -> Done:
    """Return the outcome of a job from its ended future: what the job returned, or why there is nothing."""
    if future.status == "finished":
        return future.result()
    if future.status == "error":
        error = future.exception()
        return job.not_done("failed", " ".join(f"{type(error).__name__}: {error}".split()))
    return job.not_done("failed", "the cluster was lost")
