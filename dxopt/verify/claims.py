"""The claims of a certificate about a channel that is written down: each proven again, or Broken names where not.

A check returns what it has proven as a text, which is the detail of the verdict.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from fractions import Fraction
from types import NoneType

import numpy as np
from numpy.typing import NDArray

from dxopt.verify import beliefs
from dxopt.verify.bounds.dual import bound
from dxopt.verify.cells import Cells
from dxopt.verify.described import require_described, require_distances
from dxopt.verify.entries import (
    NUMBER,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    require_entries,
    require_posed,
    require_types,
)
from dxopt.verify.exact import total, two_digits_up
from dxopt.verify.files import CLAIMS, DESCRIPTION, TABLE, plain_file
from dxopt.verify.folder import Result, as_number
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.metrics import Measured, parameters_of, points_of, require_measured
from dxopt.verify.privacy import LEAST_DELTA, ROW_SUM, Levels, Triple, excess, is_least, violation
from dxopt.verify.values import AGREEMENT, LEAST, Enclosed
from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]
_OBJECT = (dict,)
_ENTRIES: dict[tuple[str, ...], dict[str, tuple[type, ...]]] = {
    (): {
        "format": (int,),
        **dict.fromkeys(("problem", "certificate", "found", "evaluation", "rests_on"), _OBJECT),
        "status": TEXT,
        "tolerance": NUMBER,
        "table": TEXT_OR_NULL,
        "beliefs": (list,),
    },
    ("problem",): {
        **dict.fromkeys(("name", "objective", "pairs", "prior", "loss"), TEXT),
        "loss_by_distance": (bool,),
        "units": _OBJECT,
        "within": (dict, NoneType),
    },
    ("problem", "units"): dict.fromkeys(("distance", "loss", "value"), TEXT),
    ("certificate",): {
        "private": (bool,),
        **dict.fromkeys(("epsilon", "belief_level", "delta", "value", "bound", "gap"), NUMBER_OR_NULL),
    },
    ("found",): {**dict.fromkeys(("claim", "method", "solver"), TEXT), "spanner": NUMBER_OR_NULL},
}
"""The entries of claims.json and of the objects in it, and their types."""
_FOUND = ("exact", "bound", "valid")
_SPACE = re.compile(r"(\d+/)*space\.kind")
"""Names of the arrays that say what a space is: of the mechanism, and of its parts."""
_WHERE = "arrays: problem.npz\n"
STATUSES = ("optimal", "feasible", "interrupted", "time limit")
NAMED = ("distance", "squared", "binary")
_PRIOR_SUM = Fraction(1, 10**9)
_ROUNDING = 1e-9
_APART_BY_ROUNDING = 2.0**-46
"""Value and bound are the same where they are no further apart, in parts of the largest loss."""


def check_schema(result: Result) -> str:
    """Check that the files have the entries that are derived here and no others."""
    for path, kinds in _ENTRIES.items():
        content = result.claims
        for key in path:
            content = content[key]
        require_types(": ".join((CLAIMS, *path)), content, kinds)
    if result.claims["found"]["claim"] not in _FOUND:
        raise Broken(f"{CLAIMS}: found.claim is {result.claims['found']['claim']!r:.40}")
    if result.named["loss_by_distance"] and result.named["loss"] not in NAMED:
        raise Broken(f"{CLAIMS}: no loss {result.named['loss']!r:.40} follows from distances")
    for beliefs_of in result.claims["beliefs"]:
        require_types(f"{CLAIMS}: beliefs", beliefs_of, {"name": TEXT, "places": (list,), "hiding": (bool,)})
    if (found := repr(result.mechanism["format"].tolist())) != "1":
        raise Broken(f"mechanism.npz: the format is {found:.40}, not 1")
    if not (result.folder / DESCRIPTION).exists():
        raise Broken(f"{DESCRIPTION} is missing")
    if plain_file(result.folder, DESCRIPTION, 100).read_text(encoding="utf-8") != _WHERE:
        raise Broken(f"{DESCRIPTION} says something else than where the arrays are")
    require_posed(result.problem, result.objective)
    require_entries(result.problem, result.mechanism, result.dual)
    units = result.named["units"]
    for prefix in (key.removesuffix(".kind") for key in result.mechanism if _SPACE.fullmatch(key)):
        unit = require_described(result.mechanism, prefix)
        if prefix == "space" and units["distance"] != unit:
            raise Broken(f"claims.json: distances are said to be in {units['distance']!r}, not {unit!r}")
    if result.named["pairs"] not in ("all", "adjacent"):
        raise Broken(f"{CLAIMS}: pairs are {result.named['pairs']!r:.40}")
    require_units(result)
    return "every entry is known"


def require_units(result: Result) -> None:
    """Broken unless losses that follow from distances are in their unit, and the value is in that of losses."""
    units = result.named["units"]
    own = units["distance"]
    derived = {"distance": (own,), "squared": (f"{own}²", f"({own})²")}.get(_capped(result)[0], ())
    if own and derived and units["loss"] not in derived:
        raise Broken(f"claims.json: losses are said to be in {units['loss']!r}, distances in {own!r}")
    if result.objective != "adversary_error" and units["value"] != units["loss"]:
        raise Broken(f"claims.json: the value is said to be in {units['value']!r}, losses in {units['loss']!r}")


def check_prior(result: Result) -> str:
    """Check that the prior sums to 1 within 1e-9, and is uniform if so named."""
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
    return f"{len(prior):,} probabilities, which sum to 1 within {two_digits_up(abs(off))}"


def check_distances(result: Result) -> str:
    """Check the triangle inequality, and that distances are those of the space in mechanism.npz."""
    return require_distances(result.mechanism, result.distances, result.secret)


def _capped(result: Result) -> tuple[str, float]:
    """Return the name of the loss, and the largest loss that is finite: "distance up to 2" has both."""
    name, _, most = str(result.named.get("loss")).partition(" up to ")
    with suppress(ValueError):
        if name in NAMED and most == f"{float(most):.10g}":
            return name, float(most)
    return str(result.named.get("loss")), math.inf


def check_losses(result: Result) -> str:
    """Check that losses are finite where reports are made, and as their name defines them."""
    losses = result.losses
    name, most = _capped(result)
    for x, z in np.argwhere(np.isinf(result.all_losses) & (result.matrix > 0))[:1].tolist():
        raise Broken(f"it is infinite in secret {result.secret(x)} and report {result.report(z)}, which is made")
    shape = f"{losses.shape[0]:,} by {losses.shape[1]:,}"
    if name not in NAMED:
        if str(name).strip().casefold() in NAMED:
            raise Unproved(f"{name!r} is no loss that is derived, but may be taken for one")
        return f"{shape} losses, as they were given"
    if not result.secrets:
        _check_losses_to_reports(result, name, most)
        return f"{shape} losses, each the {name} between the points"
    if losses.shape[0] != losses.shape[1]:
        raise Broken(f"{shape}, but the reports are the secrets")
    named = 1.0 - np.eye(len(losses))
    if name != "binary":
        named = result.distances ** (2 if name == "squared" else 1)
    losses = result.all_losses
    named = _up_to(most, named, losses)
    with np.errstate(invalid="ignore"):
        off = (losses != named) & ~(np.isfinite(named) & (np.abs(losses - named) <= 1e-12 * named))
    if off.any():
        x, z = np.argwhere(off)[0].tolist()
        where = f"in secret {result.secret(x)} and report {result.report(z)}"
        raise Broken(f"it is {losses[x, z]:.17g} {where}, but {name} is {named[x, z]:.17g}")
    return f"{shape} losses, each as {name!r} defines it"


def _up_to(most: float, named: Array, losses: Array) -> Array:
    """Return what losses are by their name, infinite above a largest one, which is known to ten digits."""
    above = named > most * (1 + _ROUNDING)
    doubtful = np.abs(named - most) <= 2 * _ROUNDING * abs(most) if math.isfinite(most) else np.zeros_like(above)
    return np.where(np.where(doubtful, np.isinf(losses), above), np.inf, named)


def _check_losses_to_reports(result: Result, name: str, most: float) -> None:
    """Check losses by the points of secrets and reports; Unproved where there are no such points."""
    arrays = result.mechanism
    if name == "binary" or "report_points" not in arrays:
        raise Unproved(f"the {name} of reports that are not the secrets is not derived")
    others = points_of(arrays, result.matrix.shape[1], "report_points")
    if str(arrays["space.kind"]) == "points":
        points = points_of(arrays, result.size, "space.points")
        measured = Measured(str(arrays["space.metric"]), parameters_of(arrays), points, others)
    else:
        measured = Space.read(arrays).measured(others)
    losses = result.all_losses
    if (losses < 0).any():
        raise Broken(f"the {name} is negative")
    if math.isfinite(most):
        lengths = np.stack([measured.lengths(x) for x in range(len(losses))])
        named = lengths**2 if name == "squared" else lengths
        if (np.isinf(losses) != np.isinf(_up_to(most, named, losses))).any():
            raise Broken(f"other losses are infinite than those above {most:.10g}")
        losses = np.where(np.isinf(losses), named, losses)
    claimed = np.sqrt(losses) if name == "squared" else losses
    require_measured(measured, claimed, result.secret, lambda z: f"report {result.report(z)}")


def check_rows(result: Result) -> str:
    """Check that entries are probabilities and rows sum to 1 within 2^-50, exactly."""
    offs = [found - 1 for found in result.channel.sums()]
    for x, off in enumerate(offs):
        if abs(off) > ROW_SUM:
            raise Broken(f"the row of secret {result.secret(x)} sums to 1 {float(off):+.3g}")
    return f"{result.matrix.size:,} probabilities; rows sum to 1 within {two_digits_up(max(map(abs, offs)))}"


def check_privacy(result: Result) -> str:
    """Check every pair in every report at the certificate's ε, or δ in total; no smaller ε or δ would do."""
    epsilon, delta = claimed_levels(result)
    if not result.private:
        return "none was asked for" if result.beliefs is None else "none of single secrets was asked for"
    pairs = f"{int(result.bound.sum()):,} pairs of secrets"
    # Without δ the least ε is claimed; with it, ε is the one that was asked for, and the least δ is claimed.
    if not result.delta:
        levels = Levels.of(result.distances, result.bound, Fraction(epsilon))
        violated = violation(result.channel, levels)
        if violated is not None:
            raise Broken(f"{violation_text(result, violated)} at epsilon {epsilon:.17g}")
        if not is_least(result.channel, levels):
            raise Broken(f"{result.source}: epsilon {epsilon:.17g} is not the least")
        return f"epsilon {float(epsilon)!r} holds for {pairs} in {result.matrix.shape[1]:,} reports"
    if epsilon != result.epsilon:
        raise Broken(f"{result.source}: epsilon is {epsilon:.17g}, but {result.epsilon:.17g} was asked for")
    largest, violated = excess(result.channel, result.asked_levels, Fraction(delta))
    if violated is not None:
        raise Broken(f"{violation_text(result, violated)} by more than delta {delta:.17g}")
    if largest < Fraction(delta) - LEAST_DELTA:
        raise Broken(f"{result.source}: delta {delta:.17g} is not the least, {float(largest):.17g}")
    return f"epsilon {float(epsilon)!r} and delta {delta:.10g} hold for {pairs}"


