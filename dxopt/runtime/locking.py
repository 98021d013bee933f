"""Locks by which one process at a time works on a file or a folder: a lock file that it holds."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

_TICK = 0.05
"""Seconds between tries to take a lock that another process holds."""


@contextmanager
def locked(file: Path, patience: float = 0.0) -> Iterator[None]:
    """Hold a lock file during this context; it is made for that, and removed at the end.

    If another process holds it, wait for up to `patience` seconds.

    Raises
    ------
    BlockingIOError
        If the other process still holds it then.
    OSError
        If it cannot be written.
    """
    file = file.parent.resolve(strict=True) / file.name  # FileLock would make a missing folder
    lock = FileLock(file)
    try:
        lock.acquire(timeout=patience, poll_interval=_TICK)
    except Timeout:
        raise BlockingIOError(errno.EAGAIN, "another process holds it") from None
    try:
        yield
    finally:
        # Before the release: nobody else has it then. Windows removes no open file; the library does that there.
        with suppress(OSError):
            file.unlink()
        lock.release()
