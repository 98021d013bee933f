"""Reductions: from a program or problem to a smaller one, and from its solution back; and chains of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from dxopt.proofs.applied import AppliedReduction
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution

Whole = TypeVar("Whole", contravariant=True)
Smaller = TypeVar("Smaller")


@dataclass(frozen=True, eq=False)
class Reduced(Generic[Smaller]):
    """Something smaller to solve, and the way back.

    Attributes
    ----------
    smaller : ChannelProgram, or problems
    lift : callable
        From a solution of the smaller one to one of the whole. It changes nothing in the value.
    records : tuple of AppliedReduction
        What was applied, whether it is exact, and what it saved or costs.
    """

    smaller: Smaller
    lift: Callable[[Any], Any]
    records: tuple[AppliedReduction, ...]


class Reduction(Protocol[Whole, Smaller]):
    """One way to make a program or a problem smaller."""

    def apply(self, whole: Whole) -> Reduced[Smaller] | str:
        """Return something smaller with the way back, or why there is nothing to gain."""
        ...


def reduce(
    program: ChannelProgram, *reductions: Reduction[ChannelProgram, ChannelProgram]
) -> Reduced[ChannelProgram]:
    """Apply reductions one after another, leaving out those that gain nothing; lift solutions in reverse order."""
    smaller = program
    applied: list[Reduced[ChannelProgram]] = []
    for reduction in reductions:
        found = reduction.apply(smaller)
        if isinstance(found, Reduced):
            applied.append(found)
            smaller = found.smaller
    records = tuple(record for found in applied for record in found.records)

    def lift(solution: ChannelSolution) -> ChannelSolution:
        for found in reversed(applied):
            solution = found.lift(solution)
        return replace(solution, reductions=(*records, *solution.reductions))

    return Reduced(smaller, lift, records)
