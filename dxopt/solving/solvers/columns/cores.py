"""Compiled loops on all cores: each runs beside others, in threads that are kept.

A fork in the middle of a compilation would leave the compiler locked in the copy, so that forks wait for its end.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from numba import config
from numba.core.compiler_lock import global_compiler_lock

CORES: int = config.NUMBA_NUM_THREADS  # pyright: ignore[reportAttributeAccessIssue]
"""The environment variable NUMBA_NUM_THREADS, or else all cores that this process may use."""
_SHARES = 4
"""Shares of a loop for each core, so that those that end early take more."""

_executor: ThreadPoolExecutor | None = None
_alone = threading.local()


@contextmanager
def without_helpers() -> Iterator[None]:
    """Enter a context in which loops of this thread use no other one: on a cluster each thread has its own work."""
    _alone.now = True
    try:
        yield
    finally:
        _alone.now = False


def on_cores(loop: Callable[..., None], count: int, *arguments: Any) -> None:
    """Run a loop over 0 to `count` on all cores.

    Parameters
    ----------
    loop : callable
        A kernel; given the first index, the one after the last, and the arguments. No pass depends on another one.
    """
    step = max(1, count // (_SHARES * CORES))
    starts = iter(range(0, count, step))

    def work() -> None:
        # Each thread takes the next share until none is left; `next` of a range hands out each once.
        for start in starts:
            loop(start, min(start + step, count), *arguments)

    # This thread works as well. Others that are busy, as with another solve, are not waited for.
    helpers: list[Future[None]] = []
    wanted = 0 if getattr(_alone, "now", False) else min(CORES, count) - 1
    with suppress(RuntimeError):  # no more threads are to be had, as in a process that ends
        helpers.extend(_pool().submit(work) for _ in range(wanted))
    work()
    for helper in helpers:
        if not helper.cancel():
            helper.result()


def _pool() -> ThreadPoolExecutor:
    """Return the executor of this process, made at its first use, also after a fork."""
    global _executor
    if _executor is None:
        _executor = ThreadPoolExecutor(max(1, CORES - 1), "dxopt")
    return _executor


def _forget_threads() -> None:
    """Forget the threads after a fork, as the copy has none of them, and release the lock taken before it."""
    global _executor
    _executor = None
    global_compiler_lock.release()


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=_forget_threads,
    )
