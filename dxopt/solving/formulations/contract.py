"""What turns a problem into a program, and a program's solution into a channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SolveError
from dxopt.model.problem import Problem
from dxopt.numerics.partition import Partition
from dxopt.proofs.candidate import AppliedReduction, Candidate, Claim
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution


@dataclass(frozen=True, eq=False)
class Compiled:
    """A channel program on the classes of points to be reported alike, its costs shifted and scaled.

    A value v of the program is the value `offset + sign · scale · v` of the problem, with the objective's sign.

    Attributes
    ----------
    program : ChannelProgram
    problem : Problem
    partition : Partition
    offset : float
    scale : float
    shift : (k,) array
        What was taken off each row of the costs.
    """

    program: ChannelProgram
    problem: Problem
    partition: Partition
    offset: float
    scale: float
    shift: NDArray[np.float64]

    def channel_of(self, solution: ChannelSolution) -> NDArray[np.float64]:
        """The channel `(n, m)` of the problem from one of its program.

        Raises
        ------
        SolveError
            If the solver found none.
        """
        if solution.channel is None:
            raise SolveError(solution.message)
        return self.partition.expand(solution.channel)

    @property
    def merged(self) -> AppliedReduction:
        """What the classes save."""
        points = len(self.partition.index)
        classes = self.partition.size
        return AppliedReduction("merged points", True, points, classes, "points at distance 0")


class Formulation(Protocol):
    """One way to pose a problem; docstrings have the sections Poses, Requires, Guarantees, Size, Reference."""

    name: ClassVar[str]
    claim: ClassVar[Claim]

    def refuses(self, problem: Problem) -> str | None:
        """Why the problem cannot be posed this way, or None."""
        ...

    def compile(self, problem: Problem) -> Any:
        """The program, with what `recover` needs."""
        ...

    def recover(self, compiled: Any, solution: Any) -> Candidate:
        """The channel and dual of the problem from a solution of the program."""
        ...
