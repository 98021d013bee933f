"""Files that are written whole or not at all, by one run at a time."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from dxopt.errors import SpecError
from dxopt.runtime.whole import partial_of

_BLOCK = 1 << 20


def require_free(file: Path, data: Path | None, *, force: bool) -> None:
    """Raise SpecError where a file may not be written: it is the input, a folder, or there already."""
    if not file.parent.is_dir():
        raise SpecError("output", f"there is no folder {file.parent}", "make it, or name another file")
    if data is not None and file.exists() and file.samefile(data):
        raise SpecError("output", f"{file} is the input", "name another file")
    if file.is_dir():
        raise SpecError("output", f"{file} is a folder", "name a file")
    if file.exists() and not force:
        raise SpecError("output", f"{file} is there already", "name another file, or replace it by force")


@contextmanager
def whole(file: Path, *, marked: bool = False) -> Iterator[IO[bytes]]:
    """A context with a stream to a file, which is there under its name once the context ends well, and not before.

    Parameters
    ----------
    file : Path
    marked : bool
        Whether the hidden file is left behind, empty, where the context ends badly, as a sign that it did.

    Raises
    ------
    SpecError
        If the file cannot be written, or another run is writing it.
    """
    partial = partial_of(file)
    try:
        stream = _locked(partial, file)
    except OSError as error:
        raise _unwritable(file, error) from None
    try:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
        partial.replace(file)
    except BaseException as error:
        with suppress(OSError):
            stream.close()
        _clear(partial, marked=marked)
        if isinstance(error, OSError):
            raise _unwritable(file, error) from None
        raise
    stream.close()


def publish(file: Path, sha256: str) -> bool:
    """Give the hidden file of a run that was killed its name, where it has this digest and nobody writes it."""
    partial = partial_of(file)
    try:
        with partial.open("rb") as stream:
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            if digest_of(partial) != sha256:
                return False
            os.fsync(stream.fileno())
            partial.replace(file)
    except OSError:
        return False
    return True


def _locked(partial: Path, file: Path) -> IO[bytes]:
    """The hidden file, opened and locked; what a run that was killed left in it is gone."""
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # whoever held the lock may have renamed the file between the two calls
        if os.fstat(descriptor).st_ino != partial.stat().st_ino:
            raise BlockingIOError
        os.ftruncate(descriptor, 0)
    except (BlockingIOError, FileNotFoundError):
        os.close(descriptor)
        raise SpecError("output", f"another run is writing {file}", "wait for it, or name another file") from None
    return os.fdopen(descriptor, "wb")


def _clear(partial: Path, *, marked: bool) -> None:
    with suppress(OSError):
        if marked:
            partial.write_bytes(b"")
        else:
            partial.unlink()


def _unwritable(file: Path, error: OSError) -> SpecError:
    return SpecError("output", f"{file} cannot be written: {error.strerror or error}", "name another file")


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write JSON to a file, all at once; SpecError where it cannot be written."""
    with whole(file) as stream:
        stream.write(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def digest_of(file: Path) -> str:
    """The SHA-256 of a file."""
    found = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return found.hexdigest()
