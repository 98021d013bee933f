"""Kernels: loops that Numba compiles, each for one kind of arguments, kept on disk, and compiled ahead where asked.

Compiling takes a part of a second for each, once for a version of Python and of Numba, a kind of processor and a
change of the source file. Numba keeps the machine code in `__pycache__` beside the source file, or where that cannot
be written in the cache folder of the user; the environment variable NUMBA_CACHE_DIR says where instead (see
`numba_cache`). Two processes that compile at once write the same files, each at one stroke.

What keeps compiling short:

- Kernels are plain loops over entries. Array expressions take many times as long to compile (that shapes agree is
  checked, with a message put together in compiled code), as do loops that Numba is to run in parallel.
- Each is compiled once, for one kind of arguments. A literal in a call, such as 0 or False, counts as a kind of its
  own, as does an `int32`: write `np.int64(0)`, `np.bool_(False)` there.

This module itself does not load Numba, so that who asks to be told of compiling need not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

Tell = Callable[[str], None]

REAL = "float64"
WHOLE = "int64"
FLAG = "boolean"
VECTOR = "float64[::1]"
MATRIX = "float64[:, ::1]"
INDICES = "int32[::1]"
POSITIONS = "int64[::1]"
FLAGS = "boolean[::1]"
TABLE = "int32[:, ::1]"
SIGNS = "boolean[:, ::1]"
"""Types of arguments, in Numba's words; arrays lie row by row in memory."""

COMPILING = "compiling, once after installation"
"""Prefix of the progress lines about this kernel."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """A compiled loop: Numba's dispatcher, a name for people, and the types of its arguments in Numba's words."""

    name: str
    dispatcher: Any
    signature: str

    @property
    def ready(self) -> bool:
        """True if this process has the machine code, or needs none because Numba is disabled."""
        return bool(getattr(self.dispatcher, "signatures", True))

    @property
    def folder(self) -> Path | None:
        """The folder of the machine code; None where none can be written, or nothing is compiled."""
        cache = self.dispatcher.stats.cache_path if hasattr(self.dispatcher, "stats") else None
        return None if cache is None else Path(cache)

    def load(self) -> float | None:
        """Load the machine code, or compile it: return for how many seconds, or None where it was there."""
        if self.ready:
            return None
        began = time.perf_counter()
        self.dispatcher.compile(self.signature)
        return None if self.dispatcher.stats.cache_hits else time.perf_counter() - began


KERNELS: list[Kernel] = []
"""All kernels of the modules that are loaded; each comes after those that it calls."""
_told: list[Tell] = []
"""The receivers of progress lines of the contexts of `telling`, the innermost last."""


def kernel(*types: str) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator of functions that are compiled when they are first called, or by `Kernel.load`.

    Parameters
    ----------
    types
        Of the arguments, in Numba's words. For arguments of other types it is compiled as well, but not ahead.
    """
    from dxopt.numerics.numba_cache import compile_lazily

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = compile_lazily(function)
        module = function.__module__.rpartition(".")[2]
        name = f"{module}, {function.__name__.strip('_')}".replace("_", " ")
        KERNELS.append(Kernel(name, dispatcher, f"({', '.join(types)},)"))
        return dispatcher

    _listen()
    return compiled


@contextmanager
def telling(tell: Tell) -> Iterator[None]:
    """Call `tell` with a line for each kernel that has to be compiled within this context.

    Where contexts are nested, only the `tell` of the innermost is called.
    """
    _told.append(tell)
    try:
        yield
    finally:
        _told.remove(tell)


def load(package: str, should_stop: Callable[[], bool]) -> bool:
    """Load or compile the kernels of a package one by one; return False if a stop was asked for before the end.

    Called ahead, so that a stop need not wait for more than one of them.
    """
    for one in KERNELS:
        if one.dispatcher.__module__.startswith(package) and not one.ready:
            if should_stop():
                return False
            one.load()
    return True


@cache
def _listen() -> None:
    """Have Numba tell when it compiles a kernel, once for this process: the lines of `telling`."""
    from numba.core import event

    class Listener(event.Listener):
        """Tells of functions of dxopt; Numba compiles many of its own on the way."""

        def on_start(self, event: Any) -> None:
            for one in KERNELS:
                if one.dispatcher is event.data["dispatcher"] and _told:
                    _told[-1](f"{COMPILING}: {one.name}")

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Listener())
