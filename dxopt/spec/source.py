"""A problem file that has been read: plain data in which every key and value knows its line and column."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scanner import ScannerError

from dxopt.errors import Option, SpecError, Spelling, one_line
from dxopt.runtime.reading import content

FieldPath = tuple[str | int, ...]

_ELSEWHERE = ("values", "columns", "column", "file", "edges")
"""Keys for the data of a section: an error that names none of its keys is pointed at the first of these in it."""


def stem(path: Path) -> str:
    """Return the name of a file without its ending; bytes that are no text are written out."""
    return os.fsencode(path.stem).decode("utf-8", "backslashreplace")


class SpecFileError(SpecError):
    """Something is wrong with a problem file.

    `str()` is one line, `file:line:column: field: what is wrong; what would be right`. Lines and columns begin at 1.
    """

    in_file = True

    def __init__(self, file: str, line: int, column: int, field: str, wrong: str, fix: str = "") -> None:
        super().__init__(field, wrong, fix)
        self.file = file
        self.line = line
        self.column = column

    def line_in(self, spelling: Spelling) -> str:
        """Write the whole message on one line, after its position."""
        return f"{one_line(self.file)}:{self.line}:{self.column}: {super().line_in(spelling)}"


class Position(NamedTuple):
    """A line and a column, both counted from 1."""

    line: int
    column: int


@dataclass(slots=True)
class Node:
    """A value, its position in the file, and how many values it holds once its aliases are written out.

    `behind` are texts that follow it in braces without a key; `joined` is the number that a list may be meant as,
    such as 0.5 for [0,5].
    """

    value: Any
    start: Position
    end: Position
    size: int = 1
    parts: dict[str | int, Node] = field(default_factory=dict)
    keys: dict[str, Position] = field(default_factory=dict)
    behind: list[str] = field(default_factory=list)
    joined: str = ""


@dataclass(frozen=True)
class Source:
    """A problem file that has been read, or one of the problems that its lists make.

    For keys whose lists make a family, `chosen` has the index of the entry that this problem has.
    """

    path: Path
    root: Node
    sha256: str
    chosen: Mapping[str, int] = field(default_factory=dict)

    @property
    def value(self) -> dict[str, Any]:
        """Return what is written, with one entry of each list that makes a family."""
        return self.root.value | {key: self.root.value[key][index] for key, index in self.chosen.items()}

    def error(self, path: FieldPath, wrong: str, fix: str = "", *, at_key: bool = False) -> SpecFileError:
        """Return an error about the value at `path`, about its key (`at_key`), or about what is missing there.

        A scalar is pointed at itself; for a list, a mapping or a missing value it is the nearest key above.
        """
        return SpecFileError(
            str(self.path), *self._position(path, at_key), dotted(self._with_chosen_entry(path)), wrong, fix
        )

    def blame(self, *path: str | int) -> Callable[[str, str], SpecFileError]:
        """Return a function that makes errors at `path` of what is wrong and what would be right: see `Blame`."""
        return partial(self.error, path)

    def node(self, path: FieldPath) -> Node:
        """Return the node at a path, or the nearest above."""
        return self._nodes_along(path)[-1]

    def resolve(self, name: str) -> Path:
        """Return the path of a file that the problem file names, relative to its own folder."""
        return self.path.parent / name

    def _with_chosen_entry(self, path: FieldPath) -> FieldPath:
        """Return a path of this problem as one of the file, where the key may have a list: with the chosen index."""
        chosen = [index for key, index in self.chosen.items() if path[:1] == (key,)]
        return (*path[:1], *chosen, *path[1:])

    def _nodes_along(self, path: FieldPath) -> list[Node]:
        """Return the nodes on the way to a path, from the root to the last one that the file has."""
        nodes = [self.root]
        for part in self._with_chosen_entry(path):
            if part not in nodes[-1].parts:
                break
            nodes.append(nodes[-1].parts[part])
        return nodes

    def _position(self, path: FieldPath, at_key: bool) -> Position:
        """Return the position of the value, or the key, at `path`, or of the nearest key above."""
        nodes = self._nodes_along(path)
        if len(nodes) == 1:  # nothing of the path is written
            return self.root.start
        last = self._with_chosen_entry(path)[len(nodes) - 2]  # the deepest part of the path that is written
        is_scalar = isinstance(nodes[-1].value, str | int | float)
        if isinstance(last, int) or (is_scalar and self.has(path) and not at_key):
            return nodes[-1].start
        return nodes[-2].keys[last]

    def order(self, path: FieldPath, *, missing: bool = False) -> tuple[Position, bool]:
        """Return a key to sort errors in file order; something missing comes at the end of its mapping."""
        if missing:
            return self._nodes_along(path[:-1])[-1].end, False  # False sorts before a value at that very position
        return self._position(path, at_key=True), True

    def has(self, path: FieldPath) -> bool:
        """Tell whether the file writes anything at `path`."""
        return len(self._nodes_along(path)) == len(self._with_chosen_entry(path)) + 1

    @contextmanager
    def within(self, *section: str | int, keys: Container[str] = ()) -> Iterator[None]:
        """Give a SpecError the position of the key in `section`, or in the file, that it names; or of the section.

        A key among `keys`, those that the section may have, is named where it is missing as well.
        """
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # results that are not finite are refused below
                yield
        except SpecFileError:
            raise
        except SpecError as error:
            # The field of the error may be a key here, or what it is about may be written under another key.
            keys_for_it = (error.field, error.field.removesuffix("s"), *_ELSEWHERE)  # labels are those of `label`
            # "policy[1][0]" is an entry of a list
            entry = (int(part) if part.isdecimal() else part for part in re.findall(r"[^][]+", error.field))
            options = [(*section, *entry), *((*section, key) for key in keys_for_it)]
            nearest = options[0] if not section or error.field in keys else section
            path = next((path for path in options if self.has(path)), nearest)
            # the position of a whole section does not show which key the error is about: its text then does
            named = path != section or error.field in section
            wrong = error.wrong if named else f"{error.field}: {error.wrong}"
            raise self.error(path, wrong, error.fix_in(Option.in_file)) from None


def dotted(path: FieldPath) -> str:
    """Write a path for people: `("space", "shape", 1)` as `space.shape[1]`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


