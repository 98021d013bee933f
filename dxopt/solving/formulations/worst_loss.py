"""The least loss in the worst case."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate, Claim
from dxopt.proofs.duals import WorstDual
from dxopt.solving.formulations.contract import Compiled
from dxopt.solving.formulations.merging import classes, unscaled
from dxopt.solving.formulations.scaling import unit
from dxopt.solving.programs.coupling import WorstRows
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution


class WorstLossProgram:
    """Least worst loss over all private channels.

    Poses
        min t over channels K with K[x, z] ≤ e^{εd(x, x')} K[x', z] and Σ_z K[x, z] l(x, z) ≤ t for every x.
    Requires
        The objective `worst_loss`. Points at distance 0 are merged, but each keeps its own losses.
    Guarantees
        Exact. The multipliers of the n new rows are a prior under which no private channel loses less than t.
    Size
        k·m + 1 variables for k classes and m reports, k equalities, one row per secret, and those of privacy.
    Reference
        CABP13 §4.2 (risk-averse users), HLM14 eq 13.
    """

    name: ClassVar[str] = "worst loss"
    claim: ClassVar[Claim] = "exact"

    def refuses(self, problem: Problem) -> str | None:
        return None if problem.objective.name == "worst_loss" else "is about the worst loss"

    def compile(self, problem: Problem) -> Compiled:
        partition, budgets = classes(problem)
        least = float(problem.losses.min())
        losses = problem.losses - least
        scale = _scale(losses, problem)
        rows = WorstRows(losses / scale, partition.index)
        nothing = np.zeros((partition.size, problem.shape[1]))
        program = ChannelProgram(nothing, budgets, coupling=rows, offset=least / scale)
        return Compiled(program, problem, partition, least, scale, np.zeros(partition.size))

    def recover(self, compiled: Compiled, solution: ChannelSolution) -> Candidate:
        channel = compiled.channel_of(solution)
        if solution.coupled is None:
            return Candidate(channel, None, self.claim)
        weights = np.maximum(solution.coupled[: compiled.problem.shape[0]], 0.0)
        if not weights.sum() > 0:
            return Candidate(channel, None, self.claim)
        shift = compiled.partition.totals(weights[:, None] * compiled.offset)[:, 0]
        with np.errstate(over="ignore"):
            costs = weights[:, None] * compiled.problem.losses
        inner = unscaled(solution.dual, compiled, shift, costs)
        return Candidate(channel, WorstDual(weights, inner), self.claim)


def _scale(losses: np.ndarray, problem: Problem) -> float:
    """About the optimum: the worst loss of the normalised kernel e^{-d/2}, remapped, or of a constant report."""
    kernel = np.exp(-problem.budgets / 2)
    kernel /= kernel.sum(axis=1, keepdims=True)
    best = (losses.T @ kernel).argmin(axis=0)
    remapped = (kernel * losses[:, best]).sum(axis=1).max()
    return unit(min(losses.max(axis=0).min(), remapped), losses.max())
