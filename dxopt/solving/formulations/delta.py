"""(ε, δ)-privacy: any other formulation with slacks, which sum to at most δ for each pair of secrets."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.duals import Dual
from dxopt.solving.formulations.contract import Compiled, Formulation
from dxopt.solving.programs.coupling import Coupling
from dxopt.solving.programs.program import ChannelSolution

Entries = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WithDelta:
    """Another formulation under relaxed privacy, with the entries `(t, 3)` that are bound: x, x', and a report z.

    Poses
        What `base` poses, but for privacy: Σ_z s_z ≤ δ, s_z ≥ K[x, z] - e^{εd(x, x')} K[x', z], s ≥ 0 for each pair,
        with its reports.
    Requires
        δ > 0. Neither pairs nor points may be dropped for what follows from others: δ does not add up along chains.
    Guarantees
        Exact where all bound pairs are there with all reports; with some of them, a bound: what is left out of the
        sum of a pair is 0 or more.
    Size
        p more rows for p pairs, and a variable and a row for each of their entries.
    Reference
        HLM14 Def 1; CABP13 §3 for any metric.
    """

    base: Formulation
    entries: Entries

    def apply(self, problem: Problem) -> Compiled:
        compiled = self.base.apply(problem)
        apart = np.full(compiled.smaller.budgets.shape, np.inf)
        np.fill_diagonal(apart, 0.0)
        program = compiled.smaller.with_budgets(apart).coupled_by(self._slack(problem))
        return replace(compiled, smaller=program, formulation=self)

    def recover(self, compiled: Compiled, solution: ChannelSolution) -> Candidate:
        coupled = solution.coupled
        if coupled is None or solution.dual is None:
            return self.base.recover(compiled, replace(solution, dual=None, coupled=None))
        count = len(self.entries)
        own, scaled = np.split(coupled, [len(coupled) - count - self._pairs(compiled.problem)[0]])
        first, second, report = self.entries.T
        multiplier = scaled[:count] * np.exp(compiled.problem.budgets[first, second] / 2)
        used = multiplier > 0
        dual = Dual(solution.dual.prices, report[used], first[used], second[used], multiplier[used])
        return self.base.recover(compiled, replace(solution, dual=dual, coupled=own))

    def _pairs(self, problem: Problem) -> tuple[int, NDArray[np.int64]]:
        """Count the pairs, and return the pair of each entry."""
        pair = self.entries[:, 0] * problem.shape[0] + self.entries[:, 1]
        pairs, index = np.unique(pair, return_inverse=True)
        return len(pairs), index

    def _slack(self, problem: Problem) -> Coupling:
        """Rows e^{d/2} v_b - e^{-d/2} (v_a - s) ≥ 0 for each entry, then δ - Σ_z s_z ≥ 0 for each pair."""
        (n, m) = problem.shape
        first, second, report = self.entries.T
        count = len(self.entries)
        pairs, pair = self._pairs(problem)
        row = np.arange(count)
        budget = problem.budgets[first, second]
        up = np.exp(budget / 2)
        down = np.exp(-budget / 2)
        places = np.concatenate([report * n + second, report * n + first])
        shape = (count + pairs, n * m)
        columns = sp.csc_array((np.concatenate([up, -down]), (np.concatenate([row, row]), places)), shape)
        sums = sp.csc_array((-np.ones(count), (pair, row)), (pairs, count))
        extras = sp.csc_array(sp.vstack([sp.diags_array(down), sums]))
        floors = np.concatenate([np.zeros(count), np.full(pairs, -problem.delta)])
        return Coupling(np.zeros(count), columns, extras, floors)
