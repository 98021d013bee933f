"""Which figures of a comparison, and which measures of beliefs, records and error, are false: for `judges.result`.

Imports nothing from the package that it judges.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tests.judges.exact import row_sum_errors
from tests.judges.order import order_deviations, remap_deviations
from tests.judges.result import beyond, bound_of, privacy, read_arrays, read_claims, wrong


def comparison_deviations(folder: Path) -> Iterator[tuple[str, float]]:
    """By how much each claim of a comparison is off, relative."""
    asked = read_arrays(folder, "problem")
    found = read_arrays(folder, "compared")
    summary, proof = read_claims(folder)
    comparison = summary["comparison"]
    own = read_arrays(folder, "mechanism")
    epsilon = float(asked["epsilon"])
    delta = float(asked["delta"])
    objective = summary["objective"]
    sign = -1 if objective == "adversary_error" else 1
    names = found["priors"].tolist() if "priors" in found else []
    others = {
        name: asked | {"prior": prior} for name, prior in zip(names, found.get("probabilities", []), strict=True)
    }
    best = comparison["rows"][0]["value"]
    limit = comparison["bound"]
    yield "comparison", wrong((comparison["epsilon"], comparison["delta"]) != (epsilon, delta))
    yield "comparison", wrong(sign * (proof["bound"] - limit) > 0)
    for index, row in enumerate(comparison["rows"]):
        if row["value"] is None:
            continue
        value = row["value"]
        check = f"comparison: {row['name']}"
        figures = {"gap": abs(value - limit) / abs(value), "excess": (value - best) / abs(best)}
        if row["remapped"] is not None:
            figures["remapped_excess"] = (row["remapped"] - best) / abs(best)
        yield "comparison", max(abs(row[key] - exact) for key, exact in figures.items())
        home = others.get(row["name"].removeprefix("optimal for "), asked)
        if row["private"] and (sign == 1 or home is asked):
            yield "comparison", max(0.0, sign * (limit - value) / abs(value))
        matrix = found.get(f"{index}/matrix", own["matrix"])
        yield from ((check, off) for off in _row(asked, matrix, row, objective))
        yield from ((check, off) for off in remap_deviations(asked["losses"], matrix, row, found, index))
        for name, other in others.items():
            yield check, abs(row["under"][name] / _value(other, matrix, objective) - 1)
        if sign == -1:
            spent = (home["prior"][:, None] * matrix * asked["losses"]).sum()
            yield check, max(0.0, spent - float(asked["max_loss"]))
    dual = {key.removeprefix("bound/"): array for key, array in found.items() if key.startswith("bound/")}
    proven = bound_of(folder, asked, objective, "all", dual) if dual else proof["bound"]
    yield "comparison: bound", _above(sign, limit, proven) if dual else wrong(limit != proven)
    for index, (name, other) in enumerate(others.items()):
        prior = other["prior"]
        start = f"bounds/{index}/"
        yield "comparison: other priors", wrong(bool((prior < 0).any())) + beyond(abs(math.fsum(prior) - 1), 1e-9)
        dual = {key.removeprefix(start): array for key, array in found.items() if key.startswith(start)}
        proven = bound_of(folder, other, objective, "all", dual)
        yield "comparison: other priors", _above(sign, comparison["bounds"][name], proven)
    channels = {
        row["name"]: found.get(f"{index}/matrix", own["matrix"])
        for index, row in enumerate(comparison["rows"])
        if row["value"] is not None
    }
    yield from order_deviations(comparison["refinements"], channels, found)
    if comparison["verdict"]:
        yield "comparison: verdict", _verdict(asked, own, comparison["verdict"])


def _row(asked: dict[str, Any], matrix: np.ndarray, row: dict[str, Any], objective: str) -> Iterator[float]:
    prior = asked["prior"]
    distances = asked["distances"]
    delta = float(asked["delta"])
    epsilon = float(asked["epsilon"])
    joint = prior[:, None] * matrix
    yield wrong(bool((matrix < 0).any()) or max(map(abs, row_sum_errors(matrix))) > Fraction(1, 2**50))
    level = {"epsilon": row["epsilon"], "delta": row["delta"] or 0.0}
    if row["epsilon"] is None:
        apart = np.isfinite(distances)
        yield wrong(
            row["private"] or not bool(((matrix[:, None] > 0) & (matrix[None] == 0) & apart[:, :, None]).any())
        )
    else:
        yield privacy(matrix, distances, row["epsilon"] if row["baseline"] else epsilon, delta, level)
    yield abs(row["value"] / _value(asked, matrix, objective) - 1)
    yield abs(row["leakage"] - math.log2(joint.max(axis=0).sum() / prior.max()))
    if row["remapped"] is not None and objective == "expected_loss":
        yield abs(row["remapped"] / (asked["losses"].T @ joint).min(axis=0).sum() - 1)


def _value(asked: dict[str, Any], matrix: np.ndarray, objective: str) -> float:
    joint = asked["prior"][:, None] * matrix
    if objective == "adversary_error":
        return (asked["adversary_loss"].T @ joint).min(axis=0).sum()
    return (
        (joint * asked["losses"]).sum()
        if objective == "expected_loss"
        else (matrix * asked["losses"]).sum(axis=1).max()
    )


def _above(sign: int, claimed: float, proven: float) -> float:
    return 1.0 if math.isnan(proven) else max(0.0, sign * (claimed - proven) / abs(proven))


def _verdict(asked: dict[str, Any], own: dict[str, Any], text: str) -> float:
    """Whether every entry of μ is at least so much, or one of them is what is claimed of it; of Φμ = π with any Φ."""
    mu = np.linalg.solve(np.exp(-float(asked["epsilon"]) * asked["distances"]), asked["prior"])
    if found := re.fullmatch(r"regular: every entry of μ is at least (\S+)", text):
        return max(0.0, float(found[1]) - float(mu.min()))
    found = re.fullmatch(r"not regular: μ is (\S+) at (.*), within (\S+)", text)
    assert found
    labels = [str(place) for place in np.ndindex(*own["space.shape"].tolist())]
    off = abs(mu[labels.index(found[2])] - float(found[1]))
    return wrong((mu >= 0).all()) + max(0.0, off - float(found[3]))


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
        elif name == "error_bound" and (distances == distances.T).all():
            yield check, max(0.0, abs(claimed / max(pair, packed) - 1) - 2.5e-12)
        elif name in values:
            yield check, abs(claimed / values[name] - 1)
