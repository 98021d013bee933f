"""dxopt: optimal mechanisms for metric differential privacy, proven private, with a bound on each value."""

from __future__ import annotations

import ast
import logging
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

logging.getLogger("dxopt").addHandler(logging.NullHandler())


def _homes() -> dict[str, tuple[str, str]]:
    """Return, for each public name, its module and its name there: the stub for type checkers lists them once."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name: (str(line.module), alias.name)
        for line in stub.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }


_HOME = _homes()
__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import dxopt` is fast."""
    if name not in _HOME:
        raise AttributeError(f"module 'dxopt' has no attribute {name!r}")
    home, own = _HOME[name]
    try:
        # as `from home import own` does it, where `own` may be a module
        value = getattr(__import__(home, fromlist=[own]), own)
    except ModuleNotFoundError as error:
        from dxopt.errors import not_installed

        raise not_installed(error) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
