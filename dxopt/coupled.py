"""Routes to problems whose columns are coupled by more than their sums: other objectives, and δ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dxopt.attempts import Attempt, Options
from dxopt.errors import SolveError, SpecError
from dxopt.formulations.bayes_privacy import BayesPrivacy
from dxopt.formulations.contract import Candidate, Compiled, Formulation
from dxopt.formulations.minimax import Minimax
from dxopt.formulations.relaxed import Relaxed
from dxopt.formulations.utility import Utility
from dxopt.generating import solve_by_columns
from dxopt.implicit import Proven
from dxopt.linear import solve_linear
from dxopt.objective import ExpectedLoss
from dxopt.problem import Problem
from dxopt.program import ChannelSolution, LinearProgram, Rows
from dxopt.reductions.geodesic import drop_redundant
from dxopt.reductions.lazy import FAR, solve_lazily
from dxopt.reductions.record import Reduction
from dxopt.relaxed import bound_pairs, excesses
from dxopt.repair import expected_above

FORMULATIONS: dict[str, type[Formulation]] = {
    "expected_loss": Utility,
    "worst_loss": Minimax,
    "adversary_error": BayesPrivacy,
}
COLUMNS = "columns"
_NEAREST = 6
_WORSE = 1e-6
_FINER, _FINEST = 100.0, 1e-12
"""What a solver leaves over δ costs as much of the channel as it is of δ."""


def frugal_channel(problem: Problem, options: Options) -> NDArray[np.float64] | None:
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
    if not problem.private:
        channel = np.zeros(problem.shape)
        channel[np.arange(len(channel)), problem.costs.argmin(axis=1)] = 1.0
        least = float(problem.costs.min(axis=1).sum())
    else:
        answer = options.solve(problem.but(objective=ExpectedLoss()), "least loss: ").answer
        if not isinstance(answer, Proven):
            return None
        channel, least = answer.mechanism.matrix, answer.certificate.bound
    loss = expected_above(problem, channel)
    if loss > budget:
        if options.stop.requested and not least > budget:
            raise SolveError("stopped before a channel within the loss budget was found")
        proven = f"below {least:.7g}, the least" if least > budget else f"below {loss:.17g}, the least known"
        shown = f"{budget:.10g}" if least > budget else f"{budget:.17g}"
        raise SpecError("max_loss", f"is {shown}, {proven} that such a channel loses", "raise it")
    return np.asarray(channel)


def by_coupling(
    problem: Problem, names: tuple[str, ...], options: Options, refused: dict[str, str]
) -> Iterator[Attempt]:
    """The optimum by each of some solvers."""
    frugal = frugal_channel(problem, options)
    if frugal is not None:
        yield _without_solver(problem, frugal, refused)
    for name in names:
        kind = "linear program"
        options.progress("building the linear program")
        if problem.delta:
            formulation, compiled, solution, reductions = _relaxed(problem, name, options)
        else:
            formulation = FORMULATIONS[problem.objective.name]()
            compiled = formulation.compile(problem)
            if name == COLUMNS:
                kind = "column generation"
                found, dual, reductions = solve_by_columns(compiled, options)
                solution = replace(found, dual=dual)
            else:
                solution, reductions = _exact(compiled, name, options)
            reductions = [compiled.merged, *reductions]
        if solution.channel is None:
            refused[name] = solution.message or str(solution.status)
        else:
            candidate = replace(formulation.recover(compiled, solution), frugal=frugal)
            used = tuple(record for record in reductions if record.before != record.after)
            yield Attempt(candidate, f"{kind}, {name}", dict(refused), used)
        if options.stop.requested:
            return


def _without_solver(problem: Problem, frugal: NDArray[np.float64], refused: dict[str, str]) -> Attempt:
    """The constant report where the budget allows it, which nothing is better than, or else the least loss."""
    constant = np.zeros(problem.shape)
    constant[:, int(problem.costs.sum(axis=0).argmin())] = 1.0
    if expected_above(problem, constant) <= problem.objective.max_loss:
        return Attempt(Candidate(constant, None, "exact"), "constant report, which the budget allows", dict(refused))
    return Attempt(Candidate(frugal, None, "exact"), "least expected loss", dict(refused))


def _exact(compiled: Compiled, name: str, options: Options) -> tuple[ChannelSolution, list[Reduction]]:
    program, geodesic = drop_redundant(compiled.program)
    solution, lazy = solve_lazily(program, solve_linear(compiled, name, options), options.tolerance)
    return solution, [geodesic, lazy]


def _relaxed(
    problem: Problem, name: str, options: Options
) -> tuple[Relaxed, Compiled, ChannelSolution, list[Reduction]]:
    """With some bound pairs, then with those that break privacy most, until the repair can see to the rest."""
    base = FORMULATIONS[problem.objective.name]()
    accuracy = max(_FINEST, 1e-4 * options.tolerance * min(1.0, _FINER * problem.delta))
    linear = solve_linear(base.compile(problem), name, options, accuracy)
    bound = bound_pairs(problem.separations, problem.pairs) & (problem.budgets <= FAR)
    active, rounds = bound & _first(problem), 0
    while True:
        rounds += 1
        formulation = Relaxed(base, np.argwhere(active))
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
    record = Reduction("lazy pairs", True, int(bound.sum()), int(active.sum()), note)
    return formulation, compiled, solution, [record]


def _first(problem: Problem) -> NDArray[np.bool_]:
    """Each point with those next to it."""
    places = np.argsort(problem.budgets, axis=1)[:, : _NEAREST + 1]
    near = np.zeros(problem.budgets.shape, dtype=bool)
    np.put_along_axis(near, places, True, axis=1)
    np.fill_diagonal(near, False)
    return near
