"""The table file of a result, byte by byte, made anew from the files that were proven (docs/reference/table-file.md).

Its digest is the name by which sidecars know what was drawn from. It is never read from the result, and no code of
what writes table files is used.
"""

from __future__ import annotations

import json
import math
from hashlib import sha256
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.files import TABLE, Arrays, read_arrays
from dxopt.verify.folder import Result
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.names import label
from dxopt.verify.table_file import MAGIC
from dxopt.verify.tables import Counts, read_counts
from dxopt.verify.verdict import Broken

_LEVELS = ("epsilon", "delta", "cost", "variation")
_BY_DISTANCES = ("tree", "distances")


def table_bytes(result: Result) -> bytes:
    """The bytes of the table file of a result, from table.npz and the distances of problem.npz.

    Raises
    ------
    Broken
        If the result has no table, or one of another shape than its matrix.
    """
    if not (result.folder / TABLE).is_file():
        reason = result.claims.get("table")
        told = f" ({reason})" if isinstance(reason, str) else ""
        raise Broken(f"{result.folder} has no table{told}, so that nothing can have been drawn from it")
    arrays = read_arrays(result.folder, TABLE)
    bits, counts = read_counts(result, arrays)
    sections = _sections(result, arrays, bits, counts)
    places: dict[str, list[int]] = {}
    body = b""
    for name, section in sections.items():
        places[name] = [len(body), len(section)]
        body += section + bytes(-len(section) % 8)
    text = json.dumps(_head(result, arrays, bits) | {"sections": places}, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    written = MAGIC + len(text).to_bytes(8, "little") + text + body
    return written + sha256(written).digest()


def _sections(result: Result, arrays: Arrays, bits: int, counts: Counts) -> dict[str, bytes]:
    """The sections, in their order."""
    rows = [[z for z, count in enumerate(row) if count] for row in counts]
    starts = [0, *accumulate(map(len, rows))]
    steps = [list(accumulate(counts[x][z] for z in row))[:-1] for x, row in enumerate(rows)]
    sections = {
        "starts": np.array(starts, dtype="<u8").tobytes(),
        "reports": np.array([z for row in rows for z in row], dtype="<u4").tobytes(),
        "steps": b"".join(step.to_bytes(bits // 8, "big") for row in steps for step in row),
        "distances": result.distances.astype("<f8").tobytes(),
    }
    return sections | ({"prior": arrays["prior"].astype("<f8").tobytes()} if "prior" in arrays else {})


def _head(result: Result, arrays: Arrays, bits: int) -> dict[str, Any]:
    """The head, without its sections: what table.npz says of the table and its space."""
    size, many = result.matrix.shape
    described = {key.removeprefix("space."): arrays[key].tolist() for key in arrays if key.startswith("space.")}
    if described["kind"] in _BY_DISTANCES:
        kept = ("labels", *(key for key in described if key == "unit" or key.startswith("positions.")))
        described = {"kind": "distances"} | {key: described[key] for key in kept}
    secrets = [label(arrays, x) for x in range(size)]
    points = _points(arrays)
    same = bool(arrays["secrets"])
    metric, unit = _metric_of(arrays)
    return {
        "format": "dxopt table",
        "version": 1,
        "name": str(arrays["name"]),
        "bits": bits,
        **{name: _or_null(float(arrays[name])) for name in _LEVELS},
        "pairs": str(arrays["pairs"]),
        "metric": metric,
        "unit": unit,
        "secrets": secrets,
        "reports": secrets if same else [str(arrays["reports"][z]) for z in range(many)],
        "secrets_are_reports": same,
        "secret_points": _listed(points),
        "report_points": _listed(points if same else arrays.get("report_points")),
        "space": described,
    }


def _metric_of(arrays: Arrays) -> tuple[str | None, str | None]:
    """The name of the metric of a space, and the unit that this has, each None where there is none."""
    kind = str(arrays["space.kind"])
    if kind == "torus":
        return "wrapped", None
    if kind not in ("points", "lattice"):
        return None, None
    parameters = json.loads(str(arrays.get("space.parameters", "{}")))
    return str(arrays["space.metric"]), parameters.get("unit")


def _points(arrays: Arrays) -> NDArray[Any] | None:
    """The coordinates of secrets, where there are any."""
    kind = str(arrays["space.kind"])
    if kind == "points":
        return arrays["space.points"]
    return None if kind in _BY_DISTANCES else Space.read(arrays).places


def _listed(points: NDArray[Any] | None) -> list[Any] | None:
    return points.tolist() if points is not None and points.dtype.kind == "f" else None


def _or_null(number: float) -> float | None:
    return None if math.isnan(number) else number
