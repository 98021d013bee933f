"""The errors of the models, in plain words and at their position in the file."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, Tag, ValidationError

from dxopt.spec.held_out import Entry, Evaluate
from dxopt.spec.levels import Epsilon, Privacy
from dxopt.spec.objectives import Budget, Loss, Objective
from dxopt.spec.prior_sets import Believed
from dxopt.spec.priors import Prior, Smoothing
from dxopt.spec.quantities import shown
from dxopt.spec.sheet import Expectation, Sheet
from dxopt.spec.source import FieldPath, Source, SpecFileError
from dxopt.spec.spaces import Reports, Space
from dxopt.spec.suggestions import advice

_INNER = (("prior", "hull", "priors", "*"), ("prior", "ball", "around"), ("prior", "box", "around"))
_UNIONS: dict[tuple[str | int, ...], Any] = {
    ("space",): Space,
    ("prior",): Believed,
    ("priors", "*"): Prior,
    **dict.fromkeys(_INNER, Prior),
    **{
        (*names, kind, "smoothing"): Smoothing
        for names in (("prior",), ("priors", "*"), *_INNER)
        for kind in ("column", "samples", "check_ins")
    },
    ("loss",): Loss,
    ("objective",): Objective,
    ("objective", "adversary_error", "max_loss"): Budget,
    ("objective", "adversary_error", "adversary_loss"): Loss,
    ("reports",): Reports,
    ("epsilon",): Epsilon,
    ("expect",): Expectation,
    ("evaluate",): Evaluate,
    ("evaluate", "list", "*"): Entry,
}
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


def _models() -> dict[tuple[str | int, ...], type[BaseModel]]:
    """The model behind each mapping, by the names on the way to it (a union adds the tag it chose)."""
    models: dict[tuple[str | int, ...], Any] = {(): Sheet, ("privacy",): Privacy}
    for names, union in _UNIONS.items():
        for member in get_args(get_args(union)[0]):
            model, *_, tag = get_args(member)
            inner = get_args(model)[0] if get_args(model) else model
            if isinstance(tag, Tag) and isinstance(inner, type) and issubclass(inner, BaseModel):
                models[*names, tag.tag] = inner
                for name, part in inner.model_fields.items():
                    if isinstance(part.annotation, type) and issubclass(part.annotation, BaseModel):
                        models[*names, tag.tag, name] = part.annotation
    return models


_MODELS = _models()
_TAGS = [names for names in _MODELS if names[:-1] in _UNIONS]


def first_error(source: Source, error: ValidationError) -> SpecFileError:
    """The first of the errors in file order."""
    found = [_in_words(source, detail) for detail in error.errors(include_url=False)]
    path, wrong, fix, at_key, _ = min(found, key=lambda item: item[-1])
    return source.error(path, wrong, fix, at_key=at_key)


def _in_words(source: Source, detail: Any) -> tuple[FieldPath, str, str, bool, Any]:
    """Where, what is wrong, what would be right, whether the key is at fault, and the position among other errors."""
    kind = detail["type"]
    context = detail.get("ctx", {})
    location = _general(tuple(detail["loc"]))
    path = _path(tuple(detail["loc"])) + tuple(context.get("at", ()))
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        path, wrong, fix = _wrong_kind(path, location, detail["input"])
    elif kind == "missing":
        wrong = "is missing"
        fix = f"add {' or '.join(_alternatives(location) or [str(path[-1])])}"
    elif kind == "extra_forbidden":
        wrong, fix = _unknown_key(location)
    else:
        wrong, fix = _wrong_value(kind, context, detail)
    at_key = kind == "extra_forbidden"
    return path, wrong, fix, at_key, source.order(path, missing=not source.has(path))


def _wrong_value(kind: str, context: dict[str, Any], detail: Any) -> tuple[str, str]:
    """What is wrong with a value that is there, and what would be right."""
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
    if kind in _TYPES:
        return wrong, f"give {_TYPES[kind]}"
    return wrong, detail["msg"]


def _path(location: tuple[str | int, ...]) -> FieldPath:
    """Where in the file: the location without the tags of unions."""
    return tuple(part for depth, part in enumerate(location) if _general(location[:depth]) not in _UNIONS)


def _general(location: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The location with a star for the name of another prior, which is any text, and for an entry of `evaluate`."""
    for several in (("priors",), ("evaluate", "list")):
        if location[: len(several)] == several and len(location) > len(several):
            return (*several, "*", *location[len(several) + 1 :])
    return location


def _names(location: tuple[str | int, ...]) -> tuple[str, ...]:
    return tuple(part for part in location if isinstance(part, str))


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _alternatives(location: tuple[str | int, ...]) -> list[str]:
    """The keys of which a mapping has exactly one, where the last of `location` is one of them."""
    *section, key = _names(location)
    where = tuple(section[:-1])
    kind = "".join(section[-1:]).partition(" ")[0]
    tags = [str(names[-1]) for names in _TAGS if names[:-1] == where]
    keys = [tag.partition(" ")[2] for tag in tags if tag.startswith(f"{kind} ")]
    return keys if key in keys else []


def _unknown_key(location: tuple[str | int, ...]) -> tuple[str, str]:
    key = str(location[-1])
    others = [other for other in _alternatives(location) if other != key]
    if others:
        return f"does not go with {others[0]}", "keep one of the two"
    return "is no known key here", advice(key, _keys(_MODELS[_names(location[:-1])]))


def _wrong_kind(field: FieldPath, location: FieldPath, value: Any) -> tuple[FieldPath, str, str]:
    """Where a value names none of the kinds that there are, what is wrong with it, and what would be right."""
    kinds = [kind for names in _TAGS if names[:-1] == location for kind in _kinds(_MODELS[names])]
    choice = f"one of {', '.join(dict.fromkeys(kinds))}"
    if not isinstance(value, dict):
        return field, f"is {shown(value)}", f"give a mapping with a kind, {choice}"
    kind = value.get("kind")
    if "kind" not in value:
        return (*field, "kind"), "is missing", f"add a kind, {choice}"
    if not isinstance(kind, str):
        return (*field, "kind"), f"is {shown(kind)}", f"give {choice}"
    return (*field, "kind"), f"there is no {kind!r}", advice(kind, kinds)


def _kinds(model: type[BaseModel]) -> tuple[str, ...]:
    return get_args(model.model_fields["kind"].annotation) if "kind" in model.model_fields else ()
