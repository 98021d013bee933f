"""Arrays in one file, and the arrays of parts within those of a whole.

A file is written whole or not at all, and read with one line for whatever is wrong with it. A part, such as a factor
of a product, has its arrays among those of the whole, under names that begin with its own; a part that occurs several
times is stored once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, TypeVar
from zipfile import BadZipFile
from zlib import error as Garbled

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.runtime.atomic_write import replacing
from dxopt.runtime.identity import composed
from dxopt.runtime.reading import read_arrays

Arrays = dict[str, Any]
Content = TypeVar("Content")

SUFFIX = ".npz"
DAMAGED = (
    *(OSError, LookupError, TypeError, ValueError, ArithmeticError, EOFError, RuntimeError),
    *(BadZipFile, Garbled, TokenError, AttributeError, MemoryError),
)
"""Errors that readers of such files raise for a damaged one."""
_LONGEST = 120
"""Letters of an error of a reader that a message repeats: some have bytes of the file."""
MOST_NAMES = 2_000_000
"""Names in an array. A few bytes of a packed file can mean millions, each of which takes tens in memory."""


def write(file: Path, arrays: Arrays, version: int) -> Path:
    """Write arrays to a file `*.npz`.

    Raises
    ------
    SpecError
        If the name has another ending, or the file cannot be written; an earlier file is then as it was.
    """
    if file.suffix != SUFFIX:
        raise SpecError("file", f"{file} has no ending {SUFFIX}", f"name it {file.name}{SUFFIX}")
    with replacing(file, "file") as stream:
        compress(stream, {"format": version, **arrays})
    return file


def compress(target: Path | IO[bytes], arrays: Mapping[str, Any]) -> None:
    """Write arrays as `*.npz`; an interrupt ends it as one, which the end of a ZIP file in the middle would hide."""
    try:
        np.savez_compressed(target, **arrays)
    except ValueError as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise error.__context__ from None
        raise


def read(file: Path, build: Callable[[dict[str, NDArray[Any]]], Content], version: int, kind: str) -> Content:
    """Return the object that `build` makes of the arrays of a file that `write` wrote.

    Raises
    ------
    SpecError
        If there is no such file, or it is none of that kind and version, or damaged.
    """
    try:
        arrays = read_arrays(file)
        if int(arrays["format"]) != version:
            raise SpecError("format", f"version {arrays['format']} is not {version}", "use a matching dxopt")
        return build(arrays)
    except SpecError:
        raise
    except (FileNotFoundError, NotADirectoryError):
        raise SpecError("file", f"{file} does not exist", "check the name") from None
    except DAMAGED as error:
        reason = composed(str(error))[:_LONGEST] or type(error).__name__
        raise SpecError("file", f"{file} is no saved {kind}, or damaged ({reason})", "save it again") from None


def names_in(arrays: Mapping[str, NDArray[Any]], key: str, size: int | None = None) -> list[Any]:
    """Return the names in an array, as many as `size`; ValueError where they are not, before each takes memory."""
    found = arrays[key]
    if found.ndim != 1 or len(found) > MOST_NAMES or size not in (None, len(found)):
        raise ValueError(f"{key} is an array {found.shape}, not {size or 'a few'} names")
    return found.tolist()


def nested(name: int | str, arrays: Arrays) -> Arrays:
    """Return the arrays of a part under the names by which the whole stores them: "part/array"."""
    return {f"{name}/{key}": value for key, value in arrays.items()}


def part(arrays: Mapping[str, Any], name: int | str) -> Arrays:
    """Take the arrays of one part out of those of the whole, under their own names: undo `nested`."""
    start = f"{name}/"
    return {key.removeprefix(start): value for key, value in arrays.items() if key.startswith(start)}


def distinct(parts: tuple[Any, ...]) -> list[Any]:
    """Return the objects among the parts in order, each once, by identity and not by equality: these are stored."""
    return list({id(entry): entry for entry in parts}.values())


def indices_of(parts: tuple[Any, ...], kept: list[Any]) -> list[int]:
    """Return the index of each part in `kept`, its `distinct` objects, by which a reader puts the parts together."""
    indices = {id(entry): index for index, entry in enumerate(kept)}
    return [indices[id(entry)] for entry in parts]
