"""Which mechanism of a comparison refines which: proven again in integers.

Statement. For channels A `(n, a)` and B `(n, b)` let t be the least max_x Σ_w max(0, B[x, w] - (AR)[x, w]) of all
channels R. Then for any prior and any gain from 0 to 1 the best remap of A gains at most t less than that of B. Some
R of rows that sum to 1 at most proves that t is no more than a number, some Y ≥ 0 `(n, g)` that it is no less:
Σ_w max_y (Y'B)[y, w] ≤ Σ_z max_y (Y'A)[y, z] + t Σ_x max_y Y[x, y], as Σ max_y is convex and homogeneous.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.exact import Exact, dot
from dxopt.verify.files import Arrays, numbers
from dxopt.verify.folder import as_number
from dxopt.verify.values import AGREEMENT
from dxopt.verify.verdict import Broken

Array = NDArray[np.float64]
WITNESSES = "comparison.npz"


def check_refined(entry: Mapping[str, Any], better: Array, worse: Array, proof: Arrays) -> None:
    """Broken unless one mechanism refines another, or does not, by the amount that is claimed, up to 1e-12."""
    source = f"comparison.json: whether {entry['better']} refines {entry['worse']}"
    if entry["holds"] is None:
        if entry["shortfall"] is not None:
            raise Broken(f"{source}: it is undecided, but has a shortfall")
        return
    claimed = Fraction(as_number(entry["shortfall"], f"{source}: shortfall"))
    if entry["holds"]:
        remap = _nonnegative(proof, "remap", better.shape[1], worse.shape[1])
        found = shortfall_of(better, worse, remap)
        holds = found <= claimed + AGREEMENT
    else:
        if claimed <= 0:
            raise Broken(f"{source}: it is said not to, but by a shortfall of {float(claimed):.17g}")
        found = advantage_of(better, worse, _nonnegative(proof, "gains", len(better), None))
        holds = found >= claimed - AGREEMENT
    if not holds:
        raise Broken(f"{source}: the shortfall is {float(claimed):.17g}, but {WITNESSES} proves {float(found):.17g}")


def shortfall_of(better: Array, worse: Array, remap: Array) -> Fraction:
    """max_x Σ_w max(0, B[x, w] - Σ_z A[x, z] R[z, w]), exactly; Broken where R has more than 1 in a row."""
    entries, wanted = Exact.of(better), Exact.of(worse)
    columns = Exact.of(remap.T)
    if any(sum(row) > 1 << columns.bits for row in zip(*columns.rows, strict=True)):
        raise Broken(f"{WITNESSES}: a remap has more than 1 in a row")
    bits = max(entries.bits + columns.bits, wanted.bits)
    up, asked = bits - entries.bits - columns.bits, bits - wanted.bits
    most = 0
    for row, target in zip(entries.rows, wanted.rows, strict=True):
        made = (dot(row, column) << up for column in columns.rows)
        most = max(most, sum(max(0, (aim << asked) - got) for aim, got in zip(target, made, strict=True)))
    return Fraction(most, 1 << bits)


def advantage_of(better: Array, worse: Array, gains: Array) -> Fraction:
    """(Σ_w max_y (Y'B)[y, w] - Σ_z max_y (Y'A)[y, z]) / Σ_x max_y Y[x, y], exactly."""
    guesses = Exact.of(gains.T)
    size = sum(map(max, zip(*guesses.rows, strict=True)))
    if not size:
        raise Broken(f"{WITNESSES}: gains are all 0")
    return (_gained(worse, guesses) - _gained(better, guesses)) / Fraction(size, 1 << guesses.bits)


def _gained(channel: Array, guesses: Exact) -> Fraction:
    """Σ_z max_y Σ_x Y[x, y] K[x, z]."""
    columns = Exact.of(channel.T)
    best = sum(max(dot(guess, column) for guess in guesses.rows) for column in columns.rows)
    return Fraction(best, 1 << columns.bits + guesses.bits)


def _nonnegative(arrays: Arrays, key: str, rows: int, columns: int | None) -> Array:
    """Return an array of finite numbers of 0 or more; Broken where it is none."""
    found = numbers(arrays, key, rows, columns)
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise Broken(f"{WITNESSES}: an entry of {key} is negative or infinite")
    return found
