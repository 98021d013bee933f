"""The largest error of an adversary that a loss budget allows."""

from __future__ import annotations

import numpy as np

from dxopt.errors import SolveError
from dxopt.model.objective import AdversaryError
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.duals import AdversaryDual
from dxopt.solving.formulations.base import Compiled, classes_of_points, cost_unit, dual_of_problem
from dxopt.solving.programs.coupling import GuessRows
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution


class AdversaryErrorProgram:
    """Largest error of a Bayesian adversary over all channels within a loss budget, private or not.

    Poses
        max Σ_z y_z over channels K with y_z ≤ Σ_x π_x K[x, z] d(x, g) for every guess g,
        Σ_x π_x Σ_z K[x, z] l(x, z) ≤ Q, and K[x, z] ≤ e^{εd(x, x')} K[x', z] where privacy is asked for.
    Requires
        The objective `AdversaryError`, and a budget that some such channel meets.
    Guarantees
        Exact. The multipliers are the adversary's best guesses, mixed, and the price of a unit of loss.
    Size
        k·m + m variables for k classes and m reports, k equalities, m rows per guess, one, and those of privacy.
    Reference
        Cha13 (Shokri et al. 2012).
    """

    def apply(self, problem: Problem) -> Compiled:
        """Pose the problem as a minimum over t, with losses in units of the budget, and wins scaled."""
        # An adversary minimises his error; what a guess wins against the worst guess is 0 or more, so that the
        # program minimises Σ_z t_z, t_z no less than what any guess wins in report z; the error is `most` less that.
        guessed = _guesses(problem)
        prior = problem.prior.probabilities
        worst = guessed.max(axis=1)
        most = float(prior @ worst)
        partition, budgets = classes_of_points(problem)
        won = partition.totals(prior[:, None] * (worst[:, None] - guessed))
        unit = _loss_unit(problem)
        scale = float(won.sum(axis=0).max()) or 1.0  # 0 where all guesses are as good
        paid = partition.totals(problem.costs) / unit
        rows = GuessRows(won / scale, paid, problem.objective.max_loss / unit)
        program = ChannelProgram(np.zeros(paid.shape), budgets, coupling=rows, offset=-most / scale)
        return Compiled(program, problem, self, partition, most, scale, np.zeros(partition.size))

    def recover(self, compiled: Compiled, solution: ChannelSolution) -> Candidate:
        """Return the channel; its dual is the adversary's mixed guesses and the price of loss, if known."""
        channel = compiled.channel_of(solution)
        if solution.coupled is None:
            return Candidate(channel, None, "exact")
        problem = compiled.problem
        guessed = _guesses(problem)
        m, count = problem.shape[1], guessed.shape[1]
        # 1. the multipliers of a report's rows, scaled to sum to 1, are how the adversary mixes his guesses after it
        guesses = np.maximum(solution.coupled[: m * count].reshape(m, count), 0.0)
        guesses[guesses.sum(axis=1) <= 0] = 1.0  # without multipliers, any mixture proves some bound
        guesses /= guesses.sum(axis=1, keepdims=True)
        # 2. the multiplier of the budget is the price of a unit of loss; price and guesses make an expected loss,
        #    whose bound the row prices prove; one beyond the largest double proves nothing
        price = max(float(solution.coupled[m * count]), 0.0) * compiled.scale / _loss_unit(problem)
        if not np.isfinite(price):
            return Candidate(channel, None, "exact")
        costs = price * problem.costs - problem.prior.probabilities[:, None] * (guessed @ guesses.T)
        worst = problem.prior.probabilities * guessed.max(axis=1)
        shift = -compiled.partition.totals(worst[:, None])[:, 0]
        inner = dual_of_problem(solution.dual, compiled, shift, costs)
        return Candidate(channel, AdversaryDual(guesses, price, inner), "exact")


def _guesses(problem: Problem) -> np.ndarray:
    """Return what each guess costs the adversary in each secret, `(n, g)`."""
    if not isinstance(problem.objective, AdversaryError):
        raise SolveError(f"the objective is {problem.objective.name}, not adversary_error")
    return problem.objective.guesses


def _loss_unit(problem: Problem) -> float:
    """Return the unit of losses: the size of the budget, unless it is next to nothing beside them."""
    return cost_unit(abs(problem.objective.max_loss), float(np.abs(problem.costs).max()))
