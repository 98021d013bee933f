"""The imports of dxopt as a graph, read from its source: those for types only and late ones in functions too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx

from tests.material.files import ROOT

PACKAGE = ROOT / "dxopt"


def modules() -> dict[str, Path]:
    """Every module by its dotted name."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imported(file: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of dxopt that a file imports anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module


@cache
def graph() -> nx.DiGraph:
    """From each module to those it imports; `dxopt` itself, which only hands on names, is left out."""
    known = modules()
    edges = nx.DiGraph()
    for name, file in known.items():
        if name != "dxopt":
            edges.add_node(name)
            edges.add_edges_from((name, other) for other in imported(file, known) if other not in ("dxopt", name))
    return edges
