"""What depends on the operating system, and nowhere else: the ways that Linux has, and which ones are taken.

The others, in `runtime.dialled`, `runtime.guard` and `runtime.locking`, work on every system. The environment
variable DXOPT_PORTABLE=1 asks for them on Linux as well.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from dxopt.errors import UnsupportedError

PORTABLE = sys.platform != "linux" or os.environ.get("DXOPT_PORTABLE") == "1"
"""Whether nothing is taken that Linux alone has."""
PERMISSIONS = os.name == "posix"
"""Whether the mode of a file says who may read it."""
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _FLAGS
"""How a file is opened that may be a pipe: without waiting."""
WRITING = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | _FLAGS
"""How a file of our own is opened: one that is there keeps its content, and no link is followed."""
ENDING = (signal.SIGTERM, *([signal.SIGBREAK] if hasattr(signal, "SIGBREAK") else []))  # pyright: ignore[reportAttributeAccessIssue]
"""Signals by which a program is asked to end, besides Ctrl-C."""


def library(name: str) -> ModuleType:
    """A library that the portable ways need.

    Raises
    ------
    UnsupportedError
        If it is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise UnsupportedError(name, "is not installed", "install dxopt[solve]") from None


def apart(program: Sequence[str], keep: Sequence[int] = (), **options: Any) -> subprocess.Popen[bytes]:
    """A process that the Ctrl-C of a terminal does not reach.

    Parameters
    ----------
    program : sequence of str
    keep : sequence of int
        Descriptors that it holds as well; on Linux alone.
    options
        Of `subprocess.Popen`.
    """
    if os.name == "nt":
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP  # pyright: ignore[reportAttributeAccessIssue]
    else:
        options |= {"start_new_session": True, "pass_fds": tuple(keep)}
    started: Any = subprocess.Popen(program, **options)
    return started


def end_with(lifeline: int) -> bool:
    """Let the kernel end this process once the other end of a pipe closes; on Linux alone.

    It sends SIGIO then, which nobody handles, so that even compiled code is ended. The answer is whether the other
    end is still open.
    """
    import fcntl

    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    return not select.select([lifeline], [], [], 0)[0]


def lock(descriptor: int) -> None:
    """Lock an open file or folder until its descriptor closes, here and wherever it was handed on; on Linux alone.

    Raises
    ------
    BlockingIOError
        If somebody else has it locked.
    OSError
        If its file system has no locks.
    """
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def at_fork(
    *,
    before: Callable[[], object] | None = None,
    after_in_parent: Callable[[], object] | None = None,
    after_in_child: Callable[[], object] | None = None,
) -> None:
    """Call functions whenever this process is forked, where a system has that."""
    if hasattr(os, "register_at_fork"):
        given = {"before": before, "after_in_parent": after_in_parent, "after_in_child": after_in_child}
        os.register_at_fork(**{name: function for name, function in given.items() if function is not None})


def resident(process: int) -> int:
    """Bytes that a process and those it started hold in memory; 0 of one that is gone."""
    if PORTABLE:
        return sum(map(_held_by, _family(process)))
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
        tasks = list(Path(f"/proc/{process}/task").glob("*/children"))
        children = [int(child) for task in tasks for child in task.read_text(encoding="ascii").split()]
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(map(resident, children))


def _family(process: int) -> list[Any]:
    """A process and those it started; none where it is gone."""
    psutil = library("psutil")
    try:
        first = psutil.Process(process)
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []


def _held_by(process: Any) -> int:
    try:
        return process.memory_info().rss
    except library("psutil").Error:  # it ended since it was found; the others have not
        return 0


def memory() -> int:
    """Bytes of memory that this machine has."""
    if PORTABLE:
        return library("psutil").virtual_memory().total
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