MAX_BYTES = 2_000_000
"""Bytes of a file. The parser takes up to 3 seconds for a million letters."""
MAX_VALUES = 50_000
"""Values of a file, keys not counted. The parser takes 4 seconds for so many, and larger tables have CSV files."""
MAX_NODES = 1_000_000
"""Values once aliases are written out."""
MAX_DEPTH = 50
"""Mappings and lists within each other; each takes some calls of the composer, and Python bounds their depth."""
_SHOWN = 40
_MEND = "mend the line: keys of a mapping begin in one column, brackets are closed, text with a colon is in quotes"

_THOUSANDS = 3
"""Digits behind a comma that may be one between thousands."""
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_PADDED = re.compile(r"[-+]?0[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")
"""What may be a number or a code, such as 007."""
_WORDS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULLS = ("", "~", "null", "Null", "NULL")


def read(path: Path) -> Source:
    """Read a problem file.

    Raises
    ------
    SpecFileError
        If it cannot be read, is not UTF-8, is not one YAML mapping, repeats a key, tags a value, or grows
        without measure through its aliases.
    """
    wrong = partial(SpecFileError, str(path))
    with readable(path, partial(wrong, 1, 1, "file"), ValueError):
        raw = content(path, MAX_BYTES)
    text = _decode(path, raw)
    try:
        root = _Composer(path, text).document()
    except ReaderError as error:
        before = text[: error.position]
        position = before.count("\n") + 1, error.position - before.rfind("\n")
        raise wrong(*position, "syntax", "a control character", "remove it") from None
    except MarkedYAMLError as error:
        # what a scanner cannot finish is wrong where it begins
        started = isinstance(error, ScannerError) and error.context_mark
        mark = started or error.problem_mark or error.context_mark
        position = (1, 1) if mark is None else _position(mark)
        line = "".join(text.splitlines()[position[0] - 1 : position[0]]).strip()
        raise wrong(*position, "syntax", f"{error.problem}, in `{line[:_SHOWN]}`", _MEND) from None
    except YAMLError as error:
        raise wrong(1, 1, "syntax", str(error), _MEND) from None
    if root is None:
        raise wrong(1, 1, "file", "is empty", "describe a problem: at least `space` and `epsilon`")
    if not isinstance(root.value, dict):
        raise wrong(*root.start, "file", "is not a mapping of keys to values", "write lines such as `epsilon: 0.8`")
    return Source(path, root, hashlib.sha256(raw).hexdigest())


