"""What a benchmark is made of: instances, candidates, and the answers that the objective scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import dxopt as dx
from dxopt.registry import Registry

Array = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Instance:
    """A question about a space, of a family of spaces by size.

    Attributes
    ----------
    about : str
        The setting in a few words.
    family : callable
        The space of a given size; building it is not timed.
    size : int
    small : int
        The size of the warm-up.
    epsilon : float
        Privacy level per unit of distance.
    value : float
        Binary utility of the tight-constraints mechanism under the uniform prior, known from elsewhere.
    """

    about: str
    family: Callable[[int], dx.MetricSpace]
    size: int
    small: int
    epsilon: float
    value: float


@dataclass(frozen=True)
class TightInstance(Instance):
    """Asks for the tight-constraints mechanism."""


@dataclass(frozen=True)
class DrawsInstance(Instance):
    """Asks for reports drawn from it: `draws` for each of the secrets; the mechanism itself is not timed.

    Attributes
    ----------
    secrets : callable
        The secrets `(k,)`, given the number of points.
    draws : int
    """

    secrets: Callable[[int], Places]
    draws: int


@dataclass(frozen=True, eq=False)
class Weights:
    """The channel K[x, z] = e^{-εd(x, z)} w_z by its weights `(n,)`."""

    values: Array


@dataclass(frozen=True, eq=False)
class Matrix:
    """The channel itself, `(n, n)`."""

    values: Array


@dataclass(frozen=True, eq=False)
class Draws:
    """Reports `(k, draws)` drawn from a mechanism for the secrets `(k,)`."""

    mechanism: dx.Mechanism
    secrets: Places
    reports: Places


Answer = dx.Mechanism | Weights | Matrix | Draws


class Candidate(ABC):
    """A tool, and how it answers an instance."""

    @abstractmethod
    def refuses(self, instance: Instance, points: int) -> str | None:
        """Why it cannot answer the instance with that many points, or None."""

    @abstractmethod
    def prepare(self, instance: Instance, space: dx.MetricSpace) -> Callable[[], Answer]:
        """The work to be timed, as a function; what happens before it is returned is not."""


INSTANCES: Registry[Instance] = Registry("instance")
CANDIDATES: Registry[type[Candidate]] = Registry("candidate")
