"""The memory that column generation will take, known before it starts."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from dxopt.solving.solvers.columns.matrices import THREADS

MOST_COLUMNS = 20
LEAST_COLUMNS = 4
"""For each row: with fewer than 20, useful ones are lost and rounds multiply; with fewer than 4, it is not tried."""
_SHARE = 0.8
_PAIRS = 6
_ENTRIES = 10
_DOUBLE = 8.0


@dataclass(frozen=True)
class Memory:
    """A cap on columns, and the bytes that go with it.

    Attributes
    ----------
    columns : int
        For each row that the master couples; 0 where not even few fit.
    needed, there : float
        Bytes at most, and bytes that may be used: four fifths of the machine's.
    """

    columns: int
    needed: float
    there: float

    @classmethod
    def of(cls, points: int, reports: int, rows: int, there: float | None = None) -> Memory:
        """For n points, m reports and the rows of the master.

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
