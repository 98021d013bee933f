"""Mechanisms of plug-ins: functions of the problem, whose matrices are proven private as they are."""

from __future__ import annotations

from dxopt.errors import SpecError, UnsupportedError
from dxopt.mechanisms.classic.contract import titled
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.own import nearly_private
from dxopt.runtime.plugins import Found, said
from dxopt.solving.attempts import Attempt
from dxopt.solving.routes.closed_form import within_budget


def plugged(problem: Problem, found: Found) -> Attempt:
    """The mechanism that a plug-in makes for a problem, where it is private but for rounding, which is repaired.

    Raises
    ------
    UnsupportedError
        If it makes none, none that fits, or one that is less private than was asked for; the message names the
        package.
    """
    name = found.plugin.name
    if problem.beliefs is not None:
        raise UnsupportedError("method", "knows of no beliefs", "use method: optimal", of=name)
    if not problem.private:
        raise UnsupportedError("method", "needs an epsilon", "use method: optimal", of=name)
    whose = f"of {found.plugin.where}"
    try:
        made = found.call(problem)
    except Exception as error:  # whatever a package of others raises
        reason = error.wrong if isinstance(error, SpecError) else said(error)
        raise UnsupportedError("method", f"{whose} makes none: {reason}", "use method: optimal", of=name) from error
    try:
        matrix = nearly_private(problem, made)
    except SpecError as error:
        wrong = f"{whose}: its {error.field} {error.wrong}"
        raise UnsupportedError("method", wrong, "use method: optimal", of=name) from error
    return within_budget(problem, name, Attempt(Candidate(matrix), titled(name)))
