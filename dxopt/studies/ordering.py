"""Which mechanism of a comparison refines which, and the best remaps for losses in the worst case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.evaluate import optimal_random_remap
from dxopt.analysis.order.refinement import compared
from dxopt.analysis.order.remaps import RandomRemap
from dxopt.errors import SpecError
from dxopt.model.mechanism import MatrixMechanism, Mechanism
from dxopt.model.objective import WorstLoss
from dxopt.model.problem import Problem
from dxopt.results.order import Refined
from dxopt.runtime.archive import Arrays

Array = NDArray[np.float64]
MOST_CELLS = 1_000_000
"""Refinement is decided up to this n·m², as it is for every pair: 100 secrets with as many reports."""
REMAP_CELLS = 250_000
"""The best remap in the worst case is looked for up to this n²·m."""


def ordered(mechanisms: Mapping[str, Mechanism]) -> dict[Refined, Arrays]:
    """Decide which of some mechanisms refines which, with the remap or the gains that prove it.

    Those that are not written down are left out.
    """
    written = {name: one.matrix for name, one in mechanisms.items() if isinstance(one, MatrixMechanism)}
    found: dict[Refined, Arrays] = {}
    for better, one in written.items():
        for worse, other in written.items():
            if better == worse or one.size * other.shape[1] > MOST_CELLS:
                continue
            answer = compared(one, other)
            refined = Refined(better, worse, answer.holds)
            if answer.holds:
                found[replace(refined, shortfall=answer.high)] = {"remap": answer.remap}
            elif answer.holds is False and answer.witness is not None:
                found[replace(refined, shortfall=answer.low)] = {"gains": answer.witness.gains}
            else:
                found[refined] = {}
    return found


def remap_in_the_worst_case(problem: Problem, mechanism: Mechanism) -> RandomRemap | None:
    """The best remap of a mechanism where the objective is the worst loss; None for others, and where it is large."""
    rows, reports = problem.shape
    if not isinstance(problem.objective, WorstLoss) or not isinstance(mechanism, MatrixMechanism):
        return None
    if rows * rows * reports > REMAP_CELLS:
        return None
    try:
        return optimal_random_remap(mechanism, problem.loss)
    except SpecError:
        return None
