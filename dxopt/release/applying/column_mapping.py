"""Columns that have the secrets, the secret that each row's values stand for, and the columns of the output."""

from __future__ import annotations

import warnings
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, PlausibilityWarning, SpecError, UnsupportedError
from dxopt.numerics.coerce import NONNEGATIVE, as_number
from dxopt.release.tables.table import IntegerTable
from dxopt.runtime.column_names import in_degrees, locates, parts_of_degree
from dxopt.runtime.csv_text import has_comma, number, with_point
from dxopt.runtime.identity import CommaError, RoundedError, composed, each, identity, is_missing
from dxopt.spaces.geo.nearest import nearest_of
from dxopt.spaces.geo.points import known
from dxopt.spaces.geo.reach import ELLIPSOID, reach
from dxopt.spaces.metrics import Haversine, OnEarth
from dxopt.spaces.naming import cache, hashable
from dxopt.spaces.positions import distance_of, require_latitude_first
from dxopt.spaces.space import MetricSpace
from dxopt.verify.published.sidecar import GENERALIZATIONS, SHARE

Kind = Literal["earth", "plane", "value", "label"]


@dataclass(frozen=True)
class Where:
    """The columns that have the secrets: latitude and longitude in degrees, coordinates, one value, or a label.

    With `geometry` it is one column of points, each longitude and latitude. `decimal` is the mark of numbers in text,
    None for labels where it was not said.
    """

    kind: Kind
    names: tuple[str, ...]
    geometry: bool = False
    decimal: str | None = "."

    @property
    def noun(self) -> str:
        """Noun for the secret of a row: position, value or label."""
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
        decimal: str = ".",
        said: str | None = None,
    ) -> Where:
        """Return the columns that are named, or else `geometry`, the data's own column of points.

        `decimal` is the mark of numbers, and `said` that of labels, which is never guessed.
        SpecError if the names are no known combination, or do not suit the secrets of the space.
        """
        pairs = {"lat": lat, "lon": lon, "x": x, "y": y, "column": column, "label": label}
        given = {key: name for key, name in pairs.items() if name is not None}
        names = tuple(given.values())
        if len(set(names)) == 1 < len(names):
            raise SpecError("columns", f"are both {names[0]!r}", "name one column for each coordinate")
        match tuple(given):
            case () if geometry is not None:
                _require_earth(space, "geometry")
                return cls("earth", (geometry,), geometry=True)
            case ("lat", "lon"):
                require_latitude_first(names, "lat")
                _require_earth(space, "lat")
                kind = "earth"
            case ("x", "y"):
                if known(space) is not None:
                    raise SpecError("x", "the secrets are on the Earth", "name lat and lon, in degrees (WGS 84)")
                if not _are_numbers(space, 2):
                    raise SpecError("x", "the secrets have no two coordinates with a metric", "name column, or label")
                kind = "plane"
            case ("column",):
                kind = "value" if _are_numbers(space, 1) else "label"
            case ("label",):
                kind = "label"
            case ():
                raise SpecError("columns", "are not named", "name lat and lon, x and y, column, or label")
            case keys:
                wrong = f"are named by {' and '.join(keys)}"
                raise SpecError("columns", wrong, "name lat and lon, or x and y, or column, or label")
        return cls(kind, names, decimal=said if kind == "label" else decimal)


