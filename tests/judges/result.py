"""Which claims of a result folder are false: by formulas written for the purpose, privacy in exact arithmetic.

Imports nothing from the package that it judges.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tests.judges.exact import exp_enclosure, row_sum_errors, violations
from tests.judges.table_file import Reader, arrays_of, file_of

Deviations = Callable[[Path], Iterable[tuple[str, float]]]
FALSE = 4e-12
TRUE = 2.5e-13


def read_arrays(folder: Path, name: str) -> dict[str, Any]:
    """The arrays of a file; distances are in the other one where nothing else says what they are."""
    found = contents(folder / f"{name}.{'dxt' if name == 'table' else 'npz'}")
    if name == "problem" and "distances" not in found:
        inner = read_arrays(folder, "mechanism")
        found |= {"distances": inner["space.distances"]} if "space.distances" in inner else {}
    return found


def contents(file: Path) -> dict[str, Any]:
    """The arrays of a file, or those of a table file."""
    if file.suffix == ".dxt":
        return arrays_of(file.read_bytes())
    with np.load(file) as stored:
        return dict(stored)


def packed(arrays: dict[str, Any], suffix: str = ".npz") -> bytes:
    """The bytes of a file of arrays, or of a table file."""
    if suffix == ".dxt":
        return file_of(arrays)
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def read_claims(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The claims with the names of what was asked among them, and the certificate."""
    claims = read_json(folder, "claims")
    return {**claims, **claims["problem"]}, claims["certificate"]


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """The content of a file."""
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def judged(folder: Path, *others: Deviations) -> tuple[set[str], set[str]]:
    """The checks that a false claim belongs to, and those that are too near to call; with those of other judges."""
    found = {}
    for name, off in chain.from_iterable(deviations(folder) for deviations in (_deviations, *others)):
        found[name] = max(found.get(name, 0.0), math.inf if math.isnan(off) else off)
    return {name for name, off in found.items() if off > FALSE}, {
        name for name, off in found.items() if TRUE < off <= FALSE
    }


def _deviations(folder: Path) -> Iterator[tuple[str, float]]:
    """By how much each claim is off, relative."""
    asked = read_arrays(folder, "problem")
    own = read_arrays(folder, "mechanism")
    matrix = own["matrix"]
    summary, proof = read_claims(folder)
    prior = asked["prior"]
    distances = asked["distances"]
    losses = asked["losses"]
    objective = summary["objective"]
    epsilon = float(asked["epsilon"])
    delta = float(asked["delta"])
    sign = -1 if objective == "adversary_error" else 1
    yield "prior", wrong((prior < 0).any()) + beyond(abs(math.fsum(prior) - 1), 1e-9)
    yield "distances", wrong(distances.diagonal().any()) + _detours(distances)
    if objective != "adversary_error" or not np.isinf(distances).any():
        named = {"distance": distances, "squared": distances**2, "binary": 1 - np.eye(len(losses))}[summary["loss"]]
        yield "loss", float((np.abs(losses - named) / np.maximum(named, 1e-300)).max())
    points = own.get("space.points")
    if "space.shape" in own:
        axes = [np.arange(size) * float(own["space.spacing"]) for size in own["space.shape"]]
        points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    if points is not None and len(points) != len(prior):
        yield "distances", 1.0
    elif points is not None:
        norm = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
        yield "distances", beyond(float(np.abs(norm - distances).max()), 1e-9)
    yield "rows", wrong((matrix < 0).any() or max(map(abs, row_sum_errors(matrix))) > Fraction(1, 2**50))
    yield "privacy", privacy(matrix, distances, epsilon, delta, proof)
    joint = prior[:, None] * matrix
    values = {"expected_loss": (joint * losses).sum(), "worst_loss": (matrix * losses).sum(axis=1).max()}
    if objective == "adversary_error":
        values["adversary_error"] = (asked["adversary_loss"].T @ joint).min(axis=0).sum()
        yield "value", max(0.0, values["expected_loss"] - float(asked["max_loss"]))
    yield "value", abs(proof["value"] / values[objective] - 1)
    proven = bound_of(folder, asked, objective, summary["pairs"])
    yield "bound", 1.0 if math.isnan(proven) else max(0.0, sign * (proof["bound"] - proven) / abs(proven))
    gap = abs(proof["value"] - proof["bound"]) / max(abs(proof["value"]), 1e-12)
    yield "gap", abs(proof["gap"] - gap) + max(0.0, sign * (proof["bound"] - proof["value"]))
    yield "gap", wrong((summary["status"] == "optimal") != (proof["gap"] <= summary["tolerance"]))
    correct = joint.max(axis=0).sum()
    guessed = 0.0 if np.isinf(distances).any() else (distances.T @ joint).min(axis=0).sum()
    values |= {"utility": correct, "min_entropy_leakage": math.log2(correct / prior.max())}
    values["adversary_error"] = guessed
    for name, claimed in summary["evaluation"].items():
        if name in values:
            yield f"measure: {name}", abs(claimed / values[name] - 1)
    yield "table", _table(folder, asked, matrix, proof, own)


