"""Other objectives and δ: programs whose columns are coupled by more than their sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SolveError, SpecError
from dxopt.model.fitting_sets import Fitting
from dxopt.model.objective import ExpectedLoss
from dxopt.model.problem import Problem
from dxopt.numerics.digits import ordered
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.repair import constant_channel, expected_above
from dxopt.solving.attempts import Attempt, Options, Refusal
from dxopt.solving.formulations.adversary_error import AdversaryErrorProgram
from dxopt.solving.formulations.beliefs import WithBeliefs
from dxopt.solving.formulations.contract import Compiled, Formulation
from dxopt.solving.formulations.expected_loss import ExpectedLossProgram
from dxopt.solving.formulations.worst_loss import WorstLossProgram
from dxopt.solving.routes.closed_form import ClosedForms
from dxopt.solving.routes.fitting import by_members
from dxopt.solving.routes.limits import COLUMNS, GENERAL_LIMIT, require_few, require_few_beliefs
from dxopt.solving.routes.linear import solve_with_fewer_pairs
from dxopt.solving.routes.matching import by_matching_guesses, guess_of_each_report, simple_within_budget
from dxopt.solving.routes.relaxed import has_many_entries, solve_with_delta
from dxopt.solving.routes.running import Solved, solve_by_columns, worth_telling

FORMULATIONS: dict[str, type[Formulation]] = {
    "expected_loss": ExpectedLossProgram,
    "worst_loss": WorstLossProgram,
    "worst_expected_loss": WorstLossProgram,
    "regret": WorstLossProgram,
    "adversary_error": AdversaryErrorProgram,
}


def by_coupled_program(problem: Problem, names: tuple[str, ...], options: Options) -> Iterator[Attempt | Refusal]:
    """The optimum by each of some solvers; in closed form only what is private anyway."""
    require_few(max(problem.variables, problem.shape[0] ** 2), GENERAL_LIMIT)
    require_few_beliefs(problem)
    if isinstance(problem.priors, Fitting):
        yield from by_members(problem, problem.priors, options)
        yield ClosedForms(problem).attempt("exact")
        return
    matched = guess_of_each_report(problem)
    within_budget = None if matched is None else simple_within_budget(problem)
    if within_budget is None:
        within_budget = channel_within_budget(problem, options)
    if within_budget is not None:
        if matched is not None and not _is_constant_allowed(problem):
            yield by_matching_guesses(problem, within_budget, *matched)
        yield _without_solver(problem, within_budget)
    within: NDArray[np.float64] | None = None
    if problem.delta and has_many_entries(problem):
        within, attempt = _without_delta(problem, within_budget, options)
        yield attempt
    for name in names:
        options.progress("building the linear program")
        formulation, compiled, solved = _solved(problem, name, within, options)
        if solved.solution.channel is None:
            yield Refusal(name, solved.solution.message or str(solved.solution.status))
        else:
            candidate = replace(formulation.recover(compiled, solved.solution), within_budget=within_budget)
            kind = "column generation" if name == COLUMNS else "linear program"
            yield Attempt(candidate, f"{kind}, {name}", worth_telling(solved.reductions))
        if problem.delta and within is None and name == names[0] and not options.stop.requested:
            yield _without_delta(problem, within_budget, options)[1]
        if name == names[0]:
            yield ClosedForms(problem, within_budget).attempt("exact")
        if options.stop.requested:
            return


def channel_within_budget(problem: Problem, options: Options) -> NDArray[np.float64] | None:
    """The channel of least expected loss where that has a budget, or None where it has none.

    Raises
    ------
    SpecError
        If even that channel is not within the budget, with the least that is proven.
    SolveError
        If it was stopped before that was known.
    """
    budget = problem.objective.max_loss
    if not np.isfinite(budget):
        return None
    if problem.private:
        proven = options.solve(problem.but(objective=ExpectedLoss()), "least loss: ").proven
        channel = proven.mechanism.matrix
        least = proven.certificate.bound
    else:
        channel = np.zeros(problem.shape)
        channel[np.arange(len(channel)), problem.costs.argmin(axis=1)] = 1.0
        least = float(problem.costs.min(axis=1).sum())
    loss = expected_above(problem, channel)
    if loss <= budget:
        return np.asarray(channel)
    if least > budget:
        wrong = "is {}, below {}, the least that such a channel loses".format(*ordered(budget, least))
    elif options.stop.requested:
        raise SolveError("stopped before a channel within the loss budget was found")
    else:
        wrong = "is {}, below {}, the least known that such a channel loses".format(*ordered(budget, loss))
    raise SpecError("max_loss", wrong, "raise it")


def _without_solver(problem: Problem, within_budget: NDArray[np.float64]) -> Attempt:
    """The constant report where the budget allows it, which nothing is better than, or else the least loss."""
    if _is_constant_allowed(problem):
        constant = constant_channel(problem.costs)
        return Attempt(Candidate(constant, claim="exact"), "constant report, which the budget allows")
    return Attempt(Candidate(within_budget, claim="exact"), "least expected loss")


def _is_constant_allowed(problem: Problem) -> bool:
    return expected_above(problem, constant_channel(problem.costs)) <= problem.objective.max_loss


def _without_delta(
    problem: Problem, within_budget: NDArray[np.float64] | None, options: Options
) -> tuple[NDArray[np.float64], Attempt]:
    """The optimum for δ = 0, private for any δ: nearly the best where solvers cannot tell δ from 0.

    Without δ no channel may be within a budget: then it is the one of least loss.
    """
    objective = problem.objective if within_budget is None else ExpectedLoss()
    answer = options.solve(problem.but(delta=0.0, objective=objective), "without delta: ")
    channel = np.asarray(answer.proven.mechanism.matrix)
    candidate = Candidate(channel, claim="exact", within_budget=within_budget)
    return channel, Attempt(candidate, f"without delta: {answer.route}")


def _solved(
    problem: Problem, solver: str, within: NDArray[np.float64] | None, options: Options
) -> tuple[Formulation, Compiled, Solved]:
    formulation = FORMULATIONS[problem.objective.name]()
    if problem.delta:
        return solve_with_delta(problem, formulation, solver, within, options)
    if problem.beliefs is not None:
        formulation = WithBeliefs(formulation)
    compiled = formulation.compile(problem)
    if solver == COLUMNS:
        solved = solve_by_columns(compiled, options)
    else:
        solved = solve_with_fewer_pairs(compiled, solver, options)
    return formulation, compiled, Solved(solved.solution, (compiled.merged, *solved.reductions))
