"""Choose some points that all others are close to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def farthest_first(apart: Array, most: float, fewest: int, close: float) -> tuple[Indices, Indices, float]:
    """Choose seeds, each next one the point farthest from those before; of two distances the greater counts.

    Parameters
    ----------
    apart : (n, n) array
        Distances or budgets.
    most, fewest : float, int
        There are no more seeds than `most`; and no more than `fewest` where no point is farther than `close` from its
        seed.

    Returns
    -------
    seeds : (k,) array
    index : (n,) array
        Which of the seeds is nearest to each point.
    radius : float
        How far a point is from that at most.
    """
    index = np.zeros(len(apart), dtype=np.int64)
    nearest = np.maximum(apart[0], apart[:, 0])
    nearest[0] = 0.0
    seeds = [0]
    while len(seeds) < most and (len(seeds) < fewest or nearest.max() > close):
        seed = int(nearest.argmax())
        away = np.maximum(apart[seed], apart[:, seed])
        away[seed] = -1.0  # its own, also where others are at the same place
        index[away < nearest] = len(seeds)
        nearest = np.minimum(nearest, np.maximum(away, 0.0))
        seeds.append(seed)
    return np.array(seeds), index, float(nearest.max())
