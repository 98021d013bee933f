"""Optima by structure: of a line from n weights and a remap, of a product from its factors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dxopt.errors import SolveError, UnsupportedError
from dxopt.model.problem import Problem
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import Proven, certify
from dxopt.results.report import Report
from dxopt.runtime.stopping import StoppedError
from dxopt.solving.options import Options
from dxopt.solving.reductions.line import best_remap, on_line, quick_candidate
from dxopt.solving.reductions.product import by_factors
from dxopt.solving.routes import limits
from dxopt.solving.routes.limits import is_line
from dxopt.spaces.products import sides


def by_line(problem: Problem, options: Options) -> Iterator[Proven]:
    """Find the optimum of a line, implicit above 100,000 variables; nothing on other spaces.

    Where its bound leaves a gap, a matrix is dropped, as other routes do better; an implicit mechanism is kept, as
    they may be too large. If stopped before its value is known, one whose value is known soon takes its place.
    """
    if not is_line(problem):
        return
    written = problem.variables <= limits.WRITTEN_CELLS
    reduced = on_line(problem, written=written)
    if isinstance(reduced, str):
        options.refused["line"] = reduced
        return

    stop = options.stop
    found = best_remap(reduced.smaller, lambda: stop.requested, options.progress)
    if found is None and written:
        options.refused["line"] = "stopped"
        return
    options.progress("proving privacy")

    def interrupted() -> bool:
        # not by a time limit: what that leaves to be proven is proven all the same
        return stop.requested and stop.interrupted

    candidate = quick_candidate(problem) if found is None else reduced.lift(found)
    try:
        proven = certify(problem, candidate, None if found is None else interrupted)
    except StoppedError:
        found = None
        proven = certify(problem, quick_candidate(problem))
    left = proven.certificate.gap
    if found is not None and left <= options.tolerance:
        yield replace(proven, reductions=reduced.records)
        return
    if not written:
        yield proven
    if found is not None:
        gap = f"its bound leaves a gap of {left:.1e}; exact where the loss grows with the distance"
        stopped = proven.dual is None and stop.interrupted
        options.refused["line"] = "stopped before its bound" if stopped else gap


def by_product(problem: Problem, options: Options) -> Iterator[Candidate]:
    """Find the optima of the factors of a product, implicit above 100,000 variables; nothing elsewhere."""
    if len(sides(problem.space)) < 2:
        return
    try:
        reduced = by_factors(problem, written=problem.variables <= limits.WRITTEN_CELLS)
        if isinstance(reduced, str):
            options.refused["product"] = reduced
            return
        found = _answer_factors(reduced.smaller, options)
        candidate = reduced.lift(found)
    except (UnsupportedError, SolveError) as error:
        options.refused["product"] = error.wrong if isinstance(error, UnsupportedError) else str(error)
        return
    routes = "; ".join(dict.fromkeys(answer.route for answer in found))
    records = (*reduced.records, *_records_of_factors(reduced.smaller, found))
    yield replace(candidate, route=f"product of {len(found)} factors ({routes})", reductions=records)


def _answer_factors(factors: Sequence[Problem], options: Options) -> list[Report]:
    """Answer each factor; factors that are one object are solved once."""
    answers: dict[int, Report] = {}
    for number, factor in enumerate(factors, 1):
        if id(factor) not in answers:
            answers[id(factor)] = options.part(factor, f"factor {number} of {len(factors)}: ")
    return [answers[id(factor)] for factor in factors]


def _records_of_factors(factors: Sequence[Problem], found: Sequence[Report]) -> list[AppliedReduction]:
    """Return the reductions of each factor, for the report; of factors that are one object, once with all numbers."""
    numbers: dict[int, list[int]] = {}
    for number, factor in enumerate(factors, 1):
        numbers.setdefault(id(factor), []).append(number)
    return [
        replace(record, name=f"{record.name} of factor {', '.join(map(str, alike))}")
        for alike in numbers.values()
        for record in found[alike[0] - 1].reductions
    ]
