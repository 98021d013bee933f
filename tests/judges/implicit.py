"""Which claims of a result are false whose channel is not written down, of few points, by dense matrices.

The channel is made of the few numbers in the files, in rationals. Imports nothing from the package that it judges.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

import numpy as np

from tests.judges.exact import exp_enclosure
from tests.judges.result import read_arrays, read_claims

Matrix = list[list[Fraction]]


def part(arrays: dict[str, Any], index: int) -> dict[str, Any]:
    return {key.removeprefix(f"{index}/"): array for key, array in arrays.items() if key.startswith(f"{index}/")}


@lru_cache(maxsize=100_000)
def power(exponent: Fraction) -> Fraction:
    return exp_enclosure(exponent, 200)[0]


def kernel(arrays: dict[str, Any], points: list[Fraction]) -> tuple[Matrix, list[Fraction]]:
    """e^{-ε'd} w, and what rows are short of 1."""
    level = Fraction(float(arrays["level"]))
    weights = list(map(Fraction, arrays["weights"].tolist()))
    rows = [[w / power(level * abs(x - z)) for z, w in zip(points, weights, strict=True)] for x in points]
    return rows, [1 - sum(row, Fraction(0)) for row in rows]


def coordinates(arrays: dict[str, Any]) -> list[Fraction]:
    return list(map(Fraction, arrays["space.points"][:, 0].tolist()))


def remapped(arrays: dict[str, Any], reports: int) -> tuple[Matrix, list[Fraction]]:
    rows, rests = kernel(part(arrays, 0), coordinates(arrays))
    slack = int(part(arrays, 0)["slack"])
    table = arrays["table"].tolist()
    channel = [[Fraction(0)] * reports for _ in rows]
    for made, row, rest in zip(channel, rows, rests, strict=True):
        for index, entry in enumerate(row):
            made[table[index]] += entry + (rest if index == slack else 0)
    return channel, rests


def channel(arrays: dict[str, Any], reports: int) -> tuple[Matrix, list[Fraction]]:
    """All probabilities, and what rows are short of 1 before the rest is given to one report."""
    if "table" in arrays:
        return remapped(arrays, reports)
    if "matrix" in arrays:
        matrix = [list(map(Fraction, row)) for row in arrays["matrix"].tolist()]
        return matrix, [Fraction(0)] * len(matrix)
    factors = [part(arrays, index) for index in arrays["which"].tolist()]
    made = [channel(factor, len(factor["table"] if "table" in factor else factor["matrix"])) for factor in factors]
    parts = [rows for rows, _ in made]
    inner = [rest for _, rests in made for rest in rests]
    held = Fraction(float(arrays["held"]))
    slack = int(arrays["slack"])
    rows = [[entry * (1 - held) for entry in row] for row in reduce(crossed, parts)]
    rests = [1 - sum(row, Fraction(0)) for row in rows]
    for row, rest in zip(rows, rests, strict=True):
        row[slack] += rest
    return rows, rests + inner


def crossed(left: Matrix, right: Matrix) -> Matrix:
    return [[a * b for a in row for b in other] for row in left for other in right]


def space_of(arrays: dict[str, Any]) -> np.ndarray:
    """Distances."""
    if str(arrays["space.kind"]) == "product":
        inner = [
            {key.replace(f"space.{index}.", "space."): array for key, array in arrays.items()
             if key.startswith(f"space.{index}.")} for index in range(int(arrays["space.factors"]))
        ]  # fmt: skip
        return reduce(
            lambda a, b: (a[:, None, :, None] + b[None, :, None, :]).reshape(len(a) * len(b), -1),
            map(space_of, inner),
        )
    if str(arrays["space.kind"]) == "distances":
        return arrays["space.distances"]
    metric = str(arrays["space.metric"])
    around = np.inf
    if "space.points" in arrays:
        points = arrays["space.points"]
    else:
        axes = [np.arange(size) * float(arrays["space.spacing"]) for size in arrays["space.shape"]]
        points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        if str(arrays["space.kind"]) == "torus":
            around = arrays["space.shape"] * float(arrays["space.spacing"])
    if metric == "hamming":
        return (points[:, None] != points[None]).sum(axis=2).astype(float)
    apart = np.abs(points[:, None] - points[None])
    apart = np.minimum(apart, around - apart)
    return apart.sum(axis=2) if metric == "manhattan" else np.sqrt((apart**2).sum(axis=2))


def losses_of(folder: Path, arrays: dict[str, Any]) -> np.ndarray:
    asked = read_arrays(folder, "problem")
    summary, _ = read_claims(folder)
    if "losses" in asked:
        return asked["losses"]
    distances = space_of(arrays)
    if "which" not in arrays and not arrays.get("secrets", True):
        distances = np.abs(arrays["space.points"] - arrays["report_points"][:, 0])
    named = {"distance": distances, "squared": distances**2}
    return named.get(summary["loss"], 1.0 - np.eye(len(distances)))


def judged(folder: Path) -> set[str]:
    """The checks whose claims are false, of those that a change of the numbers below may make false."""
    _, proof = read_claims(folder)
    asked, arrays = (read_arrays(folder, name) for name in ("problem", "mechanism"))
    losses = losses_of(folder, arrays)
    prior = asked["prior"]
    false: set[str] = set()
    if (prior < 0).any() or abs(math.fsum(prior) - 1) > 1e-9:
        false.add("prior")
    rows, rests = channel(arrays, losses.shape[1])
    if min(map(min, rows)) < 0 or min(rests) < 0:
        false.add("rows")
    claimed = [(rows, space_of(arrays), float(level)) for level in (proof["epsilon"], arrays["epsilon"])]
    for key in [key for key in arrays if key.endswith("/epsilon")]:
        start = key.removesuffix("epsilon")
        inner = {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
        inner["table"] = inner.get("table", np.arange(len(inner.get("weights", []))))
        inner |= {} if "matrix" in inner or "0/weights" in inner else {f"0/{k}": v for k, v in inner.items()}
        made = channel({"matrix": inner["matrix"]} if "matrix" in inner else inner, len(space_of(inner)))[0]
        claimed.append((made, space_of(inner), float(inner["epsilon"])))
    if (
        any(not private(*claim) for claim in claimed)
        or not 0 <= arrays["epsilon"] <= proof["epsilon"] <= asked["epsilon"]
    ):
        false.add("privacy")
    costs = [
        [Fraction(float(p)) * k * Fraction(float(cost)) for k, cost in zip(row, paid, strict=True)]
        for p, row, paid in zip(prior, rows, losses.tolist(), strict=True)
    ]
    value, size = (sum(map(sum, some)) for some in (costs, [[abs(cost) for cost in row] for row in costs]))
    if abs(Fraction(proof["value"]) - value) > Fraction(3, 10**12) * size:
        false.add("value")
    if Fraction(proof["bound"]) > value + Fraction(3, 10**12) * size:
        false.add("bound")
    gap = abs(proof["value"] - proof["bound"]) / max(abs(proof["value"]), 1e-12)
    if abs(proof["gap"] - gap) > 3e-12 or proof["bound"] > proof["value"] * (1 + 1e-12):
        false.add("gap")
    return false


def private(rows: Matrix, distances: np.ndarray, epsilon: float) -> bool:
    if min(map(min, rows)) < 0:
        return False
    for x, y in np.argwhere(distances > 0).tolist():
        most = power(Fraction(epsilon) * Fraction(float(distances[x, y])))
        if any(mine > most * theirs for mine, theirs in zip(rows[x], rows[y], strict=True)):
            return False
    return True
