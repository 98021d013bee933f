"""Progress that is shown while it is made: a bar in a terminal or a notebook, lines elsewhere; never on stdout."""

from __future__ import annotations

import html
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TextIO, TypeVar

from dxopt.errors import SpecError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Progress = Callable[[str], None]
"""Given a line of text now and then."""
T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")
Shares = Callable[[str, float], None]
"""Given a line and the share that is done."""
_EVERY = 5.0
"""Seconds between lines, away from terminals and notebooks."""
_REFRESH = 0.2
"""Seconds between changes in a notebook."""
_SOON = 1.0
"""Seconds before time left is told."""
_WIDTH = 24


class Live:
    """A context that shows lines, the share that is done where it is known, and the time that is left where that is.

    It is called with lines, as any `progress` is. It writes to standard error, unless to a `stream`.
    The work stops `time_limit` seconds from now, where that is given.
    """

    def __init__(self, stream: TextIO | None = None, time_limit: float | None = None) -> None:
        self._stream = stream
        self._limit = time_limit
        self._began = time.monotonic()
        self._line = ""
        self._share: float | None = None
        self._even = False
        self._since = self._began
        self._view: _Terminal | _Notebook | _Lines | None = None

    def __enter__(self) -> Live:
        self._view = _view(self, self._stream)
        self._view.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._view is not None:
            self._view.close("took" if error is None else "stopped after")
            self._view = None

    def __call__(self, line: str) -> None:
        self._line = line
        self._told()

    def at(self, line: str, share: float) -> None:
        """Show a line and the share of its stage, the word that the line begins with; shares grow evenly in time."""
        if line.partition(",")[0] != self._line.partition(",")[0]:
            self._since = time.monotonic()
        self._line, self._share, self._even = line, share, True
        self._told()

    def step(self, done: int, of: int, *, even: bool = False) -> None:
        """Show that some of the parts are done, which take about as long as each other where they are `even`."""
        self._share, self._even = done / of, even
        self._told()

    @property
    def line(self) -> str:
        """What is going on."""
        return self._line or "starting"

    @property
    def share(self) -> float | None:
        """The share that is done, where it is known."""
        return self._share

    def times(self) -> str:
        """How long it has taken, and how long it will take where that can be told."""
        now = time.monotonic()
        spent = now - self._since
        told = self.spent()
        if self._even and self._share and spent > _SOON:
            return f"{told}, about {clock(spent * (1 - self._share) / self._share)} left"
        if self._limit is not None:
            return f"{told}, at most {clock(max(self._limit - (now - self._began), 0.0))} left"
        return told

    def spent(self) -> str:
        """How long it has taken."""
        return clock(time.monotonic() - self._began)

    def _told(self) -> None:
        if self._view is not None:
            self._view.change()


