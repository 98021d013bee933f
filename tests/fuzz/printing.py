"""Prints finds as Python code that shows them."""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.judging import Find


def program(case: Case, find: Find, name: str) -> str:
    """A script that makes the problem of a case, solves it, and prints the report.

    Parameters
    ----------
    case : Case
    find : Find
    name : str
        The number of the case, for `--only`.
    """
    lines = [f"# {name}: {find.kind}: {find.detail}", *_imports(case), *case.lines(), "print(report)"]
    return "\n".join(lines)


def _imports(case: Case) -> list[str]:
    text = "\n".join(case.lines())
    words = set(text.replace("[", " ").replace("]", " ").replace(",", " ").replace("-", " ").split())
    needed = [name for name in ("inf", "nan") if name in words]
    found = [f"from math import {', '.join(needed)}", ""] if needed else []
    graphs = ["import networkx as nx", ""] if "nx." in text else []
    return [*found, *graphs, "import dxopt as dx", ""]
