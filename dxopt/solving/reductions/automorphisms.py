"""Automorphisms of a channel program: permutations of rows and reports that leave budgets and costs alone.

Individualisation and refinement: points get colours from sums over coloured neighbours, until no colour splits. Some
points, the base, are given colours of their own until the rest can be permuted at will within each colour. An
automorphism is determined, up to that, by the images of the base. For every base point, last one first, and each
possible image that the automorphisms found do not reach yet, a backtracking search looks for one that keeps the
earlier base points. All that is found is compared entry by entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csgraph

from dxopt.solving.programs.program import ChannelProgram

Array = NDArray[np.float64]
Places = NDArray[np.int64]
SAME_ENTRY = 1e-12
SAME_SUM = 1e-10
LEAST_WORK = 10**9
WORK_PER_ENTRY = 200


class Automorphism(NamedTuple):
    """Row x goes to rows[x], report z to reports[z]."""

    rows: Places
    reports: Places


@dataclass(frozen=True, eq=False)
class Automorphisms:
    """What a search found.

    Attributes
    ----------
    generators : list of Automorphism
        They generate a group of automorphisms; none of them is the identity.
    complete : bool
        Whether the search ended by itself, so that no automorphism is known to be missing.
    work : int
        Entries of budgets and costs that were read.
    """

    generators: list[Automorphism]
    complete: bool
    work: int


def automorphisms(
    program: ChannelProgram, should_stop: Callable[[], bool] = lambda: False, limit: int | None = None
) -> Automorphisms:
    """Generators of the automorphisms (σ, τ): budgets[σx, σx'] = budgets[x, x'], costs[σx, τz] = costs[x, z].

    Numbers a, b count as equal when they differ by at most 1e-12 (1 + min(a, b)): budgets are exponents and costs are
    scaled so that the optimum is about 1, so this moves neither privacy nor loss by more.

    Parameters
    ----------
    program : ChannelProgram
        n rows and m reports; budgets may be asymmetric, 0 or inf.
    should_stop : callable
        Asked in between; what was found so far generates a smaller group, which serves as well.
    limit : int, optional
        Entries that may be read; by default 10^9, or 200 times those of the program where that is more.
    """
    usual = max(LEAST_WORK, WORK_PER_ENTRY * (program.budgets.size + program.costs.size))
    search = _Search(program, should_stop, usual if limit is None else limit)
    with suppress(_EndedEarly):
        search.run()
    return Automorphisms(search.generators, search.ended, search.work)


def orbits(maps: Iterable[Places], size: int) -> Places:
    """Classes of points, each together with its images under all maps, numbered by first points."""
    images = [np.arange(size), *maps]
    points = np.tile(images[0], len(images))
    links = coo_array((np.ones(len(points), dtype=bool), (points, np.concatenate(images))), shape=(size, size))
    return csgraph.connected_components(links, directed=False)[1].astype(np.int64)


class _EndedEarly(Exception):
    """The work allowed is done, or someone asked to stop."""


class _Colours(NamedTuple):
    """Colours of rows and reports, with the same numbers in every automorphic image, and the sums that gave them."""

    rows: Places
    reports: Places
    sums: Array

    def like(self, other: _Colours) -> bool:
        """Whether an automorphism between them is possible."""
        return (
            np.array_equal(np.bincount(self.rows), np.bincount(other.rows))
            and np.array_equal(np.bincount(self.reports), np.bincount(other.reports))
            and np.allclose(self.sums, other.sums, rtol=10 * SAME_SUM, atol=0)
        )

    def cell(self, colour: int) -> Places:
        """The rows of a colour."""
        return np.flatnonzero(self.rows == colour)


class _Search:
    def __init__(self, program: ChannelProgram, should_stop: Callable[[], bool], limit: int) -> None:
        self.budgets, self.costs = program.budgets, program.costs
        self.should_stop, self.limit, self.work, self.ended = should_stop, limit, 0, False
        self.near, self.cheap = _falling(program.budgets), _falling(program.costs)
        rows, reports = program.costs.shape
        draw = np.random.default_rng(0)
        self.there, self.back, self.into = draw.uniform(0.5, 1.5, (3, rows + 1))
        self.onto = draw.uniform(0.5, 1.5, reports + 1)
        self.weights = draw.uniform(0.5, 1.5, rows)
        self.sums = self.weights @ self.costs
        self.columns, self.bounds = _runs(self.sums)
        self.generators: list[Automorphism] = []
        self.nodes: list[_Colours] = []
        self.base: list[int] = []

    def run(self) -> None:
        """Fill in the generators: equal reports, rows free to be permuted, then the base, last point first."""
        rows, reports = self.costs.shape
        order = np.argsort(self.columns, kind="stable")
        first = np.diff(self.columns[order], prepend=-1) > 0
        turned = np.empty_like(order)
        turned[order] = order[np.lexsort((first, self.columns[order]))]
        if not first.all() and self.holds(self.costs, np.arange(rows), turned):
            self.generators.append(Automorphism(np.arange(rows), turned))
        self.descend(self.refined(np.zeros(rows, np.int64), np.zeros(reports, np.int64)))
        self.orbit = orbits((one.rows for one in self.generators), rows)
        for level in reversed(range(len(self.base))):
            self.climb(level)
        self.ended = True

    def descend(self, node: _Colours) -> None:
        """Fix points, each in the largest cell that is not free, until every cell is."""
        free: set[bytes] = set()
        while True:
            self.nodes.append(node)
            sizes = np.bincount(node.rows)
            for colour in np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes > 1)]:
                cell = node.cell(colour)
                if cell.tobytes() in free:
                    continue
                orders = self.all_orders(cell)
                if not orders:
                    break
                self.generators.extend(orders)
                free.add(cell.tobytes())
            else:
                return
            self.base.append(int(cell[0]))
            node = self.fixed(node, self.base[-1])

    def all_orders(self, cell: Places) -> list[Automorphism]:
        """A swap and a cycle that generate every permutation of a cell, or nothing where one is no automorphism."""
        found = []
        for turned in (cell[:2], cell) if len(cell) > 2 else (cell,):
            rows = np.arange(len(self.budgets))
            rows[turned] = np.roll(turned, -1)
            one = self.completed(rows)
            if one is None:
                return []
            found.append(one)
        return found

    def climb(self, level: int) -> None:
        """Find automorphisms that keep the base before `level`, until its point reaches all the images it has."""
        node, point = self.nodes[level], self.base[level]
        out_of_reach: list[int] = []
        for image in node.cell(int(node.rows[point])):
            if self.orbit[image] in self.orbit[[point, *out_of_reach]]:
                continue
            one = self.carrying(level, node, np.array([image]))
            if one is None:
                out_of_reach.append(int(image))
            else:
                self.generators.append(one)
                firsts = np.unique(self.orbit, return_index=True)[1]
                self.orbit = orbits([firsts[self.orbit], one.rows], len(self.orbit))

    def carrying(self, level: int, colours: _Colours, images: Places) -> Automorphism | None:
        """An automorphism that takes the base before `level` to the points fixed in `colours`, the next to an image.

        Goes no deeper than the base is long, which the work allowed keeps to some hundreds.
        """
        goal = self.nodes[level + 1]
        for image in images:
            child = self.fixed(colours, int(image))
            if not goal.like(child):
                continue
            one = self.completed(_matching(goal.rows, child.rows))
            if one is None and level + 1 < len(self.base):
                cell = child.cell(int(goal.rows[self.base[level + 1]]))
                one = self.carrying(level + 1, child, cell[np.argsort(cell != self.base[level + 1], kind="stable")])
            if one is not None:
                return one
        return None

    def completed(self, rows: Places) -> Automorphism | None:
        """The automorphism with these images of the rows, or None."""
        if not self.holds(self.budgets, rows, rows):
            return None
        moved = np.flatnonzero(rows != np.arange(len(rows)))
        before = self.weights[np.argsort(rows)]
        self.spend(len(moved) * self.costs.shape[1])
        sums = self.sums + (before[moved] - self.weights[moved]) @ self.costs[moved]
        columns = np.searchsorted(self.bounds, sums)
        if not np.array_equal(np.bincount(columns, minlength=len(self.bounds) + 1), np.bincount(self.columns)):
            return None
        reports = _matching(self.columns, columns)
        return Automorphism(rows, reports) if self.holds(self.costs, rows, reports) else None

    def holds(self, matrix: Array, rows: Places, columns: Places) -> bool:
        same, compared = _invariant(matrix, rows, columns)
        self.spend(compared)
        return same

    def fixed(self, colours: _Colours, point: int) -> _Colours:
        """One point gets a colour of its own."""
        rows = colours.rows.copy()
        rows[point] = rows.max() + 1
        return self.refined(rows, colours.reports)

    def refined(self, rows: Places, reports: Places) -> _Colours:
        """Split colours by sums over budgets and costs, weighted by colours, until they stay."""
        count = 0
        while True:
            self.spend(2 * (self.near.size + self.cheap.size))
            sums = self.near @ self.there[rows] + self.back[rows] @ self.near + self.cheap @ self.onto[reports]
            reports = _split(reports, self.into[rows] @ self.cheap)
            rows = _split(rows, sums)
            colours = int(rows.max() + reports.max())
            if colours == count or rows.max() + 1 == len(rows):
                return _Colours(rows, reports, sums[np.lexsort((sums, rows))])
            count = colours

    def spend(self, entries: int) -> None:
        self.work += entries
        if self.work > self.limit or self.should_stop():
            raise _EndedEarly


def _falling(matrix: Array) -> Array:
    """1 / (1 + a / scale): bounded, and no two different sums of it agree but by accident."""
    counted = matrix[np.isfinite(matrix) & (matrix > 0)]
    scale = 0.7310585786300049 * np.exp(np.log(counted).mean()) if len(counted) else 1.0
    return 1.0 / (1.0 + matrix / scale)


def _split(colours: Places, sums: Array) -> Places:
    """Colours numbered by old colour, then by sum; sums closer than 1e-10 relative stay together."""
    order = np.lexsort((sums, colours))
    apart = np.diff(sums[order]) > SAME_SUM * sums[order[1:]] + SAME_ENTRY
    split = np.empty_like(colours)
    split[order] = np.concatenate([[0], np.cumsum(apart | (np.diff(colours[order]) > 0))])
    return split


def _runs(values: Array) -> tuple[Places, Array]:
    """Classes of nearly equal values in rising order, and what lies half-way between one and the next."""
    classes = _split(np.zeros(len(values), np.int64), values)
    ordered = np.sort(values)
    last = np.flatnonzero(np.diff(np.sort(classes)))
    return classes, (ordered[last] + ordered[last + 1]) / 2


def _matching(colours: Places, images: Places) -> Places:
    """A bijection that takes each point to one whose image colour is its colour: itself, where that will do."""
    image = np.arange(len(colours))
    left = np.flatnonzero(colours != images)
    image[left[np.argsort(colours[left], kind="stable")]] = left[np.argsort(images[left], kind="stable")]
    return image


@numba.njit(cache=True, nogil=True)
def _invariant(matrix: Array, rows: Places, columns: Places) -> tuple[bool, int]:
    """Whether matrix[rows[x], columns[z]] = matrix[x, z] throughout, and how many entries were compared."""
    everywhere = np.arange(len(columns))
    moved = np.flatnonzero(columns != everywhere)
    compared = 0
    for x in range(len(rows)):
        row, image = matrix[x], matrix[rows[x]]
        for z in everywhere if rows[x] != x else moved:
            a, b = row[z], image[columns[z]]
            compared += 1
            if a != b and not abs(a - b) <= SAME_ENTRY * (1 + min(a, b)):
                return False, compared
    return True, compared
