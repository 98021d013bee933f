"""All priors that fit given totals: the worst of some of them, and more until none of the others is worse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dxopt.errors import SolveError
from dxopt.model.moment_sets import Fitting
from dxopt.model.objective import losses_of
from dxopt.model.prior_sets import Hull
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import gap
from dxopt.proofs.duals import WorstDual
from dxopt.solving.options import Options

_MOST_ROUNDS = 200
_SPARE = 0.95
"""The share of the tolerance at which the rounds end; the answers of the rounds have 0.9 of it."""


def by_members(problem: Problem, priors: Fitting, options: Options) -> Iterator[Candidate]:
    """Find the optimum over the hull of some priors of the set, to which the worst one for it joins, in rounds.

    The hull is within the set, so that its bound is one for the set as well; and the value of the channel is its loss
    under the worst prior of the set.
    """
    members = np.unique([one for one in priors.members() if priors.has(one)] or [priors.centre], axis=0)
    channel, value = None, np.inf
    dual, bound = None, -np.inf
    for rounds in range(1, _MOST_ROUNDS + 1):
        # 1. the best channel for these priors, and the best bound so far
        names = tuple(f"member {which}" for which in range(len(members)))
        try:
            answer = options.part(problem.but(prior=Hull(members, names)), f"round {rounds}, {len(members)} priors: ")
        except SolveError:
            break
        found = np.asarray(answer.mechanism.matrix)
        if answer.certificate.bound > bound and isinstance(answer.dual, WorstDual):
            bound = answer.certificate.bound
            dual = replace(answer.dual, members=members)

        # 2. the worst prior of the set for it
        losses = losses_of(problem, found, priors.reach)
        worst = priors.largest(losses)
        if worst < value:
            channel, value = found, worst
        if gap(value, bound) <= _SPARE * options.tolerance or options.stop.requested:
            break

        # 3. it joins, unless rounding puts it outside, or it is there
        joined = priors.worst(losses)
        if not priors.has(joined) or (np.abs(members - joined).sum(axis=1) == 0).any():
            break
        members = np.vstack([members, joined])
    if channel is None:
        options.refused["rounds"] = "stopped before the first channel was found"
        return
    yield Candidate(channel, dual, "exact", f"linear programs over {len(members)} priors of the set")
