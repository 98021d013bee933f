"""Families: lists of levels, methods and priors in one file make a problem of every combination."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dxopt.errors import SpecError
from dxopt.results.claims import Claims, read_typed
from dxopt.results.folder import CLAIMS, DESCRIPTION, MECHANISM, PROBLEM, holds_report
from dxopt.spec import sheet as s
from dxopt.spec.fields import value_in_words
from dxopt.spec.levels import MAX_FAMILY
from dxopt.spec.source import FieldPath, Source, SpecFileError, read, stem
from dxopt.studies.questions import AtLevels

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
"""Letters of a text that an error shows as a list of one entry."""
_TIMES = re.compile(r"(?<=[0-9])\s*[x×*]\s*(?=[0-9])", re.IGNORECASE)
"""The sign between the numbers of a shape, as in 5x5."""
_LIMITS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "of at least"),
    "less_than_equal": ("le", "of at most"),
    "less_than": ("lt", "below"),
}
_LENGTHS = {"too_short": "at least {min_length}", "too_long": "at most {max_length}"}


def first_error(source: Source, error: ValidationError) -> SpecFileError:
    """Return the first in file order of the errors that pydantic found, in words and with its position."""
    found = []
    for detail in error.errors(include_url=False):
        context = detail.get("ctx", {})
        path = _path_without_tags(source.value, detail["loc"]) + tuple(context.get("at", ()))
        order = source.order(path, missing=not source.has(path))
        words = _wrong_and_fix(detail["type"], context, detail, source.node(path).behind)
        numeric = detail["type"] in {"int_type", "int_from_float", "float_type", *_LIMITS}
        found.append((order, path, words, context.get("at_key", False), numeric))
    _, path, (wrong, fix), at_key, numeric = min(found, key=lambda one: one[0])
    if numeric and len(path) == 2 and isinstance(path[1], int) and (number := source.node(path[:1]).joined):
        fix += f", or {number} where the comma is a decimal one"
    return source.error(path, wrong, fix, at_key=at_key)


def _path_without_tags(value: Any, location: tuple[str | int, ...]) -> FieldPath:
    """Return the place in the file of an error: its location without tags of unions, which no file has."""
    path = []
    for part in location:
        parts: dict[Any, Any] = (
            value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
        )
        if part in parts:
            value = parts[part]
            path.append(part)
    return tuple(path)


def _wrong_and_fix(kind: str, context: dict[str, Any], detail: Any, behind: Sequence[str]) -> tuple[str, str]:
    """Return what is wrong, and what would be right, from the type, parameters and whole of pydantic's error.

    `behind` are texts that follow the value in braces, as of a list without brackets.
    """
    if kind == "spec":
        return context["wrong"], context["fix"]
    if kind in _LENGTHS:
        return f"has {context['actual_length']} entries", f"give {_LENGTHS[kind].format(**context)}"
    wrong = f"is {value_in_words(detail['input'])}"
    if kind in _LIMITS:
        key, words = _LIMITS[kind]
        return wrong, f"give a number {words} {context[key]:.12g}"
    # a single entry without brackets: show it with them
    if kind == "list_type" and isinstance(detail["input"], str) and len(detail["input"]) <= _SHORT:
        entries = [_TIMES.sub(", ", detail["input"]), *behind]
        return wrong, f"write a list, here [{', '.join(entries)}]"
    return wrong, f"give {_TYPES[kind]}" if kind in _TYPES else detail["msg"]


ARRAYS = "arrays"
_ORIGINAL = "solve the file that the result was made from"


def is_saved(source: Source) -> bool:
    """Tell whether a file is the problem.yaml of a result folder, with `arrays` as its key; refuse that elsewhere."""
    folder = source.path.parent
    if ARRAYS not in source.root.value:
        return False
    if source.path.name != DESCRIPTION or not holds_report(folder):
        fix = f"leave it out, or solve the {DESCRIPTION} of a result folder"
        raise source.error((ARRAYS,), "is for result folders", fix)
    for key in source.root.value:
        if key != ARRAYS:
            raise source.error((key,), "is no key of the problem of a result", f"leave it out, or {_ORIGINAL}")
    return True


LISTED = ("method", "prior")
_OF_LEVELS = ("epsilon", "privacy", "expect")


@dataclass(frozen=True)
class Member:
    """The problems of a file that share method and prior: a name per level, and `sweep_name` for all levels."""

    source: Source
    sheet: s.Sheet
    names: tuple[str, ...]
    sweep_name: str


@dataclass(frozen=True, eq=False)
class ProblemFile:
    """A problem file that was read: what it asks for is known, and nothing is built yet.

    It has a member for each method and prior, or with levels that replace its own (`sweep`) for each prior; the
    problem.yaml of a result folder (`saved`) has none.
    """

    members: tuple[Member, ...]
    sweep: AtLevels | None = None
    saved: Source | None = None

    @property
    def source(self) -> Source:
        """The file; where it makes several problems, as the first of them has it."""
        return self.saved or self.members[0].source

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.source.path

    @property
    def names(self) -> list[str]:
        """The names of its problems, or of its sweeps, in their order."""
        if self.saved is not None:
            try:
                return [read_typed(self.path.parent / CLAIMS, Claims).problem.name]
            except SpecError as error:
                raise self.saved.error((ARRAYS,), str(error)) from None
        if self.sweep is not None:
            return [member.sweep_name for member in self.members]
        return [name for member in self.members for name in member.names]

    @property
    def data(self) -> list[Path]:
        """The data files that it names, each once; of a saved problem the files of its result."""
        if self.saved is not None:
            return [self.saved.resolve(name) for name in (PROBLEM, MECHANISM, CLAIMS)]
        source = self.source
        return list(dict.fromkeys(source.resolve(name) for name in _data_file_names(source.root.value)))


def read_problems(path: Path, sweep: AtLevels | None = None, epsilon: float | None = None) -> ProblemFile:
    """Read what a problem file asks for, or what a sweep over levels, or one level instead of its own, makes of it.

    The members of a sweep differ in their priors alone: each is the first of those that differ in their methods,
    which are all part of one sweep. It is at the first level of the sweep, whether the file has a level of its own
    or not.

    Raises
    ------
    SpecFileError
        If anything is wrong with the file itself; the first thing in file order.
    """
    source = read(path)
    if is_saved(source):
        return ProblemFile((), sweep, source)
    if sweep is None:
        return ProblemFile(tuple(_members(source if epsilon is None else _with_level(source, epsilon))))
    first_of_prior: dict[int | None, Member] = {}
    for member in _members(_with_level(source, sweep.epsilons[0])):
        first_of_prior.setdefault(member.source.chosen.get("prior"), member)
    return ProblemFile(tuple(first_of_prior.values()), sweep)


def _with_level(source: Source, epsilon: float) -> Source:
    """Return a file with one level in place of its own, and without `expect`, which holds at its own levels."""
    value, parts = (
        {key: part for key, part in of.items() if key not in _OF_LEVELS}
        for of in (source.root.value, source.root.parts)
    )
    return replace(source, root=replace(source.root, value={**value, "epsilon": epsilon}, parts=parts))


def _members(source: Source) -> list[Member]:
    """Return a member for each combination of the entries of the file's lists of methods and priors."""
    parts = {key: _entry_names(source, key) for key in LISTED if isinstance(source.root.value.get(key), list)}
    if parts and "expect" in source.root.value:
        several = " and ".join(parts)
        raise source.error(
            ("expect",), f"is not told apart for a list of {several}", "leave it out, or split the file"
        )
    members = []
    # Each combination is validated as a file of its own, so that an error points at the entry that brings it.
    for indices in itertools.product(*(range(len(names)) for names in parts.values())):
        one = replace(source, chosen=dict(zip(parts, indices, strict=True)))
        entries = {key: f"{key}={parts[key][index]}" for key, index in one.chosen.items()}
        members.append(_member(one, entries))
        # each member has a problem per level; one without lists is within the limit by the check of its levels
        if len(members) * len(members[0].names) > MAX_FAMILY:
            raise source.error((next(iter(parts)),), f"makes more than {MAX_FAMILY:,} problems", "split the file")
    return members


