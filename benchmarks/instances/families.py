"""One way to register an optimal-mechanism family: a problem by size, at several sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

import dxopt as dx
from benchmarks.contract import FULL, INSTANCES, LIMIT, SCALE, SCALE_LARGE, TOLERANCE, OptimalInstance

Weights = Callable[[int], NDArray[np.float64]]
TAIL = 1.2
"""The exponent of heavy-tailed weights."""


def uniform(points: int) -> NDArray[np.float64]:
    """Return the same weight everywhere."""
    return np.ones(points)


def skewed(points: int) -> NDArray[np.float64]:
    """1 + (11 k mod 7): no symmetry is left."""
    return np.asarray(1 + (11 * np.arange(points)) % 7, dtype=np.float64)


def sparse(points: int) -> NDArray[np.float64]:
    """Return the same, and 0 at four points of five."""
    return np.where(np.arange(points) % 5 == 0, skewed(points), 0.0)


def asked(
    space: Callable[[int], dx.MetricSpace], epsilon: float, weights: Weights = skewed, loss: str = "distance"
) -> Callable[[int], dx.Problem]:
    """Return the problems on the spaces of a family."""

    def build(size: int) -> dx.Problem:
        secrets = space(size)
        prior = dx.Prior.from_weights(secrets, weights(len(secrets)), name=weights.__name__)
        return dx.Problem(secrets, epsilon=epsilon, prior=prior, loss=loss)

    return build


def register(
    family: str,
    about: str,
    build: Callable[[int], dx.Problem],
    sizes: Mapping[int, tuple[str, ...]],
    *,
    warm_up: tuple[int, int],
    limits: Mapping[int, float] | None = None,
    tolerances: Mapping[int, float] | None = None,
    missing: Callable[[], str | None] = lambda: None,
) -> None:
    """File `family-size` for each size, in its groups.

    Parameters
    ----------
    warm_up : two sizes
        The larger one is for instances that are no smaller, as dxopt has another way from some size on.
    """
    for size, groups in sizes.items():
        instance = OptimalInstance(
            about=about,
            family=family,
            build=build,
            size=size,
            small=warm_up[size >= warm_up[1]],
            groups=groups,
            limit=(limits or {}).get(size, LIMIT),
            tolerance=(tolerances or {}).get(size, TOLERANCE),
            missing=missing,
        )
        INSTANCES.register(f"{family}-{size}")(instance)


def full(*sizes: int) -> dict[int, tuple[str, ...]]:
    """Sizes that run in the full benchmark only."""
    return dict.fromkeys(sizes, (FULL,))


def scale(*sizes: int, large: tuple[int, ...] = ()) -> dict[int, tuple[str, ...]]:
    """Sizes of the table of scale; the large ones take minutes to hours."""
    return {**dict.fromkeys(sizes, (SCALE, FULL)), **dict.fromkeys(large, (SCALE_LARGE, FULL))}


def heavy(points: int) -> NDArray[np.float64]:
    """Pareto weights: few places have most; always the same ones."""
    return np.random.default_rng(points).pareto(TAIL, points) + 0.05
