"""The part of the Earth that a map shows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.results.maps.located import Located
from dxopt.spaces.positions import unrolled

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
        """The window around all that is drawn, with room at the edges and more of it below, for the scale bar."""
        both = (located.secrets, located.reports)
        # Longitudes are taken around the middle of the locations, so that a map across ±180° is in one piece.
        middle = _middle(np.concatenate([found.degrees[:, 1] for found in both]))
        shapes = [
            _on_map(array, middle).reshape(-1, 2)
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
        """How much shorter a degree of longitude is than one of latitude."""
        return max(math.cos(math.radians((self.south + self.north) / 2)), 0.05)

    @property
    def steepness(self) -> float:
        """Height over width as drawn, between 1/3 and 2."""
        return min(max((self.north - self.south) / ((self.east - self.west) * self.shrinking), 1 / 3), 2.0)

    def on_map(self, degrees: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return locations `(n, 2)`, or shapes `(n, k, 2)`, as (longitude, latitude) in the window."""
        return _on_map(degrees, (self.west + self.east) / 2)


def _middle(longitudes: NDArray[np.float64]) -> float:
    """Return the longitude opposite to the middle of the widest gap between longitudes."""
    # A map that is cut where nothing is for longest cuts no group of locations in two.
    around = np.unique(np.mod(longitudes, 360.0))
    gaps = np.diff(around, append=around[0] + 360.0)
    widest = int(gaps.argmax())
    return float(unrolled(around[widest] + gaps[widest] / 2 - 180.0, 0.0))


def _on_map(degrees: NDArray[np.float64], middle: float) -> NDArray[np.float64]:
    """Return (longitude, latitude) within 180 degrees of a middle, of locations or of shapes, which stay whole."""
    longitudes = degrees[..., 1]
    centres = longitudes
    if degrees.ndim == 3:
        # All corners of a shape turn by the same multiple of 360°, that of its centre.
        centres = (longitudes.min(axis=1, keepdims=True) + longitudes.max(axis=1, keepdims=True)) / 2
    return np.stack([longitudes + (unrolled(centres, middle) - centres), degrees[..., 0]], axis=-1)
