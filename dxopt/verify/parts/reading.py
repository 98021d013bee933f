"""The parts that an answer rests on: each is a result folder of its own, proven again by the same checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.claims import STATUSES
from dxopt.verify.files import PARTS, number, read_json, require_format
from dxopt.verify.folder import Result, as_number
from dxopt.verify.values import AGREEMENT
from dxopt.verify.verdict import Broken, Check, Outcome, Unproved

Checks = Callable[[Path], Iterable[Check]]
Tell = Callable[[str], object]
COMPARISON = "comparison"
"""The folder among the parts of a report that has its comparison."""
_LIKE = ("space.", "report", "secrets")


@dataclass(frozen=True)
class Part:
    """The claims of a part, and what was found of them.

    Attributes
    ----------
    name : str
        parts/000 and so on.
    check : Check
        All of its checks in one.
    claims, named : mapping
        Its claims.json, and what was asked by name.
    epsilon, max_loss : float
        What was asked for; infinite where nothing was.
    value, bound : float
        Of its certificate.
    price : float
        Of its dual: what a unit of loss is worth at most in error; 0 where there is none.
    """

    name: str
    check: Check
    claims: Mapping[str, Any]
    named: Mapping[str, Any]
    epsilon: float
    max_loss: float
    value: float
    bound: float
    price: float

    @property
    def optimal(self) -> bool:
        """Whether its gap is within its tolerance."""
        return self.claims.get("status") == "optimal"


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
        result.claims,
        result.named,
        epsilon=result.epsilon,
        max_loss=number(result.problem, "max_loss") if "max_loss" in result.problem else np.inf,
        value=result.claimed("value"),
        bound=result.claimed("bound"),
        price=max(price, 0.0) if np.isfinite(price) else 0.0,
    )


def unlike(result: Result, other: Result, varied: str) -> str | None:
    """Where two results are about different problems, apart from what is varied; None where they are not."""
    for key in sorted({*result.named, *other.named} - {"within"}):
        if result.named.get(key) != other.named.get(key):
            return key
    arrays = [(key, result.problem, other.problem) for key in ("prior", "delta", "epsilon", "max_loss")]
    arrays.append(("adversary_loss", result.problem, other.problem))
    arrays += [
        (key, result.mechanism, other.mechanism)
        for key in sorted({*result.mechanism} & {*other.mechanism})
        if key.startswith(_LIKE)
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


def read_answer(folder: Path, name: str, *keys: str) -> dict[str, Any]:
    """The JSON file of an answer by parts, with these entries and no others, and a status that a run can end with."""
    content = read_json(folder, name)
    require_format(name, content)
    if {*content} != {"format", "problem", "status", *keys}:
        raise Broken(f"{name}: {', '.join(sorted({*content} ^ {'format', 'problem', 'status', *keys}))} is unknown")
    if content["status"] not in STATUSES:
        raise Broken(f"{name}: status is {content['status']!r}")
    return content


def require_parts(name: str, parts: Sequence[Part], count: int) -> None:
    """Broken unless there are as many parts as levels or budgets, and one at least."""
    if not parts or len(parts) != count:
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
