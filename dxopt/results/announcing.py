"""Plausibility warnings as Python warnings: once for each question that a user asks, whatever is solved for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from dxopt.errors import Interrupted, PlausibilityWarning
from dxopt.model.plausibility import Warnings, every_kind, of_priors, of_problem
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem

P = ParamSpec("P")
R = TypeVar("R")

_silent: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def unannounced() -> Iterator[None]:
    """A context in which nothing is announced, as within a question, or where warnings are shown in another way."""
    before = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(before)


def announcing(*, level: bool = True) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator of functions that answer a problem, their first argument: its warnings, and those of the answer.

    Those of the problem alone come before anything is solved, so that a filter that makes them errors costs no time.
    Without `level` nothing is said of the ε of the problem, as where the function does not take it.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def answering(*args: P.args, **kwargs: P.kwargs) -> R:
            if _silent.get():
                return function(*args, **kwargs)
            told = every_kind(
                _asked(args[0] if args else kwargs.get("problem"), level), _others(kwargs.get("priors"))
            )
            for warning in told:
                warnings.warn(warning, stacklevel=2)
            with unannounced():
                answer = function(*args, **kwargs)
            try:
                found: tuple[PlausibilityWarning, ...] = getattr(answer, "warnings", ())
            except KeyboardInterrupt:
                if kwargs.get("partial"):
                    return answer
                raise Interrupted(answer) from None
            for warning in found:
                if warning.kind not in {one.kind for one in told}:
                    warnings.warn(warning, stacklevel=2)
            return answer

        return answering

    return decorate


def _asked(problem: object, level: bool) -> Warnings:
    """The warnings of what should be a problem; none where the function will refuse it."""
    return of_problem(problem, level=level) if isinstance(problem, Problem) else ()


def _others(priors: object) -> Warnings:
    """The warnings of further priors, where a question is about some."""
    given = priors.values() if isinstance(priors, Mapping) else ()
    return of_priors(prior for prior in given if isinstance(prior, Prior))
