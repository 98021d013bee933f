"""Further figures of a mechanism, by the names that a problem file uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dxopt.analysis import characterise, evaluate
from dxopt.model.mechanism import Mechanism
from dxopt.model.problem import Problem

SMALLEST_DELTA = "smallest_delta"
ERROR_BOUND = "error_bound"
MEASURES_OF_EPSILON = (SMALLEST_DELTA, ERROR_BOUND)
"""The measures that need an ε."""
MEASURES: dict[str, Callable[[Mechanism, Problem], float]] = {
    "expected_loss": lambda mechanism, problem: evaluate.expected_loss(mechanism, problem.prior, problem.loss),
    "worst_loss": lambda mechanism, problem: evaluate.worst_loss(mechanism, problem.loss),
    "utility": lambda mechanism, problem: evaluate.utility(mechanism, problem.prior),
    "min_entropy_leakage": lambda mechanism, problem: evaluate.min_entropy_leakage(mechanism, problem.prior),
    "adversary_error": lambda mechanism, problem: evaluate.adversary_error(mechanism, problem.prior),
    "min_capacity": lambda mechanism, _: evaluate.capacity(mechanism),
    "additive_capacity": lambda mechanism, _: evaluate.additive_capacity(mechanism),
    ERROR_BOUND: lambda _, problem: _error_bound(problem),
    SMALLEST_DELTA: lambda mechanism, problem: evaluate.smallest_delta(
        mechanism, problem.epsilon, pairs=problem.pairs
    ),
}


def _error_bound(problem: Problem) -> float:
    """Bound from below the worst secret's expected distance, for any mechanism this private (HLM14 Thms 6, 7)."""
    from dxopt.analysis.sanitisation import error_bounds

    return error_bounds(problem.space, epsilon=problem.epsilon, delta=problem.delta, reports=problem.reports).best


@dataclass(frozen=True)
class Beliefs:
    """Question about an adversary's beliefs.

    Attributes
    ----------
    name : str
    places : tuple of int
        Indices of secrets: the adversary knows that the secret is one of them; or, for each secret, the one that it
        is replaced by.
    hiding : bool
        Whether it is the second.
    """

    name: str
    places: tuple[int, ...]
    hiding: bool


def learned(mechanism: Mechanism, problem: Problem, asked: Beliefs) -> dict[str, float]:
    """Return how much a report can change the beliefs asked about, and a bound on that (CABP13 Thms 1 to 4).

    Both are distances d_P between beliefs, in logarithms. The first, `name`, is that of this mechanism, over all
    events, also random ones that depend on the report; the second, `name, at most`, follows from its privacy alone.
    """
    measure = characterise.after_hiding if asked.hiding else characterise.within
    found = measure(mechanism, problem.prior, asked.places)
    return {asked.name: found.limit, f"{asked.name}, at most": found.bound}


def of_records(mechanism: Mechanism, problem: Problem, records: int) -> dict[str, float]:
    """Return loss, ε and δ of publishing a database of n records, each perturbed by itself (HLM14 Thm 5)."""
    from dxopt.analysis.sanitisation import product_sanitisation

    sanitisation = product_sanitisation(mechanism, records)
    return {
        f"expected loss of {records} records": sanitisation.expected_error(problem.prior, problem.loss),
        "epsilon of one record": sanitisation.one_record,
        "delta of one record": sanitisation.privacy.delta,
    }
