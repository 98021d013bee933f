"""The way from a problem to its report: choose, reduce, solve, lift, certify, keep the best."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from dxopt.errors import CertificateError, SolveError, SpecError
from dxopt.model.mechanism import Mechanism
from dxopt.model.objective import ExpectedLoss, WorstRegret
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem, required_problem
from dxopt.numerics.coerce import DILATION, SHARE, as_number
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import Proven, certify, gap, is_optimal
from dxopt.proofs.duals import Dual
from dxopt.results.announcing import announce, announce_answer
from dxopt.results.report import Report
from dxopt.runtime.stopping import Status
from dxopt.solving.options import Options, Progress, Start, solve_context
from dxopt.solving.plugins import used_plugins
from dxopt.solving.routes.choice import SPANNER_METHODS, is_enough, require_method, routes
from dxopt.solving.routes.limits import COLUMNS, COLUMNS_FROM
from dxopt.solving.solvers import require_solver

_FINER = 0.01
"""Optima that a regret is measured against are found to this share of the tolerance."""
_ROUNDING = 1e-9
"""Relative change of a value that is allowed while a mechanism is proven."""


def solve(
    problem: Problem,
    *,
    method: str = "auto",
    solver: str = "auto",
    spanner: float | None = None,
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    progress: Progress | bool | None = None,
    partial: bool = False,
    start: Report | None = None,
    cluster: str | None = None,
    device: str | None = None,
) -> Report:
    """Find the best private mechanism for a problem, prove it private, and bound its distance from the optimum.

    Parameters
    ----------
    problem : Problem
    method : str
        "optimal" is the best of all private channels; "auto" is the same, but first takes the tight-constraints
        mechanism where that is proven optimal; "tight" is that one. Mechanisms of `dx.classic` are taken as they are:
        "exponential", "geometric", "graph_exponential", "laplace", "multivariate_laplace", "planar_laplace",
        "randomised_response", "staircase" and "truncated_exponential"; and those of plug-ins by their names.
        Several routes may be tried: one whose gap stays above the tolerance is followed by the next one; the best
        mechanism and bound are kept, and `report.details()` gives the reasons.
    solver : str
        For the linear program, and then without products and lines: "columns" (column generation on the cone of
        private columns, after a search for symmetry), "clarabel", "highs", or the name of another one that cvxpy has
        installed or a plug-in offers. "auto" chooses by size and objective.
    spanner : float, optional
        Keep only a greedy spanner of this dilation (1 or more) instead of all pairs. Private at the level asked,
        at a cost in loss; the bound comes from a second program, so that the gap contains that cost. With "auto",
        a mechanism known in closed form takes its place where it is better; the bound is kept.
    tolerance : float
        On the gap.
    time_limit : float, optional
        Seconds of search. The best mechanism known at the limit is then proven as always, which comes on top.
    progress : bool or callable, optional
        True shows a bar on standard error, or in the notebook. A callable is given a line of text now and then; the
        logger "dxopt" gets the same lines at level INFO.
    partial : bool
        What the first Ctrl-C does, which stops the solver: the best mechanism known is returned, proven as always, or
        else is the `answer` of an Interrupted, which is a KeyboardInterrupt. A second Ctrl-C raises at once.
    start : Report, optional
        An earlier answer for the same secrets and reports: at another ε, under a similar prior or loss, or stopped
        before its end. Column generation begins with its row prices and columns; every other way does without.
    cluster : str, optional
        Address of a scheduler of Dask, or "local:4" for four workers here, which price the reports of column
        generation, and prove large answers. The answer is the same; a worker that dies loses time only. Opened when
        column generation begins.
    device : {"gpu", "cpu"}, optional
        What computes the linear algebra of the master problem of column generation where that has 200 rows or more: a
        GPU, by CuPy. The answer is as good, and may differ in its last digits; where the GPU fails, this machine goes
        on.

    Returns
    -------
    Report

    Raises
    ------
    Interrupted
        At Ctrl-C, without `partial`.
    SpecError
        If an option is wrong, nobody answers at the address of a cluster, there is no GPU, or the method does not
        suit the problem (UnsupportedError, NoTightMechanism).

    Examples
    --------
    >>> import dxopt as dx
    >>> space = dx.line(5)
    >>> problem = dx.Problem(space, epsilon="ln(4)", prior=[0.1, 0.2, 0.4, 0.2, 0.1])
    >>> report = dx.solve(problem)
    >>> print(report.status.value, round(report.certificate.value, 4), report.certificate.private)
    optimal 0.4381 True
    >>> print(report.mechanism.row(label="2").round(3).tolist())
    [0.05, 0.15, 0.6, 0.15, 0.05]
    >>> print(round(dx.solve(problem, method="laplace").certificate.value, 4))
    0.5477
    """
    required_problem(problem)
    _check_options(method, solver, spanner)
    spanner = None if spanner is None else as_number(spanner, "spanner", *DILATION)
    tolerance = as_number(tolerance, "tolerance", *SHARE)
    earlier = None if start is None else _start_from(start, problem)
    told = announce(problem)
    with solve_context(progress, time_limit, partial, cluster, device) as (stop, tell):
        report = answer(problem, Options(method, solver, spanner, tolerance, stop, tell, earlier, answer))
    return announce_answer(stop.delivered(report), told, partial=partial)


def answer(problem: Problem, options: Options) -> Report:
    """Try the routes for a problem in order, prove their candidates, and keep the best mechanism and bound.

    Raises CertificateError where no candidate is proven, and SolveError where there is none.
    """
    began = time.perf_counter()
    if isinstance(problem.objective, WorstRegret) and not problem.objective.reports:
        problem = _against_optima(problem, problem.objective, options)
    best: Proven | None = None
    unproven: CertificateError | None = None
    for route in routes(problem, options):
        if best is not None and (_is_optimal(problem, best, options) or is_enough(problem, options)):
            break
        for candidate in route(problem, options):
            if best is not None and _is_needless(problem, candidate, best):
                continue
            found = candidate
            try:
                if isinstance(found, Candidate):
                    options.progress("proving privacy")
                    found = certify(problem, found)
            except CertificateError as error:
                options.refused[candidate.route] = str(error)
                unproven = error
                continue
            best = found if best is None else _best_of_both(problem.objective.sign, best, found)
            proof = best.certificate
            bound = f", bound {proof.bound:.8g}, gap {proof.gap:.1e}" if proof.gap < 1 else ""
            options.progress(f"proven: {proof.value:.8g}{bound}")
            if _is_optimal(problem, best, options):
                break
    if best is None:
        why = f" ({options.refused[options.solver]})" if options.solver in options.refused else ""
        raise unproven or SolveError(f"method {options.method} gave nothing to certify{why}")
    return Report(
        problem=problem,
        mechanism=best.mechanism,
        certificate=best.certificate,
        dual=best.dual,
        status=_status(problem, best, options),
        claim=best.claim,
        route=best.route,
        refused=options.refused,
        reductions=best.reductions,
        seconds=time.perf_counter() - began,
        tolerance=options.tolerance,
        plugins=used_plugins(problem, options.method, options.solver),
        method=options.method,
        solver=options.solver,
        spanner=options.spanner,
    )


def _is_needless(problem: Problem, candidate: Candidate | Proven, best: Proven) -> bool:
    """Tell whether a candidate is no better than what is proven already, and proves no bound either."""
    if isinstance(candidate, Proven) or isinstance(candidate.channel, Mechanism) or candidate.dual is not None:
        return False
    # what is left is an unproven matrix without a bound: only a better value makes it worth a proof
    sign = problem.objective.sign
    value = problem.objective.value(problem, candidate.channel)
    return sign * value >= sign * best.certificate.value - _ROUNDING * abs(best.certificate.value)


def _best_of_both(sign: float, first: Proven, second: Proven) -> Proven:
    """Return the better mechanism of two with the better bound of two."""
    better, other = sorted((first, second), key=lambda one: sign * one.certificate.value)
    tighter = max((first, second), key=lambda one: sign * one.certificate.bound)
    value = better.certificate.value
    bound = tighter.certificate.bound
    how = {**better.certificate.how, "bound": tighter.certificate.how["bound"]}
    return replace(
        better,
        certificate=replace(better.certificate, bound=bound, gap=gap(value, bound), how=how),
        dual=tighter.dual,
        # what is no worse than an optimum is an optimum
        claim="exact" if "exact" in (better.claim, other.claim) else better.claim,
        route=better.route if tighter is better else f"{better.route}; bound by {tighter.route}",
        reductions=better.reductions or tighter.reductions,
    )


def _is_optimal(problem: Problem, proven: Proven, options: Options) -> bool:
    proof = proven.certificate
    return is_optimal(problem, proven.mechanism, proof.value, proof.bound, options.tolerance)


def _status(problem: Problem, best: Proven, options: Options) -> Status:
    """Return the status of the report: optimal by its gap, or else what ended the search."""
    if _is_optimal(problem, best, options):
        return Status.OPTIMAL
    if options.stop.interrupted:
        return Status.INTERRUPTED
    return Status.TIME_LIMIT if options.stop.expired else Status.FEASIBLE


def _against_optima(problem: Problem, objective: WorstRegret, options: Options) -> Problem:
    """Return a problem of regret with the optimum for each prior of its hull, which the regret is measured against.

    Each is found more finely than the regret, by a linear program with every pair: a named solver rules out lines and
    products, so that the saved folder of each has all that proves it.
    """
    found: list[Report] = []
    among = objective.priors
    for name, member in zip(among.names, among.members, strict=True):
        prior = Prior(member, name, space=among.space)
        smaller = problem.but(prior=prior, objective=ExpectedLoss(), name=f"{problem.name}, {name}")
        solver = "clarabel" if smaller.variables < COLUMNS_FROM or problem.delta else COLUMNS
        tolerance = _FINER * options.tolerance
        prefix = f"optimum for {name}: "
        found.append(options.part(smaller, prefix, method="optimal", solver=solver, tolerance=tolerance))
    lowest, highest = np.array([[one.certificate.bound, one.certificate.value] for one in found]).T
    return problem.but(objective=WorstRegret(among, lowest, highest, tuple(found)))


def _check_options(method: str, solver: str, spanner: float | None) -> None:
    """Raise SpecError for options that are wrong, or do not go together, before anything is computed."""
    require_method(method)
    if not isinstance(solver, str):
        raise SpecError("solver", f"is of type {type(solver).__name__}", "give the name of one, or auto")
    if solver not in ("auto", COLUMNS):
        require_solver(solver)
    if spanner is not None and method not in SPANNER_METHODS:
        raise SpecError("spanner", f"does not go with method {method}", "use method: optimal")


def _start_from(report: Report, problem: Problem) -> Start | None:
    """Return an earlier report as column generation can start from it; None where it has no row prices."""
    if not isinstance(report, Report):
        raise SpecError("start", f"is of type {type(report).__name__}", "give a report of dx.solve")
    if report.problem.shape != problem.shape:
        theirs, ours = (f"{one.shape[0]} secrets and {one.shape[1]} reports" for one in (report.problem, problem))
        raise SpecError("start", f"is about {theirs}, the problem about {ours}", "give a report of as many")
    return Start(report.problem, report.dual, report.mechanism) if isinstance(report.dual, Dual) else None
