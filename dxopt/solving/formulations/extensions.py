"""Extend any other formulation: slacks for δ, and rows for pairs of beliefs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dxopt.model.beliefs.pairs import BeliefPairs
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.duals import BeliefDual, Dual, WorstDual
from dxopt.solving.formulations.base import Compiled, Formulation
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
        """Pose the base's program without its cone, but with the rows and slacks of the entries."""
        compiled = self.base.apply(problem)
        # the rows with slacks take the place of the cone, which binds no pair
        unbound = np.full(compiled.smaller.budgets.shape, np.inf)
        np.fill_diagonal(unbound, 0.0)
        program = compiled.smaller.with_budgets(unbound).coupled_by(self._delta_rows(problem))
        return replace(compiled, smaller=program, formulation=self)

    def recover(self, compiled: Compiled, solution: ChannelSolution) -> Candidate:
        """Read the multipliers of the entries as a dual, unscaled, and leave the rest to the base."""
        coupled = solution.coupled
        if coupled is None or solution.dual is None:
            return self.base.recover(compiled, replace(solution, dual=None, coupled=None))
        # the rows of the base's own coupling come first, then one for each entry, then one for each pair
        count = len(self.entries)
        own, scaled = np.split(coupled, [len(coupled) - count - self._numbered_pairs(compiled.problem)[0]])
        first, second, report = self.entries.T
        multiplier = scaled[:count] * np.exp(compiled.problem.budgets[first, second] / 2)  # as rows are scaled
        used = multiplier > 0
        dual = Dual(solution.dual.prices, report[used], first[used], second[used], multiplier[used])
        return self.base.recover(compiled, replace(solution, dual=dual, coupled=own))

    def _numbered_pairs(self, problem: Problem) -> tuple[int, NDArray[np.int64]]:
        """Return the number of pairs, and for each entry `(t,)` the number of its pair, from 0."""
        pair = self.entries[:, 0] * problem.shape[0] + self.entries[:, 1]
        pairs, index = np.unique(pair, return_inverse=True)
        return len(pairs), index

    def _delta_rows(self, problem: Problem) -> Coupling:
        """Return rows e^{d/2} v_b - e^{-d/2} (v_a - s) ≥ 0 for each entry, then δ - Σ_z s_z ≥ 0 for each pair."""
        (n, m) = problem.shape
        first, second, report = self.entries.T
        count = len(self.entries)
        pairs, pair = self._numbered_pairs(problem)
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


_FARTHEST = 700.0
"""Larger budgets count as this one, so that no factor overflows."""


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
        """Pose the base's program with the rows of the pairs of beliefs."""
        compiled = self.base.apply(problem)
        if problem.beliefs is None:
            return compiled
        rows = _belief_rows(problem.beliefs, problem.shape[1])
        return replace(compiled, smaller=compiled.smaller.coupled_by(rows), formulation=self)

    def recover(self, compiled: Compiled, solution: ChannelSolution) -> Candidate:
        """Split off the multipliers of the pairs of beliefs, and leave the rest to the base."""
        pairs = compiled.problem.beliefs
        coupled = solution.coupled
        if pairs is None or coupled is None:
            return self.base.recover(compiled, solution)
        reports = compiled.problem.shape[1]
        own, scaled = np.split(coupled, [len(coupled) - len(pairs) * reports])
        found = self.base.recover(compiled, replace(solution, coupled=own))
        if not isinstance(found.dual, Dual | WorstDual):
            return replace(found, dual=None)
        multiplier = scaled * np.tile(_half_factors(pairs), reports) * compiled.scale
        used = np.flatnonzero(multiplier > 0)
        report, belief = np.divmod(used, len(pairs))
        return replace(found, dual=BeliefDual(belief, report, multiplier[used], found.dual))


def _half_factors(pairs: BeliefPairs) -> np.ndarray:
    """Return e^{εd/2} of each pair, `(p,)`, by which its rows are scaled; steeper ones are left to the repair."""
    return np.exp(np.minimum(pairs.budgets, _FARTHEST) / 2)


def _belief_rows(pairs: BeliefPairs, reports: int) -> Coupling:
    """Return rows e^{εd/2} θ'v - e^{-εd/2} θv ≥ 0, report by report, on columns one after another."""
    up = _half_factors(pairs)[:, None]
    one = sp.csc_array(up * pairs.second - pairs.first / up)
    columns = sp.csc_array(sp.kron(sp.eye_array(reports), one))
    count = len(pairs) * reports
    return Coupling(np.zeros(0), columns, sp.csc_array((count, 0)), np.zeros(count))
