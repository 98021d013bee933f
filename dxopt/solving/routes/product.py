"""The optimum of a product: the optima of its factors, each found by a route of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dxopt.errors import SolveError, UnsupportedError
from dxopt.model.problem import Problem
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.candidate import Candidate
from dxopt.results.report import Report
from dxopt.solving.attempts import Options
from dxopt.solving.reductions.product import Product
from dxopt.solving.routes import limits
from dxopt.spaces.products import sides


def by_product(problem: Problem, options: Options) -> Iterator[Candidate]:
    """Find the optima of the factors of a product, implicit above 100,000 variables; nothing elsewhere."""
    if len(sides(problem.space)) < 2:
        return
    try:
        reduced = Product(written=problem.variables <= limits.WRITTEN_CELLS).apply(problem)
        if isinstance(reduced, str):
            options.refused["product"] = reduced
            return
        found = _answers(reduced.smaller, options)
        candidate = reduced.lift(found)
    except (UnsupportedError, SolveError) as error:
        options.refused["product"] = error.wrong if isinstance(error, UnsupportedError) else str(error)
        return
    routes = "; ".join(dict.fromkeys(answer.route for answer in found))
    records = (*reduced.records, *_records_of_factors(reduced.smaller, found))
    yield replace(candidate, route=f"product of {len(found)} factors ({routes})", reductions=records)


def _answers(factors: Sequence[Problem], options: Options) -> list[Report]:
    """Answer each factor; factors that are one object are solved once."""
    answers: dict[int, Report] = {}
    for number, factor in enumerate(factors, 1):
        if id(factor) not in answers:
            answers[id(factor)] = options.part(factor, f"factor {number} of {len(factors)}: ")
    return [answers[id(factor)] for factor in factors]


def _records_of_factors(factors: Sequence[Problem], found: Sequence[Report]) -> list[AppliedReduction]:
    """Return what was applied to each factor; to factors that are one object, once."""
    numbers: dict[int, list[int]] = {}
    for number, factor in enumerate(factors, 1):
        numbers.setdefault(id(factor), []).append(number)
    return [
        replace(record, name=f"{record.name} of factor {', '.join(map(str, alike))}")
        for alike in numbers.values()
        for record in found[alike[0] - 1].reductions
    ]
