"""The claims of a certificate about a channel that is written down: each proven again, or Broken names where not."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dxopt.verify.bounds.dual import bound
from dxopt.verify.cells import Cells
from dxopt.verify.exact import total
from dxopt.verify.files import CLAIMS, DESCRIPTION, plain_file
from dxopt.verify.folder import Result, as_number
from dxopt.verify.geometry import check_losses_to_reports
from dxopt.verify.privacy import LEAST_DELTA, Levels, Triple, excess, is_least, violation
from dxopt.verify.values import AGREEMENT, LEAST, Enclosed
from dxopt.verify.verdict import Broken, Unproved

PROBLEM = "problem.npz"
PROMISES = ("exact", "bound", "valid")
_ENTRIES = (
    *("format", "problem", "certificate", "status", "tolerance", "found", "table"),
    *("evaluation", "beliefs", "rests_on"),
)
_NAMED_ENTRIES = ("name", "objective", "pairs", "prior", "loss", "loss_by_distance", "units", "within")
_CERTIFIED = ("private", "epsilon", "delta", "value", "bound", "gap", "belief_level")
_FOUND = ("claim", "method", "solver", "spanner")
_ARRAY_FILES = [PROBLEM, "mechanism.npz"]
_RESTS_ON = {
    "problem": _ARRAY_FILES,
    **{f"certificate.{key}": _ARRAY_FILES for key in ("private", "epsilon", "delta", "belief_level", "value")},
    "certificate.bound": [*_ARRAY_FILES, "dual.npz"],
    "certificate.gap": ["certificate.value", "certificate.bound"],
    "status": ["certificate.gap", "tolerance"],
    "table": [*_ARRAY_FILES, "table.dxt"],
    "evaluation": _ARRAY_FILES,
}
_UNITS = ("distance", "loss", "value")
_ARRAYS = ("prior", "epsilon", "delta", "distances", "losses", "max_loss", "adversary_loss", "belief_")
STATUSES = ("optimal", "feasible", "interrupted", "time limit")
NAMED = ("distance", "squared", "binary")
_ROW_SUM = Fraction(1, 1 << 50)
_PRIOR_SUM = Fraction(1, 10**9)


def check_prior(result: Result) -> str:
    """Probabilities that sum to 1 within 1e-9, exactly."""
    prior = result.prior
    wrong = np.flatnonzero(~(np.isfinite(prior) & (prior >= 0)))
    if len(wrong):
        raise Broken(f"secret {result.secret(int(wrong[0]))} has probability {prior[wrong[0]]}")
    off = total(prior) - 1
    if abs(off) > _PRIOR_SUM:
        raise Broken(f"it sums to 1 {float(off):+.3g}")
    name = str(result.named.get("prior"))
    if name != "uniform" and name.strip().casefold() == "uniform":
        raise Unproved(f"the prior is named {name!r}, which may be taken for uniform")
    if name == "uniform" and np.ptp(prior) > 1e-12 * prior.max():
        raise Broken(f"it is not uniform, but {prior.min():.17g} to {prior.max():.17g}")
    if result.objective not in ("worst_expected_loss", "regret") and "prior_set" in result.problem:
        raise Broken(f"problem.npz has a set of priors, but the objective is {result.objective!r}")
    return f"{len(prior):,} probabilities, which sum to 1 within {abs(float(off)):.1e}"


def check_losses(result: Result) -> str:
    """Finite where they count; all as their name defines them where the reports are the secrets."""
    losses = result.losses
    name = result.named.get("loss")
    shape = f"{losses.shape[0]:,} by {losses.shape[1]:,}"
    if name not in NAMED and str(name).strip().casefold() in NAMED:
        raise Unproved(f"{name!r} is no loss that is derived, but may be taken for one")
    if name in NAMED and not result.secrets:
        check_losses_to_reports(result, name)
        return f"{shape} losses, each the {name} between the points"
    if name not in NAMED:
        return f"{shape} losses, finite and as they were given"
    if losses.shape[0] != losses.shape[1]:
        raise Broken(f"{shape}, but the reports are the secrets")
    named = 1.0 - np.eye(len(losses))
    if name != "binary":
        named = result.distances ** (2 if name == "squared" else 1)
    losses = result.all_losses
    with np.errstate(invalid="ignore"):
        off = (losses != named) & ~(np.abs(losses - named) <= 1e-12 * named)
    if off.any():
        x, z = np.argwhere(off)[0].tolist()
        raise Broken(
            f"it is {losses[x, z]:.17g} in secret {result.secret(x)} and report {result.report(z)}, "
            f"but {name} is {named[x, z]:.17g}"
        )
    return f"{shape} losses, each as {name!r} defines it"


def check_rows(result: Result) -> str:
    """Entries are probabilities and rows sum to 1 within 2^-50, exactly."""
    channel = result.channel
    worst = Fraction(0)
    for x, row in enumerate(channel.rows):
        off = Fraction(sum(row) - channel.scale, channel.scale)
        if abs(off) > _ROW_SUM:
            raise Broken(f"the row of secret {result.secret(x)} sums to 1 {float(off):+.3g}")
        worst = max(worst, abs(off))
    return f"{result.matrix.size:,} probabilities; rows sum to 1 within {float(worst):.1e}"


def check_privacy(result: Result) -> str:
    """Every pair in every report at the certificate's ε, or δ in total; no smaller ε or δ would do."""
    # What the certificate claims fits what was asked for.
    if result.certificate.get("private") is not result.private:
        raise Broken(f"{result.source}: private is {result.certificate.get('private')}")
    epsilon = result.claimed("epsilon")
    delta = result.claimed("delta")
    if not result.private:
        if math.isfinite(epsilon) or delta:
            raise Broken(f"{result.source}: a level is claimed, but no privacy was asked for")
        return "none was asked for" if result.beliefs is None else "none of single secrets was asked for"
    for name, claimed, asked in (("epsilon", epsilon, result.epsilon), ("delta", delta, result.delta)):
        if not 0 <= claimed <= asked:
            raise Broken(f"{result.source}: {name} is {claimed:.17g}, but {asked:.17g} was asked for")
    # Without δ the least ε is claimed; with it, ε is the one that was asked for, and the least δ is claimed.
    if not result.delta:
        return _check_pure(result, epsilon)
    if epsilon != result.epsilon:
        raise Broken(f"{result.source}: epsilon is {epsilon:.17g}, but {result.epsilon:.17g} was asked for")
    largest, violated = excess(result.channel, result.asked_levels, Fraction(delta))
    if violated is not None:
        raise Broken(f"{distinguished(result, violated)} by more than delta {delta:.17g}")
    if largest < Fraction(delta) - LEAST_DELTA:
        raise Broken(f"{result.source}: delta {delta:.17g} is not the least, {float(largest):.17g}")
    pairs = int(result.bound.sum())
    return f"epsilon {epsilon:.10g} and delta {delta:.10g} hold for {pairs:,} pairs of secrets"


