"""Read files from outside without trusting them: only regular files of bounded size, and archives that stay small.

A device may have no end, and a pipe that nobody writes to never begins: neither is read.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import stat
import zipfile
from collections.abc import Iterator, Sized
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dxopt.errors import SpecError, required

_READING = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
"""Flags to open a file that may be a pipe, without waiting."""

MOST_TEXT = 20_000_000
"""Bytes of JSON. The indices of a million points have 17 MB; so many empty lists take half a GB and some seconds."""
MOST_GRAPH = 64_000_000
"""Bytes of GraphML: over half a million roads. A parser takes ten times the memory."""
MOST_LISTS = 4_000_000
"""Lists and objects of a file of GeoJSON: each takes 140 bytes in memory, with the two coordinates it may have."""
MOST_TABLE = 400_000_000
"""Bytes of a CSV file: a matrix of 4,000 by 4,000 numbers of 24 letters."""
MOST_VECTORS = 20_000_000_000
"""Bytes of a file of word vectors, which is read line by line: millions of words of 300 numbers have 6 GB."""
MOST_ARRAYS = 3_500_000_000
"""Bytes of all arrays of a file: two matrices of 200 million doubles, the most that mechanisms have, and the rest."""
MOST_DIRECTORY = 8_000_000
"""Bytes that are read of an archive at once: its directory, whatever size that claims."""
MOST_ROW = 4_000_000
"""Letters of a row of people's data: a line of CSV, with the breaks in its quoted text, or a feature of GeoJSON; or
bytes of a row of Parquet. Objects of JSON take up to forty times their letters in memory."""
MOST_CHUNK = 8_000_000
"""Letters, or bytes, of rows that are in memory at once, but for the last of them."""
MOST_COLUMNS = 100_000
"""Columns of people's data: each row has them all in memory."""
MOST_UNPACKED = 64_000_000
"""Bytes of Parquet that are unpacked at once, by the mean size of rows; or in all, unless it has a thousandth."""
MOST_OF_GROUP = 256_000_000
"""Bytes that a group of rows of Parquet has, unless the file has a hundredth: they may be unpacked all at once."""
MOST_KEY = 1_000
"""Bytes of the file of a key: 64 digits, and the end of a line."""
MOST_LETTERS = 1_000_000
"""Letters of a text in arrays, all of which take as much memory as the longest."""
MOST_MEMBERS = 20_000
"""Arrays of a file: products of many factors have a few for each factor."""


def as_path(given: Any, field: str, *, text: bool = False) -> Path:
    """Return the name of a file or a folder as a path; SpecError where it is none, or none that a system has.

    Names that are written elsewhere must be `text`, which not all that Linux takes are.
    """
    required(field, given, (str, os.PathLike), f"give the name of a {field}")
    try:
        path = Path(given)
        if str(given) and b"\0" not in (str(path).encode() if text else os.fsencode(path)):
            return path
    except (TypeError, UnicodeEncodeError):
        pass
    raise SpecError(field, f"is no name {'in UTF-8 ' if text else ''}that a file can have", "give another name")


