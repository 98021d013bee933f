"""Budgets by shortest paths. Exact.

Merging points that are at distance 0 in one direction only can leave a way round that is shorter than the direct one;
column generation relies on the triangle inequality. A constraint along a path follows from those of its steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dxopt.program import ChannelProgram, Dual
from dxopt.tropical import product

SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class Closure:
    """A program with the triangle inequality, and the way back.

    Attributes
    ----------
    program : ChannelProgram
    budgets : (n, n) array
        Those before.
    before : (n, n) int array
        The last stop before b on a shortest path from a.
    """

    program: ChannelProgram
    budgets: NDArray[np.float64]
    before: NDArray[np.int32]

    def dual(self, dual: Dual) -> Dual:
        """Multipliers of the steps instead of the paths: λ(v_b - E_ab v_a) = λ(v_b - E_pb v_p) + λE_pb (v_p - …).

        Those of pairs that no path joins prove nothing and are left out.
        """
        steps: list[tuple[NDArray, ...]] = []
        joined = self.before[dual.first, dual.second] >= 0
        report, first, second, multiplier = (getattr(dual, name)[joined] for name in _STEP)
        steps.append((report[:0], first[:0], second[:0], multiplier[:0]))
        while len(report):
            stop = self.before[first, second].astype(np.int64)
            steps.append((report, stop, second, multiplier))
            on = stop != first
            multiplier = (multiplier * np.exp(-self.budgets[stop, second]))[on]
            report, first, second = report[on], first[on], stop[on]
        return replace(dual, **dict(zip(_STEP, map(np.concatenate, zip(*steps, strict=True)), strict=True)))


_STEP = ("report", "first", "second", "multiplier")


def shortened(program: ChannelProgram) -> Closure | None:
    """The program by shortest paths, or None where no way round is shorter, up to 1e-12."""
    from scipy.sparse.csgraph import floyd_warshall

    factors = np.exp(-program.budgets)
    if not (product(factors, factors) > factors * (1 + SLACK)).any():
        return None
    lengths, before = floyd_warshall(program.budgets, return_predecessors=True)
    return Closure(program.with_budgets(lengths), program.budgets, before)
