"""The program that a worker runs: jobs one after another, each done as in any other process."""

from __future__ import annotations

import time

from dxopt.batch.perform import perform
from dxopt.runtime.process import Line
from dxopt.runtime.stopping import Stop, terminable

_EVERY = 0.2


def main(line: Line) -> None:
    """Do the jobs that come, for ever; Ctrl-C ends the one that is running."""
    last_name = ""
    last_time = 0.0

    def tell(name: str, text: str) -> None:
        """Pass on a line of progress, at most one in `_EVERY` seconds for a problem: many would fill the line."""
        nonlocal last_name, last_time
        now = time.monotonic()
        if last_name != name or now - last_time > _EVERY:
            last_name = name
            last_time = now
            line.send((name, text))

    with Stop(quiet=True), terminable():
        line.send("ready")
        while True:
            line.send(perform(line.recv(), tell))
