"""The errors of the models, in plain words and at their position in the file."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from dxopt.spec.quantities import shown
from dxopt.spec.source import FieldPath, Source, SpecFileError

_TYPES = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text, in quotes if it looks like something else",
    "bool_type": "true or false",
    "list_type": "a list, such as [a, b]",
    "dict_type": "a mapping of names, such as {flat: uniform}",
    "model_type": "a mapping, such as {key: value}",
}
_SHORT = 60
_LIMITS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "of at least"),
    "less_than_equal": ("le", "of at most"),
    "less_than": ("lt", "below"),
}
_LENGTHS = {"too_short": "at least {min_length}", "too_long": "at most {max_length}"}


def first_error(source: Source, error: ValidationError) -> SpecFileError:
    """Return the first of the errors in file order."""
    found = []
    for detail in error.errors(include_url=False):
        context = detail.get("ctx", {})
        path = _path(source.value, detail["loc"]) + tuple(context.get("at", ()))
        order = source.order(path, missing=not source.has(path))
        found.append((order, path, _in_words(detail["type"], context, detail), context.get("at_key", False)))
    _, path, (wrong, fix), at_key = min(found, key=lambda one: one[0])
    return source.error(path, wrong, fix, at_key=at_key)


def _path(value: Any, location: tuple[str | int, ...]) -> FieldPath:
    """Return the place in the file of an error: its location without the tags of unions, which no file has."""
    path = []
    for part in location:
        parts: dict[Any, Any] = (
            value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
        )
        if part in parts:
            value = parts[part]
            path.append(part)
    return tuple(path)


def _in_words(kind: str, context: dict[str, Any], detail: Any) -> tuple[str, str]:
    """Return what is wrong with a value, and what would be right."""
    if kind == "spec":
        return context["wrong"], context["fix"]
    if kind in _LENGTHS:
        return f"has {context['actual_length']} entries", f"give {_LENGTHS[kind].format(**context)}"
    wrong = f"is {shown(detail['input'])}"
    if kind in _LIMITS:
        key, words = _LIMITS[kind]
        return wrong, f"give a number {words} {context[key]:g}"
    if kind == "list_type" and isinstance(detail["input"], str) and len(detail["input"]) <= _SHORT:
        return wrong, f"write a list, here [{detail['input']}]"
    return wrong, f"give {_TYPES[kind]}" if kind in _TYPES else detail["msg"]
