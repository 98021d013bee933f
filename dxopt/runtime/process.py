"""Processes that end with the one that started them, and a connection to each."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection

from dxopt.runtime.dialled import Dialled
from dxopt.runtime.inherited import Inherited
from dxopt.runtime.platform import PORTABLE


class Process:
    """A Python module that runs in a process of its own, and the connection to it.

    It never runs the script of this process again, which needs no `if __name__ == "__main__"` therefore.

    Parameters
    ----------
    module : str
        Its function `main` is given the other end of the connection.
    environment : dict, optional
        Variables besides those of this process.
    keep : sequence of int
        Descriptors that the process holds as well, where descriptors can be handed on.
    folder : str, optional
        Where it runs; where this process does by default.
    guarded : bool
        Whether it may be in compiled code for long that keeps Python's lock.
    """

    def __init__(
        self,
        module: str,
        *,
        environment: Mapping[str, str] | None = None,
        keep: Sequence[int] = (),
        folder: str | None = None,
        guarded: bool = False,
    ) -> None:
        self._kept: Dialled | Inherited
        if PORTABLE:
            self._kept = Dialled(module, environment or {}, folder, guarded=guarded)
        else:
            self._kept = Inherited(module, environment or {}, keep, folder)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process, for its number and how it ended."""
        return self._kept.process

    @property
    def connection(self) -> Connection:
        """The connection to it; it is at its end where the process has ended, and closed after `end`."""
        return self._kept.connection

    def interrupt(self) -> None:
        """Let the process handle SIGINT, as at Ctrl-C; nothing happens where it has ended."""
        self._kept.interrupt()

    def forget(self) -> None:
        """Let go of the process in a copy of the one that started it: it ends with that one, and not with this."""
        self._kept.forget()

    def end(self) -> None:
        """Kill the process, and with it those that it started."""
        self._kept.end()
