"""What solvers of the whole linear program have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, ClassVar

import dxopt as dx
from benchmarks.contract import Candidate, Instance, Matrix, OptimalInstance
from benchmarks.program import Program, too_large


class Peer(Candidate[dx.Problem]):
    """Gets costs, budgets and the pairs that matter for nothing; writes its program and solves it on the clock.

    Attributes
    ----------
    package : str
        What it needs to be installed.
    """

    kinds = (OptimalInstance,)
    package: ClassVar[str]

    def refuses(self, instance: Instance[dx.Problem], question: dx.Problem) -> str | None:
        if find_spec(self.package) is None:
            return f"{self.package} is not installed"
        return too_large(question)

    def prepare(self, instance: Instance[dx.Problem], question: dx.Problem) -> Callable[[], Any]:
        program = Program.of(question)
        return lambda: self.answer(program)

    @abstractmethod
    def answer(self, program: Program) -> Matrix:
        """Return the channel, with multipliers where there are any."""
