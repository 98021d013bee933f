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
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TextIO, TypeVar

from dxopt.errors import SpecError

if TYPE_CHECKING:
    from rich.console import Console


LOGGER = logging.getLogger("dxopt")
Progress = Callable[[str], None]
"""A function that is called with a line of text now and then."""
Shares = Callable[[str, float], None]
"""A function that is called with a line and the share that is done, from 0 to 1."""
T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")
_EVERY = 5.0
"""Seconds between lines, away from terminals and notebooks."""
_REFRESH = 0.2
"""Seconds between changes in a notebook."""
_SOON = 1.0
"""Seconds that a stage must have taken before the time that is left is estimated."""
_WIDTH = 24


class Task:
    """Work that progress is shown of: its last line, the share that is done if that is known, and the time it takes.

    The name is empty if it is the only work; a time limit is in seconds from now.
    """

    def __init__(self, name: str = "", time_limit: float | None = None) -> None:
        self.name = name
        self.line = "starting"
        self.share: float | None = None
        # when a line of it was printed last: of a task with a name the first line is printed at once
        self.printed = -math.inf if name else time.monotonic()
        self._limit = time_limit
        self._began = self._since = time.monotonic()  # of the task, and of its present stage
        self.even = False  # whether the share grows evenly in time, so that the time left can be estimated

    def at(self, line: str, share: float | None = None) -> None:
        """Change the line, and the share that is done of its stage, which is expected to grow evenly in time.

        The words before the first comma name the stage; a new stage begins a new estimate of the time left.
        """
        if share is not None:
            if line.partition(",")[0] != self.line.partition(",")[0]:
                self._since = time.monotonic()
            self.share, self.even = share, True
        self.line = line

    @property
    def text(self) -> str:
        """The line after the name of the task, if it has one."""
        return f"{self.name}: {self.line}" if self.name else self.line

    @property
    def spent(self) -> str:
        """The time it has taken."""
        return duration(time.monotonic() - self._began)

    @property
    def times(self) -> str:
        """The time it has taken; and the time that is left, estimated or by the time limit, if either is known."""
        now = time.monotonic()
        spent = now - self._since
        if self.even and self.share and spent > _SOON:
            return f"{self.spent}, about {duration(spent * (1 - self.share) / self.share)} left"
        if self._limit is not None:
            return f"{self.spent}, at most {duration(max(self._limit - (now - self._began), 0.0))} left"
        return self.spent


class Live:
    """A context that shows lines, the share that is done where it is known, and the time that is left where that is.

    It is called with lines, as any `progress` is; `tell` and `done` are given those of tasks with a name. A terminal
    shows a line for each task, cut to its width. Elsewhere a line of each is printed every five seconds, and when a
    task with a name begins or is done.

    It writes to standard error unless it is given a stream. `time_limit` is that of the work, for the time left. No
    task with a name is shown during the first `after` seconds; one ends when another begins, unless `several` is set.
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
        self._begin = time.monotonic() + after  # of showing tasks with a name
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
        """Show the line of the task of a name; the first line begins it."""
        if time.monotonic() < self._begin:
            return
        if self.task.share is None:  # the line of the whole tells nothing then
            self._view.end(self.task)
        if name not in self._tasks:
            for other in [] if self._several else [*self._tasks]:
                self._view.end(self._tasks.pop(other))
            self._tasks[name] = Task(name)
        self._tasks[name].at(line)
        self._view.change(self._tasks[name])

    def announce(self, name: str, line: str) -> None:
        """Print a line about the task of a name that stays."""
        self._view.print(f"{name}: {line}")

    def done(self, name: str, line: str, of_all: str, share: float) -> None:
        """Print the line by which a task ended; show for the whole `of_all`, such as "3 of 8", and that share."""
        if name in self._tasks:
            self._view.end(self._tasks.pop(name))
        self._view.print(f"{name}: {line} ({of_all})")
        self.task.printed = time.monotonic()  # the line above tells of the whole as well
        self.task.at(of_all)
        self.step(share, even=True)


class _Lines:
    """View of progress as printed lines, one of each task every five seconds; other views extend it."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def open(self, task: Task) -> None:
        """Begin to show the task of the whole; printed lines begin later."""

    def change(self, task: Task) -> None:
        """Show the line of a task; printed lines leave it out if the last was less than five seconds ago."""
        if time.monotonic() - task.printed > _EVERY:
            task.printed = time.monotonic()
            share = "" if task.share is None else f", {task.share:.0%}"
            self.print(f"{task.text}{share} ({task.times})")

    def print(self, line: str) -> None:
        """Print a line that stays."""
        if self._stream is not None:
            print(line, file=self._stream, flush=True)

    def end(self, task: Task) -> None:
        """Stop showing a task; printed lines stay."""

    def close(self, ended: str) -> None:
        """Stop showing progress; a notebook keeps the text `ended`."""


