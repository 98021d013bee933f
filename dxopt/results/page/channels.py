"""Channels, and their places in a plane, as data for the scripts of a page."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import UnsupportedError
from dxopt.results.folder import finite
from dxopt.results.maps.located import KM_PER_DEGREE, Located, Window
from dxopt.results.maps.underlay import Shapes, Underlay
from dxopt.results.report import Report
from dxopt.spaces.geo.points import known
from dxopt.spaces.labels import Coordinates
from dxopt.spaces.positions import unrolled

Array = NDArray[np.float64]
MOST_CORNERS = 40_000
"""Of shapes under a map in a page: 0.7 MB of text."""


@dataclass(frozen=True, eq=False)
class Plane:
    """Locations in a plane, x to the right (east) and y up (north).

    Attributes
    ----------
    secrets, reports : (n, 2) array, (m, 2) array or None
        The second is None where the reports are the secrets.
    areas, streets : (n, k, 2) and (s, 2, 2) array, or None
        The area that each secret represents, and streets to draw.
    unit : str
        Blank where the coordinates have none.
    middle : (float, float) or None
        Latitude and longitude at (0, 0), on the Earth.
    named : bool
        Whether locations have names to be written beside them, and not their coordinates.
    beneath : Underlay or None
        What is drawn under the locations, in the coordinates of the plane.
    """

    secrets: Array
    reports: Array | None = None
    areas: Array | None = None
    streets: Array | None = None
    unit: str = ""
    middle: tuple[float, float] | None = None
    named: bool = False
    beneath: Underlay | None = None

    @classmethod
    def of(cls, report: Report, shapes: Shapes | None = None) -> Plane | None:
        """Return the plane of a report on locations on the Earth or points with two coordinates; None for others.

        `shapes` are drawn under locations on the Earth, where there are any of them.
        """
        space = report.mechanism.space
        reports = report.mechanism.reports
        if known(space) is not None:
            try:
                return _plane_on_earth(Located.of(report), shapes)
            except UnsupportedError:
                return None
        secrets = _as_plane_points(space.points)
        reported = _as_plane_points(reports.points)
        if secrets is None or (reported is None and not reports.secrets):
            return None
        return cls(secrets, None if reports.secrets else reported, unit=space.unit, named=_are_words(space.labels))

    def as_data(self) -> dict[str, Any]:
        """Return coordinates for a script, as shares of the larger side, with what turns them back into units."""
        shapes = {name: getattr(self, name) for name in ("secrets", "reports", "areas", "streets")}
        every = np.vstack([array.reshape(-1, 2) for array in shapes.values() if array is not None])
        low = every.min(axis=0)
        size = float(np.ptp(every, axis=0).max()) or 1.0

        def scaled(array: Array | None) -> Any:
            return None if array is None else np.round((array - low) / size, 5).tolist()

        return {
            **{name: scaled(array) for name, array in shapes.items()},
            "size": size,
            "unit": self.unit,
            "corner": low.tolist(),
            "middle": self.middle,
            "named": self.named,
            "beneath": None if self.beneath is None else self.beneath.as_data(scaled),
        }


def _as_plane_points(points: NDArray[Any] | None) -> Array | None:
    """Return points as an `(n, 2)` array of floats; None where they are not numbers in two coordinates."""
    if points is None or points.ndim != 2 or points.shape[1] != 2 or not np.issubdtype(points.dtype, np.number):
        return None
    return points.astype(float)


def _plane_on_earth(located: Located, shapes: Shapes | None) -> Plane:
    """Return the plane of locations on the Earth: kilometres east and north of the middle of the secrets."""
    found = located.secrets
    reported = located.reports
    middle = _middle(found.degrees)
    flat = partial(_kilometres_from, middle)
    beneath = None if shapes is None else Underlay.within(shapes, Window.around(located))
    return Plane(
        flat(found.degrees),
        None if reported is found else flat(reported.degrees),
        None if found.outlines is None else flat(found.outlines),
        None if found.streets is None else flat(found.streets),
        "km",
        middle,
        _are_words(located.mechanism.space.labels),
        # corners of an underlay are (longitude, latitude), of locations the reverse
        beneath and beneath.simplified(MOST_CORNERS).placed(lambda ring: flat(ring[:, ::-1])),
    )


def _are_words(labels: Sequence[str]) -> bool:
    """Return True if labels are words: neither coordinates nor numbers."""
    return all(any(letter.isalpha() for letter in label) for label in labels)


def _middle(degrees: Array) -> tuple[float, float]:
    """Return latitude and longitude in the middle of locations, which may be on both sides of ±180°."""
    longitudes = unrolled(degrees[:, 1], float(degrees[0, 1]))
    latitude, longitude = ((values.min() + values.max()) / 2 for values in (degrees[:, 0], longitudes))
    return float(latitude), float(longitude)


def _kilometres_from(middle: tuple[float, float], degrees: Array) -> Array:
    """Return kilometres east and north of the middle, where a degree of longitude is as long as it is there."""
    latitude, longitude = middle
    east = (unrolled(degrees[..., 1], longitude) - longitude) * math.cos(math.radians(latitude))
    return KM_PER_DEGREE * np.stack([east, degrees[..., 0] - latitude], axis=-1)


CELLS = 640_000
"""Entries of all channels in a page: 3.4 MB of text."""


def count_entries(report: Report) -> int:
    """Return the number n·m of entries of the channel, on which it depends whether a page has room for it."""
    return len(report.mechanism.space) * len(report.mechanism.reports)


def as_data(report: Report, plane: Plane | None) -> dict[str, Any]:
    """Return a channel for the scripts of a page: all about its secrets, and probabilities as 32-bit floats."""
    mechanism, reports = report.mechanism, report.mechanism.reports
    return {
        "secrets": readable(mechanism.space.labels, mechanism.space.points, plane),
        "reports": None if reports.secrets else readable(reports.labels, reports.points, plane),
        "prior": report.problem.prior.probabilities.tolist(),
        "losses": [finite(loss) for loss in mechanism.losses(report.problem.loss).tolist()],
        "unit": report.problem.loss.unit,
        "channel": as_base64(mechanism.matrix),
        "plane": None if plane is None else plane.as_data(),
    }


def readable(labels: Sequence[str], points: NDArray | None, plane: Plane | None) -> list[str]:
    """Return labels for a page: coordinates on the Earth with the fewest digits, 3 or more, that tell them apart."""
    if plane is None or plane.middle is None or points is None or list(labels) != list(Coordinates(points)):
        return list(labels)
    for digits in range(3, 9):
        shown = [
            f"{_degrees_text(y, digits, 'N', 'S')}, {_degrees_text(x, digits, 'E', 'W')}" for y, x in points.tolist()
        ]
        if len(set(shown)) == len(shown):
            return shown
    return list(labels)


def _degrees_text(value: float, digits: int, above: str, below: str) -> str:
    return f"{abs(value):.{digits}f}° {below if value < 0 else above}"


def as_base64(matrix: NDArray[np.float64]) -> str:
    """Return the rows of a matrix as 32-bit floats in base64; entries too small for them stay positive, not 0."""
    smallest = np.finfo(np.float32).tiny
    kept = np.where(matrix > 0, np.maximum(matrix, smallest), 0.0)
    return base64.b64encode(kept.astype("<f4").tobytes()).decode("ascii")


def report_probabilities(report: Report) -> list[float]:
    """Return the probability Σ_x π_x K[x, z] of each report z under the prior."""
    return (report.problem.prior.probabilities @ report.mechanism.matrix).tolist()
