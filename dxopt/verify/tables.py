"""The integer table of a result: its bytes, row totals, privacy, and how far it is from the matrix."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dxopt.verify.exact import Exact, dot
from dxopt.verify.files import TABLE, are_alike
from dxopt.verify.folder import Result
from dxopt.verify.privacy import bound_pairs
from dxopt.verify.table_file import (
    TableFile,
    bytes_of,
    check_digest,
    check_names,
    check_private,
    coordinates_in_head,
    listed,
)
from dxopt.verify.values import Enclosed
from dxopt.verify.verdict import Broken

_LISTED = ("labels", "unit")
"""Entries of a space given by distances that a table has, beside these and positions."""


def check_table(result: Result) -> str:
    """Prove the table again; Broken names the secrets and the report, or the claim, where it fails."""
    file = result.folder / TABLE
    if not file.is_file():
        if isinstance(reason := result.claims.get("table"), str):
            return f"none was claimed: {reason}"
        raise Broken(f"there is no {TABLE}, which claims.json claims")
    if result.claims.get("table") is not None:
        raise Broken(f"claims.json says that there is none: {result.claims['table']}")
    result.require_written()
    written = bytes_of(file)
    check_digest(written)
    table = TableFile.of(written)
    check_names(table)
    _check_same(result, table)
    for name in ("epsilon", "delta"):
        if table.level(name) != Fraction(result.claimed(name)):
            raise Broken(f"its {name} is {table.head[name]}, the certificate's {result.claimed(name)}")
    check_private(table)
    delta, pairs = table.level("delta"), table.head["pairs"]
    if delta and not np.array_equal(bound_pairs(table.distances, pairs), result.bound):
        raise Broken(f"its pairs are {pairs}")
    cost = _check_deviation(result, table)
    told = f"{abs(cost):.1e} {'below' if cost < 0 else 'above'} that of the matrix, in the unit of the loss"
    bits = table.head["bits"]
    return f"rows sum to 2^{bits}; private at the certificate's levels; its expected loss is {told}"


def _check_same(result: Result, table: TableFile) -> None:
    """Check that secrets, reports, space and prior of the table are those of the result."""
    head, known = table.head, result.mechanism
    secrets, reports = result.matrix.shape
    same: dict[str, Any] = {
        "secrets": [result.secret(x) for x in range(secrets)],
        "reports": [result.report(z) for z in range(reports)],
        "secrets_are_reports": result.secrets,
        "space": space_in_head(result),
    }
    if head["space"]["kind"] == "distances":
        same["secret_points"] = coordinates_in_head(known.get("space.points"))
    if not result.secrets:
        same["report_points"] = coordinates_in_head(known.get("report_points"))
    for name, expected in same.items():
        if head[name] != expected:
            raise Broken(f"its {name} is not that of mechanism.npz")
    if not np.array_equal(table.distances, result.distances):
        raise Broken("its distances are not those of the result")
    if table.prior is not None and not are_alike(table.prior, result.prior):
        raise Broken("its prior is not that of the result")


def space_in_head(result: Result) -> dict[str, Any]:
    """Return the space as the head of its table has it: a tree counts there as given by distances."""
    found = {key.removeprefix("space."): array for key, array in result.mechanism.items() if key.startswith("space.")}
    if str(found["kind"]) in ("tree", "distances"):
        # points that are numbers are not here but in `secret_points` of the head
        texts = ("points",) if "points" in found and found["points"].dtype.kind == "U" else ()
        kept = [key for key in found if key in (*_LISTED, *texts) or key.startswith("positions.")]
        found = {"kind": np.asarray("distances")} | {key: found[key] for key in kept}
    return {key: listed(array) for key, array in found.items()}


def _check_deviation(result: Result, table: TableFile) -> float:
    """Check by how much the table N / T deviates from the matrix K, as the table claims; return the cost of that.

    The cost is Σ π (N / T - K) l, and the variation max_x ½ Σ_z |N / T - K|.
    """
    # infinite losses are those of secrets of prior 0, which cost nothing
    losses = Exact.of(np.where(np.isfinite(result.all_losses), result.all_losses, 0.0))
    entries = Exact.of(result.matrix)
    bits = table.head["bits"]
    cost = size = variation = Fraction(0)
    # With T = 2^bits and K over 2^entries.bits, N / T - K is an integer over the product of both, and its product
    # with a loss one over that times 2^losses.bits.
    scale = 1 << entries.bits + bits
    for x, weight in enumerate(result.prior.tolist()):
        pairs = zip(table.counts[x], entries.rows[x], strict=True)
        moved = [(count << entries.bits) - (entry << bits) for count, entry in pairs]
        cost += Fraction(weight) * Fraction(dot(moved, losses.rows[x]), scale << losses.bits)
        size += Fraction(weight) * Fraction(dot(list(map(abs, moved)), list(map(abs, losses.rows[x]))))
        variation = max(variation, Fraction(sum(map(abs, moved)), 2 * scale))
    terms = size / (scale << losses.bits)
    for name, exact, size_of_terms in (("cost", cost, terms), ("variation", variation, variation)):
        claimed = float(table.number(name))
        if not Enclosed(exact, exact, size_of_terms).agrees(claimed):
            raise Broken(f"its {name} is {float(exact):.17g}, not {claimed:.17g}")
    return float(cost)
