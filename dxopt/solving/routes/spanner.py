"""The least expected loss on a sparse graph instead of all pairs: a channel by one program, a bound by another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from dxopt.model.problem import PROBLEM_CELLS, Problem
from dxopt.solving.attempts import Attempt, Options, Refusal
from dxopt.solving.formulations.expected_loss import ExpectedLossProgram
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution
from dxopt.solving.reductions.contract import Reduced
from dxopt.solving.reductions.spanner import bracket
from dxopt.solving.routes.closed_form import ClosedForms
from dxopt.solving.routes.lazy import solve_lazily
from dxopt.solving.routes.limits import COLUMNS, GENERAL_LIMIT, require_few
from dxopt.solving.routes.linear import fewer_pairs
from dxopt.solving.routes.running import Stage, solve_by_columns, solve_linear, worth_telling

_FINEST = 1e-6
_GAP = 0.1
_ACCURACY = 1e-3
"""Shares of the tolerance, no finer than the first: the gap that columns leave, the accuracy of linear programs."""


def by_spanner(
    problem: Problem, dilation: float, solvers: Callable[[int], tuple[str, ...]], options: Options
) -> Iterator[Attempt | Refusal]:
    """The optimum on a spanner by the first solver that finds it; where that is stopped, a closed form as well.

    Parameters
    ----------
    problem : Problem
    dilation : float
        Of the spanner, 1 or more.
    solvers : callable
        From the number of pairs that the spanner keeps to the names of the solvers, in their order.
    options : Options
    """
    # 1. the two programs: paths as long as budgets at most, and edges at their own budgets
    require_few(max(problem.variables, problem.shape[0] ** 2), PROBLEM_CELLS)
    options.progress("building the linear program")
    formulation = ExpectedLossProgram()
    compiled = formulation.compile(problem)
    require_few(compiled.program.costs.size, GENERAL_LIMIT)
    program, dropped = fewer_pairs(compiled.program)
    inside, outside = bracket(program, dilation)
    records = worth_telling((compiled.merged, *dropped, inside.record))
    simple = ClosedForms(problem)

    def solve(solver: str, one: Reduced[ChannelProgram], stage: Stage) -> ChannelSolution:
        if solver == COLUMNS:
            # These take the shortest paths along the edges.
            on_edges = replace(compiled, program=one.smaller)
            gap = max(_FINEST, _GAP * options.tolerance)
            found = solve_by_columns(on_edges, options, simple, gap, stage).solution
        else:
            accuracy = max(_FINEST, _ACCURACY * options.tolerance)
            linear = solve_linear(compiled, solver, options, accuracy, f"{stage}, ")
            found = solve_lazily(one.smaller, linear, 1.0)[0]
        return one.lift(found)

    # 2. a channel from the one, and a dual from the other
    names = solvers(inside.record.after)
    for name in names:
        solution = solve(name, inside, "mechanism")
        if solution.channel is not None and not options.stop.requested:
            solution = replace(solution, dual=solve(name, outside, "bound").dual)
        if solution.channel is None:
            yield Refusal(name, solution.message or str(solution.status))
        else:
            kind = "column generation" if name == COLUMNS else "linear program"
            candidate = replace(formulation.recover(compiled, solution), claim="valid")
            yield Attempt(candidate, f"{kind} on a spanner, {name}", records)
            if not options.stop.requested:
                return
        if name == names[0]:
            yield simple.attempt("valid")
        if options.stop.requested:
            return
