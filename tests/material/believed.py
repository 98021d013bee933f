"""Random problems with pairs of beliefs."""

from __future__ import annotations

import numpy as np

import dxopt as dx


def random_pairs(space: dx.MetricSpace, rng: np.random.Generator, count: int = 3) -> dx.BeliefPairs:
    """Beliefs with some zeros, at different distances."""
    size = len(space)

    def belief() -> np.ndarray:
        weights = rng.exponential(size=size) * (rng.random(size) < 0.7)
        weights[rng.integers(size)] += 1.0
        return weights / weights.sum()

    given = [(belief(), belief()) for _ in range(count)]
    return dx.BeliefPairs.of(space, given, distances=0.5 + rng.random(count))


def believed(seed: int, *, private: bool = False, objective: str = "expected_loss", size: int = 5) -> dx.Problem:
    """A few points in the plane, another number of reports, random losses, some below 0."""
    rng = np.random.default_rng(seed)
    space = dx.MetricSpace.from_points(rng.random((size, 2)), "euclidean")
    loss = rng.normal(size=(size, int(rng.integers(2, 6))))
    return dx.Problem(
        space,
        epsilon=0.5 + 2 * rng.random() if private else None,
        prior=rng.dirichlet(np.ones(size)),
        loss=loss,
        objective=objective,
        beliefs=random_pairs(space, rng).at(0.1 + rng.random()),
        name=f"believed {seed}",
    )


def trace() -> dx.Problem:
    """A walk of three steps between home and work."""
    state = dx.MetricSpace.from_distances([[0, 1], [1, 0]], labels=["home", "work"])
    pairs = dx.BeliefPairs.markov(state, 3, [[0.9, 0.1], [0.2, 0.8]])
    space = dx.product(state, state, state)
    return dx.Problem(space, epsilon=None, prior="uniform", beliefs=pairs.at("ln(3)"), name="trace")
