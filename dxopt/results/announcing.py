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

P = ParamSpec("P")
R = TypeVar("R")

_silent: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def unannounced() -> Iterator[None]:
    """Announce nothing in a context, as within a question, or where warnings are shown in another way."""
    before = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(before)


def announce(problem: object, priors: object = None, *, level: bool = True) -> Warnings:
    """Give the warnings of a problem, and of further priors, to who called the function that calls this one.

    Without `level` nothing is said of the ε of the problem. Anything but a problem, which will be refused, has none.
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
    """Give the warnings of an answer that are of other kinds than those `told` before; return the answer.

    Raises
    ------
    Interrupted
        At Ctrl-C, with the answer, unless a `partial` one is wanted.
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
    """Decorate a function that answers a problem, its first argument: give its warnings, and those of the answer.

    Those of the problem alone come before anything is solved, so that a filter that makes them errors costs no time.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def answering(*args: P.args, **kwargs: P.kwargs) -> R:
            problem = args[0] if args else kwargs.get("problem")
            told = announce(problem, kwargs.get("priors"), level=level)
            with unannounced():
                answer = function(*args, **kwargs)
            return announce_answer(answer, told, partial=bool(kwargs.get("partial")))

        return answering

    return decorate
