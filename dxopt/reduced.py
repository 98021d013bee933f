"""Routes that make a problem smaller: lines to n weights and a remap, products to one problem for each coordinate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from dxopt.attempts import Attempt, Options
from dxopt.certify import certify
from dxopt.derived import level_of_base, level_of_factors, product_mechanism, remapped
from dxopt.errors import SolveError, UnsupportedError
from dxopt.implicit import Proven, prove
from dxopt.kernel import PAIRED_POINTS, KernelMechanism, kernel_mechanism, lowered_level
from dxopt.mechanism import Mechanism
from dxopt.problem import Problem
from dxopt.reductions.line import (
    LineOptimum,
    best_on_line,
    coordinates_of_line,
    line_steps,
)
from dxopt.reductions.product import ProductDual, Split, sides, split
from dxopt.reductions.record import Reduction
from dxopt.regularity.systems import system

WRITTEN_CELLS = 100_000
"""Channels of at most so many entries are written down, and proven entry by entry."""
_LINE_ROUTE = "line: truncated geometric mechanism with optimal remap"
_LINE_NOTE = (
    "n weights and a remap are optimal where the loss grows with the distance (Ghosh, Roughgarden and Sundararajan "
    "2009); proven here by their own dual"
)
_PRODUCT_NOTE = "independent coordinates, a loss that is a sum over them: the optima of the factors add up"


def is_line(problem: Problem) -> bool:
    """Whether the secrets lie on a line."""
    return coordinates_of_line(problem.space) is not None


def by_line(problem: Problem, options: Options, refused: dict[str, str]) -> Iterator[Attempt]:
    """The optimum of a line, implicit above 100,000 variables; nothing where the space is none.

    Where its bound leaves a gap, the reason is noted, and it is yielded only if it is implicit.
    """
    if not is_line(problem):
        return
    size = len(problem.space)
    if problem.variables > PAIRED_POINTS**2 or size > PAIRED_POINTS:
        refused["line"] = f"would go through {problem.variables:,} pairs, over the limit of {PAIRED_POINTS**2:,}"
        return
    if not np.isfinite(line_steps(problem.space)).all():
        refused["line"] = "some points are further apart than doubles can say"
        return
    written, base = problem.variables <= WRITTEN_CELLS, None
    if not written:
        try:
            base = _geometric(problem)
        except UnsupportedError as error:
            refused["line"] = error.wrong
            return
    found = best_on_line(problem, lambda: options.stop.requested, options.progress)
    dual = None if found is None else found.dual
    options.progress("proving privacy")
    if base is not None:
        mechanism = _implicit_line(problem, base, found)
        proof = prove(problem, mechanism, dual)
    elif found is not None:
        mechanism, proof = certify(problem, _written_line(problem, found), dual, name=_LINE_ROUTE)
    else:
        refused["line"] = "stopped"
        return
    before, left = dict(refused), proof.gap
    exact = found is not None and left <= options.tolerance
    if not exact and found is not None:
        refused["line"] = f"its bound leaves a gap of {left:.1e}; exact where the loss grows with the distance"
    if exact or not written:
        records = (_line_record(problem),) if exact else ()
        yield Attempt(Proven(mechanism, proof, dual, "exact" if exact else "valid"), _LINE_ROUTE, before, records)


def _geometric(problem: Problem) -> KernelMechanism:
    """The truncated geometric mechanism, at a level that lets it be remapped."""
    space, level = problem.space, level_of_base(problem.space, problem.epsilon)
    lowered = lowered_level(space, level, system(space, level))
    kernel = system(space, lowered)
    weights = np.maximum(kernel.approximate(np.ones(len(space))), 0.0)
    return replace(kernel_mechanism(space, level, kernel, lowered, weights), name="truncated geometric")


def _implicit_line(problem: Problem, base: KernelMechanism, found: LineOptimum | None) -> Mechanism:
    """With the optimal remap; or, where there was no time for it, each report replaced by the best one there."""
    if found is not None:
        return remapped(replace(base, slack=found.safest), found.table, problem.reports, problem.epsilon)
    step = max(1, WRITTEN_CELLS // problem.shape[1])
    rows = np.split(np.arange(len(problem.space)), range(step, len(problem.space), step))
    table = np.concatenate([problem.loss.rows(some).argmin(axis=1) for some in rows])
    return remapped(base, table, problem.reports, problem.epsilon)


def _line_record(problem: Problem) -> Reduction:
    return Reduction("line", True, problem.variables, len(problem.space), _LINE_NOTE, "variables")


def _written_line(problem: Problem, found: LineOptimum) -> NDArray[np.float64]:
    kernel = np.exp(-problem.budgets)
    weights = np.maximum(system(problem.space, problem.epsilon).approximate(np.ones(len(kernel))), 0.0)
    channel = np.zeros(problem.shape)
    np.add.at(channel.T, found.table, (kernel * weights).T)
    return channel


def by_product(problem: Problem, options: Options, refused: dict[str, str]) -> Iterator[Attempt]:
    """The optima of the factors of a product, implicit above 100,000 variables; nothing where the space is none."""
    if len(sides(problem.space)) < 2:
        return
    parts = split(problem)
    if isinstance(parts, str):
        refused["product"] = parts
        return
    written, count = problem.variables <= WRITTEN_CELLS, len(parts.factors)
    try:
        level = problem.epsilon
        if not written:
            level = level_of_factors(problem.space, level, count, parts.doubt)
        answers: dict[int, Attempt] = {}
        for place, factor in enumerate(parts.factors, 1):
            if id(factor) not in answers:
                answers[id(factor)] = options.solve(factor.at(level), f"factor {place} of {count}: ")
        found = [answers[id(factor)] for factor in parts.factors]
        answer = _joined(problem, parts, found, written=written)
    except (UnsupportedError, SolveError) as error:
        refused["product"] = error.wrong if isinstance(error, UnsupportedError) else str(error)
        return
    routes = "; ".join(dict.fromkeys(attempt.route for attempt in found))
    yield Attempt(answer, f"product of {count} factors ({routes})", dict(refused), _product_records(parts, found))


def _joined(problem: Problem, parts: Split, found: Sequence[Attempt], *, written: bool) -> Proven:
    proven = [attempt.answer for attempt in found if isinstance(attempt.answer, Proven)]
    mechanisms = [answer.mechanism for answer in proven]
    dual = ProductDual(tuple(answer.dual for answer in proven))  # pyright: ignore[reportArgumentType]
    if written:
        channel = np.asarray(reduce(np.kron, (mechanism.matrix for mechanism in mechanisms)), dtype=np.float64)
        mechanism, proof = certify(problem, channel, dual, name=f"product of {len(mechanisms)} factors")
    else:
        mechanism = product_mechanism(problem.space, mechanisms, problem.epsilon, parts.doubt)
        proof = prove(problem, mechanism, dual)
    return Proven(mechanism, proof, dual, "exact")


def _product_records(parts: Split, found: Sequence[Attempt]) -> tuple[Reduction, ...]:
    """The product, then what was applied to each factor, factors alike once."""
    variables = {id(factor): factor.variables for factor in parts.factors}
    size = math.prod(len(factor.space) for factor in parts.factors)
    records = [Reduction("product", True, size**2, sum(variables.values()), _PRODUCT_NOTE, "variables")]
    for key in variables:
        places = [str(place) for place, factor in enumerate(parts.factors, 1) if id(factor) == key]
        for record in found[int(places[0]) - 1].reductions:
            records.append(replace(record, name=f"{record.name} of factor {', '.join(places)}"))
    return tuple(records)
