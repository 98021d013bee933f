"""The figures that input.json and summary.json repeat of a result: those of its other files."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dxopt.verify.files import (
    FRONTIER,
    INPUT,
    LEVEL,
    PARTS,
    PROOF,
    SUMMARY,
    SWEEP,
    SWEEP_TABLE,
    number,
    numbers,
    plain_file,
    read_arrays,
    read_json,
    read_yaml,
)
from dxopt.verify.folder import as_number
from dxopt.verify.parts.agreeing import agree
from dxopt.verify.verdict import Broken, Unproved

TITLES = {
    "expected_loss": "expected loss",
    "worst_loss": "worst loss",
    "worst_expected_loss": "worst expected loss",
    "regret": "worst regret",
    "adversary_error": "adversary's error",
}
"""What the values of an objective are called."""
_STOPPED = ("interrupted", "time limit")
_NUMBERS = ("value", "bound", "gap", "resolution", "epsilon", "worst_loss", "belief_level")
_TEXTS = ("method", "seconds", "expected", "folder", "units", "warnings", "comparison", "error")
"""What a line has that follows from no other file."""


def check_input(folder: Path) -> str:
    """The line of input.json repeats the figures of the result."""
    line = read_json(folder, INPUT).get("line")
    if not isinstance(line, dict):
        raise Broken(f"{INPUT}: there is no line")
    _check_line(INPUT, line, _known(folder))
    return f"{len(line)} figures are those of the result"


def check_summary(folder: Path) -> str:
    """Each line of summary.json repeats the figures of the result in its folder."""
    lines = read_json(folder, SUMMARY).get("problems")
    if not isinstance(lines, list) or not all(isinstance(line, dict) for line in lines):
        raise Broken(f"{SUMMARY}: problems is no list of lines")
    lost = []
    for line in lines:
        name = line.get("folder")
        where = f"{SUMMARY}, {line.get('problem')}"
        if not name:
            # what failed has no figures
            agree(where, "delivered", line.get("delivered"), False)
            for key in ("value", "bound", "gap", "private", "worst_loss", "belief_level"):
                agree(where, key, line.get(key), None)
        elif not isinstance(name, str) or Path(name).name != name or not (folder / name).is_dir():
            lost.append(str(name))
        else:
            _check_line(where, line, _known(folder / name))
    if lost:
        raise Unproved(f"{SUMMARY}: there is no folder {', '.join(lost[:3])}")
    return f"{len(lines)} lines are those of the results"


def _check_line(where: str, line: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Broken unless the figures of a line are known; it may say that less was delivered, never more."""
    for key, claimed in line.items():
        if key in _TEXTS:
            continue
        if key not in known:
            raise Broken(f"{where}: {key} is no figure of a result")
        if key != "delivered" or claimed is not False:
            agree(where, key, claimed, known[key])


def _known(folder: Path) -> dict[str, Any]:
    """The figures of a result, by the names of a line."""
    found: dict[str, Any] = dict.fromkeys(_NUMBERS)
    found["sweep"] = []
    report = all((folder / name).is_file() for name in PROOF)
    answer = next((name for name in (LEVEL, FRONTIER, SWEEP) if (folder / name).is_file()), None)
    # 1. What was asked, by the report or by the first part.
    first = folder if report else folder / PARTS / "000"
    if (first / PROOF[0]).is_file():
        found |= _asked(first)
    else:
        described = read_yaml(folder, "problem.yaml")
        space = described.get("space") or {}
        found |= {"problem": described.get("name"), "size": space.get("points"), "delta": described.get("delta")}
        found |= {"objective": TITLES.get(str(described.get("objective"))), "private": True}
    # 2. What came out.
    if report:
        found |= _answered(folder)
    elif answer != FRONTIER or "budgets" not in read_json(folder, FRONTIER):
        found["epsilon"] = None
    if answer is not None:
        content = read_json(folder, answer)
        found["status"] = content.get("status")
        found["delivered"] = content.get("status") == "optimal"
        found["resolution"] = content.get("resolution")
    if answer == SWEEP:
        gaps = [as_number(read_json(part, PROOF[1]).get("gap"), "gap") for part in (folder / PARTS).iterdir()]
        found |= {"gap": max(gaps), "resolution": None, "sweep": _swept(folder)}
    return found


def _asked(folder: Path) -> dict[str, Any]:
    summary = read_json(folder, PROOF[0])
    problem = read_arrays(folder, "problem.npz")
    epsilon = number(problem, "epsilon")
    private = epsilon < float("inf")
    return {
        "problem": summary.get("problem"),
        "size": len(numbers(problem, "prior", None)),
        "epsilon": epsilon if private else None,
        "delta": number(problem, "delta"),
        "objective": TITLES.get(str(summary.get("objective"))),
        "private": private,
    }


def _answered(folder: Path) -> dict[str, Any]:
    summary = read_json(folder, PROOF[0])
    certificate = read_json(folder, PROOF[1])
    status = summary.get("status")
    kept = status == "optimal" or (status not in _STOPPED and summary.get("claim") != "exact")
    return {
        **{key: certificate.get(key) for key in ("value", "bound", "gap", "private", "belief_level")},
        "status": status,
        "delivered": kept,
        "worst_loss": (summary.get("off_prior") or {}).get("worst_loss"),
    }


def _swept(folder: Path) -> list[dict[str, Any]]:
    """The rows of sweep.csv, as a line has them."""
    with plain_file(folder, SWEEP_TABLE).open(encoding="utf-8", newline="") as stream:
        return [{key: _cell(key, cell) for key, cell in row.items()} for row in csv.DictReader(stream)]


def _cell(key: str, cell: str) -> Any:
    if key in {"method", "reason"}:
        return cell
    if key == "private":
        return cell == "True"
    return float(cell) if cell else None
