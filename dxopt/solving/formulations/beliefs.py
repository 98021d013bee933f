"""Pairs of beliefs that must not be told apart: any other formulation with a row for each pair and report."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from dxopt.model.beliefs.pairs import Pairs
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.duals import BeliefDual, Dual, WorstDual
from dxopt.solving.formulations.contract import Compiled, Formulation
from dxopt.solving.programs.coupling import Coupling
from dxopt.solving.programs.program import ChannelSolution

_FARTHEST = 700.0


@dataclass(frozen=True, eq=False)
class WithBeliefs:
    """Another formulation where pairs of beliefs θ, θ' hold as well.

    Poses
        What `base` poses, and Σ_x θ_x K[x, z] ≤ e^{εd} Σ_x θ'_x K[x, z] for each of p pairs and each report z.
    Requires
        Pairs of beliefs. No points are merged, as members of a class weigh differently in beliefs.
    Guarantees
        Exact.
    Size
        p·m more rows, each with an entry for every secret that either belief deems possible.
    Reference
        Kifer and Machanavajjhala (2014), Def 3.4; Des20 §2.2.3.
    """

    base: Formulation

    def apply(self, problem: Problem) -> Compiled:
        compiled = self.base.apply(problem)
        if problem.beliefs is None:
            return compiled
        rows = _rows(problem.beliefs, problem.shape[1])
        return replace(compiled, smaller=compiled.smaller.coupled_by(rows), formulation=self)

    def recover(self, compiled: Compiled, solution: ChannelSolution) -> Candidate:
        pairs = compiled.problem.beliefs
        coupled = solution.coupled
        if pairs is None or coupled is None:
            return self.base.recover(compiled, solution)
        reports = compiled.problem.shape[1]
        own, scaled = np.split(coupled, [len(coupled) - len(pairs) * reports])
        found = self.base.recover(compiled, replace(solution, coupled=own))
        if not isinstance(found.dual, Dual | WorstDual):
            return replace(found, dual=None)
        multiplier = scaled * np.tile(_halved(pairs), reports) * compiled.scale
        used = np.flatnonzero(multiplier > 0)
        report, belief = np.divmod(used, len(pairs))
        return replace(found, dual=BeliefDual(belief, report, multiplier[used], found.dual))


def _halved(pairs: Pairs) -> np.ndarray:
    """e^{εd/2} of each pair, `(p,)`; steeper ones are left to the repair."""
    return np.exp(np.minimum(pairs.budgets, _FARTHEST) / 2)


def _rows(pairs: Pairs, reports: int) -> Coupling:
    """Rows e^{εd/2} θ'v - e^{-εd/2} θv ≥ 0, report by report, on columns one after another."""
    up = _halved(pairs)[:, None]
    one = sp.csc_array(up * pairs.second - pairs.first / up)
    columns = sp.csc_array(sp.kron(sp.eye_array(reports), one))
    count = len(pairs) * reports
    return Coupling(np.zeros(0), columns, sp.csc_array((count, 0)), np.zeros(count))
