"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from dxopt.errors import Option, SpecError, required
from dxopt.runtime.reading import MOST_KEY, is_file

_KEPT = re.compile(rb"SQLite format 3\0|\s*[0-9a-fA-F]{64}\s*\Z")
"""The beginning of a ledger, or all of a key."""


@contextmanager
def replacing(
    file: Path, field: str, fix: str = "name another file", *, private: bool = False
) -> Iterator[IO[bytes]]:
    """Yield a stream whose content becomes the file, in place of an earlier one, once the context ends without error.

    Until then the content is in a hidden file beside it, which must be new: nothing that somebody else has put there,
    such as a link, is written to, as nobody can guess its name; its owner alone may read it. An error removes it. A
    `private` file stays for its owner alone, and replaces none. `field` and `fix` are those of errors.

    Raises
    ------
    SpecError
        If the file cannot be written; an earlier one is then as it was.
    """
    try:
        hidden = _hidden(file)
        stream = open_private(hidden)
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
            put_in_place(hidden, file)
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


def _hidden(file: Path) -> Path:
    """Return a new hidden name beside a file, which nobody can guess; no other hidden file of it has a longer one.

    OSError where the file has no name, as `.` has none.
    """
    if not file.name:
        raise OSError(errno.EISDIR, "it is a folder")
    return file.with_name(f".{file.name}.{secrets.token_hex(8)}.part")


def open_private(file: Path) -> IO[bytes]:
    """Open a stream to a new file that its owner alone may read, from the moment on at which it is made."""
    return open(file, "xb", opener=lambda path, flags: os.open(path, flags, 0o600))


def put_in_place(hidden: Path, file: Path) -> None:
    """Give a private file that is whole its name, and only then the mode that a new file has in its folder.

    OSError where the name is that of a device, a pipe or a folder.
    """
    if not is_replaceable(file):
        raise OSError(errno.EINVAL, "it is no plain file")
    mode = _mode_to_set(hidden, file)
    hidden.replace(file)
    if mode is not None:
        file.chmod(mode)


def _mode_to_set(hidden: Path, file: Path) -> int | None:
    """Return the mode that a new file has in the folder of `file`, None where the hidden file has it already.

    OSError where the drive lets nobody set a mode.
    """
    probe = _hidden(file)
    with probe.open("xb") as stream:
        mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
    probe.unlink()
    own = stat.S_IMODE(hidden.stat().st_mode)
    if own == mode:  # some file systems have one mode for all, and let nobody set it
        return None
    hidden.chmod(own)
    return mode


def _rehearse(file: Path) -> None:
    """Make the hidden files by which a file gets its name, and remove them; OSError where the drive refuses one."""
    hidden = _hidden(file)
    open_private(hidden).close()
    try:
        _mode_to_set(hidden, file)
    finally:
        hidden.unlink()


def is_replaceable(file: Path) -> bool:
    """Return whether a name is free, or that of a plain file or a link: no device, pipe or folder."""
    with suppress(FileNotFoundError):
        mode = file.lstat().st_mode
        return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
    return True


def require_free(file: Path, *, force: bool) -> None:
    """Raise SpecError unless an output may be written: in a folder, and new, or with `force` no ledger and no key.

    Its hidden files are tried, so that nothing is paid for an output whose name is too long, or that cannot be given
    its mode.
    """
    try:
        there, replaceable = file.exists(), is_replaceable(file)
    except (OSError, ValueError) as error:
        raise unwritable("output", file, error) from None
    if not file.parent.is_dir():
        raise SpecError("output", f"there is no folder {file.parent}", "make it, or name another file")
    if file.is_dir():
        raise SpecError("output", f"{file} is a folder", "name a file")
    if not replaceable:
        raise SpecError("output", f"{file} is a device or a pipe", "name a file")
    if is_file(file) and _KEPT.match(_beginning(file)):
        raise SpecError("output", f"{file} is a ledger or a key", "name another file")
    required("force", force, bool, "give True or False")
    if not force and there:
        wrong = f"{file} is there already"
        raise SpecError("output", wrong, "name another file, or replace it with ", Option("force", True))
    try:
        _rehearse(file)
    except OSError as error:
        raise unwritable("output", file, error) from None


def _beginning(file: Path) -> bytes:
    with suppress(OSError), file.open("rb") as stream:
        return stream.read(MOST_KEY)
    return b""


def unwritable(field: str, file: Path, error: OSError | ValueError, fix: str = "name another file") -> SpecError:
    """Return the error of a file that cannot be written."""
    return SpecError(field, f"{file} cannot be written: {getattr(error, 'strerror', None) or error}", fix)
