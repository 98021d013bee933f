"""Which claims of a level, a frontier or a sweep are false, parts and all: by formulas written for the purpose.

Imports nothing from the package that it judges. Each part is judged as a result of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.judges.figures import INSIDE, comparison_deviations
from tests.judges.result import FALSE, TRUE, bound_of, judged, read_arrays, read_claims, read_json

QUESTIONS = ("level", "frontier", "sweep")


def question_of(folder: Path) -> str:
    """The file of what follows from the parts, without its ending."""
    return next(name for name in QUESTIONS if (folder / f"{name}.json").is_file())


def judged_with_parts(folder: Path) -> tuple[set[str], set[str]]:
    """The checks that a false claim belongs to, and those that are too near to call."""
    question = question_of(folder)
    false, doubtful = judged(folder) if (folder / "claims.json").is_file() else (set(), set())
    parts = sorted((folder / "parts").iterdir())
    for part in parts:
        others = [comparison_deviations] if (part / INSIDE).is_dir() else []
        wrong, near = judged(part, *others)
        false |= {f"parts/{part.name}"} if wrong else set()
        doubtful |= {f"parts/{part.name}"} if near else set()
    alike = [folder, *parts] if question == "level" else parts
    varied = "max_loss" if "budgets" in read_json(folder, question) else "epsilon"
    for part in alike[1:]:
        if _problem(part, varied) != _problem(alike[0], varied):
            false.add(f"parts/{part.name}")
    judge = {"level": _level, "frontier": _frontier, "sweep": _sweep}[question]
    offs = [math.inf if math.isnan(off) else off for off in judge(folder, parts)]
    false |= {f"{question}.json"} if max(offs) > FALSE else set()
    doubtful |= {f"{question}.json"} if TRUE < max(offs) <= FALSE else set()
    return false, doubtful


def _problem(folder: Path, varied: str) -> str:
    """All that a problem is about but for what is varied, as text."""
    arrays = read_arrays(folder, "problem")
    space = {key: array.tolist() for key, array in read_arrays(folder, "mechanism").items() if "space" in key}
    same = sorted((key, array.tolist()) for key, array in arrays.items() if key != varied)
    return repr((same, read_json(folder, "claims")["problem"], space))


def _wrong(is_so: Any) -> float:
    return float(bool(is_so))


def _level(folder: Path, parts: list[Path]) -> Iterator[float]:
    content = read_json(folder, "level")
    summary, _ = read_claims(folder)
    asked = read_arrays(folder, "problem")
    lower = read_arrays(parts[0], "problem")
    yield _wrong(content["epsilon"] != float(asked["epsilon"]) or content["below"] != float(lower["epsilon"]))
    kept = asked["prior"][:, None] if summary["objective"] == "expected_loss" else 1.0
    lost = (kept * read_arrays(folder, "mechanism")["matrix"] * asked["losses"]).sum(axis=1)
    loss = lost.sum() if summary["objective"] == "expected_loss" else lost.max()
    yield max(0.0, loss - content["max_loss"])
    yield max(0.0, content["max_loss"] - bound_of(parts[0], lower, summary["objective"], summary["pairs"]))
    if not 0 < content["below"] < content["epsilon"] or not 0 < content["accuracy"] < 1:
        yield 1.0
        return
    apart = (content["epsilon"] - content["below"]) / content["below"]
    yield abs(content["resolution"] - apart)
    share = math.log1p(apart) / (content["accuracy"] * (1 + 1e-6))
    yield 1e-12 if abs(share - 1) < 1e-8 else _wrong((content["status"] == "optimal") != (share <= 1))


def _frontier(folder: Path, parts: list[Path]) -> Iterator[float]:
    content = read_json(folder, "frontier")
    asked = [read_arrays(part, "problem") for part in parts]
    proofs = [read_claims(part)[1] for part in parts]
    values, bounds = (np.array([proof[key] for proof in proofs]) for key in ("value", "bound"))
    points = content["budgets" if "budgets" in content else "epsilons"]
    yield _wrong(points != [float(one["max_loss" if "budgets" in content else "epsilon"]) for one in asked])
    yield _wrong(np.any(np.diff(points) <= 0))
    if "budgets" not in content:
        values = np.array([values[: index + 1].min() for index in range(len(values))])
        bounds = np.array([bounds[index:].max() for index in range(len(bounds))])
        widths = values[:-1] - bounds[1:]
        whole = values[0] - bounds[-1]
    else:
        prices = [float(read_arrays(part, "dual").get("price", 0.0)) for part in parts]
        yield _wrong(content["prices"] != prices)
        widths = _above(np.array(points), values, bounds, np.array(prices))
        whole = bounds[-1] - values[0]
        yield _wrong(content["breakpoints"] != _bends(points, values, widths, content["wanted"] * whole))
    yield _wrong(content["values"] != values.tolist() or content["bounds"] != bounds.tolist())
    resolution = max(0.0, widths.max() / whole)
    yield abs(content["resolution"] - resolution)
    yield _wrong(content["resolution"] <= content["wanted"] and content["status"] != "optimal")
    left = widths > content["wanted"] * whole
    gaps = np.abs(values - bounds)
    yield _wrong(content["status"] == "optimal" and np.any(left & (widths > gaps[1:] + gaps[:-1])))


def _above(points: np.ndarray, values: np.ndarray, bounds: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """By how much the least of two tangents is above a chord, at most: a linear program in (budget, height)."""
    from scipy.optimize import linprog

    found = []
    for one in range(len(points) - 1):
        two = one + 1
        slope = (values[two] - values[one]) / (points[two] - points[one])
        rows = [[slope - prices[one], 1.0], [slope - prices[two], 1.0]]
        limits = [
            bounds[one] - values[one],
            bounds[two] - values[one] - prices[two] * (points[two] - points[one]),
        ]
        best = linprog([0.0, -1.0], rows, limits, bounds=[(0, points[two] - points[one]), (None, None)])
        found.append(-best.fun)
    return np.array(found)


def _bends(points: list[float], values: np.ndarray, widths: np.ndarray, allowed: float) -> list[float]:
    found = []
    for at in range(1, len(points) - 1):
        chord = np.interp(points[at], [points[at - 1], points[at + 1]], [values[at - 1], values[at + 1]])
        if values[at] - chord > allowed and widths[at - 1] <= allowed and widths[at] <= allowed:
            found.append(points[at])
    return found


def _sweep(folder: Path, parts: list[Path]) -> Iterator[float]:
    content = read_json(folder, "sweep")
    levels = [float(read_arrays(part, "problem")["epsilon"]) for part in parts]
    yield _wrong(content["epsilons"] != levels or content["asked"][: len(levels)] != levels)
    yield _wrong(np.any(np.diff(content["asked"]) <= 0))
