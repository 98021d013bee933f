"""Show and log progress: bars in a terminal or notebook, lines elsewhere.

The lines of solves go to the logger "dxopt" as well.
"""

from __future__ import annotations

import html
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TextIO, TypeVar

from dxopt.errors import SpecError

if TYPE_CHECKING:
    from rich.console import Console


LOGGER = logging.getLogger("dxopt")
Progress = Callable[[str], None]
"""Given a line of text now and then."""
Shares = Callable[[str, float], None]
"""Given a line and the share that is done."""
T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")
_EVERY = 5.0
"""Seconds between lines, away from terminals and notebooks."""
_REFRESH = 0.2
"""Seconds between changes in a notebook."""
_SOON = 1.0
"""Seconds before time left is told."""
_WIDTH = 24


class Task:
    """Something that is going on, the share of it that is done where known, and the time it takes.

    The name is empty where one thing alone is going on; a time limit is in seconds from now.
    """

    def __init__(self, name: str = "", time_limit: float | None = None) -> None:
        self.name = name
        self.line = "starting"
        self.share: float | None = None
        self.printed = -math.inf if name else time.monotonic()
        self._limit = time_limit
        self._began = self._since = time.monotonic()
        self.even = False

    def at(self, line: str, share: float | None = None) -> None:
        """Change the line; a share is that of a stage, the word before the first comma, and grows evenly in time."""
        if share is not None:
            if line.partition(",")[0] != self.line.partition(",")[0]:
                self._since = time.monotonic()
            self.share, self.even = share, True
        self.line = line

    @property
    def text(self) -> str:
        """Name and share of what is done."""
        return f"{self.name}: {self.line}" if self.name else self.line

    @property
    def spent(self) -> str:
        """The time it has taken."""
        return duration(time.monotonic() - self._began)

    @property
    def times(self) -> str:
        """The time it has taken, and the time it will take where that can be told."""
        now = time.monotonic()
        spent = now - self._since
        if self.even and self.share and spent > _SOON:
            return f"{self.spent}, about {duration(spent * (1 - self.share) / self.share)} left"
        if self._limit is not None:
            return f"{self.spent}, at most {duration(max(self._limit - (now - self._began), 0.0))} left"
        return self.spent


class Live:
    """A context that shows lines, the share that is done where it is known, and the time that is left where that is.

    It is called with lines, as any `progress` is, or told them of tasks with a name. A terminal has a line for each
    task, cut where the terminal ends. Elsewhere a line is printed every five seconds, and when a task with a name
    begins or is done.

    It writes to standard error unless it is given a stream. The work stops after `time_limit` seconds, no task is
    shown during the first `after` seconds, and one task ends when another begins, unless `several` run at once.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        time_limit: float | None = None,
        *,
        after: float = 0.0,
        several: bool = False,
    ) -> None:
        self.task = Task(time_limit=time_limit)
        self._tasks: dict[str, Task] = {}
        self._begin = time.monotonic() + after
        self._several = several
        self._view = _view(stream)

    def __enter__(self) -> Live:
        self._view.open(self.task)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._view.close(f"{'took' if error is None else 'stopped after'} {self.task.spent}")

    def __call__(self, line: str, share: float | None = None) -> None:
        """Show a line, and the share of its stage that is done."""
        self.task.at(line, share)
        self._view.change(self.task)

    def step(self, share: float, *, even: bool = False) -> None:
        """Show the share that is done, and say whether it grows evenly in time."""
        self.task.share, self.task.even = share, even
        self._view.change(self.task)

    def tell(self, name: str, line: str) -> None:
        """Show how far a task is."""
        if time.monotonic() < self._begin:
            return
        if self.task.share is None:
            self._view.end(self.task)
        if name not in self._tasks:
            for other in [] if self._several else [*self._tasks]:
                self._view.end(self._tasks.pop(other))
            self._tasks[name] = Task(name)
        self._tasks[name].at(line)
        self._view.change(self._tasks[name])

    def done(self, name: str, line: str, of_all: str, share: float) -> None:
        """Print how a task ended, and show how many have, and their share of all."""
        if name in self._tasks:
            self._view.end(self._tasks.pop(name))
        self._view.print(f"{name}: {line} ({of_all})")
        self.task.printed = time.monotonic()
        self.task.at(of_all)
        self.step(share, even=True)


class _Lines:
    """A line of each task every five seconds."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def open(self, task: Task) -> None:
        """Nothing is shown yet."""

    def change(self, task: Task) -> None:
        """Print how far a task is, unless that was done a moment ago."""
        if time.monotonic() - task.printed > _EVERY:
            task.printed = time.monotonic()
            share = "" if task.share is None else f", {task.share:.0%}"
            self.print(f"{task.text}{share} ({task.times})")

    def print(self, line: str) -> None:
        """Print a line that stays."""
        if self._stream is not None:
            print(line, file=self._stream, flush=True)

    def end(self, task: Task) -> None:
        """Show a task no longer."""

    def close(self, ended: str) -> None:
        """Show nothing any more but how it ended."""


