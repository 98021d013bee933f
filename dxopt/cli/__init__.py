"""The command line: arguments only."""

from __future__ import annotations

import atexit
import codecs
import signal
import sys
from io import TextIOWrapper


def main() -> None:
    """Run the command line; exit with 2 where what a command needs is not installed, as in a light installation.

    Ctrl-C while the commands are loaded exits with 1, as in a command.
    """
    atexit.register(_ignore_signals)  # what is registered later comes before, and can be stopped
    try:
        _tolerate_any_letter()
        from dxopt.cli.application import run

        run()
    except ModuleNotFoundError as error:
        from dxopt.errors import not_installed

        print(not_installed(error), file=sys.stderr)
        sys.exit(2)
    except (KeyboardInterrupt, ImportError, SystemError) as error:
        # a compiled module that is loaded while Ctrl-C comes makes it the cause of an error of its own
        if not isinstance(error, KeyboardInterrupt) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        print("interrupted", file=sys.stderr)
        sys.exit(1)
    finally:
        # Python dies of SIGINT, whatever the exit code, if the last `exec` (dataclasses use it) ended by Ctrl-C.
        exec("")


def _ignore_signals() -> None:
    """Let no signal that comes while Python ends change the exit code: what is done is done."""
    from dxopt.runtime.stopping import ENDING

    for number in (signal.SIGINT, *ENDING):
        signal.signal(number, signal.SIG_IGN)


def _tolerate_any_letter() -> None:
    """Let no letter stop the program: make redirected output UTF-8, and a terminal replace what it cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8", errors=stream.errors)
