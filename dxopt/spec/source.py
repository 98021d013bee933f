"""A problem file that has been read: plain data in which every key and value knows its line and column."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dxopt.errors import Option, SpecError, Spelling

FieldPath = tuple[str | int, ...]

_ELSEWHERE = ("values", "columns", "column", "file", "edges")


def stem(path: Path) -> str:
    """Return the name of a file without its ending; bytes that are no text are written out."""
    return os.fsencode(path.stem).decode("utf-8", "backslashreplace")


class SpecFileError(SpecError):
    """Something is wrong with a problem file.

    `str()` is one line, `file:line:column: field: what is wrong; what would be right`.

    Attributes
    ----------
    file : str
    line, column : int
        Counted from 1.
    """

    in_file = True

    def __init__(self, file: str, line: int, column: int, field: str, wrong: str, fix: str = "") -> None:
        super().__init__(field, wrong, fix)
        self.file = file
        self.line = line
        self.column = column

    def line_in(self, spelling: Spelling) -> str:
        """Write the whole message on one line, after its position."""
        file = " ".join(self.file.splitlines())
        line = f"{file}:{self.line}:{self.column}: {super().line_in(spelling)}"
        return line.encode("utf-8", "backslashreplace").decode("utf-8")


class Position(NamedTuple):
    """A line and a column, both counted from 1."""

    line: int
    column: int


@dataclass(slots=True)
class Node:
    """A value, its position in the file, and how many values it holds once its aliases are written out."""

    value: Any
    start: Position
    end: Position
    size: int = 1
    parts: dict[str | int, Node] = field(default_factory=dict)
    keys: dict[str, Position] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """A problem file that has been read, or one of the problems that its lists make.

    Attributes
    ----------
    path : Path
    root : Node
    sha256 : str
        Of the bytes of the file.
    chosen : dict
        For keys whose lists make a family, the index of the entry that this problem has.
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
        """Return an error about the value (or the key) at `path`, or about what should be there.

        Scalars are pointed at themselves, lists, mappings and missing values at the nearest key above.
        """
        return SpecFileError(str(self.path), *self._position(path, at_key), dotted(self._whole(path)), wrong, fix)

    def blame(self, *path: str | int) -> Callable[[str, str], SpecFileError]:
        """Return a maker of errors at `path` from what is wrong and what would be right."""
        return partial(self.error, path)

    def resolve(self, name: str) -> Path:
        """Return the path of a file that the problem file names, relative to its own folder."""
        return self.path.parent / name

    def _whole(self, path: FieldPath) -> FieldPath:
        """Return the path in the file of a path in this problem: with the index of the chosen entry of a list."""
        chosen = [index for key, index in self.chosen.items() if path[:1] == (key,)]
        return (*path[:1], *chosen, *path[1:])

    def _position(self, path: FieldPath, at_key: bool) -> Position:
        """Return the position of the value, or the key, at `path`, or of the nearest key above."""
        node = self.root
        position = node.start
        whole = self._whole(path)
        for depth, part in enumerate(whole):
            if part not in node.parts:
                return position
            position = node.keys[part] if isinstance(part, str) else node.parts[part].start
            node = node.parts[part]
            is_last = depth == len(whole) - 1
            if is_last and not at_key and isinstance(node.value, str | int | float):
                position = node.start
        return position

    def order(self, path: FieldPath, *, missing: bool = False) -> tuple[Position, bool]:
        """Return the key that sorts errors in file order; a missing value is at the end of its mapping."""
        if not missing:
            return self._position(path, at_key=True), True
        node = self.root
        for part in self._whole(path)[:-1]:
            node = node.parts.get(part, node)
        return node.end, False

    def has(self, path: FieldPath) -> bool:
        """Return whether the file writes anything at `path`."""
        node = self.root
        for part in self._whole(path):
            if part not in node.parts:
                return False
            node = node.parts[part]
        return True

    @contextmanager
    def within(self, *section: str | int) -> Iterator[None]:
        """A context that gives a SpecError its position: of the key in `section` that it names, or of the section."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # results that are not finite are refused below
                yield
        except SpecFileError:
            raise
        except SpecError as error:
            # The field of the error may be a key here, or what it is about may be written under another key.
            options = [(*section, key) for key in (error.field, *_ELSEWHERE)]
            path = next((path for path in options if self.has(path)), section)
            named = path != section or error.field in section
            wrong = error.wrong if named else f"{error.field}: {error.wrong}"
            raise self.error(path, wrong, error.fix_in(Option.in_file)) from None


def dotted(path: FieldPath) -> str:
    """`("space", "shape", 1)` as `space.shape[1]`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")
