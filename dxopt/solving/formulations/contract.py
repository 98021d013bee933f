"""Formulations: reductions of a problem to a channel program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SolveError
from dxopt.model.problem import Problem
from dxopt.numerics.partition import Partition
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.candidate import Candidate
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution


class Formulation(Protocol):
    """One way to pose a problem; docstrings have the sections Poses, Requires, Guarantees, Size, Reference."""

    def apply(self, problem: Problem) -> Compiled:
        """Pose a problem as a channel program."""
        ...

    def recover(self, compiled: Compiled, solution: ChannelSolution) -> Candidate:
        """Return the channel and the dual of the problem, given a solution of its program."""
        ...


@dataclass(frozen=True, eq=False)
class Compiled:
    """A channel program on the classes of points to be reported alike, its costs shifted and scaled.

    A value v of the program is the value `offset + sign · scale · v` of the problem, with the objective's sign.

    Attributes
    ----------
    smaller : ChannelProgram
    problem : Problem
    formulation : Formulation
    partition : Partition
    offset : float
    scale : float
    shift : (k,) array
        What was taken off each row of the costs.
    """

    smaller: ChannelProgram
    problem: Problem
    formulation: Formulation
    partition: Partition
    offset: float
    scale: float
    shift: NDArray[np.float64]

    @property
    def records(self) -> tuple[AppliedReduction, ...]:
        """Describe what the classes save."""
        points = len(self.partition.index)
        classes = self.partition.size
        return (AppliedReduction("merged points", True, points, classes, "points at distance 0"),)

    def lift(self, solution: ChannelSolution) -> Candidate:
        """Return the candidate for the problem, with the reductions that changed a size."""
        candidate = self.formulation.recover(self, solution)
        records = (*self.records, *solution.reductions)
        return replace(candidate, reductions=tuple(one for one in records if one.before != one.after))

    def channel_of(self, solution: ChannelSolution) -> NDArray[np.float64]:
        """Return the channel `(n, m)` of the problem, given one of its program.

        Raises
        ------
        SolveError
            If the solver found none.
        """
        if solution.channel is None:
            raise SolveError(solution.message)
        return self.partition.expand(solution.channel)
