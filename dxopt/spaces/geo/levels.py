"""Levels of privacy within a radius: between the places of a space, or the positions that are moved to them."""

from __future__ import annotations

import math
from typing import Self

from dxopt.errors import SpecError
from dxopt.numerics.coerce import POSITIVE, as_written
from dxopt.numerics.number_syntax import Written
from dxopt.spaces.geo.reach import across
from dxopt.spaces.space import MetricSpace

_ROUNDING = 1e-9  # a level counts as kept if ε exceeds it by no more than this share, as quotients are rounded


class Level(float):
    """ε, with the level and the radius that it was derived from, which a problem keeps as `Problem.within`.

    `positions` says whether they are about positions, and not about the places of the space.

    Examples
    --------
    >>> import dxopt as dx
    >>> epsilon = dx.geo.level("ln(4)", 0.5)
    >>> print(round(epsilon, 3), epsilon.radius, epsilon.positions)
    2.773 0.5 False
    """

    __slots__ = ("level", "positions", "radius")

    level: float
    radius: float
    positions: bool

    def __new__(cls, epsilon: float, level: float, radius: float, positions: bool) -> Self:
        made = super().__new__(cls, epsilon)
        made.level, made.radius, made.positions = level, radius, positions
        return made

    def __getnewargs__(self) -> tuple[float, float, float, bool]:  # pyright: ignore[reportIncompatibleMethodOverride]
        # copies and pickles are made by `__new__` with these
        return float(self), self.level, self.radius, self.positions

    def holds(self, space: MetricSpace) -> bool:
        """Return True if this ε keeps the level within the radius in a space, up to rounding."""
        far = across(space, self.radius) if self.positions else self.radius
        return far is not None and float(self) * far <= self.level * (1 + _ROUNDING)


def level(level: Written, radius: Written, *, space: MetricSpace | None = None) -> Level:
    """Derive ε for a privacy loss of at most `level`, such as ln 4, between locations one `radius` apart.

    Without a space it is about the places of a space: level / radius, which is how geo-indistinguishability is stated
    (Cha13; Andrés, Bordenabe, Chatzikokolakis, Palamidessi 2013, Definition 3.1). With a space it is about positions,
    which are first moved to the nearest place, the centre of their cell. Positions up to r apart are in cells whose
    centres are up to R apart, where R is the largest distance of two centres with positions that near to each other
    in their cells (`docs/theory/earth.md`; above 2,000 cells r + 2h, where h is the largest distance from a centre to
    a corner of its cell). So ε = level / R keeps the level for all of them.

    That holds for positions up to h away from the nearest centre, which is what `dx.apply` accepts unless it is told
    otherwise. Positions that are taken for the nearest cell from further away (`outside="nearest"`, or a larger
    `within`) have no such bound: those t and t' away are in cells up to r + t + t' apart.

    Parameters
    ----------
    level, radius : float or str
        Text for how it is written, such as "ln(4)". The radius is in the unit of the distances of the space, as it
        measures them; ε is per that unit.
    space : MetricSpace, optional
        One with cells on the Earth (`bounding_grid`, `h3_cells`), for a level between positions.

    Raises
    ------
    SpecError
        If a number is not positive, their quotient is 0 or infinite, or the space has no cells.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(round(dx.geo.level("ln(4)", 0.5), 4), "per km, for a factor of 4 between places 500 m apart")
    2.7726 per km, for a factor of 4 between places 500 m apart
    >>> city = dx.geo.bounding_grid(45.71, 4.78, 45.80, 4.91, spacing=0.5)
    >>> print(round(dx.geo.level("ln(4)", 0.5, space=city), 4), "per km, for any two positions 500 m apart")
    1.9507 per km, for any two positions 500 m apart
    """
    level, radius = as_written(level, "level", *POSITIVE), as_written(radius, "radius", *POSITIVE)
    far = radius if space is None else across(space, radius)
    if far is None:
        fix = "take a grid or hexagons on the Earth; for a level between its points, leave out the space"
        raise SpecError("space", "has no cells that positions lie in", fix)
    epsilon = level / far
    if not 0 < epsilon < math.inf:
        raise SpecError("radius", f"makes level / radius {epsilon:g}", "give a level and a radius less far apart")
    return Level(epsilon, level, radius, space is not None)
