"""What files repeat of each other: Broken where they differ, with the name of the entry and both contents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from dxopt.verify.claims import STATUSES
from dxopt.verify.files import PARTS, read_yaml
from dxopt.verify.folder import as_number
from dxopt.verify.parts.reading import Part
from dxopt.verify.values import AGREEMENT
from dxopt.verify.verdict import Broken, Unproved


def agree(name: str, key: str, claimed: object, known: object) -> None:
    """Broken unless an entry of a file is the known one; a number is no truth value."""
    if claimed != known or isinstance(claimed, bool) != isinstance(known, bool):
        raise Broken(f"{name}: {key} is {_text(claimed)}, not {_text(known)}")


def _text(content: object) -> str:
    return f"{content:.17g}" if isinstance(content, float) else repr(content)


def agree_number(name: str, key: str, claimed: float, known: Fraction, size: Fraction) -> None:
    """Broken unless a number is the known one up to 1e-12 of a size."""
    if not math.isfinite(claimed) or abs(Fraction(claimed) - known) > AGREEMENT * size:
        raise Broken(f"{name}: {key} is {claimed:.17g}, not {float(known):.17g}")


def agree_status(name: str, status: object) -> None:
    """Broken unless it is a status that a run can end with."""
    if status not in STATUSES:
        raise Broken(f"{name}: status is {status!r}")


def agree_repeated(
    name: str, content: dict[str, Any], folder: Path, parts: Sequence[Part], varied: str, asked: object
) -> None:
    """Broken unless a file, and problem.yaml but for what is varied, repeat what the parts are about."""
    described = read_yaml(folder, "problem.yaml")
    agree(name, "problem", content.get("problem"), parts[0].summary.get("problem"))
    agree(name, "objective", content.get("objective"), parts[0].summary.get("objective"))
    units = parts[0].summary.get("units")
    agree(name, "units", content.get("units", units), units)
    agree("problem.yaml", varied, described.get(varied), asked)
    agree_described(described, parts[0].described, varied)


def agree_described(described: Mapping[str, Any], known: Mapping[str, Any], varied: str) -> None:
    """Broken unless two descriptions are the same, but for one entry and the name of the file of arrays."""
    for key in sorted({*described, *known} - {varied, "arrays"}):
        agree("problem.yaml", key, described.get(key), known.get(key))


def require_parts(name: str, parts: Sequence[Part], count: int) -> None:
    """Unproved without any parts; Broken where there are not as many as levels or budgets."""
    if not parts:
        raise Unproved("no part proves what it says, as in results of earlier versions")
    if len(parts) != count:
        raise Broken(f"{name}: it is about {count} points, but there are {len(parts)} {PARTS}")


def finite(content: Mapping[str, Any], key: str, name: str) -> float:
    """A finite number of a JSON file."""
    found = as_number(content.get(key), f"{name}: {key}")
    if not math.isfinite(found):
        raise Broken(f"{name}: {key} is missing or infinite")
    return found


def finite_list(content: Mapping[str, Any], key: str, name: str) -> list[float]:
    """Finite numbers of a JSON file."""
    found = content.get(key)
    if not isinstance(found, list):
        raise Broken(f"{name}: {key} is no list")
    return [finite({key: entry}, key, f"{name}, entry {index}") for index, entry in enumerate(found)]
