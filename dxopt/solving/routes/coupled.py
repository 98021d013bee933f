"""Other objectives and δ: programs whose columns are coupled by more than their sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SolveError, SpecError
from dxopt.model.objective import ExpectedLoss
from dxopt.model.problem import Problem
from dxopt.numerics.digits import ordered
from dxopt.numerics.excess import bound_pairs, excesses
from dxopt.proofs.candidate import AppliedReduction, Candidate
from dxopt.proofs.repair import constant_channel, expected_above
from dxopt.solving.attempts import Attempt, Options, Refusal
from dxopt.solving.formulations.adversary_error import AdversaryErrorProgram
from dxopt.solving.formulations.contract import Compiled, Formulation
from dxopt.solving.formulations.delta import WithDelta
from dxopt.solving.formulations.expected_loss import ExpectedLossProgram
from dxopt.solving.formulations.worst_loss import WorstLossProgram
from dxopt.solving.programs.program import ChannelSolution, LinearProgram, Rows
from dxopt.solving.routes.closed_form import ClosedForms
from dxopt.solving.routes.lazy import FAR
from dxopt.solving.routes.limits import COLUMNS, GENERAL_LIMIT, require_few
from dxopt.solving.routes.linear import solve_with_fewer_pairs
from dxopt.solving.routes.running import Solved, solve_by_columns, solve_linear, worth_telling

FORMULATIONS: dict[str, type[Formulation]] = {
    "expected_loss": ExpectedLossProgram,
    "worst_loss": WorstLossProgram,
    "adversary_error": AdversaryErrorProgram,
}
_NEAREST = 6
_WORSE = 1e-6
_FINER = 100.0
_FINEST = 1e-12
"""What a solver leaves over δ costs as much of the channel as it is of δ."""


def by_coupled_program(problem: Problem, names: tuple[str, ...], options: Options) -> Iterator[Attempt | Refusal]:
    """The optimum by each of some solvers; in closed form only what is private anyway."""
    require_few(max(problem.variables, problem.shape[0] ** 2), GENERAL_LIMIT)
    within_budget = channel_within_budget(problem, options)
    if within_budget is not None:
        yield _without_solver(problem, within_budget)
    for name in names:
        options.progress("building the linear program")
        formulation, compiled, solved = _solved(problem, name, options)
        if solved.solution.channel is None:
            yield Refusal(name, solved.solution.message or str(solved.solution.status))
        else:
            candidate = replace(formulation.recover(compiled, solved.solution), within_budget=within_budget)
            kind = "column generation" if name == COLUMNS else "linear program"
            yield Attempt(candidate, f"{kind}, {name}", worth_telling(solved.reductions))
        if problem.delta and name == names[0] and not options.stop.requested:
            yield _without_delta(problem, options)
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
    constant = constant_channel(problem.costs)
    if expected_above(problem, constant) <= problem.objective.max_loss:
        return Attempt(Candidate(constant, claim="exact"), "constant report, which the budget allows")
    return Attempt(Candidate(within_budget, claim="exact"), "least expected loss")


def _without_delta(problem: Problem, options: Options) -> Attempt:
    """The optimum for δ = 0, private for any δ: nearly the best where solvers cannot tell δ from 0."""
    answer = options.solve(problem.but(delta=0.0), "without delta: ")
    return Attempt(Candidate(answer.proven.mechanism.matrix, claim="exact"), f"without delta: {answer.route}")


def _solved(problem: Problem, solver: str, options: Options) -> tuple[Formulation, Compiled, Solved]:
    if problem.delta:
        return _with_delta(problem, solver, options)
    formulation = FORMULATIONS[problem.objective.name]()
    compiled = formulation.compile(problem)
    if solver == COLUMNS:
        solved = solve_by_columns(compiled, options)
    else:
        solved = solve_with_fewer_pairs(compiled, solver, options)
    return formulation, compiled, Solved(solved.solution, (compiled.merged, *solved.reductions))


def _with_delta(problem: Problem, solver: str, options: Options) -> tuple[WithDelta, Compiled, Solved]:
    """With some bound pairs, then with those that break privacy most, until the repair can see to the rest."""
    base = FORMULATIONS[problem.objective.name]()
    accuracy = max(_FINEST, 1e-4 * options.tolerance * min(1.0, _FINER * problem.delta))
    linear = solve_linear(base.compile(problem), solver, options, accuracy)
    bound = bound_pairs(problem.separations, problem.pairs) & (problem.budgets <= FAR)
    active = bound & _nearest_pairs(problem)
    rounds = 0
    while True:
        rounds += 1
        formulation = WithDelta(base, np.argwhere(active))
        compiled = formulation.compile(problem)
        found = linear(LinearProgram.of(compiled.program, Rows.everywhere(compiled.program)))
        solution = ChannelSolution.read(compiled.program, found)
        if solution.channel is None or options.stop.requested:
            break
        over = excesses(solution.channel, problem.separations, problem.epsilon, bound & ~active)
        broken = over > problem.delta + _WORSE * options.tolerance
        if not broken.any():
            break
        active |= broken
    note = f"{rounds} round{'s' if rounds > 1 else ''}; ordered pairs of secrets that are bound"
    record = AppliedReduction("lazy pairs", True, int(bound.sum()), int(active.sum()), note)
    return formulation, compiled, Solved(solution, (record,))


def _nearest_pairs(problem: Problem) -> NDArray[np.bool_]:
    """Each point with those next to it."""
    nearest = np.argsort(problem.budgets, axis=1)[:, : _NEAREST + 1]
    near = np.zeros(problem.budgets.shape, dtype=bool)
    np.put_along_axis(near, nearest, True, axis=1)
    np.fill_diagonal(near, False)
    return near
