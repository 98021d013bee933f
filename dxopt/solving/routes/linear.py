"""The least expected loss over all private channels: a linear program, solved by columns or by a general solver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from dxopt.model.problem import PROBLEM_CELLS, Problem
from dxopt.proofs.candidate import AppliedReduction
from dxopt.solving.attempts import Attempt, Options, Refusal
from dxopt.solving.formulations.contract import Compiled
from dxopt.solving.formulations.expected_loss import ExpectedLossProgram
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.reductions.geodesic import GeodesicPairs
from dxopt.solving.routes.closed_form import ClosedForms
from dxopt.solving.routes.lazy import solve_lazily
from dxopt.solving.routes.limits import COLUMNS, COLUMNS_LIMIT, GENERAL_LIMIT, require_few
from dxopt.solving.routes.running import Solved, solve_by_columns, solve_linear, worth_telling


def by_linear_program(
    problem: Problem, solvers: Callable[[ChannelProgram], tuple[str, ...]], options: Options
) -> Iterator[Attempt | Refusal]:
    """The optimum by each of some solvers; after the first, the best mechanism in closed form.

    Parameters
    ----------
    problem : Problem
    solvers : callable
        From the program to the names of the solvers, in their order.
    options : Options
    """
    require_few(max(problem.variables, problem.shape[0] ** 2), PROBLEM_CELLS)
    options.progress("building the linear program")
    formulation = ExpectedLossProgram()
    compiled = formulation.compile(problem)
    variables = compiled.program.costs.size
    names = solvers(compiled.program)
    require_few(variables, COLUMNS_LIMIT if COLUMNS in names else GENERAL_LIMIT)
    simple = ClosedForms(problem)
    for name in names:
        kind, solved = _solved(compiled, name, options, simple)
        if solved.solution.channel is None:
            yield Refusal(name, solved.solution.message or str(solved.solution.status))
        else:
            candidate = formulation.recover(compiled, solved.solution)
            records = worth_telling((compiled.merged, *solved.reductions))
            route = f"{kind}, {name}"
            if options.stop.requested and simple.made(candidate.channel):
                known = simple.best().name
                candidate, route = replace(candidate, name=known), f"{known}; bound by {route}"
            yield Attempt(candidate, route, records)
        if name == names[0]:
            yield simple.attempt(formulation.claim)
        if options.stop.requested:
            return


def _solved(compiled: Compiled, solver: str, options: Options, simple: ClosedForms) -> tuple[str, Solved]:
    if solver == COLUMNS:
        return "column generation", solve_by_columns(compiled, options, simple)
    return "linear program", solve_with_fewer_pairs(compiled, solver, options)


def solve_with_fewer_pairs(compiled: Compiled, solver: str, options: Options) -> Solved:
    """By a general solver, without the pairs that follow from others, and with the rest as they are violated."""
    program, dropped = fewer_pairs(compiled.program)
    solution, record = solve_lazily(program, solve_linear(compiled, solver, options), options.tolerance)
    return Solved(solution, (*dropped, record))


def fewer_pairs(program: ChannelProgram) -> tuple[ChannelProgram, tuple[AppliedReduction, ...]]:
    """A program without the pairs that follow from others, and what was applied."""
    reduced = GeodesicPairs().apply(program)
    return (program, ()) if isinstance(reduced, str) else (reduced.smaller, (reduced.record,))
