"""What the YAML parser says of broken text, in plain words."""

from __future__ import annotations

import re
from typing import NamedTuple

from ruamel.yaml.error import MarkedYAMLError

from dxopt.spec.source import Position

_ALIKE = "give all keys of one mapping the same number of spaces in front"
_CLOSING = {"flow sequence": "[ ]", "flow mapping": "{ }"}
_BETWEEN = re.compile(r"expected ',' or '[\]}]', but got (.*)")


class Broken(NamedTuple):
    """Where text is no YAML, what is wrong with it, and what would be right."""

    position: Position
    wrong: str
    fix: str


def explained(text: str, error: MarkedYAMLError) -> Broken:
    """Where and why a text could not be parsed."""
    problem = str(error.problem)
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return Broken(Position(1, 1), problem, "mend the YAML")
    at = Position(mark.line + 1, mark.column + 1)
    lines = text.split("\n")
    opened = error.context_mark
    if "\\t" in problem:
        return Broken(at, "a tab where spaces are expected", "indent with spaces")
    if problem == "mapping values are not allowed here":
        return _second_value(lines, at)
    if problem.startswith("expected <block end>"):
        return _misplaced(lines, at)
    if opened is not None and _BETWEEN.fullmatch(problem):
        brackets = next((pair for name, pair in _CLOSING.items() if name in str(error.context)), "[ ]")
        first, last = brackets.split()
        return Broken(
            at, f"the {first} on line {opened.line + 1} is not closed before this", f"add {last}, or a comma"
        )
    if opened is not None and problem == "could not find expected ':'":
        line = lines[opened.line].strip()
        wrong = f"{_quoted(line)} is no key with a value"
        return Broken(Position(opened.line + 1, opened.column + 1), wrong, "write `key: value`, with a blank after :")
    return Broken(at, problem, "mend the YAML here or just before")


def _second_value(lines: list[str], at: Position) -> Broken:
    """A colon where no key can be: after a value on the same line, or on a line indented below a value."""
    line = lines[at.line - 1]
    before = line[: at.column - 1]
    if re.search(r":\s", before):
        return Broken(at, f"a second colon in {_quoted(line.strip())}", "put the value in quotes")
    above = _above(lines, at.line)
    if above is not None and _spaces(line) > _spaces(lines[above - 1]):
        return Broken(at, _indented(lines, at.line, above), _ALIKE)
    return Broken(at, f"a colon that ends no key, in {_quoted(line.strip())}", "put the value in quotes")


def _misplaced(lines: list[str], at: Position) -> Broken:
    """A line that begins where no line above it of the same mapping or list does."""
    above = _above(lines, at.line)
    if above is None or lines[at.line - 1][: at.column - 1].strip():
        return Broken(at, f"{_quoted(lines[at.line - 1].strip())} does not belong here", _ALIKE)
    return Broken(at, _indented(lines, at.line, above), _ALIKE)


def _indented(lines: list[str], line: int, above: int) -> str:
    here = _spaces(lines[line - 1])
    there = _spaces(lines[above - 1])
    if here == there:
        return f"{_quoted(lines[line - 1].strip())} does not go with line {above}"
    return f"is indented by {here} space{'' if here == 1 else 's'}, but line {above} above it by {there}"


def _above(lines: list[str], line: int) -> int | None:
    """The number of the nearest line above one that has more than a comment."""
    numbers = range(line - 1, 0, -1)
    return next((number for number in numbers if lines[number - 1].split("#")[0].strip()), None)


def _spaces(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _quoted(line: str) -> str:
    return f"`{line if len(line) <= 40 else line[:37] + '...'}`"
