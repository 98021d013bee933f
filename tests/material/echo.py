"""A module for `runtime.process`: it answers what it is sent, until it is interrupted or asked to hang."""

from __future__ import annotations

import ctypes
import os
from multiprocessing.connection import Connection


def main(connection: Connection) -> None:
    """Answer each message; tell of Ctrl-C once; hang in compiled code that keeps Python's lock where asked."""
    try:
        while True:
            asked = connection.recv()
            connection.send((os.getpid(), asked))
            if asked == "hang":
                ctypes.PyDLL(None).sleep(600)
            while asked == "wait":
                connection.poll(0.05)
    except KeyboardInterrupt:
        connection.send("interrupted")
