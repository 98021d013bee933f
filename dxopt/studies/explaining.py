"""Results, mechanisms and problems in plain words, also at other ε."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dxopt.errors import SpecError
from dxopt.model.loss import Loss, LossLike
from dxopt.model.mechanism import Mechanism
from dxopt.model.objective import WorstLoss
from dxopt.model.prior import Prior, PriorLike
from dxopt.model.problem import Problem
from dxopt.numerics.coerce import POSITIVE, as_number, checked_count
from dxopt.numerics.number_syntax import Written
from dxopt.results.explanation import explain_mechanism, explain_problem
from dxopt.results.folder import FRONTIER, LEVEL, PARTS, SWEEP, holds_report, is_result
from dxopt.results.reading import load
from dxopt.results.report import Report
from dxopt.results.sweep import EpsilonSweep
from dxopt.runtime.reading import as_path, is_file, is_folder
from dxopt.solving.sizes import size_text
from dxopt.studies.sweeps import sweep
from dxopt.words.result import Explanation


def explain(
    found: Report | EpsilonSweep | Mechanism | Problem,
    *,
    epsilons: Iterable[Written] | None = None,
    distance: float | None = None,
    reports: int | None = None,
    values: int | None = None,
    prior: PriorLike | None = None,
    loss: LossLike | Loss = "distance",
    **options: Any,
) -> Explanation:
    """Explain what something promises and costs, in plain words.

    Parameters
    ----------
    found : Report, EpsilonSweep, Mechanism or Problem
        Of a problem only what it asks for is told, and what solving it comes to, as nothing is solved without
        `epsilons`.
    epsilons : k numbers, optional
        Levels per unit of distance: the explanation then has a table of what each of them costs. The problem is
        solved at each, as by `dx.sweep`.
    distance : float, optional
        How far apart the two secrets are of which factors are told, in the unit of distances; 1 by default, or a
        typical distance where 1 is none.
    reports : int, optional
        How many reports of one person are told of beside one; 10 by default.
    values : int, optional
        How many published values are told of together, each drawn by itself: within what all of them are, and how
        far off their total is. Of a report, a mechanism, or each level of the table.
    prior : Prior, "uniform" or (n,) array, optional
    loss : str, array, callable or Loss
        For a mechanism alone, which has none of its own. Without a prior the worst cases are told alone.
    **options
        For `dx.sweep`, such as `tolerance` and `time_limit`.

    Raises
    ------
    SpecError
        If it is none of these, or an option does not go with it.

    Examples
    --------
    >>> import dxopt as dx
    >>> problem = dx.Problem(dx.line(11, unit="people"), epsilon="ln(2)", prior="uniform")
    >>> print(dx.explain(problem).sentences[0][1])
    Seeing one report, nobody can change the odds between two values 1 person apart by more than a factor of 2.
    >>> print(dx.explain(problem, distance=3).sentences[0][1])
    Seeing one report, nobody can change the odds between two values 3 people apart by more than a factor of 8.
    >>> print(dict(dx.explain(dx.solve(problem), values=12).sentences)["several values"].partition(" with ")[0])
    12 published values, each drawn by itself, all lie within 7 people of the true values
    """
    number = None if values is None else checked_count("values", values)
    told = _default_explanation(found, epsilons, prior, loss, options, number)
    if distance is not None:
        told = told.told_at(as_number(distance, "distance", *POSITIVE))
    if reports is not None:
        told = replace(told, reports=checked_count("reports", reports))
    if number is None:
        return told
    if isinstance(found, Report):
        return _told_of_values(told, found, number)
    if isinstance(found, Mechanism):
        return told.told_of(number, found, None if prior is None else Prior.of(prior, found.space))
    if told.choices:
        return replace(told, values=number)
    wrong = f"is {number}, which asks about a mechanism"
    raise SpecError("values", wrong, "solve the problem first and give its report, or ask for levels")


def _told_of_values(told: Explanation, report: Report, values: int) -> Explanation:
    """Return an explanation of a report with the errors of several values together; the worst loss has no prior."""
    believed = None if isinstance(report.problem.objective, WorstLoss) else report.problem.prior
    return told.told_of(values, report.mechanism, believed)


def _choices(reports: Iterable[Report], values: int | None) -> tuple[Explanation, ...]:
    """Return the explanations of reports at several levels, for the table; `values` are told of together if given."""
    return tuple(
        one.explanation if values is None else _told_of_values(one.explanation, one, values) for one in reports
    )


def _default_explanation(
    found: Any,
    epsilons: Iterable[Written] | None,
    prior: PriorLike | None,
    loss: Any,
    options: dict[str, Any],
    values: int | None,
) -> Explanation:
    """Return the explanation of anything that has one, at the default distance and number of reports."""
    if isinstance(found, EpsilonSweep) and epsilons is None:
        return replace(explain_problem(found.problem), choices=_choices(found.reports, values))
    if isinstance(found, Mechanism):
        if epsilons is not None:
            raise SpecError("epsilons", "go with a problem, and a mechanism has none", "give the problem or report")
        return explain_mechanism(found, None if prior is None else Prior.of(prior, found.space), loss)
    if not isinstance(found, Report | EpsilonSweep | Problem):
        wrong = f"is of type {type(found).__name__}"
        raise SpecError("found", wrong, "give a report, a mechanism or a problem; of a frontier one of its reports")
    if prior is not None or loss != "distance":
        raise SpecError("prior" if prior is not None else "loss", "is that of the problem", "leave it out")
    problem = found if isinstance(found, Problem) else found.problem
    told = found.explanation if isinstance(found, Report) else explain_problem(problem)
    if epsilons is None:
        return replace(told, size=size_text(problem)) if isinstance(found, Problem) else told
    return replace(told, choices=_choices(sweep(problem, epsilons, **options).reports, values))


def load_explainable(folder: str | Path) -> Report | EpsilonSweep:
    """Load from a result folder what `explain` takes, proven again: its report, or the reports at its levels.

    SpecError where it holds nothing that can be explained, and CertificateError where something does not hold.
    """
    path = as_path(folder, "result")
    if not is_folder(path):
        raise SpecError("result", f"{path} is no folder", "give one that `dxopt solve` wrote, or a problem file")
    if holds_report(path):
        return load(path)
    if is_file(path / SWEEP):
        return EpsilonSweep.load(path)
    parts = sorted(place for place in (path / PARTS).glob("*") if holds_report(place))
    if is_file(path / FRONTIER) and parts:
        reports = tuple(load(part) for part in parts)
        levels = tuple(report.problem.epsilon for report in reports)
        if len({*levels}) == len(levels):  # along a loss budget all reports have one ε
            return EpsilonSweep(reports[0].problem, reports, levels, reports[0].status)
        raise SpecError("result", f"{path} is about loss budgets, not levels", f"give a part, such as {parts[0]}")
    if is_file(path / LEVEL):
        raise SpecError("result", f"{path} found no level", "search further: solve its problem with a larger loss")
    inside = sorted(place for place in path.glob("*") if is_result(place))
    if inside:
        some = " ".join(map(str, inside[:2]))
        raise SpecError("result", f"{path} is a folder of {len(inside)} results", f"name those to explain, as {some}")
    raise SpecError("result", f"{path} is no result folder", "give one that `dxopt solve` wrote, or a problem file")
