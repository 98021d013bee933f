"""A channel from secrets to reports."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.loss import Reports
from dxopt.spaces.space import MetricSpace

ROW_SUM_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A probability of each report for each secret.

    Attributes
    ----------
    space : MetricSpace
        The n secrets.
    reports : Reports
        The m things it may say.
    matrix : (n, m) array, read-only
        Entry [x, z] is the probability of reporting z for the secret x. Rows sum to 1.

    Raises
    ------
    SpecError
        If the shape does not fit, an entry is negative or not finite, or a row sum is off by more than 1e-9.
    """

    space: MetricSpace
    reports: Reports
    matrix: NDArray[np.float64]
    name: str = "mechanism"

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=float)
        if matrix.shape != (len(self.space), len(self.reports)):
            raise SpecError(
                "matrix",
                f"has shape {matrix.shape}",
                f"give {len(self.space)} rows, {len(self.reports)} columns",
            )
        if not np.isfinite(matrix).all() or (matrix < 0).any():
            row, column = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0)))[0]
            raise SpecError("matrix", f"entry [{row}, {column}] is {matrix[row, column]}", "give probabilities")
        off = np.abs(matrix.sum(axis=1) - 1)
        if off.max() > ROW_SUM_SLACK:
            row = int(off.argmax())
            raise SpecError("matrix", f"row {row} sums to {matrix[row].sum():.12g}", "rows must sum to 1")
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)

    def __repr__(self) -> str:
        return f"<Mechanism {self.name}: {len(self.space)} secrets, {len(self.reports)} reports>"

    def row(self, secret: Any) -> NDArray[np.float64]:
        """The distribution of reports for one secret, given by index or label."""
        return self.matrix[self.space.index(secret)]

    def sample(self, secret: Any, size: int = 1, rng: np.random.Generator | None = None) -> NDArray[np.int64]:
        """Draw report indices for one secret.

        Parameters
        ----------
        secret : int or label
        size : int
        rng : numpy Generator, optional
            For repeatable experiments; the operating system's randomness otherwise.
        """
        cumulative = np.cumsum(self.row(secret))
        if rng is None:
            system = random.SystemRandom()
            uniform = np.array([system.random() for _ in range(size)])
        else:
            uniform = rng.random(size)
        return np.searchsorted(cumulative, uniform * cumulative[-1], side="right")

    def remap(self, table: ArrayLike, reports: Reports | None = None) -> Mechanism:
        """Post-process: say `table[z]` (an index among `reports`) instead of z. Keeps privacy (CABP13 §3)."""
        target = np.asarray(table)
        reports = reports or self.reports
        if target.shape != (len(self.reports),) or not np.issubdtype(target.dtype, np.integer):
            raise SpecError("table", f"has shape {target.shape}", "give one index per report")
        if target.min() < 0 or target.max() >= len(reports):
            raise SpecError("table", "has an index out of range", f"indices run from 0 to {len(reports) - 1}")
        remapped = np.zeros((len(self.space), len(reports)))
        np.add.at(remapped.T, target, self.matrix.T)
        return Mechanism(self.space, reports, remapped, f"{self.name}, remapped")

    def compose(self, then: ArrayLike, reports: Reports | None = None) -> Mechanism:
        """Post-process with a channel `(m, k)` from reports to new reports. Keeps privacy."""
        channel = np.asarray(then, dtype=float)
        if channel.ndim != 2 or channel.shape[0] != len(self.reports):
            raise SpecError("then", f"has shape {channel.shape}", f"give {len(self.reports)} rows")
        if reports is None:
            same = channel.shape[1] == len(self.reports)
            reports = self.reports if same else Reports(tuple(str(z) for z in range(channel.shape[1])))
        return Mechanism(self.space, reports, self.matrix @ channel, f"{self.name}, composed")
