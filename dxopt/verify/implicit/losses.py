"""Losses by row: as they are written, or as their name defines them, which needs no matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.bounds.product import outer_sum, summands
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]
NAMED = ("distance", "squared", "binary")


@dataclass(frozen=True, eq=False)
class Losses:
    """l, `(n, m)`.

    Attributes
    ----------
    space : Space
        n secrets.
    name : str
        One of `NAMED`, where there is no matrix.
    answers : (m, k) array or None
        Where the reports lie; None where they are the secrets.
    matrix : (n, m) array or None
    """

    space: Space
    name: str = "distance"
    answers: Array | None = None
    matrix: Array | None = None

    def __post_init__(self) -> None:
        if self.matrix is None and self.name not in NAMED:
            raise Unproved(f"{self.name} losses are neither in the files nor derived from distances")
        if self.matrix is not None and not np.isfinite(self.matrix).all():
            x, z = np.argwhere(~np.isfinite(self.matrix))[0].tolist()
            raise Unproved(f"the loss of secret {x} and report {z} is {self.matrix[x, z]}")
        if self.matrix is None and self.name == "binary" and self.answers is not None:
            raise Broken("the loss is binary, but the reports are not the secrets")

    @property
    def reports(self) -> int:
        """m."""
        if self.matrix is not None:
            return self.matrix.shape[1]
        return len(self.space if self.answers is None else self.answers)

    @property
    def signed(self) -> bool:
        """Whether some may be below 0."""
        return self.matrix is not None and bool((self.matrix < 0).any())

    @cached_property
    def _along(self) -> Array | None:
        """Where the reports lie on a line."""
        if self.space.line is None or self.answers is None:
            return self.space.line
        return self.answers[:, 0] if self.answers.shape[1] == 1 else None

    def row(self, x: int) -> Array:
        """l(x, ·), `(m,)`."""
        if self.matrix is not None:
            return self.matrix[x]
        if self.name == "binary":
            return (np.arange(len(self.space)) != x).astype(np.float64)
        if self.space.line is not None and self._along is not None:
            apart = np.abs(self._along - self.space.line[x])
        elif self.answers is None:
            apart = self.space.distances[x]
        else:
            apart = self.space.between(self.answers)[x]
        return apart**2 if self.name == "squared" else apart

    @cached_property
    def dense(self) -> Array:
        """All of them, `(n, m)`."""
        return self.matrix if self.matrix is not None else np.stack([self.row(x) for x in range(len(self.space))])

    @cached_property
    def largest(self) -> Array:
        """max_z |l(x, z)|, `(n,)`."""
        return np.array([float(np.abs(self.row(x)).max()) for x in range(len(self.space))])

    def by_axes(self) -> tuple[list[Losses], Array]:
        """Losses of the axes of the space, and a bound on max_z |l - Σ_i l_i| for each secret, `(n,)`."""
        axes = self.space.axes
        shape = tuple(map(len, axes))
        if self.matrix is not None and self.matrix.shape == (len(self.space),) * 2:
            parts, missed = summands(self.matrix, shape)
            return [Losses(axis, matrix=part) for axis, part in zip(axes, parts, strict=True)], missed
        if self.matrix is not None or self.name != "distance" or self.answers is not None:
            raise Unproved(f"{self.name} losses are no sum over the axes of a product")
        inner = [Losses(axis) for axis in axes]
        return inner, (len(shape) + 2) * 2.0**-53 * outer_sum([loss.largest for loss in inner])
