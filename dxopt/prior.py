"""What is believed about the secret before a report is seen."""

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


def _frequencies(space: MetricSpace, observed: list[Any]) -> NDArray[np.int64]:
    if space.points is None or not np.issubdtype(space.points.dtype, np.number):
        return np.bincount([_labelled(space, label) for label in observed], minlength=len(space))
    try:
        located = np.array(observed, dtype=float).reshape(len(observed), -1)
    except (TypeError, ValueError):
        raise SpecError("samples", "are not all coordinates", "give numbers like those of the points") from None
    if located.shape[1] != space.points.shape[1]:
        raise SpecError("samples", f"have {located.shape[1]} coordinates", f"the points have {space.points.shape[1]}")
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
        return space.labels.index(str(label))
    except ValueError:
        raise SpecError("samples", f"{label!r} is no point of the space", "use its labels") from None
