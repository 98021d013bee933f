"""Loss and leakage against ε, at levels that are given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from dxopt.errors import SpecError
from dxopt.model.privacy import checked_level
from dxopt.model.problem import Problem, required_problem
from dxopt.numerics.coerce import as_list
from dxopt.numerics.number_syntax import Written
from dxopt.results.announcing import announcing
from dxopt.results.report import Report
from dxopt.results.sweep import EpsilonSweep
from dxopt.runtime.progress import step
from dxopt.runtime.stopping import Status
from dxopt.solving.options import Progress
from dxopt.studies.comparisons import compare
from dxopt.studies.own import Methods, checked_methods
from dxopt.studies.series import answering, require_falling, running, status_short_of_goal


@announcing(level=False)
def sweep(
    problem: Problem,
    epsilons: Iterable[Written],
    methods: Methods | None = None,
    *,
    solver: str = "auto",
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    progress: Progress | bool | None = None,
    partial: bool = False,
    cluster: str | None = None,
    device: str | None = None,
) -> EpsilonSweep:
    """Find the optimum at several levels, with its bound and leakage, next to other mechanisms at the same levels.

    Levels are taken in increasing order, and each solve starts from the answer before it. That spares column
    generation some of its rounds (7% for ten levels on a Euclidean 10×10 grid; from high levels to low ones it
    would cost more rounds than it spares); other ways of solving do without.

    Parameters
    ----------
    problem : Problem
        Whatever its objective and δ; its own ε does not matter, but it must have one.
    epsilons : k numbers
        Levels per unit of distance, positive, in any order.
    methods : list of names, mechanisms, (n, m) arrays, functions or pairs of a name and one of these, optional
        What to compare with the optimum, as for `dx.compare`; nothing by default. A function is given each ε and
        makes a mechanism for it; a mechanism or matrix is proven at each level where it is private.
    solver, tolerance
        As for `dx.solve`, at each level.
    time_limit : float, optional
        Seconds for all. At the limit, and at Ctrl-C, the levels reached are returned. The last of them, where it was
        stopped, has the gap that it had then, and may lack other mechanisms.
    progress, partial, cluster, device
        As for `dx.solve`, for all solves.

    Raises
    ------
    SpecError
        If there is no level, one is given twice or is not positive, there is no mechanism of a name, the problem asks
        for no privacy, or an option is wrong.

    Examples
    --------
    >>> import dxopt as dx
    >>> problem = dx.Problem(dx.line(4), epsilon=1.0, prior=[0.4, 0.3, 0.2, 0.1])
    >>> sweep = dx.sweep(problem, [0.5, 1.0, 2.0], ["geometric"])
    >>> for name, values in sweep.values.items():
    ...     print(name, values.round(3).tolist())
    optimal [0.71, 0.496, 0.196]
    geometric [0.865, 0.521, 0.196]
    """
    required_problem(problem, "sweep")
    levels = checked_levels(epsilons)
    names = checked_methods([] if methods is None else methods)
    require_falling(problem)
    if not problem.private:
        raise SpecError("epsilon", "is not given: the problem asks for no privacy", "give the problem one")
    reports: list[Report] = []
    whole = True
    with running(progress, time_limit, partial, cluster, device) as (tell, stop):
        answer = answering(solver, tell, stop)
        for done, level in enumerate(levels):
            step(tell, done, len(levels), even=True)
            if reports and stop.requested:
                break
            report = answer(problem.at(level), tolerance, reports[-1] if reports else None)
            # With the optimum alone where time is up.
            wanted = () if stop.expired else names
            found = compare(report.problem, wanted, reference=report, tolerance=tolerance, progress=tell)
            stop.interrupted |= found.interrupted
            reports.append(replace(report, comparison=found))
            whole &= report.status is Status.OPTIMAL and not found.interrupted and len(found.rows) == len(names)
        status = Status.OPTIMAL if whole and len(reports) == len(levels) else status_short_of_goal(stop)
    return stop.delivered(EpsilonSweep(problem, tuple(reports), levels, status))


def checked_levels(epsilons: Iterable[Written]) -> tuple[float, ...]:
    """Return levels in increasing order; SpecError unless they are positive, finite and different."""
    levels = sorted(
        checked_level(level, "epsilons") for level in as_list(epsilons, "epsilons", "give a list of numbers")
    )
    if not levels:
        raise SpecError("epsilons", "are none", "give at least 1")
    for below, above in pairwise(levels):
        if below == above:
            raise SpecError("epsilons", f"has {above:g} twice", "keep one")
    return tuple(levels)
