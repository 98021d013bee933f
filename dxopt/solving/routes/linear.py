"""The least expected loss over all private channels: a linear program, solved by columns or by a general solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dxopt.model.problem import PROBLEM_CELLS, Problem
from dxopt.proofs.candidate import Candidate
from dxopt.solving.formulations.expected_loss import ExpectedLossProgram
from dxopt.solving.options import Options
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.reductions.chain import GeodesicPairs, reduce
from dxopt.solving.routes import limits
from dxopt.solving.routes.closed_form import ClosedForms
from dxopt.solving.routes.limits import COLUMNS, COLUMNS_LIMIT, GENERAL, GENERAL_LIMIT, require_few
from dxopt.solving.routes.running import kind, solve_program


def by_linear_program(problem: Problem, options: Options) -> Iterator[Candidate]:
    """Find the optimum by each of some solvers; after the first, the best mechanism in closed form."""
    require_few(max(problem.variables, problem.shape[0] ** 2), PROBLEM_CELLS)
    options.progress("building the linear program")
    compiled = ExpectedLossProgram().apply(problem)
    names = solvers_of_linear(compiled.smaller, options)
    require_few(compiled.smaller.costs.size, COLUMNS_LIMIT if COLUMNS in names else GENERAL_LIMIT)
    simple = ClosedForms(problem)
    for name in names:
        solution = solve_program(compiled, name, options, simple)
        if solution.channel is None:
            options.refused[name] = solution.message or str(solution.status)
        else:
            candidate = replace(compiled.lift(solution), route=f"{kind(name)}, {name}")
            if options.stop.requested and simple.made(candidate.channel):
                known = simple.best().name
                candidate = replace(candidate, name=known, route=f"{known}; bound by {candidate.route}")
            yield candidate
        if name == names[0]:
            yield simple.candidate("exact")
        if options.stop.requested:
            return


def solvers_of_linear(program: ChannelProgram, options: Options) -> tuple[str, ...]:
    """Solvers for the expected loss in the order in which they are tried."""
    variables = program.costs.size
    if options.solver != "auto":
        return (options.solver,)
    if variables < limits.COLUMNS_FROM:
        return GENERAL
    if variables > limits.GENERAL_TO:
        return (COLUMNS,)
    return (GENERAL[0], COLUMNS, *GENERAL[1:]) if _is_sparse(program) else (COLUMNS, *GENERAL)


def _is_sparse(program: ChannelProgram) -> bool:
    """Tell whether few inequalities are left without the pairs that follow from others, and none of them is steep."""
    points, reports = program.costs.shape
    # Points that are joined have two pairs for each but one of them at least.
    if 2 * (points - 1) * reports > limits.ROWS_TO:
        return False
    left = reduce(program, GeodesicPairs()).smaller
    pairs = left.pairs
    return len(pairs[0]) * reports <= limits.ROWS_TO and bool((left.budgets[pairs] <= limits.STEEPEST).all())