def _check_pure(result: Result, epsilon: float) -> str:
    """Private at ε without δ, and at no smaller one."""
    levels = Levels.of(result.distances, result.bound, Fraction(epsilon))
    violated = violation(result.channel, levels)
    if violated is not None:
        raise Broken(f"{distinguished(result, violated)} at epsilon {epsilon:.17g}")
    if not is_least(result.channel, levels):
        raise Broken(f"{result.source}: epsilon {epsilon:.17g} is not the least")
    reports = result.matrix.shape[1]
    return f"epsilon {epsilon:.10g} holds for {int(result.bound.sum()):,} pairs of secrets in {reports:,} reports"


def distinguished(result: Result, violated: Triple) -> str:
    """Return as text the secrets that a report tells apart."""
    x, other, z = violated
    return (
        f"secrets {result.secret(x)} and {result.secret(other)} are told apart by report {result.report(z)}: "
        f"{result.matrix[x, z]:.17g} against {result.matrix[other, z]:.17g}"
    )


def check_value(result: Result) -> str:
    """The value, to 1e-12 of the size of its terms; and that the expected loss is within its budget, exactly."""
    claimed = check_attained(result)
    if result.objective != "adversary_error":
        return f"{result.objective.replace('_', ' ')} {claimed:.12g}"
    check_budget(result)
    return f"adversary error {claimed:.12g}; the expected loss is within its budget"


