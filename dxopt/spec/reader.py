"""YAML text as plain data with positions, from the events of the ruamel parser."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scanner import ScannerError

from dxopt.runtime.reading import TooLarge, content
from dxopt.spec.source import FieldPath, Node, Position, Source, SpecFileError, dotted

MAX_BYTES = 2_000_000
"""Of a file. The parser takes up to 3 seconds for a million letters."""
MAX_VALUES = 50_000
"""Values of a file, keys not counted. The parser takes 4 seconds for so many, and larger tables have CSV files."""
MAX_NODES = 1_000_000
"""Values once aliases are written out."""
MAX_DEPTH = 50
_SHOWN = 40
_MEND = "mend the line: keys of a mapping begin in one column, brackets are closed, text with a colon is in quotes"

_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
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
    raw = _bytes(path)
    text = _decoded(path, raw)
    wrong = partial(SpecFileError, str(path))
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


def _bytes(path: Path) -> bytes:
    wrong = partial(SpecFileError, str(path), 1, 1, "file")
    try:
        return content(path, MAX_BYTES)
    except FileNotFoundError:
        raise wrong("does not exist", "check the name") from None
    except IsADirectoryError:
        raise wrong("is a folder", "name a YAML file") from None
    except TooLarge:
        raise wrong(f"is larger than {MAX_BYTES:,} bytes", "put large tables into CSV files") from None
    except OSError as error:
        raise wrong(f"cannot be read ({error.strerror})", "check the name and the permissions") from None
    except ValueError as error:
        raise wrong(f"cannot be read ({error})", "name a YAML file") from None


def _decoded(path: Path, raw: bytes) -> str:
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
        self._read = 0
        self._written = 0

    def document(self) -> Node | None:
        root = None
        for event in self._events:
            if type(event).__name__ == "DocumentStartEvent":
                if root is not None:
                    raise self._error(event, (), "a second document starts here", "keep one problem per file")
                root = self._node(next(self._events), ())
        return root

    def _node(self, event: Any, path: FieldPath) -> Node:
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
        self._count(1, event, path)
        # Until the node is complete its anchor has no value: an alias met before that is part of itself.
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        node = Node(None, _position(event.start_mark), _position(event.end_mark))
        kind = type(event).__name__
        if kind == "ScalarEvent":
            node.value = _scalar(event.value) if event.style is None else event.value
        elif kind == "SequenceStartEvent":
            self._sequence(node, path)
        else:
            self._mapping(node, path)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, path: FieldPath) -> Node:
        if event.anchor not in self._anchors:
            raise self._error(event, path, f"there is no anchor &{event.anchor} above", "define it first")
        target = self._anchors[event.anchor]
        if target is None:
            raise self._error(event, path, f"*{event.anchor} contains itself", "write the value out")
        # A few lines of aliases of aliases can mean billions of values, so each counts as what it is written out.
        self._count(target.size, event, path)
        return Node(
            target.value,
            _position(event.start_mark),
            _position(event.end_mark),
            target.size,
            target.parts,
            target.keys,
        )

    def _count(self, size: int, event: Any, path: FieldPath) -> None:
        self._written += size
        if self._written > MAX_NODES:
            wrong = f"brings the file to more than {MAX_NODES:,} values, aliases written out"
            raise self._error(event, path, wrong, "put large tables into CSV files")

    def _sequence(self, node: Node, path: FieldPath) -> None:
        node.value = []
        while type(event := next(self._events)).__name__ != "SequenceEndEvent":
            self._add(node, len(node.value), event, path)
            node.value.append(node.parts[len(node.value)].value)
        node.end = _position(event.end_mark)

    def _mapping(self, node: Node, path: FieldPath) -> None:
        node.value = {}
        while type(event := next(self._events)).__name__ != "MappingEndEvent":
            if type(event).__name__ != "ScalarEvent":
                raise self._error(event, path, "has a key that is not plain text", "write `key: value`")
            key = event.value
            if key in node.keys:
                line = node.keys[key].line
                raise self._error(event, (*path, key), f"is given twice, first on line {line}", "keep one")
            node.keys[key] = _position(event.start_mark)
            self._add(node, key, next(self._events), path)
            node.value[key] = node.parts[key].value
        node.end = _position(event.end_mark)

    def _add(self, node: Node, key: str | int, event: Any, path: FieldPath) -> None:
        part = self._node(event, (*path, key))
        node.parts[key] = part
        node.size += part.size

    def _error(self, event: Any, path: FieldPath, wrong: str, fix: str) -> SpecFileError:
        return SpecFileError(self._file, *_position(event.start_mark), dotted(path) or "file", wrong, fix)


def _position(mark: Any) -> Position:
    return Position(mark.line + 1, mark.column + 1)


def _scalar(text: str) -> Any:
    """Unquoted text: nothing, true or false, a decimal number, or text."""
    if text in _NULLS:
        return None
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text
