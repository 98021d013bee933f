"""Files that are written whole or not at all, by one run at a time."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from dxopt.errors import BudgetExceeded, Option, SpecError
from dxopt.runtime.locking import held
from dxopt.runtime.reading import is_file
from dxopt.runtime.whole import replacing, unwritable


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


def partial_of(file: Path) -> Path:
    """Return the hidden file beside an output that has its content until it is whole."""
    return file.with_name(f".{file.name}.part")


@contextmanager
def whole(file: Path, *, marked: bool = False) -> Iterator[IO[bytes]]:
    """Give a stream to a file, which is there under its name once the context ends well, and not before.

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
    with ExitStack() as stack:
        try:
            stack.enter_context(_held(partial))
            partial.unlink(missing_ok=True)  # what a run that was killed left
        except BlockingIOError:
            raise SpecError("output", f"another run is writing {file}", "wait for it, or name another file") from None
        except OSError as error:
            raise unwritable("output", file, error) from None
        try:
            with replacing(file, "output", hidden=partial) as stream:
                yield stream
        except BaseException as error:
            if marked and not isinstance(error, BudgetExceeded):
                with suppress(OSError):
                    partial.open("xb").close()
            raise


def publish(file: Path, sha256: str) -> bool:
    """Give the hidden file of a run that was killed its name, where it has this digest and nobody writes it."""
    partial = partial_of(file)
    if not is_file(partial) or partial.is_symlink():
        return False
    try:
        with _held(partial):
            with partial.open("r+b") as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() != sha256:
                    return False
                os.fsync(stream.fileno())
            partial.replace(file)
    except OSError:
        return False
    return True


def _held(partial: Path) -> AbstractContextManager[None]:
    return held(partial.with_name(f"{partial.name}.lock"))


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write JSON to a file, all at once; SpecError where it cannot be written."""
    with replacing(file, "output") as stream:
        stream.write(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
