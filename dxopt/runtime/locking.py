"""Locks of files and folders, by a file that one process at a time holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

_TICK = 0.05


@contextmanager
def held(file: Path, patience: float = 0.0) -> Iterator[None]:
    """Hold a lock file, which is made for it and removed at the end; wait some seconds for whoever holds it.

    Raises
    ------
    BlockingIOError
        If another one holds it.
    OSError
        If it cannot be written.
    """
    file = file.parent.resolve(strict=True) / file.name  # a folder that is missing would be made
    lock = FileLock(file)
    try:
        lock.acquire(timeout=patience, poll_interval=_TICK)
    except Timeout:
        raise BlockingIOError from None
    try:
        yield
    finally:
        # Before the release: nobody else has it then. Windows removes no open file; the library does that there.
        with suppress(OSError):
            file.unlink()
        lock.release()
