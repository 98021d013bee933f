"""From the values of a column to secrets, and what is wrong with those that are none."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, UnsupportedError
from dxopt.release.applying.where import Where
from dxopt.spaces.geo.located import known
from dxopt.spaces.geo.nearest import nearest_of
from dxopt.spaces.geo.reach import reach
from dxopt.spaces.space import MetricSpace

GOOD, BAD, NO_DEGREES, OUTSIDE, UNKNOWN = range(5)
"""What a row is: a secret; empty or no number; no latitude and longitude; too far from all secrets; another label."""
_SLACK = 1e-9
"""How far beyond `within` is rounding: in parts of it and of the largest coordinate."""


@dataclass(frozen=True, eq=False)
class Snapped:
    """The secrets of k rows.

    Attributes
    ----------
    index : (k,) array
        Of the nearest secret; 0 where there is none.
    apart : (k,) array
        How far it is; 0 for labels.
    code : (k,) array
        What the row is: one of `GOOD`, `BAD`, `NO_DEGREES`, `OUTSIDE` and `UNKNOWN`.
    """

    index: NDArray[np.int64]
    apart: NDArray[np.float64]
    code: NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Snapper:
    """Finds the secret that a row stands for.

    Attributes
    ----------
    space : MetricSpace
    where : Where
    within : float
        How far a position may be from its secret; 0 for labels.
    unit : str
        Of `within`; blank for coordinates without one.
    derived : bool
        Whether `within` follows from the space.
    """

    space: MetricSpace
    where: Where
    within: float
    unit: str
    derived: bool

    @classmethod
    def of(cls, space: MetricSpace, where: Where, within: float | None) -> Snapper:
        """The snapper of a space; without `within`, that which follows from the space alone.

        Raises
        ------
        SpecError
            If `within` is no finite number of 0 or more, is given for labels, or does not follow from the space.
        UnsupportedError
            If SciPy is not installed, which finds the nearest secrets.
        """
        if within is not None and not (isinstance(within, int | float) and 0 <= within < math.inf):
            raise SpecError("within", f"is {within!r}", "give a finite distance of 0 or more")
        if where.kind == "label":
            if within is not None:
                raise SpecError("within", "is given for labels, which are secrets or not", "leave it out")
            return cls(space, where, 0.0, "", False)
        try:
            import_module("scipy.spatial")
        except ImportError:
            raise UnsupportedError(
                "scipy", "is not installed", "install dxopt[geo], or name a column of labels"
            ) from None
        found = known(space)
        unit = found.unit if found is not None else space.unit
        return cls(space, where, reach(space) if within is None else float(within), unit, within is None)

    def snap(self, values: Sequence[Any], *, swapped: bool = False) -> Snapped:
        """The secrets of rows whose columns have these values; with the first two columns exchanged if asked."""
        if self.where.kind == "label":
            return self._labelled(values[0])
        columns = [numbers(column) for column in (reversed(values) if swapped else values)]
        located = np.column_stack(columns) if len(columns[0]) else np.empty((0, len(columns)))
        code = np.where(np.isfinite(located).all(axis=1), GOOD, BAD).astype(np.int8)
        if self.where.kind == "earth":
            with np.errstate(invalid="ignore"):
                off = (np.abs(located) > (90.0, 360.0)).any(axis=1)
            code[off & (code == GOOD)] = NO_DEGREES
        index = np.zeros(len(located), dtype=np.int64)
        apart = np.zeros(len(located))
        usable = code == GOOD
        if usable.any():
            found = nearest_of(self.space, located[usable])
            index[usable] = found.index
            apart[usable] = found.apart
            code[usable] = np.where(found.apart > self._furthest, OUTSIDE, GOOD)
        return Snapped(index, apart, code)

    def off(self, snapped: Snapped) -> NDArray[np.bool_]:
        """Which rows are not where their secret is `(k,)`, but for rounding."""
        return snapped.apart > self._beyond(0.0)

    @property
    def _furthest(self) -> float:
        return self._beyond(self.within)

    def _beyond(self, distance: float) -> float:
        """A distance, and what rounding adds to it."""
        points = self.space.points
        scale = 1.0 if self.where.kind == "earth" or points is None else float(np.abs(points).max())
        return distance + _SLACK * (distance + scale)

    def _labelled(self, values: Any) -> Snapped:
        known_labels: dict[Any, tuple[int, int]] = {}
        listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
        index = np.zeros(len(listed), dtype=np.int64)
        code = np.zeros(len(listed), dtype=np.int8)
        for row, value in enumerate(listed):
            # True is 1 and 7.0 is 7, so that the type belongs to the key; text does as well for what has no hash
            key = type(value), value if isinstance(value, Hashable) else str(value)
            if key not in known_labels:
                known_labels[key] = self._label(value)
            index[row], code[row] = known_labels[key]
        return Snapped(index, np.zeros(len(listed)), code)

    def _label(self, value: Any) -> tuple[int, int]:
        """The secret of a label, and what the row is."""
        if is_missing(value) or value == "":
            return 0, BAD
        found = self.space.naming.lookup.label(value)
        return (0, UNKNOWN) if found is None else (found, GOOD)


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, or what is not equal to itself, as NaN and NA are."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def numbers(column: Any) -> NDArray[np.float64]:
    """The values of a column as numbers `(k,)`; NaN for whatever is none."""
    array = np.asarray(column)
    if array.dtype.kind in "fiu":
        return array.astype(float)
    if array.dtype.kind not in "UO":
        return np.full(len(array), np.nan)
    if array.dtype.kind == "U" and not (np.char.find(array, "_") >= 0).any():
        with suppress(ValueError):
            return array.astype(float)
    return np.array([_number(value) for value in array.tolist()], dtype=float)


def _number(value: Any) -> float:
    # Python takes 1_0 for ten
    if isinstance(value, bool) or (isinstance(value, str) and "_" in value):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan
