"""Persons as a ledger stores them: as given, or as a keyed hash alone."""

from __future__ import annotations

from collections.abc import Sequence

from dxopt.errors import SpecError
from dxopt.release.keys import Key

_CHECK = "dxopt ledger 1: key"
_PERSON = "dxopt ledger 1: person"


def mark(key: Key | None) -> str:
    """What a ledger stores to know its key again; empty without one. SpecError if it is no key."""
    if key is None:
        return ""
    if not isinstance(key, Key):
        raise SpecError("key", f"is of type {type(key).__name__}", "give a dx.Key")
    return key.digest(_CHECK).hex()


def stored(persons: Sequence[str], key: Key | None) -> list[str]:
    """The names under which a ledger stores persons: as given, or HMAC-SHA256 of them in hexadecimal.

    Raises
    ------
    SpecError
        If one is no text, or empty.
    """
    if isinstance(persons, str):
        raise SpecError("persons", "are one text", "give a list of persons, one for each row")
    names = []
    for at, person in enumerate(persons):
        if not isinstance(person, str) or not person:
            said = "is empty" if person == "" else f"is of type {type(person).__name__}"
            raise SpecError("persons", f"{at} {said}", "name a person in each row, as text")
        encodable(person, "persons")
        names.append(str(person) if key is None else key.digest(_PERSON, person).hex())
    return names


def text(given: str, field: str) -> str:
    """A name of something; SpecError if it is none."""
    if not isinstance(given, str) or not given.strip():
        raise SpecError(field, f"is {given!r}", "give it a name")
    encodable(given, field)
    return given


def encodable(given: str, field: str) -> None:
    """SpecError unless a text can be stored."""
    try:
        given.encode()
    except UnicodeEncodeError:
        raise SpecError(field, f"{given!r} has a character that is none", "give Unicode text") from None
