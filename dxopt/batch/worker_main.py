"""The process that does jobs one after another, each in the same way as any other process."""

from __future__ import annotations

import time
from multiprocessing.connection import Connection

from dxopt.batch.perform import perform
from dxopt.runtime.stopping import Stop, terminable

_EVERY = 0.2


def main(line: Connection) -> None:
    """Do the jobs that come by the line until it closes; Ctrl-C ends the one that is running."""
    told: tuple[str, float] = ("", 0.0)

    def tell(name: str, text: str) -> None:
        nonlocal told
        now = time.monotonic()
        if told[0] != name or now - told[1] > _EVERY:
            told = name, now
            line.send((name, text))

    with Stop(), terminable():
        line.send("ready")
        while True:
            try:
                job = line.recv()
            except (EOFError, OSError):
                return
            line.send(perform(job, tell))