def claimed_levels(result: Result) -> tuple[float, float]:
    """Return the ε and δ of the certificate; Broken unless they fit what was asked for."""
    if result.certificate.get("private") is not result.private:
        raise Broken(f"{result.source}: private is {result.certificate.get('private')}")
    epsilon, delta = result.claimed("epsilon"), result.claimed("delta")
    if not result.private and (math.isfinite(epsilon) or delta):
        raise Broken(f"{result.source}: a level is claimed, but no privacy was asked for")
    for name, claimed, asked in (("epsilon", epsilon, result.epsilon), ("delta", delta, result.delta)):
        if result.private and not 0 <= claimed <= asked:
            raise Broken(f"{result.source}: {name} is {claimed:.17g}, but {asked:.17g} was asked for")
    return epsilon, delta


def violation_text(result: Result, violated: Triple) -> str:
    """Return as text the secrets that a report tells apart."""
    x, other, z = violated
    return (
        f"secrets {result.secret(x)} and {result.secret(other)} are told apart by report {result.report(z)}: "
        f"{result.matrix[x, z]:.17g} against {result.matrix[other, z]:.17g}"
    )


def check_value(result: Result) -> str:
    """Check the value, to 1e-12 of the size of its terms, and that the expected loss is within its budget."""
    claimed = require_value(result, attained_value(result))
    if result.objective != "adversary_error":
        return f"{result.objective.replace('_', ' ')} {claimed:.12g}"
    spent = result.worth.expected_loss(result.counted_losses).high
    if spent > Fraction(result.asked.max_loss):
        raise Broken(f"the expected loss is {float(spent):.17g}, over its budget {result.asked.max_loss:.17g}")
    return f"adversary error {claimed:.12g}; the expected loss is within its budget"


