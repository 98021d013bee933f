"""dxopt: the whole call, proof of privacy included."""

from __future__ import annotations

from collections.abc import Callable

import dxopt as dx
from benchmarks.contract import CANDIDATES, Answer, Candidate, Draws, DrawsInstance, Instance


@CANDIDATES.register("dxopt")
class Dxopt(Candidate):
    def refuses(self, instance: Instance, points: int) -> str | None:
        return None

    def prepare(self, instance: Instance, space: dx.MetricSpace) -> Callable[[], Answer]:
        if not isinstance(instance, DrawsInstance):
            return lambda: dx.tight_constraints(space, instance.epsilon)
        mechanism, secrets = dx.tight_constraints(space, instance.epsilon), instance.secrets(len(space))
        return lambda: Draws(mechanism, secrets, mechanism.sample(secrets, instance.draws))
