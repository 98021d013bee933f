"""The incumbent of column generation: the best channel that the columns known can give.

Only masters without a box give channels: while prices are bounded, rows may miss their sums (see `stabilisation`),
and a mixture that is mended afterwards may cost much more than its master's value. So a boxed value is never shown,
and where the rounds are to end in a box, one more master is solved without it (`Rounds`). It holds the incumbent's
own columns, and those of a channel in closed form, so that it gives nothing worse than either.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import psutil
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dxopt.numerics.tropical import product, scale_into_cone
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.solvers.columns.coupling_rows import ConeProgram
from dxopt.solving.solvers.columns.forest import Forest, Pricer
from dxopt.solving.solvers.columns.matrices import THREADS
from dxopt.solving.solvers.columns.pool import Pool

MOST_COLUMNS = 20
LEAST_COLUMNS = 4
"""For each row: with fewer than 20, useful ones are lost and rounds multiply; with fewer than 4, it is not tried."""
_SHARE = 0.8
_PAIRS = 6
_ENTRIES = 10
_DOUBLE = 8.0
"""The share of the memory that may be used, the arrays of `Memory.of`, and the bytes of a number."""


@dataclass(frozen=True)
class Memory:
    """The memory of column generation, and how many columns for each row of the master fit into it.

    `columns` is that cap, 0 where too few fit; `needed` is in bytes, as is `there`, four fifths of the machine's.
    """

    columns: int
    needed: float
    there: float

    @classmethod
    def of(cls, points: int, reports: int, rows: int, there: float | None = None) -> Memory:
        """Estimate it for n points, m reports and the rows of the master.

        About 10 arrays of n·m doubles, 6 of n·n and 2 of rows·rows for each thread are held besides the columns,
        which are held twice when new ones come in.
        """
        if there is None:
            there = _SHARE * psutil.virtual_memory().total
        fixed = _DOUBLE * (points * (_PAIRS * points + _ENTRIES * reports) + 2 * THREADS * rows**2)

        # one column for each row of the master, twice; with classes of points, its means over them as well
        each = 2 * _DOUBLE * rows * (points + (rows if rows < points else 0))
        columns = min(MOST_COLUMNS, int(max(there - fixed, 0.0) / each))
        return cls(columns if columns >= LEAST_COLUMNS else 0, fixed + max(columns, LEAST_COLUMNS) * each, there)


Array = NDArray[np.float64]
Progress = Callable[[int, float, float], None]
_STOP = 0.7
_LEAST_STOP = 0.1
_PROOF = 4.5e-10
"""Seconds that a proof takes for each pair of points and each report, on two cores."""
MIXTURE_BYTES = 18 * 8
"""Memory that mixing takes at most, for each pair of points."""
_MIXED = 1e-3
"""The accuracy of the master that mixes known columns alone."""
FAINT = 1e-15
"""Columns of a known channel with no larger entry are left out."""
_MISSED = 1e-9
"""Rows that miss their sums by less are mended at no cost."""


class Incumbent:
    """The best mixture so far.

    Attributes
    ----------
    factors : (n, n) array
        e^{-d}, those of the cone.
    channel : (n, m) array or None
        The incumbent, up to its row sums.
    value : float
        What it costs at most once its rows sum to 1; infinite where there is none.
    """

    def __init__(self, factors: Array) -> None:
        self.factors = factors
        self.channel: Array | None = None
        self.value = np.inf

    def offer(self, pool: Pool, weights: Array) -> float:
        """Keep the mixture of a pool's columns, mended, where it costs less; return what it costs before that.

        `weights` `(k,)` are those of a master without a box, or give a known channel. The cost counts all
        shared rows, also those that are not in the master.
        """
        weights = np.maximum(weights, 0.0)
        totals = pool.means @ weights
        mixture = pool.mixture(weights)
        unmended = pool.shared.value(mixture) if pool.shared.most.size else float(pool.column_costs @ weights)
        mended, value = self._mended(mixture, unmended, totals, pool)
        if value < self.value:
            self.channel = mended
            self.value = value
        return unmended

    def _mended(self, mixture: Array, unmended: float, totals: Array, pool: Pool) -> tuple[Array, float]:
        """Return a mixture whose rows sum to 1, and what it costs at most.

        The mixture is scaled so that what its rows then lack of 1 is private itself; that goes to the report of
        column 0, the constant. The closer two points, the more a difference of their sums costs.
        """
        constant = float(pool.column_costs[0])
        missed = float(np.abs(totals - 1).max())
        if missed < _MISSED:  # left to `proofs.repair`; twice the constant's cost is room for what that adds
            return mixture, unmended + 2 * missed * constant
        expanded = pool.classes.expand(totals)
        scale = scale_into_cone(expanded, self.factors) if totals.max() > 0 else 0.0
        if scale <= 0:
            return mixture, np.inf
        report = int(pool.reports[0])
        short = 1 - scale * expanded
        mended = scale * mixture
        mended[:, report] += short
        if pool.shared.most.size:
            return mended, float(pool.shared.value(mended))
        return mended, scale * unmended + float(short @ pool.program.costs[report])

    def known(self, pool: Pool) -> Array:
        """Return the incumbent; where there is none, the constant column alone, which every pool has."""
        if self.channel is not None:
            return self.channel
        return pool.mixture(np.eye(1, len(pool.column_costs))[0])


def best_mixture(program: ChannelProgram, known: Array, should_stop: Callable[[], bool]) -> Array | None:
    """Return the best channel `(n, m)` mixed of a known one's columns and the kernels at all points.

    Each column goes to the report where it costs least. That is one master of all rows, solved roughly. The program
    is to have neither classes nor other rows that couple columns. None if it was stopped, or nothing was found, as
    for one point.

    Parameters
    ----------
    known : (n, k) array
        A private channel.
    """
    # 1. the columns, behind the constant
    cone = ConeProgram.of(program)
    used = np.flatnonzero(known.max(axis=0) > FAINT)
    columns = np.concatenate([np.ones((1, len(known))), cone.factors, known.T[used]])
    pool = Pool(cone, MOST_COLUMNS)
    pool.add(columns, np.zeros(len(columns), dtype=np.int64))

    # 2. their best mixture
    free = np.full(len(known), np.inf)
    with threadpool_limits(limits=1, user_api="blas"):
        weights = pool.master(_MIXED, should_stop, (-free, free)).weights
    if should_stop():
        return None
    incumbent = Incumbent(cone.factors)
    incumbent.offer(pool, weights)
    return incumbent.channel


@dataclass(frozen=True, eq=False)
class Known:
    """Private channels known without column generation, `(n, k)`: each column may be given to any report.

    The first one is mixed with incumbents on the way; the last is the best in the little time that a stop may take.
    """

    first: Array
    last: Callable[[], Array]

    def of(self, part: NDArray[np.int64]) -> Known:
        """Return the same channels with the rows of some points."""
        return Known(self.first[part], lambda: self.last()[part])


@dataclass(frozen=True, eq=False)
class Earlier:
    """The prices `(n,)` and the channel `(n, m)` of an earlier answer to a similar program.

    Programs are scaled to an optimum of about 1, so that prices suit another one.
    """

    prices: Array
    channel: Array | None

    def of(self, part: NDArray[np.int64]) -> Earlier:
        """Return the same answer for some of the points, a part of the program."""
        return Earlier(self.prices[part], None if self.channel is None else self.channel[part])

    def columns(self, factors: Array) -> tuple[Array, NDArray[np.int64]]:
        """Return the columns `(k, n)` of the channel, and their reports.

        Each is raised to the least member of the cone above it: at another ε it may have been outside.
        """
        if self.channel is None:
            return np.zeros((0, len(factors))), np.zeros(0, dtype=np.int64)
        used = np.flatnonzero(self.channel.max(axis=0) > FAINT)
        return product(self.channel.T[used], factors), used


def stop_seconds(points: int, reports: int) -> float:
    """Return the seconds that a stop may take before the proof: 0.7, and less where the proof takes more."""
    return min(_STOP, max(_LEAST_STOP, 2 * _STOP - _PROOF * points**2 * reports))


class Grace:
    """The time that a stop may take, which begins when it is first asked for."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.end: float | None = None

    def begin(self) -> None:
        """Begin, unless it has begun."""
        if self.end is None:
            self.end = time.monotonic() + self.seconds

    def is_over(self) -> bool:
        """Tell whether it has begun and passed."""
        return self.end is not None and time.monotonic() >= self.end


