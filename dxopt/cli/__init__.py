"""The command line: arguments only."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point; exit code 2 where what the command line needs is not installed, as in a light installation."""
    try:
        from dxopt.cli.application import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("dxopt"):
            raise
        print(f"dxopt: {error.name} is not installed; install dxopt[cli], or dxopt[solve] to solve", file=sys.stderr)
        sys.exit(2)
    run()
