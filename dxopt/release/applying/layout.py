"""The columns of the output: which are kept, which are made of the report, and in which order."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import PlausibilityWarning, SpecError
from dxopt.release.applying.radii import Radii
from dxopt.release.applying.where import Where, report_coordinates, require_column
from dxopt.release.tables.table import IntegerTable
from dxopt.verify.published.sidecar import GENERALIZATIONS

UNCERTAINTY = "coordinateUncertaintyInMeters"
"""A term of Darwin Core, as GENERALIZATIONS is; the others are names of dxopt's own."""
_WORST = {UNCERTAINTY: "worstCaseUncertaintyInMeters", "uncertainty": "worst_case_uncertainty"}
_LOCATE = {
    *("address", "addr", "street", "road", "zip", "zipcode", "postal", "postcode", "plz", "geohash", "geom"),
    *("geometry", "wkt", "wkb", "h3", "s2", "mgrs", "utm", "easting", "northing", "place", "location", "locality"),
    *("city", "town", "village", "municipality", "county", "district", "ward", "neighborhood", "neighbourhood"),
    *("lat", "latitude", "lon", "lng", "long", "longitude", "coordinate", "coordinates", "coords", "position"),
    *("gps", "ip", "pluscode", "what3words", "w3w", "cell", "station", "home", "verbatim", "elevation", "altitude"),
}
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")


@dataclass(frozen=True, eq=False)
class Layout:
    """What is written of each row.

    Attributes
    ----------
    order : tuple of str
        The columns of the output.
    made : dict of (m,) array, or (m, 2) array for geometry
        The value of a column for each report: whatever is not here is kept from the input. Coordinates of geometry
        are latitude and longitude.
    left_out : tuple of str
        Columns of the input that the output has not.
    """

    order: tuple[str, ...]
    made: dict[str, NDArray[Any]]
    left_out: tuple[str, ...]

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        where: Where,
        made: dict[str, NDArray[Any]],
        *,
        keep: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        hidden: Sequence[str] = (),
    ) -> Layout:
        """The columns of an output.

        Parameters
        ----------
        names : sequence of str
            The columns of the input.
        made : dict
            The columns that are made.
        keep : sequence of str, optional
            Other columns of the input that are kept; all by default.
        drop : sequence of str
            Columns that are not.
        hidden : sequence of str
            Columns that repeat the true position, which are never kept.

        Raises
        ------
        SpecError
            If a column is not there, the input has one of the name of a new one, or none is left with the report.
        """
        for field, given in (("keep", keep), ("drop", drop)):
            if isinstance(given, str):
                raise SpecError(field, f"is the text {given!r}", f"give a list: [{given!r}]")
            for name in given or ():
                require_column(name, names, field)
        away = {*drop, *hidden}
        if keep is not None:
            away |= set(names) - {*keep, *where.names}
        rest = [name for name in names if name not in away]
        replaced = {*where.names, UNCERTAINTY}
        taken = next((name for name in made if name in rest and name not in replaced), None)
        if taken is not None:
            raise SpecError(
                "data", f"has a column {taken!r}, as the output will", "rename it, or leave it out by drop"
            )
        order = (*rest, *(name for name in made if name not in rest and name not in away.intersection(where.names)))
        if not {*where.names, "report"}.intersection(order):
            raise SpecError("drop", "leaves no column with the report", f"keep {where.names[0]!r}")
        if where.kind != "value":
            # the place of a count is no secret
            _warn_of([name for name in rest if name not in made])
        left_out = tuple(name for name in names if name in away)
        return cls(order, {name: made[name] for name in order if name in made}, left_out)


def columns_of_reports(
    table: IntegerTable, where: Where, radii: Radii | None, said: str, *, worst: bool, lean: bool
) -> dict[str, NDArray[Any]]:
    """The columns that are made, each a value for every report `(m,)`: whoever has the report has all of them.

    The lean ones are the report, where the secret was, and its radii.
    """
    labels = np.array(list(table.reports.labels), dtype=object)
    coordinates = report_coordinates(table, where)
    made: dict[str, NDArray[Any]] = {}
    if coordinates is None:
        made[where.names[0]] = labels
    elif where.geometry:
        made[where.names[0]] = coordinates
    else:
        whole = where.kind != "earth" and bool((coordinates == np.round(coordinates)).all())
        for name, axis in zip(where.names, coordinates.T, strict=True):
            made[name] = axis.astype(np.int64) if whole else np.array(axis)
    every = len(labels)
    if not lean:
        if coordinates is not None:
            made["report"] = labels
        made["epsilon"] = np.full(every, float(table.epsilon))
        if table.delta:
            made["delta"] = np.full(every, float(table.delta))
    if radii is not None:
        name = UNCERTAINTY if radii.unit == "m" and where.kind == "earth" else "uncertainty"
        made[name] = _whole(radii.posterior)
        if worst:
            made[_WORST[name]] = _whole(np.full(every, radii.worst))
    if not lean:
        made[GENERALIZATIONS] = np.array([said] * every, dtype=object)
    return made


def _whole(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Numbers as integers where all are whole."""
    return numbers.astype(np.int64) if (np.isfinite(numbers) & (numbers == np.round(numbers))).all() else numbers


def _words(name: str) -> set[str]:
    """The words of a name, also two in a row as one: `GeoHash` is `geo`, `hash` and `geohash`."""
    words = [word.lower() for word in _WORDS.findall(name)]
    return {*words, *(one + other for one, other in pairwise(words))}


def _warn_of(kept: Sequence[str]) -> None:
    """Warn of columns that are kept and whose names say that they locate somebody."""
    found = [name for name in kept if _LOCATE & _words(name)]
    if found:
        seen = f"columns are kept that may locate somebody: {', '.join(map(repr, found[:5]))}"
        more = f" and {len(found) - 5:,} more" if len(found) > 5 else ""
        fix = "often as well as the position does: leave them out by drop, or name those to keep"
        # the caller of `apply`, which is as many calls up for frames as for files
        warnings.warn(PlausibilityWarning("columns_locate", "data", seen + more, fix), stacklevel=6)