@dataclass(frozen=True, eq=False)
class ColumnSettings:
    """Settings of column generation: tolerance, start, and the pricer.

    Attributes
    ----------
    tolerance : float
        On the gap, relative to the value and the offset of the program.
    should_stop : callable
        Asked several times a second or so; the best channel known is returned then.
    progress : callable
        Given (rounds, value, bound) once a round: what a stop would deliver at most, and what is proven. The value
        is infinite while no channel is known.
    note : callable
        Given a line on what is done before the rounds.
    columns : int
        How many columns the pool holds for each row, at most; see `Memory`.
    bound_only : bool
        True where the channel is not wanted: no incumbents are made, rows are never merged, and the end is at a gap
        to a master that may be boxed.
    start : Earlier, optional
        It gives a first bound, columns, and a box where its prices are close.
    known : Known, optional
        Channels whose columns are mixed with the others, so that a stop gives nothing worse.
    pricer : Pricer
        Prices the reports: `Forest.price` on this machine, or the workers of a cluster (`OnWorkers`).
    """

    tolerance: float
    should_stop: Callable[[], bool] = lambda: False
    progress: Progress = lambda rounds, value, bound: None
    note: Callable[[str], None] = lambda line: None
    columns: int = MOST_COLUMNS
    bound_only: bool = False
    start: Earlier | None = None
    known: Known | None = None
    pricer: Pricer = Forest.price

    def of(self, part: NDArray[np.int64], progress: Progress) -> ColumnSettings:
        """Return the settings for some of the points, a part of the program, with a progress of its own."""
        start = None if self.start is None else self.start.of(part)
        known = None if self.known is None else self.known.of(part)
        return replace(self, progress=progress, start=start, known=known)
