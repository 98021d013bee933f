"""What is going on: a spinner on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console, RichCast
from rich.text import Text

_EVERY = 5.0


class Progress:
    """A context that shows (problem, line) pairs on a console.

    Away from a terminal a line is printed when a problem starts and every five seconds after that.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("starting") if console.is_terminal else None
        self._problem = ""
        self._last = 0.0

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
            self._status.update(Text.assemble((problem, "bold"), "  ", line))
        elif problem != self._problem or time.monotonic() - self._last > _EVERY:
            self._problem, self._last = problem, time.monotonic()
            self._console.print(f"{problem}: {line}", markup=False, highlight=False, soft_wrap=True)

    def print(self, answer: object, console: Console) -> None:
        """Print an answer, in colour on a terminal if it can be and as plain text elsewhere."""
        if console.is_terminal and isinstance(answer, RichCast):
            console.print(answer)
        else:
            console.print(str(answer), markup=False, highlight=False, soft_wrap=True)
