"""Processes on every system: a connection that this process dials, Ctrl-C by a byte, an end when a pipe closes.

A process that is started waits for one connection from this machine, which has to know the key that came through the
pipe to its standard input. That pipe carries Ctrl-C afterwards, and closes when the process that holds the other end
is gone, however that came about. One whose compiled code keeps Python's lock would not notice: it gets a guard, which
is a process that sees the same of a pipe of its own (`runtime.guard`).
"""

from __future__ import annotations

import _thread
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from multiprocessing import AuthenticationError, Pipe
from multiprocessing.connection import Client, Connection, Listener
from typing import IO

from dxopt.runtime.platform import apart

_KEY = 32
_INTERRUPT = b"i"
_HERE = "127.0.0.1"


class Dialled:
    """A process, and the connection to it; see `process.Process`.

    It is dialled when the connection is first used, so that several processes start at the same time.
    """

    def __init__(self, module: str, environment: Mapping[str, str], folder: str | None, *, guarded: bool) -> None:
        self._key = secrets.token_bytes(_KEY)
        self.process = apart(
            [sys.executable, "-m", __name__, module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            cwd=folder,
            env={**os.environ, **environment},
        )
        self._tell(self._key)
        self._guard = _guard_of(self.process.pid) if guarded else None

    @cached_property
    def connection(self) -> Connection:
        """The connection to it; one that is at its end where it did not start."""
        line = self._said.readline()
        try:
            return Client((_HERE, int(line)), authkey=self._key)
        except (OSError, EOFError, ValueError, AuthenticationError):
            return _at_its_end()

    def interrupt(self) -> None:
        """Send it Ctrl-C."""
        self._tell(_INTERRUPT)

    def forget(self) -> None:
        """Let go of it in a copy of the process that started it."""
        self._hang_up()
        for stream in (self._asked, self._said, *([] if self._guard is None else [_input_of(self._guard)])):
            stream.close()

    def end(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()
        self._hang_up()
        self._asked.close()
        self._said.close()
        if self._guard is not None:
            self._guard.communicate(b".")  # ended: there is nothing to guard any more

    def _hang_up(self) -> None:
        if "connection" not in self.__dict__:
            self.connection = _at_its_end()
        self.connection.close()

    @property
    def _asked(self) -> IO[bytes]:
        return _input_of(self.process)

    @property
    def _said(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def _tell(self, content: bytes) -> None:
        with suppress(OSError):  # it has died; whoever reads from it finds that
            self._asked.write(content)


def _at_its_end() -> Connection:
    here, there = Pipe()
    there.close()
    return here


def _guard_of(process: int) -> subprocess.Popen[bytes]:
    """A guard, which kills a process when this one is gone."""
    return apart(
        [sys.executable, "-m", "dxopt.runtime.guard", str(process)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )


def _input_of(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin


def main(module: str) -> None:
    """Run `main` of a module with the connection to the process that started this one, and end when that one does."""
    pipe = os.dup(0)
    key = b""
    while len(key) < _KEY:
        more = os.read(pipe, _KEY - len(key))
        if not more:
            return
        key += more
    threading.Thread(target=_listen, args=(pipe,), daemon=True).start()
    with Listener((_HERE, 0), authkey=key) as listener:
        os.write(1, f"{listener.address[1]}\n".encode())
        with open(os.devnull, "r+b", buffering=0) as nothing:  # noqa: PTH123
            os.dup2(nothing.fileno(), 0)
            os.dup2(nothing.fileno(), 1)
        connection = _accepted(listener)
    import_module(module).main(connection)


def _accepted(listener: Listener) -> Connection:
    """The connection of the one that knows the key; any other program of this machine may have called before."""
    while True:
        with suppress(AuthenticationError, EOFError, OSError):
            return listener.accept()


def _listen(pipe: int) -> None:
    """Take each byte for Ctrl-C, and end the process when the pipe does."""
    while asked := os.read(pipe, 1):
        if asked == _INTERRUPT:
            _thread.interrupt_main()
    os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
