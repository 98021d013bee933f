"""What the golden corpus keeps of an answer, how it is written, and what counts as a difference."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import re
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  # BLAS, which `machine` and the limit on threads look for
from llvmlite.binding import get_host_cpu_name
from threadpoolctl import threadpool_info, threadpool_limits

import dxopt as dx

CORPUS = Path(__file__).parent / "corpus.json"
SIGNATURES = Path(__file__).parent / "signatures.json"
RELATIVE = 1e-12
ABSOLUTE = 1e-15
"""For gaps and for what is 0 up to rounding."""
ELSEWHERE = 1e-5
"""Relative, of values and bounds on another machine or with other versions of the solvers."""
WRITTEN = 2_000_000
"""Probabilities of a mechanism up to which its digest is of all rows; above it is of three."""
SHORT = 16
"""Arrays up to this size are kept as they are; longer ones by their digest and sum."""
LOOSE: frozenset[str] = frozenset()
"""Entries whose last digits differ between two runs: kept without digests, and compared to 1e-9."""


def kept(answer: Any) -> Any:
    """Return what is kept of an answer: numbers, statuses, labels and digests, and no wording."""
    match answer:
        case None | bool() | int() | str():
            return str(answer) if isinstance(answer, str) else answer
        case float():
            return float(answer)
        case dict():
            return {str(key): kept(value) for key, value in answer.items()}
        case list() | tuple():
            return [kept(value) for value in answer]
        case np.ndarray():
            return array(answer)
        case np.generic():
            return kept(answer.item())
        case dx.Report():
            return report(answer)
        case dx.Level():
            return {"epsilon": answer.epsilon, "below": answer.below, "status": str(answer.status)}
        case dx.IntegerTable():
            return table(answer)
        case dx.Mechanism():
            return mechanism(answer)
        case dx.Comparison() | dx.EpsilonSweep() | dx.Frontier() | dx.BudgetFrontier():
            return frame(answer)
        case dx.Prior():
            return array(answer.probabilities)
        case dx.Composed():
            return {name: kept(getattr(answer, name)) for name in ("epsilon", "delta", "least", "pure", "worst")}
    raise TypeError(f"nothing is kept of {type(answer)}")


def array(values: np.ndarray) -> Any:
    """Return a short array as a list, and the digest of a long one."""
    if values.size <= SHORT:
        return kept(values.tolist())
    if values.dtype.kind == "f":
        return {
            "digest": digest(values),
            "sum": float(values[np.isfinite(values)].sum()),
            "shape": list(values.shape),
        }
    return {"digest": hashlib.sha256(repr(values.tolist()).encode()).hexdigest()[:16], "shape": list(values.shape)}


def digest(values: np.ndarray) -> str:
    """Return the SHA-256 of numbers that are rounded to 1e-12; -0.0 counts as 0.0."""
    rounded = np.round(np.asarray(values, dtype="<f8"), 12) + 0.0
    return hashlib.sha256(rounded.tobytes()).hexdigest()[:16]


def mechanism(found: dx.Mechanism) -> dict[str, Any]:
    """Return the level of a mechanism and the digest of its probabilities."""
    n, m = len(found.space), len(found.reports)
    secrets = np.arange(n) if n * m <= WRITTEN else np.array([0, n // 2, n - 1])
    privacy = found.privacy
    return {
        "shape": [n, m],
        "epsilon": None if privacy is None else privacy.epsilon,
        "delta": None if privacy is None else privacy.delta,
        "digest": digest(found.rows(secrets)),
    }


def table_of(found: dx.Report) -> dict[str, Any] | None:
    """Return what is kept of the table of a report; None where it has none."""
    try:
        return table(found.table)
    except dx.UnsupportedError:
        return None


def table(found: dx.IntegerTable) -> dict[str, Any]:
    """Return the digest of the integers of a table; that of its file would have wording."""
    counts = hashlib.sha256(repr([int(count) for count in np.ravel(found.counts)]).encode()).hexdigest()[:16]
    return {"digest": counts, "bits": found.bits, "epsilon": found.epsilon, "delta": found.delta}


def report(found: dx.Report) -> dict[str, Any]:
    """Return what was proven of an answer, its digests, measures and comparison."""
    proof = found.certificate
    return {
        "value": proof.value,
        "bound": proof.bound,
        "gap": proof.gap,
        "epsilon": proof.epsilon,
        "delta": proof.delta,
        "belief_level": proof.belief_level,
        "private": proof.private,
        "status": str(found.status),
        "claim": found.claim,
        "delivered": found.delivered,
        "mechanism": mechanism(found.mechanism),
        "table": table_of(found),
        "worst_loss": None if found.off_prior.losses is None else float(found.off_prior.losses.max()),
        "evaluation": kept(dict(found.evaluation)),
        "held_out": [[one.loss, one.standard_error, one.worst] for one in found.held_out],
        "members": [[one.certificate.value, one.certificate.bound] for one in found.members],
        "comparison": None if found.comparison is None else frame(found.comparison),
        "warnings": [[warning.kind, warning.field] for warning in found.warnings],
    }


def frame(answer: Any) -> list[list[Any]]:
    """Return the rows of `dx.to_frame` without the columns of reasons, after a row of names."""
    rows = dx.to_frame(answer)
    names = [name for name in rows.columns if name != "reason"]
    return [names, *(kept(list(row)) for row in rows[names].itertuples(index=False))]


def computed(name: str) -> Any:
    """Compute one entry; an error that dxopt raises on purpose is kept by its class and field."""
    from tests.golden.entries import ENTRIES

    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore", dx.PlausibilityWarning)
        try:
            found = kept(ENTRIES[name]())
        except dx.DxoptError as error:
            public = next(kind.__name__ for kind in type(error).__mro__ if hasattr(dx, kind.__name__))
            found = {"error": public, "field": getattr(error, "field", None)}
    return without_digests(found) if name in LOOSE else found


def without_digests(found: Any) -> Any:
    match found:
        case dict():
            return {key: without_digests(value) for key, value in found.items() if key != "digest"}
        case list():
            return [without_digests(value) for value in found]
    return found


def machine() -> dict[str, str]:
    """Return what last digits depend on: the processor, and the versions of what computes."""
    packages = ("numpy", "scipy", "cvxpy", "clarabel", "highspy", "numba")
    kernels = sorted({info["architecture"] for info in threadpool_info() if "architecture" in info})
    return {
        "processor": " ".join([get_host_cpu_name(), *kernels]),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        **{package: version(package) for package in packages},
    }


def differences(old: Any, new: Any, where: str, exactly: bool) -> list[str]:
    """Return a line for each difference; without `exactly` only values, bounds and what is no number count."""
    key = where.rpartition(".")[2]
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            line
            for name in sorted(old.keys() | new.keys())
            if exactly or name != "digest"
            for line in differences(old.get(name), new.get(name), f"{where}.{name}", exactly)
        ]
    if isinstance(old, list) and isinstance(new, list) and (len(old) == len(new) or not exactly):
        pairs = enumerate(zip(old, new, strict=False))
        return [line for at, (a, b) in pairs for line in differences(a, b, f"{where}[{at}]", exactly)]
    if isinstance(old, float) and isinstance(new, float):
        if not exactly and key not in ("value", "bound"):
            return []
        near = 1e-9 if where.partition(".")[0] in LOOSE else RELATIVE
        if close(old, new, near if exactly else ELSEWHERE):
            return []
    elif type(old) is type(new) and old == new:
        return []
    return [f"{where}: {old!r} is now {new!r}"]


def close(old: float, new: float, relative: float) -> bool:
    return (
        old == new
        or (math.isnan(old) and math.isnan(new))
        or math.isclose(old, new, rel_tol=relative, abs_tol=ABSOLUTE)
    )


def read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))


def write(file: Path, content: dict[str, Any]) -> None:
    """Write a sorted object with an entry on each line."""
    lines = [f"{json.dumps(name)}: {json.dumps(content[name], ensure_ascii=False)}" for name in sorted(content)]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def signatures() -> dict[str, str]:
    """Return the signature of every public name, its public methods and properties."""
    found: dict[str, str] = {}
    for name in dx.__all__:
        public = getattr(dx, name)
        if isinstance(public, ModuleType):
            inner = getattr(public, "__all__", None) or [
                other for other, value in vars(public).items() if getattr(value, "__module__", "") == public.__name__
            ]
            for other in inner:
                if not other.startswith("_"):
                    found |= signed(f"dx.{name}.{other}", getattr(public, other))
        else:
            found |= signed(f"dx.{name}", public)
    return found


def signed(name: str, public: Any) -> dict[str, str]:
    """Return the signature of a name and, for a class, of its public members."""
    if not inspect.isclass(public):
        return {name: text(public)}
    found = {name: "class" + text(public)}
    for member in dir(public):
        if member.startswith("_") or (issubclass(public, BaseException) and hasattr(BaseException, member)):
            continue
        value = inspect.getattr_static(public, member)
        where = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        module = getattr(getattr(where, "func", None) or getattr(where, "fget", None) or where, "__module__", "dxopt")
        if str(module).startswith("dxopt"):
            found[f"{name}.{member}"] = text(where)
    return found


def text(public: Any) -> str:
    """Return a signature without the modules of its annotations; of what is not called, that it is a value."""
    if not callable(public):
        return "value"
    try:
        written = str(inspect.signature(public))
    except (TypeError, ValueError):
        return "(...)"
    return re.sub(r" at 0x[0-9a-f]+", "", re.sub(r"(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", written.replace("'", "")))


def changed_signatures(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """Return a line for each public name that was added, removed or changed."""
    return [
        *(f"removed: {name}{old[name]}" for name in sorted(old.keys() - new.keys())),
        *(f"added: {name}{new[name]}" for name in sorted(new.keys() - old.keys())),
        *(f"changed: {n}{old[n]} is now {new[n]}" for n in sorted(old.keys() & new.keys()) if old[n] != new[n]),
    ]
