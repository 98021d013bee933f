"""Progress: a spinner on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, RichCast
from rich.text import Text

from dxopt.runtime.live import redraws

if TYPE_CHECKING:
    from dxopt.batch.table import Line

_EVERY = 5.0
_MOST = 12


class Progress:
    """A context that shows (problem, line) pairs on a console.

    Away from a terminal a line is printed when a problem starts, every five seconds after that, and in a batch once
    it is done. Nothing is shown during the first `after` seconds. On a terminal there is a line for each problem that
    is being solved, with its time, cut where the terminal ends: `several` at once, or the last one.
    """

    def __init__(self, console: Console, *, after: float = 0.0, several: bool = False) -> None:
        self._console = console
        self._begin = time.monotonic() + after
        self._several = several
        self._status = console.status(self) if redraws(console) else None
        self._running: dict[str, str] = {}
        self._since: dict[str, float] = {}
        self._last: dict[str, float] = {}
        self._count = ""
        self._failed = 0

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
        """Show how far a problem is."""
        if time.monotonic() < self._begin:
            return
        if self._status is not None:
            self._since.setdefault(problem, time.monotonic())
            self._running = {**(self._running if self._several else {}), problem: line}
        elif time.monotonic() - self._last.get(problem, -math.inf) > _EVERY:
            self._last[problem] = time.monotonic()
            self._log(f"{problem}: {line}")

    def settled(self, line: Line, count: int, of: int) -> None:
        """Show that a problem of a batch is done, as the so-many-th of all."""
        self._failed += not line.delivered
        failed = f", {self._failed} failed" if self._failed else ""
        self._count = f"{count} of {of} done{failed}"
        self._running = {name: text for name, text in self._running.items() if name != line.problem}
        for times in (self._since, self._last):
            times.pop(line.problem, None)
        seconds = "" if line.seconds is None else f", {line.seconds:.1f} s"
        self._log(f"{line.problem}: {line.status}{seconds} ({self._count})")

    def print(self, answer: object, console: Console) -> None:
        """Print an answer, in colour on a terminal if it can be and as plain text elsewhere."""
        if console.is_terminal and isinstance(answer, RichCast):
            console.print(answer)
        else:
            console.print(str(answer), markup=False, highlight=False, soft_wrap=True)

    def _log(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def __rich__(self) -> Text:
        """What is shown now on a terminal."""
        running = self._running
        now = time.monotonic()
        most = max(1, min(_MOST, self._console.height - 4))
        lines = [
            Text.assemble((f"{now - self._since[name]:4.0f} s  ", "dim"), (name, "bold"), "  ", line)
            for name, line in list(running.items())[:most]
            if name in self._since
        ]
        if len(running) > most:
            lines.append(Text(f"and {len(running) - most} more"))
        heads = [Text(self._count)] if self._count else []
        shown = Text("\n", no_wrap=True, overflow="ellipsis").join([*heads, *lines])
        return shown if shown else Text("starting")
