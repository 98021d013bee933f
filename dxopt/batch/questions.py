"""Questions that the results of a file answer, so that no result of another question is replaced unasked.

A question is kept as a digest for each key of the file that has something else than its default, so that a refusal
can name the keys. How well and how long to search is no part of it, nor is what the problem is called.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dxopt.batch.overrides import Overrides
from dxopt.errors import Option, SpecError
from dxopt.spec.fields import plain

if TYPE_CHECKING:
    from pathlib import Path

    from dxopt.spec import ProblemFile

Question = Mapping[str, str]
"""A digest for each key that has something else than its default."""

_HOW = frozenset({"name", "solver", "tolerance", "time_limit", "expect", "privacy"})
"""Keys that are about the search, or, as `privacy`, written in another way."""
_BESIDES = frozenset({"compare", "priors", "evaluate", "learns", "records"})
"""Keys that add to a result: an answer that has more of them still has all that the earlier one had."""


def questions_of(file: ProblemFile, overrides: Overrides, data: Sequence[str]) -> list[Question]:
    """The question of each problem of a file, in the order of their names.

    Parameters
    ----------
    file : ProblemFile
    overrides : Overrides
    data : sequence of str
        Digests of the data files that it names.
    """
    found: list[Question] = []
    if file.saved is not None:
        asked = {"arrays": list(data), **({"compare": "all"} if overrides.compare else {})}
        return [_digests(asked if file.sweep is None else {**asked, "epsilon": asdict(file.sweep)})]
    for member in file.members:
        asked = {key: value for key, value in plain(member.sheet).items() if key not in _HOW}
        if data:
            asked["data"] = list(data)
        if overrides.compare and not member.sheet.compare:
            asked["compare"] = "all"
        if file.sweep is not None:
            found.append(_digests({**asked, "epsilon": asdict(file.sweep)}))
            continue
        each = (
            [asked["epsilon"]] if member.sheet.sweep is not None and "epsilon" in asked else member.sheet.epsilons()
        )
        found += [_digests({**asked, "epsilon": epsilon}) for epsilon in each]
    return found


def _digests(asked: Mapping[str, Any]) -> Question:
    """Digests of values by key."""
    texts = {key: json.dumps(value, sort_keys=True) for key, value in asked.items()}
    return {key: hashlib.sha256(text.encode()).hexdigest()[:16] for key, text in sorted(texts.items())}


def why_other(earlier: Question, now: Question) -> str:
    """The keys under which an answer to `now` misses something of one to `earlier`, in words; "" for none."""
    keys = [key for key in sorted({*earlier, *now}) if earlier.get(key) != now.get(key)]
    missed = [key for key in keys if key in earlier or key not in _BESIDES]
    return f"{', '.join(missed)} {'differs' if len(missed) == 1 else 'differ'}" if missed else ""


def require_replaceable(folder: Path, why_other: str) -> None:
    """Raise SpecError where a result folder answers another question, for a reason; "" where it does not."""
    if why_other:
        wrong = f"{folder} holds the result of another problem ({why_other})"
        raise SpecError("output", wrong, "name another folder, or replace it with ", Option("force", True))
