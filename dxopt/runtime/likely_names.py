"""Known names that an unknown one probably means: synonyms, misspellings and beginnings."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_CLOSE = 0.7
_CLOSER = 0.8
"""The least likeness, by difflib from 0 to 1, of names that begin with the same letter, and of others."""
_SHORTEST = 3
"""Letters that a name must have to be taken for the beginning of another."""
_MEANT = {
    **dict.fromkeys(("eps", "ε", "budget", "privacy_budget"), ("epsilon", "level", "max_loss")),
    **dict.fromkeys(("factor", "level", "epsilon"), ("level", "epsilon")),
    **dict.fromkeys(("distance", "dist"), ("radius", "metric")),
    **dict.fromkeys(("utility", "cost", "error"), ("loss",)),
    **dict.fromkeys(("mechanism", "algorithm"), ("method",)),
    **dict.fromkeys(("belief", "weights", "frequencies"), ("prior", "weight")),
    **dict.fromkeys(("secrets", "domain", "points"), ("space", "values")),
    **dict.fromkeys(("output", "outputs"), ("reports",)),
    **dict.fromkeys(("n", "length", "count"), ("size", "records")),
    **dict.fromkeys(("spacing", "step"), ("spacing", "step")),
    **dict.fromkeys(("timeout", "seconds"), ("time_limit",)),
    **dict.fromkeys(("path", "csv"), ("file",)),
    **dict.fromkeys(("counts", "data", "observations"), ("samples",)),
    "type": ("kind",),
    "title": ("name",),
    "l2": ("euclidean",),
    "l1": ("manhattan",),
}
"""For a name that others use, the names that it may have here: the first that is known at its place is meant."""


def likely_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a synonym, a misspelling or a beginning means; None where none is close."""
    listed = list(dict.fromkeys(known))
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    same = [other for other in (plain, *_MEANT.get(plain, ())) if other in listed]
    if same:
        return same[0]
    # misspellings seldom change the first letter: without it more likeness is needed
    close = difflib.get_close_matches(plain, [other for other in listed if other[:1] == plain[:1]], 1, _CLOSE)
    if close := close or difflib.get_close_matches(plain, listed, 1, _CLOSER):
        return close[0]
    begun = [other for other in listed if len(plain) >= _SHORTEST and other.startswith(plain)]
    return begun[0] if len(begun) == 1 else None


def hint(name: str, known: Iterable[str]) -> str:
    """Return what a fix says of the name that is probably meant, in brackets; "" where none is close."""
    found = likely_name(name, known)
    return "" if found is None else f" (did you mean {found}?)"
