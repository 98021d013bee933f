"""Batches: in this process, in others of this machine, or on a cluster.

What takes long to load is imported where it is used: processes that are started load it at the same time.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dxopt.batch.overrides import Overrides
from dxopt.batch.pool import Pool
from dxopt.errors import SpecError
from dxopt.runtime.stopping import Stop, terminable

if TYPE_CHECKING:
    from dxopt.batch.answering import Answer, Tell
    from dxopt.batch.jobs import Job
    from dxopt.batch.lines import Line
    from dxopt.batch.outcome import Done, Outcome

Settled = Callable[["Line", int, int], None]
_PATIENCE = 10.0


def run(
    paths: Iterable[Path],
    output: Path,
    *,
    overrides: Overrides | None = None,
    tell: Tell = lambda name, line: None,
    finished: Callable[[Answer], None] = lambda answer: None,
) -> Outcome:
    """Solve every problem of every file in this process and save each result as it comes.

    Parameters
    ----------
    paths : paths
        Problem files, or folders that are searched for *.yaml.
    output : Path
        Each result goes to a folder in it, named after its problem.
    tell : callable
        Given (problem name, progress line).
    finished : callable
        Given each report, level or frontier once it is saved.

    Raises
    ------
    SpecError
        If a folder holds no problem file.
    """
    from dxopt.batch.jobs import Job, jobs_of
    from dxopt.batch.outcome import Outcome
    from dxopt.batch.perform import perform

    results: list[Done] = []
    with Stop() as stop, terminable():
        for job in jobs_of(paths, output, overrides or Overrides()):
            if not isinstance(job, Job):
                done = job
            elif stop.interrupted:
                done = job.not_started()
            else:
                done = perform(job, tell, finished)
            stop.interrupted |= done.interrupted
            results.append(done)
    return Outcome.of(results)


def run_apart(
    paths: Iterable[Path],
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
    paths, output, overrides, tell
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
        if cluster is None:
            with Pool(workers, memory_limit=memory_limit, lock=lock) as pool:
                return _run(paths, output, overrides, resume, settled, lambda jobs: pool.do(jobs, stop, tell))
        from dxopt.batch.cluster import on_cluster

        doing = partial(on_cluster, stop=stop, address=cluster, memory_limit=memory_limit)
        return _run(paths, output, overrides, resume, settled, doing)


def _run(
    paths: Iterable[Path],
    output: Path,
    overrides: Overrides | None,
    resume: bool,
    settled: Settled,
    doing: Callable[[Mapping[int, Job]], Iterator[tuple[int, Done]]],
) -> Outcome:
    """Find the jobs, have those done that are not finished, and sum up."""
    from dxopt.batch.jobs import Job, jobs_of
    from dxopt.batch.outcome import Outcome
    from dxopt.batch.resume import finished, other_version, recover

    found = jobs_of(paths, output, overrides or Overrides())
    jobs = {place: job for place, job in enumerate(found) if isinstance(job, Job)}
    recover(job.folder for job in jobs.values())
    earlier = {place: done for place, job in jobs.items() if resume and (done := finished(job)) is not None}
    versions = Counter(map(other_version, jobs.values())) if resume else Counter()
    results = {place: job for place, job in enumerate(found) if not isinstance(job, Job)} | earlier
    try:
        for place, done in doing({place: job for place, job in jobs.items() if place not in earlier}):
            results[place] = done
            settled(done.line, len(results), len(found))
        recover(job.folder for job in jobs.values())
    finally:
        missing = {place: job.not_started() for place, job in jobs.items() if place not in results}
        outcome = Outcome.of(done for _, done in sorted({**results, **missing}.items()))
        outcome.notes += [f"{len(earlier)} of {len(found)} were finished before"] if earlier else []
        outcome.notes += [
            f"{count} earlier results are of dxopt {version}, and were asked for again"
            for version, count in versions.items()
            if version is not None
        ]
        outcome.save(output)
    return outcome


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
