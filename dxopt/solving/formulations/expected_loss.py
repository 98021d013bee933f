"""The prior-specific optimum: least expected loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate
from dxopt.solving.formulations.contract import Compiled
from dxopt.solving.formulations.merging import classes, unscaled
from dxopt.solving.formulations.scaling import unit
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution


class ExpectedLossProgram:
    """Least expected loss over all private channels.

    Poses
        min Σ_x π_x Σ_z K[x, z] l(x, z) over channels K with K[x, z] ≤ e^{εd(x, x')} K[x', z].
    Requires
        Nothing. Points at distance 0, in either direction, must have equal rows and are merged first; so are
        points that only rounding keeps apart.
    Guarantees
        Exact.
    Size
        k·m variables for k classes and m reports, k equalities, one row per ordered pair and report.
    Reference
        CABP13 §4.2, ECP14 §3.4.
    """

    def apply(self, problem: Problem) -> Compiled:
        partition, budgets = classes(problem)
        costs = partition.totals(problem.costs)
        shift = costs.min(axis=1)
        costs = costs - shift[:, None]
        scale = _scale(costs, budgets)
        program = ChannelProgram(costs / scale, budgets)
        return Compiled(program, problem, self, partition, float(shift.sum()), scale, shift)

    def recover(self, compiled: Compiled, solution: ChannelSolution) -> Candidate:
        channel = compiled.channel_of(solution)
        dual = unscaled(solution.dual, compiled, compiled.shift, compiled.problem.costs)
        return Candidate(channel, dual, "exact")


def _scale(costs: NDArray[np.float64], budgets: NDArray[np.float64]) -> float:
    """Estimate the optimum by the loss of the normalised kernel e^{-d} with the best remap, or a constant report."""
    kernel = np.exp(-budgets)
    kernel /= kernel.sum(axis=1, keepdims=True)
    constant = costs.sum(axis=0).min()
    remapped = (costs.T @ kernel).min(axis=0).sum()
    return unit(min(constant, remapped), costs.max())
