"""Verdicts on a result folder, with the outcome of each claim."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from dxopt.errors import shortened


class Outcome(StrEnum):
    """Outcome of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    NOT_REPROVED = "not re-proved"


_CODES = {Outcome.HOLDS: 0, Outcome.FAILS: 1, Outcome.NOT_REPROVED: 3}


@dataclass(frozen=True)
class Check:
    """One claim.

    Attributes
    ----------
    name : str
        What it is about; "digests" is about the files, all others are about their contents.
    status : Outcome
    detail : str
        What was proven, where it fails, or why it could not be decided.
    """

    name: str
    status: Outcome
    detail: str = ""


@dataclass(frozen=True)
class Verdict:
    """Checks of a result folder.

    Attributes
    ----------
    folder : str
    checks : tuple of Check
        First the digests, then what was proven again.
    note : str
        Of a published file of which all holds: what that proves together, and what it does not. Of a result: the
        files that nothing was proven of.
    """

    folder: str
    checks: tuple[Check, ...]
    note: str = ""

    @property
    def outcome(self) -> Outcome:
        """`fails` if any check does, else `not re-proved` if any claim is left, else `holds`."""
        return _worst(check.status for check in self.checks)

    @property
    def exit_code(self) -> int:
        """0 if all claims hold, 1 if any fails, 3 if none fails but some were not proven again."""
        return _CODES[self.outcome]

    def of(self, name: str) -> Check:
        """Return the check of a name; KeyError if there is none."""
        return {check.name: check for check in reversed(self.checks)}[name]

    @property
    def content(self) -> dict[str, Any]:
        """`{"folder", "outcome", "checks": [{"name", "status", "detail"}]}`, and `note` where there is one."""
        note = {"note": self.note} if self.note else {}
        return {"folder": self.folder, "outcome": self.outcome, "checks": list(map(asdict, self.checks)), **note}

    def as_json(self) -> str:
        """Return the content as JSON."""
        return _json(self.content)

    def lines(self, *, left_only: bool = False) -> list[str]:
        """Return the outcome, and a line for each check, or for those that do not hold."""
        some = [check for check in self.checks if not left_only or check.status is not Outcome.HOLDS]
        wide = max((len(check.name) for check in some), default=0)
        lines = [f"{check.name:{wide}}  {check.status:13}  {check.detail}".rstrip() for check in some]
        if left_only:
            lines = [f"  {line}" for line in lines]
        said = f"{self.folder}: {self.outcome}" + (f", {len(self.checks)} claims" if left_only else "")
        return [said, *lines, *([self.note] if self.note else [])]

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class Verdicts:
    """Verdicts on the results in a folder.

    Attributes
    ----------
    folder : str
    results : tuple of Verdict
        One for each of them, at least one.
    """

    folder: str
    results: tuple[Verdict, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst of them."""
        return _worst(verdict.outcome for verdict in self.results)

    @property
    def exit_code(self) -> int:
        """As for a single result of this outcome."""
        return _CODES[self.outcome]

    def as_json(self) -> str:
        """JSON: `{"folder", "outcome", "results"}`, each result by its verdict."""
        results = [verdict.content for verdict in self.results]
        return _json({"folder": self.folder, "outcome": self.outcome, "results": results})

    def __str__(self) -> str:
        lines = [line for verdict in self.results for line in verdict.lines(left_only=True)]
        found = [verdict.outcome for verdict in self.results]
        counts = ", ".join(f"{one} {found.count(one)}" for one in Outcome if one in found)
        return "\n".join([*lines, f"{self.folder}: {len(found)} results: {counts}"])


def _worst(found: Iterable[Outcome]) -> Outcome:
    some = set(found)
    return next(one for one in (Outcome.FAILS, Outcome.NOT_REPROVED, Outcome.HOLDS) if one in some)


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False)


class Broken(Exception):
    """A claim that does not hold: why, and where."""

    def __init__(self, reason: str) -> None:
        super().__init__(shortened(reason))


class Unproved(Exception):
    """A claim that cannot be decided from the files: why."""
