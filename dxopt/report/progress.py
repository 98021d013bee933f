"""What is going on: a spinner on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import time
from types import TracebackType

from rich.console import Console, RichCast
from rich.text import Text

from dxopt.report.table import Line

_EVERY = 5.0


class Progress:
    """A context that shows (problem, line) pairs on a console.

    Away from a terminal a line is printed when a problem starts, every five seconds after that, and in a batch once
    it is done.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("starting") if console.is_terminal else None
        self._running: dict[str, str] = {}
        self._last: dict[str, float] = {}
        self._count = ""

    def __enter__(self) -> Progress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def tell(self, problem: str, line: str) -> None:
        """Show where a problem stands."""
        if self._status is not None:
            if not self._count:
                self._running.clear()
            self._running[problem] = line
            self._show()
        elif time.monotonic() - self._last.get(problem, -math.inf) > _EVERY:
            self._last[problem] = time.monotonic()
            self._log(f"{problem}: {line}")

    def settled(self, line: Line, count: int, of: int) -> None:
        """Show that a problem of a batch is done, as the so-many-th of all."""
        self._count = f"{count} of {of} done"
        self._running.pop(line.problem, None)
        self._last.pop(line.problem, None)
        seconds = "" if line.seconds is None else f", {line.seconds:.1f} s"
        self._log(f"{line.problem}: {line.status}{seconds} ({self._count})")
        self._show()

    def print(self, answer: object, console: Console) -> None:
        """Print an answer, in colour on a terminal if it can be and as plain text elsewhere."""
        if console.is_terminal and isinstance(answer, RichCast):
            console.print(answer)
        else:
            console.print(str(answer), markup=False, highlight=False, soft_wrap=True)

    def _log(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _show(self) -> None:
        """The problems that are being solved, one to a line, on a terminal."""
        if self._status is None:
            return
        lines = [Text.assemble((problem, "bold"), "  ", line) for problem, line in self._running.items()]
        self._status.update(Text("\n").join([Text(self._count), *lines] if self._count else lines))
