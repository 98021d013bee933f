"""Results of many kinds to be verified."""

from __future__ import annotations

import math
from collections.abc import Callable

import dxopt as dx
from dxopt.model.prior_sets import PriorSet
from dxopt.verify import Outcome, Verdict
from tests.material.believed import believed, trace

PRIORS: dict[str, Callable[[], PriorSet]] = {
    "hull": lambda: dx.Prior.hull([points().prior, dx.Prior.uniform(points().space)]),
    "ball": lambda: dx.Prior.ball(points().prior, total_variation=0.15),
    "box": lambda: dx.Prior.box(around=points().prior, ratio=1.5),
    "fitting": lambda: dx.Prior.fitting(points().space, marginals=[[0.2, 0.3, 0.5], [0.1, 0.5, 0.4]]),
}

KINDS: dict[str, Callable[[], dx.Report]] = {
    "program": lambda: dx.solve(points()),
    "columns": lambda: dx.solve(points(), method="optimal", solver="columns"),
    "one way, infinite": lambda: dx.solve(one_way()),
    "rectangular": lambda: dx.solve(rectangular()),
    "merged points": lambda: dx.solve(merged()),
    "delta": lambda: dx.solve(points().but(delta=0.05)),
    "delta, adjacent": lambda: dx.solve(points().but(delta=0.05, pairs="adjacent")),
    "worst loss": lambda: dx.solve(points().but(objective="worst_loss")),
    "worst loss, delta": lambda: dx.solve(points().but(objective="worst_loss", delta=0.05)),
    "hull": lambda: dx.solve(points().but(prior=PRIORS["hull"]())),
    "ball": lambda: dx.solve(points().but(prior=PRIORS["ball"]())),
    "ball, delta": lambda: dx.solve(points().but(prior=PRIORS["ball"](), delta=0.05)),
    "box": lambda: dx.solve(points().but(prior=PRIORS["box"]())),
    "regret": lambda: dx.solve(points().but(prior=PRIORS["hull"](), objective="regret")),
    "fitting": lambda: dx.solve(points().but(prior=PRIORS["fitting"]())),
    "adversary": lambda: dx.solve(adversary(None)),
    "adversary, private": lambda: dx.solve(adversary(0.8)),
    "beliefs": lambda: dx.solve(believed(2)),
    "beliefs, worst loss": lambda: dx.solve(believed(3, private=True, objective="worst_loss")),
    "a trace": lambda: dx.solve(trace()),
    "spanner": lambda: dx.solve(points(), spanner=1.2),
    "exponential": lambda: dx.solve(points(), method="exponential"),
    "line": lambda: dx.solve(line("distance")),
    "line, binary": lambda: dx.solve(line("binary")),
    "squared": lambda: dx.solve(points().but(loss="squared")),
    "torus": lambda: dx.solve(
        dx.Problem(dx.torus((3, 4)), epsilon=1.0, prior=dx.Prior.uniform(dx.torus((3, 4))), loss="binary")
    ),
}


def failing(verdict: Verdict) -> dict[str, str]:
    return {check.name: check.detail for check in verdict.checks if check.status is Outcome.FAILS}


def points() -> dx.Problem:
    space = dx.grid((3, 3))
    return dx.Problem(space, epsilon=0.8, prior=dx.Prior.from_weights(space, range(1, 10)), name="points")


def one_way() -> dx.Problem:
    distances = [[0, 1, 0.5, 1.5], [2, 0, 2, 1], [math.inf, math.inf, 0, 1], [math.inf, math.inf, 1.5, 0]]
    space = dx.MetricSpace.from_distances(distances, labels=["a", "b", "c", "ç"])
    prior = dx.Prior.from_weights(space, [1, 2, 3, 4])
    return dx.Problem(space, epsilon=0.7, prior=prior, loss="binary", name="one way")


def rectangular() -> dx.Problem:
    space = dx.MetricSpace.from_distances([[0, 1, 0], [2, 0, 2], [math.inf, math.inf, 0]], labels=["a", "b", "ç"])
    prior = dx.Prior.from_weights(space, [1, 2, 1e-300])
    return dx.Problem(space, epsilon=0.7, prior=prior, loss=[[1, 2.0], [2, -1], [0, 1]], name="rectangular")


def merged() -> dx.Problem:
    space = dx.MetricSpace.from_distances([[0, 0, 1, 3], [0, 0, 1, 3], [1, 1, 0, 2], [3, 3, 2, 0]])
    return dx.Problem(space, epsilon=1.0, prior=dx.Prior.from_weights(space, [1, 2, 3, 0]), name="merged")


def line(loss: str) -> dx.Problem:
    space = dx.MetricSpace.from_points([[0.0], [0.5], [2.0], [2.25], [7.0]], "euclidean")
    prior = dx.Prior.from_weights(space, [1, 2, 3, 1, 2])
    return dx.Problem(space, epsilon=0.9, prior=prior, loss=loss, name="line")


def adversary(epsilon: float | None) -> dx.Problem:
    return points().but(objective=dx.AdversaryError(0.7 if epsilon is None else 0.89, "binary"), epsilon=epsilon)
