"""Compiled loops on all cores, and on one in a copy of a process that has used them.

GNU OpenMP, which Numba uses where there is no TBB, ends a process that was forked from one with its threads. A fork
in the middle of a compilation would leave the compiler locked in the copy, so that forks wait for its end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from numba.core.compiler_lock import global_compiler_lock

_threads_started = False
_is_copy = False


def on_cores(together: Callable[..., None], one: Callable[..., None], each: Iterable[int], *arguments: Any) -> None:
    """Run a loop on all cores, or on one where that would end the process.

    Parameters
    ----------
    together : callable
        A compiled loop in parallel; given the arguments.
    one : callable
        A pass of the loop, compiled; given an index and the arguments.
    each : iterable of int
        The indices.
    """
    global _threads_started
    if not _is_copy:
        _threads_started = True
        together(*arguments)
        return
    for index in each:
        one(index, *arguments)


def _in_copy() -> None:
    global _is_copy
    _is_copy = _threads_started
    global_compiler_lock.release()


os.register_at_fork(
    before=global_compiler_lock.acquire,
    after_in_parent=global_compiler_lock.release,
    after_in_child=_in_copy,
)