def _member(source: Source, entries: Mapping[str, str]) -> Member:
    """Return the member with the chosen entries; its problems are named after these, and after their level."""
    try:
        sheet = s.Sheet.model_validate(source.value)
    except ValidationError as error:
        raise first_error(source, error) from None
    name = sheet.name or stem(source.path)
    names = []
    for epsilon in sheet.epsilons():
        level = [f"epsilon={_shortest_text(epsilon)}"] if sheet.is_family and epsilon is not None else []
        names.append(_family_name(name, [*level, *entries.values()]))
    sweep_name = _family_name(name, [entry for key, entry in entries.items() if key != "method"])
    return Member(source, sheet, tuple(names), sweep_name)


def _family_name(name: str, entries: list[str]) -> str:
    """Name a problem by the entries that tell it from others of its family."""
    return f"{name} [{', '.join(entries)}]" if entries else name


def _entry_names(source: Source, key: str) -> list[str]:
    """Return a name for each entry of a list of methods or priors: its kind, numbered where several have it."""
    entries = source.root.value[key]
    if not entries:
        raise source.error((key,), "has 0 entries", "give at least 1")
    # a list makes a family, so that probabilities cannot be written as a bare list
    if key == "prior" and all(isinstance(entry, int | float) for entry in entries):
        fix = "write prior: {kind: explicit, values: [...]} for probabilities"
        raise source.error((key,), "is a list of numbers", fix)
    for index, entry in enumerate(entries):
        if entry in entries[:index]:
            raise source.error((key, index), "is given twice", "keep one")
    kinds = [str(entry.get("kind")) if isinstance(entry, dict) else str(entry) for entry in entries]
    often = Counter(kinds)
    return [kind if often[kind] == 1 else f"{kind} {index}" for index, kind in enumerate(kinds, start=1)]


def _data_file_names(value: Any) -> Iterator[str]:
    """Yield the name of every data file in a value: each text under a key `file`, however deep."""
    if isinstance(value, list):
        for part in value:
            yield from _data_file_names(part)
    elif isinstance(value, dict):
        if isinstance(value.get("file"), str):
            yield value["file"]
        for part in value.values():
            yield from _data_file_names(part)


def _shortest_text(number: float) -> str:
    """Write a number in the shortest usual text that reads back as the same."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)
