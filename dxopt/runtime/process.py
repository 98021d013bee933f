"""Processes that end with the one that started them, and a line of messages to each.

Messages go through the standard input and output of the process, Ctrl-C as an empty message. Standard input closes
when the process that started it is gone, even if it was killed; a thread then ends the started process. Compiled code
that keeps Python's lock would hold that thread up: such a process gets a guard beside it (`runtime.guard`).
"""

from __future__ import annotations

import _thread
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

_HEAD = 8
"""Bytes before each message: its length."""
_LOOK = 1.0
"""Seconds after which an endless wait is begun again, as on some systems Ctrl-C is handled only between waits."""
_GUARD = Path(__file__).with_name("guard.py")


class Line:
    """Two pipes, unbuffered binary streams, that carry objects of Python.

    A thread reads all that arrives, and sets the event `arrived`, which several lines may share, after each message
    and at the end. It calls `asked` for each Ctrl-C, and `ended` once the other end is gone.
    """

    def __init__(
        self,
        reader: IO[bytes],
        writer: IO[bytes],
        *,
        arrived: threading.Event | None = None,
        asked: Callable[[], object] = lambda: None,
        ended: Callable[[], object] = lambda: None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._came: deque[bytearray | None] = deque()  # read, but not yet received; None is the end
        self._arrived = arrived or threading.Event()
        threading.Thread(target=self._listen, args=(asked, ended), daemon=True).start()

    @property
    def closed(self) -> bool:
        """True if this end was closed, by `close` or `leave`."""
        return self._writer.closed

    def send(self, message: object) -> None:
        """Send an object; OSError where the other end is gone."""
        self._write(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def interrupt(self) -> None:
        """Send Ctrl-C; nothing happens where the other end is gone."""
        with suppress(OSError, ValueError):
            self._write(b"")

    def poll(self, seconds: float = 0.0) -> bool:
        """Wait for a message or the end, for some seconds at most; return True if there is one."""
        if not self._came and seconds:
            self._arrived.clear()
            if not self._came:  # one may have come just before the event was cleared
                self._arrived.wait(seconds)
        return bool(self._came)

    def recv(self) -> Any:
        """Wait for the next object; EOFError where the other end is gone and none is left."""
        while not self.poll(_LOOK):
            pass
        content = self._came[0]
        if content is None:  # which stays there: each later call finds the end as well
            raise EOFError
        self._came.popleft()
        return pickle.loads(content)

    def close(self) -> None:
        """Close the pipe to the other end, which sees the end of its input."""
        self._writer.close()

    def leave(self) -> None:
        """Close both pipes in a fork of this process, which has copies of them and must not keep them open."""
        self._writer.close()
        self._reader.close()

    def _write(self, content: bytes) -> None:
        """Write a message after its length; an unbuffered pipe may take a part of it at a time."""
        for part in (len(content).to_bytes(_HEAD, "big"), content):
            left = memoryview(part)
            while left:
                left = left[self._writer.write(left) :]

    def _listen(self, asked: Callable[[], object], ended: Callable[[], object]) -> None:
        """Read messages until the end, in the thread of this line."""
        with self._reader:
            while (head := self._read(_HEAD)) is not None:
                length = int.from_bytes(head, "big")
                if not length:  # Ctrl-C, see `interrupt`
                    asked()
                elif (content := self._read(length)) is not None:
                    self._came.append(content)
                    self._arrived.set()
        self._came.append(None)
        self._arrived.set()
        ended()

    def _read(self, length: int) -> bytearray | None:
        """Read so many bytes; None at the end of the pipe."""
        content = bytearray(length)
        left = memoryview(content)
        while left:
            try:
                count = self._reader.readinto(left)  # pyright: ignore[reportAttributeAccessIssue]
            except OSError:
                return None
            if not count:
                return None
            left = left[count:]
        return content


class Process:
    """A Python module that runs in a process of its own, and the line to it.

    Unlike processes of `multiprocessing`, it never runs the user's script again, which would need
    `if __name__ == "__main__"`. The function `main` of the module is given the other end of the line.

    It runs in `folder`, with variables of `environment` besides those of this process. `arrived` is set whenever it
    has sent something or ended. `guarded` is for one that may be long in compiled code that keeps Python's lock.
    """

    def __init__(
        self,
        module: str,
        *,
        environment: Mapping[str, str] | None = None,
        folder: str | None = None,
        arrived: threading.Event | None = None,
        guarded: bool = False,
    ) -> None:
        self.process = _start("-m", __name__, module, cwd=folder, env={**os.environ, **(environment or {})})
        assert self.process.stdin is not None and self.process.stdout is not None
        self.line = Line(self.process.stdout, self.process.stdin, arrived=arrived)
        # The guard imports nothing that is installed: so it starts fast, and needs no path to packages.
        guard = ("-I", "-S", str(_GUARD), str(self.process.pid))
        self._guard = _start(*guard, stdout=subprocess.DEVNULL) if guarded else None

    def interrupt(self) -> None:
        """Let the process handle SIGINT, as at Ctrl-C; nothing happens where it has ended."""
        self.line.interrupt()

    def forget(self) -> None:
        """Close the pipes in a fork of this process: the started process is to end with the original alone."""
        self.line.leave()
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()

    def end(self) -> None:
        """Kill the process; processes that it started by this class end with it."""
        self.process.kill()
        self.process.wait()
        self.line.close()
        if self._guard is not None:
            self._guard.communicate(b".")  # there is nothing to guard any more


def _start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start Python with pipes to it, in a session of its own, so that a terminal's Ctrl-C does not reach it."""
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0, **options}
    if os.name == "nt":
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP  # pyright: ignore[reportAttributeAccessIssue]
    else:
        options["start_new_session"] = True
    started: Any = subprocess.Popen([sys.executable, *arguments], **options)
    return started


def main(module: str) -> None:
    """Run `main` of a module with the line to the process that started this one, and end when that one does.

    The line keeps the pipes; standard input and output become nothing, so that no `print` gets into the messages.
    """
    reader, writer = (os.fdopen(os.dup(number), mode, buffering=0) for number, mode in ((0, "rb"), (1, "wb")))
    with open(os.devnull, "r+b", buffering=0) as nothing:  # noqa: PTH123
        for number in (0, 1):
            os.dup2(nothing.fileno(), number)
    line = Line(reader, writer, asked=_thread.interrupt_main, ended=lambda: os._exit(1))
    import_module(module).main(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
