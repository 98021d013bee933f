"""Honest results of every kind, small ones, to be forged: name, and what saves one in a folder."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.model.loss import Reports
from dxopt.model.mechanism import MatrixMechanism
from dxopt.results.folder import Result
from dxopt.results.measures import MEASURES, Beliefs, learned, of_records
from dxopt.spaces.metrics import Haversine, NormalisedManhattan
from tests.material.believed import believed

SPACE = dx.grid((2, 3))
PRIOR = dx.Prior.from_weights(SPACE, [3, 1, 4, 1, 5, 9])
OTHERS = {"uniform": dx.Prior.uniform(SPACE), "rest": dx.Prior.from_weights(SPACE, [2, 2, 1, 0, 1, 1])}
DEGREES = [[45.50, -73.57], [45.51, -73.60], [45.53, -73.55], [45.47, -73.62], [45.52, -73.58]]
CITY = (45.50, -73.60, 45.53, -73.55)
YAML = """name: asked
space: {kind: grid, shape: [2, 3]}
epsilon: 0.8
prior: {kind: explicit, values: [0.1, 0.1, 0.2, 0.1, 0.2, 0.3]}
evaluate: [worst_loss, utility]
compare: [exponential]
"""


def problem(**changes: Any) -> dx.Problem:
    """On a grid of six points."""
    return dx.Problem(SPACE, **{"epsilon": 0.8, "prior": PRIOR, "name": "points", **changes})


def on(space: dx.MetricSpace, **changes: Any) -> dx.Problem:
    """On any space of few points, under weights without symmetries."""
    weights = 1 + (11 * np.arange(len(space))) % 7
    asked = {"epsilon": 0.7, "prior": dx.Prior.from_weights(space, weights), "loss": "distance", "name": "on"}
    return dx.Problem(space, **{**asked, **changes})


def _evenly(space: dx.MetricSpace) -> dx.Problem:
    return on(space, prior=dx.Prior.uniform(space))


def compared(asked: dx.Problem, methods: list[str], **options: Any) -> dx.Report:
    report = dx.solve(asked)
    return replace(report, comparison=dx.compare(asked, methods, reference=report, **options))


def _measured() -> dx.Report:
    report = dx.solve(problem())
    asked = (Beliefs("learns.within[0]", (0, 1, 4), False), Beliefs("learns.hiding[0]", (1, 1, 2, 3, 4, 3), True))
    evaluation = {name: MEASURES[name](report.mechanism, report.problem) for name in MEASURES}
    for beliefs in asked:
        evaluation |= learned(report.mechanism, report.problem, beliefs)
    return replace(report, evaluation=evaluation | of_records(report.mechanism, report.problem, 1000), beliefs=asked)


def _measured_relaxed() -> dx.Report:
    report = dx.solve(problem(delta=0.05))
    evaluation = {name: MEASURES[name](report.mechanism, report.problem) for name in MEASURES}
    return replace(report, evaluation=evaluation | of_records(report.mechanism, report.problem, 7))


def _implicit(asked: dx.Problem) -> dx.Report:
    """As where the matrix would not fit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dxopt.solving.routes.limits.WRITTEN_CELLS", 4)
        report = dx.solve(asked)
    assert not isinstance(report.mechanism, MatrixMechanism)
    return report


def _streets() -> dx.MetricSpace:
    graph = nx.Graph()
    for name, (latitude, longitude) in enumerate(DEGREES):
        graph.add_node(name, y=latitude, x=longitude)
    for start, end in ((0, 1), (1, 3), (0, 2), (2, 4), (4, 0)):
        graph.add_edge(start, end, length=3000.0 + 700 * (start + end))
    return dx.geo.roads(graph)


def _one_way() -> dx.MetricSpace:
    inf = math.inf
    return dx.MetricSpace.from_distances(
        [[0, 1, 0.5, 1.5], [2, 0, 2, 1], [inf, inf, 0, 1], [inf, inf, 1.5, 0]], labels=["a", "b", "c", "ç"]
    )