def require_value(result: Result, exact: Enclosed) -> float:
    """Return the claimed value; Broken unless it is the exact one, to 1e-12 of the size of its terms."""
    claimed = result.claimed("value")
    if not exact.agrees(claimed):
        raise Broken(f"{result.source}: value is {float(exact.low):.17g}, not {claimed:.17g}")
    return claimed


def attained_value(result: Result) -> Enclosed:
    """Return the exact value of the objective."""
    if result.objective == "expected_loss":
        return result.worth.expected_loss(result.counted_losses)
    if result.priors is not None:
        return result.worth.largest_loss(result.counted_losses, result.priors)
    if result.guessed is None:
        raise Broken(f"claims.json: there is no objective {result.objective!r}")
    return result.worth.adversary_error(result.guessed)


def check_bound(result: Result) -> str:
    """Check that the certificate claims no more than the dual proves, up to 1e-12 relative."""
    proven, how = bound(result.asked, result.dual)
    # costs and their sum may be off by so much in doubles where they are subnormal
    return require_bound(result, proven, how, 2 * result.losses.size * LEAST)


def require_bound(result: Result, proven: Fraction, how: str, room: Fraction) -> str:
    """Check that no more is claimed than is proven, up to 1e-12 relative and some room."""
    claimed = result.claimed("bound")
    if not math.isfinite(claimed) or result.sign * (Fraction(claimed) - proven) > AGREEMENT * abs(proven) + room:
        raise Broken(f"{result.source}: bound is {claimed:.17g}, but dual.npz proves {float(proven):.17g}")
    better = "less" if result.sign > 0 else "more"
    return f"no such mechanism has {better} than {claimed:.12g} ({how})"


