"""Positions on the Earth of the secrets and reports of a mechanism, and the part of a map that shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, SpecError, UnsupportedError
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior, PriorLike
from dxopt.model.sampling import required_mechanism
from dxopt.results.report import Report
from dxopt.spaces.geo.points import positions
from dxopt.spaces.metrics import EARTH_RADIUS_KM
from dxopt.spaces.naming import NoSuchPoint
from dxopt.spaces.positions import Positions, unrolled

KM_PER_DEGREE = math.radians(EARTH_RADIUS_KM)
"""Of latitude, and of longitude at the equator."""


@dataclass(frozen=True, eq=False)
class Located:
    """A mechanism with a prior `(n,)` on the Earth; both positions are one where the reports are the secrets."""

    mechanism: Mechanism
    prior: NDArray[np.float64]
    secrets: Positions
    reports: Positions

    @classmethod
    def of(cls, answer: Mechanism | Report, prior: PriorLike | None = None) -> Located:
        """Locate a mechanism or a report; the prior is that of the report, or uniform, by default.

        Raises
        ------
        SpecError
            If the prior is of another size.
        UnsupportedError
            If secrets or reports have no positions on the Earth.
        """
        mechanism = answer.mechanism if isinstance(answer, Report) else answer
        required_mechanism(mechanism, Mechanism)
        space = mechanism.space
        if prior is None:
            prior = answer.problem.prior if isinstance(answer, Report) else Prior.uniform(space)
        believed = Prior.of(prior, space).probabilities
        found = positions(space)
        return cls(mechanism, believed, found, _report_positions(mechanism, found))

    def expected(self) -> NDArray[np.float64]:
        """Return the probability Σ_x π_x K[x, z] of each report z under the prior, `(m,)`."""
        total = np.zeros(len(self.mechanism.reports))
        for secrets, rows in self.mechanism.blocks():
            total += self.prior[secrets] @ rows
        return total

    def index(self, secret: Any) -> int:
        """Return the index of a secret given by its label, or by a mapping with `label`, `index` or `point`."""
        space = self.mechanism.space
        if isinstance(secret, Mapping):
            if set(secret) - {"label", "index", "point"}:
                raise SpecError("secret", "has other keys than label, index and point", "give one of them")
            return space.naming.one(**secret)
        try:
            return space.naming.one(secret)
        except NoSuchPoint:
            fix = f"use a label, such as {space.labels[0]!r}, or ", Option("index")
            raise NoSuchPoint("secret", f"there is no location {secret!r}", *fix) from None


def _report_positions(mechanism: Mechanism, found: Positions) -> Positions:
    """Return the positions of the reports; `found` are those of the secrets. UnsupportedError if they have none."""
    points = mechanism.space.points
    reports = mechanism.reports
    if reports.secrets:
        return found
    # points are degrees only in a space whose own points are: others may be in a plane
    if reports.points is None or points is None or not np.array_equal(points, found.degrees):
        raise UnsupportedError("reports", "have no positions on the Earth", "report the locations themselves")
    return replace(found, degrees=np.array(reports.points), outlines=None)


def secrets_of(
    bare: Sequence[str] | None, label: Sequence[str] | None, index: Sequence[int] | None, point: Sequence[str] | None
) -> list[Any]:
    """Return the secrets that a command names, as `Located.index` takes them; `bare` are labels without an option."""
    said = [{"label": one} for one in label or []] + [{"index": one} for one in index or []]
    return [*(bare or []), *said, *({"point": _parse_coordinates(one)} for one in point or [])]


def _parse_coordinates(text: str) -> tuple[float, ...]:
    """Return the coordinates of a point written as "45.5,-73.6"; SpecError at any other text."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SpecError("point", f"is {text!r}", "give numbers with commas between them, as 45.5,-73.6") from None


_SMALLEST = 1e-8
"""Locations within that many degrees of each other are one place."""
_ALONE = 5e-4
"""Degrees that are drawn around it."""


@dataclass(frozen=True)
class Window:
    """The part of the Earth that is drawn, in degrees; longitudes continue beyond ±180° where the locations do."""

    west: float
    east: float
    south: float
    north: float

    @classmethod
    def around(cls, located: Located) -> Window:
        """Return the window around all that is drawn, with room at the edges, more of it below for the scale bar."""
        both = (located.secrets, located.reports)
        # Longitudes are taken around the middle of the locations, so that a map across ±180° is in one piece.
        middle = _central_longitude(np.concatenate([found.degrees[:, 1] for found in both]))
        shapes = [
            _as_map_coordinates(array, middle).reshape(-1, 2)
            for found in both
            for array in (found.degrees, found.outlines, found.streets)
            if array is not None
        ]
        west, south = np.min(np.vstack(shapes), axis=0)
        east, north = np.max(np.vstack(shapes), axis=0)
        bare = cls(float(west), float(east), float(south), float(north))
        # Margins are shares of the larger side, in degrees of latitude; a single place has no size and gets a margin
        # of its own, so that the window is never empty.
        size = max(north - south, (east - west) * bare.shrinking)
        alone = 0.0 if size > _SMALLEST else _ALONE
        aside = (0.04 * size + alone) / bare.shrinking
        down = 0.11 * size + 1.2 * alone
        up = 0.04 * size + alone
        return cls(bare.west - aside, bare.east + aside, bare.south - down, bare.north + up)

    @property
    def shrinking(self) -> float:
        """Length of a degree of longitude relative to one of latitude, in the middle of the window."""
        return max(math.cos(math.radians((self.south + self.north) / 2)), 0.05)

    @property
    def steepness(self) -> float:
        """Height over width as drawn, between 1/3 and 2 so that long windows still make usable figures."""
        return min(max((self.north - self.south) / ((self.east - self.west) * self.shrinking), 1 / 3), 2.0)

    def on_map(self, degrees: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return locations `(n, 2)`, or shapes `(n, k, 2)`, as (longitude, latitude) in the window."""
        return _as_map_coordinates(degrees, (self.west + self.east) / 2)


def _central_longitude(longitudes: NDArray[np.float64]) -> float:
    """Return the longitude opposite to the middle of the widest gap between longitudes.

    A map that is cut in that gap cuts no group of locations in two.
    """
    around = np.unique(np.mod(longitudes, 360.0))
    gaps = np.diff(around, append=around[0] + 360.0)
    widest = int(gaps.argmax())
    return float(unrolled(around[widest] + gaps[widest] / 2 - 180.0, 0.0))


def _as_map_coordinates(degrees: NDArray[np.float64], middle: float) -> NDArray[np.float64]:
    """Turn (latitude, longitude) into (longitude, latitude) within 180° of a middle; shapes stay whole."""
    longitudes = degrees[..., 1]
    centres = longitudes
    if degrees.ndim == 3:
        # All corners of a shape turn by the same multiple of 360°, that of its centre.
        centres = (longitudes.min(axis=1, keepdims=True) + longitudes.max(axis=1, keepdims=True)) / 2
    return np.stack([longitudes + (unrolled(centres, middle) - centres), degrees[..., 0]], axis=-1)