class _Terminal(_Lines):
    """A line for each task at the end of a terminal, which goes away."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, SpinnerColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bars
        from rich.table import Column

        wide = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        self.bars = Bars(
            SpinnerColumn(),
            TextColumn("{task.fields[of].text}", markup=False, table_column=wide),
            BarColumn(_WIDTH),
            TaskProgressColumn(),
            TextColumn("{task.fields[of].times}", style="dim", markup=False),
            console=console,
            expand=True,
            transient=True,
            redirect_stdout=False,  # what a script prints there stays there
        )
        self._ids: dict[Task, Any] = {}

    def open(self, task: Task) -> None:
        self.change(task)
        self.bars.start()

    def change(self, task: Task) -> None:
        if task not in self._ids:
            self._ids[task] = self.bars.add_task("", total=None, of=task)
        if task.share is not None:
            self.bars.update(self._ids[task], total=1.0, completed=task.share)

    def print(self, line: str) -> None:
        self.bars.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def end(self, task: Task) -> None:
        if task in self._ids:
            self.bars.remove_task(self._ids.pop(task))

    def close(self, ended: str) -> None:
        self.bars.stop()


class _Notebook(_Lines):
    """One output of a cell that changes, without widgets; at the end it says how long it took."""

    def open(self, task: Task) -> None:
        from IPython.display import display

        self._last = -math.inf
        self._handle: Any = display(self._page(task), display_id=True)

    def change(self, task: Task) -> None:
        if time.monotonic() - self._last > _REFRESH:
            self._last = time.monotonic()
            self._handle.update(self._page(task))

    def close(self, ended: str) -> None:
        from IPython.display import HTML

        self._handle.update(HTML(f"<small>{ended}</small>"))

    def _page(self, task: Task) -> Any:
        from IPython.display import HTML

        value = "" if task.share is None else f" value='{task.share:.3f}'"
        bar = f"<progress max='1'{value} aria-label='progress'></progress>"
        return HTML(f"{bar} {html.escape(task.text)} <small>({html.escape(task.times)})</small>")


def _view(stream: TextIO | None) -> _Lines:
    """Return what shows progress here."""
    to = sys.stderr if stream is None else stream
    if stream is None and in_notebook():
        return _Notebook(to)
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        return _Lines(to)
    # The terminal of a notebook's `!` keeps every frame: nothing can be drawn over there.
    if to is None or "JPY_PARENT_PID" in os.environ or not (console := Console(file=to)).is_terminal:
        return _Lines(to)
    return _Terminal(console)


@dataclass(frozen=True)
class Logged:
    """Progress whose lines, after a prefix, are logged at level INFO and then passed on."""

    progress: Progress | None = None
    prefix: str = ""

    @classmethod
    def of(cls, progress: Progress | None) -> Logged:
        """Return the progress itself where it is logged already, so that no line is logged twice."""
        return progress if isinstance(progress, Logged) else cls(progress)

    def under(self, prefix: str) -> Logged:
        """Return the progress of a part, whose lines begin with a prefix."""
        return Logged(self.progress, self.prefix + prefix)

    def __call__(self, line: str) -> None:
        text = self.prefix + line
        LOGGER.info("%s", text)
        if self.progress is not None:
            self.progress(text)


@contextmanager
def showing(progress: T | bool | None, time_limit: float | None = None) -> Iterator[T | Live | None]:
    """Yield what is called with lines: for True a bar, which knows of a limit in seconds."""
    if progress is True:
        with Live(time_limit=time_limit) as live:
            yield live
    elif progress is None or isinstance(progress, bool):
        yield None
    elif callable(progress):
        yield progress
    else:
        wrong = f"is of type {type(progress).__name__}"
        raise SpecError("progress", wrong, "give True for a bar, or a function that is given lines, such as print")


def shows(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function with a keyword `progress`: True becomes a bar, which is called with lines."""

    @wraps(function)
    def showing_it(*args: P.args, **kwargs: P.kwargs) -> R:
        given: Any = kwargs.pop("progress", None)
        with showing(given) as tell:
            more: Any = {"progress": tell}
            return function(*args, **kwargs, **more)

    return showing_it


def told(progress: Progress | bool | None) -> Progress:
    """Return what is given lines, also where nobody wants any."""
    return progress if callable(progress) else lambda line: None


def step(progress: Progress | None, done: int, of: int, *, even: bool = False) -> None:
    """Tell a bar that some of the parts are done; nothing where progress is no bar."""
    if isinstance(progress, Live):
        progress.step(done / of, even=even)


def in_notebook() -> bool:
    """Return whether this process runs the cells of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def duration(seconds: float) -> str:
    """Write a length of time: "42 s", "3 min 05 s", "2 h 07 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