def check_attained(result: Result) -> float:
    """The value, to 1e-12 of the size of its terms."""
    return require_value(result, attained)


def require_value(result: Result, exactly: Callable[[Result], Enclosed]) -> float:
    """The claimed value; Broken unless it is the exact one, to 1e-12 of the size of its terms."""
    claimed = result.claimed("value")
    exact = exactly(result)
    if not exact.agrees(claimed):
        raise Broken(f"{result.source}: value is {float(exact.low):.17g}, not {claimed:.17g}")
    return claimed


def check_budget(result: Result) -> None:
    """That the expected loss is within its budget, exactly."""
    spent = result.worth.expected_loss(result.losses).high
    if spent > Fraction(result.asked.max_loss):
        raise Broken(f"the expected loss is {float(spent):.17g}, over its budget {result.asked.max_loss:.17g}")


def attained(result: Result) -> Enclosed:
    """The exact value of the objective."""
    if result.objective == "expected_loss":
        return result.worth.expected_loss(result.losses)
    if result.priors is not None:
        return result.worth.largest_loss(result.losses, result.priors)
    if result.guessed is None:
        raise Broken(f"claims.json: there is no objective {result.objective!r}")
    return result.worth.adversary_error(result.guessed)


def check_bound(result: Result) -> str:
    """Check that the certificate claims no more than the dual proves, up to 1e-12 relative."""
    proven, how = bound(result.asked, result.dual)
    return require_bound(result, proven, how, lost(result))


def require_bound(result: Result, proven: Fraction, how: str, room: Fraction) -> str:
    """Check that no more is claimed than is proven, up to 1e-12 relative and some room."""
    claimed = result.claimed("bound")
    if not math.isfinite(claimed) or result.sign * (Fraction(claimed) - proven) > AGREEMENT * abs(proven) + room:
        raise Broken(f"{result.source}: bound is {claimed:.17g}, but dual.npz proves {float(proven):.17g}")
    return f"no such mechanism has {result.better} than {claimed:.12g} ({how})"


def lost(result: Result) -> Fraction:
    """Largest error of costs and their sum in doubles where they are subnormal."""
    return 2 * result.losses.size * LEAST


def check_gap(result: Result) -> str:
    """|value - bound| / max(|value|, 1e-12) as claimed, the bound on its side of the value, the status as the gap."""
    value, limit, gap = (result.claimed(name) for name in ("value", "bound", "gap"))
    if not all(map(math.isfinite, (value, limit, gap))):
        raise Broken("claims.json: value, bound or gap is infinite")
    found = relative_gap(value, limit)
    if abs(found - Fraction(gap)) > AGREEMENT * found + LEAST:
        raise Broken(f"claims.json: gap is {float(found):.17g}, not {gap:.17g}")
    if result.sign * (Fraction(limit) - Fraction(value)) > AGREEMENT * abs(Fraction(value)):
        raise Broken(f"claims.json: the value {value:.17g} is better than the bound {limit:.17g}")
    tolerance = result.claims.get("tolerance")
    status = result.claims.get("status")
    if status not in STATUSES:
        raise Broken(f"claims.json: status is {status!r}")
    number = -1.0 if isinstance(tolerance, bool) or not isinstance(tolerance, float | int) else float(tolerance)
    close = gap <= number and _within(result, value, limit, number)
    if not 0 <= number < math.inf or (status == "optimal") != close:
        raise Broken(
            f"claims.json: the status {status} does not fit a gap of {gap:.3g} and a tolerance of {tolerance}"
        )
    return f"value and bound are {gap:.3g} of the value apart: {status}"


def _within(result: Result, value: float, limit: float, tolerance: float) -> bool:
    """|value - bound| ≤ tolerance · max(|value|, 1e-12 s), s the largest size of a loss that counts, and 1 at most.

    In doubles, as the status was decided. Losses of mechanisms that are not written down are not looked at.
    """
    least = float(AGREEMENT)
    if abs(value) >= least or value == limit or not result.written:
        return True
    losses = result.losses if result.guessed is None else result.guessed[result.prior > 0]
    return abs(value - limit) <= tolerance * max(abs(value), least * min(1.0, float(np.abs(losses).max())))


