"""The only orchestrator: tries routes, proves what they yield, and records why the others were refused."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from dxopt.attempts import Attempt, Options, Progress, Start
from dxopt.certify import Certificate, certify, gap
from dxopt.errors import SolveError, SpecError
from dxopt.implicit import Proven
from dxopt.problem import Problem
from dxopt.program import Dual, Status
from dxopt.report.result import Report
from dxopt.routes import COLUMNS, METHODS, SPANNER_METHODS, attempts
from dxopt.solvers import require_solver
from dxopt.stopping import Stop


def solve(
    problem: Problem,
    *,
    method: str = "auto",
    solver: str = "auto",
    spanner: float | None = None,
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    progress: Progress | None = None,
    start: Report | None = None,
) -> Report:
    """Find the best private mechanism for a problem, prove it private, and bound its distance from the optimum.

    Parameters
    ----------
    problem : Problem
    method : {"auto", "optimal", "tight", "exponential", "geometric", "planar_laplace", "randomised_response"}
        "optimal" is the best of all private channels, found by the first of these that suits: products of
        independent coordinates by their factors; lines by the truncated geometric mechanism with its optimal remap;
        else a linear program. "auto" first takes the tight-constraints mechanism where it is proven optimal (binary
        loss, regular prior). A route whose gap stays above the tolerance is followed by the next one, and the report
        says why. A mechanism of `dx.classic` is taken as it is. Other objectives and δ take a linear program.
    solver : str
        For the linear program, and then without products and lines: "columns" (column generation on the cone of
        private columns, after a search for symmetry), "clarabel", "highs", or the name of another one that cvxpy has
        installed. "auto" is "columns" from 400 variables on (20 points with themselves as reports); below that, where
        loading compiled code would take longer than the solve, and up to 20,000 where the gap stays above the
        tolerance, Clarabel, then HiGHS. The best mechanism and bound are kept. For an adversary's error it is
        "columns" from 5,000 variables on; with δ, or without ε, Clarabel, then HiGHS.
    spanner : float, optional
        Keep only a greedy spanner of this dilation (1 or more) instead of all pairs. Private at the level asked,
        at a cost in loss; the bound comes from a second program, so that the gap contains that cost. With "auto",
        a mechanism known in closed form takes its place where it is better; the bound is kept.
    tolerance : float
        On the gap.
    time_limit : float, optional
        Seconds. At the limit, or at Ctrl-C, the best mechanism known is returned, proven as always.
    progress : callable, optional
        Given a line of text now and then.
    start : Report, optional
        An earlier answer for the same secrets and reports: at another ε, under a similar prior or loss, or stopped
        before its end. Column generation begins with its row prices; every other way does without.

    Returns
    -------
    Report

    Raises
    ------
    SpecError
        If an option is wrong, or the method does not suit the problem (UnsupportedError, NoTightMechanism).
    """
    began = time.perf_counter()
    _check(method, solver, spanner, tolerance, time_limit)
    earlier = None if start is None else _earlier(start, problem)
    with Stop(time_limit) as stop:
        tell = progress or (lambda line: None)

        def part(smaller: Problem, prefix: str) -> Attempt:
            left = stop.remaining()
            found = solve(
                smaller,
                method=method,
                tolerance=0.9 * tolerance,
                time_limit=None if left is None else max(left, 1e-3),
                progress=lambda line: tell(prefix + line),
            )
            stop.interrupted |= found.status is Status.INTERRUPTED
            answer = Proven(found.mechanism, found.certificate, found.dual, found.claim)
            return Attempt(answer, found.route, dict(found.refused), found.reductions)

        options = Options(solver, spanner, tolerance, stop, tell, earlier, part)
        best: Report | None = None
        for attempt in attempts(problem, method, options):
            report = replace(_report(problem, attempt, options), seconds=time.perf_counter() - began)
            best = report if best is None else _better(best, report, options)
            if best.status is Status.OPTIMAL:
                break
    if best is None:
        raise SolveError(f"method {method} gave nothing to certify")
    return best


def _check(method: str, solver: str, spanner: float | None, tolerance: float, time_limit: float | None) -> None:
    if method not in METHODS:
        raise SpecError("method", f"there is no {method!r}", f"choose one of {', '.join(METHODS)}")
    if solver not in ("auto", COLUMNS):
        require_solver(solver)
    if spanner is not None and solver == COLUMNS:
        raise SpecError("spanner", "does not go with solver columns", "use solver: clarabel, or all pairs")
    if spanner is not None and not (np.isfinite(spanner) and spanner >= 1):
        raise SpecError("spanner", f"is {spanner:g}", "give a dilation of 1 or more")
    if spanner is not None and method not in SPANNER_METHODS:
        raise SpecError("spanner", f"does not go with method {method}", "use method: optimal")
    if not 0 < tolerance < 1:
        raise SpecError("tolerance", f"is {tolerance:g}", "give a number between 0 and 1")
    if time_limit is not None and not time_limit > 0:
        raise SpecError("time_limit", f"is {time_limit:g}", "give a positive number of seconds")


def _earlier(report: Report, problem: Problem) -> Start | None:
    if report.problem.shape != problem.shape:
        theirs, ours = (f"{one.shape[0]} secrets and {one.shape[1]} reports" for one in (report.problem, problem))
        raise SpecError("start", f"is about {theirs}, the problem about {ours}", "give a report of as many")
    return Start(report.problem, report.dual) if isinstance(report.dual, Dual) else None


def _report(problem: Problem, attempt: Attempt, options: Options) -> Report:
    answer = attempt.answer
    if not isinstance(answer, Proven):
        options.progress("proving privacy")
        mechanism, proof = certify(problem, answer.channel, answer.dual, name=attempt.route, frugal=answer.frugal)
        answer = Proven(mechanism, proof, answer.dual, answer.claim)
    return Report(
        problem=problem,
        mechanism=answer.mechanism,
        certificate=answer.certificate,
        dual=answer.dual,
        status=_status(answer.certificate, options),
        claim=answer.claim,
        route=attempt.route,
        refused=attempt.refused,
        reductions=attempt.reductions,
        seconds=0.0,
        tolerance=options.tolerance,
    )


def _status(proof: Certificate, options: Options) -> Status:
    if proof.gap <= options.tolerance:
        return Status.OPTIMAL
    if options.stop.interrupted:
        return Status.INTERRUPTED
    return Status.TIME_LIMIT if options.stop.expired else Status.FEASIBLE


def _better(first: Report, second: Report, options: Options) -> Report:
    """The better mechanism of two with the better bound of two."""
    sign = first.problem.objective.sign
    low, high = sorted((first, second), key=lambda report: sign * report.certificate.value)
    sharp = max((first, second), key=lambda report: sign * report.certificate.bound)
    value, bound = low.certificate.value, sharp.certificate.bound
    how = {**low.certificate.how, "bound": sharp.certificate.how["bound"]}
    proof = replace(low.certificate, bound=bound, gap=gap(value, bound), how=how)
    return replace(
        low,
        certificate=proof,
        dual=sharp.dual,
        status=_status(proof, options),
        claim="exact" if "exact" in (low.claim, high.claim) else low.claim,
        route=low.route if sharp is low else f"{low.route}; bound by {sharp.route}",
        reductions=low.reductions or sharp.reductions,
        refused={**high.refused, **low.refused},
        seconds=second.seconds,
    )
