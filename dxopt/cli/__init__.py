"""The command line: arguments only."""

from __future__ import annotations

import codecs
import sys
from io import TextIOWrapper


def main() -> None:
    """Entry point; exit code 2 where what the command line needs is not installed, as in a light installation."""
    try:
        from dxopt.cli.application import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("dxopt"):
            raise
        print(f"dxopt: {error.name} is not installed; install dxopt[cli], or dxopt[solve] to solve", file=sys.stderr)
        sys.exit(2)
    _speak()
    run()


def _speak() -> None:
    """Let no letter stop a program: output that is redirected is UTF-8, and a terminal shows what it can."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8", errors=stream.errors)
