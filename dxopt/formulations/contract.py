"""What turns a problem into a program, and a program's solution into a channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.problem import Problem
from dxopt.program import Dual

Claim = Literal["exact", "bound", "valid"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A channel `(n, m)` that is still to be repaired and proven, and the dual that bounds it, if any.

    `claim` is what theory promises of it: the optimum ("exact") or only a private channel ("valid").
    """

    channel: NDArray[np.float64]
    dual: Dual | None
    claim: Claim


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
