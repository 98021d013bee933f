"""The program that kills a process whose parent is gone, where its own threads may not get to run."""

import os
import signal
import sys
from contextlib import suppress


def main(process: str) -> None:
    """Kill the process of a number once standard input ends, as when the parent dies; after a byte just end."""
    if not sys.stdin.buffer.read(1):
        with suppress(OSError):  # it has ended by itself
            os.kill(int(process), getattr(signal, "SIGKILL", signal.SIGTERM))


if __name__ == "__main__":
    main(*sys.argv[1:])
