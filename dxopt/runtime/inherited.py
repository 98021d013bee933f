"""Processes on Linux: a connection by descriptors that are handed on, Ctrl-C by a signal, an end by the kernel."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from multiprocessing.connection import Connection

from dxopt.runtime.platform import apart, end_with


class Inherited:
    """A process, and the connection to it; see `process.Process`.

    The socket carries messages. The pipe carries none: its end there closes when this process is gone.
    """

    def __init__(self, module: str, environment: Mapping[str, str], keep: Sequence[int], folder: str | None) -> None:
        here, there = socket.socketpair()
        lifeline, self._lifeline = os.pipe()
        self.process = apart(
            [sys.executable, "-m", __name__, module, str(there.fileno()), str(lifeline)],
            [there.fileno(), lifeline, *keep],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, **environment},
        )
        there.close()
        os.close(lifeline)
        self.connection = Connection(here.detach())

    def interrupt(self) -> None:
        """Send it Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def forget(self) -> None:
        """Let go of it in a copy of the process that started it."""
        self.connection.close()
        os.close(self._lifeline)

    def end(self) -> None:
        """Kill it."""
        self.connection.close()
        self.process.kill()
        self.process.wait()
        os.close(self._lifeline)


def main(module: str, connection: str, lifeline: str) -> None:
    """Run `main` of a module with the connection to the process that started this one, and end when that one does."""
    if end_with(int(lifeline)):
        import_module(module).main(Connection(int(connection)))


if __name__ == "__main__":
    main(*sys.argv[1:])
