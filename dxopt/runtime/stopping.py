"""Deadlines, and Ctrl-C or SIGTERM as requests to stop that every stage can see; the end of a solve."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from types import FrameType, TracebackType
from typing import TypeVar

from dxopt.errors import Interrupted

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))
"""Signals by which a program is asked to end, besides Ctrl-C: also as its terminal is closed."""


@contextmanager
def terminable() -> Iterator[None]:
    """Handle SIGTERM and SIGHUP (on Windows Ctrl-Break) as Ctrl-C in this context; nothing outside the main thread.

    Those that are ignored, as after `nohup`, stay so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(signum: int, frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    previous = {number: signal.signal(number, ask) for number in ENDING if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


ASKED = "interrupted: stopping with the best result so far; press Ctrl-C again to stop at once (KeyboardInterrupt)"
"""Answer to the first Ctrl-C, on standard error, where partial results were asked for."""
RAISING = (
    "interrupted: stopping; what is done will be the `answer` of a KeyboardInterrupt (partial=True returns it); "
    "press Ctrl-C again to stop at once"
)
"""Answer to the first Ctrl-C where they were not."""
T = TypeVar("T")


class Stop:
    """A context in which the first Ctrl-C asks for a stop and the second one raises KeyboardInterrupt.

    The first one is answered with a line that says so. After it, `delivered` of the outermost context raises
    Interrupted with the answer, unless partial answers are wanted.
    Contexts may be nested: Ctrl-C asks the innermost one, which passes that on to the one around it when it ends; and
    a context that begins after one around it was asked is asked from the start.
    Outside the main thread, where no signal arrives, only the deadline counts.

    Parameters
    ----------
    time_limit : float, optional
        Seconds from now.
    partial : bool
        True to return the answer also after Ctrl-C; that of the outermost context counts.
    quiet : bool
        True to print nothing at Ctrl-C, here and in contexts within, as in processes to which another passes it on.
    """

    def __init__(self, time_limit: float | None = None, *, partial: bool = True, quiet: bool = False) -> None:
        self.deadline = None if time_limit is None else time.monotonic() + time_limit
        self.interrupted = False  # also set by whoever finds that a part of the work was interrupted
        self._partial = partial
        self._quiet = quiet
        self._around: Stop | None = None
        self._breaking = False
        self._pressed = False  # whether Ctrl-C itself came, to this context or to one around or within it
        self._previous = None  # the handler that was there before; None outside the context

    def remaining(self) -> float | None:
        """Return the seconds until the deadline, negative after it; None without one."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    @property
    def expired(self) -> bool:
        """True if the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    @property
    def requested(self) -> bool:
        """True if it is time to stop, for either reason."""
        return self.interrupted or self.expired

    @contextmanager
    def breaking(self) -> Iterator[None]:
        """Raise StoppedError at the first Ctrl-C within this context, wherever the code is that runs there."""
        self._breaking = True
        try:
            yield
        finally:
            self._breaking = False

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            # Where the handler until now is the method of another Stop, that one is around this one.
            self._previous = signal.signal(signal.SIGINT, self._ask)
            around = getattr(self._previous, "__self__", None)
            if isinstance(around, Stop):
                self.interrupted |= around.interrupted
                self._quiet |= around._quiet
                self._partial = around._partial
                self._around = around
                self._pressed |= around._pressed
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            if self._around is not None:
                self._around.interrupted |= self.interrupted
                self._around._pressed |= self._pressed
            self._previous = None

    def delivered(self, answer: T) -> T:
        """Return the answer; in the outermost context, after Ctrl-C without `partial`, raise Interrupted with it."""
        if self._pressed and self._around is None and not self._partial:
            raise Interrupted(answer)
        return answer

    def _ask(self, signum: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C: note the first one and say so; raise KeyboardInterrupt at the second."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = self._pressed = True
        if not self._quiet:
            # A stream that is closed, or in the middle of a line, is left alone.
            with suppress(AttributeError, RuntimeError, ValueError, OSError):
                print(ASKED if self._partial else RAISING, file=sys.stderr, flush=True)
        if self._breaking:
            raise StoppedError


@contextmanager
def stopping_at_once() -> Iterator[None]:
    """Let the first Ctrl-C raise KeyboardInterrupt within a `Stop`, while there is no answer yet to be kept."""
    asking = isinstance(getattr(signal.getsignal(signal.SIGINT), "__self__", None), Stop)
    if not asking or threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


class StoppedError(Exception):
    """A stage gave up as a stop was asked for; the solve goes on without its result."""


def raise_when(should_stop: Callable[[], bool]) -> Callable[[], None]:
    """Return a function that raises StoppedError once a stop was asked for."""

    def look() -> None:
        if should_stop():
            raise StoppedError

    return look


class Status(StrEnum):
    """End of a solve."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INTERRUPTED = "interrupted"
    TIME_LIMIT = "time limit"
    INFEASIBLE = "infeasible"
    FAILED = "failed"
