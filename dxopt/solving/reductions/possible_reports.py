"""Leave out reports of infinite loss: finite losses, of fewer reports. Exact: no channel of finite loss makes these.

Privacy does not join secrets of different groups, and what is wanted looks at the losses of each secret alone, not at
which report they are of. So in each group reports are numbered anew, without those that are left out; where other
groups have more, its first one is listed again. (Where a report matters for several groups at once, these are one.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dxopt.model.loss import Loss, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.problem import Problem
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.duals import AdversaryDual, BeliefDual, Dual, WorstDual
from dxopt.results.report import Report
from dxopt.solving.reductions.chain import Reduced

NOTE = "losses are infinite by the others"


def without_impossible(whole: Problem) -> Reduced[Problem]:
    """Return the problem of the reports that may be made, whose solution is an optimum of the whole."""
    mask = whole.impossible
    assert mask is not None
    counts = np.count_nonzero(~mask, axis=1)
    width = int(counts.max())
    # for each secret the reports that may be made, in order, then the first of them again: `(n, width)`
    place = np.argsort(mask, axis=1, kind="stable")[:, :width]
    place = np.where(np.arange(width) < counts[:, None], place, place[:, :1])
    reports = Reports(tuple(map(str, range(width))))
    losses = np.take_along_axis(whole.losses, place, axis=1)
    loss = Loss(losses, reports, whole.loss.name, unit=whole.loss.unit)
    smaller = whole.but(loss=loss, objective=whole.objective)
    before = whole.variables
    record = AppliedReduction("possible reports", True, before, int(counts.sum()), NOTE, "variables")

    def lift(found: Report) -> Candidate:
        """Return the channel of the whole, with probabilities of 0 for what is left out, and its dual."""
        channel = np.zeros(whole.shape)
        np.add.at(channel, (np.arange(len(place))[:, None], place), found.mechanism.matrix)
        name = found.mechanism.name
        # what is proven of ratios is as true of the same numbers at other places, but not of roundings of their sums
        same = counts.min() == width and not whole.delta
        made = Mechanism.from_matrix(whole.space, channel, whole.reports, name=name) if same else channel
        records = (record, *found.reductions)
        return Candidate(made, lifted(found.dual), found.claim, found.route, records, name)

    def lifted(dual: Any) -> Any:
        if isinstance(dual, Dual):
            there = dual.report < counts[dual.first]
            report, first, second, multiplier = (entry[there] for entry in dual.entries)
            return Dual(dual.prices, place[first, report], first, second, multiplier)
        if not isinstance(dual, WorstDual | AdversaryDual | BeliefDual):
            return None
        dual = replace(dual, inner=lifted(dual.inner))
        if isinstance(dual, BeliefDual):
            return replace(dual, report=place[0, dual.report])
        if isinstance(dual, AdversaryDual):
            guesses = np.ones((whole.shape[1], dual.guesses.shape[1]))
            guesses[place[0]] = dual.guesses
            return replace(dual, guesses=guesses)
        return dual

    return Reduced(smaller, lift, (record,))
