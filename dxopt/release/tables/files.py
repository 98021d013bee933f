"""Tables in files: what `IntegerTable` is made of, written and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.model.saved_reports import pack_reports, unpack_reports
from dxopt.release.tables import portable
from dxopt.release.tables.proof import Counts
from dxopt.runtime.archive import SUFFIX, read, write
from dxopt.runtime.reading import is_file, is_folder, no_result, read_json
from dxopt.spaces.archive import pack, unpack

Parts = dict[str, Any]
"""The fields of an `IntegerTable` by name."""
FORMAT = 1
"""The version of files of tables."""
CLAIMS = {"epsilon": float, "delta": float, "pairs": str, "cost": float, "variation": float, "name": str}


def save_table(parts: Parts, file: Path) -> Path:
    """Write what a table is made of to a file; see `IntegerTable.save`."""
    if file.suffix == portable.SUFFIX:
        return portable.write(parts, file)
    if file.suffix != SUFFIX:
        wrong = f"{file} has neither the ending {SUFFIX} nor {portable.SUFFIX}"
        fix = f"name it {file.stem}{SUFFIX}, or {file.stem}{portable.SUFFIX} for other languages"
        raise SpecError("file", wrong, fix)
    claims = {name: parts[name] for name in CLAIMS}
    known = {} if parts["prior"] is None else {"prior": parts["prior"]}
    counts = {"bits": parts["bits"], "counts": _bytes(parts["counts"], parts["bits"])}
    return write(file, counts | claims | known | pack(parts["space"]) | pack_reports(parts["reports"]), FORMAT)


def load_table(file: Path) -> Parts:
    """What the table is made of that `save_table` wrote, not yet proven; see `IntegerTable.load`."""
    if is_folder(file):
        file = _inside(file)
    if file.suffix == portable.SUFFIX:
        return portable.read(file)
    if file.suffix != SUFFIX and is_file(file):
        fix = f"name the folder that `dxopt solve` wrote, or a file *{SUFFIX} or *{portable.SUFFIX}"
        raise no_result(file, "table", "is no result folder, and no table file", fix)
    return read(file, _unpacked, FORMAT, "table")


def _inside(folder: Path) -> Path:
    """The table of a result folder; SpecError, with the reason that the result gives, where it has none."""
    table = folder / "table.npz"
    if not is_file(table):
        try:
            reason = read_json(folder / "claims.json")["table"]
        except (OSError, ValueError, LookupError, TypeError):
            fix = "name a result with a table, or the file of one"
            raise SpecError("table", f"{folder} has none: it is no result folder", fix) from None
        fix = (
            "name a result with a table (results have one for up to 368 secrets that are reports), or make it in "
            f"Python: dx.integer_table(dx.load({str(folder)!r}).mechanism).save('table.dxt'), and name that file"
        )
        raise SpecError("table", f"{folder} has none: {reason}", fix)
    return table


def _unpacked(arrays: dict[str, NDArray[Any]]) -> Parts:
    space = unpack(arrays)
    claims: Parts = {name: kind(arrays[name]) for name, kind in CLAIMS.items()}
    counts = {"counts": _counts(arrays["counts"]), "bits": int(arrays["bits"])}
    known = {"space": space, "reports": unpack_reports(arrays, space), "prior": arrays.get("prior")}
    return known | counts | claims


def _bytes(counts: Counts, bits: int) -> NDArray[np.uint8]:
    """The counts as bytes `(n, m, k)`, the highest first."""
    width = bits // 8 + 1
    written = b"".join(count.to_bytes(width, "big") for count in counts.ravel().tolist())
    return np.frombuffer(written, dtype=np.uint8).reshape(*counts.shape, width)


def _counts(stored: NDArray[np.uint8]) -> Counts:
    """The counts `(n, m)` from their bytes."""
    *shape, width = stored.shape
    written = stored.astype(np.uint8, copy=False).tobytes()
    counts = [int.from_bytes(written[i : i + width], "big") for i in range(0, len(written), width)]
    return np.array(counts, dtype=object).reshape(shape)
