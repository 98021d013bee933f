"""Checks whether a problem, and its answer, are likely to be what was meant.

docs/guides/plausibility.md has all of them. Each check gives at most one warning. None of them matters for a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from dxopt.errors import PlausibilityWarning
from dxopt.model.mechanism import MatrixMechanism, Mechanism
from dxopt.model.objective import WorstLoss
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import factor, level_text
from dxopt.spaces.distances import in_blocks
from dxopt.spaces.geo.points import known
from dxopt.spaces.positions import are_degrees
from dxopt.spaces.space import MetricSpace
from dxopt.spaces.spread import Spread, spread_of

Warnings = tuple[PlausibilityWarning, ...]

LEAST_BUDGET = 0.1
"""Of ε times the diameter: below, no report is over e^0.1 = 1.1 times as likely for one secret as for any other."""
MOST_BUDGET = 10.0
"""Of ε times the distance between neighbours: above, some report may be over e^10 = 22,000 times as likely."""
LEVELS = ("level_too_low", "level_too_high", "radius_too_large", "positions_forgotten", "cells_below_radius")
"""The checks that are about ε."""

_WIDE = 2.0
"""Diameters that a radius may have: `spread_of` finds at least half of the diameter of a large space."""
_COARSE = 2.0
"""Radii that cells may be apart: beyond, positions across a border differ by more than the square of the factor."""
_BELOW = 0.9
"""Cells with sides from this share of the radius up to the radius,"""
_JUMP = 1.8
"""put positions within the radius into cells over so many radii apart; slightly longer sides make that 1.5."""

_PLANE = ("euclidean", "manhattan", "normalised_manhattan", "chebyshev")
_FEWEST_PLACES = 5
_WIDEST = 5.0
"""Degrees: places that are told by their numbers lie in a box of this size,"""
_OFF_CENTRE = 5.0
"""which is this many of its sides away from 0 in some coordinate,"""
_DECIMALS = 3
"""and most of their coordinates have more digits than this behind the point."""
_EXPLAINING = ("level_too_low", "radius_too_large", "prior_on_one_point", "space_degenerate")
"""Warnings about a problem by which a constant answer is no surprise."""
_ALIKE = 1e-6
"""Rows whose entries differ by no more than this in total count as the same."""
_ROWS = 16
"""Rows of a mechanism without a matrix that are looked at."""


def of_problem(problem: Problem, *, level: bool = True) -> Warnings:
    """Return warnings about a problem; without `level` leave out those about ε, as where ε is searched for."""
    found: list[PlausibilityWarning] = [*_degrees(problem.space)]
    apart = spread_of(problem.space)
    if apart.diameter == 0:
        found.append(_degenerate(problem.space, apart))
    elif level and problem.private:
        found += _radius(problem, apart) or _level(problem, apart)
    if not isinstance(problem.objective, WorstLoss):
        found += of_priors([problem.prior])
    return tuple(found)


def of_priors(priors: Iterable[Prior]) -> Warnings:
    """Return warnings about priors: about their data, and if one point has it all. Each kind is there once."""
    return every_kind(*((*prior.concerns, *_on_one_point(prior)) for prior in priors))


def of_answer(problem: Problem, mechanism: Mechanism) -> Warnings:
    """Return warnings about a problem; and one if its answer ignores the secret, unless the others explain that."""
    found = of_problem(problem)
    explained = any(warning.kind in _EXPLAINING for warning in found)
    return found if explained else (*found, *_constant(problem, mechanism))


def common(answers: Iterable[Warnings]) -> Warnings:
    """Return the warnings of the first of several answers whose kind all the others have as well."""
    first, *others = answers
    return tuple(one for one in first if all(any(one.kind == other.kind for other in more) for more in others))


def every_kind(*several: Warnings) -> Warnings:
    """Join warnings of several origins in their order, and keep the first of each kind."""
    # backwards, so that the first of a kind is what stays
    first = {one.kind: one for found in reversed(several) for one in reversed(found)}
    order = dict.fromkeys(one.kind for found in several for one in found)
    return tuple(first[kind] for kind in order)


def _degenerate(space: MetricSpace, apart: Spread) -> PlausibilityWarning:
    """Return the warning about a space in which nothing is to be told apart, or nothing protected."""
    if len(space) == 1:
        seen = "has 1 point, so that there is nothing to protect"
        spaced = space.positions is not None or space.structure.kind in ("path", "lattice", "torus")
        often = "often a spacing in another unit, such as 500 (metres) where km are meant: " if spaced else ""
        fix = f"{often}give more points"
    elif np.isfinite(apart.nearest).any():
        seen = f"has {len(space):,} points, all at distance 0 from each other"
        fix = "often a wrong column, or numbers that were rounded away: give different points"
    else:
        seen = f"has {len(space):,} points, no two at a finite distance, so that nothing is protected"
        fix = "give finite distances between secrets that are to look alike"
    return PlausibilityWarning("space_degenerate", "space", seen, fix)


def _radius(problem: Problem, apart: Spread) -> Warnings:
    """Return a warning if the radius that ε was made from by dx.geo.level does not suit the space or its cells."""
    asked = problem.within  # ε itself, as a float that knows the level and the radius it was made from
    if asked is None:
        return ()
    radius, unit = asked.radius, f" {problem.space.unit}" if problem.space.unit else ""
    if radius > _WIDE * apart.diameter:
        seen = f"is {radius:.4g}{unit}, where no two points are further apart than {_WIDE * apart.diameter:.4g}{unit}"
        fix = "often metres where distances are in km: give it in the unit of the space"
        return (PlausibilityWarning("radius_too_large", "radius", seen, fix),)
    found = known(problem.space)
    if found is None or found.outlines is None:
        return ()
    side = apart.typical
    if not asked.positions and side > _COARSE * radius:
        seen = (
            f"is {radius:.4g}{unit} between cells {side:.3g}{unit} apart: positions on the two sides of a border, "
            f"however near, differ by a factor of {factor(asked * side)}, not {factor(asked.level)}"
        )
        fix = "often `for: positions` was forgotten, in Python space= of dx.geo.level: add it, or give smaller cells"
        return (PlausibilityWarning("positions_forgotten", "radius", seen, fix),)
    far = asked.level / float(asked)  # the distance of cells over which ε gives the level
    if (
        asked.positions
        and found.outlines.shape[1] == 4  # squares
        and _BELOW * radius <= side <= radius
        and far > _JUMP * radius
    ):
        seen = (
            f"makes cells {side:.3g}{unit} wide, not above the radius {radius:.4g}: positions within it are in cells "
            f"up to {far:.3g} apart"
        )
        fix = f"give sides a bit longer than the radius, such as {1.05 * radius:.3g}: then it is {1.5 * radius:.3g}"
        return (PlausibilityWarning("cells_below_radius", "spacing", seen, fix),)
    return ()


def _level(problem: Problem, apart: Spread) -> Iterator[PlausibilityWarning]:
    """Yield a warning if ε hides nearly everything even at the diameter, or nearly nothing between neighbours."""
    epsilon = problem.epsilon
    most = epsilon * apart.diameter + problem.delta
    least = epsilon * apart.typical
    if most < LEAST_BUDGET:
        seen = (
            f"is {level_text(epsilon, 4)}, which times the diameter {apart.diameter:.4g} of the space is {most:.2g}: "
            "reports tell nothing of the secret"
        )
        fix = "often a level per metre where distances are in km: give one per unit of distance, such as ln(4) per km"
        yield PlausibilityWarning("level_too_low", "epsilon", seen, fix)
    elif least > MOST_BUDGET:
        seen = (
            f"is {level_text(epsilon, 4)}, which times the distance {apart.typical:.4g} between neighbours is "
            f"{least:.4g}: even these are not hidden from each other"
        )
        fix = "often a level per km where distances, or a spacing, are in metres: give both in one unit"
        yield PlausibilityWarning("level_too_high", "epsilon", seen, fix)


def _degrees(space: MetricSpace) -> Iterator[PlausibilityWarning]:
    """Yield a warning if a metric of the plane is used for what seems to be latitudes and longitudes."""
    if space.positions is not None or space.metric is None or space.metric.name not in _PLANE:
        return
    what = ""
    if are_degrees(space.axes):
        what = f"columns {' and '.join(map(repr, space.axes))}"
    elif _look_like_degrees(space):
        what = "coordinates that look like latitudes and longitudes"
    if what:
        seen = f"has {what} under the metric {space.metric.name}, which takes degrees for lengths"
        fix = "use haversine for (latitude, longitude) in degrees, with distances in km; project is for straight ones"
        yield PlausibilityWarning("degrees_in_a_plane", "space", seen, fix)


def _look_like_degrees(space: MetricSpace) -> bool:
    """Return True if points without names look like places: few degrees wide, far from 0, with many digits."""
    points = space.points
    if points is None or points.shape[1] != 2 or len(points) < _FEWEST_PLACES or space.axes:
        return False
    if space.structure.kind in ("lattice", "torus") or not np.isfinite(points).all():
        return False
    if np.abs(points).min(axis=1).max() > 90 or np.abs(points).max() > 180:
        return False
    sides = np.ptp(points, axis=0)
    off_centre = np.abs(points.mean(axis=0)) >= _OFF_CENTRE * sides
    precise = np.abs(points - points.round(_DECIMALS)) > 1e-9
    return bool(sides.min() > 0 and sides.max() <= _WIDEST and off_centre.any() and precise.mean() > 0.5)


def _on_one_point(prior: Prior) -> Iterator[PlausibilityWarning]:
    """Yield a warning if a prior has all its probability on one of several points."""
    likely = np.flatnonzero(prior.probabilities)
    if len(prior) > 1 and len(likely) == 1:
        where = f"number {likely[0]}" if prior.space is None else repr(prior.space.labels[int(likely[0])])
        seen = f"is 1 for one of {len(prior):,} points, {where}, and 0 for all others"
        fix = "often data in another order, unit or place, which all count for one point: check them"
        yield PlausibilityWarning("prior_on_one_point", "prior", seen, fix)


def _constant(problem: Problem, mechanism: Mechanism) -> Iterator[PlausibilityWarning]:
    """Yield a warning if the rows of all secrets that count are the same; of large mechanisms 16 are looked at."""
    likely = np.flatnonzero(problem.reach)
    if not isinstance(mechanism, MatrixMechanism):
        likely = likely[np.linspace(0, len(likely) - 1, min(_ROWS, len(likely))).astype(np.int64)]
    if len(problem.space) == 1 or not len(likely):
        return
    # Most mechanisms are told by two rows: the last one differs.
    if mechanism.apart(int(likely[0]), int(likely[-1])) > _ALIKE:
        return
    first = mechanism.rows(likely[:1])[0]
    for some in in_blocks(likely, len(first)):
        if (np.abs(mechanism.rows(some) - first).sum(axis=1) > _ALIKE).any():
            return
    best = int(first.argmax())
    what = f"is {problem.reports.labels[best]!r}" if first[best] > 1 - _ALIKE else "is drawn in the same way"
    seen = f"ignores the secret: the report {what} whatever it is"
    fix = "often an epsilon in another unit, or a prior that decides alone: check both, or raise epsilon"
    yield PlausibilityWarning("mechanism_constant", "mechanism", seen, fix)
