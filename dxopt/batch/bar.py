"""A bar for work of which the share that is done is known: on a terminal, and plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from dxopt.batch.progress import redraws

_EVERY = 5.0


class Bar:
    """A context that shows (line, share) pairs on a console; away from a terminal a line every five seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = time.monotonic()
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True) if redraws(console) else None
        self._stage = ""

    def __enter__(self) -> Bar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def tell(self, line: str, share: float) -> None:
        """Show a line and the share of its stage, the word that the line begins with."""
        if self._bar is None:
            if time.monotonic() - self._last > _EVERY:
                self._last = time.monotonic()
                self._console.print(f"{line}, {share:.0%}", markup=False, highlight=False, soft_wrap=True)
            return
        stage = line.partition(",")[0]
        if stage != self._stage:
            for task in self._bar.task_ids:
                self._bar.remove_task(task)
            self._bar.add_task(line, total=1.0)
            self._stage = stage
        self._bar.update(self._bar.task_ids[-1], completed=share, description=line)
