"""The numbers that a sidecar promises: derived from the table again, and no more may be promised."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.cells import Cells
from dxopt.verify.metrics import EARTH_RADIUS, NORMS
from dxopt.verify.published.sidecar import Near, Sidecar
from dxopt.verify.table_file import TableFile
from dxopt.verify.verdict import Broken, Unproved

_ROUNDING = 1e-9
_LARGEST = 700.0
"""Exponents of factors that sidecars have."""


@dataclass(frozen=True, eq=False)
class Promise:
    """What a sidecar says of where positions or values are, and of two that are near to each other.

    Attributes
    ----------
    table : TableFile
    kind : str
        What the columns have: "earth", "plane", "value" or "label".
    within : float
        How far a position is from its secret at most.
    unit : str
        Of that.
    derived : bool
        Whether it is said to follow from the space.
    between : Near or None
    """

    table: TableFile
    kind: str
    within: float
    unit: str
    derived: bool
    between: Near | None

    @classmethod
    def of(cls, said: Sidecar, table: TableFile) -> Promise:
        """The promise of a sidecar."""
        secret = said.secret
        derived = secret.within_from_space
        return cls(table, secret.kind, secret.within, secret.within_unit, derived, said.privacy.positions)

    def check(self) -> str:
        """What is proven of the numbers, in words; Broken where they promise more."""
        if self.within < 0 or (self.between is not None and self.between.radius < 0):
            raise Broken("the sidecar has a negative distance")
        wanted = self._unit()
        if self.unit != wanted:
            raise Broken(f"the sidecar says secret.within_unit {self.unit!r}, the space gives {wanted!r}")
        known = self.derived or self.kind == "label"
        given = "" if known else f"not proven again: secret.within {self.within:.10g}, which was given"
        if known and not abs(self.within - self.reach) <= _ROUNDING * self.reach:
            raise Broken(f"the sidecar says secret.within {self.within!r}, the space gives {self.reach!r}")
        if self.between is None:
            return given or "there is no factor between positions"
        return "; ".join(filter(None, (self._check_factor(self.between), given)))

    def _check_factor(self, near: Near) -> str:
        """The factor between two positions is no smaller than what follows from the table."""
        cells = self.cells if self.kind == "earth" else None
        far = None if cells is None else cells.across(near.radius, self.within)
        if far is None:
            raise Broken("the sidecar promises a factor between positions, but distances are not those of positions")
        if not near.apart >= far * (1 - _ROUNDING):
            raise Broken(
                f"the sidecar says privacy.positions.apart {near.apart!r}: the secrets of two positions within "
                f"{near.radius:.10g} may be {far!r} apart"
            )
        factor = math.exp(min(float(self.table.level("epsilon")) * far, _LARGEST))
        if not near.factor >= factor * (1 - _ROUNDING):
            raise Broken(
                f"the sidecar promises a factor of {near.factor!r} between positions within {near.radius:.10g}; "
                f"the table proves no less than {factor!r}"
            )
        if not self.derived and self.within < self.reach * (1 - _ROUNDING):
            raise Unproved(
                f"the factor between positions takes that all were within {self.within:.10g} of their secrets, "
                f"as was given; those of the space may be {self.reach:.10g} away"
            )
        proven = f"a factor of {factor:.6g} between positions within {near.radius:.10g}"
        if near.factor <= factor * (1 + _ROUNDING):
            return f"{proven}: the sidecar promises exactly this"
        return f"{proven}: the sidecar promises {near.factor:.6g}, which is no better"

    @cached_property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The space of the table."""
        return {f"space.{key}": np.asarray(value) for key, value in self.table.head["space"].items()}

    @cached_property
    def cells(self) -> Cells | None:
        """The places that positions stand for; None where there are none on the Earth."""
        return Cells.of(self.arrays, "space.", self.table.distances, self.table.head["metric"])

    def _unit(self) -> str:
        """The unit of the positions, or else of the distances; none for labels."""
        if self.kind == "label":
            return ""
        if self.cells is not None:
            return next(unit for unit, radius in EARTH_RADIUS.items() if radius == self.cells.earth)
        head = self.table.head
        return head["space"].get("unit", head["unit"] or "")

    @cached_property
    def reach(self) -> float:
        """How far from its secret a position or a value may be that belongs to the space."""
        if self.kind == "label":
            return 0.0
        if self.cells is not None:
            return self.cells.reach
        metric, points = str(self.arrays.get("space.metric")), self.arrays.get("space.points")
        if str(self.arrays["space.kind"]) in ("lattice", "torus") and metric in NORMS:
            half = np.full((1, len(self.arrays["space.shape"])), float(self.arrays["space.spacing"]) / 2)
            return float(NORMS[metric](half)[0])
        if points is not None and points.ndim == 2 and points.shape[1] == 1 and metric in NORMS:
            return float(np.diff(np.sort(points[:, 0].astype(float))).max(initial=0.0)) / 2
        near = np.where(self.table.distances > 0, self.table.distances, np.inf).min(axis=1)
        return float(near[np.isfinite(near)].max(initial=0.0))