def check_gap(result: Result) -> str:
    """Check |value - bound| / max(|value|, 1e-12), on which side of the value the bound is, and the status."""
    value, limit, gap = (result.claimed(name) for name in ("value", "bound", "gap"))
    if not all(map(math.isfinite, (value, limit, gap))):
        raise Broken("claims.json: value, bound or gap is infinite")
    found = abs(Fraction(value) - Fraction(limit)) / max(abs(Fraction(value)), AGREEMENT)
    if abs(found - Fraction(gap)) > AGREEMENT * found + LEAST:
        raise Broken(f"claims.json: gap is {float(found):.17g}, not {gap:.17g}")
    if result.sign * (Fraction(limit) - Fraction(value)) > AGREEMENT * abs(Fraction(value)):
        raise Broken(f"claims.json: the value {value:.17g} is better than the bound {limit:.17g}")
    status = result.claims["status"]
    if status not in STATUSES:
        raise Broken(f"claims.json: status is {status!r}")
    tolerance = as_number(result.claims["tolerance"], "claims.json: tolerance")
    close = _is_within_tolerance(result, value, limit, tolerance, gap)
    if not 0 <= tolerance < 1 or (status == "optimal") != close:
        raise Broken(f"claims.json: status {status} does not fit a gap of {gap:.3g}, tolerance {tolerance:.3g}")
    return f"value and bound are {gap:.3g} of the value apart: {status}"


def _is_within_tolerance(result: Result, value: float, limit: float, tolerance: float, gap: float) -> bool:
    """Return whether |value - bound| ≤ tolerance·max(|value|, 1e-12·min(1, s)), or 2^-46·s, with s the largest loss.

    Where all losses are tiny, a gap relative to 1e-12 says nothing. In doubles, as the status was decided. Losses of
    mechanisms that are not written down are not looked at.
    """
    least = float(AGREEMENT)
    if value == limit or not result.written or (gap <= tolerance and abs(value) >= least):
        return gap <= tolerance
    losses = np.abs(result.losses if result.guessed is None else result.guessed[result.prior > 0])
    largest = float(losses[np.isfinite(losses)].max(initial=0.0))
    within = abs(value - limit) <= tolerance * max(abs(value), least * min(1.0, largest))
    return (gap <= tolerance and within) or abs(value - limit) <= _APART_BY_ROUNDING * largest


