"""The ways to an answer: each yields a candidate and the story of how it came about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dxopt.attempts import Attempt, Options
from dxopt.classic.contract import BASELINES, CLASSICS, title
from dxopt.classic.exponential import Exponential
from dxopt.coupled import COLUMNS, by_coupling
from dxopt.errors import NoTightMechanism, UnsupportedError
from dxopt.formulations.contract import Candidate, Claim, Compiled
from dxopt.formulations.tight import Tight, tight_candidate
from dxopt.formulations.utility import Utility
from dxopt.generating import solve_by_columns
from dxopt.implicit import Proven, prove
from dxopt.linear import solve_linear
from dxopt.objective import WorstLoss
from dxopt.problem import MATRIX_CELLS, Problem
from dxopt.program import ChannelProgram, ChannelSolution, Dual
from dxopt.reduced import WRITTEN_CELLS, by_line, by_product, is_line
from dxopt.reductions.geodesic import drop_redundant
from dxopt.reductions.lazy import solve_lazily
from dxopt.reductions.record import Reduction
from dxopt.reductions.spanner import greedy_spanner

METHODS = ("auto", "optimal", "tight", *CLASSICS)
COMPARABLE = (*METHODS[1:], *BASELINES)
SPANNER_METHODS = ("auto", "optimal")
GENERAL = ("clarabel", "highs")
COLUMNS_FROM = 400
GUESSES_FROM = 5_000
GENERAL_TO = 20_000
GENERAL_LIMIT = 1_000_000
COLUMNS_LIMIT = 20_000_000
SPANNER_ACCURACY = 1e-6


def attempts(problem: Problem, method: str, options: Options) -> Iterator[Attempt]:
    """Candidates for the answer, the preferred one first; the next is asked for while the gap is open."""
    if method == "tight":
        yield Attempt(tight_candidate(problem), "tight-constraints mechanism", {})
        return
    if method in CLASSICS:
        yield _classic(problem, method)
        return
    refused: dict[str, str] = {}
    if problem.unusual is not None:
        refused["tight"] = refused["product"] = refused["line"] = f"does not apply, as {problem.unusual}"
        yield from _unusual(problem, options, refused)
        return
    if method == "auto":
        tight = _tight_if_exact(problem, options)
        if isinstance(tight, Candidate):
            reason = "the tight-constraints mechanism is optimal here"
            yield Attempt(tight, "tight-constraints mechanism", {"optimal": reason})
            tight = "its gap stayed above the tolerance"
        refused["tight"] = tight
        if options.spanner is not None:
            yield _closed_form(problem, refused, "valid")
    reduced = False
    if options.spanner is None and options.solver == "auto":
        for attempt in chain(by_product(problem, options, refused), by_line(problem, options, refused)):
            reduced = True
            yield attempt
    if not (reduced and (options.stop.requested or problem.variables > COLUMNS_LIMIT)):
        yield from _optimal(problem, options, refused)


def _tight_if_exact(problem: Problem, options: Options) -> Candidate | str:
    """The tight-constraints mechanism where it is optimal, or why it is not taken."""
    if options.spanner is not None:
        return "not proven optimal where a spanner is asked for"
    if not problem.loss.is_binary:
        return f"proven optimal for binary loss only, not for {problem.loss.name}"
    reason = Tight().refuses(problem)
    if reason:
        return reason
    if not _to_be_written(problem):
        return "not written down for so many points; dx.tight_constraints makes it without a matrix"
    try:
        candidate = tight_candidate(problem, diagnose=False)
    except NoTightMechanism as error:
        return error.wrong
    return candidate if candidate.claim == "exact" else "the prior is not regular, so it need not be optimal"


def _to_be_written(problem: Problem) -> bool:
    """Whether a matrix is made where there is a way to do without."""
    return problem.variables <= (WRITTEN_CELLS if is_line(problem) else COLUMNS_LIMIT)


def _classic(problem: Problem, name: str) -> Attempt:
    classic = CLASSICS.get(name)()
    reason = classic.refuses(problem) if problem.private else "needs an epsilon"
    if reason:
        raise UnsupportedError("method", f"{name} {reason}", "use method: optimal")
    implicit = classic.implicit(problem) if problem.unusual is None and not _to_be_written(problem) else None
    if implicit is not None:
        return Attempt(Proven(implicit, prove(problem, implicit, None), None, "valid"), title(classic), {})
    return Attempt(Candidate(classic.channel(problem), None, "valid"), title(classic), {})


def _optimal(problem: Problem, options: Options, refused: dict[str, str]) -> Iterator[Attempt]:
    formulation, size = Utility(), problem.shape[0]
    _require_few(max(problem.variables, size**2), MATRIX_CELLS)
    options.progress("building the linear program")
    compiled = formulation.compile(problem)
    variables = compiled.program.costs.size
    names = _preferred(options, variables)
    _require_few(variables, COLUMNS_LIMIT if COLUMNS in names else GENERAL_LIMIT)
    reduced, geodesic = compiled.program, None
    claim: Claim = "valid" if options.spanner else formulation.claim
    offered = False
    for name in names:
        if name != COLUMNS and geodesic is None:
            reduced, geodesic = drop_redundant(compiled.program)
        if name == COLUMNS:
            kind, reductions = "column generation", _merging(compiled, None)
            solution, dual, records = solve_by_columns(compiled, options)
        elif options.spanner is not None:
            kind, reductions = "linear program on a spanner", _merging(compiled, geodesic)
            solution, dual, records = _with_spanner(compiled, reduced, name, options)
        else:
            kind, reductions = "linear program", _merging(compiled, geodesic)
            solution, dual, records = _exact(compiled, reduced, name, options)
        if solution.channel is None:
            refused[name] = solution.message or str(solution.status)
        else:
            candidate = formulation.recover(compiled, replace(solution, dual=dual))
            yield Attempt(replace(candidate, claim=claim), f"{kind}, {name}", dict(refused), (*reductions, *records))
            if options.spanner is not None and not options.stop.requested:
                return
        if not offered:
            offered = True
            yield _closed_form(problem, refused, claim)
        if options.stop.requested:
            return


def _require_few(variables: int, limit: int) -> None:
    if variables > limit:
        raise UnsupportedError(
            "method",
            f"optimal needs {variables:,} variables, over the limit of {limit:,}",
            "take fewer points, or use method: tight",
        )


def _preferred(options: Options, variables: int) -> tuple[str, ...]:
    """Solvers in the order in which they are tried; general ones alone know spanners, and are best on few points."""
    if options.solver != "auto":
        return (options.solver,)
    if options.spanner is not None or variables < COLUMNS_FROM:
        return GENERAL
    return (COLUMNS, *GENERAL) if variables <= GENERAL_TO else (COLUMNS,)


def _merging(compiled: Compiled, geodesic: Reduction | None) -> list[Reduction]:
    return [record for record in (compiled.merged, geodesic) if record is not None and record.before != record.after]


Solved = tuple[ChannelSolution, Dual | None, list[Reduction]]


def _exact(compiled: Compiled, program: ChannelProgram, solver: str, options: Options) -> Solved:
    solution, record = solve_lazily(program, solve_linear(compiled, solver, options), options.tolerance)
    return solution, solution.dual, [record] if record.before != record.after else []


def _with_spanner(compiled: Compiled, program: ChannelProgram, solver: str, options: Options) -> Solved:
    spanner = greedy_spanner(compiled.program.budgets, options.spanner or 1.0)
    accuracy = max(SPANNER_ACCURACY, 1e-3 * options.tolerance)
    linear = solve_linear(compiled, solver, options, accuracy, "mechanism, ")
    channel, _ = solve_lazily(spanner.restrict(program), linear, 1.0)
    dual = None
    if not options.stop.requested:
        linear = solve_linear(compiled, solver, options, accuracy, "bound, ")
        relaxed, _ = solve_lazily(spanner.relax(program), linear, 1.0)
        dual = relaxed.dual
    return channel, dual, [spanner.record(compiled.program)]


def _unusual(problem: Problem, options: Options, refused: dict[str, str]) -> Iterator[Attempt]:
    """Other objectives and relaxed privacy; in closed form only what is private anyway."""
    if options.spanner is not None:
        raise UnsupportedError("spanner", f"does not go with this problem: {problem.unusual}", "take all pairs")
    _require_few(max(problem.variables, problem.shape[0] ** 2), GENERAL_LIMIT)
    offered = np.isfinite(problem.objective.max_loss)
    for attempt in by_coupling(problem, _preferred_coupled(problem, options), options, refused):
        yield attempt
        if not offered:
            offered = True
            yield _closed_form(problem, refused, "exact")
    if not offered:
        yield _closed_form(problem, refused, "exact")


def _preferred_coupled(problem: Problem, options: Options) -> tuple[str, ...]:
    """Solvers in the order in which they are tried; columns are of one cone, which δ and no privacy are not about."""
    in_cone = problem.private and not problem.delta
    if options.solver == COLUMNS and not in_cone:
        raise UnsupportedError("solver", f"columns does not apply, as {problem.unusual}", "use solver: clarabel")
    if options.solver != "auto":
        return (options.solver,)
    enough = COLUMNS_FROM if isinstance(problem.objective, WorstLoss) else GUESSES_FROM
    if not in_cone or problem.variables < enough:
        return GENERAL
    return (COLUMNS, *GENERAL) if problem.variables <= GENERAL_TO else (COLUMNS,)


def _closed_form(problem: Problem, refused: dict[str, str], claim: Claim) -> Attempt:
    """The best mechanism that needs no solver, each with its optimal remap."""
    constant = np.zeros(problem.shape)
    constant[:, 0] = 1.0
    channels = {"constant report": constant}
    if Exponential().refuses(problem) is None:
        channels["exponential mechanism with optimal remap"] = Exponential().channel(problem)
    if Tight().refuses(problem) is None:
        with suppress(NoTightMechanism):
            tight = tight_candidate(problem, diagnose=False)
            channels["tight-constraints mechanism with optimal remap"] = tight.channel
    remapped = {name: _remapped(problem, channel) for name, channel in channels.items()}
    sign = problem.objective.sign
    name = min(remapped, key=lambda name: sign * problem.objective.value(problem, remapped[name]))
    return Attempt(Candidate(remapped[name], None, claim), name, dict(refused))


def _remapped(problem: Problem, channel: NDArray[np.float64]) -> NDArray[np.float64]:
    best = (problem.costs.T @ channel).argmin(axis=0)
    remapped = np.zeros(problem.shape)
    np.add.at(remapped.T, best, channel.T)
    return remapped