Blame = Callable[[str, str], SpecFileError]
"""Makes an error out of what is wrong and what would be right, at the key that asks for a file."""


@contextmanager
def readable(path: Path, blame: Blame, *errors: type[Exception]) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into an error of `blame`; `errors` are those of its reader."""
    try:
        yield
    except SpecFileError:
        raise
    except FileNotFoundError:
        raise blame(f"there is no file {str(path)!r}", "check the name") from None
    except IsADirectoryError:
        raise blame(f"{str(path)!r} is a folder", "name a file") from None
    except UnicodeDecodeError:
        raise blame(f"{path.name} is not UTF-8", "save it as UTF-8") from None
    except (OSError, *errors) as error:
        raise blame(f"{str(path)!r} cannot be read ({error})", "mend the file or its name") from None


def _decode(path: Path, raw: bytes) -> str:
    """Return the text of a file without a byte order mark; refuse bytes that are not UTF-8, at their position."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig", "replace")
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        raise SpecFileError(str(path), line, column, "file", "is not UTF-8", "save it as UTF-8") from None


class _Composer:
    """Builds the nodes from the events of the YAML parser."""

    def __init__(self, path: Path, text: str) -> None:
        self._file = str(path)
        self._events: Iterator[Any] = iter(YAML(typ="safe", pure=True).parse(text))
        self._anchors: dict[str, Node | None] = {}
        self._read = 0  # values so far, without those that aliases stand for
        self._written = 0  # values so far, with them

    def document(self) -> Node | None:
        """Return the root node of the file; None where the file is empty. A second document is refused."""
        root = None
        for event in self._events:
            if type(event).__name__ == "DocumentStartEvent":
                if root is not None:
                    raise self._error(event, (), "a second document starts here", "keep one problem per file")
                root = self._node(next(self._events), ())
        return root

    def _node(self, event: Any, path: FieldPath) -> Node:
        """Build the node that begins with an event, and all below it, at a path."""
        if type(event).__name__ == "AliasEvent":
            return self._alias(event, path)
        # Refuse what plain data does not need, and what would grow without measure.
        if event.tag is not None:
            raise self._error(event, path, f"the tag {event.tag} has no meaning here", "remove it")
        if len(path) > MAX_DEPTH:
            raise self._error(event, path[:1], f"is nested more than {MAX_DEPTH} deep", "flatten it")
        self._read += 1
        if self._read > MAX_VALUES:
            wrong = f"brings the file to more than {MAX_VALUES:,} values"
            raise self._error(event, path, wrong, "put large tables into CSV files")
        self._count_written(1, event, path)
        # Until the node is complete its anchor has no value: an alias met before that is part of itself.
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        node = Node(None, _position(event.start_mark), _position(event.end_mark))
        kind = type(event).__name__
        if kind == "ScalarEvent":
            if event.style is None and _PADDED.fullmatch(event.value):
                fix = f"write {event.value!r} in quotes for text, or a number without the zeros"
                raise self._error(event, path, f"is {event.value}, whose zeros at the beginning a number loses", fix)
            node.value = _typed_scalar(event.value) if event.style is None else event.value
        elif kind == "SequenceStartEvent":
            self._sequence(node, path)
        else:
            self._mapping(node, path, braces=bool(event.flow_style))
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, path: FieldPath) -> Node:
        """Return the node that an alias stands for, at the position of the alias."""
        if event.anchor not in self._anchors:
            raise self._error(event, path, f"there is no anchor &{event.anchor} above", "define it first")
        target = self._anchors[event.anchor]
        if target is None:
            raise self._error(event, path, f"*{event.anchor} contains itself", "write the value out")
        # A few lines of aliases of aliases can mean billions of values, so each counts as what it is written out.
        self._count_written(target.size, event, path)
        return replace(target, start=_position(event.start_mark), end=_position(event.end_mark))

    def _count_written(self, size: int, event: Any, path: FieldPath) -> None:
        """Count values as if aliases were written out; refuse those that go beyond the limit."""
        self._written += size
        if self._written > MAX_NODES:
            wrong = f"brings the file to more than {MAX_NODES:,} values, aliases written out"
            raise self._error(event, path, wrong, "put large tables into CSV files")

    def _sequence(self, node: Node, path: FieldPath) -> None:
        """Fill the node of a list, whose first event was read, from the events up to its end."""
        node.value = []
        entries = []
        while type(event := next(self._events)).__name__ != "SequenceEndEvent":
            entries.append(event)
            self._add(node, len(node.value), event, path)
            node.value.append(node.parts[len(node.value)].value)
        node.end = _position(event.end_mark)
        if len(entries) == 2 and all(map(_is_whole, entries)) and _are_joined(*entries):
            node.joined = ".".join(entry.value for entry in entries)

    def _mapping(self, node: Node, path: FieldPath, *, braces: bool) -> None:
        """Fill the node of a mapping likewise; refuse a key that is no plain text, or is given twice.

        In `braces` also numbers that follow a number, as where a comma was meant as a decimal one.
        """
        node.value = {}
        last: tuple[str, Any] | None = None
        while type(event := next(self._events)).__name__ != "MappingEndEvent":
            if type(event).__name__ != "ScalarEvent":
                raise self._error(event, path, "has a key that is not plain text", "write `key: value`")
            value = next(self._events)
            key = event.value
            if not (braces and _has_no_value(event, value)):
                last = key, value
            elif last is not None:
                self._require_no_comma(last[1], event, (*path, last[0]))
                node.parts[last[0]].behind.append(key)
            if key in node.keys:
                line = node.keys[key].line
                raise self._error(event, (*path, key), f"is given twice, first on line {line}", "keep one")
            node.keys[key] = _position(event.start_mark)
            self._add(node, key, value, path)
            node.value[key] = node.parts[key].value
        node.end = _position(event.end_mark)

    def _require_no_comma(self, value: Any, event: Any, path: FieldPath) -> None:
        """Refuse the number of an event that follows the value at a path, which is a number as well."""
        if not (_is_plain(value, _REAL) and _is_plain(event, _REAL) and event.value[0].isdigit()):
            return
        first, second = value.value, event.value
        point, both = f"{first}.{second}", f"[{first}, {second}]"
        padded = any(len(one.lstrip("+-")) > 1 and one.lstrip("+-").startswith("0") for one in (first, second))
        fix = f"write {both} for a list"
        if _is_whole(value) and _is_whole(event):
            whole = len(second) == _THOUSANDS and not first.lstrip("+-").startswith("0")
            thousands = f", or {first}{second}," if whole else ""
            fix = f"write {point}{thousands} for a number" + ("" if padded else f", or {both} for a list")
        gap = "" if _are_joined(value, event) else " "
        raise self._error(value, path, f"is {first},{gap}{second}", fix)

    def _add(self, node: Node, key: str | int, event: Any, path: FieldPath) -> None:
        """Build the value that begins with an event as a part of a node, under a key or an index."""
        part = self._node(event, (*path, key))
        node.parts[key] = part
        node.size += part.size

    def _error(self, event: Any, path: FieldPath, wrong: str, fix: str) -> SpecFileError:
        return SpecFileError(self._file, *_position(event.start_mark), dotted(path) or "file", wrong, fix)


def _is_plain(event: Any, pattern: re.Pattern[str]) -> bool:
    """Tell whether an event is a value without quotes that a pattern describes."""
    return type(event).__name__ == "ScalarEvent" and event.style is None and bool(pattern.fullmatch(event.value))


def _is_whole(event: Any) -> bool:
    """Tell whether an event is a whole number."""
    return _is_plain(event, _INTEGER)


def _are_joined(first: Any, second: Any) -> bool:
    """Tell whether there is but a comma between two values, the second of which has no sign."""
    return second.start_mark.index == first.end_mark.index + 1 and second.value[0].isdigit()


def _has_no_value(key: Any, value: Any) -> bool:
    """Tell whether an event is a key in braces without a colon."""
    return type(value).__name__ == "ScalarEvent" and value.start_mark.index == key.end_mark.index


def _position(mark: Any) -> Position:
    """Return a position of the YAML parser, which counts from 0, counted from 1."""
    return Position(mark.line + 1, mark.column + 1)


def _typed_scalar(text: str) -> Any:
    """Return what unquoted text means: None, true or false, a decimal number, or text (as do `yes` and 0x10)."""
    if text in _NULLS:
        return None
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text
