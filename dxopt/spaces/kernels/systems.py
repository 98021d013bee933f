"""Choose the structured matrix Φ of a space by its structure tag."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import UnsupportedError
from dxopt.numerics.rounding import UNIT
from dxopt.spaces.distances import TRIANGLE_SLACK
from dxopt.spaces.kernels import ROOM, Circulant, Dense, Forest, Kronecker, Path, System, Toeplitz, least_eigenvalue
from dxopt.spaces.metrics import METRICS_ON_EARTH, Haversine
from dxopt.spaces.space import MetricSpace, Structure

DENSE_POINTS = 20_000
"""The most points of a space without structure."""


def system(space: MetricSpace, epsilon: float, room: float = ROOM) -> System:
    """Make Φ of a space with symmetric distances; `room` is the largest budget that it tells from a larger one.

    Raises
    ------
    UnsupportedError
        If the space has no structure and more points than a matrix in memory allows.
    """
    found = structured(space, epsilon, room)
    if found is not None:
        return found
    if len(space) > DENSE_POINTS:
        wrong = f"has {len(space):,} points and no structure to use"
        raise UnsupportedError("space", wrong, f"at most {DENSE_POINTS:,} go without")
    return Dense(_budgets(space.distances, epsilon), distance_error(space), room)


def structured(space: MetricSpace, epsilon: float, room: float = ROOM) -> System | None:
    """Make Φ by the structure of a space, or return None where it has none that helps."""
    # Axes with a single point change nothing. Lattices: one axis is a path; under d_1 Φ factors into paths; any other
    # norm leaves a Toeplitz matrix, with a bound on its eigenvalues where the lattice has a known one.
    structure = space.structure
    long = [axis for axis, size in enumerate(structure.shape) if size > 1]
    match structure.kind:
        case "path":
            return Path(_coordinates(space)[:, 0], epsilon, distance_error(space), room)
        case "tree":
            lengths = _budgets(structure.lengths, epsilon)
            return Forest(len(space), structure.edges, lengths, distance_error(space), room)
        case "product":
            factors = structure.factors
            return Kronecker([system(factor, epsilon, room / len(factors)) for factor in factors])
        case "lattice" if len(long) == 1:
            return Path(structure.ticks[long[0]], epsilon, distance_error(space), room)
        case "lattice" if len(long) > 1 and space.metric is not None and space.metric.name == "manhattan":
            ticks = structure.ticks
            return Kronecker([Path(tick, epsilon, distance_error(space), room / len(ticks)) for tick in ticks])
        case "lattice" if len(long) > 1 and space.metric is not None:
            least = least_eigenvalue(space.metric.name, len(long), epsilon * structure.spacing)
            return Toeplitz(space.row(index=0).reshape(structure.shape), epsilon, least, distance_error(space), room)
        case "torus":
            return Circulant(space.row(index=0).reshape(structure.shape), epsilon, distance_error(space), room)
    return None


def distance_error(space: MetricSpace) -> float:
    """Bound the relative error of distances against exact ones that obey the triangle inequality.

    Great-circle distances are exact up to rounding between the rounded points, as long as they stay below 90 degrees,
    where the arc sine is well conditioned.

    Raises
    ------
    UnsupportedError
        If none is known for the metric.
    """
    structure = space.structure
    if structure.kind == "product":
        # sums of distances are no less exact, relative, than the least exact of them, but for the rounding of the sum
        return max(distance_error(factor) for factor in structure.factors) + 4 * len(structure.factors) * UNIT
    # along a tree up to n lengths are added
    if structure.kind == "tree":
        return 4 * len(space) * UNIT
    # rounded coordinates are off by up to max(shape) units of one spacing, the distance of neighbours
    if structure.kind in ("lattice", "torus") and not _is_exact(structure):
        return 16 * (max(structure.shape) + 2) * UNIT
    # given distances break the triangle inequality by up to the slack; paths add up to n lengths
    if space.metric is None:
        return max(TRIANGLE_SLACK, 4 * len(space) * UNIT)
    if isinstance(space.metric, Haversine) and np.ptp(_coordinates(space), axis=0).sum() < 90:
        return 128 * UNIT
    if space.metric.name in ("traces", *METRICS_ON_EARTH):
        raise UnsupportedError("metric", f"{space.metric.name} is known only up to rounding", "use method: tight")
    return 4 * (8 + _coordinates(space).shape[1]) * UNIT


def _budgets(distances: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """Return εd, at most 1e300 where d is finite: an infinite budget would mean that nothing binds the two points."""
    with np.errstate(over="ignore"):
        budgets = epsilon * distances
    if budgets.max(initial=0.0) <= 1e300:
        return budgets
    return np.where(np.isinf(distances), np.inf, np.minimum(budgets, 1e300))


def _is_exact(structure: Structure) -> bool:
    """Return True if doubles hold the multiples of a lattice's spacing exactly: a whole number or a power of 2."""
    spacing = structure.spacing
    return bool(float(spacing).is_integer() and spacing * max(structure.shape) < 2**52) or np.frexp(spacing)[0] == 0.5


def _coordinates(space: MetricSpace) -> NDArray[np.float64]:
    if space.points is None:
        raise UnsupportedError("space", "has no coordinates", "build it with dx.line, dx.grid or dx.torus")
    return space.points
