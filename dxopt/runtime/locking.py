"""Files and folders that one run holds at a time: by their descriptor on Linux, by a file beside them elsewhere."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO

from dxopt.runtime.platform import PORTABLE, WRITING, library, lock

LOCK = ".lock"
"""The ending of the file beside a file, and the name of that in a folder."""


@contextmanager
def folder_held(folder: Path) -> Iterator[list[int]]:
    """A context that holds a folder; it has descriptors that hold it as well wherever they are handed on.

    Raises
    ------
    BlockingIOError
        If another one holds it.
    OSError
        If it cannot be written.
    """
    if PORTABLE:
        with _named(folder / LOCK):
            yield []
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            lock(descriptor)
        except BlockingIOError:
            raise
        except OSError:
            pass  # a file system without locks
        yield [descriptor]
    finally:
        os.close(descriptor)


@contextmanager
def file_held(file: Path) -> Iterator[IO[bytes]]:
    """A context with a stream to a file, made where there is none, that no other such context has.

    Raises
    ------
    BlockingIOError
        If another one has it.
    OSError
        If it cannot be written.
    """
    with _named(file.with_name(f"{file.name}{LOCK}")) if PORTABLE else nullcontext():
        stream = os.fdopen(os.open(file, WRITING, 0o666), "wb")
        try:
            if not PORTABLE:
                lock(stream.fileno())
                _require_same(stream, file)
            yield stream
        except BaseException:
            with suppress(OSError):
                stream.close()
            raise
        stream.close()


def rename(stream: IO[bytes], held: Path, file: Path) -> None:
    """Give a file that is held another name; elsewhere than on Linux one that is open has to be closed for that."""
    if PORTABLE:
        stream.close()
    held.replace(file)


def _require_same(stream: IO[bytes], file: Path) -> None:
    """BlockingIOError where the file has been renamed between its opening and its lock, by whoever had it locked."""
    try:
        same = os.fstat(stream.fileno()).st_ino == file.stat().st_ino
    except FileNotFoundError:
        same = False
    if not same:
        raise BlockingIOError


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """A context that holds a lock file, which is removed at its end."""
    filelock = library("filelock")
    if not file.parent.is_dir():  # which the library would make
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(file.parent))
    held = filelock.FileLock(file)
    try:
        held.acquire(timeout=0)
    except filelock.Timeout:
        raise BlockingIOError from None
    try:
        yield
    finally:
        # Before the release: nobody else has it then. Windows removes no open file; the library does that there.
        with suppress(OSError):
            file.unlink()
        held.release()
