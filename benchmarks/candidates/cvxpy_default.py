"""cvxpy with the solver that it picks, on the whole program in three lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.candidates.peers import Peer
from benchmarks.contract import CANDIDATES, Matrix, NoAnswer
from benchmarks.program import Program
from dxopt.proofs.duals import Dual


@CANDIDATES.register("cvxpy")
class CvxpyDefault(Peer):
    package = "cvxpy"

    def answer(self, program: Program) -> Matrix:
        import cvxpy

        library: Any = cvxpy
        first, second = program.first, program.second
        factors = np.exp(program.budgets[first, second])[:, None]
        channel = library.Variable(program.costs.shape, nonneg=True)
        private = channel[first] <= library.multiply(factors, channel[second])
        objective = library.Minimize(library.sum(library.multiply(program.costs, channel)))
        problem = library.Problem(objective, [private, library.sum(channel, axis=1) == 1])
        problem.solve()
        if channel.value is None:
            raise NoAnswer(f"ended with {problem.status}")
        if private.dual_value is None:
            return Matrix(np.asarray(channel.value))
        pair, report = np.nonzero(np.asarray(private.dual_value) > 0)
        multipliers = (np.asarray(private.dual_value) * factors)[pair, report]
        dual = Dual(np.zeros(len(program.costs)), report, first[pair], second[pair], multipliers)
        return Matrix(np.asarray(channel.value), dual)
