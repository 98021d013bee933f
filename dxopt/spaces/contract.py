"""The interface of metrics, and what those on numbers have in common."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError


class Metric(Protocol):
    """Distances between points."""

    @property
    def name(self) -> str:
        """Name in problem files and results."""
        ...

    @property
    def symmetric(self) -> bool:
        """True if blocks are symmetric bit for bit, wherever they are cut."""
        ...

    def prepare(self, points: NDArray) -> Metric:
        """The metric with all that it needs of the whole set of points; raises SpecError on bad points."""
        ...

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        """Distances `(p, q)` between points `(p, k)` and `(q, k)`."""
        ...


class OnNumbers:
    """A metric on coordinates that takes nothing from the whole set."""

    name: str
    symmetric = True

    def prepare(self, points: NDArray) -> Self:
        """The metric itself; SpecError unless every coordinate is a finite number."""
        require_numbers(points, self.name)
        return self


def require_numbers(points: NDArray, name: str) -> None:
    """Raise SpecError unless every coordinate is a finite number."""
    if not np.issubdtype(points.dtype, np.number):
        raise SpecError("points", f"{name} needs numbers", "give numeric coordinates, or use hamming or discrete")
    if not np.isfinite(points).all():
        row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise SpecError("points", f"point {row} has a coordinate that is not finite", "remove or mend it")
