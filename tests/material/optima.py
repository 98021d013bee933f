"""The optimum of any small problem, by the dense linear program."""

from __future__ import annotations

import numpy as np

import dxopt as dx
from dxopt.numerics.hockey_stick import bound_pairs
from tests.judges.oracle_objectives import best


def optimum(problem: dx.Problem) -> float:
    """The least loss, or the largest error, of all channels that the problem allows."""
    objective = problem.objective
    return best(
        np.array(problem.losses),
        budgets=np.array(problem.budgets),
        prior=problem.prior.probabilities,
        objective=objective.name,
        guesses=objective.guesses if isinstance(objective, dx.AdversaryError) else None,
        max_loss=objective.max_loss,
        delta=problem.delta,
        bound=bound_pairs(problem.separations, problem.pairs) if problem.delta else None,
    )
