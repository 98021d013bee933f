"""dxopt: the whole call, proof of privacy included; and each of its solvers on its own."""

from __future__ import annotations

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


def tolerance_of(instance: Instance[Any]) -> float:
    """What an instance about an optimal mechanism asks for."""
    if not isinstance(instance, OptimalInstance):
        raise TypeError(f"{type(instance).__name__} is no question about a problem")
    return instance.tolerance


@CANDIDATES.register("dxopt")
class Dxopt(Candidate[Any]):
    kinds = (TightInstance, DrawsInstance, OptimalInstance)
    role: ClassVar[Role] = "dxopt"

    def refuses(self, instance: Instance[Any], question: dx.MetricSpace | dx.Problem) -> str | None:
        return None

    def prepare(self, instance: Instance[Any], question: dx.MetricSpace | dx.Problem) -> Callable[[], Any]:
        if isinstance(question, dx.Problem):
            tolerance = tolerance_of(instance)
            return lambda: dx.solve(question, tolerance=tolerance)
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
    solver: ClassVar[str]

    def refuses(self, instance: Instance[dx.Problem], question: dx.Problem) -> str | None:
        return None

    def prepare(self, instance: Instance[dx.Problem], question: dx.Problem) -> Callable[[], Any]:
        tolerance = tolerance_of(instance)
        return lambda: dx.solve(question, method="optimal", solver=self.solver, tolerance=tolerance)


for _solver in ("clarabel", "columns", "highs"):
    CANDIDATES.register(f"dxopt-{_solver}")(type(f"Route_{_solver}", (Route,), {"solver": _solver}))
