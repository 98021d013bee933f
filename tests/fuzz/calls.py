"""Calls of public functions with plain arguments, as data: they can be made, and printed as code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

import dxopt as dx

ROOTS = {"dx": dx, "nx": nx}


@dataclass(frozen=True)
class Call:
    """A call such as `dx.line(3, step=0.5)`, or of a method of what another call makes.

    Attributes
    ----------
    name : str
        With `dx.` or `nx.` in front, or the name of a method of `on`.
    args : tuple
        Numbers, text, tuples of them, None, or calls.
    keywords : tuple of (str, value)
    on : Call or None
    """

    name: str
    args: tuple[Any, ...] = ()
    keywords: tuple[tuple[str, Any], ...] = ()
    on: Call | None = None

    def make(self) -> Any:
        """What it returns."""
        first, *rest = self.name.split(".")
        found: Any = getattr(self.on.make(), first) if self.on else ROOTS[first]
        for part in rest:
            found = getattr(found, part)
        return found(*map(_made, self.args), **{name: _made(value) for name, value in self.keywords})

    def __str__(self) -> str:
        given = [*map(code, self.args), *(f"{name}={code(value)}" for name, value in self.keywords)]
        return f"{f'{self.on}.' if self.on else ''}{self.name}({', '.join(given)})"


def call(name: str, *args: Any, on: Call | None = None, **keywords: Any) -> Call:
    """A call with plain arguments; arrays become tuples."""
    return Call(name, tuple(map(plain, args)), tuple((key, plain(value)) for key, value in keywords.items()), on)


def plain(value: Any) -> Any:
    """Arrays and lists as tuples, NumPy's numbers as Python's; everything else as it is."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Edge):
        return value
    return tuple(map(plain, value)) if isinstance(value, tuple | list) else value


def code(value: Any) -> str:
    """A plain value as Python code; tuples become lists, and `inf` and `nan` need an import."""
    if isinstance(value, Edge):
        return f"({value.first}, {value.second}, {{'length': {value.length!r}}})"
    if isinstance(value, tuple):
        return f"[{', '.join(map(code, value))}]"
    return str(value) if isinstance(value, Call) else repr(value)


@dataclass(frozen=True)
class Edge:
    """An edge of a graph with its length, as `networkx.from_edgelist` takes it."""

    first: int
    second: int
    length: float


def _made(value: Any) -> Any:
    if isinstance(value, Call):
        return value.make()
    if isinstance(value, Edge):
        return (value.first, value.second, {"length": value.length})
    return [_made(one) for one in value] if isinstance(value, tuple) else value
