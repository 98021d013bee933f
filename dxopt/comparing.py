"""Several mechanisms for one problem, and a bound on all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dxopt import evaluate
from dxopt.attempts import Progress
from dxopt.certify import gap
from dxopt.errors import CertificateError, SolveError, SpecError, UnsupportedError
from dxopt.objective import ExpectedLoss
from dxopt.problem import Problem
from dxopt.program import Status
from dxopt.regularity import verdict
from dxopt.report.comparison import Compared, Comparison
from dxopt.report.result import Report
from dxopt.routes import COMPARABLE
from dxopt.solving import solve
from dxopt.stopping import Stop

REFERENCE = "optimal"
VERDICT_POINTS = 400


def compare(
    problem: Problem,
    methods: Iterable[str] | None = None,
    *,
    reference: Report | None = None,
    solver: str = "auto",
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Put mechanisms beside the best one and beside a proven bound on every private one.

    Each mechanism is made for the problem's space, ε and δ, repaired and proven private; its value is what the
    problem's objective is about. One that does not exist for the problem, or is over its budget, is a row that says
    why.

    Parameters
    ----------
    problem : Problem
    methods : names, optional
        Of the mechanisms, as for `dx.solve`; all that there are by default. "optimal" is always there, and first.
    reference : Report, optional
        The problem solved already, for the row "optimal" and its bound.
    solver, tolerance, time_limit, progress
        As for `dx.solve`. The limit is on the solver: mechanisms in closed form take the time that they take.

    Returns
    -------
    Comparison
        After Ctrl-C with the rows that were finished; the others say that they were not started.

    Raises
    ------
    SpecError
        If there is no mechanism of a name, or an option is wrong.
    """
    results: dict[str, Report | str] = {}
    with Stop() as stop:
        for name in _checked(methods):
            if stop.interrupted:
                results[name] = "not started, as the run was interrupted"
            elif name != REFERENCE:
                results[name] = _solved(problem, name, tolerance=tolerance, progress=progress)
            elif reference is not None:
                results[name] = reference
            else:
                options = {"solver": solver, "tolerance": tolerance, "time_limit": time_limit, "progress": progress}
                results[name] = _solved(problem, "auto", **options)
            stop.interrupted |= _interrupted(results[name])
        regular = None if stop.interrupted else _verdict(problem)
    bounds, sign = [r.certificate.bound for r in results.values() if isinstance(r, Report)], problem.objective.sign
    bound = max(bounds, key=lambda bound: sign * bound, default=None)
    return Comparison(
        problem.name,
        epsilon=problem.epsilon if problem.private else None,
        rows=tuple(_row(name, result, bound) for name, result in results.items()),
        bound=bound,
        verdict=regular,
        interrupted=stop.interrupted,
        objective=problem.objective.title,
        delta=problem.delta,
    )


def _checked(methods: Iterable[str] | None) -> list[str]:
    names = list(dict.fromkeys([REFERENCE, *(COMPARABLE if methods is None else methods)]))
    for name in names:
        if name not in COMPARABLE:
            raise SpecError("methods", f"there is no {name!r}", f"choose among {', '.join(COMPARABLE)}")
    return names


def _solved(problem: Problem, method: str, **options: Any) -> Report | str:
    """The report, or why there is none."""
    try:
        return solve(problem, method=method, **options)
    except (UnsupportedError, SolveError, CertificateError) as error:
        return error.wrong if isinstance(error, UnsupportedError) else str(error)


def _interrupted(result: Report | str) -> bool:
    return isinstance(result, Report) and result.status is Status.INTERRUPTED


def _row(name: str, result: Report | str, bound: float | None) -> Compared:
    if isinstance(result, str):
        return Compared(name, note=result)
    problem, proof = result.problem, result.certificate
    story = result.route if result.status is Status.OPTIMAL else f"{result.route}; {result.status}"
    return Compared(
        name,
        value=proof.value,
        remapped=_remapped(result) if isinstance(problem.objective, ExpectedLoss) else None,
        gap=None if bound is None else gap(proof.value, bound),
        private=proof.private,
        epsilon=proof.epsilon if problem.private else None,
        leakage=evaluate.min_entropy_leakage(result.mechanism, problem.prior),
        note=story if name == REFERENCE else "",
        delta=proof.delta if problem.delta else None,
    )


def _remapped(report: Report) -> float:
    """The expected loss once each report is replaced by the best one: what an adversary with that loss errs by."""
    return evaluate.adversary_error(report.mechanism, report.problem.prior, report.problem.loss)


def _verdict(problem: Problem) -> str | None:
    """Whether the prior is regular, which makes the tight-constraints mechanism optimal for binary loss."""
    if problem.unusual is not None or not problem.loss.is_binary or len(problem.space) > VERDICT_POINTS:
        return None
    return str(verdict(problem.prior, problem.space, problem.epsilon))