def report_coordinates(table: IntegerTable, where: Where) -> NDArray[np.float64] | None:
    """Return the coordinates of the reports, on the Earth in degrees, `(m, k)`; None for labels.

    UnsupportedError if the reports have none that suit the columns.
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


def _are_numbers(space: MetricSpace, axes: int) -> bool:
    """Return whether secrets are points with so many coordinates under a metric."""
    points = space.points
    return points is not None and points.shape[1] == axes and points.dtype.kind == "f" and space.metric is not None


GOOD, BAD, NO_DEGREES, OUTSIDE, UNKNOWN, COMMA, ROUNDED = CODES = range(7)
"""Codes of rows: a secret; empty or no number; no latitude and longitude; too far from all secrets; unknown label; a
number with a comma; a label that is a float without all its digits."""
_SLACK = 1e-9
"""Tolerance of rounding beyond `within`, relative to it and to the largest coordinate."""


@dataclass(frozen=True, eq=False)
class Snapped:
    """The nearest secret of each of k rows, how far it is (0 for labels), and the code of the row."""

    index: NDArray[np.int64]
    apart: NDArray[np.float64]
    code: NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Snapper:
    """Map from the values of a row to the secret that is drawn for: the nearest, at most `within` away.

    `within` is 0 for labels, which are secrets or not. `unit` is its unit, blank for coordinates without one;
    `derived` is True where `within` follows from the space and was not given.
    """

    space: MetricSpace
    where: Where
    within: float
    unit: str
    derived: bool

    @classmethod
    def of(cls, space: MetricSpace, where: Where, within: float | None) -> Snapper:
        """Return the snapper of a space; `within` is `reach(space)` if it is not given.

        SpecError if `within` is no finite number from 0, or more than two positions on the Earth can be apart, is
        given for labels, or does not follow from the space;
        UnsupportedError if SciPy is not installed, which finds the nearest secrets.
        """
        within = None if within is None else as_number(within, "within", *NONNEGATIVE)
        if where.kind == "label":
            if within is not None:
                raise SpecError("within", "is given for labels, which are secrets or not", "leave it out")
            space.naming.require_distinct()
            return cls(space, where, 0.0, "", False)
        try:
            import_module("scipy.spatial")
        except ImportError:
            raise UnsupportedError(
                "scipy", "is not installed", "install dxopt[geo], or name a column of labels"
            ) from None
        found = known(space)
        unit = found.unit if found is not None else space.unit
        if within is not None and where.kind == "earth" and within > distance_of(2.0, unit):
            raise SpecError("within", f"is {within:g} {unit}, over half the circumference of the Earth", "give less")
        return cls(space, where, reach(space) if within is None else float(within), unit, within is None)

    def snap(self, values: Sequence[Any], *, swapped: bool = False) -> Snapped:
        """Return the secrets of rows; `swapped` exchanges the two columns, to find out if longitude is first."""
        if self.where.kind == "label":
            return self._labelled(values[0])
        decimal = self.where.decimal or "."
        columns = [numbers(column, decimal) for column in values]
        if self.where.kind == "earth" and not self.where.geometry:
            columns = [in_degrees(name, column) for name, column in zip(self.where.names, columns, strict=True)]
        located = np.column_stack(columns[:: -1 if swapped else 1])
        code = np.where(np.isfinite(located).all(axis=1), GOOD, BAD).astype(np.int8)
        if decimal == ".":
            for row in np.flatnonzero(code == BAD).tolist():
                code[row] = COMMA if any(has_comma(column[row]) for column in values) else BAD
        if self.where.kind == "earth":
            with np.errstate(invalid="ignore"):  # NaN, which is BAD already
                off = (np.abs(located) > (90.0, 360.0)).any(axis=1)
            code[off & (code == GOOD)] = NO_DEGREES
        index = np.zeros(len(located), dtype=np.int64)
        apart = np.zeros(len(located))
        usable = code == GOOD
        if usable.any():
            found = nearest_of(self.space, located[usable])
            index[usable] = found.index
            apart[usable] = found.apart
            code[usable] = np.where(found.apart > self._beyond(self.within), OUTSIDE, GOOD)
        return Snapped(index, apart, code)

    def off(self, snapped: Snapped) -> NDArray[np.bool_]:
        """Return a mask `(k,)` of the rows that are not at their secret, up to rounding."""
        return snapped.apart > self._beyond(0.0)

    def _beyond(self, distance: float) -> float:
        """Return a distance, and what rounding adds to it."""
        points = self.space.points
        scale = 1.0 if self.where.kind == "earth" or points is None else float(np.abs(points).max())
        return distance + _SLACK * (distance + scale)

    def _labelled(self, values: Any) -> Snapped:
        """Return the secrets of rows with these labels; each different one is looked up once."""
        met = cache(self._label)
        found = [met(value) if hashable(value) else self._label(value) for value in each(values, "label")]
        index, code = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return Snapped(index, np.zeros(len(index)), code.astype(np.int8))

    def _label(self, value: Any) -> tuple[int, int]:
        """Return the secret of a label, 0 if there is none, and the code of the row."""
        decimal = self.where.decimal
        if is_missing(value) or (isinstance(value, str) and not composed(value)):
            return 0, BAD
        try:
            found = self.space.naming.with_label(value, decimal)
            named = found is not None or isinstance(value, tuple) or identity(value, decimal=decimal or ".")
        except CommaError:
            return 0, COMMA
        except RoundedError:
            return 0, ROUNDED
        except SpecError:
            return 0, BAD
        if not named:
            return 0, BAD
        return (0, UNKNOWN) if found is None else (found, GOOD)


def numbers(column: Any, decimal: str = ".") -> NDArray[np.float64]:
    """Return the values of a column as numbers `(k,)`, text with this decimal mark; NaN for whatever is none."""
    if isinstance(column, np.ndarray):
        if column.ndim > 1 or column.dtype.kind not in "fiuUO":
            return np.full(len(column), np.nan)
        if column.dtype.kind in "fiu":
            return column.astype(float)
        column = column.tolist()
    if decimal != ".":
        column = [with_point(value, decimal) if isinstance(value, str) else value for value in column]
    if all(isinstance(value, str) and "_" not in value for value in column):
        with suppress(ValueError):
            return np.array(column, dtype=float)
    return np.array([number(value) for value in column], dtype=float)


_ROUNDING = 1e-9
"""A share is reached where it is by as much, so that rounding never makes a radius too small."""


@dataclass(frozen=True, eq=False)
class Radii:
    """Radii that hold the true position with 95 %, `within` included; on the Earth in whole metres, rounded up.

    `posterior` `(m,)` is under the prior given each report, or, where it has probability 0, the largest distance to a
    secret that may be behind it; `worst` holds the report whatever the secret is.
    """

    posterior: NDArray[np.float64]
    worst: float
    unit: str


def radii(table: IntegerTable, prior: NDArray[np.float64], snapper: Snapper) -> Radii | None:
    """Return the radii that rows state as their uncertainty; None if secrets have no distances to reports."""
    apart = _distances(table, snapper)
    if apart is None:
        return None
    chances = table.counts.astype(float) / float(table.total)
    joint = prior[:, None] * chances
    # for each report over the secrets behind it; if none is likely, the farthest possible one
    columns = [
        _smallest_radius(apart[:, z], joint[:, z])
        if joint[:, z].sum() > 0
        else float(apart[chances[:, z] > 0, z].max(initial=0.0))
        for z in range(len(table.reports))
    ]
    # for each secret over its reports
    worst = max(_smallest_radius(row, weights) for row, weights in zip(apart, chances, strict=True))
    found = np.array([*columns, worst]) + snapper.within
    if snapper.where.kind != "earth":
        return Radii(found[:-1], float(found[-1]), table.space.unit)
    # distances are great circles; on the ellipsoid they may be longer by this factor
    metres = found * (1000.0 / Haversine.units[snapper.unit]) * ELLIPSOID
    whole = np.ceil(metres - _ROUNDING)
    return Radii(whole[:-1], float(whole[-1]), "m")


def _smallest_radius(apart: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the smallest distance within which there is 95 % of the weight, which need not sum to 1."""
    order = np.argsort(apart, kind="stable")
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, (SHARE + _ROUNDING) * reached[-1]))
    return float(apart[order[min(place, len(order) - 1)]])


