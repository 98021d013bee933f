"""Symmetry where more rows couple the columns than their sums: what automorphisms must keep, and what classes share.

The worst loss: secrets of one class lose the same under an invariant channel, so that one row for each class, the
mean of its secrets', says the same as theirs. An adversary's error: automorphisms move guesses as well. After a
report, guesses that are exchanged by automorphisms that keep it win the same of an invariant channel; again the mean
of a class says the same. Means are the same for a column and for its average over the automorphisms that keep its
report, so that columns need not be averaged before the end. A dual of the means is spread evenly, and carried along.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.partition import Partition
from dxopt.solving.programs.coupling import GuessRows, WorstRows
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.reductions.automorphisms import Automorphism, orbits

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def alone(whole: ChannelProgram) -> ChannelProgram | str:
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
        case GuessRows(missed, paid):
            costs = np.hstack([paid - paid.min(), missed + (1 + float(np.ptp(paid)))])
            return replace(whole, costs=costs, coupling=None)
    return "the columns are coupled by more than their sums"


def pairs_of_guesses(whole: ChannelProgram, generators: list[Automorphism]) -> Indices | None:
    """Return the orbit of each report with each guess `(m, g)`, numbered from 0; None where there are no guesses."""
    if not isinstance(whole.coupling, GuessRows):
        return None
    m, count = whole.costs.shape[1], whole.coupling.missed.shape[1]
    maps = (one.reports[:m, None] * count + one.reports[None, m:] - m for one in generators)
    return orbits((pairs.ravel() for pairs in maps), m * count).reshape(m, count)


def coupling_of(
    whole: ChannelProgram, rows: Partition, representatives: Indices, guesses: Indices | None
) -> WorstRows | GuessRows | None:
    """Return the coupling of the program of the representatives."""
    match whole.coupling:
        case WorstRows(losses, index, among):
            return WorstRows(losses[:, representatives], index, among, Partition(rows.index[index]))
        case GuessRows(missed, paid, budget) if guesses is not None:
            return GuessRows(missed, paid[:, representatives], budget, guesses[representatives])
    return None


def guesses_carried(coupled: Array, guesses: Indices, representatives: Indices) -> Array:
    """Carry multipliers of guesses after the representatives, and of the budget, to all reports."""
    known = np.zeros(int(guesses.max()) + 1)
    known[guesses[representatives]] = coupled[:-1].reshape(len(representatives), -1)
    return np.append(known[guesses].ravel(), coupled[-1])
