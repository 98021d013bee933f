"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from dxopt.errors import Option, SpecError


@contextmanager
def replacing(
    file: Path, field: str, fix: str = "name another file", *, private: bool = False
) -> Iterator[IO[bytes]]:
    """Yield a stream whose content becomes the file, in place of an earlier one, once the context ends without error.

    Until then the content is in a hidden file beside it, which must be new: nothing that somebody else has put there,
    such as a link, is written to, as nobody can guess its name. An error removes it. A `private` file is for its
    owner alone, and replaces none. `field` and `fix` are those of errors.

    Raises
    ------
    SpecError
        If the file cannot be written; an earlier one is then as it was.
    """
    try:
        hidden = file.with_name(f".{file.name}.{secrets.token_hex(8)}.part")
        stream = new_hidden(hidden)
    except (OSError, ValueError) as error:
        raise unwritable(field, file, error, fix) from None
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if private:
            os.link(hidden, file)
            hidden.unlink()
        else:
            give_name(hidden, file)
    except FileExistsError:
        with suppress(OSError):
            hidden.unlink()
        raise SpecError(field, f"{file} is there already", "name a new file") from None
    except BaseException as error:
        with suppress(OSError):
            hidden.unlink()
        if isinstance(error, OSError):
            raise unwritable(field, file, error, fix) from None
        raise


def new_hidden(hidden: Path) -> IO[bytes]:
    """Open a new file for writing that its owner alone may read from the start; OSError if it is there."""
    return open(hidden, "xb", opener=lambda path, flags: os.open(path, flags, 0o600))


def give_name(hidden: Path, file: Path) -> None:
    """Give a hidden file its name, and the mode that new files have."""
    mask = os.umask(0o077)
    os.umask(mask)
    with suppress(OSError):  # of a file system without modes
        hidden.chmod(0o666 & ~mask)
    hidden.replace(file)


def require_free(file: Path, *, force: bool) -> None:
    """Raise SpecError unless an output may be written: in a folder that exists, and new, or a file with `force`."""
    try:
        there = file.exists()
    except (OSError, ValueError) as error:
        raise unwritable("output", file, error) from None
    if not file.parent.is_dir():
        raise SpecError("output", f"there is no folder {file.parent}", "make it, or name another file")
    if file.is_dir():
        raise SpecError("output", f"{file} is a folder", "name a file")
    if there and not force:
        wrong = f"{file} is there already"
        raise SpecError("output", wrong, "name another file, or replace it with ", Option("force", True))


def unwritable(field: str, file: Path, error: OSError | ValueError, fix: str = "name another file") -> SpecError:
    """Return the error of a file that cannot be written."""
    return SpecError(field, f"{file} cannot be written: {getattr(error, 'strerror', None) or error}", fix)
