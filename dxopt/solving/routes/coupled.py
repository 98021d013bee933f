"""Other objectives and δ: programs whose columns are coupled by more than their sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SolveError, SpecError, UnsupportedError
from dxopt.model.moment_sets import Fitting
from dxopt.model.objective import AdversaryError, ExpectedLoss, losses_of
from dxopt.model.prior_sets import Hull
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import ordered_texts
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import gap
from dxopt.proofs.duals import WorstDual
from dxopt.proofs.repair import constant_channel, expected_above
from dxopt.solving.formulations.adversary_error import AdversaryErrorProgram
from dxopt.solving.formulations.base import Compiled, Formulation
from dxopt.solving.formulations.expected_loss import ExpectedLossProgram, WorstLossProgram
from dxopt.solving.formulations.extensions import WithBeliefs
from dxopt.solving.options import Options
from dxopt.solving.programs.program import ChannelSolution
from dxopt.solving.routes import limits
from dxopt.solving.routes.closed_form import ClosedForms
from dxopt.solving.routes.delta_rounds import has_many_entries, solve_with_delta
from dxopt.solving.routes.limits import COLUMNS, GENERAL, GENERAL_LIMIT, require_few, require_few_beliefs
from dxopt.solving.routes.matching_guesses import by_matching_guesses, guess_of_each_report, simple_within_budget
from dxopt.solving.routes.running import candidates_of, solve_program

FORMULATIONS: dict[str, type[Formulation]] = {
    "expected_loss": ExpectedLossProgram,
    "worst_loss": WorstLossProgram,
    "worst_expected_loss": WorstLossProgram,
    "regret": WorstLossProgram,
    "adversary_error": AdversaryErrorProgram,
}
_MOST_ROUNDS = 200
_SPARE = 0.95
"""The share of the tolerance at which rounds over sets of priors end; their answers have 0.9 of it."""


def by_coupled_program(problem: Problem, options: Options) -> Iterator[Candidate]:
    """Find the optimum by each of some solvers, after what a loss budget or δ gives; then the best closed form."""
    names = solvers_of_coupled(problem, options)
    require_few(max(problem.variables, problem.shape[0] ** 2), GENERAL_LIMIT)
    require_few_beliefs(problem)
    if isinstance(problem.priors, Fitting):
        yield from by_members(problem, problem.priors, options)
        yield ClosedForms(problem).candidate("exact")
        return
    matched = guess_of_each_report(problem)
    within_budget = None if matched is None else simple_within_budget(problem)
    if within_budget is None:
        within_budget = channel_within_budget(problem, options)
    if within_budget is not None:
        constant = constant_channel(problem.costs)
        if expected_above(problem, constant) <= problem.objective.max_loss:  # it tells an adversary nothing
            yield Candidate(constant, claim="exact", route="constant report, which the budget allows")
        else:
            if matched is not None:
                yield by_matching_guesses(problem, within_budget, *matched)
            yield Candidate(within_budget, claim="exact", route="least expected loss")
    # a channel that is private without δ, from which the rounds of the programs with δ look for entries
    private: NDArray[np.float64] | None = None
    if problem.delta and has_many_entries(problem):
        without_delta = _without_delta(problem, within_budget, options)
        private = np.asarray(without_delta.channel)
        yield without_delta
    for name in names:
        options.progress("building the linear program")
        compiled, solution = _solve_coupled(problem, name, private, options)
        for candidate in candidates_of(compiled, solution, name, options):
            yield replace(candidate, within_budget=within_budget)
        if problem.delta and private is None and name == names[0] and not options.stop.requested:
            yield _without_delta(problem, within_budget, options)
        if name == names[0]:
            yield ClosedForms(problem, within_budget).candidate("exact")
        if options.stop.requested:
            return


def channel_within_budget(problem: Problem, options: Options) -> NDArray[np.float64] | None:
    """Return the channel of least expected loss where that has a budget, or None where it has none.

    SpecError tells where not even that channel is within the budget, SolveError where it was stopped before.
    """
    budget = problem.objective.max_loss
    if not np.isfinite(budget):
        return None
    if problem.private:
        known = options.part(problem.but(objective=ExpectedLoss()), "least loss: ")
        channel = known.mechanism.matrix
        least = known.certificate.bound
    else:  # nothing binds: each secret gets its cheapest report
        channel = np.zeros(problem.shape)
        channel[np.arange(len(channel)), problem.costs.argmin(axis=1)] = 1.0
        least = float(problem.costs.min(axis=1).sum())
    loss = expected_above(problem, channel)
    if loss <= budget:
        return np.asarray(channel)
    if least > budget:
        wrong = "is {}, below {}, the least that such a channel loses".format(*ordered_texts(budget, least))
    elif options.stop.requested:
        raise SolveError("stopped before a channel within the loss budget was found")
    else:
        wrong = "is {}, below {}, the least known that such a channel loses".format(*ordered_texts(budget, loss))
    raise SpecError("max_loss", wrong, "raise it")


def _without_delta(problem: Problem, within_budget: NDArray[np.float64] | None, options: Options) -> Candidate:
    """Return the optimum for δ = 0, private for any δ: nearly the best where solvers cannot tell δ from 0.

    Without δ no channel may be within a budget: then it is the one of least loss.
    """
    objective = problem.objective if within_budget is None else ExpectedLoss()
    known = options.part(problem.but(delta=0.0, objective=objective), "without delta: ")
    channel = np.asarray(known.mechanism.matrix)
    return Candidate(channel, claim="exact", route=f"without delta: {known.route}", within_budget=within_budget)


def _solve_coupled(
    problem: Problem, solver: str, private: NDArray[np.float64] | None, options: Options
) -> tuple[Compiled, ChannelSolution]:
    """Pose the problem and solve it by a solver, in rounds where it has δ; `private` is as in `solve_with_delta`."""
    formulation = FORMULATIONS[problem.objective.name]()
    if problem.delta:
        return solve_with_delta(problem, formulation, solver, private, options)
    compiled = (formulation if problem.beliefs is None else WithBeliefs(formulation)).apply(problem)
    return compiled, solve_program(compiled, solver, options)


def solvers_of_coupled(problem: Problem, options: Options) -> tuple[str, ...]:
    """Return the solvers for other objectives and δ in the order in which they are tried (reasons: `limits`)."""
    if options.spanner is not None:
        raise UnsupportedError("spanner", f"does not go with this problem: {problem.why_coupled}", "take all pairs")
    in_cone = problem.private and not problem.delta and problem.beliefs is None
    if options.solver == COLUMNS and not in_cone:
        raise UnsupportedError("solver", f"columns does not apply, as {problem.why_coupled}", "use solver: clarabel")
    if options.solver != "auto":
        return (options.solver,)
    objective = problem.objective
    enough = limits.GUESSES_FROM if isinstance(objective, AdversaryError) else limits.COLUMNS_FROM
    if not in_cone or problem.variables < enough:
        return GENERAL
    if problem.variables > limits.GENERAL_TO:
        return (COLUMNS,)
    if isinstance(objective, AdversaryError):
        # where each guess wins in few secrets, as where he has to be right, nearly all of them may be the best one
        # after a report, and each is a sparse row of a linear program
        wins = np.count_nonzero(objective.guesses < objective.guesses.max(axis=1, keepdims=True))
        if wins <= limits.WINS_TO * objective.guesses.shape[1]:
            return (GENERAL[0], COLUMNS, *GENERAL[1:])
    return (COLUMNS, *GENERAL)


def by_members(problem: Problem, priors: Fitting, options: Options) -> Iterator[Candidate]:
    """Find the optimum over the hull of some priors of the set, in rounds: the worst prior for its channel joins.

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
