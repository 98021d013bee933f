"""What there is to draw of a mechanism: where its reports are, and how probable each is."""

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
from dxopt.model.required import required_mechanism
from dxopt.results.report import Report
from dxopt.spaces.geo.located import positions
from dxopt.spaces.globe import EARTH_RADIUS_KM
from dxopt.spaces.lookup import NoSuchPoint
from dxopt.spaces.positions import Positions

KM_PER_DEGREE = math.radians(EARTH_RADIUS_KM)
"""Of latitude, and of longitude at the equator."""


@dataclass(frozen=True, eq=False)
class Located:
    """A mechanism with a prior on the Earth.

    Attributes
    ----------
    mechanism : Mechanism
    prior : (n,) array
    secrets, reports : Positions
        The same where the reports are the secrets.
    """

    mechanism: Mechanism
    prior: NDArray[np.float64]
    secrets: Positions
    reports: Positions

    @classmethod
    def of(cls, answer: Mechanism | Report, prior: PriorLike | None = None) -> Located:
        """What is known of a mechanism or a report; the prior is that of the report, or uniform, by default.

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
        return cls(mechanism, believed, found, _of_reports(mechanism, found))

    def expected(self) -> NDArray[np.float64]:
        """Σ_x π_x K[x, z] for each report z, `(m,)`."""
        total = np.zeros(len(self.mechanism.reports))
        for secrets, rows in self.mechanism.blocks():
            total += self.prior[secrets] @ rows
        return total

    def index(self, secret: Any) -> int:
        """Return the index of a secret given by its label.

        A mapping with `label`, `index` or `point` says what is given.
        """
        space = self.mechanism.space
        if isinstance(secret, Mapping):
            return space.naming.one(**secret)
        try:
            return space.naming.one(secret)
        except NoSuchPoint:
            fix = f"use a label, such as {space.labels[0]!r}, or ", Option("index")
            raise NoSuchPoint("secret", f"there is no location {secret!r}", *fix) from None


def _of_reports(mechanism: Mechanism, found: Positions) -> Positions:
    points = mechanism.space.points
    reports = mechanism.reports
    if reports.secrets:
        return found
    if reports.points is None or points is None or not np.array_equal(points, found.degrees):
        raise UnsupportedError("reports", "have no positions on the Earth", "report the locations themselves")
    return replace(found, degrees=np.array(reports.points), outlines=None)


def secrets_of(
    bare: Sequence[str] | None, label: Sequence[str] | None, index: Sequence[int] | None, point: Sequence[str] | None
) -> list[Any]:
    """The secrets that a command names, as `Located.index` takes them; a point is numbers with commas between."""
    said = [{"label": one} for one in label or []] + [{"index": one} for one in index or []]
    return [*(bare or []), *said, *({"point": _coordinates(one)} for one in point or [])]


def _coordinates(text: str) -> tuple[float, ...]:
    """The numbers of a text with commas between them."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SpecError("point", f"is {text!r}", "give numbers with commas between them, as 45.5,-73.6") from None
