"""dxopt: the whole call, proof of privacy included; and each of its solvers on its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

import dxopt as dx
from benchmarks.contract import (
    CANDIDATES,
    Candidate,
    Draws,
    DrawsInstance,
    Instance,
    OptimalInstance,
    Role,
    TightInstance,
)

_ROUND = re.compile(r"column generation, round (\d+):")


def solving(
    candidate: Candidate[Any], instance: Instance[Any], problem: dx.Problem, **how: Any
) -> Callable[[], dx.Report]:
    """Return a call of `dx.solve` within the limit of an instance, that counts the rounds of column generation."""
    if not isinstance(instance, OptimalInstance):
        raise TypeError(f"{type(instance).__name__} is no question about a problem")
    tolerance, limit = instance.tolerance, instance.limit

    def told(line: str) -> None:
        if found := _ROUND.search(line):
            candidate.rounds = int(found[1])

    def work() -> dx.Report:
        candidate.rounds = None
        return dx.solve(problem, tolerance=tolerance, time_limit=limit, progress=told, **how)

    return work


@CANDIDATES.register("dxopt")
class Dxopt(Candidate[Any]):
    kinds = (TightInstance, DrawsInstance, OptimalInstance)
    role: ClassVar[Role] = "dxopt"
    stops: ClassVar[bool] = True

    def refuses(self, instance: Instance[Any], question: dx.MetricSpace | dx.Problem) -> str | None:
        return None

    def prepare(self, instance: Instance[Any], question: dx.MetricSpace | dx.Problem) -> Callable[[], Any]:
        if isinstance(question, dx.Problem):
            return solving(self, instance, question)
        if not isinstance(instance, TightInstance):
            raise TypeError(f"{type(instance).__name__} is no question about a space")
        if not isinstance(instance, DrawsInstance):
            return lambda: dx.tight_constraints(question, instance.epsilon)
        mechanism, secrets = dx.tight_constraints(question, instance.epsilon), instance.secrets(len(question))
        return lambda: Draws(mechanism, secrets, mechanism.sample(index=secrets, size=instance.draws))


class Route(Candidate[dx.Problem]):
    """One solver of dxopt, with everything around it."""

    kinds = (OptimalInstance,)
    role: ClassVar[Role] = "route"
    stops: ClassVar[bool] = True
    solver: ClassVar[str]

    def refuses(self, instance: Instance[dx.Problem], question: dx.Problem) -> str | None:
        return None

    def prepare(self, instance: Instance[dx.Problem], question: dx.Problem) -> Callable[[], Any]:
        return solving(self, instance, question, method="optimal", solver=self.solver)


for _solver in ("clarabel", "columns", "highs"):
    CANDIDATES.register(f"dxopt-{_solver}")(type(f"Route_{_solver}", (Route,), {"solver": _solver}))
