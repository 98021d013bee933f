"""Read and write tables in files, for Python and for any language (docs/reference/table-file.md).

A head of JSON is followed by sections of raw numbers and by a SHA-256 of everything before it. Row x has its reports
of positive count, and the steps between them: sums of counts, as bytes, the highest first. The number of steps that a
random number of as many bytes is not below is the place of its report. Bytes are compared as text is, so that no
language needs large integers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.model.loss import Reports
from dxopt.release.tables.proof import Counts
from dxopt.runtime.archive import DAMAGED
from dxopt.runtime.reading import MOST_ARRAYS, content, is_file, is_folder, no_result, read_json
from dxopt.spaces.archive import pack, unpack, with_distances

Parts = dict[str, Any]
DXT = ".dxt"
IN_RESULTS = "table.dxt"
"""Name of the table in a result folder."""
MAGIC = b"dxtable1"
VERSION = 1
_AGAIN = "write it again, by dxopt export or IntegerTable.save"
_NUMBERS = ("epsilon", "delta", "cost", "variation")
_FOR_PROOFS = ("space", "cost", "variation")
"""Entries of the head that a draw can do without."""


def load_table(file: Path) -> Parts:
    """Read the parts of a table that `IntegerTable.save` wrote, not yet proven; see `IntegerTable.load`."""
    if is_folder(file):
        file = _table_of_folder(file)
    if file.suffix != DXT and is_file(file):
        fix = f"name the folder that `dxopt solve` wrote, or a file *{DXT}"
        raise no_result(file, "table", "is no result folder, and no table file", fix)
    try:
        return decoded(content(file, MOST_ARRAYS))
    except (FileNotFoundError, NotADirectoryError):
        raise SpecError("file", f"{file} does not exist", "check the name") from None
    except SpecError as error:
        raise error.at("table", f"{file} {error.wrong}") from None
    except (OSError, ValueError) as error:
        raise SpecError("table", f"{file} cannot be read: {error}", "name the file of a table") from None


def _table_of_folder(folder: Path) -> Path:
    """Return the file of a result folder's table; SpecError if it has none, with the reason that its claims give."""
    table = folder / IN_RESULTS
    if not is_file(table):
        try:
            reason = read_json(folder / "claims.json")["table"]
        except (OSError, ValueError, LookupError, TypeError):
            fix = "name a result with a table, or the file of one"
            raise SpecError("table", f"{folder} has none: it is no result folder", fix) from None
        fix = f"make it by `dxopt table {folder}`, or in Python by dx.load({str(folder)!r}).make_table()"
        raise SpecError("table", f"{folder} has none: {reason}", fix)
    return table


