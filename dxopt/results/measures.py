"""Further figures of a report, by the names that a problem file uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dxopt.analysis import characterise, evaluate
from dxopt.analysis.sanitisation import error_bounds, product_sanitisation
from dxopt.model.problem import Problem
from dxopt.results.report import Report

SMALLEST_DELTA, ERROR_BOUND = "smallest_delta", "error_bound"
OF_LEVELS = (SMALLEST_DELTA, ERROR_BOUND)
"""The measures that need an ε."""
MEASURES: dict[str, Callable[[Report], float]] = {
    "expected_loss": lambda r: evaluate.expected_loss(r.mechanism, r.problem.prior, r.problem.loss),
    "worst_loss": lambda r: evaluate.worst_loss(r.mechanism, r.problem.loss),
    "utility": lambda r: evaluate.utility(r.mechanism, r.problem.prior),
    "min_entropy_leakage": lambda r: evaluate.min_entropy_leakage(r.mechanism, r.problem.prior),
    "adversary_error": lambda r: evaluate.adversary_error(r.mechanism, r.problem.prior),
    ERROR_BOUND: lambda r: _error_bound(r.problem),
    SMALLEST_DELTA: lambda r: evaluate.smallest_delta(r.mechanism, r.problem.epsilon, pairs=r.problem.pairs),
}


def _error_bound(problem: Problem) -> float:
    """What the expected distance is at least in some secret (HLM14 Thms 6, 7)."""
    return error_bounds(problem.space, epsilon=problem.epsilon, delta=problem.delta, reports=problem.reports).best


@dataclass(frozen=True)
class Beliefs:
    """What is asked about an adversary's beliefs.

    Attributes
    ----------
    name : str
    places : tuple of int
        Secrets of which the adversary knows that it is one; or, for each secret, the one that takes its place.
    hiding : bool
        Whether it is the second.
    """

    name: str
    places: tuple[int, ...]
    hiding: bool

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Beliefs:
        """The inverse of `dataclasses.asdict`, with a list for the places."""
        return cls(**{**content, "places": tuple(content["places"])})


def learned(report: Report, asked: Beliefs) -> dict[str, float]:
    """How far a report moves those beliefs at most, as d_P, and what privacy promises (CABP13 Thms 1 to 4)."""
    measure = characterise.after_hiding if asked.hiding else characterise.within
    found = measure(report.mechanism, report.problem.prior, asked.places)
    return {asked.name: found.gain, f"{asked.name}, at most": found.bound}


def of_records(report: Report, records: int) -> dict[str, float]:
    """What databases of n records cost if each is perturbed on its own, and how private that is (HLM14 Thm 5)."""
    problem, sanitisation = report.problem, product_sanitisation(report.mechanism, records)
    return {
        f"expected loss of {records} records": sanitisation.expected_error(problem.prior, problem.loss),
        "epsilon of one record": sanitisation.one_record,
        "delta of one record": sanitisation.privacy.delta,
    }
