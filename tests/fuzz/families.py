"""Random cases: each follows from a seed and a number alone."""

from __future__ import annotations

import numpy as np

import dxopt as dx
from tests.fuzz import numbers
from tests.fuzz.calls import Call, plain
from tests.fuzz.case import Adversary, Case, Losses
from tests.fuzz.spaces import FAMILIES, FREQUENT

METHODS = (
    "optimal",
    "tight",
    "exponential",
    "geometric",
    "graph_exponential",
    "laplace",
    "planar_laplace",
    "randomised_response",
    "staircase",
    "truncated_exponential",
)
SOLVERS = ("clarabel", "highs", "columns")
MOST = 8
SIZES = range(1, MOST + 1)
SIZE_SHARES = (0.06, 0.19, 0.24, 0.2, 0.13, 0.08, 0.05, 0.05)
"""Most spaces are small: they are quick, and nearly all that can go wrong goes wrong on them."""
_KINDS = [*FAMILIES, *FREQUENT]


def case_of(seed: int, number: int) -> Case:
    """The case of a number; the same whatever else is drawn."""
    draw = np.random.default_rng([seed, number])
    # 1. the space; how many points it has and how far they are apart is known once it is made
    family, space, made = _space(draw)
    size = len(made)
    finite = bool(np.isfinite(made.distances).all())
    # 2. how likely secrets are, and what reports cost
    weights = numbers.weights(draw, size)
    loss, points = _loss(draw, made.points, size, finite)
    # 3. what is wanted
    objective, epsilon = _objective(draw, loss, weights, made.distances, finite)
    delta = numbers.delta(draw) if epsilon is not None and draw.random() < 0.2 else 0.0
    pairs = "adjacent" if delta and draw.random() < 0.3 else "all"
    # 4. how it is found
    method, solver, spanner = _way(draw)
    tolerance = 1e-6 if draw.random() < 0.9 else float(draw.choice([1e-3, 1e-8]))
    without_prior = objective == "worst_loss" and draw.random() < 0.3
    return Case(
        family=family,
        space=space,
        weights=None if without_prior else plain(weights),
        epsilon=epsilon,
        loss=loss,
        points=points,
        objective=objective,
        delta=delta,
        pairs=pairs,
        method=method,
        solver=solver,
        tolerance=tolerance,
        spanner=spanner,
    )


def _space(draw: np.random.Generator) -> tuple[str, Call, dx.MetricSpace]:
    """A family, a space of it, and the space made; drawn again where there is no such space."""
    while True:
        family = str(draw.choice(_KINDS))
        space = FAMILIES[family](draw, int(draw.choice(SIZES, p=SIZE_SHARES)))
        try:
            return family, space, space.make()
        except dx.SpecError:
            continue


def _loss(
    draw: np.random.Generator, points: np.ndarray | None, size: int, finite: bool
) -> tuple[Losses, tuple[tuple[float, ...], ...] | None]:
    """A loss, and where its reports are if they are not the secrets."""
    kind = draw.random()
    if kind < 0.4:
        return str(draw.choice(["distance", "squared", "binary"] if finite else ["binary"])), None
    numeric = points is not None and np.issubdtype(points.dtype, np.number)
    if kind < 0.5 and numeric and finite:
        assert points is not None
        chosen = points[draw.integers(0, size, size=int(draw.integers(1, MOST + 3)))]
        moved = chosen * draw.uniform(0.9, 1.0, size=chosen.shape)
        return str(draw.choice(["distance", "squared"])), plain(moved)
    reports = size if draw.random() < 0.5 else int(draw.integers(1, MOST + 3))
    return plain(numbers.losses(draw, size, reports)), None


def _objective(
    draw: np.random.Generator, loss: Losses, weights: np.ndarray, distances: np.ndarray, finite: bool
) -> tuple[str | Adversary, float | None]:
    """What is wanted and at which level; an adversary's budget is a share of what a constant report loses."""
    epsilon = numbers.level(draw)
    kind = draw.random()
    if kind < 0.6:
        return "expected_loss", epsilon
    if kind < 0.8:
        return "worst_loss", epsilon
    size = len(weights)
    named = {"distance": distances, "squared": np.minimum(distances, 1e150) ** 2, "binary": 1.0 - np.eye(size)}
    matrix = named[loss] if isinstance(loss, str) else np.array(loss)
    prior = weights / weights.sum()
    with np.errstate(all="ignore"):
        constant = float(np.nan_to_num(prior @ matrix, posinf=1e6, neginf=-1e6).min())
        least = float(np.nan_to_num(prior @ matrix.min(axis=1), posinf=1e6, neginf=-1e6))
    share = draw.choice([0.0, 0.01, 0.3, 0.7, 0.95, 1.0, 1.5, draw.random()])
    budget = least + float(share) * (constant - least)
    guessed: Losses = "distance" if finite and draw.random() < 0.5 else "binary"
    if draw.random() < 0.3:
        guessed = plain(numbers.losses(draw, size, int(draw.integers(1, MOST + 1))))
    return Adversary(budget, guessed), None if draw.random() < 0.3 else epsilon


def _way(draw: np.random.Generator) -> tuple[str, str, float | None]:
    """Method, solver and spanner: mostly the automatic choice."""
    method = "auto" if draw.random() < 0.85 else str(draw.choice(METHODS))
    solver = "auto" if draw.random() < 0.85 else str(draw.choice(SOLVERS, p=[0.4, 0.3, 0.3]))
    wants = method in ("auto", "optimal") and solver != "columns" and draw.random() < 0.03
    return method, solver, float(draw.choice([1.0, 1.5, 3.0])) if wants else None
