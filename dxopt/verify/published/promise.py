"""Promises of a sidecar: factor, radii and level, derived from the table again."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.cells import Cells
from dxopt.verify.metrics import EARTH_RADIUS, NORMS, Measured, on_sphere, parameters_of
from dxopt.verify.published.rows import number_of
from dxopt.verify.published.sidecar import BY_REPORT, SHARE, WORST, Near, Radius, Secret, Sidecar
from dxopt.verify.table_file import TableFile
from dxopt.verify.verdict import Broken, Unproved

_ROUNDING = 1e-9
_LARGEST = 700.0
"""Exponents of factors that sidecars have."""


@dataclass(frozen=True, eq=False)
class Promise:
    """Promises of a sidecar: how far positions or values are from their secrets, and a factor for two near ones."""

    secret: Secret
    near: Near
    table: TableFile

    def check(self) -> str:
        """Return in words what is proven of the numbers; Broken where they promise more than the table proves."""
        if self.secret.within < 0 or self.near.radius < 0:
            raise Broken("the sidecar has a negative distance")
        wanted = self._unit()
        if self.secret.within_unit != wanted:
            raise Broken(f"the sidecar says within_unit {self.secret.within_unit!r}, the space gives {wanted!r}")
        known = self.secret.within_from_space or self.secret.kind == "label"
        given = "" if known else f"not proven again: secret.within {self.secret.within:.10g}, which was given"
        if known and not abs(self.secret.within - self.reach) <= _ROUNDING * self.reach:
            raise Broken(f"the sidecar says secret.within {self.secret.within!r}, the space gives {self.reach!r}")
        return "; ".join(filter(None, (self._check_factor(self.near), given)))

    def _check_factor(self, near: Near) -> str:
        """Check that the factor between two positions or secrets is no smaller than what follows from the table."""
        across = self._across(near.radius)
        between = "secrets" if across is None else "positions"
        if near.between != between:
            raise Broken(f"the sidecar says privacy.near.between {near.between!r}; distances are those of {between}")
        far = near.radius if across is None else across
        if not near.apart >= far * (1 - _ROUNDING):
            wrong = f"the secrets of two {between} within {near.radius:.10g} may be {far!r} apart"
            raise Broken(f"the sidecar says privacy.near.apart {near.apart!r}: {wrong}")
        factor = math.exp(min(float(self.table.level("epsilon")) * far, _LARGEST))
        if not near.factor >= factor * (1 - _ROUNDING):
            promised = f"a factor of {near.factor!r} between {between} within {near.radius:.10g}"
            raise Broken(f"the sidecar promises {promised}; the table proves no less than {factor!r}")
        if (
            across is not None
            and not self.secret.within_from_space
            and self.secret.within < self.reach * (1 - _ROUNDING)
        ):
            given = f"the factor takes that all were within {self.secret.within:.10g} of their secrets, as was given"
            raise Unproved(f"{given}; positions of the space may be {self.reach:.10g} away")
        proven = f"a factor of {factor:.6g} between {between} within {near.radius:.10g}"
        if near.factor <= factor * (1 + _ROUNDING):
            return f"{proven}: the sidecar promises exactly this"
        return f"{proven}: the sidecar promises {near.factor:.6g}, which is no better"

    def _across(self, radius: float) -> float | None:
        """Return how far the secrets of two positions within a radius may be; None where nothing is known of that."""
        cells = self.cells if self.secret.kind == "earth" else None
        return None if cells is None else cells.across(radius, self.secret.within)

    @cached_property
    def cells(self) -> Cells | None:
        """The places that positions stand for; None where there are none on the Earth."""
        return Cells.of(self.table.arrays, self.table.distances)

    def _unit(self) -> str:
        """Return the unit of the positions, or else of the distances; none for labels."""
        if self.secret.kind == "label":
            return ""
        if self.cells is not None:
            return next(unit for unit, radius in EARTH_RADIUS.items() if radius == self.cells.earth)
        head = self.table.head
        return head["space"].get("unit", head["unit"] or "")

    @cached_property
    def reach(self) -> float:
        """Largest distance from its secret of a position or a value that belongs to the space.

        On a lattice to the corner of a cell, on a line half the largest step; elsewhere, by convention, the largest
        distance to the nearest other secret.
        """
        if self.secret.kind == "label":
            return 0.0
        if self.cells is not None:
            return self.cells.reach
        metric, points = str(self.table.arrays.get("space.metric")), self.table.arrays.get("space.points")
        if str(self.table.arrays["space.kind"]) in ("lattice", "torus") and metric in NORMS:
            half = np.full((1, len(self.table.arrays["space.shape"])), float(self.table.arrays["space.spacing"]) / 2)
            return float(NORMS[metric](half)[0])
        if points is not None and points.ndim == 2 and points.shape[1] == 1 and metric in NORMS:
            return float(np.diff(np.sort(points[:, 0].astype(float))).max(initial=0.0)) / 2
        near = np.where(self.table.distances > 0, self.table.distances, np.inf).min(axis=1)
        return float(near[np.isfinite(near)].max(initial=0.0))


Array = NDArray[np.float64]
_ELLIPSOID = 1.0045


@dataclass(frozen=True, eq=False)
class Radii:
    """Radii of a sidecar, checked by the distances from secrets to reports, whose coordinates are `places`."""

    said: Sidecar
    promise: Promise
    places: list[Any]

    @cached_property
    def chances(self) -> Array:
        """The probabilities `(n, m)` of the table."""
        table = self.promise.table
        found = np.zeros((len(table.rows), len(table.head["reports"])))
        # a row has the reports of a secret, and its steps the sums of counts between them, without 0 and the total
        for row, steps, line in zip(table.rows, table.steps, found, strict=True):
            ends = zip([0, *steps], [*steps, table.total], strict=True)
            line[row] = [(high - low) / table.total for low, high in ends]
        return found

    @cached_property
    def apart(self) -> Array:
        """Distances `(n, m)` between secrets and reports, along great circles on the Earth."""
        promise, head = self.promise, self.promise.table.head
        if promise.secret.kind == "earth" and promise.cells is not None:
            places = on_sphere(np.asarray(self.places, dtype=float))
            chords = np.array([np.linalg.norm(places - centre, axis=1) for centre in promise.cells.centres])
            return 2 * np.arcsin(np.minimum(chords / 2, 1.0)) * promise.cells.earth
        if head["secrets_are_reports"]:
            return promise.table.distances
        points, others = (np.asarray(head[f"{who}_points"], dtype=float) for who in ("secret", "report"))
        measured = Measured(head["metric"], parameters_of(promise.table.arrays), points, others)
        return np.array([measured.row(x) for x in range(len(points))])

    @cached_property
    def prior(self) -> Array | None:
        """The prior that the sidecar names: that of the table or the uniform one; None where it is another."""
        size = len(self.promise.table.rows)
        some = (self.promise.table.prior, np.full(size, 1.0 / size))
        claimed = self.said.prior.sha256
        return next((prior for prior in some if prior is not None and _digest(prior) == claimed), None)

    def check(self, rows: Iterable[tuple[int, Mapping[str, str]]]) -> str:
        """Check that radii hold what they are said to hold, in the sidecar and in the rows, each with its report."""
        said, wanted = self.said.radius, self._expected_radius()
        whole = self.promise.secret.kind == "earth" and bool(np.isfinite(self.apart).all())
        if said is None:
            raise Broken(f"the sidecar says nothing of the radii in {', '.join(wanted.columns)}")
        for name in ("share", "columns", "unit"):
            if getattr(said, name) != getattr(wanted, name):
                raise Broken(f"the sidecar says radius.{name} {getattr(said, name)!r}, not {getattr(wanted, name)!r}")
        self._check_worst(math.inf if said.worst is None else said.worst)
        for report, row in rows:
            if whole and (other := next((name for name in wanted.columns if not row[name].isdigit()), None)):
                raise Broken(f"{other} is {row[other]!r}, and radii on the Earth are whole metres")
            for name in WORST:
                if name in row:
                    self._check_worst(_number(row[name]))
            for name in BY_REPORT:
                if name in row:
                    self._check_given(report, _number(row[name]))
        held = f"each holds at least {100 * SHARE:.0f} %, by the table"
        if self.prior is not None or not set(BY_REPORT) & set(said.columns):
            return held
        raise Unproved(
            f"the worst {held}; radii given a report are under prior {self.said.prior.name!r}, not known here"
        )

    def _expected_radius(self) -> Radius:
        """Return what the sidecar has to say of radii, without the worst one, which is checked apart."""
        columns = tuple(name for name in self.said.columns.made if name in (*BY_REPORT, *WORST))
        return Radius(SHARE, columns, "m" if self.promise.secret.kind == "earth" else self.said.privacy.unit, None)

    def _check_worst(self, radius: float) -> None:
        """Check that every secret has its report within the radius with probability `SHARE`."""
        if math.isinf(radius) and np.isfinite(self.apart[self.chances > 0]).all():
            raise Broken("there is no radius for every secret, although all reports are at finite distances")
        held = np.where(self.apart <= self._distance(radius), self.chances, 0.0).sum(axis=1)
        x = int(held.argmin())
        if not held[x] >= SHARE - _ROUNDING:
            raise Broken(f"the radius {radius!r} for every secret holds the report of some with {held[x]:.4%} only")

    def _check_given(self, report: int, radius: float) -> None:
        """Check that a radius about a report holds the secret with probability `SHARE`, given the report.

        A report of probability 0 under the prior must have every secret within the radius that can lead to it.
        """
        chances = self.chances[:, report]
        name = self.promise.table.head["reports"][report]
        if math.isinf(radius) and np.isfinite(self.apart[chances > 0, report]).all():
            raise Broken(f"report {name} has no radius, although all secrets behind it are at finite distances")
        if self.prior is None:
            return
        joint = self.prior * chances
        weights, needed = (joint, SHARE) if joint.any() else (np.sign(chances), 1.0)
        held = float(weights[self.apart[:, report] <= self._distance(radius)].sum() / weights.sum())
        if not held >= needed - _ROUNDING:
            raise Broken(f"the radius {radius!r} about report {name} holds the secret with {held:.4%} only")

    def _distance(self, radius: float) -> float:
        """Return how far a secret may be so that its positions are within a radius, on Earth along great circles."""
        promise = self.promise
        if promise.secret.kind == "earth" and promise.cells is not None:
            # from metres; a way on the ellipsoid is at most so much longer than the great circle
            radius *= promise.cells.earth / EARTH_RADIUS["m"] / _ELLIPSOID
        return radius - promise.secret.within + _ROUNDING * (radius + promise.secret.within)


def uniform_digest(size: int) -> str:
    """Return the digest that a sidecar has of the uniform prior of so many secrets."""
    return _digest(np.full(size, 1.0 / size))


def _digest(prior: Array) -> str:
    return hashlib.sha256(prior.astype("<f8").tobytes()).hexdigest()


def _number(text: str) -> float:
    if (number := number_of(text)) is None:
        raise Broken(f"a radius is {text!r}")
    return number
