"""Treat rows and reports that automorphisms carry into each other as one. Exact.

The worst loss: secrets of one class lose the same under an invariant channel, so that one row for each class, the
mean of its secrets', says the same as theirs. An adversary's error: automorphisms move guesses as well. After a
report, guesses that are exchanged by automorphisms that keep it win the same of an invariant channel; again the mean
of a class says the same. Means are the same for a column and for its average over the automorphisms that keep its
report, so that columns need not be averaged before the end. A dual of the means is spread evenly, and carried along.

Take a private channel K and a group of automorphisms g of its program (`automorphisms`). K moved by g, that is
K[gx, gz], is private with the same loss, as g leaves budgets and costs alone, and so is the mean over the group:
privacy constraints and row sums are linear. So some optimal channel is invariant. It is known from one column for
each class of reports, and that column is constant on the orbits of the rows under the automorphisms that keep its
report. Row sums are constant on classes of rows. A dual extends to the whole program, where everything is certified.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.kernels import INDICES, POSITIONS, TABLE, WHOLE, kernel
from dxopt.numerics.partition import Partition
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.duals import Dual
from dxopt.solving.programs.coupling import GuessRows, WorstRows
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution
from dxopt.solving.reductions.automorphisms import Automorphism, automorphisms, orbits
from dxopt.solving.reductions.chain import Reduced

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def uncoupled(whole: ChannelProgram) -> ChannelProgram | str:
    """Return a program without coupling that has the same automorphisms; or why there is none.

    Guesses are more reports, told apart from the others by what they cost. An automorphism of such a program moves
    reports first, then guesses.
    """
    match whole.coupling:
        case None:
            return whole
        case _ if whole.costs.any():
            return "the columns cost something beside what couples them"
        case WorstRows(losses, index, among) if len(index) == len(whole.costs) and among.is_everyone:
            costs = np.empty_like(losses)
            costs[index] = losses
            return replace(whole, costs=costs, coupling=None)
        case GuessRows(won, paid):
            costs = np.hstack([paid - paid.min(), won + (1 + float(np.ptp(paid)))])
            return replace(whole, costs=costs, coupling=None)
    return "the columns are coupled by more than their sums"


WORTH = 0.75
"""Symmetry is used where at most this share of the channel's entries is left."""
TOO_LITTLE = "there is too little symmetry"


def by_symmetry(
    whole: ChannelProgram, should_stop: Callable[[], bool] = lambda: False
) -> Reduced[ChannelProgram] | str:
    """Return the program of one report for each class under automorphisms, where that saves a quarter of the entries.

    A search that is stopped, or takes too long, ends with the automorphisms known by then; everything is exact for
    the group that they generate.
    """
    found = find_orbits(whole, should_stop)
    return found if isinstance(found, str) else Reduced(found.reduce(whole), found.lift, (found.record(),))


@dataclass(frozen=True, eq=False)
class Orbits:
    """Classes of the n rows and m reports of a program under a group of automorphisms, and the way back.

    Attributes
    ----------
    rows, reports : Partition
        Into h and k classes.
    carry : (m, n) int32 array
        Row z holds the images of the rows under an automorphism that takes the representative of report z to z.
    orbits : (k, n) int32 array
        Of each row together with the representative of each class of reports, numbered from 0: two rows have the
        same number where an automorphism that keeps the representative takes one to the other.
    generators : int
        How many generate the group.
    guesses : (m, g) array or None
        The orbit of each report with each guess of an adversary, numbered from 0; None where there are no guesses.
    """

    rows: Partition
    reports: Partition
    carry: NDArray[np.int32]
    orbits: NDArray[np.int32]
    generators: int
    guesses: Indices | None = None

    @property
    def representatives(self) -> Indices:
        """The first report of each class, (k,)."""
        return self.reports.representatives

    @property
    def sizes(self) -> Indices:
        """The number of reports in each class, (k,)."""
        return np.bincount(self.reports.index)

    def averaged(self, columns: Array) -> Array:
        """Average columns `(k, n)` of the representatives, each over the automorphisms that keep its report."""
        pairs = self.orbits.ravel()
        return (np.bincount(pairs, columns.ravel()) / np.bincount(pairs))[self.orbits]

    def channel(self, columns: Array) -> Array:
        """Return the invariant channel `(n, m)` with the averages of columns `(k, n)` for the representatives."""
        carried = np.empty(self.carry.shape)
        np.put_along_axis(carried, self.carry, self.averaged(columns)[self.reports.index], axis=1)
        return np.ascontiguousarray(carried.T)

    def reduce(self, program: ChannelProgram) -> ChannelProgram:
        """Return the program of the representatives alone, coupled by means over the classes of rows."""
        kept = self.representatives
        coupling: WorstRows | GuessRows | None = None
        match program.coupling:
            case WorstRows(losses, index, among):
                coupling = WorstRows(losses[:, kept], index, among, Partition(self.rows.index[index]))
            case GuessRows(won, paid, budget) if self.guesses is not None:
                coupling = GuessRows(won, paid[:, kept], budget, self.guesses[kept])
        return ChannelProgram(program.costs[:, kept], program.budgets, self.rows, coupling, program.offset)

    def lift(self, solution: ChannelSolution) -> ChannelSolution:
        """Return the solution of the whole program from one of the reduced program."""
        channel = solution.channel
        dual = solution.dual
        if channel is not None:
            # the column of a representative carries the weight of its whole class
            channel = self.channel(channel.T / self.sizes[:, None])
        coupled = solution.coupled
        if coupled is not None and self.guesses is not None:
            # multipliers of guesses after the representatives, then that of the budget
            known = np.zeros(int(self.guesses.max()) + 1)
            known[self.guesses[self.representatives]] = coupled[:-1].reshape(len(self.sizes), -1)
            coupled = np.append(known[self.guesses].ravel(), coupled[-1])
        return replace(solution, channel=channel, dual=None if dual is None else self.dual(dual), coupled=coupled)

    def dual(self, dual: Dual) -> Dual:
        """Return the dual of the whole program from one for the representatives: multipliers are carried along."""
        # each entry is copied once for every report (`member`) of the class that its report stands for
        every = np.argsort(self.reports.index, kind="stable")
        starts = np.cumsum(self.sizes) - self.sizes
        copies = self.sizes[dual.report]
        entry = np.repeat(np.arange(len(dual.report)), copies)
        copy = np.arange(len(entry)) - np.repeat(np.cumsum(copies) - copies, copies)
        member = every[starts[dual.report[entry]] + copy]
        return Dual(
            dual.prices,
            member,
            self.carry[member, dual.first[entry]].astype(np.int64),
            self.carry[member, dual.second[entry]].astype(np.int64),
            dual.multiplier[entry],
        )

    def record(self) -> AppliedReduction:
        """Describe it for the report; the variables are the entries of the channel to be found."""
        n = len(self.rows.index)
        m = len(self.reports.index)
        note = (
            f"{self.generators} generator{'s' if self.generators > 1 else ''}; rows {n} → {self.rows.size}, "
            f"reports {m} → {self.reports.size}; averaging over automorphisms keeps loss and privacy"
        )
        return AppliedReduction("symmetry", True, n * m, int(self.orbits.max()) + 1, note, "variables")