def _distances(table: IntegerTable, snapper: Snapper) -> NDArray[np.float64] | None:
    """Return distances of secrets to reports `(n, m)`, great circles on the Earth; None if the metric has none."""
    space = table.space
    found = known(space)
    if snapper.where.kind == "earth" and found is not None:
        coordinates = report_coordinates(table, snapper.where)
        if coordinates is not None:
            return Haversine(found.unit).block(found.degrees, coordinates)
    if table.reports.secrets:
        return space.distances
    if table.reports.points is None or space.metric is None:
        return None
    try:
        return space.distances_to(table.reports.points)
    except SpecError:
        return None


UNCERTAINTY = "coordinateUncertaintyInMeters"
"""A term of Darwin Core, as GENERALIZATIONS is; the others are names of dxopt's own."""
_WORST = {UNCERTAINTY: "worstCaseUncertaintyInMeters", "uncertainty": "worst_case_uncertainty"}
_SAID = {"report", "epsilon", "delta", *_WORST, *_WORST.values(), GENERALIZATIONS}
"""Columns that a reader takes for those of `apply`, also where this output has none of the name."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Columns of an output in their order, and those of the input that are left out.

    `made` has the value of a column for each report, `(m,)`, or `(m, 2)` for geometry, latitude first; what is not
    there is kept from the input.
    """

    order: tuple[str, ...]
    made: dict[str, NDArray[Any]]
    left_out: tuple[str, ...]

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns of the input that the output has."""
        return tuple(name for name in self.order if name not in self.made)

    def among(self, names: Container[str]) -> Layout:
        """Return the same without columns of the input that are not among some."""
        order = tuple(name for name in self.order if name in self.made or name in names)
        return Layout(order, self.made, tuple(name for name in self.left_out if name in names))

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        where: Where,
        made: dict[str, NDArray[Any]],
        placed: Sequence[str],
        *,
        keep: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        hidden: Sequence[str] = (),
    ) -> Layout:
        """Return the columns of an output: those of the input's `names` that are kept, and those that are `made`.

        Reports are `placed` in the columns of secrets, or, in another format, in others instead.
        Hidden columns repeat the true position, and are never kept. SpecError if the input has one of the name of a
        new one, or none is left with the report.
        """
        away = {*drop, *hidden}
        instead = set() if tuple(placed) == where.names else {*where.names}
        if keep is not None:
            away |= set(names) - {*keep, *where.names}
        rest = dict.fromkeys(name for name in names if name not in away | instead)
        replaced = {*where.names, UNCERTAINTY}
        claimed = ({*made} - replaced) | (_SAID - {*made, *(keep or ()), *where.names})
        taken = next((name for name in rest if name in claimed), None)
        if taken is not None:
            fix = ("rename it, or leave it out: ", Option("drop", [taken]))
            raise SpecError("data", f"has a column {taken!r}, as outputs have", *fix)
        without = {*placed} if away.issuperset(instead or (None,)) else away.intersection(where.names)
        order = (*rest, *(name for name in made if name not in rest and name not in without))
        if not {*placed, "report"}.intersection(order):
            raise SpecError("drop", "leaves no column with the report", f"keep {where.names[0]!r}")
        if 0 < len(away.intersection(where.names)) < len(where.names):
            raise SpecError("drop", "has one of two coordinates", "drop both, or neither")
        if where.kind != "value":
            # a count is the secret here, not the place that it is of
            _warn_of([name for name in rest if name not in made])
        left_out = tuple(name for name in names if name in away)
        return cls(order, {name: made[name] for name in order if name in made}, left_out)


def columns_of_reports(
    table: IntegerTable, where: Where, radii: Radii | None, said: str, *, worst: bool, lean: bool
) -> dict[str, NDArray[Any]]:
    """Return the columns that are made, each a value for every report `(m,)`, which so tell no more than the report.

    They are the report in the place of the secret, its radii and, unless `lean`, its label, the level and `said`,
    which says what was done. `worst` adds the radius for the worst secret.
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
            parts = parts_of_degree(name) if where.kind == "earth" else 1.0
            written = np.rint(axis * parts) if parts > 1 else axis
            made[name] = _whole(written) if whole or parts > 1 else np.array(axis)
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
    """Return numbers as integers if all are whole and doubles have each, to be written without a decimal point."""
    return numbers.astype(np.int64) if ((abs(numbers) < 2**53) & (numbers == np.round(numbers))).all() else numbers


def _warn_of(kept: Sequence[str]) -> None:
    """Warn of columns that are kept and whose names say that they locate somebody."""
    found = [name for name in kept if locates(name)]
    if found:
        seen = f"columns are kept that may locate somebody: {', '.join(map(repr, found[:5]))}"
        more = f" and {len(found) - 5:,} more" if len(found) > 5 else ""
        fix = "often as well as the position does: leave them out by drop, or name those to keep"
        # 6 calls up is the caller of `apply`, for frames as for files
        warnings.warn(PlausibilityWarning("columns_locate", "data", seen + more, fix), stacklevel=6)
