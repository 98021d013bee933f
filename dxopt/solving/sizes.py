"""Size of a problem and of its solve, told before it begins: by explanations, and by the command line."""

from __future__ import annotations

from dxopt.errors import UnsupportedError
from dxopt.mechanisms.tight import refuses_tight
from dxopt.model.problem import PROBLEM_CELLS, Problem
from dxopt.solving.reductions.line import on_line
from dxopt.solving.reductions.product import by_factors
from dxopt.solving.routes.choice import SPANNER_METHODS
from dxopt.solving.routes.expected import LARGE, expected_seconds, fewer_instead, rows_in_reach, told_before
from dxopt.solving.routes.limits import COLUMNS, is_line, require_few
from dxopt.spaces.products import sides


def size_text(problem: Problem, method: str = "auto", solver: str = "auto", spanner: float | None = None) -> str:
    """Return the numbers of secrets and outputs and, of a large solve, what it comes to."""
    secrets, reports = problem.shape
    return large_text(problem, method, solver, spanner) or f"{secrets:,} secrets, {reports:,} outputs"


def large_text(problem: Problem, method: str = "auto", solver: str = "auto", spanner: float | None = None) -> str:
    """Return what a large solve comes to, what a stop gives, and what to do instead; "" where it is not large.

    Parameters
    ----------
    problem : Problem
    method, solver, spanner
        As for `dx.solve`.
    """
    secrets, reports = problem.shape
    if expected_seconds(secrets, reports) < LARGE or not _is_searched(problem, method, solver, spanner):
        return ""
    try:
        require_few(max(problem.variables, secrets**2), PROBLEM_CELLS)
    except UnsupportedError as error:
        return f"{secrets:,} secrets, {reports:,} outputs: {error.wrong}; {error.fix}"
    from dxopt.solving.solvers.columns import Memory

    memory = Memory.of(secrets, reports, secrets)
    if not memory.columns:  # then bounds are from fewer rows
        rows = rows_in_reach(secrets, reports, None, fits=False)
        memory = Memory.of(rows, reports, rows)
    told = told_before(secrets, reports, f"{memory.needed / 1e9:.2g} GB of memory")
    return f"{told}; less if it is symmetric{fewer_instead(problem.space.distances, reports, problem.space.unit)}"


def _is_searched(problem: Problem, method: str, solver: str, spanner: float | None) -> bool:
    """Return True if the optimum is searched for by column generation, as no structure gives it."""
    if method not in SPANNER_METHODS or solver not in ("auto", COLUMNS) or spanner is not None:
        return False
    if problem.why_coupled is not None:
        return False
    if method == "auto" and problem.loss.is_binary and refuses_tight(problem) is None:
        return False  # the mechanism of tight constraints may be the optimum
    if solver == COLUMNS:
        return True
    if is_line(problem) and not isinstance(on_line(problem, written=True), str):
        return False
    return len(sides(problem.space)) < 2 or isinstance(by_factors(problem, written=True), str)
