"""Clarabel on the whole program, called directly, at its default accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.candidates.peers import Peer
from benchmarks.contract import CANDIDATES, Array, Matrix, NoAnswer, Places
from benchmarks.program import Program, Triples


@CANDIDATES.register("clarabel")
class ClarabelFull(Peer):
    package = "clarabel"

    def answer(self, program: Program) -> Matrix:
        triples = program.everywhere
        channel, prices, multipliers = solved(program, triples, np.arange(program.costs.size))
        return Matrix(channel, program.dual(prices, triples, multipliers))


def solved(program: Program, triples: Triples, signs: Places) -> tuple[Array, Array, Array]:
    """Return the channel, row prices and multipliers under some constraints.

    Parameters
    ----------
    signs : (s,) int array
        Variables that get a row of their own to be 0 or more.

    Raises
    ------
    NoAnswer
        If there are no numbers. Numbers that Clarabel is not content with are left to the objective.
    """
    import clarabel

    library: Any = clarabel
    size, cells = len(program.costs), program.costs.size
    positive = sp.csc_array((-np.ones(len(signs)), (np.arange(len(signs)), signs)), shape=(len(signs), cells))
    matrix = sp.csc_matrix(sp.vstack([program.totals, -program.rows(triples), positive], format="csc"))
    sides = np.concatenate([np.ones(size), np.zeros(len(triples) + len(signs))])
    cones = [library.ZeroConeT(size), library.NonnegativeConeT(len(triples) + len(signs))]
    settings = library.DefaultSettings()
    settings.verbose = False
    solver = library.DefaultSolver(
        sp.csc_matrix((cells, cells)), program.costs.T.ravel(), matrix, sides, cones, settings
    )
    found = solver.solve()
    primal, duals = np.array(found.x), np.array(found.z)
    if not (np.isfinite(primal).all() and np.isfinite(duals).all()) or "Infeasible" in str(found.status):
        raise NoAnswer(f"ended with {found.status}")
    return program.channel(primal), -duals[:size], duals[size : size + len(triples)]
