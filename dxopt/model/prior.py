"""Priors: how likely each secret is before a report is seen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.spaces.space import MetricSpace


@dataclass(frozen=True, eq=False)
class Prior:
    """A probability for each point of a space.

    Attributes
    ----------
    probabilities : (n,) array, read-only, sums to 1
    name : str
    """

    probabilities: NDArray[np.float64]
    name: str = "explicit"

    def __post_init__(self) -> None:
        array = np.array(self.probabilities, dtype=float)
        if array.ndim != 1 or not (np.isfinite(array) & (array >= 0)).all() or abs(math.fsum(array) - 1) > 1e-9:
            raise SpecError("prior", "is no probability distribution", "use Prior.from_weights")
        array.flags.writeable = False
        object.__setattr__(self, "probabilities", array)

    def __len__(self) -> int:
        return len(self.probabilities)

    def __repr__(self) -> str:
        return f"<Prior {self.name} on {len(self)} points>"

    @classmethod
    def uniform(cls, space: MetricSpace) -> Prior:
        """The same probability everywhere."""
        return cls.from_weights(space, np.ones(len(space)), name="uniform")

    @classmethod
    def from_weights(cls, space: MetricSpace, weights: ArrayLike, *, name: str = "weights") -> Prior:
        """Probabilities proportional to `weights`, an array of n numbers of 0 or more.

        Raises
        ------
        SpecError
            If a weight is negative or not finite, their number is not n, or all are 0.
        """
        try:
            array = np.array(weights, dtype=float)
        except (TypeError, ValueError):
            raise SpecError("prior", "has weights that are not numbers", "give one number per point") from None
        if array.shape != (len(space),):
            raise SpecError("prior", f"has shape {array.shape} for {len(space)} points", "give one number per point")
        bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
        if len(bad):
            raise SpecError("prior", f"weight {bad[0]} is {array[bad[0]]:g}", "weights are finite and 0 or more")
        if not array.any():
            raise SpecError("prior", "has weight 0 everywhere", "give at least one positive weight")
        # Dividing by the largest first keeps the sum from overflowing.
        array /= array.max()
        array /= math.fsum(array)
        return cls(array, name)

    @classmethod
    def from_samples(cls, space: MetricSpace, data: Iterable[Any]) -> Prior:
        """The frequencies of observed points.

        Parameters
        ----------
        data : sequence
            Observations: coordinates like those of the space, or labels where it has none. Each must be a
            point of the space, up to rounding (1e-9 relative).

        Raises
        ------
        SpecError
            If there are none, or one of them is no point of the space.
        """
        observed = list(data)
        if not observed:
            raise SpecError("samples", "are empty", "give at least one")
        return cls.from_weights(space, _frequencies(space, observed), name="samples")

    @classmethod
    def from_check_ins(
        cls,
        space: MetricSpace,
        points: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        within: float | None = None,
    ) -> Prior:
        """How often people were near each location: every check-in counts for the nearest one.

        Parameters
        ----------
        points : (m, 2) array of (latitude, longitude), or (m, k) array of coordinates of a space without positions
            Of equally near locations the first counts. On road networks distances are meant as the crow flies.
        weights : (m,) array, optional
            The weight of each; 1 by default.
        within : float, optional
            Leave out what is further than this from all locations; in the unit of the positions of the space, or of
            its coordinates. The name of the prior states how many are.

        Raises
        ------
        SpecError
            If these are no points or weights, or none is left.
        """
        from dxopt.spaces.geo import nearest

        located = nearest(space, points, within=within)
        counted = _counted(weights, len(located))
        near = located >= 0
        left_out = int(np.count_nonzero(~near))
        if not counted[near].any():
            if left_out:
                wrong = f"{within:g} leaves out every check-in that counts"
                raise SpecError("within", wrong, "give a larger distance, or check the order of the coordinates")
            raise SpecError("points", "have no check-in that counts", "give some of positive weight")
        name = (
            f"check-ins ({left_out} of {len(located)} further than {within:g} left out)" if left_out else "check-ins"
        )
        sums = np.bincount(located[near], weights=counted[near], minlength=len(space))
        return cls.from_weights(space, sums, name=name)


def _counted(weights: ArrayLike | None, size: int) -> NDArray[np.float64]:
    try:
        counted = np.ones(size) if weights is None else np.array(weights, dtype=float)
    except (TypeError, ValueError):
        raise SpecError("weight", "is not a number for each", "give one number per check-in") from None
    if counted.shape != (size,):
        raise SpecError("weight", f"has shape {counted.shape} for {size} check-ins", "give one number per check-in")
    bad = np.flatnonzero(~(np.isfinite(counted) & (counted >= 0)))
    if len(bad):
        raise SpecError("weight", f"number {bad[0]} is {counted[bad[0]]:g}", "weights are finite and 0 or more")
    return counted


def _frequencies(space: MetricSpace, observed: list[Any]) -> NDArray[np.int64]:
    if space.points is None or not np.issubdtype(space.points.dtype, np.number):
        return np.bincount([_labelled(space, label) for label in observed], minlength=len(space))
    try:
        located = np.array(observed, dtype=float).reshape(len(observed), -1)
    except (TypeError, ValueError):
        raise SpecError("samples", "are not all coordinates", "give numbers like those of the points") from None
    if located.shape[1] != space.points.shape[1]:
        raise SpecError("samples", f"have {located.shape[1]} coordinates", f"the points have {space.points.shape[1]}")
    # Each distinct sample is looked up once, and counts for the point it is up to rounding.
    distinct, counts = np.unique(located, axis=0, return_counts=True)
    scale = max(1.0, float(np.abs(space.points).max()))
    frequencies = np.zeros(len(space), dtype=np.int64)
    for sample, count in zip(distinct, counts, strict=True):
        apart = np.abs(space.points - sample).max(axis=1)
        nearest = int(apart.argmin())
        if not apart[nearest] <= 1e-9 * scale:
            raise SpecError("samples", f"{sample.tolist()} is no point of the space", "remove or round it")
        frequencies[nearest] += count
    return frequencies


def _labelled(space: MetricSpace, label: Any) -> int:
    try:
        return space.naming.one(label=label)
    except SpecError as error:
        several = f"{label!r} names several points" == error.wrong
        wrong = error.wrong if several else f"{label!r} is no point of the space"
        raise SpecError("samples", wrong, "use labels of one point each" if several else "use its labels") from None
