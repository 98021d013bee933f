"""Which columns of the data have the secrets, and what takes their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, UnsupportedError
from dxopt.release.tables.table import IntegerTable
from dxopt.runtime.headers import no_column
from dxopt.spaces.axes import require_latitude_first
from dxopt.spaces.geo.located import known
from dxopt.spaces.globe import OnEarth
from dxopt.spaces.space import MetricSpace

Kind = Literal["earth", "plane", "value", "label"]


@dataclass(frozen=True)
class Where:
    """The columns that have the secrets.

    Attributes
    ----------
    kind : {"earth", "plane", "value", "label"}
        Latitude and longitude in degrees; two coordinates; one coordinate; labels.
    names : tuple of str
        The columns, in this order.
    geometry : bool
        Whether it is one column of points, each longitude and latitude.
    """

    kind: Kind
    names: tuple[str, ...]
    geometry: bool = False

    @property
    def noun(self) -> str:
        """What a row has there: a position, a value or a label."""
        return self.kind if self.kind in ("value", "label") else "position"

    @classmethod
    def of(
        cls,
        space: MetricSpace,
        *,
        lat: str | None = None,
        lon: str | None = None,
        x: str | None = None,
        y: str | None = None,
        column: str | None = None,
        label: str | None = None,
        geometry: str | None = None,
    ) -> Where:
        """The columns that are named, or else the geometry, where the data has one.

        Raises
        ------
        SpecError
            If none or too many are named, or they do not suit the space.
        """
        pairs = {"lat": lat, "lon": lon, "x": x, "y": y, "column": column, "label": label}
        given = {key: name for key, name in pairs.items() if name is not None}
        match tuple(given):
            case () if geometry is not None:
                _require_earth(space, "geometry")
                return cls("earth", (geometry,), geometry=True)
            case ("lat", "lon"):
                require_latitude_first(tuple(given.values()), "lat")
                _require_earth(space, "lat")
                kind = "earth"
            case ("x", "y"):
                _require_plane(space)
                kind = "plane"
            case ("column",):
                kind = "value" if _on_a_line(space) else "label"
            case ("label",):
                kind = "label"
            case ():
                raise SpecError("columns", "are not named", "name lat and lon, x and y, column, or label")
            case keys:
                wrong = f"are named by {' and '.join(keys)}"
                raise SpecError("columns", wrong, "name lat and lon, or x and y, or column, or label")
        names = tuple(given.values())
        if len(set(names)) < len(names):
            raise SpecError("columns", f"are both {names[0]!r}", "name one column for each coordinate")
        return cls(kind, names)

    def require(self, names: Sequence[str]) -> None:
        """Raise SpecError unless the data has these columns."""
        for name in self.names:
            require_column(name, names, "columns")


def require_column(name: str, names: Sequence[str], field: str) -> None:
    """Raise SpecError where data with these columns has no such one."""
    if name not in names:
        raise SpecError(field, *no_column(name, names))


def report_coordinates(table: IntegerTable, where: Where) -> NDArray[np.float64] | None:
    """The coordinates of the reports as the data has them, `(m, k)`; none for labels.

    Raises
    ------
    UnsupportedError
        If the reports have none that suit the columns.
    """
    if where.kind == "label":
        return None
    reports = table.reports
    if where.kind == "earth":
        found = known(table.space)
        if reports.secrets and found is not None:
            return found.degrees
        if reports.points is not None and isinstance(table.space.metric, OnEarth):
            return np.asarray(reports.points, dtype=float)
        raise UnsupportedError("reports", "have no positions on the Earth", "take the secrets as reports")
    if reports.points is None:
        raise UnsupportedError("reports", "have no coordinates", "name a column of labels: label")
    return np.asarray(reports.points, dtype=float)


def _require_earth(space: MetricSpace, field: str) -> None:
    if known(space) is None:
        raise SpecError(field, "the secrets have no positions on the Earth", "name x and y, column, or label")


def _require_plane(space: MetricSpace) -> None:
    if known(space) is not None:
        raise SpecError("x", "the secrets are on the Earth", "name lat and lon, in degrees (WGS 84)")
    if space.points is None or space.points.shape[1] != 2 or space.points.dtype.kind != "f" or space.metric is None:
        raise SpecError("x", "the secrets have no two coordinates with a metric", "name column, or label")


def _on_a_line(space: MetricSpace) -> bool:
    """Whether secrets are numbers on one axis."""
    points = space.points
    return points is not None and points.shape[1] == 1 and points.dtype.kind == "f" and space.metric is not None