def wrong(is_so: bool) -> float:
    return float(bool(is_so))


def beyond(off: float, allowed: float) -> float:
    """Off by more than is allowed; too near to call by a factor of 1.01."""
    return 1.0 if off > 1.01 * allowed else 1e-12 if off > 0.99 * allowed else 0.0


def _detours(distances: np.ndarray) -> float:
    detours = (distances[:, :, None] + distances[None]).min(axis=1)
    with np.errstate(invalid="ignore"):
        return float(np.nanmax(distances / np.where(detours > 0, detours, 1e-300) * (detours > 0)) - 1)


def privacy(matrix: np.ndarray, distances: np.ndarray, epsilon: float, delta: float, proof: dict[str, Any]) -> float:
    if (
        (matrix < 0).any()
        or (distances < 0).any()
        or not (proof["epsilon"] <= epsilon and 0 <= proof["delta"] <= delta)
    ):
        return 1.0
    apart = np.isfinite(distances) & (distances > 0)
    if delta:
        with np.errstate(over="ignore"):
            allowed = np.exp(epsilon * np.where(apart, distances, 0))[:, :, None] * matrix[None]
        over = np.where(apart, np.maximum(matrix[:, None] - allowed, 0).sum(axis=2), 0.0).max()
        off = proof["delta"] - over
        return wrong(proof["epsilon"] != epsilon) + (max(0.0, -off) if off < 0 else off / 10)
    if proof["delta"] or violations(matrix, distances, proof["epsilon"]):
        return 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(matrix[:, None] > 0, np.log(matrix[:, None] / matrix[None]), -np.inf).max(axis=2)
    budgets = proof["epsilon"] * distances[apart]
    return float(((budgets - ratios[apart]) / (1 + budgets)).min())


