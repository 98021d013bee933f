"""A table in one file; checked again when it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.integer_tables.proof import Counts
from dxopt.integer_tables.table import IntegerTable
from dxopt.loss import Reports
from dxopt.spaces.archive import pack, unpack

FORMAT = 1
SUFFIX = ".npz"
_CLAIMS = {"epsilon": float, "delta": float, "pairs": str, "cost": float, "variation": float, "name": str}


def save_table(table: IntegerTable, file: Path) -> Path:
    """Write a table to a file; see `IntegerTable.save`."""
    if file.suffix != SUFFIX:
        raise SpecError("file", f"{file} has no ending {SUFFIX}", f"name it {file.name}{SUFFIX}")
    reports = table.reports
    arrays: dict[str, Any] = {"format": FORMAT, "bits": table.bits, "counts": _bytes(table), **pack(table.space)}
    arrays |= {name: getattr(table, name) for name in _CLAIMS}
    arrays |= {"reports": list(reports.labels), "secrets": reports.secrets}
    if reports.points is not None and reports.points.dtype == float:
        arrays["report_points"] = reports.points
    partial = file.with_name(f".{file.name}.part")
    try:
        with partial.open("wb") as stream:
            np.savez_compressed(stream, **arrays)
        partial.replace(file)
    except OSError as error:
        raise SpecError("file", f"{file} cannot be written: {error.strerror}", "name another file") from None
    finally:
        partial.unlink(missing_ok=True)
    return file


def load_table(file: Path) -> IntegerTable:
    """Read a table that `save_table` wrote, and check it again; see `IntegerTable.load`."""
    try:
        with np.load(file) as stored:
            arrays = dict(stored)
        if int(arrays["format"]) != FORMAT:
            raise SpecError("format", f"version {arrays['format']} is not {FORMAT}", "use a matching dxopt")
        table = _unpacked(arrays)
    except (OSError, KeyError, TypeError, ValueError, EOFError, BadZipFile) as error:
        if isinstance(error, SpecError):
            raise
        raise SpecError("file", f"{file} is no saved table, or damaged ({error})", "save it again") from None
    table.check()
    return table


def _unpacked(arrays: dict[str, NDArray[Any]]) -> IntegerTable:
    space = unpack(arrays)
    reports = Reports.of(space)
    if not arrays["secrets"]:
        reports = Reports(tuple(arrays["reports"].tolist()), arrays.get("report_points"))
    claims: dict[str, Any] = {name: kind(arrays[name]) for name, kind in _CLAIMS.items()}
    return IntegerTable(space, reports, _counts(arrays["counts"]), int(arrays["bits"]), **claims)


def _bytes(table: IntegerTable) -> NDArray[np.uint8]:
    """The counts as bytes `(n, m, k)`, the highest first."""
    width = table.bits // 8 + 1
    written = b"".join(count.to_bytes(width, "big") for count in table.counts.ravel().tolist())
    return np.frombuffer(written, dtype=np.uint8).reshape(*table.counts.shape, width)


def _counts(stored: NDArray[np.uint8]) -> Counts:
    *shape, width = stored.shape
    written = stored.astype(np.uint8, copy=False).tobytes()
    counts = [int.from_bytes(written[i : i + width], "big") for i in range(0, len(written), width)]
    return np.array(counts, dtype=object).reshape(shape)
