"""Processes that end with the one that started them, and a connection to each."""

from __future__ import annotations

import fcntl
import os
import select
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from multiprocessing.connection import Connection


class Process:
    """A Python module that runs in a process of its own, and the connection to it.

    Parameters
    ----------
    module : str
        Its function `main` is given the other end of the connection.
    environment : dict, optional
        Variables besides those of this process.
    keep : sequence of int
        Descriptors that the process holds as well.
    folder : str, optional
        Where it runs; where this process does by default.
    """

    def __init__(
        self,
        module: str,
        *,
        environment: Mapping[str, str] | None = None,
        keep: Sequence[int] = (),
        folder: str | None = None,
    ) -> None:
        # The socket carries messages. The pipe carries none: its end there closes when this process is gone.
        here, there = socket.socketpair()
        lifeline, self._lifeline = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, module, str(there.fileno()), str(lifeline)],
            pass_fds=[there.fileno(), lifeline, *keep],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            cwd=folder,
            env={**os.environ, **(environment or {})},
        )
        there.close()
        os.close(lifeline)
        self.connection = Connection(here.detach())

    def forget(self) -> None:
        """Let go of the process in a copy of the one that started it: it ends with that one, and not with this."""
        self.connection.close()
        os.close(self._lifeline)

    def end(self) -> None:
        """Kill the process, and with it those that it started."""
        self.connection.close()
        self.process.kill()
        self.process.wait()
        os.close(self._lifeline)


def main(module: str, connection: str, lifeline: str) -> None:
    """Run `main` of a module with the connection to the process that started this one, and end when that one does.

    The other end of the lifeline closes when that process ends, however it does; the kernel then sends SIGIO here,
    which nobody handles, so that even compiled code is ended.
    """
    end = int(lifeline)
    fcntl.fcntl(end, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(end, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    if not select.select([end], [], [], 0)[0]:
        import_module(module).main(Connection(int(connection)))


if __name__ == "__main__":
    main(*sys.argv[1:])
