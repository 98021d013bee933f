"""Small random problems of every kind that is accepted."""

from __future__ import annotations

import numpy as np

import dxopt as dx

KINDS = ("euclidean", "symmetric", "asymmetric", "extended", "pseudo", "one-way")


def space_of(kind: str, size: int, generator: np.random.Generator) -> dx.MetricSpace:
    """A space of `size` points; all but the Euclidean ones are closures of random lengths."""
    if kind == "euclidean":
        return dx.MetricSpace.from_points(generator.random((size, 2)) * 3)
    lengths = generator.random((size, size)) * 2 + 0.05
    if kind in ("symmetric", "pseudo"):
        lengths = np.minimum(lengths, lengths.T)
    if kind in ("extended", "one-way"):
        lengths[generator.random((size, size)) < 0.5] = np.inf
    if kind == "pseudo":
        lengths[0, 1] = lengths[1, 0] = 0.0
    if kind == "one-way":
        lengths[0, 1] = 0.0
        lengths[1, 0] = np.inf
    np.fill_diagonal(lengths, 0.0)
    return dx.MetricSpace.from_distances(lengths, close=True)


def problem_of(kind: str, seed: int) -> dx.Problem:
    """2 to 6 secrets, 1 to 7 reports, losses of either sign, a prior with a zero now and then."""
    generator = np.random.default_rng([seed, KINDS.index(kind)])
    size = int(generator.integers(2, 7))
    space = space_of(kind, size, generator)
    masses = generator.random(size) * (generator.random(size) > 0.15) + 1e-3 * (seed % 3)
    prior = dx.Prior.from_weights(space, masses if masses.any() else np.ones(size))
    loss: np.ndarray | str = "binary"
    if seed % 4:
        loss = generator.random((size, int(generator.integers(1, 8)))) * 2 - 0.5 * (seed % 2)
    return dx.Problem(space, epsilon=float(generator.uniform(0.2, 3.0)), prior=prior, loss=loss)
