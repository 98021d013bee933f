"""Batches: in this process, in others of this machine, or on a cluster."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dxopt.batch.finished import finished, other_version, recover
from dxopt.batch.jobs import Job, Overrides, jobs_of
from dxopt.batch.outcome import Done, Outcome
from dxopt.batch.performing import Answer, Tell, perform
from dxopt.batch.pool import in_processes
from dxopt.errors import SpecError
from dxopt.report.table import Line
from dxopt.stopping import Stop, terminable

Settled = Callable[[Line, int, int], None]
_PATIENCE = 10.0


def run(
    files: Iterable[Path],
    output: Path,
    *,
    overrides: Overrides | None = None,
    tell: Tell = lambda name, line: None,
    finished: Callable[[Answer], None] = lambda answer: None,
) -> Outcome:
    """Solve every problem of every file in this process and save each result as it comes.

    Parameters
    ----------
    files : paths of problem files
    output : Path
        Each result goes to a folder in it, named after its problem.
    tell : callable
        Given (problem name, progress line).
    finished : callable
        Given each report, level or frontier once it is saved.
    """
    results: list[Done] = []
    with Stop() as stop, terminable():
        for job in jobs_of(files, output, overrides or Overrides()):
            if isinstance(job, Done):
                done = job
            elif stop.interrupted:
                done = _not_started(job)
            else:
                done = perform(job, tell, finished)
            stop.interrupted |= done.interrupted
            results.append(done)
    return Outcome.of(results)


def run_apart(
    files: Iterable[Path],
    output: Path,
    *,
    workers: int = 1,
    cluster: str | None = None,
    memory_limit: float | None = None,
    resume: bool = False,
    overrides: Overrides | None = None,
    tell: Tell = lambda name, line: None,
    settled: Settled = lambda line, count, of: None,
) -> Outcome:
    """Solve every problem of every file in processes of their own, each with one thread for linear algebra.

    A problem that is killed, or takes too much memory, is reported and the others go on. At the end, or when it is
    interrupted, summary.json and summary.md are in the output folder.

    Parameters
    ----------
    files, output, overrides, tell
        See `run`.
    workers : int
        How many processes; the results do not depend on it.
    cluster : str, optional
        Address of a scheduler of Dask, or "local:4" for four workers here, instead of `workers`.
    memory_limit : float, optional
        MiB for each problem, its solver included.
    resume : bool
        Whether to leave what is finished: problem, data, options and version of dxopt are the same.
    settled : callable
        Given a line once its problem is done, how many are, and of how many.

    Raises
    ------
    SpecError
        If an option is wrong, the output cannot be written, or another batch is writing to it.
    """
    if workers < 1:
        raise SpecError("jobs", f"is {workers}", "give 1 or more")
    if memory_limit is not None and not memory_limit > 0:
        raise SpecError("memory_limit", f"is {memory_limit:g}", "give a positive number of MiB")
    with _held(output) as lock, Stop() as stop, terminable():
        jobs = jobs_of(files, output, overrides or Overrides())
        folders = [job.folder for job in jobs if isinstance(job, Job)]
        recover(folders)
        versions = Counter(other_version(job) for job in jobs if isinstance(job, Job)) if resume else Counter()
        results = {place: done for place, job in enumerate(jobs) if (done := _known(job, resume)) is not None}
        known = sum(done.finished for done in results.values())
        left = {place: job for place, job in enumerate(jobs) if isinstance(job, Job) and place not in results}
        try:
            if cluster is None:
                doing = in_processes(left, stop, tell, workers=workers, memory_limit=memory_limit, lock=lock)
            else:
                from dxopt.batch.cluster import on_cluster

                doing = on_cluster(left, stop, cluster, memory_limit=memory_limit)
            for place, done in doing:
                results[place] = done
                settled(done.line, len(results), len(jobs))
            recover(folders)
        finally:
            outcome = _gathered(jobs, results)
            outcome.notes += [f"{known} of {len(jobs)} were finished before"] if known else []
            outcome.notes += [
                f"{count} earlier results are of dxopt {version}, and were asked for again"
                for version, count in versions.items()
                if version is not None
            ]
            outcome.save(output)
    return outcome


def _known(job: Job | Done, resume: bool) -> Done | None:
    if isinstance(job, Done):
        return job
    return finished(job) if resume else None


def _gathered(jobs: list[Job | Done], results: Mapping[int, Done]) -> Outcome:
    """The outcome in the order of the files, whatever was done last."""
    return Outcome.of(
        job if isinstance(job, Done) else results.get(place) or _not_started(job) for place, job in enumerate(jobs)
    )


def _not_started(job: Job) -> Done:
    return job.not_done("not started", "not started, as the run was interrupted")


@contextmanager
def _held(output: Path) -> Iterator[int]:
    """Hold the output folder, so that two batches never write to it at once; also held by the processes started."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        lock = os.open(output, os.O_RDONLY)
        tempfile.TemporaryFile(dir=output).close()
    except OSError as error:
        raise SpecError("output", f"{output} cannot be written: {error.strerror}", "name another folder") from None
    try:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    fix = "wait for it, or name another folder"
                    raise SpecError("output", f"another batch is writing to {output}", fix) from None
                time.sleep(0.05)
            except OSError:
                break  # a file system without locks
        yield lock
    finally:
        os.close(lock)
