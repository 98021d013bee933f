"""Elastic metrics: a level of privacy for each place, as people in a dense quarter need another one than far out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.numerics.coerce import POSITIVE, as_number, as_weights, as_written
from dxopt.numerics.number_syntax import Written
from dxopt.numerics.rounding import UNIT
from dxopt.spaces.distances import in_blocks, path_closure, require_few
from dxopt.spaces.geo.points import known
from dxopt.spaces.space import MetricSpace, required_space


def elastic(space: MetricSpace, levels: ArrayLike) -> MetricSpace:
    """Return the largest metric in which each place is as close to any other as its own level asks.

    It is the largest metric d' with d'(x, x') ≤ min(ε(x), ε(x')) d(x, x') for all x and x': the lengths of shortest
    paths along steps of these lengths. A mechanism that is private for it at ε = 1 treats x and x' alike to a factor
    of e^{ε(x) d(x, x')}, whatever the level of x' is. Distances are rounded down, so that this holds exactly.

    Losses in the old unit are those of the old space: `dx.Loss.of("distance", space)`.

    Parameters
    ----------
    space : MetricSpace
        Places and their distances, in km or the like; up to 20,000.
    levels : (n,) array
        ε(x) of each place, per unit of distance: a number above 0, as of `dx.density_levels`.

    Returns
    -------
    MetricSpace
        The same places, with distances in levels, which a `Problem` multiplies by its ε; on the Earth with their
        positions, else without coordinates.

    Raises
    ------
    SpecError
        If there is not one level for each place, above 0 and finite.
    UnsupportedError
        If there are more than 20,000 places.

    Examples
    --------
    >>> import dxopt as dx
    >>> town = dx.MetricSpace.from_points([0.0, 1.0, 2.0, 5.0], unit="km")
    >>> careful = dx.elastic(town, [1.0, 1.0, 1.0, 0.1])
    >>> print(careful.row(index=0).round(6).tolist())
    [0.0, 0.9, 0.8, 0.5]
    >>> problem = dx.Problem(careful, epsilon=1.0, prior="uniform", loss=dx.Loss.of("distance", town))
    >>> print(dx.solve(problem).problem.unit)
    km
    """
    required_space(space)
    require_few(len(space))
    given = as_weights(levels, "levels", "give a level for each place", len(space))
    if not given.all():
        raise SpecError("levels", f"that of {space.labels[int(given.argmin())]} is 0", "give numbers above 0")
    with np.errstate(over="ignore"):
        steps = np.minimum.outer(given, given) * space.distances
        # a product and up to n sums are rounded up by a unit each at most, and this product by one more
        closed = path_closure(steps) * (1 - (len(space) + 4) * UNIT)
    closed.flags.writeable = False
    return MetricSpace(space.labels, given=closed, positions=known(space), unit="levels")


def density_levels(space: MetricSpace, weights: ArrayLike, people: float, level: Written) -> NDArray[np.float64]:
    """Return the level of each place at which as many people as asked for are alike: `level` within their radius.

    The radius of a place is the least within which so many people are, its own among them, or the distance
    to the next place where that is larger. Levels tell where people are: weights that are private are to be noisy
    counts, such as those of `dx.Prior.private`.

    Parameters
    ----------
    space : MetricSpace
        Places and their distances.
    weights : (n,) array
        How many people there are at each place.
    people : float
        How many of them are to be alike.
    level : float or str
        The privacy loss within the radius, such as "ln(4)".

    Returns
    -------
    (n,) array
        ε(x) = level / radius(x), per unit of distance, for `elastic`.

    Raises
    ------
    SpecError
        If weights are negative or none, or at any finite distance there are fewer people.

    Examples
    --------
    >>> import dxopt as dx
    >>> town = dx.MetricSpace.from_points([0.0, 1.0, 2.0, 6.0], unit="km")
    >>> print(dx.density_levels(town, [500, 300, 300, 50], 800, 1.0).round(3).tolist())
    [1.0, 1.0, 0.5, 0.167]
    """
    required_space(space)
    masses = as_weights(weights, "weights", "give a number for each place", len(space))
    people = as_number(people, "people", "give a number above 0", lambda number: number > 0)
    loss = as_written(level, "level", *POSITIVE)
    radii = np.empty(len(space))
    everything = np.arange(len(space))
    for rows in in_blocks(everything, len(space)):
        apart = space.block(rows, everything)
        order = np.argsort(apart, axis=1, kind="stable")
        away = np.take_along_axis(apart, order, axis=1)
        within = np.cumsum(masses[order], axis=1)
        # the sum of all may miss their number by rounding
        enough = within >= people * (1 - len(space) * UNIT)
        first = enough.argmax(axis=1)
        reached = np.where(enough.any(axis=1), np.take_along_axis(away, first[:, None], axis=1)[:, 0], np.inf)
        radii[rows] = np.maximum(reached, np.min(away, axis=1, where=away > 0, initial=np.inf))
    if len(bad := np.flatnonzero(~np.isfinite(radii))):
        place, total = space.labels[int(bad[0])], masses.sum()
        raise SpecError("people", f"is {people:g}, more than are near {place} (all are {total:g})", "give fewer")
    return loss / radii
