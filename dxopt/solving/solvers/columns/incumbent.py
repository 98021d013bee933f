"""The incumbent of column generation: the best channel that the columns known can give.

Only masters without a box give channels: while prices are bounded, rows may miss their sums (see `stabilisation`),
and a mixture that is mended afterwards may cost much more than its master's value. So a boxed value is never shown,
and where the rounds end in a box, `Rounds.run` solves one more master without it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dxopt.solving.solvers.columns.pool import Pool

Array = NDArray[np.float64]
_MISSED = 1e-9
"""Where rows miss their sums by more, it is not known what the mixture costs once that is mended."""


class Incumbent:
    """The best mixture so far.

    Attributes
    ----------
    channel : (n, m) array or None
        The incumbent, up to its row sums.
    value : float
        What it costs once its rows sum to 1; infinite where that is not known.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.channel: Array | None = None
        self.value = np.inf

    def offer(self, weights: Array) -> float:
        """Take the mixture of a master without a box where it is better; return what it costs as it is.

        `weights` is `(k,)`, for all columns; shared rows are all counted.
        """
        pool = self.pool
        weights = np.maximum(weights, 0.0)
        missed = float(np.abs(pool.means @ weights - 1).max())
        mixture = pool.mixture(weights)
        own = pool.shared.value(mixture) if pool.shared.most.size else float(pool.column_costs @ weights)

        # what rows are short of goes to one report, about that of column 0, the constant
        constant = float(pool.column_costs[0])
        value = own + 2 * missed * constant
        if missed < _MISSED and value < self.value:
            self.channel = mixture
            self.value = value
        elif not np.isfinite(self.value) and missed < 1 and (pool.shared.most.size or value < constant):
            self.channel = mixture
        return own

    def known(self) -> Array:
        """The incumbent; where there is none, the constant column alone, which every pool has."""
        if self.channel is not None:
            return self.channel
        return self.pool.mixture(np.eye(1, len(self.pool.column_costs))[0])


def within(seconds: float) -> Callable[[], bool]:
    """Something that says stop after so many seconds from now."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end
