"""Clarabel with constraints added as they are violated: what the most careful user would write."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.candidates.clarabel_full import solved
from benchmarks.candidates.peers import Peer
from benchmarks.contract import CANDIDATES, Array, Matrix, NoAnswer, Places
from benchmarks.program import Program, Triples

NEAR = 16
RELATIVE, ABSOLUTE = 1e-7, 1e-10
HARMLESS = 1e-8
ROUNDS = 100
FAR = 30.0
"""Pairs of a larger budget are left out: they are a matter of e^-30, and spoil the numerics."""


@CANDIDATES.register("clarabel-lazy")
class ClarabelLazy(Peer):
    """Starts from near pairs and those with the reported point; a round adds the worst violated pair of each entry.

    It ends when raising every violated entry would cost less than 1e-8 of the value. In the end it mixes in 1e-8 of
    the exponential mechanism, so that no entry is 0 or less.
    """

    package = "clarabel"

    def answer(self, program: Program) -> Matrix:
        program = without_far(program)
        triples = core(program)
        for self.rounds in range(1, ROUNDS + 1):
            channel, prices, multipliers = solved(program, triples, alone(program, triples))
            missing, cost = violated(program, channel)
            if cost <= HARMLESS * float((program.costs * channel).sum()):
                return Matrix(mixed(program, channel), program.dual(prices, triples, multipliers))
            triples = triples.joined(missing)
        raise NoAnswer(f"violations were left after {ROUNDS} rounds")


def without_far(program: Program) -> Program:
    """Return the program without its pairs of a large budget."""
    kept = program.budgets[program.first, program.second] <= FAR
    return replace(program, first=program.first[kept], second=program.second[kept])


def core(program: Program) -> Triples:
    """Every pair where a point has few; else each point with its 16 nearest, and with the point that is reported."""
    size, reports = program.costs.shape
    if len(program.first) <= NEAR * size:
        return program.everywhere
    lengths = np.full((size, size), np.inf)
    lengths[program.first, program.second] = program.budgets[program.first, program.second]
    radius = np.sort(lengths, axis=1)[:, min(NEAR, size) - 1]
    near = lengths[program.first, program.second] <= np.maximum(radius[program.first], radius[program.second])
    report = np.repeat(np.arange(reports), int(near.sum()))
    start = Triples(report, np.tile(program.first[near], reports), np.tile(program.second[near], reports))
    if reports != size:
        return start
    first, second = program.first[~near], program.second[~near]
    return start.joined(Triples(first, first, second)).joined(Triples(second, first, second))


def alone(program: Program, triples: Triples) -> Places:
    """Variables that no two constraints bind both ways, so that nothing implies that they are 0 or more."""
    size = len(program.costs)
    forth = (triples.report * size + triples.first) * size + triples.second
    back = (triples.report * size + triples.second) * size + triples.first
    bound = np.isin(forth, back)
    free = np.ones(program.costs.size, dtype=bool)
    free[triples.report[bound] * size + triples.first[bound]] = False
    return np.flatnonzero(free)


def violated(program: Program, channel: Array) -> tuple[Triples, float]:
    """Return the worst violated pair into each entry, and what raising all entries would cost."""
    factors = np.where(program.budgets <= FAR, np.exp(-program.budgets), 0.0)
    np.fill_diagonal(factors, 0.0)
    highest, source = np.zeros_like(channel), np.zeros(channel.shape, dtype=np.int64)
    for point, factor in enumerate(factors):
        pulled = factor[:, None] * channel[point]
        higher = pulled > highest
        highest[higher], source[higher] = pulled[higher], point
    second, report = np.nonzero(highest > channel * (1 + RELATIVE) + ABSOLUTE)
    raised = np.maximum(highest - channel, 0.0)
    cost = float((program.costs * raised).sum()) + float(raised.sum(axis=1).max()) * float(program.costs.sum())
    return Triples(report, source[second, report], second), cost if len(second) else 0.0


def mixed(program: Program, channel: Array) -> Array:
    """With a little of the exponential mechanism, rows summing to 1 as before."""
    if channel.shape[0] != channel.shape[1]:
        return channel
    kernel = np.exp(-program.budgets / 2)
    kernel /= kernel.sum(axis=1, keepdims=True)
    positive = np.maximum(channel, 0.0)
    return (1 - HARMLESS) * positive / positive.sum(axis=1, keepdims=True) + HARMLESS * kernel