def relative_gap(value: float, limit: float) -> Fraction:
    """|value - bound| / max(|value|, 1e-12)."""
    return abs(Fraction(value) - Fraction(limit)) / max(abs(Fraction(value)), AGREEMENT)


def check_schema(result: Result) -> str:
    """claims.json has the entries that are derived here and no others; problem.yaml says where the arrays are."""
    for where, content, known in (
        (CLAIMS, result.claims, _ENTRIES),
        (f"{CLAIMS}: problem", result.named, _NAMED_ENTRIES),
        (f"{CLAIMS}: certificate", result.certificate, _CERTIFIED),
        (f"{CLAIMS}: found", result.claims.get("found"), _FOUND),
        (f"{CLAIMS}: units", result.named.get("units"), _UNITS),
    ):
        if not isinstance(content, dict):
            raise Broken(f"{where} is no object")
        if {*content} != {*known}:
            raise Broken(f"{where}: {', '.join(sorted({*content} ^ {*known}))} is unknown or missing")
    found = result.claims["found"]
    if found["claim"] not in PROMISES or not isinstance(found["method"], str) or not isinstance(found["solver"], str):
        raise Broken(f"{CLAIMS}: found is {found!r}")
    if not (result.folder / DESCRIPTION).exists():
        raise Broken(f"{DESCRIPTION} is missing")
    if result.claims["rests_on"] != _RESTS_ON:
        raise Broken(f"{CLAIMS}: rests_on is not what proves each claim")
    if int(result.mechanism.get("format", np.int64(0))) != 1:
        raise Broken(f"mechanism.npz: the format is {result.mechanism.get('format')}, not 1")
    text = plain_file(result.folder, DESCRIPTION, 100).read_text(encoding="utf-8")
    if text != f"arrays: {PROBLEM}\n":
        raise Broken(f"{DESCRIPTION} says something else than where the arrays are")
    unknown = sorted(key for key in result.problem if not key.startswith(_ARRAYS))
    if unknown:
        raise Broken(f"{PROBLEM}: {unknown[0]} is unknown")
    return "every entry is known"


_KEYS = {"level", "radius", "positions"}
_ROUNDING = 1e-9


def claims_within(result: Result) -> bool:
    """Return whether a level within a radius is claimed."""
    return result.named.get("within") is not None


def check_within(result: Result) -> str:
    """ε times the largest distance of secrets that the radius comes to is at most the level.

    For positions it is the largest distance of two centres of cells whose regions are within the radius of each
    other: that of a centre has the positions that are nearest to it, at most h away, where h is the largest distance
    of a centre to a corner of its cell. Of many cells it is r + 2h.
    """
    claimed = result.named["within"]
    if not isinstance(claimed, dict) or {*claimed} != _KEYS or not isinstance(claimed["positions"], bool):
        raise Broken(f"claims.json: within is {claimed!r}")
    level, radius = (as_number(claimed[key], f"claims.json: {key} within") for key in ("level", "radius"))
    if not (0 < level < math.inf and 0 < radius < math.inf):
        raise Broken(f"claims.json: within has a level of {level} and a radius of {radius}")
    far = _across(result, radius) if claimed["positions"] else radius
    if not result.epsilon * far <= level * (1 + _ROUNDING):
        raise Broken(
            f"claims.json: a level of {level:.10g} within {radius:.10g} takes an epsilon of {level / far:.10g}, but "
            f"{result.epsilon:.10g} was asked for"
        )
    between = "positions" if claimed["positions"] else "secrets"
    return f"{level:.10g} between {between} within {radius:.10g}, which are in places up to {far:.10g} apart"


def _across(result: Result, radius: float) -> float:
    """Return the largest distance of centres of cells that have positions within the radius."""
    arrays = result.mechanism
    metric = str(arrays["space.metric"]) if "space.metric" in arrays else None
    outlined = "space.positions.outlines" in arrays
    cells = Cells.of(arrays, "space.", result.distances, metric) if outlined else None
    far = None if cells is None else cells.across(radius)
    if far is None:
        raise Broken("claims.json: a level between positions is claimed, but there are no cells that they lie in")
    return far
