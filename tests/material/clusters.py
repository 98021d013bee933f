"""A cluster of Dask for tests: a real scheduler, and workers in processes of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def cluster(folder: Path, count: int = 2) -> Iterator[tuple[str, subprocess.Popen[str], list[subprocess.Popen[str]]]]:
    """The address of a scheduler, the scheduler, and its workers."""

    def dask(*options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "distributed.cli.dask_" + options[0], *options[1:]]
        return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)

    scheduler = dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    workers: list[subprocess.Popen[str]] = []
    try:
        assert scheduler.stderr is not None
        address = next(found[0] for line in scheduler.stderr if (found := re.search(r"tcp://127\.0\.0\.1:\d+", line)))
        workers += [dask("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard") for _ in range(count)]
        for worker in workers:
            assert worker.stderr is not None
            assert any("Registered to" in line for line in worker.stderr)
        yield address, scheduler, workers
    finally:
        for process in [*workers, scheduler]:
            process.kill()
            process.communicate()
