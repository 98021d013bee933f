"""The possible reports of a mechanism, and their arrays in a result folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, required
from dxopt.numerics.coerce import require_values
from dxopt.runtime.archive import Arrays, names_in
from dxopt.runtime.display import Shown
from dxopt.spaces.geo.areas import inside
from dxopt.spaces.positions import are_degrees, in_degrees, names_of
from dxopt.spaces.space import MetricSpace, required_space


@dataclass(frozen=True, eq=False, repr=False)
class Reports(Shown):
    """The possible reports of a mechanism: labels, and coordinates where they have any.

    `secrets` is true where the reports are the secrets themselves, in the same order. `axes` are the names of the
    columns of a data frame that the points come from.

    Examples
    --------
    >>> import dxopt as dx
    >>> space = dx.line(3)
    >>> halves = dx.Reports.at([[0.5], [1.5]])
    >>> problem = dx.Problem(space, epsilon=1.0, prior="uniform", reports=halves)
    >>> print(problem.shape, problem.losses.tolist())
    (3, 2) [[0.5, 1.5], [0.5, 0.5], [1.5, 0.5]]
    """

    labels: Sequence[str]
    points: NDArray | None = None
    secrets: bool = False
    axes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        require_values(self.labels, "labels")
        require_values(self.points, "points")
        if self.points is not None and (np.ndim(self.points) != 2 or len(self.points) != len(self.labels)):
            wrong = f"have shape {np.shape(self.points)} for {len(self.labels)} reports"
            raise SpecError("points", wrong, "give a row of coordinates for each report")

    def _summary(self) -> str:
        first = ", ".join(self.labels[:3]) + (", …" if len(self) > 3 else "")
        return f"{len(self):,}{', the secrets' if self.secrets else ''}: {first}"

    def __len__(self) -> int:
        return len(self.labels)

    def is_same(self, other: Reports) -> bool:
        """Tell whether other reports have the same labels and coordinates.

        Examples
        --------
        >>> import dxopt as dx
        >>> print(dx.Reports.of(dx.line(3)).is_same(dx.Reports.of(dx.line(3, step=2.0))))
        False
        """
        here: Any = self.points
        there: Any = other.points
        alike = self.labels is other.labels or tuple(self.labels) == tuple(other.labels)
        return alike and (here is there or np.array_equal(here, there))

    @classmethod
    def of(cls, space: MetricSpace) -> Reports:
        """Return the secrets as reports.

        Examples
        --------
        >>> import dxopt as dx
        >>> print(list(dx.Reports.of(dx.line(3)).labels))
        ['0', '1', '2']
        """
        required_space(space)
        return cls(space.labels, space.points, secrets=True)

    @classmethod
    def at(cls, points: ArrayLike, labels: Sequence[Any] | None = None) -> Reports:
        """Return reports at any points, `(m, k)`, in the coordinates of the space.

        Raises
        ------
        SpecError
            If there are not as many labels as points, or the columns of a data frame are a longitude and a latitude,
            in this order.

        Examples
        --------
        >>> import dxopt as dx
        >>> reports = dx.Reports.at([[0.5, 0.5]], labels=["centre"])
        >>> print(reports.labels, reports.points.tolist())
        ('centre',) [[0.5, 0.5]]
        """
        axes = names_of(points)
        space = MetricSpace.from_points(
            in_degrees(points) if are_degrees(axes) else points, "discrete", labels=labels
        )
        return cls(space.labels, space.points, axes=axes)

    @classmethod
    def within(cls, space: MetricSpace, area: Any) -> Reports:
        """Return the secrets in an area of the Earth as reports, such as those on land; see `dx.geo.inside`.

        Raises
        ------
        SpecError
            If the area is none, or no secret lies in it.

        Examples
        --------
        >>> import dxopt as dx
        >>> places = dx.geo.points([[45.5, -73.6], [45.5, -73.4]], labels=["land", "river"])
        >>> land = {"type": "Polygon", "coordinates": [[[-74, 45], [-73.5, 45], [-73.5, 46], [-74, 46], [-74, 45]]]}
        >>> print(dx.Reports.within(places, land).labels)
        ('land',)
        """
        found = np.flatnonzero(inside(space, area))
        if not len(found):
            wrong = f"none of the {len(space):,} places lies in the area"
            raise SpecError("reports", wrong, "give another; GeoJSON has longitudes before latitudes")
        if len(found) == len(space):
            return cls.of(space)
        points = None if space.points is None else space.points[found]
        return cls(tuple(space.labels[x] for x in found.tolist()), points)


def required_reports(reports: Any, field: str = "reports") -> None:
    """Raise SpecError unless reports are given."""
    required(field, reports, Reports, "give dx.Reports, such as dx.Reports.at(points)")


def pack_reports(reports: Reports) -> Arrays:
    """Return the arrays from which `unpack_reports` makes the reports again; the secrets are saved with the space."""
    if reports.secrets:
        return {"secrets": True}
    arrays: Arrays = {"reports": list(reports.labels), "secrets": False}
    if reports.points is not None:
        arrays["report_points"] = reports.points.astype(str) if reports.points.dtype == object else reports.points
    return arrays


def unpack_reports(arrays: dict[str, NDArray[Any]], space: MetricSpace) -> Reports:
    """Make the reports again from the arrays of `pack_reports`, and from the space if they are the secrets."""
    if arrays["secrets"]:
        return Reports.of(space)
    points = arrays.get("report_points")
    size = arrays["matrix"].shape[1] if "matrix" in arrays else None if points is None else len(points)
    return Reports(tuple(names_in(arrays, "reports", size)), points)
