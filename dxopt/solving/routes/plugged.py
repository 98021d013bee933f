"""Mechanisms of plug-ins: functions of the problem, whose matrices are proven private as they are."""

from __future__ import annotations

from dxopt.errors import MethodRefused, SpecError
from dxopt.mechanisms.classic.contract import titled
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.own import proven_but_for_rounding
from dxopt.runtime.plugins import Found, said
from dxopt.solving.routes.closed_form import within_budget


def plugged(problem: Problem, found: Found) -> Candidate:
    """Make the mechanism of a plug-in for a problem, private but for rounding, which is repaired.

    Raises
    ------
    UnsupportedError
        If it makes none, none that fits, or one that is less private than was asked for; the message names the
        package.
    """
    name = found.plugin.name
    if problem.beliefs is not None:
        raise MethodRefused(name, "knows of no beliefs")
    if not problem.private:
        raise MethodRefused(name, "needs an epsilon")
    whose = f"of {found.plugin.where}"
    try:
        made = found.call(problem)
    except Exception as error:  # whatever a package of others raises
        reason = error.wrong if isinstance(error, SpecError) else said(error)
        raise MethodRefused(name, f"{whose} makes none: {reason}") from error
    try:
        mechanism = proven_but_for_rounding(problem, made)
    except SpecError as error:
        raise MethodRefused(name, f"{whose}: its {error.field} {error.wrong}") from error
    return within_budget(problem, name, Candidate(mechanism.matrix, route=titled(name)))
