"""What was found of each claim of a result folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What was found of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    NOT_REPROVED = "not re-proved"


@dataclass(frozen=True)
class Check:
    """One claim.

    Attributes
    ----------
    name : str
        What it is about; "digests" is about the files, all others are about what they say.
    status : Outcome
    detail : str
        What was proven, the place where it fails, or why it could not be decided.
    """

    name: str
    status: Outcome
    detail: str = ""


@dataclass(frozen=True)
class Verdict:
    """What was found of a result folder.

    Attributes
    ----------
    folder : str
    checks : tuple of Check
        First the digests, then what was proven again.
    """

    folder: str
    checks: tuple[Check, ...]

    @property
    def outcome(self) -> Outcome:
        """`fails` if any check does, else `not re-proved` if any claim is left, else `holds`."""
        found = {check.status for check in self.checks}
        return next(one for one in (Outcome.FAILS, Outcome.NOT_REPROVED, Outcome.HOLDS) if one in found)

    @property
    def exit_code(self) -> int:
        """0 if all claims hold, 1 if any fails, 3 if none fails but some were not proven again."""
        return {Outcome.HOLDS: 0, Outcome.FAILS: 1, Outcome.NOT_REPROVED: 3}[self.outcome]

    def of(self, name: str) -> Check:
        """The check of a name; KeyError if there is none."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def as_json(self) -> str:
        """JSON: `{"folder", "outcome", "checks": [{"name", "status", "detail"}]}`."""
        content = {"folder": self.folder, "outcome": self.outcome, "checks": list(map(asdict, self.checks))}
        return json.dumps(content, indent=2, ensure_ascii=False)

    def __str__(self) -> str:
        wide = max(len(check.name) for check in self.checks)
        lines = [f"{check.name:{wide}}  {check.status:13}  {check.detail}".rstrip() for check in self.checks]
        return "\n".join([f"{self.folder}: {self.outcome}", *lines])


class Broken(Exception):
    """A claim that does not hold: why, and where."""


class Unproved(Exception):
    """A claim that cannot be decided from the files: why."""
