"""Which figures of a comparison, and which measures of beliefs, records and error, are false: for `judges.result`.

Imports nothing from the package that it judges.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tests.judges.exact import row_sum_errors
from tests.judges.order import order_deviations
from tests.judges.result import beyond, read_arrays, read_claims, read_json, wrong

INSIDE = Path("parts", "comparison")


def comparison_deviations(folder: Path) -> Iterator[tuple[str, float]]:
    """By how much each claim over the parts of a comparison is off, relative; parts are judged as results."""
    asked = read_arrays(folder, "problem")
    inside = folder / INSIDE
    found = read_arrays(inside, "comparison")
    content = read_json(inside, "comparison")
    objective = read_claims(folder)[0]["objective"]
    names = found["priors"].tolist() if "priors" in found else []
    others = {
        name: asked | {"prior": prior} for name, prior in zip(names, found.get("probabilities", []), strict=True)
    }
    channels = {}
    for index, row in enumerate(content["rows"]):
        check = f"comparison: {row['name']}"
        matrix = found.get(f"{index}/matrix")
        if row["part"] is not None:
            part = folder if row["part"] == "own" else inside / "parts" / row["part"]
            matrix = read_arrays(part, "mechanism")["matrix"]
            if row["prior"]:
                yield check, wrong((others[row["prior"]]["prior"] != read_arrays(part, "problem")["prior"]).any())
        elif matrix is not None:
            yield check, wrong((matrix < 0).any() or max(map(abs, row_sum_errors(matrix))) > Fraction(1, 2**50))
        if matrix is None:
            continue
        channels[row["name"]] = matrix
        yield check, abs(row["value"] / _value(asked, matrix, objective) - 1)
        for name, other in others.items():
            yield check, abs(row["under"][name] / _value(other, matrix, objective) - 1)
        if f"{index}/remap/channel" in found:
            yield check, _remap_deviation(asked["losses"], matrix, found, f"{index}/remap")
    for other in others.values():
        prior = other["prior"]
        yield "comparison: other priors", wrong(bool((prior < 0).any())) + beyond(abs(math.fsum(prior) - 1), 1e-9)
    yield from order_deviations(content["refinements"], channels, found)
    if content["verdict"]:
        mu = np.linalg.solve(np.exp(-float(asked["epsilon"]) * asked["distances"]), asked["prior"])
        yield "comparison: verdict", wrong((content["verdict"]["status"] == "regular") != bool((mu >= 0).all()))


def _remap_deviation(losses: np.ndarray, matrix: np.ndarray, found: dict[str, Any], key: str) -> float:
    """By how much the worst loss after a remap exceeds what its weights prove of every remap."""
    remap, weights = (found[f"{key}/{name}"] for name in ("channel", "weights"))
    if (remap < 0).any() or set(map(math.fsum, remap)) != {1} or (weights < 0).any() or not weights.sum() > 0:
        return 1.0
    worst = (matrix @ remap * losses).sum(axis=1).max()
    least = (losses.T @ (weights[:, None] / weights.sum() * matrix)).min(axis=0).sum()
    return beyond(worst - least, 1e-6 * worst + 1e-8 * losses.max())


def _value(asked: dict[str, Any], matrix: np.ndarray, objective: str) -> float:
    joint = asked["prior"][:, None] * matrix
    if objective == "adversary_error":
        return (asked["adversary_loss"].T @ joint).min(axis=0).sum()
    return (
        (joint * asked["losses"]).sum()
        if objective == "expected_loss"
        else (matrix * asked["losses"]).sum(axis=1).max()
    )


def _with_a_coin(first: np.ndarray, second: np.ndarray) -> float:
    """The largest distance of beliefs after one report, or another with some probability: for positive matrices."""
    best = 0.0
    for one, other in ((first, second), (second, first)):
        p, q = one.sum(axis=0), other.sum(axis=0)
        for i, j in itertools.combinations(range(len(p)), 2):
            for a, b in zip(one, other, strict=True):
                over = np.polymul([a[j], a[i]], [q[j], q[i]])
                under = np.polymul([b[j], b[i]], [p[j], p[i]])
                turns = np.roots(np.polysub(np.polymul(np.polyder(over), under), np.polymul(over, np.polyder(under))))
                weights = [0.0, *(t.real for t in turns if t.real > 0 and abs(t.imag) < 1e-9)]
                ratios = [float(np.polyval(over, t) / np.polyval(under, t)) for t in weights]
                best = max(best, *ratios, over[0] / under[0])
    return math.log(best)


def measure_deviations(folder: Path) -> Iterator[tuple[str, float]]:
    """By how much measures of beliefs, of records and of the error at least are off, relative."""
    asked = read_arrays(folder, "problem")
    summary, proof = read_claims(folder)
    matrix = read_arrays(folder, "mechanism")["matrix"]
    distances = asked["distances"]
    prior = asked["prior"]
    level = proof["epsilon"]
    values = {}
    for entry in summary["beliefs"]:
        secrets = np.array(entry["places"])
        if secrets.min() < 0 or secrets.max() >= len(prior):
            yield f"measure: {entry['name']}", 1.0
            return
        if entry["hiding"]:
            first = prior[:, None] * matrix
            second = prior[:, None] * matrix[secrets]
            reach = 2 * distances[np.arange(len(prior)), secrets].max()
        else:
            first = np.repeat(prior[secrets, None], matrix.shape[1], axis=1)
            second = first * matrix[secrets]
            reach = distances[np.ix_(secrets, secrets)].max()
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.abs(np.log(first / first.sum(axis=0)) - np.log(second / second.sum(axis=0))).max()
        moved = _with_a_coin(first, second) if entry["hiding"] else moved
        values |= {entry["name"]: moved, f"{entry['name']}, at most": level * reach}
    joint = prior[:, None] * matrix
    rest = 1 - float(asked["delta"])
    epsilon = float(asked["epsilon"])
    values |= {f"expected loss of {count} records": count * (joint * asked["losses"]).sum() for count in (7, 1000)}
    values |= {
        "min_capacity": math.log2(matrix.max(axis=0).sum()),
        "additive_capacity": 1 - matrix.min(axis=0).sum(),
    }
    values |= {"epsilon of one record": level * distances.max()}
    apart = np.sort(distances, axis=1)[:, 1:]
    alike = np.exp(-epsilon * apart)
    counts = np.arange(1, len(prior))
    pair = rest * (apart * alike / (1 + alike)).max()
    packed = rest * apart.min() * (counts * alike / (1 + counts * alike)).max()
    for name, claimed in summary["evaluation"].items():
        check = f"measure: {name}"
        if name == "delta of one record":
            yield check, wrong(claimed != proof["delta"])
        elif name == "smallest_delta":
            beyond_level = matrix[:, None] - np.exp(epsilon * distances)[..., None] * matrix
            yield check, beyond(abs(claimed - np.maximum(beyond_level, 0.0).sum(axis=2).max()), 1e-11)
        elif name == "error_bound" and (distances == distances.T).all():
            yield check, max(0.0, abs(claimed / max(pair, packed) - 1) - 2.5e-12)
        elif name in values:
            yield check, abs(claimed / values[name] - 1)
