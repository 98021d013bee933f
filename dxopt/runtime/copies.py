"""What a copy of a process, made by a fork, must not inherit: locks held by threads that it does not have."""

from __future__ import annotations

import sys
import threading
from functools import cached_property
from typing import Any


def unlock_properties() -> None:
    """Give every cached property of dxopt a lock of its own, where Python has one in it (before 3.12)."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "dxopt":
            for kind in list(vars(module).values()):
                if isinstance(kind, type):
                    _unlock(kind)


def _unlock(kind: type) -> None:
    for entry in vars(kind).values():
        if isinstance(entry, cached_property) and hasattr(entry, "lock"):
            held: Any = entry
            held.lock = threading.RLock()
