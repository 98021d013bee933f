"""Colour refinement of a channel program: which rows, and which reports, an automorphism could carry into each other.

Rows and reports have colours. A row is described by the budgets to and from the rows of each colour and by its costs
under the reports of each colour; rows of one colour whose descriptions differ get different colours, and reports
likewise. This is repeated until no colour splits. What an automorphism carries into each other has the same colour
throughout, so the colours never separate what belongs together; they may fail to separate what does not.

A description is hashed to one number: a sum of the entries, each bent by `1 / (1 + a / scale)` and weighted by a
random number of its colour. Sums are compared with a margin for rounding, so two descriptions may pass for the same.
That costs time in the search (`automorphisms`), where everything found is compared entry by entry, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxopt.solving.programs.program import ChannelProgram

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
SAME_SUM = 1e-10
"""Sums this close, relatively, count as the same."""
_SAME_ZERO = 1e-12
_SCALE = 0.7310585786300049
"""An arbitrary number, so that no budget or cost lies at the scale itself."""


class Colours(NamedTuple):
    """Colours of rows and reports, with the same numbers in every automorphic image, and the sums that gave them."""

    rows: Indices
    reports: Indices
    sums: Array

    def like(self, other: Colours) -> bool:
        """Tell whether an automorphism between them is possible."""
        return (
            np.array_equal(np.bincount(self.rows), np.bincount(other.rows))
            and np.array_equal(np.bincount(self.reports), np.bincount(other.reports))
            and np.allclose(self.sums, other.sums, rtol=10 * SAME_SUM, atol=0)
        )

    def cell(self, colour: int) -> Indices:
        """Return the rows of a colour."""
        return np.flatnonzero(self.rows == colour)


class Refinement:
    """Refines colours of the rows and reports of one program.

    Parameters
    ----------
    program : ChannelProgram
    draw : Generator
        Gives the random numbers of the colours.
    spend : callable
        Given the entries of budgets and costs that are read; may raise.
    """

    def __init__(self, program: ChannelProgram, draw: np.random.Generator, spend: Callable[[int], None]) -> None:
        rows, reports = program.costs.shape
        self.spend = spend
        self.budgets = _bent(program.budgets)
        self.costs = _bent(program.costs)

        # random numbers of the colours, one for each use, so that a sum tells the uses apart
        self.to_rows, self.from_rows, self.of_rows = draw.uniform(0.5, 1.5, (3, rows + 1))
        self.of_reports = draw.uniform(0.5, 1.5, reports + 1)

    def unit(self) -> Colours:
        """Return the coarsest stable colours, refined from a single one."""
        rows, reports = self.costs.shape
        return self.refined(np.zeros(rows, np.int64), np.zeros(reports, np.int64))

    def individualised(self, colours: Colours, point: int) -> Colours:
        """Return the colours that result from one of its own for a point."""
        rows = colours.rows.copy()
        rows[point] = rows.max() + 1
        return self.refined(rows, colours.reports)

    def refined(self, rows: Indices, reports: Indices) -> Colours:
        """Split colours by the sums that describe rows and reports, until no colour splits."""
        count = 0
        while True:
            self.spend(2 * (self.budgets.size + self.costs.size))
            outgoing = self.budgets @ self.to_rows[rows]
            incoming = self.from_rows[rows] @ self.budgets
            sums = outgoing + incoming + self.costs @ self.of_reports[reports]
            reports = split(reports, self.of_rows[rows] @ self.costs)
            rows = split(rows, sums)
            colours = int(rows.max() + reports.max())
            if colours == count or rows.max() + 1 == len(rows):
                return Colours(rows, reports, sums[np.lexsort((sums, rows))])
            count = colours


def _bent(matrix: Array) -> Array:
    """1 / (1 + a / scale): bounded, also for infinite a, and different sums of it agree by accident alone."""
    counted = matrix[np.isfinite(matrix) & (matrix > 0)]
    scale = _SCALE * np.exp(np.log(counted).mean()) if len(counted) else 1.0
    return 1.0 / (1.0 + matrix / scale)


def split(colours: Indices, sums: Array) -> Indices:
    """Colours numbered by old colour, then by sum; sums closer than 1e-10 relative stay together."""
    order = np.lexsort((sums, colours))
    apart = np.diff(sums[order]) > SAME_SUM * sums[order[1:]] + _SAME_ZERO
    numbered = np.empty_like(colours)
    numbered[order] = np.concatenate([[0], np.cumsum(apart | (np.diff(colours[order]) > 0))])
    return numbered


def runs(values: Array) -> tuple[Indices, Array]:
    """Classes of nearly equal values in rising order, and the numbers half-way between one and the next."""
    classes = split(np.zeros(len(values), np.int64), values)
    ordered = np.sort(values)
    last = np.flatnonzero(np.diff(np.sort(classes)))
    return classes, (ordered[last] + ordered[last + 1]) / 2


def matching(colours: Indices, images: Indices) -> Indices:
    """Match each point with one whose image colour is its colour: itself, where that is possible."""
    image = np.arange(len(colours))
    left = np.flatnonzero(colours != images)
    image[left[np.argsort(colours[left], kind="stable")]] = left[np.argsort(images[left], kind="stable")]
    return image
