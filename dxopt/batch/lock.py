"""A lock on the output folder of a batch."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dxopt.errors import SpecError

PATIENCE = 10.0
"""Seconds to wait for another batch, whose processes may be about to end."""


@contextmanager
def hold(output: Path) -> Iterator[int]:
    """Hold an output folder, so that no two batches write to it at once; give the descriptor that holds it.

    Processes that are started with the descriptor hold the folder as well, until the last of them has ended.

    Raises
    ------
    SpecError
        If the folder cannot be written, or another batch holds it.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        lock = os.open(output, os.O_RDONLY)
        tempfile.TemporaryFile(dir=output).close()
    except OSError as error:
        raise SpecError("output", f"{output} cannot be written: {error.strerror}", "name another folder") from None
    try:
        _lock(lock, output)
        yield lock
    finally:
        os.close(lock)


def _lock(lock: int, output: Path) -> None:
    """Lock a folder by its descriptor."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                fix = "wait for it, or name another folder"
                raise SpecError("output", f"another batch is writing to {output}", fix) from None
            time.sleep(0.05)
        except OSError:
            return  # a file system without locks