def _asked(folder: Path) -> Path:
    """By the command line, with a record of its input."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    file = folder.parent / "asked.yaml"
    file.write_text(YAML, encoding="utf-8")
    found = CliRunner().invoke(app, ["batch", str(file), "--output", str(folder)])
    assert found.exit_code == 0, found.output
    return folder


def _saved(make: Callable[[], Result]) -> Callable[[Path], Path]:
    return lambda folder: make().save(folder)


def _again(make: Callable[[], dx.Report]) -> Callable[[Path], Path]:
    """Saved, loaded, and saved again."""
    return lambda folder: dx.load(make().save(folder / "first")).save(folder / "again")


REPORTS: dict[str, Callable[[], Result]] = {
    "noise": lambda: compared(problem(), ["exponential", "geometric", "planar_laplace", "cloaking"], priors=OTHERS),
    "regular": lambda: compared(
        problem(loss="binary", epsilon=2.5, prior=OTHERS["uniform"]), ["exponential"], priors={"rest": OTHERS["rest"]}
    ),
    "irregular": lambda: compared(problem(loss="binary", epsilon=0.3), ["exponential"]),
    "relaxed": lambda: compared(problem(delta=0.05), ["exponential", "rate_distortion"], priors=OTHERS),
    "adjacent": lambda: dx.solve(problem(delta=0.05, pairs="adjacent")),
    "worst": lambda: compared(problem(objective="worst_loss"), ["exponential"]),
    "adversary": lambda: compared(problem(objective=dx.AdversaryError(0.75, "binary")), []),
    "unprotected": lambda: dx.solve(problem(objective=dx.AdversaryError(0.6, "binary"), epsilon=None)),
    "beliefs": lambda: dx.solve(believed(0, size=4)),
    "beliefs and privacy": lambda: dx.solve(believed(1, size=4, private=True, objective="worst_loss")),
    "measured": _measured,
    "measured, relaxed": _measured_relaxed,
    "squared": lambda: dx.solve(problem(loss="squared")),
    "own loss": lambda: dx.solve(problem(loss=SPACE.distances[:, :4] + 1)),
    "elsewhere": lambda: dx.solve(problem(loss="distance", reports=Reports.at([[0.5, 0.5], [0.5, 1.5], [1, 2]]))),
    "exponential": lambda: dx.solve(problem(), method="exponential"),
    "line": lambda: dx.solve(on(dx.line(5, step=2.0))),
    "uneven line": lambda: dx.solve(on(dx.MetricSpace.from_points([[0.0], [0.5], [2.0], [2.25], [7.0]]))),
    "kernel": lambda: _implicit(on(dx.line(6))),
    "kernel elsewhere": lambda: _implicit(
        on(
            dx.MetricSpace.from_points([[9.0], [5.0], [4.5], [1.0]]),
            epsilon=0.4,
            reports=Reports.at([[0.0], [4.0], [4.75], [8.0]]),
        )
    ),
    "kernel, own loss": lambda: _implicit(on(dx.line(5), loss=np.abs(np.arange(5)[:, None] - 1.5 * np.arange(4)))),
    "product": lambda: _implicit(_evenly(dx.grid((3, 4), metric="manhattan", spacing=0.5))),
    "product, written down": lambda: dx.solve(_evenly(dx.product(dx.line(2, step=1.5), dx.line(3)))),
    "product of parts": lambda: _implicit(
        _evenly(dx.product(dx.line(3), dx.torus((2, 2)), dx.MetricSpace.from_distances([[0, 1.5], [1.5, 0]])))
    ),
    "product of coordinates": lambda: _implicit(
        _evenly(dx.MetricSpace.from_points([[a, b] for a in range(2) for b in range(3)], "hamming"))
    ),
    "parts": lambda: dx.solve(
        on(dx.product(dx.line(2), dx.torus((2, 2)), dx.MetricSpace.from_distances([[0, 1.5], [1.5, 0]])))
    ),
    "torus": lambda: dx.solve(on(dx.torus((2, 3)), loss="binary")),
    "tree": lambda: dx.solve(on(dx.MetricSpace.from_graph(nx.star_graph(3)), loss="binary")),
    "graph": lambda: dx.solve(on(dx.MetricSpace.from_graph(nx.cycle_graph(5)))),
    "given": lambda: dx.solve(on(_one_way(), loss="binary")),
    "hamming": lambda: dx.solve(on(dx.MetricSpace.from_points([[0, 0], [0, 1], [1, 0], [2, 1]], "hamming"))),
    "words": lambda: dx.solve(on(dx.MetricSpace.from_points([["a", "b"], ["a", "c"], ["d", "b"]], "hamming"))),
    "discrete": lambda: dx.solve(on(dx.MetricSpace.from_points([[0.0], [1.0], [3.0]], "discrete"))),
    "normalised": lambda: dx.solve(
        on(dx.MetricSpace.from_points([[0.0, 1.0], [1.0, 3.0], [3.0, 2.0]], NormalisedManhattan(10.0)))
    ),
    "chebyshev": lambda: dx.solve(on(dx.MetricSpace.from_points([[0.0, 1.0], [1.0, 3.0], [3.0, 2.0]], "chebyshev"))),
    "places": lambda: dx.solve(on(dx.MetricSpace.from_points(DEGREES, "haversine"))),
    "miles": lambda: dx.solve(on(dx.MetricSpace.from_points(DEGREES, Haversine("mi")))),
    "cells": lambda: dx.solve(on(dx.geo.bounding_grid(*CITY, shape=(2, 2)))),
    "map": lambda: dx.solve(on(dx.geo.bounding_grid(*CITY, shape=(2, 2), project=True))),
    "map in metres": lambda: dx.solve(on(dx.geo.points(DEGREES, project=True, unit="m"), epsilon=7e-4)),
    "streets": lambda: dx.solve(on(_streets())),
    "level": lambda: dx.smallest_epsilon(problem(), 0.5, accuracy=1e-2),
    "frontier": lambda: dx.frontier(problem(), 0.5, 2.0, resolution=0.4),
    "budgets": lambda: dx.budget_frontier(
        problem(objective=dx.AdversaryError(1.0, "binary")), 0.75, 1.2, resolution=0.05
    ),
    "sweep": lambda: dx.sweep(problem(), [0.3, 1.0], ["exponential", "cloaking"]),
}
KINDS: dict[str, Callable[[Path], Path]] = {
    **{name: _saved(make) for name, make in REPORTS.items()},
    "places again": _again(lambda: dx.solve(on(dx.MetricSpace.from_points(DEGREES, "haversine")))),
    "map again": _again(lambda: dx.solve(on(dx.geo.points(DEGREES, project=True)))),
    "asked": _asked,
}
