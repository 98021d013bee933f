"""What report.json tells beside the certificate: measures, and the comparison with other mechanisms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dxopt.verify.claims import AGREEMENT
from dxopt.verify.exact import is_power_of_two
from dxopt.verify.folder import Result, as_number
from dxopt.verify.privacy import Levels, bound_pairs, excess
from dxopt.verify.values import Enclosed
from dxopt.verify.verdict import Broken, Check, Outcome, Unproved

_LEAST = Fraction(1, 10**11)


def check_measure(result: Result, name: str, claimed: object) -> str:
    """A measure of the channel, to 1e-12 of the size of its terms; Unproved where it is none of those known here."""
    result.require_written()
    number = as_number(claimed, f"report.json: {name}")
    if name not in _MEASURES:
        raise Unproved(f"{number:.12g}: not about the channel, prior and losses alone")
    _MEASURES[name](result, name, number)
    return f"{number:.12g}"


def _expected(result: Result, name: str, claimed: float) -> None:
    _agree(name, result.worth.expected_loss(result.losses), claimed)


def _worst(result: Result, name: str, claimed: float) -> None:
    _agree(name, result.worth.worst_loss(result.all_losses), claimed)


def _utility(result: Result, name: str, claimed: float) -> None:
    correct = result.worth.correct()
    _agree(name, Enclosed(correct, correct, correct), claimed)


def _leakage(result: Result, name: str, claimed: float) -> None:
    ratio = result.worth.correct() / Fraction(float(result.prior.max()))
    if not (math.isfinite(claimed) and is_power_of_two(ratio, claimed, AGREEMENT)):
        raise Broken(f"report.json: {name} is {math.log2(ratio):.17g}, not {claimed:.17g}")


def _adversary(result: Result, name: str, claimed: float) -> None:
    if not np.isfinite(result.distances).all():
        raise Unproved(f"{claimed:.12g}: some distances are infinite")
    _agree(name, result.worth.adversary_error(result.distances), claimed)


def _delta(result: Result, name: str, claimed: float) -> None:
    bound = bound_pairs(result.distances, str(result.summary.get("pairs")))
    levels = Levels.of(result.distances, bound, Fraction(result.epsilon))
    largest, place = excess(result.channel, levels, Fraction(claimed))
    if place is not None or largest < Fraction(claimed) - _LEAST:
        raise Broken(f"report.json: {name} is not {claimed:.17g}, but at least {float(largest):.17g}")


_MEASURES: dict[str, Callable[[Result, str, float], None]] = {
    "expected_loss": _expected,
    "worst_loss": _worst,
    "utility": _utility,
    "min_entropy_leakage": _leakage,
    "adversary_error": _adversary,
    "smallest_delta": _delta,
}


def _agree(name: str, exact: Enclosed, claimed: float) -> None:
    if not exact.agrees(claimed):
        raise Broken(f"report.json: {name} is {float(exact.low):.17g}, not {claimed:.17g}")


def check_comparison(result: Result, comparison: dict[str, Any]) -> str:
    """What follows from the arrays and from other figures; those of other mechanisms are left to `unproved_rows`."""
    rows, limit = comparison["rows"], comparison["bound"]
    told = {
        "problem": (comparison["problem"], result.summary.get("problem")),
        "epsilon": (comparison["epsilon"], result.epsilon if result.private else None),
        "delta": (comparison["delta"], result.delta),
    }
    for name, (found, known) in told.items():
        if found != known:
            raise Broken(f"report.json: the comparison's {name} is {found!r}, not {known!r}")
    sign = -1 if result.objective == "adversary_error" else 1
    best = next((row["value"] for row in rows if row["name"] == "optimal"), None)
    if limit is not None and sign * (Fraction(result.claimed("bound")) - Fraction(limit)) > 0:
        raise Broken(f"report.json: the comparison's bound {limit:.17g} is worse than the certificate's")
    for row in rows:
        _check_row(result, row, best, limit, sign)
    return f"{len(rows)} rows agree with each other and with the certificate"


def _check_row(result: Result, row: dict[str, Any], best: float | None, limit: float | None, sign: int) -> None:
    name, value, remapped = row["name"], row["value"], row["remapped"]
    if value is None:
        return
    follows = {
        "gap": None if limit is None else _share(abs(Fraction(value) - Fraction(limit)), max(abs(value), 1e-12)),
        "excess": _above(value, best),
        "remapped_excess": None if remapped is None else _above(remapped, best),
    }
    for key, found in follows.items():
        claimed = row[key]
        if (claimed is None) != (found is None) or (
            found is not None and abs(found - Fraction(claimed)) > AGREEMENT * max(1, abs(found))
        ):
            raise Broken(f"report.json: the comparison's {key} of {name} is {claimed}, not {found and float(found)}")
    if (
        limit is not None
        and row["private"]
        and sign * (Fraction(limit) - Fraction(value)) > AGREEMENT * abs(Fraction(value))
    ):
        raise Broken(f"report.json: the comparison's value of {name} is better than the bound")
    for key, most in (("epsilon", result.epsilon), ("delta", result.delta)):
        if row["private"] and row[key] is not None and row[key] > most:
            raise Broken(f"report.json: the comparison's {key} of {name} is {row[key]:.17g}, over {most:.17g}")
    if result.written and is_own(result, row):
        _check_own(result, row)


def is_own(result: Result, row: dict[str, Any]) -> bool:
    """Whether a row is about the mechanism of the folder, which its value and levels tell."""
    return row["name"] == "optimal" and row["value"] == result.claimed("value")


def _check_own(result: Result, row: dict[str, Any]) -> None:
    asked = {"epsilon": result.private, "delta": bool(result.delta)}
    for key, there in asked.items():
        if row[key] != (result.claimed(key) if there else None):
            raise Broken(f"report.json: the comparison's {key} of optimal is not the certificate's")
    _leakage(result, "the comparison's leakage of optimal", as_number(row["leakage"], "leakage"))
    if row["remapped"] is not None:
        _agree("the comparison's remapped", result.worth.adversary_error(result.losses), row["remapped"])


def _share(part: Fraction, whole: float) -> Fraction:
    return part / Fraction(whole)


def _above(value: float, best: float | None) -> Fraction | None:
    return None if not best else (Fraction(value) - Fraction(best)) / abs(Fraction(best))


def unproved_rows(result: Result, comparison: dict[str, Any]) -> Iterator[Check]:
    """What the files do not hold the mechanisms or duals of."""
    others = [row["name"] for row in comparison["rows"] if row["value"] is not None and not is_own(result, row)]
    if others:
        detail = f"their mechanisms are not in the files: {', '.join(others)}"
        yield Check("comparison: others", Outcome.NOT_REPROVED, detail)
    if comparison["bound"] is not None and comparison["bound"] != result.claimed("bound"):
        yield Check("comparison: bound", Outcome.NOT_REPROVED, "another mechanism's dual, which is not in the files")
    if comparison["bounds"] or any(row["under"] for row in comparison["rows"]):
        yield Check("comparison: other priors", Outcome.NOT_REPROVED, "they are not in the files")
    if comparison["verdict"] is not None:
        yield Check("comparison: verdict", Outcome.NOT_REPROVED, str(comparison["verdict"]))
