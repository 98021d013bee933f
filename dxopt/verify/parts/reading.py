"""The parts that an answer rests on: each is a result folder of its own, proven again by the same checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.files import PARTS, number
from dxopt.verify.folder import Result
from dxopt.verify.verdict import Broken, Check, Outcome, Unproved

Checks = Callable[[Path], Iterable[Check]]
Tell = Callable[[str], object]
COMPARISON = "comparison"
"""The folder among the parts of a report that has its comparison."""
_REPEATED = ("problem", "secrets_are_reports", "loss", "objective", "pairs", "prior", "structure")
_POINTS = ("labels", "points", "report_labels", "report_points")


@dataclass(frozen=True)
class Part:
    """The claims of a part, and what was found of them.

    Attributes
    ----------
    name : str
        parts/000 and so on.
    check : Check
        All of its checks in one.
    summary, described : mapping
        Its report.json and problem.yaml.
    epsilon, max_loss : float
        What was asked for; infinite where nothing was.
    value, bound : float
        Of its certificate.
    price : float
        Of its dual: what a unit of loss is worth at most in error; 0 where there is none.
    """

    name: str
    check: Check
    summary: Mapping[str, Any]
    described: Mapping[str, Any]
    epsilon: float
    max_loss: float
    value: float
    bound: float
    price: float

    @property
    def optimal(self) -> bool:
        """Whether its gap is within its tolerance."""
        return self.summary.get("status") == "optimal"


def part_folders(folder: Path) -> list[Path]:
    """The parts in their order, without the comparison; Broken unless their names count them."""
    inside = folder / PARTS
    there = [path for path in inside.iterdir() if path.name != COMPARISON] if inside.is_dir() else []
    found = sorted(there, key=lambda path: (len(path.name), path.name))
    for index, path in enumerate(found):
        if path.name != f"{index:03}":
            raise Broken(f"there is {PARTS}/{path.name}, but no {PARTS}/{index:03}")
    return found


def read_parts(
    folder: Path, checks: Checks, varied: str, like: Result | None, tell: Tell
) -> tuple[list[Check], list[Part]]:
    """Prove every part again; those that can be read at all, in their order.

    Parameters
    ----------
    folder : Path
    checks : callable
        Of a result folder.
    varied : str
        "epsilon" or "max_loss": where parts differ.
    like : Result or None
        What they are parts of, if it is a report itself; else they are to be as the first one.
    tell : callable
        Given a line of text for each.
    """
    found: list[Check] = []
    parts: list[Part] = []
    folders = part_folders(folder)
    for count, path in enumerate(folders, 1):
        name = f"{PARTS}/{path.name}"
        tell(f"{name}, {count} of {len(folders)}")
        check = in_one(name, list(checks(path)))
        try:
            result = Result.read(path)
            like = like or result
            if check.status is not Outcome.FAILS and (where := unlike(result, like, varied)):
                check = Check(name, Outcome.FAILS, f"it is about another problem: another {where}")
            parts.append(_part(name, check, result))
        except Broken as error:
            if check.status is not Outcome.FAILS:
                check = Check(name, Outcome.FAILS, str(error))
        found.append(check)
    return found, parts


def require_all(checks: Sequence[Check]) -> None:
    """Unproved unless all parts hold."""
    left = [check.name for check in checks if check.status is not Outcome.HOLDS]
    if left:
        raise Unproved(f"it agrees with its parts, but these do not hold or are not re-proved: {', '.join(left)}")


def in_one(name: str, checks: Sequence[Check]) -> Check:
    """All checks of a part as one: the worst outcome, with all that have it."""
    for wanted in (Outcome.FAILS, Outcome.NOT_REPROVED):
        some = [f"{check.name}: {check.detail}" for check in checks if check.status is wanted]
        if some:
            return Check(name, wanted, "; ".join(some))
    return Check(name, Outcome.HOLDS, f"{len(checks)} claims")


def _part(name: str, check: Check, result: Result) -> Part:
    price = number(result.dual, "price") if "guesses" in result.dual else 0.0
    return Part(
        name,
        check,
        result.summary,
        result.described,
        epsilon=result.epsilon,
        max_loss=number(result.problem, "max_loss") if "max_loss" in result.problem else np.inf,
        value=result.claimed("value"),
        bound=result.claimed("bound"),
        price=max(price, 0.0) if np.isfinite(price) else 0.0,
    )


def unlike(result: Result, other: Result, varied: str) -> str | None:
    """Where two results are about different problems, apart from what is varied; None where they are not."""
    for key in _REPEATED:
        if result.summary.get(key) != other.summary.get(key):
            return key
    arrays = [(key, result.problem, other.problem) for key in ("prior", "delta", "epsilon", "max_loss")]
    arrays.append(("adversary_loss", result.problem, other.problem))
    arrays += [
        (key, result.mechanism, other.mechanism)
        for key in sorted({*result.mechanism} & {*other.mechanism})
        if key in _POINTS or key.startswith("space.")
    ]
    for key, mine, theirs in arrays:
        if key != varied and not _same(mine.get(key), theirs.get(key)):
            return key
    if result.written and other.written:
        if not _same(result.distances, other.distances):
            return "distances"
        if not _same(result.all_losses, other.all_losses):
            return "loss"
    return None


def _same(mine: NDArray[Any] | None, theirs: NDArray[Any] | None) -> bool:
    if mine is None or theirs is None:
        return mine is theirs
    return mine.dtype.kind == theirs.dtype.kind and np.array_equal(mine, theirs)
