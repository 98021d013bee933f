"""Drawing reports: what mechanisms in doubles and mechanisms in integers have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.model.loss import Reports
from dxopt.numerics.draws import draws
from dxopt.spaces.space import MetricSpace

Indices = NDArray[np.int64]


class Sampler(ABC):
    """A distribution of reports for each secret, from which reports are drawn.

    Attributes
    ----------
    space : MetricSpace
        The n secrets.
    reports : Reports
        The m reports.
    """

    space: MetricSpace
    reports: Reports

    def sample(self, secret: Any, size: int = 1, rng: np.random.Generator | None = None) -> Indices:
        """Draw report indices.

        Parameters
        ----------
        secret : int, label, or a sequence of k of them
            One secret, or several: all by index or all by label, as a list, an array or a pandas Series.
        size : int
            Draws for each secret.
        rng : numpy Generator, optional
            For repeatable experiments only: whoever knows its state knows the reports, so nothing is private of
            what it draws. Without it the randomness is the operating system's.

        Returns
        -------
        (size,) array for one secret, (k, size) array for several.

        Raises
        ------
        SpecError
            If there is no such secret, or the size is negative.
        """
        return draws(self.space, secret, size, lambda secrets: self._draw(secrets, rng))

    @abstractmethod
    def _draw(self, secrets: Indices, rng: np.random.Generator | None) -> Indices:
        """One report for each of the secrets `(k,)`, given by index."""
