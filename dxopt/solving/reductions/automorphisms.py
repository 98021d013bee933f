"""Automorphisms of a channel program: permutations of rows and reports that leave budgets and costs alone.

Rows and reports have colours. A row is described by the budgets to and from the rows of each colour and by its costs
under the reports of each colour; rows of one colour whose descriptions differ get different colours, and reports
likewise. This is repeated until no colour splits. What an automorphism carries into each other has the same colour
throughout, so the colours never separate what belongs together; they may fail to separate what does not.

A description is hashed to one number: a sum of the entries, each bent by `1 / (1 + a / scale)` and weighted by a
random number of its colour. Sums are compared with a margin for rounding, so two descriptions may pass for the same.
That costs time in the search (`automorphisms`), where everything found is compared entry by entry, and nothing else.

Individualisation and refinement, as in nauty (McKay 1981). **Refinement** gives rows colours that automorphisms
preserve (`Refinement`); the rows of a colour are a cell. **Individualisation** gives one row a colour of its own,
which splits other cells in turn.

**The base.** Rows are individualised one after another until every cell left is a single row or free: all orders of
the rows of a free cell, with all other rows fixed, are automorphisms. The rows individualised are the base: an
automorphism is determined by their images, up to permutations within free cells and of equal reports.

**The search tree.** A node at depth i is a choice of images of the first i base points, with the colours that result
from individualising those images instead. Its children are the images possible for the next base point: all rows of
its colour. A subtree is cut off if its cells and sums differ from those of the base at the same depth. At every node
that is left, rows are matched by colour, and the bijection is compared with the program entry by entry: often it is
an automorphism long before the base is exhausted.

**The order.** For every base point, last one first, an automorphism is sought that fixes each earlier base point and
takes this one to an image that those found so far do not reach yet. One for each orbit generates all of them (a
strong generating set, as in the method of Schreier and Sims), so few leaves of the tree are ever visited. Of the
permutations of equal reports one cycle is kept: only orbits are used.

**The end.** The search ends when every possible image is reached or ruled out; or earlier, when it has read as many
entries as it may, or is asked to stop. As everything found has been compared entry by entry, what is known by then
generates a group of automorphisms in any case, perhaps a smaller one, which serves as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csgraph

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
        """Tell whether an automorphism between them is possible; if not, a subtree of the search is cut off."""
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

    Random numbers for the colours come from `draw`; `spend` is told how many entries are read, and may raise.
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
        """Give row `point` a colour of its own, refine, and return the colours."""
        rows = colours.rows.copy()
        rows[point] = rows.max() + 1
        return self.refined(rows, colours.reports)

    def refined(self, rows: Indices, reports: Indices) -> Colours:
        """Split colours by the sums that describe rows and reports, until no colour splits."""
        highest = 0
        while True:
            self.spend(2 * (self.budgets.size + self.costs.size))
            outgoing = self.budgets @ self.to_rows[rows]
            incoming = self.from_rows[rows] @ self.budgets
            sums = outgoing + incoming + self.costs @ self.of_reports[reports]
            reports = split_colours(reports, self.of_rows[rows] @ self.costs)
            rows = split_colours(rows, sums)
            before, highest = highest, int(rows.max() + reports.max())
            # colours only split, so these maxima grow until nothing splits; rows that are all single need no more
            if highest == before or rows.max() + 1 == len(rows):
                # sorted within a colour, so that images of each other have the same list
                return Colours(rows, reports, sums[np.lexsort((sums, rows))])


def _bent(matrix: Array) -> Array:
    """Return 1 / (1 + a / scale), entry by entry: it is bounded, and sums of different entries hardly ever agree."""
    counted = matrix[np.isfinite(matrix) & (matrix > 0)]
    scale = _SCALE * np.exp(np.log(counted).mean()) if len(counted) else 1.0
    return 1.0 / (1.0 + matrix / scale)


def split_colours(colours: Indices, sums: Array) -> Indices:
    """Return colours numbered by old colour, then by sum; sums closer than 1e-10 relative stay together."""
    order = np.lexsort((sums, colours))
    apart = np.diff(sums[order]) > SAME_SUM * sums[order[1:]] + _SAME_ZERO
    numbered = np.empty_like(colours)
    numbered[order] = np.concatenate([[0], np.cumsum(apart | (np.diff(colours[order]) > 0))])
    return numbered


def classes_of_values(values: Array) -> tuple[Indices, Array]:
    """Return classes of nearly equal values in rising order, and the numbers half-way between one and the next."""
    classes = split_colours(np.zeros(len(values), np.int64), values)
    ordered = np.sort(values)
    last = np.flatnonzero(np.diff(np.sort(classes)))
    return classes, (ordered[last] + ordered[last + 1]) / 2


def match_colours(colours: Indices, images: Indices) -> Indices:
    """Return for each point one whose colour in `images` is its own in `colours`: itself, where that is possible."""
    image = np.arange(len(colours))
    left = np.flatnonzero(colours != images)
    image[left[np.argsort(colours[left], kind="stable")]] = left[np.argsort(images[left], kind="stable")]
    return image


LEAST_WORK = 10**9
WORK_PER_ENTRY = 200
"""A search reads at most the larger of the first, and of this for each entry of the program."""


class Automorphism(NamedTuple):
    """Row x goes to rows[x], report z to reports[z]."""

    rows: Indices
    reports: Indices


def automorphisms(
    program: ChannelProgram, should_stop: Callable[[], bool] = lambda: False, limit: int | None = None
) -> Search:
    """Find generators of the automorphisms (σ, τ): budgets[σx, σx'] = budgets[x, x'], costs[σx, τz] = costs[x, z].

    Numbers a, b count as equal when they differ by at most 1e-12 (1 + min(a, b)): budgets are exponents and costs are
    scaled so that the optimum is about 1, so a generator changes privacy and loss by about 1e-12, and products by the
    sum. That costs accuracy alone: channel and bound are certified for the problem as it was given.

    Once stopped, or when more than `limit` entries were read (by default 10^9, or 200 times those of the program
    where that is more), what was found generates a smaller group, which serves as well.
    """
    usual = max(LEAST_WORK, WORK_PER_ENTRY * (program.budgets.size + program.costs.size))
    search = Search(program, should_stop, usual if limit is None else limit)  # spends nothing yet, so cannot end
    with suppress(_EndedEarly):
        search.run()
    return search


def orbits(maps: Iterable[Indices], size: int) -> Indices:
    """Return classes of points, each with its images under all maps, numbered in order of their first points."""
    images = [np.arange(size), *maps]
    points = np.tile(images[0], len(images))
    links = coo_array((np.ones(len(points), dtype=bool), (points, np.concatenate(images))), shape=(size, size))
    return csgraph.connected_components(links, directed=False)[1].astype(np.int64)


class _EndedEarly(Exception):
    """Raised when the work allowed is done, or when asked to stop."""


class Search:
    """A search for generators.

    Attributes
    ----------
    generators : list of Automorphism
        Of a group of automorphisms; none of them is the identity.
    nodes : list of Colours
        The colours before each base point is individualised, and after the last one.
    orbit : (n,) array
        The orbit of each row under the generators.
    complete : bool
        Whether the search ended by itself: then none is missing but what rounding or fingerprints hide by accident.
    work : int
        Entries of budgets and costs that were read.
    """

    def __init__(self, program: ChannelProgram, should_stop: Callable[[], bool], limit: int) -> None:
        self.budgets = program.budgets
        self.costs = program.costs
        self.should_stop = should_stop
        self.limit = limit
        self.work = 0
        self.complete = False
        draw = np.random.default_rng(0)  # a fixed seed: the same program has the same generators
        self.refinement = Refinement(program, draw, self.spend)

        # a fingerprint of each report, by which its image is found once those of the rows are known; nearly equal
        # ones are of one kind, numbered as they rise, and `bounds` lie half-way between a kind and the next
        self.weights = draw.uniform(0.5, 1.5, len(program.costs))
        self.fingerprints = self.weights @ self.costs
        self.kinds, self.bounds = classes_of_values(self.fingerprints)
        self.generators: list[Automorphism] = []
        self.nodes: list[Colours] = []
        self.base: list[int] = []

    def run(self) -> None:
        """Fill in the generators: equal reports, rows free to be permuted, then the base, last point first."""
        self.turn_equal_reports()
        self.choose_base(self.refinement.unit())
        self.orbit = orbits((one.rows for one in self.generators), len(self.costs))
        for depth in reversed(range(len(self.base))):
            self.reach_images(depth)
        self.complete = True

    def turn_equal_reports(self) -> None:
        """Add the permutation that takes each report to the next equal one, in a cycle, and leaves rows alone."""
        # all kinds turn at once: if one holds different reports, by accident, none is turned
        rows = np.arange(len(self.costs))
        order = np.argsort(self.kinds, kind="stable")
        first = np.diff(self.kinds[order], prepend=-1) > 0
        if first.all():
            return
        # the image of a report is the next one of its kind, and that of the last is the first (`first` sorts last)
        turned = np.empty_like(order)
        turned[order] = order[np.lexsort((first, self.kinds[order]))]
        if self.is_kept(self.costs, rows, turned):
            self.generators.append(Automorphism(rows, turned))

    def choose_base(self, node: Colours) -> None:
        """Choose the base: individualise a row of the largest cell that is not free, until every cell is free."""
        # a free cell stays whole, as no colour tells its rows apart: its generators fix the whole base
        free: set[bytes] = set()
        while True:
            self.nodes.append(node)
            sizes = np.bincount(node.rows)
            for colour in np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes > 1)]:
                cell = node.cell(colour)
                if cell.tobytes() in free:
                    continue
                orders = self.all_orders(cell)
                if not orders:  # the largest cell that is not free is individualised below
                    break
                self.generators.extend(orders)
                free.add(cell.tobytes())
            else:
                return
            self.base.append(int(cell[0]))
            node = self.refinement.individualised(node, self.base[-1])

    def all_orders(self, cell: Indices) -> list[Automorphism]:
        """Return a swap and a cycle that generate all permutations of a cell; none where one is no automorphism."""
        found = []
        for turned in (cell[:2], cell) if len(cell) > 2 else (cell,):
            rows = np.arange(len(self.budgets))
            rows[turned] = np.roll(turned, -1)
            one = self.complete_rows(rows)
            if one is None:
                return []
            found.append(one)
        return found

    def reach_images(self, depth: int) -> None:
        """Find automorphisms that fix the base before `depth`.

        Go on until every possible image of base point `depth` is either reached by the generators or ruled out. All
        generators so far fix the base before `depth`: those of equal reports and free cells fix all of the base, and
        deeper points came first. So an orbit under them is in reach as a whole, or out of reach as a whole.
        """
        node = self.nodes[depth]
        point = self.base[depth]
        out_of_reach: list[int] = []
        for image in node.cell(int(node.rows[point])):
            if self.orbit[image] in self.orbit[[point, *out_of_reach]]:
                continue
            one = self.find_carrying(depth, node, np.array([image]))
            if one is None:
                out_of_reach.append(int(image))
            else:
                self.generators.append(one)
                # merge the orbits by the new generator: each row linked to the first of its orbit, and to its image
                firsts = np.unique(self.orbit, return_index=True)[1]
                self.orbit = orbits([firsts[self.orbit], one.rows], len(self.orbit))

    def find_carrying(self, depth: int, colours: Colours, images: Indices) -> Automorphism | None:
        """Find an automorphism that takes base point `depth` to one of `images`.

        It takes the base points before to those individualised in `colours`, and later ones to whatever suits. None
        proves that there is none, up to rounding: an automorphism g would take the goal to the child, cell by
        cell, so both look alike. At the end of the base cells are free or single, so the matching there is g after a
        permutation within free cells: an automorphism itself, which the comparison accepts.
        """
        # As deep as the base is long, b ≤ n. Each of its points has cost 2 n (n + m) entries or more, so that 10^9
        # entries allow b < 800 (2 n² b ≤ 10^9), and the other limit, 200 n (n + m), allows b ≤ 100
        goal = self.nodes[depth + 1]
        for image in images:
            # 1. the child for this image; cut off if it does not look like the goal (colours mean the same in both)
            child = self.refinement.individualised(colours, int(image))
            if not goal.like(child):
                continue

            # 2. match rows by colour, goal to child, and try; then the children, the next base point itself first
            one = self.complete_rows(match_colours(goal.rows, child.rows))
            if one is None and depth + 1 < len(self.base):
                following = self.base[depth + 1]
                cell = child.cell(int(goal.rows[following]))
                one = self.find_carrying(depth + 1, child, cell[np.argsort(cell != following, kind="stable")])
            if one is not None:
                return one
        return None

    def complete_rows(self, rows: Indices) -> Automorphism | None:
        """Return the automorphism with these images of the rows, or None; all of it is compared with the program."""
        # 1. budgets know of rows alone
        if not self.is_kept(self.budgets, rows, rows):
            return None

        # 2. with f(z) = Σ_x w_x c[x, z] let g(z) = Σ_x w_x c[σx, z], so that g(τz) = f(z) for an automorphism (σ, τ).
        #    Row x has the weight of σ⁻¹x in g (argsort inverts σ), and g - f is a sum over rows that move
        moved = np.flatnonzero(rows != np.arange(len(rows)))
        before = self.weights[np.argsort(rows)]
        self.spend(len(moved) * self.costs.shape[1])
        fingerprints = self.fingerprints + (before[moved] - self.weights[moved]) @ self.costs[moved]

        # 3. the image of z is a report of which g is f(z), if there are as many of each kind
        kinds = np.searchsorted(self.bounds, fingerprints)
        if not np.array_equal(np.bincount(kinds, minlength=len(self.bounds) + 1), np.bincount(self.kinds)):
            return None
        reports = match_colours(self.kinds, kinds)
        return Automorphism(rows, reports) if self.is_kept(self.costs, rows, reports) else None

    def is_kept(self, matrix: Array, rows: Indices, columns: Indices) -> bool:
        """Tell whether permutations of its rows and columns leave a matrix as it is."""
        from dxopt.solving.reductions.automorphism_loops import compare  # which loads Numba

        same, compared = compare(matrix, rows, columns, np.flatnonzero(columns != np.arange(len(columns))))
        self.spend(compared)
        return same

    def spend(self, entries: int) -> None:
        """Count entries that are read; end the search where they are too many, or a stop is asked for."""
        self.work += entries
        if self.work > self.limit or self.should_stop():
            raise _EndedEarly
