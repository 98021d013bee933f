"""The least expected loss over all private channels: a linear program, solved by columns or by a general solver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from dxopt.model.problem import PROBLEM_CELLS, Problem
from dxopt.proofs.candidate import AppliedReduction, Claim
from dxopt.solving.attempts import Attempt, Options, Refusal
from dxopt.solving.formulations.contract import Compiled
from dxopt.solving.formulations.expected_loss import ExpectedLossProgram
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution
from dxopt.solving.reductions.geodesic import GeodesicPairs
from dxopt.solving.reductions.spanner import Spanner
from dxopt.solving.routes.closed_form import ClosedForms
from dxopt.solving.routes.lazy import solve_lazily
from dxopt.solving.routes.limits import COLUMNS, COLUMNS_LIMIT, GENERAL_LIMIT, require_few
from dxopt.solving.routes.running import Solved, solve_by_columns, solve_linear, worth_telling

SPANNER_ACCURACY = 1e-6


def by_linear_program(
    problem: Problem, solvers: Callable[[int], tuple[str, ...]], options: Options
) -> Iterator[Attempt | Refusal]:
    """The optimum by each of some solvers; after the first, the best mechanism in closed form.

    Parameters
    ----------
    problem : Problem
    solvers : callable
        From the number of variables to the names of the solvers, in their order.
    options : Options
    """
    require_few(max(problem.variables, problem.shape[0] ** 2), PROBLEM_CELLS)
    options.progress("building the linear program")
    formulation = ExpectedLossProgram()
    compiled = formulation.compile(problem)
    variables = compiled.program.costs.size
    names = solvers(variables)
    require_few(variables, COLUMNS_LIMIT if COLUMNS in names else GENERAL_LIMIT)
    claim: Claim = "valid" if options.spanner else formulation.claim
    simple = ClosedForms(problem)
    for name in names:
        kind, solved = _solved(compiled, name, options, simple)
        if solved.solution.channel is None:
            yield Refusal(name, solved.solution.message or str(solved.solution.status))
        else:
            candidate = formulation.recover(compiled, solved.solution)
            records = worth_telling((compiled.merged, *solved.reductions))
            yield Attempt(replace(candidate, claim=claim), f"{kind}, {name}", records)
            if options.spanner is not None and not options.stop.requested:
                return
        if name == names[0]:
            yield simple.attempt(claim)
        if options.stop.requested:
            return


def _solved(compiled: Compiled, solver: str, options: Options, simple: ClosedForms) -> tuple[str, Solved]:
    if solver == COLUMNS:
        return "column generation", solve_by_columns(compiled, options, simple)
    if options.spanner is not None:
        return "linear program on a spanner", _with_spanner(compiled, solver, options.spanner, options)
    return "linear program", solve_with_fewer_pairs(compiled, solver, options)


def solve_with_fewer_pairs(compiled: Compiled, solver: str, options: Options) -> Solved:
    """By a general solver, without the pairs that follow from others, and with the rest as they are violated."""
    program, dropped = _fewer_pairs(compiled.program)
    solution, record = solve_lazily(program, solve_linear(compiled, solver, options), options.tolerance)
    return Solved(solution, (*dropped, record))


def _fewer_pairs(program: ChannelProgram) -> tuple[ChannelProgram, tuple[AppliedReduction, ...]]:
    reduced = GeodesicPairs().apply(program)
    return (program, ()) if isinstance(reduced, str) else (reduced.smaller, (reduced.record,))


def _with_spanner(compiled: Compiled, solver: str, dilation: float, options: Options) -> Solved:
    """A channel from one program on the spanner, and a dual from another one."""
    program, dropped = _fewer_pairs(compiled.program)
    accuracy = max(SPANNER_ACCURACY, 1e-3 * options.tolerance)
    inside = Spanner(dilation).apply(program)
    mechanism = solve_linear(compiled, solver, options, accuracy, "mechanism, ")
    solution: ChannelSolution = inside.lift(solve_lazily(inside.smaller, mechanism, 1.0)[0])
    if not options.stop.requested:
        outside = Spanner(dilation, bounding=True).apply(program)
        bound = solve_linear(compiled, solver, options, accuracy, "bound, ")
        relaxed: ChannelSolution = outside.lift(solve_lazily(outside.smaller, bound, 1.0)[0])
        solution = replace(solution, dual=relaxed.dual)
    return Solved(solution, (*dropped, inside.record))
