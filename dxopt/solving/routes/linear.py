"""The least expected loss over all private channels, or with a sparse graph instead of all pairs: linear programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from dxopt.errors import UnsupportedError
from dxopt.model.problem import PROBLEM_CELLS, Problem
from dxopt.proofs.candidate import Candidate
from dxopt.runtime.stopping import Status
from dxopt.solving.formulations.base import Compiled
from dxopt.solving.formulations.expected_loss import ExpectedLossProgram
from dxopt.solving.options import Options
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution
from dxopt.solving.reductions.chain import Reduced, geodesic_pairs, reduce
from dxopt.solving.reductions.spanner import greedy_spanner, on_spanner
from dxopt.solving.routes import limits
from dxopt.solving.routes.closed_form import ClosedForms
from dxopt.solving.routes.expected import is_mixture_in_time
from dxopt.solving.routes.limits import COLUMNS, COLUMNS_LIMIT, GENERAL, GENERAL_LIMIT, require_few
from dxopt.solving.routes.running import (
    Stage,
    candidates_of,
    kind_of_solver,
    solve_by_columns,
    solve_lazily,
    solve_linear,
    solve_program,
)

_FINEST = 1e-6
_GAP = 0.1
_ACCURACY = 1e-3
"""Shares of the tolerance on a spanner, no finer than the first: the gap of columns, the accuracy of programs."""


def _pose(problem: Problem, options: Options, limit: int) -> Compiled:
    """Return the program of a problem; UnsupportedError before anything is made where that would be too large."""
    require_few(problem.variables, limit)
    options.progress("building the linear program")
    return ExpectedLossProgram().apply(problem)


def by_linear_program(problem: Problem, options: Options) -> Iterator[Candidate]:
    """Find the optimum by each of some solvers; after the first, the best mechanism in closed form."""
    require_few(max(problem.variables, problem.shape[0] ** 2), PROBLEM_CELLS)
    large = problem.variables > limits.GENERAL_TO
    mixed = large and is_mixture_in_time(*problem.shape, options.stop.remaining())
    simple = ClosedForms(problem, mixed=mixed)
    if large:
        options.progress("making mechanisms in closed form")
        simple.make_ahead(options.stop)
    limit = COLUMNS_LIMIT if options.solver in ("auto", COLUMNS) else GENERAL_LIMIT
    compiled: Compiled | None = None
    if not (large and options.stop.expired):  # posing, and whatever comes before a bound, take seconds as well
        try:
            compiled = _pose(problem, options, limit)
        except UnsupportedError as error:
            options.refused["optimal"] = error.wrong
    if compiled is None or (large and options.stop.expired):
        yield simple.candidate("valid")
        return
    names = solvers_of_linear(compiled.smaller, options)
    for name in names:
        solution = solve_program(compiled, name, options, simple)
        optimal = solution.status is Status.OPTIMAL
        candidates = candidates_of(compiled, solution, name, options)
        del solution  # its dual may take gigabytes, and so does that of the candidate
        for candidate in candidates:
            if not optimal and simple.is_best(candidate.channel):
                known = simple.best().name
                candidate = replace(candidate, name=known, route=f"{known}; bound by {candidate.route}")
            yield candidate
        if name == names[0]:
            yield simple.candidate("exact")
        if options.stop.requested:
            return


def solvers_of_linear(program: ChannelProgram, options: Options) -> tuple[str, ...]:
    """Return the solvers for the expected loss in the order in which they are tried (reasons: `limits`)."""
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
    # n points that pairs connect have 2 (n - 1) ordered pairs at least, so there is no need to count
    if 2 * (points - 1) * reports > limits.ROWS_TO:
        return False
    left = reduce(program, geodesic_pairs).smaller
    pairs = left.pairs
    return len(pairs[0]) * reports <= limits.ROWS_TO and bool((left.budgets[pairs] <= limits.STEEPEST).all())


def by_spanner(problem: Problem, options: Options) -> Iterator[Candidate]:
    """Find the optimum on a spanner by the first solver that does; where it is stopped, a closed form as well."""
    # 1. the two programs: paths as long as budgets at most, and edges at their own budgets
    require_few(problem.shape[0] ** 2, PROBLEM_CELLS)
    compiled = _pose(problem, options, GENERAL_LIMIT)
    pairs = reduce(compiled.smaller, geodesic_pairs)
    spanner = greedy_spanner(pairs.smaller.budgets, options.spanner or 1.0)
    on_edges = [partial(on_spanner, found=spanner, bounding=bounding) for bounding in (False, True)]
    inside, outside = (reduce(pairs.smaller, one) for one in on_edges)
    simple = ClosedForms(problem)

    def solve(solver: str, one: Reduced[ChannelProgram], stage: Stage) -> ChannelSolution:
        """Solve one of the two programs on the spanner, and lift the solution to all pairs."""
        if solver == COLUMNS:
            # These take the shortest paths along the edges.
            posed = replace(compiled, smaller=one.smaller)
            found = solve_by_columns(posed, options, simple, max(_FINEST, _GAP * options.tolerance), stage)
        else:
            accuracy = max(_FINEST, _ACCURACY * options.tolerance)
            linear = solve_linear(compiled, solver, options, accuracy, f"{stage}, ")
            # with tolerance 1 rounds end once a repair costs less than a tenth of the value; the gap contains that
            found = solve_lazily(one.smaller, linear, 1.0)
        return pairs.lift(one.lift(replace(found, reductions=())))

    # 2. a channel from the one, and a dual from the other
    names = solvers_of_spanner(inside.records[-1].after, options)  # the number of pairs that the spanner keeps
    for name in names:
        solution = solve(name, inside, "mechanism")
        if solution.channel is not None and not options.stop.requested:
            solution = replace(solution, dual=solve(name, outside, "bound").dual)
        for candidate in candidates_of(compiled, solution, name, options):
            yield replace(candidate, claim="valid", route=f"{kind_of_solver(name)} on a spanner, {name}")
            if not options.stop.requested:
                return
        if name == names[0]:
            yield simple.candidate("valid")
        if options.stop.requested:
            return


def solvers_of_spanner(pairs: int, options: Options) -> tuple[str, ...]:
    """Return the solvers on a spanner that keeps so many pairs, in the order in which they are tried."""
    if options.solver != "auto":
        return (options.solver,)
    return GENERAL if pairs < limits.SPANNER_FROM else (COLUMNS, *GENERAL)
