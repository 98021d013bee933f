"""A table in one file; checked again when it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.archives import pack_reports, read, unpack_reports, write
from dxopt.integer_tables.proof import Counts
from dxopt.integer_tables.table import IntegerTable
from dxopt.spaces.archive import pack, unpack

FORMAT = 1
_CLAIMS = {"epsilon": float, "delta": float, "pairs": str, "cost": float, "variation": float, "name": str}


def save_table(table: IntegerTable, file: Path) -> Path:
    """Write a table to a file; see `IntegerTable.save`."""
    claims = {name: getattr(table, name) for name in _CLAIMS}
    counts = {"bits": table.bits, "counts": _bytes(table)}
    return write(file, counts | claims | pack(table.space) | pack_reports(table.reports), FORMAT)


def load_table(file: Path) -> IntegerTable:
    """Read a table that `save_table` wrote, and check it again; see `IntegerTable.load`."""
    table = read(file, _unpacked, FORMAT, "table")
    table.check()
    return table


def _unpacked(arrays: dict[str, NDArray[Any]]) -> IntegerTable:
    space = unpack(arrays)
    claims: dict[str, Any] = {name: kind(arrays[name]) for name, kind in _CLAIMS.items()}
    counts = _counts(arrays["counts"])
    return IntegerTable(space, unpack_reports(arrays, space), counts, int(arrays["bits"]), **claims)


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
