"""Forgeries of many entries at once: of all that repeat each other, and of all quantities of some kinds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml import YAML

from tests.judges.result import contents, packed

Keys = tuple[Any, ...]
QUANTITIES: dict[str, str] = {
    "points": r".*\.(npz|dxt): (.*[/.])?(points|report_points|spacing)",
    "names": r".*\.(npz|dxt): (.*[/.])?(labels|reports)",
    "degrees": r".*\.(npz|dxt): (space\.)?positions\.(degrees|outlines|streets)",
    "distances": r".*\.(npz|dxt): (.*[/.])?(distances|lengths)",
    "losses": r".*\.npz: (losses|adversary_loss|max_loss)",
    "epsilon": r".*[:.] (.*[/.])?(epsilon|level|realised|asked|epsilons|below|from|to)(\.\d+)?",
    "values": r".*[:.] (.*[/.])?(value|bound|remapped|cost|prices|multiplier|price|values|bounds|under|expected_loss"
    r"|worst_loss|adversary_error|error_bound|budgets|breakpoints|max_loss)(\.\w+)?",
}
"""The entries of each kind, as `file: path`."""


@dataclass
class Files:
    """The contents of the files of a folder, and what they become."""

    folder: Path
    plain: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> Files:
        """Those of a folder, and of its parts."""
        found = cls(folder)
        for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "digests.json"):
            name = str(file.relative_to(folder))
            if file.suffix in (".npz", ".dxt"):
                found.arrays[name] = contents(file)
            elif file.suffix == ".json":
                found.plain[name] = json.loads(file.read_text(encoding="utf-8"))
            elif file.suffix == ".yaml":
                found.plain[name] = YAML(typ="safe").load(file.read_text(encoding="utf-8"))
        return found

    def entries(self) -> Iterator[tuple[str, Keys, Any]]:
        """Every number, name and array: its file, the way to it, and what it is."""
        for name, content in self.plain.items():
            for keys, value in leaves(content):
                yield name, keys, value
        for name, arrays in self.arrays.items():
            for key, array in arrays.items():
                yield name, (key,), array

    def changed(self, entries: list[tuple[str, Keys, Any]]) -> dict[str, bytes]:
        """The bytes of the files that have other entries then."""
        plain: dict[str, Any] = {}
        arrays: dict[str, dict[str, np.ndarray]] = {}
        for name, keys, other in entries:
            if name in self.arrays:
                arrays.setdefault(name, dict(self.arrays[name]))[keys[0]] = other
                continue
            inner = plain.setdefault(name, json.loads(json.dumps(self.plain[name])))
            for key in keys[:-1]:
                inner = inner[key]
            inner[keys[-1]] = other
        written = {name: json.dumps(content).encode() for name, content in plain.items()}
        return written | {name: packed(content, Path(name).suffix) for name, content in arrays.items()}


def leaves(content: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """The numbers and names of plain content."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        if isinstance(value, dict | list):
            yield from leaves(value, (*keys, key))
        else:
            yield (*keys, key), value


def groups(files: Files) -> list[list[tuple[str, Keys, Any]]]:
    """The entries that repeat each other, where there are several."""
    found: dict[Any, list[tuple[str, Keys, Any]]] = {}
    for name, keys, value in files.entries():
        if (identity := _identity(value)) is not None:
            found.setdefault(identity, []).append((name, keys, value))
    return [group for group in found.values() if len(group) > 1]


def _identity(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, np.ndarray):
        return (value.dtype.kind, value.shape, str(value.tolist()))
    if isinstance(value, str):
        return ("name", value) if value else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value in (0, 1):
        return None
    return ("number", float(value))


def changes(value: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """What may be done to all entries of a group."""
    if isinstance(value, str) or (isinstance(value, np.ndarray) and value.dtype.kind == "U"):
        for name in ("another", "Euclidean", "haversine", "uniform", "exponential", "distance", "mi"):
            if not isinstance(value, np.ndarray):
                yield name, lambda one, name=name: name
            elif not value.ndim:
                yield name, lambda one, name=name: np.array(name) if isinstance(one, np.ndarray) else name
    else:
        for factor in (0.5, 2.0, 1 + 1e-6, 1 - 1e-6, -1.0):
            yield f"times {factor}", lambda one, factor=factor: times(one, factor)
    if isinstance(value, np.ndarray) and value.ndim and len(value) > 1:
        yield "reversed", lambda one: one[::-1].copy()
        yield "rolled", lambda one: np.roll(one, 1, axis=0)


def times(value: Any, factor: float) -> Any:
    """A quantity of the same kind, in names as well."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return np.array([_name_times(str(name), factor) for name in value.ravel()]).reshape(value.shape)
    if isinstance(value, np.ndarray):
        return (value * factor).astype(value.dtype if value.dtype.kind == "f" else float)
    return None if value is None else value * factor


def _name_times(name: str, factor: float) -> str:
    return re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", lambda found: f"{float(found[0]) * factor:.10g}", name)


def repeated(files: Files) -> Iterator[tuple[str, str, tuple[str, ...], Callable[[], dict[str, bytes]]]]:
    """All entries that repeat each other changed alike: which, how, and the files then."""
    for group in groups(files):
        where = " & ".join(f"{name}: {'.'.join(map(str, keys))}" for name, keys, _ in group)
        names = tuple(dict.fromkeys(name for name, _, _ in group))
        for how, change in changes(group[0][2]):
            yield where, how, names, partial(_changed, files, group, change)


def _changed(
    files: Files,
    group: list[tuple[str, Keys, Any]],
    change: Callable[[Any], Any],
    level: Callable[[Any], Any] | None = None,
) -> dict[str, bytes]:
    """The files once a group is changed, levels in another way."""
    entries = [
        (name, keys, (level if level and _is_level(name, keys) else change)(value)) for name, keys, value in group
    ]
    return files.changed(entries)


def _is_level(name: str, keys: Keys) -> bool:
    return re.fullmatch(QUANTITIES["epsilon"], f"{name}: {'.'.join(map(str, keys))}") is not None


def scalings(files: Files) -> Iterator[tuple[str, tuple[str, ...], Callable[[], dict[str, bytes]]]]:
    """Quantities of every choice of kinds doubled or halved, ε the other way: how, and the files then."""
    of: dict[str, list[tuple[str, Keys, Any]]] = {kind: [] for kind in QUANTITIES}
    for name, keys, value in files.entries():
        if isinstance(value, bool) or (isinstance(value, str) or value is None):
            continue
        path = f"{name}: {'.'.join(map(str, keys))}"
        kind = next((kind for kind, pattern in QUANTITIES.items() if re.fullmatch(pattern, path)), None)
        if kind is not None and (kind == "names") == (isinstance(value, np.ndarray) and value.dtype.kind == "U"):
            of[kind].append((name, keys, value))
    present = [kind for kind, entries in of.items() if entries]
    for factor in (2.0, 0.5):
        for chosen in product((False, True), repeat=len(present)):
            kinds = [kind for kind, taken in zip(present, chosen, strict=True) if taken]
            if not kinds:
                continue
            group = [entry for kind in kinds for entry in of[kind]]
            names = tuple(dict.fromkeys(name for name, _, _ in group))
            larger, smaller = (partial(times, factor=by) for by in (factor, 1 / factor))
            yield f"{', '.join(kinds)} times {factor:g}", names, partial(_changed, files, group, larger, smaller)