def encoded(parts: Parts, source: str | None = None) -> bytes:
    """Return the bytes of the file of a table.

    If `source` is given, the digest of that file, they are those of a smaller one for scripts that only draw: without
    distances and prior, so that its privacy cannot be proven.
    """
    # 1. rows without the reports that they never give
    counts: Counts = parts["counts"]
    width = parts["bits"] // 8
    rows = [np.flatnonzero(row) for row in counts]
    starts = np.cumsum([0, *map(len, rows)])
    reports = np.concatenate(rows)
    steps = b"".join(
        step.to_bytes(width, "big") for x, row in enumerate(rows) for step in [*accumulate(counts[x, row])][:-1]
    )

    # 2. sections, each at a multiple of 8 bytes behind the head
    sections = {
        "starts": starts.astype("<u8").tobytes(),
        "reports": reports.astype("<u4").tobytes(),
        "steps": steps,
    }
    if source is None:
        sections["distances"] = (parts["space"].distances + 0.0).astype("<f8").tobytes()
    if source is None and parts["prior"] is not None:
        sections["prior"] = (parts["prior"] + 0.0).astype("<f8").tobytes()
    places: dict[str, list[int]] = {}
    body = b""
    for name, section in sections.items():
        places[name] = [len(body), len(section)]
        body += section + bytes(-len(section) % 8)

    # 3. the head, filled up with spaces
    described = head(parts)
    if source is not None:
        described = {key: value for key, value in described.items() if key not in _FOR_PROOFS}
        described |= {"unit": parts["space"].unit or None, "source": source}
    text = json.dumps(described | {"sections": places}, ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (-len(text) % 8)
    written = MAGIC + len(text).to_bytes(8, "little") + text + body
    return written + sha256(written).digest()


def decoded(written: bytes) -> Parts:
    """Invert `encoded`; SpecError where the bytes are no table, were changed, or contradict each other."""
    if written[:8] != MAGIC:
        raise SpecError("table", "is no table file", _AGAIN)
    if sha256(written[:-32]).digest() != written[-32:]:
        raise SpecError("table", "was changed or cut off: its digest is another", _AGAIN)
    try:
        found = _parts(written)
        if written != encoded(found):
            raise SpecError("head", "says something that is not of its arrays, or in other words", _AGAIN)
    except SpecError as error:
        raise SpecError("table", f"is damaged: {error.field} {error.wrong}", _AGAIN) from None
    except DAMAGED:
        raise SpecError("table", "is damaged", _AGAIN) from None
    return found


def head(parts: Parts) -> dict[str, Any]:
    """Return what the head of the file says of a table; `encoded` adds the places of the sections."""
    space = parts["space"]
    reports: Reports = parts["reports"]
    packed = pack(space)
    metric = space.metric
    if str(packed["space.kind"]) in ("tree", "distances"):
        # a tree is read back by its distances, for which NumPy is enough; points of numbers are in `secret_points`
        texts = ("space.points",) if "space.points" in packed and packed["space.points"].dtype.kind == "U" else ()
        kept = ("space.labels", "space.unit", *texts, *(key for key in packed if key.startswith("space.positions.")))
        packed = {"space.kind": np.asarray("distances")} | {key: packed[key] for key in kept if key in packed}
        metric = None
    described = {key.removeprefix("space."): _listed(array) for key, array in packed.items()}
    return {
        "format": "dxopt table",
        "version": VERSION,
        "name": parts["name"],
        "bits": parts["bits"],
        **{name: None if math.isnan(parts[name]) else parts[name] + 0.0 for name in _NUMBERS},
        "pairs": parts["pairs"],
        "metric": None if metric is None else metric.name,
        "unit": getattr(metric, "unit", None),
        "secrets": [str(label) for label in space.labels],
        "reports": [str(label) for label in reports.labels],
        "secrets_are_reports": reports.secrets,
        "secret_points": _points(space.points),
        "report_points": _points(reports.points),
        "space": described,
    }


def _points(points: NDArray[Any] | None) -> list[Any] | None:
    """Return coordinates as JSON has them; None if points are no numbers."""
    return None if points is None or points.dtype.kind != "f" else _listed(points)


def _listed(array: NDArray[Any]) -> Any:
    """Return an array as JSON has it, None for an infinite distance, and for coordinates of a point without any."""
    found = array.astype(object)
    if array.dtype.kind == "f":
        found[~np.isfinite(array)] = None
    return found.tolist()


def _array(key: str, listed: Any) -> NDArray[Any]:
    """Invert `_listed` for an entry of a space."""
    if not key.endswith("distances"):
        return np.asarray(listed)
    found = np.asarray(listed, dtype=float)
    return np.where(np.isnan(found), np.inf, found)


def _parts(written: bytes) -> Parts:
    """Return the fields of a table from the bytes of its file; one of the errors DAMAGED if it is inconsistent."""
    # 1. the head, and where sections are
    end = 16 + int.from_bytes(written[8:16], "little")
    found, body = json.loads(written[16:end].decode("utf-8")), written[end:-32]
    if found["format"] != "dxopt table" or found["version"] != VERSION:
        raise SpecError("version", f"is {found['version']!r}", _AGAIN)
    if not isinstance(found["name"], str):
        raise SpecError("name", "is no text", _AGAIN)
    if "source" in found:
        raise SpecError("source", "is another file, of which this one only draws", "name that one")

    def section(name: str, kind: str) -> NDArray[Any]:
        first, size = found["sections"][name]
        return np.frombuffer(body[first : first + size], dtype=kind)

    # 2. the space and the reports
    size = len(found["secrets"])
    arrays = {f"space.{key}": _array(key, value) for key, value in found["space"].items()}
    distances = section("distances", "<f8").reshape(size, size).astype(np.float64)
    if found["space"]["kind"] == "distances":
        arrays["space.distances"] = distances
        if found["secret_points"] is not None:
            arrays["space.points"] = np.asarray(found["secret_points"], dtype=float)
    space = with_distances(unpack(arrays), distances)
    points = found["report_points"]
    named = Reports(tuple(found["reports"]), None if points is None else np.asarray(points, dtype=float))
    reports = Reports.of(space) if found["secrets_are_reports"] else named

    # 3. counts are the differences of steps
    counts = _counts_of(section("starts", "<u8"), section("reports", "<u4"), section("steps", "u1"), found)
    prior = section("prior", "<f8").astype(np.float64) if "prior" in found["sections"] else None
    claims = {name: math.nan if found[name] is None else float(found[name]) for name in _NUMBERS}
    known = {"space": space, "reports": reports, "counts": counts, "bits": found["bits"], "prior": prior}
    return known | claims | {"pairs": found["pairs"], "name": found["name"]}


def _counts_of(starts: NDArray[Any], reports: NDArray[Any], steps: NDArray[Any], content: dict[str, Any]) -> Counts:
    """Return the counts `(n, m)`, differences of steps; row x has reports[starts[x] : starts[x + 1]]."""
    if starts[0] or starts[-1] != len(reports) or (starts[1:] <= starts[:-1]).any():
        raise SpecError("starts", "do not divide the reports into rows", _AGAIN)
    counts = np.zeros((len(content["secrets"]), len(content["reports"])), dtype=object)
    width = content["bits"] // 8
    numbers = steps.tobytes()
    # Python integers, as a negative x - start of unsigned ones would wrap around
    ends: Callable[[int], int] = starts.astype(np.int64).tolist().__getitem__
    for x in range(len(counts)):
        # each row has one step fewer than reports, so that the steps of row x begin at its start less x
        first, last = ends(x), ends(x + 1)
        row = range(first - x, last - x - 1)
        sums = [int.from_bytes(numbers[width * i : width * (i + 1)], "big") for i in row]
        some = [high - low for low, high in zip([0, *sums], [*sums, 1 << content["bits"]], strict=True)]
        counts[x, reports[first:last]] = some
    return counts
