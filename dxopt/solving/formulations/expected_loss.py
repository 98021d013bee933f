"""Formulations of expected loss, loss in the worst case, and worst expected loss over priors."""

from __future__ import annotations

import numpy as np

from dxopt.model.objective import WorstRegret
from dxopt.model.prior_sets import Everyone, PriorSet
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.duals import WorstDual
from dxopt.solving.formulations.base import Compiled, classes_of_points, cost_unit, dual_of_problem
from dxopt.solving.programs.coupling import WorstRows
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
        """Pose the problem: costs of classes, less the cheapest report of each, scaled to an optimum of about 1."""
        partition, budgets = classes_of_points(problem)
        costs = partition.totals(problem.costs)
        shift = costs.min(axis=1)
        costs = costs - shift[:, None]
        # the optimum is about the loss of the normalised kernel e^{-d} with the best remap, or of a constant report
        kernel = np.exp(-budgets)
        kernel /= kernel.sum(axis=1, keepdims=True)
        remapped = (costs.T @ kernel).min(axis=0).sum()
        scale = cost_unit(min(costs.sum(axis=0).min(), remapped), costs.max())
        offset = float(shift.sum())
        program = ChannelProgram(costs / scale, budgets, offset=offset / scale)
        return Compiled(program, problem, self, partition, offset, scale, shift)

    def recover(self, compiled: Compiled, solution: ChannelSolution) -> Candidate:
        """Return the channel of the points, and the dual of the program without its scale and shift."""
        channel = compiled.channel_of(solution)
        dual = dual_of_problem(solution.dual, compiled, compiled.shift, compiled.problem.costs)
        return Candidate(channel, dual, "exact")


class WorstLossProgram:
    """Least worst loss over all private channels: of single secrets, or expected under any prior of a set.

    Poses
        min Σ_g mass_g t_g + Σ_i cap_i a_i over channels K with K[x, z] ≤ e^{εd(x, x')} K[x', z], and t, a ≥ 0 with
        t_g + a_i ≥ Σ_x F[i, x] Σ_z K[x, z] (l(x, z) - min l) for every form i of group g of the set (see
        `numerics.prior_polytope`). For the worst loss the forms are the secrets, and t is at least the loss of each.
        For the regret, what is known of the optimum for each prior is taken off its form.
    Requires
        The objective `worst_loss`, `worst_expected_loss` or `regret`. Points at distance 0 are merged, but each keeps
        its own losses.
    Guarantees
        Exact. The multipliers of the new rows give a prior of the set under which no private channel loses less.
    Size
        k·m variables for k classes and m reports, one for each group and cap, k equalities, one row per form, and
        those of privacy.
    Reference
        CABP13 §4.2 (risk-averse users), HLM14 eq 13.
    """

    def apply(self, problem: Problem) -> Compiled:
        """Pose the problem: no costs but those of the coupling's rows, of losses shifted to 0 or more and scaled."""
        partition, budgets = classes_of_points(problem)
        among = _among(problem)
        counted = np.where(among.reach[:, None], problem.losses, np.inf)
        least = float(counted.min())  # only secrets that some prior of the set has count
        losses = np.where(among.reach[:, None], problem.losses - least, 0.0)
        scale = _scale(losses, problem)
        nothing = np.zeros((partition.size, problem.shape[1]))
        given: np.ndarray | None = None  # for a regret: the optimum under each prior, shifted and scaled like losses
        offset = least
        if isinstance(problem.objective, WorstRegret) and problem.objective.lowest is not None:
            given = (problem.objective.lowest - least * problem.objective.priors.members.sum(axis=1)) / scale
            offset = 0.0
        rows = WorstRows(losses / scale, partition.index, among.mixtures, given=given)
        program = ChannelProgram(nothing, budgets, coupling=rows, offset=offset / scale)
        return Compiled(program, problem, self, partition, offset, scale, np.zeros(partition.size))

    def recover(self, compiled: Compiled, solution: ChannelSolution) -> Candidate:
        """Return the channel; its dual is the prior that the multipliers give, and one for its expected loss."""
        channel = compiled.channel_of(solution)
        if solution.coupled is None:
            return Candidate(channel, None, "exact")
        mixtures = _among(compiled.problem).mixtures
        weights = np.maximum(solution.coupled[: mixtures.rows], 0.0)
        if not weights.sum() > 0:
            return Candidate(channel, None, "exact")
        weights = mixtures.tidied(weights)
        prior = mixtures.prior(weights)
        counted = np.where(mixtures.reach[:, None], compiled.problem.losses, 0.0)
        shift = compiled.partition.totals(prior[:, None] * counted[mixtures.reach].min())[:, 0]
        with np.errstate(over="ignore"):
            costs = prior[:, None] * counted
        inner = dual_of_problem(solution.dual, compiled, shift, costs)
        return Candidate(channel, WorstDual(weights, inner), "exact")


def _among(problem: Problem) -> PriorSet:
    """Return the priors of which the worst counts."""
    return problem.objective.among(problem.shape[0]) or Everyone(problem.shape[0])


def _scale(losses: np.ndarray, problem: Problem) -> float:
    """Estimate the optimum by the loss of the normalised kernel e^{-d/2}, remapped, or of a constant report."""
    among = _among(problem)
    kernel = np.exp(-problem.budgets / 2)
    kernel /= kernel.sum(axis=1, keepdims=True)
    best = (losses.T @ kernel).argmin(axis=0)
    remapped = among.largest((kernel * losses[:, best]).sum(axis=1))
    constant = among.largest(losses[:, int(losses.max(axis=0).argmin())])
    return cost_unit(min(constant, remapped), losses.max())
