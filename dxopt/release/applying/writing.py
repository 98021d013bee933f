"""Files that are written whole or not at all, by one run at a time."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from dxopt.errors import BudgetExceeded, Option, SpecError
from dxopt.runtime.locking import file_held, rename
from dxopt.runtime.reading import is_file
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
        wrong = f"{file} is there already"
        raise SpecError("output", wrong, "name another file, or replace it with ", Option("force", True))


@contextmanager
def whole(file: Path, *, marked: bool = False) -> Iterator[IO[bytes]]:
    """A context with a stream to a file, which is there under its name once the context ends well, and not before.

    Parameters
    ----------
    file : Path
    marked : bool
        Whether the hidden file is left behind, empty, where the context ends badly, as a sign that it did; not after
        BudgetExceeded, which nothing goes on from.

    Raises
    ------
    SpecError
        If the file cannot be written, or another run is writing it.
    """
    partial = partial_of(file)
    with ExitStack() as held:
        try:
            stream = held.enter_context(file_held(partial))
            stream.truncate(0)  # what a run that was killed left in it is gone
        except BlockingIOError:
            raise SpecError("output", f"another run is writing {file}", "wait for it, or name another file") from None
        except OSError as error:
            raise _unwritable(file, error) from None
        try:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            rename(stream, partial, file)
        except BaseException as error:
            with suppress(OSError):
                stream.close()
            _clear(partial, marked=marked and not isinstance(error, BudgetExceeded))
            if isinstance(error, OSError):
                raise _unwritable(file, error) from None
            raise


def publish(file: Path, sha256: str) -> bool:
    """Give the hidden file of a run that was killed its name, where it has this digest and nobody writes it."""
    partial = partial_of(file)
    if not is_file(partial):
        return False
    try:
        with file_held(partial) as stream:
            if digest_of(partial) != sha256:
                return False
            os.fsync(stream.fileno())
            rename(stream, partial, file)
    except OSError:
        return False
    return True


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
