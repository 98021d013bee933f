"""Repeatable draws in a ledger: their fingerprints, and which key they were made with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dxopt.errors import SpecError
from dxopt.release.keys import Key

NEW = "none"
"""What a ledger stores of the key of new draws,"""
UNNAMED = "unnamed"
"""and of draws with a key that was not given."""


@dataclass(frozen=True)
class Tags:
    """Fingerprints of draws `(k,)`, None for new draws, and what is stored of their key."""

    fingerprints: Sequence[bytes | None]
    key: str

    @classmethod
    def of(cls, tags: Sequence[bytes | None] | None, key: Key | None, rows: int) -> Tags | None:
        """The tags of so many rows, if there are any; SpecError where they do not fit."""
        if key is not None and not isinstance(key, Key):
            raise SpecError("key", f"is of type {type(key).__name__}", "give a dx.Key")
        if tags is None:
            if key is not None:
                raise SpecError("key", "is given without tags", "give the tags of draws with a key, or leave it out")
            return None
        if len(tags) != rows:
            raise SpecError("tags", f"are {len(tags)} for {rows} rows", "give one for each row, or None")
        if not all(tag is None or isinstance(tag, bytes) for tag in tags):
            raise SpecError("tags", "are not all bytes or None", "give fingerprints, such as Key.digest")
        return cls(tags, UNNAMED if key is None else key.fingerprint)


def read(stored: str) -> tuple[bool, str | None]:
    """Return whether rows were drawn with a key, and its fingerprint as far as it is known."""
    if stored == NEW:
        return False, None
    return True, None if stored == UNNAMED else stored
