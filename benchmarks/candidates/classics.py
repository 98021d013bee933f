"""Mechanisms in closed form, as dxopt makes and proves them, as they are and followed by the best remap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import dxopt as dx
from benchmarks.contract import CANDIDATES, Candidate, Instance, Matrix, OptimalInstance, Role
from dxopt.mechanisms.classic.base import CLASSICS

MATRIX_POINTS = 5_000


class ClassicAsIs(Candidate[dx.Problem]):
    kinds = (OptimalInstance,)
    role: ClassVar[Role] = "classic"
    name: ClassVar[str]

    def refuses(self, instance: Instance[dx.Problem], question: dx.Problem) -> str | None:
        if len(question.space) > MATRIX_POINTS:
            return f"{len(question.space):,} points, and it is judged as a matrix"
        return CLASSICS.get(self.name)().refuses(question)

    def prepare(self, instance: Instance[dx.Problem], question: dx.Problem) -> Callable[[], Any]:
        return lambda: self.answer(question)

    def answer(self, problem: dx.Problem) -> Matrix:
        """Its channel."""
        return Matrix(dx.solve(problem, method=self.name).mechanism.matrix)


class ClassicWithRemap(ClassicAsIs):
    def answer(self, problem: dx.Problem) -> Matrix:
        """Its channel, remapped."""
        mechanism = dx.solve(problem, method=self.name).mechanism
        best = dx.evaluate.optimal_remap(mechanism, problem.prior, problem.loss)
        return Matrix(mechanism.remap(best, problem.reports).matrix)


for _name in CLASSICS:
    CANDIDATES.register(f"plain-{_name}")(type(f"Plain_{_name}", (ClassicAsIs,), {"name": _name}))
    CANDIDATES.register(f"classic-{_name}")(type(f"Classic_{_name}", (ClassicWithRemap,), {"name": _name}))
