"""Batches: in this process, in others of this machine, or on a cluster.

What takes long to load is imported where it is used: processes that are started load it at the same time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dxopt.batch.overrides import Overrides
from dxopt.batch.pool import Pool
from dxopt.errors import SpecError
from dxopt.runtime.locking import locked
from dxopt.runtime.stopping import Stop, terminable

if TYPE_CHECKING:
    from dxopt.batch.answering import Answer, Tell
    from dxopt.batch.jobs import Job
    from dxopt.batch.outcome import Done, Line, Outcome
    from dxopt.spec import Task


PATIENCE = 10.0
"""Seconds to wait for another batch, whose processes may be about to end."""


@contextmanager
def hold(output: Path) -> Iterator[None]:
    """Hold an output folder, so that no two batches write to it at once.

    Raises
    ------
    SpecError
        If the folder cannot be written, or another batch holds it.
    """
    with ExitStack() as stack:
        try:
            output.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(output / ".lock", PATIENCE))
        except BlockingIOError:
            fix = "wait for it, or name another folder"
            raise SpecError("output", f"another batch is writing to {output}", fix) from None
        except OSError as error:
            wrong = f"{output} cannot be written: {error.strerror or error}"
            raise SpecError("output", wrong, "name another folder") from None
        yield


Settled = Callable[["Line", int, int], None]
"""Given a line once its problem is done, the number that are done, and the number of all."""


def run(
    paths: Iterable[Path],
    output: Path,
    *,
    overrides: Overrides | None = None,
    force: bool = False,
    tell: Tell = lambda name, line: None,
    finished: Callable[[Answer], None] = lambda answer: None,
    begun: Callable[[Task], None] = lambda task: None,
) -> Outcome:
    """Solve every problem of every file in this process and save each result as it comes.

    Parameters
    ----------
    paths : paths
        Problem files, or folders that are searched for *.yaml.
    output : Path
        Each result goes to a folder in it, named after its problem.
    force : bool
        Whether a result may replace one of another problem in the same folder.
    tell : callable
        Given (problem name, progress line).
    finished : callable
        Given each report, level or frontier once it is saved.
    begun : callable
        Given each task before it is answered.

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
        for job, file in jobs_of(paths, output, overrides or Overrides(), force=force):
            if not isinstance(job, Job):
                done = job
            elif stop.interrupted:
                done = job.not_started()
            else:
                done = perform(job, tell, finished, file, begun)
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
    force: bool = False,
    tell: Tell = lambda name, line: None,
    settled: Settled = lambda line, count, of: None,
) -> Outcome:
    """Solve every problem of every file in processes of their own, each with one thread for linear algebra.

    A problem that is killed, or takes too much memory, is reported and the others continue. At the end, or when it is
    interrupted, summary.json and summary.md are in the output folder.

    Parameters
    ----------
    paths, output, overrides, force, tell
        See `run`.
    workers : int
        How many processes; the results do not depend on it.
    cluster : str, optional
        Address of a scheduler of Dask, or "local:4" for four workers here, instead of `workers`.
    memory_limit : float, optional
        MiB for each problem, its solver included.
    resume : bool
        Whether to leave what is finished: problem, data, options and version of dxopt are the same. What has changed
        is replaced.
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
    run_unfinished = partial(_run_unfinished, paths, output, overrides or Overrides(), resume=resume, force=force)
    with hold(output), Stop() as stop, terminable():
        if cluster is None:
            with Pool(workers, memory_limit=memory_limit) as pool:
                return run_unfinished(settled=settled, do_jobs=lambda jobs: pool.do(jobs, stop, tell))
        from dxopt.batch.cluster import on_cluster

        do_jobs = partial(on_cluster, stop=stop, address=cluster, memory_limit=memory_limit)
        return run_unfinished(settled=settled, do_jobs=do_jobs)


def _run_unfinished(
    paths: Iterable[Path],
    output: Path,
    overrides: Overrides,
    *,
    resume: bool,
    force: bool,
    settled: Settled,
    do_jobs: Callable[[Mapping[int, Job]], Iterator[tuple[int, Done]]],
) -> Outcome:
    """Find the jobs, let `do_jobs` do those that an earlier run has not finished, and write the summary of all."""
    from dxopt.batch.jobs import Job, jobs_of
    from dxopt.batch.outcome import Outcome
    from dxopt.batch.resume import finished_before, other_version, why_other_result
    from dxopt.results.folder import recover, remove_locks

    found = [job for job, _ in jobs_of(paths, output, overrides, force=force or resume)]
    jobs = {index: job for index, job in enumerate(found) if isinstance(job, Job)}
    results = {index: done for index, done in enumerate(found) if not isinstance(done, Job)}
    recover(job.folder for job in jobs.values())
    remove_locks(job.folder for job in jobs.values())
    earlier: dict[int, Done] = {}
    versions: Counter[str | None] = Counter()
    replaced = 0
    if resume:
        earlier = {index: done for index, job in jobs.items() if (done := finished_before(job)) is not None}
        versions = Counter(map(other_version, jobs.values()))
        replaced = sum(bool(why_other_result(job)) for job in jobs.values())
    results |= earlier
    try:
        for index, done in do_jobs({index: job for index, job in jobs.items() if index not in earlier}):
            results[index] = done
            settled(done.line, len(results), len(found))
        recover(job.folder for job in jobs.values())
    finally:
        # Whatever ends the batch, its summary has one line for each problem.
        missing = {index: job.not_started() for index, job in jobs.items() if index not in results}
        outcome = Outcome.of(done for _, done in sorted({**results, **missing}.items()))
        outcome.notes += _notes(len(earlier), len(found), versions, replaced)
        outcome.save(output)
    return outcome


def _notes(earlier: int, problems: int, versions: Counter[str | None], replaced: int) -> list[str]:
    """Return a line for each: earlier results that are kept, those of another version, and those to be replaced."""
    notes = [f"{earlier} of {problems} were finished before"] if earlier else []
    for version, count in versions.items():
        if version is not None:
            notes.append(f"{count} earlier results are of dxopt {version}, and were asked for again")
    if replaced:
        notes.append(f"{replaced} earlier results are of problems that have changed since, and are replaced")
    return notes
