"""The measures in claims.json: what it claims of the mechanism besides the certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from dxopt.verify.exact import is_power_of_two
from dxopt.verify.folder import Result, as_number
from dxopt.verify.implicit import claims as implicit
from dxopt.verify.measures.agreement import agree
from dxopt.verify.measures.beliefs import check_beliefs
from dxopt.verify.measures.error_bound import check_error_bound
from dxopt.verify.measures.records import check_records, is_of_records
from dxopt.verify.privacy import LEAST_DELTA, Levels, bound_pairs, excess
from dxopt.verify.values import AGREEMENT, Enclosed
from dxopt.verify.verdict import Broken


def check_measure(result: Result, name: str, claimed: object) -> str:
    """A measure of the channel, to 1e-12 of the size of its terms."""
    number = as_number(claimed, f"claims.json: {name}")
    if not result.written and name == "expected_loss":
        agree(name, implicit.expected_loss(result), number)
        return f"{number:.12g}"
    result.require_written()
    if name in _MEASURES:
        _MEASURES[name](result, name, number)
    elif is_of_records(name):
        check_records(result, name, number)
    else:
        check_beliefs(result, name, number)
    return f"{number:.12g}"


def _expected(result: Result, name: str, claimed: float) -> None:
    agree(name, result.worth.expected_loss(result.losses), claimed)


def _worst(result: Result, name: str, claimed: float) -> None:
    agree(name, result.worth.worst_loss(result.all_losses), claimed)


def _utility(result: Result, name: str, claimed: float) -> None:
    correct = result.worth.correct()
    agree(name, Enclosed(correct, correct, correct), claimed)


def check_leakage(result: Result, name: str, claimed: float) -> None:
    """The min-entropy leakage, to 1e-12 bits."""
    ratio = result.worth.correct() / Fraction(float(result.prior.max()))
    if not (math.isfinite(claimed) and is_power_of_two(ratio, claimed, AGREEMENT)):
        raise Broken(f"claims.json: {name} is {math.log2(ratio):.17g}, not {claimed:.17g}")


def _min_capacity(result: Result, name: str, claimed: float) -> None:
    """log2 Σ_z max_x K[x, z], to 1e-12 bits."""
    total = sum(map(Fraction, result.matrix.max(axis=0).tolist()), Fraction(0))
    if not (math.isfinite(claimed) and is_power_of_two(max(total, Fraction(1)), claimed, AGREEMENT)):
        raise Broken(f"claims.json: {name} is {math.log2(total):.17g}, not {claimed:.17g}")


def _additive_capacity(result: Result, name: str, claimed: float) -> None:
    """1 - Σ_z min_x K[x, z]."""
    least = sum(map(Fraction, result.matrix.min(axis=0).tolist()), Fraction(0))
    exact = max(Fraction(0), 1 - least)
    agree(name, Enclosed(exact, exact, Fraction(1)), claimed)


def _adversary(result: Result, name: str, claimed: float) -> None:
    agree(name, result.worth.adversary_error(result.distances), claimed)


def _error_bound(result: Result, name: str, claimed: float) -> None:
    check_error_bound(result, claimed)


def _delta(result: Result, name: str, claimed: float) -> None:
    bound = bound_pairs(result.distances, str(result.named.get("pairs")))
    levels = Levels.of(result.distances, bound, Fraction(result.epsilon))
    largest, violated = excess(result.channel, levels, Fraction(claimed))
    if violated is not None or largest < Fraction(claimed) - LEAST_DELTA:
        raise Broken(f"claims.json: {name} is not {claimed:.17g}, but at least {float(largest):.17g}")


_MEASURES: dict[str, Callable[[Result, str, float], None]] = {
    "expected_loss": _expected,
    "worst_loss": _worst,
    "utility": _utility,
    "min_entropy_leakage": check_leakage,
    "adversary_error": _adversary,
    "min_capacity": _min_capacity,
    "additive_capacity": _additive_capacity,
    "smallest_delta": _delta,
    "error_bound": _error_bound,
}
