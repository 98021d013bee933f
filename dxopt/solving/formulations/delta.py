"""(ε, δ)-privacy: any other formulation with slacks, which sum to at most δ for each pair of secrets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate, Claim
from dxopt.proofs.duals import Dual
from dxopt.solving.formulations.contract import Compiled, Formulation
from dxopt.solving.programs.coupling import Coupling
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution

Pairs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WithDelta:
    """Another formulation under relaxed privacy, with the pairs `(p, 2)` that are bound.

    Poses
        What `base` poses, but for privacy: Σ_z s_z ≤ δ, s_z ≥ K[x, z] - e^{εd(x, x')} K[x', z], s ≥ 0 for such pairs.
    Requires
        δ > 0. Neither pairs nor points may be dropped for what follows from others: δ does not add up along chains.
    Guarantees
        Exact where all bound pairs are there; with some of them, a bound.
    Size
        m more variables and m + 1 more rows per pair, for m reports.
    Reference
        HLM14 Def 1; CABP13 §3 for any metric.
    """

    base: Formulation
    pairs: Pairs
    name: ClassVar[str] = "with delta"
    claim: ClassVar[Claim] = "exact"

    def refuses(self, problem: Problem) -> str | None:
        return self.base.refuses(problem) if problem.delta else "needs a positive delta"

    def compile(self, problem: Problem) -> Compiled:
        compiled = self.base.compile(problem)
        program = compiled.program
        slack = self._slack(problem)
        apart = np.full(program.budgets.shape, np.inf)
        np.fill_diagonal(apart, 0.0)
        coupling = slack if program.coupling is None else program.coupling.written().joined(slack)
        return replace(compiled, program=ChannelProgram(program.costs, apart, coupling=coupling))

    def recover(self, compiled: Compiled, solution: ChannelSolution) -> Candidate:
        coupled = solution.coupled
        (_n, m) = compiled.problem.shape
        if coupled is None or solution.dual is None:
            return self.base.recover(compiled, replace(solution, dual=None, coupled=None))
        count = len(self.pairs) * m
        own, scaled = np.split(coupled, [len(coupled) - count - len(self.pairs)])
        first, second = np.repeat(self.pairs, m, axis=0).T
        report = np.tile(np.arange(m), len(self.pairs))
        multiplier = scaled[:count] * np.exp(compiled.problem.budgets[first, second] / 2)
        used = multiplier > 0
        dual = Dual(solution.dual.prices, report[used], first[used], second[used], multiplier[used])
        return self.base.recover(compiled, replace(solution, dual=dual, coupled=own))

    def _slack(self, problem: Problem) -> Coupling:
        """Rows e^{d/2} v_b - e^{-d/2} (v_a - s) ≥ 0 for each pair and report, then δ - Σ_z s_z ≥ 0 for each pair."""
        (n, m) = problem.shape
        count = len(self.pairs)
        first, second = np.repeat(self.pairs, m, axis=0).T
        report = np.tile(np.arange(m), count)
        row = np.arange(count * m)
        budget = problem.budgets[first, second]
        up = np.exp(budget / 2)
        down = np.exp(-budget / 2)
        entries = np.concatenate([report * n + second, report * n + first])
        shape = (count * m + count, n * m)
        columns = sp.csc_array((np.concatenate([up, -down]), (np.concatenate([row, row]), entries)), shape)
        sums = sp.kron(sp.eye_array(count), -np.ones((1, m)))
        extras = sp.csc_array(sp.vstack([sp.diags_array(down), sums]))
        floors = np.concatenate([np.zeros(count * m), np.full(count, -problem.delta)])
        return Coupling(np.zeros(count * m), columns, extras, floors)
