"""Known names that are close to an unknown one, or mean the same."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_CLOSE = 0.7
_CLOSER = 0.8
"""The least likeness of names that begin with the same letter, and of others."""
_SHORTEST = 3
"""Letters of a name that is the beginning of another."""
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
"""Names by which others call what is here one of those behind, the first of them that is known where it stands."""
_FORMS = {"factor": "a factor of 2 is {}: ln(2)"}
"""A way to write, under the key that is meant, what the name stands for."""


def meant(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that an unknown one probably means; None where none is close."""
    listed = list(dict.fromkeys(known))
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    same = [other for other in (plain, *_MEANT.get(plain, ())) if other in listed]
    if same:
        return same[0]
    close = difflib.get_close_matches(plain, [other for other in listed if other[:1] == plain[:1]], 1, _CLOSE)
    if close := close or difflib.get_close_matches(plain, listed, 1, _CLOSER):
        return close[0]
    begun = [other for other in listed if len(plain) >= _SHORTEST and other.startswith(plain)]
    return begun[0] if len(begun) == 1 else None


def advice(name: str, known: Iterable[str]) -> str:
    """Return what to write instead of an unknown name."""
    listed = list(dict.fromkeys(known))
    found = meant(name, listed)
    if found is None:
        return f"choose one of {', '.join(listed)}"
    form = _FORMS.get(name.lower())
    return f"did you mean {found}?" + ("" if form is None else f" {form.format(found)}")
