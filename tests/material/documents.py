"""Where the documents are, and what the names in them stand for."""

from __future__ import annotations

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
