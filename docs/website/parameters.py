"""Docstrings as Griffe reads them right: each parameter with its own type and default."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_TOGETHER = re.compile(r"^(\w+(?:, \w+)+)( : .*)?\n((?: +\S.*\n?)+)", flags=re.MULTILINE)
_CHOICES = re.compile(r"^(\w+ : )\{([^{}]+)\}", flags=re.MULTILINE)


def apart(text: str) -> str:
    """Return a docstring with an entry for each parameter, and choices as words.

    Griffe gives parameters that are described together the type and default of the first, and takes the first
    choice for the default.
    """
    split = _TOGETHER.sub(_each, text)
    return _CHOICES.sub(lambda found: found[1] + found[2].replace(", ", " or "), split)


def _each(found: re.Match[str]) -> str:
    names, kind, description = found.groups()
    entry = f"{kind or ''}\n{description.rstrip()}\n"
    return "".join(name + entry for name in names.split(", "))


class Apart(Extension):
    """What Griffe calls for each name that it reads."""

    def on_object(self, *, obj: Object, **others: Any) -> None:
        """Change the docstring of a name."""
        if obj.docstring is not None:
            obj.docstring.value = apart(obj.docstring.value)
