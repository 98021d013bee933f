"""Plausibility warnings as Python warnings: once for each question that a user asks, whatever is solved for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from dxopt.errors import Interrupted
from dxopt.model.plausibility import Warnings, every_kind, of_priors, of_problem
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.numerics.coerce import as_flag

P = ParamSpec("P")
R = TypeVar("R")

_silent: ContextVar[bool] = ContextVar("silent", default=False)
"""True inside a question that is already announced: nested calls announce nothing."""


@contextmanager
def unannounced() -> Iterator[None]:
    """Silence all warnings of this module in a context: inside a question that has issued them, or in a batch."""
    before = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(before)


def announce(problem: object, priors: object = None, *, level: bool = True) -> Warnings:
    """Issue Python warnings for a problem and for further priors; return them, for `announce_answer`.

    They point at the line that called the caller of this function. `level=False` skips warnings about ε. Arguments of
    wrong types cause no warning: the function that takes them refuses them with a better message.
    """
    if _silent.get():
        return ()
    asked = of_problem(problem, level=level) if isinstance(problem, Problem) else ()
    others = priors.values() if isinstance(priors, Mapping) else ()
    found = every_kind(asked, of_priors(prior for prior in others if isinstance(prior, Prior)))
    for warning in found:
        warnings.warn(warning, stacklevel=3)
    return found


def announce_answer(answer: R, told: Warnings, *, partial: bool = False) -> R:
    """Issue the warnings of an answer whose kinds are not among those of `told`, issued before; return the answer.

    Raises
    ------
    Interrupted
        At Ctrl-C while the warnings are found, with the answer; with `partial`, the answer is returned instead.
    """
    if _silent.get():
        return answer
    try:
        found: Warnings = getattr(answer, "warnings", ())
    except KeyboardInterrupt:
        if partial:
            return answer
        raise Interrupted(answer) from None
    kinds = {one.kind for one in told}
    for warning in found:
        if warning.kind not in kinds:
            warnings.warn(warning, stacklevel=3)
    return answer


def announcing(*, level: bool = True) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that issues Python warnings for a problem before the call, and for its answer afterwards.

    The problem is the first argument, or the keyword `problem`. A keyword `priors` (name to prior) is looked at as
    well, and a keyword `partial` goes to `announce_answer`. Afterwards only kinds that are new are issued, and nested
    calls issue none. Warnings come before anything is solved, so that a filter that makes them errors costs no time.
    `level=False` skips warnings about ε, for functions that go through other levels.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def answering(*args: P.args, **kwargs: P.kwargs) -> R:
            problem = args[0] if args else kwargs.get("problem")
            told = announce(problem, kwargs.get("priors"), level=level)
            partial = as_flag(kwargs.get("partial", False), "partial")
            with unannounced():
                answer = function(*args, **kwargs)
            return announce_answer(answer, told, partial=partial)

        return answering

    return decorate