def bound_of(
    folder: Path, asked: dict[str, Any], objective: str, pairs: str, dual: dict[str, Any] | None = None
) -> float:
    """Σ_x min_z (c - Σ λ + Σ λ e^{-εd}) - δ Σ max λ e^{-εd}, in doubles, for multipliers of 0 or more."""
    assert pairs == "all"
    dual = dual or read_arrays(folder, "dual")
    prior = asked["prior"]
    losses = asked["losses"]
    distances = asked["distances"]
    inner = {key.removeprefix("0/"): array for key, array in dual.items()}
    costs = prior[:, None] * losses
    shift = 0.0
    sign = 1.0
    scale = 1.0
    if objective == "worst_loss":
        weights = np.maximum(dual["weights"], 0)
        costs = weights[:, None] * losses
        scale = weights.sum()
    if objective == "adversary_error":
        if "guesses" not in dual:
            return float((prior @ asked["adversary_loss"]).min())
        guesses = np.maximum(dual["guesses"], 0)
        price = max(float(dual["price"]), 0.0)
        missed = asked["adversary_loss"] @ (guesses / guesses.sum(axis=1, keepdims=True)).T
        costs = price * costs - prior[:, None] * missed
        shift = price * float(asked["max_loss"])
        sign = -1.0
    z, a, b = (inner[key] for key in ("report", "first", "second"))
    if min(z.min(), a.min(), b.min()) < 0 or z.max() >= losses.shape[1] or max(a.max(), b.max()) >= len(prior):
        return math.nan
    good = (inner["multiplier"] > 0) & np.isfinite(distances[a, b]) & (a != b)
    z = z[good]
    a = a[good]
    b = b[good]
    amount = inner["multiplier"][good]
    back = amount * np.exp(-float(asked["epsilon"]) * distances[a, b])
    left = costs.copy()
    most = np.zeros((len(prior), len(prior), losses.shape[1]))
    np.subtract.at(left, (b, z), amount)
    np.add.at(left, (a, z), back)
    np.add.at(most, (a, b, z), back)
    return shift + sign * (left.min(axis=1).sum() - float(asked["delta"]) * most.max(axis=2).sum()) / scale


@lru_cache
def _power(exponent: Fraction) -> Fraction:
    return exp_enclosure(exponent, 400)[0]


def _table(
    folder: Path,
    asked: dict[str, Any],
    matrix: np.ndarray,
    proof: dict[str, Any],
    own: dict[str, Any],
) -> float:
    """In rationals throughout; triples are decided by enclosures of 400 bits."""
    table = read_arrays(folder, "table")
    written = Reader((folder / "table.dxt").read_bytes())
    prior = asked["prior"]
    distances = asked["distances"]
    total = 2 ** int(table["bits"])
    epsilon = float(table["epsilon"])
    delta = float(table["delta"])
    counts = [[0] * matrix.shape[1] for _ in written.reports]
    for row, reports, steps in zip(counts, written.reports, written.steps, strict=True):
        ends = [0, *(int.from_bytes(step, "big") for step in steps), total]
        if sorted(set(reports)) != sorted(reports) or sorted(set(ends)) != ends or max(reports) >= len(row):
            return 1.0
        for z, low, high in zip(reports, ends, ends[1:], strict=False):
            row[z] = high - low
    if (epsilon, delta) != (proof["epsilon"], proof["delta"]):
        return 1.0
    same = {key: array for key, array in own.items() if key.startswith("space.")}
    same |= {"prior": prior, "distances": distances}
    if any(key in table and not np.array_equal(table[key], known) for key, known in same.items()):
        return 1.0
    for x, y in np.argwhere(np.isfinite(distances) & ~np.eye(len(prior), dtype=bool)).tolist():
        power = _power(Fraction(epsilon) * Fraction(float(distances[x, y])))
        overs = [max(Fraction(0), mine - power * theirs) for mine, theirs in zip(counts[x], counts[y], strict=True)]
        if sum(overs) > Fraction(delta) * total:
            return 1.0
    rows = [[Fraction(count, total) - Fraction(entry) for count, entry in zip(*pair, strict=True)]
            for pair in zip(counts, matrix.tolist(), strict=True)]  # fmt: skip
    paid = [Fraction(float(p)) * sum(map(Fraction.__mul__, row, map(Fraction, costs)))
            for p, row, costs in zip(prior, rows, asked["losses"].tolist(), strict=True)]  # fmt: skip
    moved = [Fraction(float(p)) * sum(abs(r * Fraction(c)) for r, c in zip(row, costs, strict=True))
             for p, row, costs in zip(prior, rows, asked["losses"].tolist(), strict=True)]  # fmt: skip
    variation = max(sum(map(abs, row)) for row in rows) / 2
    off = abs(Fraction(float(table["cost"])) - sum(paid)) / (sum(moved) or 1)
    return float(off + abs(Fraction(float(table["variation"])) - variation) / (variation or 1))
