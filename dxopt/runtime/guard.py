"""The program that ends a process whose parent is gone, where its own threads may not get to run."""

from __future__ import annotations

import sys

from dxopt.runtime.platform import library


def main(process: str) -> None:
    """Kill a process once standard input ends, unless a byte came before."""
    psutil = library("psutil")
    try:
        guarded = psutil.Process(int(process))
        if not sys.stdin.buffer.read(1):
            guarded.kill()
    except psutil.NoSuchProcess:
        pass  # it has ended by itself


if __name__ == "__main__":
    main(*sys.argv[1:])
