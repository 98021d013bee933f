"""An adversary who loses what the user does, or a multiple of it: the largest error is that of the budget.

Where each report is a guess, and costs the adversary a times what it costs the user, he errs by at most a times the
expected loss: he can guess what was reported. So no channel within a budget Q makes him err by more than a Q. Where
each guess is a report as well, that is attained. Remap a private channel within the budget so that each report is the
one that costs least given it; then no guess is better than the report. The same holds of a constant report that costs
least of all, and of any mixture of both, as it does report by report. The one that costs Q is private, and optimal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.model.mechanism import post_processed
from dxopt.model.objective import AdversaryError, ExpectedLoss
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.duals import AdversaryDual
from dxopt.proofs.repair import constant_channel, expected_above, repair
from dxopt.solving.routes.closed_form import ClosedForms

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
_SAME = 1e-13
"""Relative difference of losses that are the same; what it costs is certified."""
_SECONDS = 1.0
"""Seconds that mechanisms in closed form may take."""
_BELOW = 2.0**-44
"""The mixture costs so much less than the budget, relatively, that rounding does not bring it above."""


def guess_of_each_report(problem: Problem) -> tuple[Indices, float] | None:
    """Return the guess that is like each report, `(m,)`, and the scale a by which it costs the adversary more.

    None unless each report has such a guess, and each guess such a report.
    """
    if not isinstance(problem.objective, AdversaryError):
        return None
    likely = problem.prior.probabilities > 0
    losses = problem.losses[likely]
    guesses = problem.objective.guesses[likely]
    largest = float(np.abs(losses).max())
    if not largest > 0:
        return None
    scale = float(np.abs(guesses).max()) / largest
    if not (np.isfinite(scale) and scale > 0):
        return None

    # columns by a fingerprint; those next to each other are compared entry by entry
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(losses))
    wanted = weights @ losses * scale
    there = weights @ guesses
    partners = _nearest(wanted, there)
    reports = _nearest(there, wanted)
    allowed = _SAME * scale * largest
    same = np.abs(guesses[:, partners] - scale * losses).max() <= allowed
    alike = np.abs(scale * losses[:, reports] - guesses).max() <= allowed
    return (partners, scale) if same and alike else None


def _nearest(wanted: Array, there: Array) -> Indices:
    """Return the position of the nearest number in an array `(k,)` to each of some others."""
    order = np.argsort(there, kind="stable")
    ordered = there[order]
    above = np.clip(np.searchsorted(ordered, wanted), 0, len(there) - 1)
    below = np.maximum(above - 1, 0)
    closer = np.abs(ordered[below] - wanted) < np.abs(ordered[above] - wanted)
    return order[np.where(closer, below, above)]


def simple_within_budget(problem: Problem) -> Array | None:
    """Return the best private channel that needs no solver, where that is within the budget; None where it is not."""
    if not problem.private:
        return None
    without = problem.but(objective=ExpectedLoss(), delta=0.0)
    # where e^{-εd} is no double, one of no loss may not be private
    known = repair(without, ClosedForms(without).best(_SECONDS).channel)
    return known if expected_above(problem, known) <= problem.objective.max_loss else None


def by_matching_guesses(problem: Problem, within: Array, partners: Indices, scale: float) -> Candidate:
    """Find the optimum, from any private channel `(n, m)` within a budget below what the constant report costs.

    The partner of each report is the guess like it; the scale is what a loss of the user's costs the adversary.
    """
    # 1. a channel whose reports are the best guesses, and the constant one, for what is left of the budget
    remapped = post_processed(within, (problem.costs.T @ within).argmin(axis=0), problem.shape[1])
    constant = constant_channel(problem.costs)
    least = expected_above(problem, remapped)
    most = expected_above(problem, constant)
    budget = problem.objective.max_loss
    share = max(0.0, (budget - least) / (most - least) - _BELOW) if most > least else 1.0
    mixture = (1 - share) * remapped + share * constant

    # 2. an adversary who guesses the report proves that it is optimal
    count = problem.objective.guesses.shape[1] if isinstance(problem.objective, AdversaryError) else 0
    guesses = np.zeros((problem.shape[1], count))
    guesses[np.arange(len(partners)), partners] = 1.0
    route = "mixture within the budget, as guesses cost what reports do"
    return Candidate(mixture, AdversaryDual(guesses, scale), "exact", route, within_budget=remapped)