def check_within(result: Result) -> str:
    """Check the promise of a level within a radius: ε times the largest distance of secrets is at most the level.

    Between secrets, that distance is the radius. Between positions it is that of the furthest two secrets to which
    positions within the radius of each other are moved, as `Cells.across` finds it.
    """
    claimed = result.named["within"]
    if not isinstance(claimed, dict) or {*claimed} != {"level", "radius", "positions"}:
        raise Broken(f"claims.json: within is {claimed!r}")
    level, radius = (as_number(claimed[key], f"claims.json: {key} within") for key in ("level", "radius"))
    if not (0 < level < math.inf and 0 < radius < math.inf and isinstance(claimed["positions"], bool)):
        raise Broken(f"claims.json: within is {claimed!r}")
    far = _across(result, radius) if claimed["positions"] else radius
    if not result.epsilon * far <= level * (1 + _ROUNDING):
        most = f"a level of {level:.10g} within {radius:.10g} takes an epsilon of {level / far:.10g}"
        raise Broken(f"claims.json: {most}, but {result.epsilon:.10g} was asked for")
    between = "positions" if claimed["positions"] else "secrets"
    return f"{level:.10g} between {between} within {radius:.10g}, which are in places up to {far:.10g} apart"


def _across(result: Result, radius: float) -> float:
    """Return the largest distance of two centres of cells that have positions within the radius of each other."""
    outlined = "space.positions.outlines" in result.mechanism
    cells = Cells.of(result.mechanism, result.distances) if outlined else None
    far = None if cells is None else cells.across(radius)
    if far is None:
        raise Broken("claims.json: a level between positions is claimed, but there are no cells that they lie in")
    return far


def claims_beliefs(result: Result) -> bool:
    """Return whether any file claims something about pairs of beliefs, so that all of them are to be checked."""
    arrays = any(key.startswith(beliefs.PREFIX) for key in result.problem)
    return arrays or result.certificate.get("belief_level") is not None or "belief" in result.dual


def check_beliefs(result: Result) -> str:
    """Check every pair in every report at the certificate's level, and at no smaller one; the files agree on them."""
    pairs = result.beliefs
    if pairs is None:
        raise Broken("pairs of beliefs are claimed, but there are none in problem.npz")
    if result.certificate.get("belief_level") is None:
        raise Broken(f"{result.source}: there is no belief_level, but there are pairs of beliefs")
    claimed = result.claimed("belief_level")
    if not 0 <= claimed <= pairs.epsilon:
        asked = float(pairs.epsilon)
        raise Broken(f"{result.source}: belief_level is {claimed:.17g}, but {asked:.17g} was asked for")
    if not result.written:
        raise Broken("pairs of beliefs are claimed of a channel that is not written down")
    if (result.folder / TABLE).is_file():
        raise Broken(f"there is a {TABLE}, of which nothing is proven for pairs of beliefs")
    if result.delta or result.objective not in ("expected_loss", "worst_expected_loss", "worst_loss"):
        raise Broken(f"pairs of beliefs do not go with delta or {result.objective}")
    sums = pairs.expected(result.channel)
    budgets = [Fraction(claimed) * distance for distance in pairs.distances]
    found = beliefs.first_violation(sums, budgets)
    if found is not None:
        pair, report = found
        told = f"are told apart by report {result.report(report)} at belief_level {claimed:.17g}"
        raise Broken(f"the beliefs of pair {pair}, {pairs.names[pair]}, {told}")
    if not beliefs.is_least(sums, budgets):
        raise Broken(f"{result.source}: belief_level {claimed:.17g} is not the least")
    reports = result.matrix.shape[1]
    return (
        f"epsilon {float(claimed)!r} holds for {len(pairs.first):,} ordered pairs of beliefs in {reports:,} reports"
    )
