"""The rows of a comparison: a mechanism each, with its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dxopt.analysis import evaluate
from dxopt.analysis.order.remaps import RandomRemap
from dxopt.analysis.regularity import verdict
from dxopt.model.mechanism import Mechanism
from dxopt.model.objective import ExpectedLoss
from dxopt.model.problem import Problem
from dxopt.proofs.certify import gap
from dxopt.results.compared import Compared
from dxopt.results.files import finite
from dxopt.studies.own import REFERENCE

VERDICT_POINTS = 400
"""For more secrets than that it is not decided whether the prior is regular."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A mechanism of a comparison, and what was proven or measured of it."""

    mechanism: Mechanism
    private: bool
    epsilon: float | None
    delta: float | None
    value: float
    note: str = ""
    baseline: bool = False


def rows_of(
    problem: Problem,
    others: Mapping[str, Problem],
    entries: Mapping[str, Entry | str],
    bound: float | None,
    remaps: Mapping[str, RandomRemap],
) -> Iterator[Compared]:
    """Yield the rows in order; excesses are relative to the reference, which is the first."""
    best: float | None = None
    for name, entry in entries.items():
        if isinstance(entry, str):
            yield Compared(name, note=entry)
            continue
        mechanism = entry.mechanism
        best = entry.value if name == REFERENCE else best
        averaged = isinstance(problem.objective, ExpectedLoss)
        remapped = evaluate.adversary_error(mechanism, problem.prior, problem.loss) if averaged else None
        drawn = remaps.get(name)
        remapped = remapped if drawn is None else drawn.value
        yield Compared(
            name,
            value=entry.value,
            remapped=remapped,
            gap=None if bound is None else gap(entry.value, bound),
            private=entry.private,
            epsilon=None if entry.epsilon is None else finite(entry.epsilon),
            leakage=evaluate.min_entropy_leakage(mechanism, problem.prior),
            note=entry.note,
            delta=entry.delta,
            excess=_excess(entry.value, best),
            remapped_excess=None if remapped is None else _excess(remapped, best),
            remapped_bound=None if drawn is None else drawn.bound,
            under={name: value_of(other, mechanism) for name, other in others.items()},
            baseline=entry.baseline,
        )


def value_of(problem: Problem, mechanism: Mechanism) -> float:
    """What the objective of the problem is about."""
    if isinstance(problem.objective, ExpectedLoss):
        return evaluate.expected_loss(mechanism, problem.prior, problem.loss)
    return problem.objective.value(problem, mechanism.matrix)


def _excess(value: float, best: float | None) -> float | None:
    """How far a value is above the best one, relative to that; None where that is missing or 0."""
    return None if not best else (value - best) / abs(best)


def verdict_of(problem: Problem) -> str | None:
    """Whether the prior is regular, which makes the tight-constraints mechanism optimal for binary loss."""
    if problem.why_coupled is not None or not problem.loss.is_binary or len(problem.space) > VERDICT_POINTS:
        return None
    return str(verdict(problem.prior, problem.space, problem.epsilon))