def is_file(path: Path) -> bool:
    """Return True if a plain file of that name exists; False, not an error, of a name that no system has."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Return True if a folder of that name exists; False, not an error, of a name that no system has."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def below(folder: Path) -> Iterator[Path]:
    """Yield what is in a folder at any depth; nothing behind links, or in folders that cannot be read."""
    waiting = [folder]
    while waiting:
        with suppress(OSError):
            for entry in os.scandir(waiting.pop()):
                yield Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))


def no_result(path: Path, field: str, wrong: str, fix: str) -> SpecError:
    """Return the error about a path that is no result; about a problem file, that it must be solved first."""
    if path.suffix in (".yaml", ".yml") and is_file(path):
        fix = "run `dxopt solve` on it first, and name its result folder"
        return SpecError(field, f"{path} is a problem file", fix)
    return SpecError(field, f"{path} {wrong}", fix)


def require_few(names: Sized) -> None:
    """Raise SpecError where data has more columns than are read."""
    if len(names) > MOST_COLUMNS:
        raise SpecError("data", f"has more than {MOST_COLUMNS:,} columns", "keep those that are needed")


def too_long(noun: str, number: int, unit: str = "letters") -> SpecError:
    """Return the error about a row that is too long to be read."""
    fix = "leave out what is not needed, or mend the file"
    return SpecError("data", f"{noun} {number:,} has more than {MOST_ROW:,} {unit}", fix)


class TooLarge(ValueError):
    """A file, or what it holds, has more bytes than any that is meant to be read."""


class BoundedLines(Iterator[str]):
    """Lines of a text of which no row, from one `begin` to the next, has more letters than `most`, else TooLarge.

    A line without end is so refused before it fills the memory. `letters` has those of the row up to now.
    """

    def __init__(self, stream: IO[str], most: int) -> None:
        self._stream = stream
        self._most = most
        self.letters = 0

    def begin(self) -> None:
        """Begin a row."""
        self.letters = 0

    def __next__(self) -> str:
        line = self._stream.readline(self._most + 1 - self.letters)
        if not line:
            raise StopIteration
        self.letters += len(line)
        if self.letters > self._most:
            raise TooLarge(f"it has a line of more than {self._most:,} letters")
        return line


def open_file(path: Path, most: int) -> io.BufferedReader:
    """Return a regular file, opened to be read.

    Raises
    ------
    OSError
        If it cannot be opened, or is a folder.
    TooLarge
        If it has more than `most` bytes.
    ValueError
        If it is a pipe, a device or the like, or its name is none.
    """
    # A pipe that nobody writes to would block `open`, and what a name stands for may change before it is opened:
    # so it is opened without waiting, and then looked at.
    try:
        number = os.open(path, _READING)
    except PermissionError:
        if path.is_dir():  # which opens on Linux alone
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path)) from None
        raise
    try:
        found = os.fstat(number)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is no plain file")
        if found.st_size > most:
            raise TooLarge(f"it has {found.st_size:,} bytes, more than {most:,}")
        return os.fdopen(number, "rb")
    except BaseException:
        os.close(number)
        raise


def content(path: Path, most: int) -> bytes:
    """Return the bytes of a file of at most `most` bytes; the errors are those of `open_file`."""
    with open_file(path, most) as stream:
        # no more memory than the file has bytes, which may have grown since it was opened
        pieces = [stream.read(os.fstat(stream.fileno()).st_size + 1)]
        while pieces[-1] and (left := most + 1 - sum(map(len, pieces))) > 0:
            pieces.append(stream.read(min(left, MOST_CHUNK)))
    if sum(map(len, pieces)) > most:
        raise TooLarge(f"it has more than {most:,} bytes")
    return b"".join(pieces)


def read_json(path: Path) -> Any:
    """Read a file of JSON; ValueError if it is no JSON, and the errors of `open_file`."""
    return json.loads(content(path, MOST_TEXT).decode("utf-8"))


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file `*.npz`, of 3.5 GB in all at most.

    Raises
    ------
    ValueError
        If arrays claim to be larger than what is stored of them, are too large in all, or hold neither numbers nor
        text; and whatever the readers of a damaged file let escape, see `archive.DAMAGED`.
    """
    with open_file(path, MOST_ARRAYS) as stream, zipfile.ZipFile(_SmallReads(stream)) as stored:
        members = stored.infolist()
        if len(members) > MOST_MEMBERS:
            raise TooLarge(f"it has {len(members):,} arrays, more than {MOST_MEMBERS:,}")
        total = sum(member.file_size for member in members)
        if total > MOST_ARRAYS:
            raise TooLarge(f"its arrays have {total:,} bytes, more than {MOST_ARRAYS:,}")
        return {member.filename.removesuffix(".npy"): _array(stored, member) for member in members}


class _SmallReads(io.RawIOBase):
    """A stream that refuses to read much at once: `ZipFile` would read a directory that claims gigabytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        """Read up to that number of bytes, or all that is left; TooLarge if that is over the limit."""
        found = self._stream.read(size if 0 <= size <= MOST_DIRECTORY else MOST_DIRECTORY + 1)
        if len(found) > MOST_DIRECTORY:
            raise TooLarge(f"its directory has more than {MOST_DIRECTORY:,} bytes")
        return found

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a position."""
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        """Return the position."""
        return self._stream.tell()

    def seekable(self) -> bool:
        """Return True: there are always positions to go to."""
        return True


def _array(stored: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Read an array of an archive; ValueError if its shape does not fit its bytes, or it holds no numbers or text.

    Its header is to be the one that NumPy writes, as there is room for any text in others. All that is checked before
    memory is taken.
    """
    with stored.open(member) as stream:
        header = stream.read(npy.MAGIC_LEN + 2)
        header += stream.read(int.from_bytes(header[npy.MAGIC_LEN :], "little"))
        shape, by_columns, dtype = npy.read_array_header_1_0(io.BytesIO(header[npy.MAGIC_LEN :]))
        if dtype.kind not in "biufSU" or not dtype.itemsize:
            raise ValueError(f"{member.filename} is no array of numbers or text")
        if dtype.kind in "SU" and dtype.itemsize > 4 * MOST_LETTERS:
            raise TooLarge(f"{member.filename} has texts of more than {MOST_LETTERS:,} letters")
        written = io.BytesIO()
        stated = {"descr": npy.dtype_to_descr(dtype), "fortran_order": by_columns, "shape": shape}
        npy.write_array_header_1_0(written, stated)
        if written.getvalue() != header:
            raise ValueError(f"{member.filename} has a header that NumPy does not write")
        size = math.prod(shape) * dtype.itemsize
        if size + stream.tell() != member.file_size:
            raise ValueError(f"{member.filename} has not the size of its shape {shape}")
        content, count = bytearray(size), 0
        while piece := stream.read(MOST_DIRECTORY):  # `_SmallReads` refuses to read more at once
            content[count : count + len(piece)] = piece
            count += len(piece)
    if count < size:
        raise ValueError(f"{member.filename} ends early")
    return np.ndarray(shape, dtype, content, order="F" if by_columns else "C")


def require_private(file: Path, mode: int, field: str) -> None:
    """Raise SpecError if the mode of a file lets others than its owner read or write it."""
    if os.name == "posix" and mode & 0o077:
        raise SpecError(field, f"{file} may be read by others", f"run chmod 600 {file}")
