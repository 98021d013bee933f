"""Where the documents are, and what the names in them stand for."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import dxopt as dx

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def resolve(name: str) -> Any:
    """What a dotted name stands for; AttributeError or ImportError where it is nothing."""
    if name.startswith("dx."):
        return reduce(getattr, name.split(".")[1:], dx)
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def shown_signatures() -> Iterator[tuple[str, str]]:
    """Dotted names and parameters, as the headings and tables of the Python reference show them."""
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    yield from re.findall(r"^(?:###? |\| )`(dx\.[\w.]+)(\([^`]*\))?`", text, flags=re.MULTILINE)


def public(module: Any) -> list[str]:
    """What a namespace offers: its `__all__`, or the functions and classes that are defined there."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    found = inspect.getmembers(module, lambda one: inspect.isfunction(one) or inspect.isclass(one))
    return [name for name, one in found if one.__module__ == module.__name__ and not name.startswith("_")]