def find_orbits(program: ChannelProgram, should_stop: Callable[[], bool] = lambda: False) -> Orbits | str:
    """Find the symmetry of a program, or why none is used: it has to save a quarter of the channel's entries."""
    n, m = program.costs.shape
    posed = uncoupled(program)
    if isinstance(posed, str):
        return posed
    moves = automorphisms(posed, should_stop).generators
    if not moves:
        return TOO_LITTLE
    guesses: Indices | None = None
    if isinstance(program.coupling, GuessRows):
        # guess g is report m + g of the automorphisms (see `uncoupled`), and a pair (z, g) has the number z·count + g
        count = program.coupling.won.shape[1]
        maps = (one.reports[:m, None] * count + one.reports[None, m:] - m for one in moves)
        guesses = orbits((pairs.ravel() for pairs in maps), m * count).reshape(m, count)
    generators = [Automorphism(one.rows, one.reports[:m]) for one in moves]
    rows = Partition(orbits((one.rows for one in generators), n))
    reports = Partition(orbits((one.reports for one in generators), m))
    # orbits of pairs of a row and a report: those with the representative of a class are the classes of its column
    leader = np.arange(n * m, dtype=np.int32).reshape(n, m)
    for one in generators:
        _join_orbits(leader, one.rows, one.reports, np.flatnonzero(one.reports != np.arange(m)))
    _point_to_least(leader)
    _, pairs = np.unique(leader[:, reports.representatives].T, return_inverse=True)
    if pairs.max() + 1 > WORTH * n * m:
        return TOO_LITTLE
    carry = _carried_rows(reports, generators, n)
    return Orbits(rows, reports, carry, pairs.reshape(-1, n).astype(np.int32), len(generators), guesses)


def _carried_rows(reports: Partition, generators: list[Automorphism], rows: int) -> NDArray[np.int32]:
    """Return for each report the images of rows under an automorphism that takes its class's representative to it.

    These are products of generators, found breadth first.
    """
    carry = np.empty((len(reports.index), rows), dtype=np.int32)
    seen = np.zeros(len(reports.index), dtype=bool)
    reached = reports.representatives
    carry[reached] = np.arange(rows)
    seen[reached] = True
    while len(reached):
        found = [np.zeros(0, dtype=np.int64)]
        for one in generators:
            images = one.reports[reached]
            new = ~seen[images]
            carry[images[new]] = one.rows[carry[reached[new]]]
            seen[images] = True
            found.append(images[new])
        reached = np.concatenate(found)
    return carry


@kernel(INDICES, WHOLE)
def _least_pair(leader: NDArray[np.int32], pair: int) -> int:
    """Return the least pair known in the orbit of a pair, and shorten the chain of leaders for later calls."""
    while leader[pair] != pair:
        leader[pair] = leader[leader[pair]]
        pair = leader[pair]
    return pair


@kernel(TABLE, POSITIONS, POSITIONS, POSITIONS)
def _join_orbits(pairs: NDArray[np.int32], rows: Indices, reports: Indices, moved: Indices) -> None:
    """Join the orbits of each pair (x, z) and of its image (union-find); `moved` are the reports that move."""
    n, m = pairs.shape
    leader = pairs.ravel()
    for x in range(n):
        still = rows[x] == x
        for k in range(len(moved) if still else m):
            z = moved[k] if still else k
            a = _least_pair(leader, x * m + z)
            b = _least_pair(leader, rows[x] * m + reports[z])
            if a < b:
                leader[b] = a
            elif b < a:
                leader[a] = b


@kernel(TABLE)
def _point_to_least(pairs: NDArray[np.int32]) -> None:
    """Set the entry of every pair to the least one of its orbit, once all orbits are joined."""
    leader = pairs.ravel()
    for pair in range(len(leader)):
        leader[pair] = leader[leader[pair]]
