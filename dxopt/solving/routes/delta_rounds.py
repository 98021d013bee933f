"""Privacy relaxed by δ: linear programs with the pairs of secrets and the reports that matter.

An entry is a pair of secrets and a report, by which the pair may exceed its budget. Nearly all pairs use their δ, but
each in a few reports: the entries that matter are found in rounds. A program with some of them is a relaxation, whose
dual proves a bound; where its channel breaks δ, entries join.

What an optimum of a relaxation breaks says little of what binds in the end. So entries join first that are broken a
tenth of the way from a private channel to that optimum; those next to the optimum itself only where there are few of
them. For the same reason early programs are solved roughly, whose solutions are central.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dxopt.model.problem import Problem
from dxopt.numerics.hockey_stick import bound_pairs, excesses
from dxopt.proofs.applied import AppliedReduction
from dxopt.solving.formulations.base import Compiled, Formulation
from dxopt.solving.formulations.extensions import WithDelta
from dxopt.solving.options import Options
from dxopt.solving.programs.program import ChannelSolution, LinearProgram, Rows
from dxopt.solving.reductions.folding import entry_orbits
from dxopt.solving.routes.running import FAR, solve_linear

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Entries = NDArray[np.int64]
_WORSE = 1e-6
"""The share of the tolerance by which a pair may exceed δ before entries of it join."""
_FINER = 100.0
"""Accuracies are multiplied by this times δ, if below 1: an excess costs as much of the channel as it is of δ."""
_FINEST = 1e-12
"""The finest accuracy of a program."""
_ROUGH = (1e-2, 1e-4)
"""Accuracies of the first program, and of those that follow while many entries join."""
_FEW_ENTRIES = 2000
"""Up to so many all are there at once."""
_SHARES = (0.1, 0.5, 1.0)
"""Distance from a private channel to the solution of a program within which entries are looked for."""
_MANY = 0.5
"""Beyond this share of new entries none is looked for farther out."""
_NEARLY = 0.02
"""With a smaller share of new entries the accuracy rises."""
_USED = 0.9
_CLOSE = 0.7
"""Of pairs that use so much of δ, entries next to exceeding join before programs are solved finely."""
_WHOLE = 0.1
"""Broken pairs join with all of their reports where that is no larger a share."""
_FAINT = 0.01
"""Else those reports may wait that exceed by less than this share of what is over δ, spread over all reports."""


def has_many_entries(problem: Problem) -> bool:
    """Tell whether there are too many entries for one program: they join in rounds, which need a private channel."""
    return int(_bound_pairs(problem).sum()) * problem.shape[1] > _FEW_ENTRIES


def solve_with_delta(
    problem: Problem, base: Formulation, solver: str, private: Array | None, options: Options
) -> tuple[Compiled, ChannelSolution]:
    """Solve with δ in rounds of programs, until the repair can do the rest; return the last one and its solution.

    `base` poses the problem without δ; `private` is a channel `(n, m)` that is private without δ, or None where all
    entries are there at once.
    """
    finest = max(_FINEST, 1e-4 * options.tolerance * min(1.0, _FINER * problem.delta))
    accuracies = [finest] if private is None else [*(max(finest, one) for one in _ROUGH), finest]
    step = 0
    whole = base.apply(problem)
    linear = solve_linear(whole, solver, options)
    symmetry = None if private is None else entry_orbits(whole.smaller, lambda: options.stop.requested)
    bound = _bound_pairs(problem)
    entries = _all_entries(problem, bound) if private is None else _first_entries(problem, bound)
    rounds = 0
    finished: tuple[Compiled, ChannelSolution] | None = None
    while True:
        # 1. a relaxation; one that is stopped proves next to nothing, the one before it does
        rounds += 1
        entries = entries if symmetry is None else symmetry.closed(entries)
        compiled = WithDelta(base, entries).apply(problem)
        program = LinearProgram.of(compiled.smaller, Rows.everywhere(compiled.smaller))
        if symmetry is None:
            found = linear(program, accuracies[step])
        else:
            folding = symmetry.folding(entries)
            found = folding.lift(linear(folding.apply(program), accuracies[step]))
        solution = ChannelSolution.read(compiled.smaller, found)
        if options.stop.requested and finished is not None:
            compiled, solution = finished
        if solution.channel is None or private is None or options.stop.requested:
            break
        finished = compiled, solution

        # 2. the entries that it breaks; none where it was solved finely is the end
        joined = entries
        for share in _SHARES:
            mixed = share * np.maximum(solution.channel, 0.0) + (1 - share) * private
            more = _broken_entries(problem, mixed, bound, _WORSE * options.tolerance, int(_WHOLE * len(entries)))
            joined = np.unique(np.concatenate([joined, more]), axis=0)
            if len(joined) > (1 + _MANY) * len(entries):
                break
        new = len(joined) - len(entries)
        if not new and step == len(accuracies) - 1:
            break
        # the first program only is as rough as that; the last accuracy has to wait until few entries join
        if not step or (new <= _NEARLY * len(entries) and step < len(accuracies) - 1):
            step += 1
            if step == len(accuracies) - 1:
                near = _nearly_broken_entries(problem, solution.channel, bound)
                joined = np.unique(np.concatenate([joined, near]), axis=0)
        entries = joined
    everything = int(bound.sum()) * problem.shape[1]
    note = f"{rounds} round{'s' if rounds > 1 else ''}; ordered pairs of secrets that are bound, in each report"
    record = AppliedReduction("lazy pairs", True, everything, len(entries), note)
    records = (record,) if symmetry is None else (symmetry.record(), record)
    return compiled, replace(solution, reductions=records)


def _bound_pairs(problem: Problem) -> Mask:
    """Return the pairs of secrets that are bound; those of large budgets are left to the repair."""
    return bound_pairs(problem.separations, problem.pairs) & (problem.budgets <= FAR)


def _all_entries(problem: Problem, bound: Mask) -> Entries:
    """Return the entries `(t, 3)` of all bound pairs in all reports."""
    return np.argwhere(np.repeat(bound[:, :, None], problem.shape[1], axis=2))


def _first_entries(problem: Problem, bound: Mask) -> Entries:
    """Return the entries to begin with: each pair in the report that costs its first secret least."""
    first, second = np.nonzero(bound)
    return np.stack([first, second, problem.losses.argmin(axis=1)[first]], axis=1)


def _broken_entries(problem: Problem, channel: Array, bound: Mask, allowed: float, whole: int) -> Entries:
    """Find entries `(t, 3)` of the pairs whose hockey-stick divergence exceeds δ by more than is allowed.

    These are all of their reports where that makes `whole` entries or fewer; else those reports that add to the
    divergence, without the ones that add next to nothing (`_FAINT`).
    """
    over = excesses(channel, problem.separations, problem.epsilon, bound) - problem.delta
    broken = over > allowed
    if np.count_nonzero(broken) * channel.shape[1] <= whole:
        return _all_entries(problem, broken)
    return _exceeding_entries(problem, channel, broken, 1.0, _FAINT * over / channel.shape[1])


def _nearly_broken_entries(problem: Problem, channel: Array, bound: Mask) -> Entries:
    """Return the entries next to exceeding, of pairs that use nearly all of their δ; they join before fine rounds."""
    used = excesses(channel, problem.separations, problem.epsilon, bound) > _USED * problem.delta
    return _exceeding_entries(problem, channel, used, _CLOSE, np.zeros(used.shape))


def _exceeding_entries(problem: Problem, channel: Array, pairs: Mask, share: float, least: Array) -> Entries:
    """Return the entries `(t, 3)` of some pairs with K[x, z] > share·e^{εd(x, x')} K[x', z] + least[x, x']."""
    found = [np.zeros((0, 3), dtype=np.int64)]
    for first in np.flatnonzero(pairs.any(axis=1)):
        second = np.flatnonzero(pairs[first])
        most = np.exp(problem.budgets[first, second])[:, None] * channel[second]
        pair, report = np.nonzero(channel[first] - share * most > least[first, second][:, None])
        found.append(np.stack([np.full(len(pair), first), second[pair], report], axis=1))
    return np.concatenate(found)
