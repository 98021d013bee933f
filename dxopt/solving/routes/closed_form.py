"""Mechanisms that need no solver: by name, and the best of some with their optimal remap."""

from __future__ import annotations

import math
from contextlib import suppress

from dxopt.errors import NoTightMechanism, UnsupportedError
from dxopt.mechanisms.classic.contract import CLASSICS, title
from dxopt.mechanisms.classic.exponential import Exponential
from dxopt.mechanisms.tight import Tight, tight_candidate
from dxopt.model.mechanism import Mechanism, post_processed
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate, Claim
from dxopt.proofs.repair import constant_channel, expected_above, repair
from dxopt.solving.attempts import Attempt, Options, Refusal
from dxopt.solving.routes.limits import is_written


def tight_if_exact(problem: Problem, options: Options) -> Candidate | Refusal:
    """The tight-constraints mechanism where it is optimal, or why it is not taken."""
    reason = _why_not_exact(problem, options)
    if reason is not None:
        return Refusal("tight", reason)
    try:
        candidate = tight_candidate(problem, diagnose=False)
    except NoTightMechanism as error:
        return Refusal("tight", error.wrong)
    if candidate.claim == "exact":
        return candidate
    return Refusal("tight", "the prior is not regular, so it need not be optimal")


def _why_not_exact(problem: Problem, options: Options) -> str | None:
    if options.spanner is not None:
        return "not proven optimal where a spanner is asked for"
    if not problem.loss.is_binary:
        return f"proven optimal for binary loss only, not for {problem.loss.name}"
    reason = Tight().refuses(problem)
    if reason is None and not is_written(problem):
        return "not written down for so many points; dx.tight_constraints makes it without a matrix"
    return reason


def classic(problem: Problem, name: str) -> Attempt:
    """A mechanism of `dx.classic` as it is, implicit where the channel is large.

    Raises
    ------
    UnsupportedError
        If it does not exist for the problem, or its expected loss is above the budget of the objective.
    """
    mechanism = CLASSICS.get(name)()
    reason = mechanism.refuses(problem) if problem.private else "needs an epsilon"
    if reason:
        raise UnsupportedError("method", f"{name} {reason}", "use method: optimal")
    implicit = None
    if problem.why_coupled is None and not is_written(problem):
        implicit = mechanism.implicit(problem)
    if implicit is not None:
        return Attempt(Candidate(implicit), title(mechanism))
    channel = mechanism.channel(problem)
    budget = problem.objective.max_loss
    if math.isfinite(budget):
        loss = expected_above(problem, repair(problem, channel))
        if loss > budget:
            wrong = f"{name} has an expected loss of {loss:.7g}, above the budget of {budget:.10g}"
            raise UnsupportedError("method", wrong, "raise max_loss, or use method: optimal")
    return Attempt(Candidate(channel), title(mechanism))


def best_closed_form(problem: Problem, claim: Claim) -> Attempt:
    """The best mechanism that needs no solver, each with its optimal remap."""
    channels = {"constant report": constant_channel(problem.costs)}
    if Exponential().refuses(problem) is None:
        channels["exponential mechanism with optimal remap"] = Exponential().channel(problem)
    if Tight().refuses(problem) is None:
        with suppress(NoTightMechanism):
            tight = tight_candidate(problem, diagnose=False).channel
            if not isinstance(tight, Mechanism):
                channels["tight-constraints mechanism with optimal remap"] = tight
    remapped = {
        name: post_processed(channel, (problem.costs.T @ channel).argmin(axis=0), problem.shape[1])
        for name, channel in channels.items()
    }
    sign = problem.objective.sign
    name = min(remapped, key=lambda name: sign * problem.objective.value(problem, remapped[name]))
    return Attempt(Candidate(remapped[name], claim=claim), name)