class _Terminal:
    """One line at the end of a terminal, which goes away."""

    def __init__(self, live: Live, console: Any) -> None:
        from rich.live import Live as Shown
        from rich.spinner import Spinner

        self._live = live
        self._spinner = Spinner("dots")
        # what a script prints on standard output stays there
        self._shown = Shown(
            console=console, get_renderable=self._line, refresh_per_second=8, transient=True, redirect_stdout=False
        )

    def open(self) -> None:
        self._shown.start()

    def change(self) -> None:
        """The line is drawn anew in a moment."""

    def close(self, ended: str) -> None:
        self._shown.stop()

    def _line(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        live = self._live
        grid = Table.grid(padding=(0, 1), expand=True)
        grid.add_column(no_wrap=True)
        grid.add_column(no_wrap=True, ratio=1, overflow="ellipsis")
        cells: list[RenderableType] = [self._spinner, Text(live.line, no_wrap=True, overflow="ellipsis")]
        if live.share is not None:
            grid.add_column(no_wrap=True)
            grid.add_column(no_wrap=True, justify="right")
            cells += [ProgressBar(total=1.0, completed=live.share, width=_WIDTH), Text(f"{live.share:.0%}")]
        grid.add_column(no_wrap=True, justify="right")
        grid.add_row(*cells, Text(live.times(), style="dim"))
        return grid


class _Notebook:
    """One output of a cell that changes, without widgets; at the end it says how long it took."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._last = -math.inf
        self._handle: Any = None

    def open(self) -> None:
        from IPython.display import display

        self._handle = display(self._page(), display_id=True)

    def change(self) -> None:
        if time.monotonic() - self._last > _REFRESH:
            self._last = time.monotonic()
            self._handle.update(self._page())

    def close(self, ended: str) -> None:
        self._handle.update(self._page(ended))

    def _page(self, ended: str = "") -> Any:
        from IPython.display import HTML

        live = self._live
        if ended:
            return HTML(f"<small>{ended} {live.spent()}</small>")
        value = "" if live.share is None else f" value='{live.share:.3f}'"
        bar = f"<progress max='1'{value} aria-label='progress'></progress>"
        return HTML(f"{bar} {html.escape(live.line)} <small>({html.escape(live.times())})</small>")


class _Lines:
    """A line every five seconds."""

    def __init__(self, live: Live, stream: TextIO | None) -> None:
        self._live = live
        self._stream = stream
        self._last = time.monotonic()

    def open(self) -> None:
        """Nothing is shown yet."""

    def change(self) -> None:
        if self._stream is None or time.monotonic() - self._last <= _EVERY:
            return
        self._last = time.monotonic()
        live = self._live
        share = "" if live.share is None else f", {live.share:.0%}"
        print(f"{live.line}{share} ({live.times()})", file=self._stream, flush=True)

    def close(self, ended: str) -> None:
        """Nothing is left to be shown."""


def _view(live: Live, stream: TextIO | None) -> _Terminal | _Notebook | _Lines:
    """What shows progress here."""
    if stream is None and in_notebook():
        return _Notebook(live)
    to = sys.stderr if stream is None else stream
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        return _Lines(live, to)
    if to is None:
        return _Lines(live, to)
    console = Console(file=to)
    return _Terminal(live, console) if redraws(console) else _Lines(live, to)


def redraws(console: Console) -> bool:
    """Whether lines can be drawn over: on a terminal, but not that of a notebook's `!`, which keeps every frame."""
    return console.is_terminal and "JPY_PARENT_PID" not in os.environ


@contextmanager
def showing(progress: Progress | bool | None, time_limit: float | None = None) -> Iterator[Progress | None]:
    """A context with what is given lines of progress: for True a bar, which knows of a limit in seconds."""
    if progress is True:
        with Live(time_limit=time_limit) as live:
            yield live
    else:
        yield _callable(progress)


@contextmanager
def showing_shares(progress: Shares | bool | None) -> Iterator[Shares | None]:
    """The same for work that tells lines with the share of its stage that is done."""
    if progress is True:
        with Live() as live:
            yield live.at
    else:
        yield _callable(progress)


def shows(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator of functions with a keyword `progress`: True becomes a bar, which is called with lines."""

    @wraps(function)
    def showing_it(*args: P.args, **kwargs: P.kwargs) -> R:
        given: Any = kwargs.pop("progress", None)
        with showing(given) as tell:
            more: Any = {"progress": tell}
            return function(*args, **kwargs, **more)

    return showing_it


def told(progress: Progress | bool | None) -> Progress:
    """What is given lines, also where nobody wants any."""
    return progress if callable(progress) else lambda line: None


def _callable(progress: T | bool | None) -> T | None:
    """What is given lines; SpecError where that cannot be called."""
    if progress is None or isinstance(progress, bool):
        return None
    if not callable(progress):
        wrong = f"is of type {type(progress).__name__}"
        raise SpecError("progress", wrong, "give True for a bar, or a function that is given lines, such as print")
    return progress


def step(progress: Progress | None, done: int, of: int, *, even: bool = False) -> None:
    """Tell a bar that some of the parts are done; nothing where progress is no bar."""
    if isinstance(progress, Live):
        progress.step(done, of, even=even)


def in_notebook() -> bool:
    """Whether this process runs the cells of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def clock(seconds: float) -> str:
    """A time in words: seconds, minutes, hours."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
