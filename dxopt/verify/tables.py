"""The integer table of a mechanism: row totals, privacy, and how far it is from the matrix.

Its digest is the name by which sidecars know what was drawn from. It is never read from the result, and no code of
what writes table files is used.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from hashlib import sha256
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.exact import Exact, dot
from dxopt.verify.files import TABLE, Arrays, alike, number, read_arrays
from dxopt.verify.folder import Result, label
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.privacy import Levels, bound_pairs
from dxopt.verify.table_file import MAGIC, require_private
from dxopt.verify.values import Enclosed
from dxopt.verify.verdict import Broken

Counts = list[list[int]]


def check_table(result: Result) -> str:
    """Prove the table again; Broken names the secrets and the report, or the claim, where it fails."""
    if not (result.folder / TABLE).is_file():
        if isinstance(reason := result.claims.get("table"), str):
            return f"none was claimed: {reason}"
        raise Broken(f"there is no {TABLE}, which claims.json claims")
    if result.claims.get("table") is not None:
        raise Broken(f"claims.json says that there is none: {result.claims['table']}")
    result.require_written()
    arrays = read_arrays(result.folder, TABLE)
    bits, counts = read_counts(result, arrays)
    _check_names(result, arrays)
    for name in ("epsilon", "delta"):
        if number(arrays, name) != result.claimed(name):
            raise Broken(f"its {name} is {number(arrays, name)}, the certificate's {result.claimed(name)}")
    _check_private(result, arrays, counts, bits)
    cost = _check_distance(result, counts, bits, arrays)
    told = f"{abs(cost):.1e} {'below' if cost < 0 else 'above'} that of the matrix, in the unit of the loss"
    return f"rows sum to 2^{bits}; private at the certificate's levels; its expected loss is {told}"


def read_counts(result: Result, arrays: Arrays) -> tuple[int, Counts]:
    """The bits and the counts of the table; Broken unless each row sums to 2^bits."""
    stored = arrays["counts"]
    bits = int(number(arrays, "bits"))
    if bits not in (64, 128, 192, 256) or stored.dtype != np.uint8:
        raise Broken(f"its counts are of {stored.dtype}, out of 2^{bits}")
    if stored.shape[:-1] != result.matrix.shape:
        raise Broken(f"it has shape {stored.shape[:-1]}, the matrix {result.matrix.shape}")
    counts = [[int.from_bytes(count.tobytes(), "big") for count in row] for row in stored]
    for x, row in enumerate(counts):
        if sum(row) != 1 << bits:
            raise Broken(f"the counts of secret {result.secret(x)} sum to {sum(row) - (1 << bits):+} off 2^{bits}")
    return bits, counts


def _check_names(result: Result, arrays: Arrays) -> None:
    """Check that the space of the table is that of the mechanism."""
    if int(number(arrays, "format")) != 1:
        raise Broken(f"its format is {number(arrays, 'format'):g}, not 1")
    if str(arrays["pairs"]) not in ("all", "adjacent"):
        raise Broken(f"its pairs are {arrays['pairs']}")
    if "prior" in arrays and not alike(arrays["prior"], result.prior):
        raise Broken("its prior is not that of the result")
    for key, array in arrays.items():
        if key.startswith(("space.", "report", "secrets")):
            known = result.mechanism.get(key)
            if known is None or known.dtype.kind != array.dtype.kind or not alike(array, known):
                raise Broken(f"its {key} is not that of mechanism.npz")
    missing = sorted(key for key in result.mechanism if key.startswith("space.") and key not in arrays)
    if missing:
        raise Broken(f"it has no {missing[0]}, which mechanism.npz has")


def _check_private(result: Result, arrays: Arrays, counts: Counts, bits: int) -> None:
    """The counts are private at the level of the table, in integers."""
    delta = Fraction(number(arrays, "delta"))
    bound = bound_pairs(result.distances, str(arrays["pairs"]) if delta else "all")
    if delta and not np.array_equal(bound, result.bound):
        raise Broken(f"its pairs are {arrays['pairs']}")
    levels = Levels.of(result.distances, bound, Fraction(number(arrays, "epsilon")))
    require_private(counts, bits, levels, delta, result.secret, result.report)


def _check_distance(result: Result, counts: Counts, bits: int, arrays: Arrays) -> float:
    """Check the cost Σ π (N / T - K) l and the variation max ½ Σ |N / T - K|, which are claimed; the cost."""
    losses = result.all_losses
    paid = Exact.of(np.where(np.isfinite(losses), losses, 0.0))
    entries = Exact.of(result.matrix)
    cost = size = variation = Fraction(0)
    # With T = 2^bits and K over 2^entries.bits, N / T - K is an integer over the product of both, and its product
    # with a loss one over that times 2^paid.bits.
    scale = 1 << entries.bits + bits
    for x, weight in enumerate(result.prior.tolist()):
        pairs = zip(counts[x], entries.rows[x], strict=True)
        moved = [(count << entries.bits) - (entry << bits) for count, entry in pairs]
        cost += Fraction(weight) * Fraction(dot(moved, paid.rows[x]), scale << paid.bits)
        size += Fraction(weight) * Fraction(dot(list(map(abs, moved)), list(map(abs, paid.rows[x]))))
        variation = max(variation, Fraction(sum(map(abs, moved)), 2 * scale))
    terms = size / (scale << paid.bits)
    for name, exact, room in (("cost", cost, terms), ("variation", variation, variation)):
        claimed = number(arrays, name)
        if not Enclosed(exact, exact, room).agrees(claimed):
            raise Broken(f"its {name} is {float(exact):.17g}, not {claimed:.17g}")
    return float(cost)


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
