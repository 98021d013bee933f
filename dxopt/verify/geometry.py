"""Whether distances obey the triangle inequality, and are those of the points; whether these are a lattice."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.files import number, numbers
from dxopt.verify.folder import Result
from dxopt.verify.verdict import Broken

Array = NDArray[np.float64]
_AGREEMENT = 1e-9


def _euclidean(apart: Array) -> Array:
    """The norm of the last axis, by ratios, as squares of large or small numbers are out of range."""
    scale = apart.max(axis=-1)
    ratio = apart / np.where(scale > 0, scale, 1.0)[..., None]
    return scale * np.sqrt((ratio**2).sum(axis=-1))


METRICS: dict[str, Callable[[Array], Array]] = {
    "euclidean": _euclidean,
    "manhattan": lambda apart: apart.sum(axis=-1),
    "chebyshev": lambda apart: apart.max(axis=-1),
}


def check_distances(result: Result) -> str:
    """0 on the diagonal, the triangle inequality up to 1e-12, relative and of the largest finite one.

    Where problem.yaml claims that they are those of the points under a norm, they are, up to 1e-9 relative; and
    points of a lattice lie where report.json has them.
    """
    distances = result.distances
    wrong = np.flatnonzero(distances.diagonal())
    if len(wrong):
        raise Broken(f"secret {result.secret(int(wrong[0]))} is {distances[wrong[0], wrong[0]]:g} from itself")
    largest = float(np.max(distances, where=np.isfinite(distances), initial=0.0))
    for via in range(len(distances)):
        detour = distances[:, via, None] + distances[None, via, :]
        bad = np.argwhere(distances > detour * (1 + 1e-12) + 1e-12 * largest)
        if len(bad):
            x, other = bad[0].tolist()
            raise Broken(
                f"from secret {result.secret(x)} to {result.secret(other)} it is {distances[x, other]:.17g}, "
                f"but {detour[x, other]:.17g} by way of {result.secret(via)}"
            )
    return "; ".join(["0 on the diagonal", "the triangle inequality holds", *_check_points(result)])


def _check_points(result: Result) -> list[str]:
    """What holds of the points and their distances, in words; nothing where there are none."""
    space = result.described.get("space")
    points = _points(result)
    if points is None:
        return []
    check_placed(result, points)
    metric = space.get("metric") if isinstance(space, dict) else None
    if metric not in METRICS:
        return []
    for x, point in enumerate(points):
        measured = METRICS[metric](np.abs(points - point))
        bad = np.flatnonzero(~(np.abs(measured - result.distances[x]) <= _AGREEMENT * measured))
        if len(bad):
            other = int(bad[0])
            raise Broken(
                f"from secret {result.secret(x)} to {result.secret(other)} it is {result.distances[x, other]:.17g}, "
                f"but the {metric} one of the points is {measured[other]:.17g}"
            )
    return [f"the {metric} ones of the points"]


def _points(result: Result) -> Array | None:
    """The coordinates `(n, k)`, where there are any."""
    arrays = result.mechanism
    if str(arrays.get("space.kind")) == "lattice":
        return ticks(result.size, arrays["space.shape"].tolist(), number(arrays, "space.spacing"))
    key = "points" if "points" in arrays else "space.points"
    if key not in arrays or arrays[key].dtype.kind not in "fiu" or arrays[key].ndim != 2:
        return None
    return numbers(arrays, key, result.size, None)


def ticks(size: int, shape: Sequence[int], spacing: float) -> Array:
    """The points `(n, k)` of a lattice, row by row."""
    if math.prod(shape) != size:
        raise Broken(f"a lattice of shape {shape} has not {size} points")
    return np.stack(np.unravel_index(np.arange(size), shape), axis=1).astype(np.float64) * float(spacing)


def check_placed(result: Result, points: Array) -> None:
    """Points of a lattice, torus or path lie where report.json has them; steps of a path of spacing 1 may differ."""
    structure = result.summary.get("structure")
    if not isinstance(structure, dict):
        raise Broken("report.json: structure is no object")
    shape = structure.get("shape")
    spacing = structure.get("spacing")
    kind = structure.get("kind")
    if kind not in ("lattice", "torus", "path") or (kind == "path" and spacing == 1):
        return
    if not isinstance(shape, list) or not isinstance(spacing, float | int):
        raise Broken(f"report.json: a lattice of shape {shape} and spacing {spacing}")
    placed = ticks(result.size, shape, spacing)
    off = np.argwhere(~(np.abs(points - placed) <= _AGREEMENT * np.abs(placed)))
    if len(off):
        x, axis = off[0].tolist()
        raise Broken(
            f"coordinate {axis} of secret {result.secret(x)} is {points[x, axis]:.17g}, "
            f"on the lattice of report.json {placed[x, axis]:.17g}"
        )
