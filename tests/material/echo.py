"""A module for `runtime.process`: it answers what it is sent, until it is interrupted or asked to hang."""

from __future__ import annotations

import ctypes
import os

from dxopt.runtime.process import Line


def main(line: Line) -> None:
    """Answer each message; tell of Ctrl-C once; hang in compiled code that keeps Python's lock where asked."""
    try:
        while True:
            asked = line.recv()
            if asked == "print":
                print("no message", flush=True)
            line.send((os.getpid(), asked))
            if asked == "hang":
                ctypes.PyDLL(None).sleep(600)
            while asked == "wait":
                line.poll(0.05)
    except KeyboardInterrupt:
        line.send("interrupted")
