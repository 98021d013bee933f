"""level.json and sweep.json: what they claim of levels, proven again from the results that they rest on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from dxopt.verify.bounds.dual import bound
from dxopt.verify.claims import attained
from dxopt.verify.exact import at_most
from dxopt.verify.files import LEVEL, PARTS, SWEEP
from dxopt.verify.folder import Result, as_number
from dxopt.verify.parts.reading import Part, agree, agree_number, finite, finite_list, read_answer, require_parts
from dxopt.verify.values import AGREEMENT
from dxopt.verify.verdict import Broken

_FALLING = ("expected_loss", "worst_loss", "worst_expected_loss")
_ROUNDING = Fraction(1, 10**9)


def check_level(folder: Path, report: Result | None, parts: Sequence[Part]) -> str:
    """At `epsilon` the loss is possible, as the report shows, and at `below` it is not, as the part's dual proves."""
    content = read_answer(folder, LEVEL, "max_loss", "accuracy", "epsilon", "below", "resolution")
    # 1. The file agrees with the report, if a level was found, and the part, if one was refuted.
    most, accuracy, below = (finite(content, key, LEVEL) for key in ("max_loss", "accuracy", "below"))
    epsilon = as_number(content["epsilon"], f"{LEVEL}: epsilon")
    for some in (report, *parts):
        if some is not None and some.named.get("objective") not in _FALLING:
            raise Broken(f"{LEVEL}: {some.named.get('objective')} is no loss that falls as epsilon grows")
    agree(LEVEL, "epsilon", epsilon, math.inf if report is None else report.epsilon)
    # 2. The ends, and how many parts there are to be: one for the lower end, unless that is 0.
    _check_ends(content, epsilon, below, accuracy)
    if len(parts) != (below > 0):
        raise Broken(f"{LEVEL}: below is {below:.17g}, but there are {len(parts)} {PARTS}")
    # 3. At epsilon the loss of the report is small enough; at below no private channel has one, by the dual of the
    #    part.
    if report is not None:
        loss = attained(report).high
        if loss > Fraction(most):
            raise Broken(f"{LEVEL}: at epsilon {epsilon:.17g} the loss is {float(loss):.17g}, over {most:.17g}")
    if parts:
        agree(LEVEL, "below", below, parts[0].epsilon)
        refuting = Result.read(folder / parts[0].name)
        proven, _ = bound(refuting.asked, refuting.dual)
        if proven <= Fraction(most):
            raise Broken(f"{LEVEL}: at {below:.17g} no loss over {float(proven):.17g} is proven, but {most:.17g}")
    possible = f"{most:.10g} is possible at {epsilon:.10g}" if report is not None else "no level was found"
    return f"{possible}; impossible at {below:.10g}" if parts else possible


def _check_ends(content: dict[str, Any], epsilon: float, below: float, accuracy: float) -> None:
    """The order of the ends, how far they are apart, and whether that is as near as was asked for."""
    if not 0 <= below < epsilon or not 0 < accuracy < 1:
        raise Broken(f"{LEVEL}: below is {below:.17g}, epsilon {epsilon:.17g}, accuracy {accuracy:.17g}")
    status = content["status"]
    if below == 0 or math.isinf(epsilon):
        agree(LEVEL, "resolution", content.get("resolution"), None)
        if status == "optimal":
            raise Broken(f"{LEVEL}: status is optimal, but one end is missing")
        return
    ratio = Fraction(epsilon) / Fraction(below)
    claimed = finite(content, "resolution", LEVEL)
    agree_number(LEVEL, "resolution", claimed, ratio - 1, max(ratio - 1, Fraction(1)))
    # The search ends where ln(epsilon / below) ≤ accuracy, computed in doubles: both outcomes get room for that.
    reach = Fraction(accuracy) * (1 + Fraction(1, 10**6))
    slack = (reach * _ROUNDING + AGREEMENT) * (1 if status == "optimal" else -1)
    near = at_most(ratio.numerator, max(reach + slack, Fraction(0)), ratio.denominator)
    if near != (status == "optimal"):
        raise Broken(f"{LEVEL}: status is {status}, with ends {claimed:.3g} apart and an accuracy of {accuracy:.3g}")


def check_sweep(folder: Path, parts: Sequence[Part]) -> str:
    """The levels are those of the parts, the first of those asked for."""
    content = read_answer(folder, SWEEP, "asked", "epsilons")
    asked, levels = (finite_list(content, key, SWEEP) for key in ("asked", "epsilons"))
    if not asked or min(asked) <= 0 or any(below >= above for below, above in pairwise(asked)):
        raise Broken(f"{SWEEP}: asked is {asked}, which are no increasing levels")
    agree(SWEEP, "epsilons", levels, asked[: len(levels)])
    require_parts(SWEEP, parts, len(levels))
    agree(SWEEP, "epsilons", levels, [part.epsilon for part in parts])
    whole = len(parts) == len(asked) and all(part.optimal for part in parts)
    status = content["status"]
    if (status == "optimal" and not whole) or (status == "feasible" and len(parts) < len(asked)):
        raise Broken(
            f"{SWEEP}: status is {status}, with {len(parts)} of {len(asked)} levels, not all of them optimal"
        )
    return f"{len(parts)} of {len(asked)} levels"
