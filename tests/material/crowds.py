"""Problems on close points of several kinds, and the bound that a dual of their programs proves."""

from __future__ import annotations

import numpy as np

import dxopt as dx
from dxopt.proofs.duals import Dual
from dxopt.solving.programs.program import ChannelProgram

KINDS = ["crowd", "line", "one-way", "doubled", "skewed", "few reports"]


def crowd_problem(kind: str, size: int, epsilon: float, seed: int = 0) -> dx.Problem:
    """Return a problem on close points of one of the kinds."""
    rng = np.random.default_rng(seed)
    at = rng.normal(size=(size, 1 if kind == "line" else 2))
    if kind == "doubled":
        at[size // 2 :] = at[: size - size // 2]
    space = dx.MetricSpace.from_points(at)
    if kind == "one-way":
        height = rng.random(size)
        climb = space.distances + 0.3 * np.maximum(height[None, :] - height[:, None], 0.0)
        space = dx.MetricSpace.from_distances(climb)
    weights = rng.random(size) + (9.0 * (np.arange(size) == 3) * size if kind == "skewed" else 0.0)
    loss = space.distances[:, :: size // 5] if kind == "few reports" else space.distances
    return dx.Problem(space, epsilon=epsilon, prior=dx.Prior.from_weights(space, weights), loss=loss)


def program_of(problem: dx.Problem) -> ChannelProgram:
    return ChannelProgram(problem.costs, problem.epsilon * problem.space.distances)


def proven(program: ChannelProgram, dual: Dual) -> float:
    """Return the bound that a dual proves, computed from its definition alone."""
    residuals = program.costs - dual.prices[:, None]
    report, first, second, multipliers = dual.entries
    assert (multipliers >= 0).all()
    # λ times e^d v_second - v_first ≥ 0, scaled so that v_first has the coefficient e^-d
    factors = np.exp(-program.budgets[first, second])
    np.add.at(residuals, (first, report), multipliers * factors)
    np.add.at(residuals, (second, report), -multipliers)
    return float(dual.prices.sum() + np.minimum(residuals.min(axis=1), 0.0).sum())
