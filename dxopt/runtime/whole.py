"""Files that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from dxopt.errors import SpecError


def partial_of(file: Path) -> Path:
    """The hidden file beside a file that has its content until it is whole."""
    return file.with_name(f".{file.name}.part")


@contextmanager
def replacing(file: Path, field: str, fix: str = "name another file") -> Iterator[IO[bytes]]:
    """A context with a stream to a file, which replaces an earlier one once the context ends well.

    Parameters
    ----------
    file : Path
    field, fix : str
        Of the error.

    Raises
    ------
    SpecError
        If the file cannot be written; an earlier one is then as it was.
    """
    partial = partial_of(file)
    try:
        with partial.open("wb") as stream:
            yield stream
        partial.replace(file)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise SpecError(field, f"{file} cannot be written: {error.strerror}", fix) from None