class _Terminal(_Lines):
    """View of progress as bars below the output of a terminal, one for each task, which go away at the end."""

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
            self._ids[task] = self.bars.add_task("", total=None, of=task)  # the columns read its text whenever drawn
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
    """View of progress as one output of a cell, which changes, without widgets; at the end it is the time taken."""

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
    """Return the view for a notebook, a terminal with Rich installed, or any other stream."""
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
        """Return progress whose lines are logged; itself if they are already, so that no line is logged twice."""
        return progress if isinstance(progress, Logged) else cls(progress)

    def under(self, prefix: str) -> Logged:
        """Return progress for a part of the work, which writes a prefix before its lines."""
        return Logged(self.progress, self.prefix + prefix)

    def __call__(self, line: str) -> None:
        text = self.prefix + line
        LOGGER.info("%s", text)
        if self.progress is not None:
            self.progress(text)


@contextmanager
def showing(progress: T | bool | None, time_limit: float | None = None) -> Iterator[T | Live | None]:
    """Turn the option `progress` into a function that is called with lines, or None; for True that is a bar.

    The bar shows the time left until `time_limit`, in seconds. SpecError about anything else.
    """
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


@contextmanager
def shown_late(progress: Progress | bool | None, after: float = 2.0) -> Iterator[Shares]:
    """Yield a function that is called with lines and shares; True shows them on a bar, `after` seconds from now.

    Functions are called with each line once. SpecError about anything else.
    """
    begin = time.monotonic() + after
    told = [""]
    bars: list[Live] = []
    with ExitStack() as stack:
        # what was given is a function from here on, True, or None
        given = stack.enter_context(showing(progress)) if progress is not True else None

        def tell(line: str, share: float) -> None:
            if progress is True:
                if not bars and time.monotonic() >= begin:
                    bars.append(stack.enter_context(Live()))
                    bars[0].task.printed = -math.inf  # the first line is printed at once
                for bar in bars:
                    bar(line, share)
            elif given is not None and line != told[0]:
                told[0] = line
                given(line)

        yield tell


def shows(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that takes `progress=`, so that users may give it True, which becomes a bar."""

    @wraps(function)
    def showing_it(*args: P.args, **kwargs: P.kwargs) -> R:
        given: Any = kwargs.pop("progress", None)
        with showing(given) as tell:
            more: Any = {"progress": tell}
            return function(*args, **kwargs, **more)

    return showing_it


def or_silence(progress: Progress | bool | None) -> Progress:
    """Return the function that is called with lines; one that does nothing if no progress is wanted."""
    return progress if callable(progress) else lambda line: None


def step(progress: Progress | None, done: int, of: int, *, even: bool = False) -> None:
    """Show on a bar that `done` of so many parts are; functions that take lines alone are not called."""
    if isinstance(progress, Live):
        progress.step(done / of, even=even)


def in_notebook() -> bool:
    """Return True if this process runs the cells of a notebook: IPython has a kernel there, but not in a terminal."""
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
