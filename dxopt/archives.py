"""Arrays in one file: written whole or not at all, and read with one line for whatever is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tokenize import TokenError
from typing import Any, TypeVar
from zipfile import BadZipFile
from zlib import error as Garbled

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.loss import Reports
from dxopt.spaces.space import MetricSpace

Arrays = dict[str, Any]
Content = TypeVar("Content")

SUFFIX = ".npz"
DAMAGED = (
    *(OSError, LookupError, TypeError, ValueError, ArithmeticError, EOFError, RuntimeError),
    *(BadZipFile, Garbled, TokenError),
)
"""What readers of such files let escape where one is damaged."""


def write(file: Path, arrays: Arrays, version: int) -> Path:
    """Write arrays to a file `*.npz`.

    Raises
    ------
    SpecError
        If the name has another ending, or the file cannot be written; an earlier file is then as it was.
    """
    if file.suffix != SUFFIX:
        raise SpecError("file", f"{file} has no ending {SUFFIX}", f"name it {file.name}{SUFFIX}")
    partial = file.with_name(f".{file.name}.part")
    try:
        with partial.open("wb") as stream:
            np.savez_compressed(stream, format=version, **arrays)
        partial.replace(file)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise SpecError("file", f"{file} cannot be written: {error.strerror}", "name another file") from None
    return file


def read(file: Path, build: Callable[[dict[str, NDArray[Any]]], Content], version: int, kind: str) -> Content:
    """What `build` makes of the arrays of a file that `write` wrote.

    Raises
    ------
    SpecError
        If the file is none of that kind and version, or damaged.
    """
    try:
        with np.load(file) as stored:
            arrays = dict(stored)
        if int(arrays["format"]) != version:
            raise SpecError("format", f"version {arrays['format']} is not {version}", "use a matching dxopt")
        return build(arrays)
    except SpecError:
        raise
    except DAMAGED as error:
        raise SpecError("file", f"{file} is no saved {kind}, or damaged ({error})", "save it again") from None


def pack_reports(reports: Reports) -> Arrays:
    """The arrays that `unpack_reports` makes the reports of."""
    arrays: Arrays = {"reports": list(reports.labels), "secrets": reports.secrets}
    if reports.points is not None and reports.points.dtype == float:
        arrays["report_points"] = reports.points
    return arrays


def unpack_reports(arrays: dict[str, NDArray[Any]], space: MetricSpace) -> Reports:
    """The inverse of `pack_reports`; the secrets of the space where they are the reports."""
    if arrays["secrets"]:
        return Reports.of(space)
    return Reports(tuple(arrays["reports"].tolist()), arrays.get("report_points"))
