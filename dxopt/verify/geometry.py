"""Proofs that distances obey the triangle inequality, and are those of the space."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.files import Arrays
from dxopt.verify.folder import Result
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.metrics import (
    AGREEMENT,
    ON_EARTH,
    PARAMETERS,
    Measured,
    Points,
    parameters_of,
)
from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]


def check_distances(result: Result) -> str:
    """0 on the diagonal, the triangle inequality up to 1e-12, relative and of the largest finite one.

    They are those of the space in mechanism.npz, up to 1e-9 relative; given distances without points count as given.
    Unproved where the metric is not derived here.
    """
    require_triangles(result.distances, result.secret)
    _check_unit(result)
    kind = check_described(result, result.mechanism)
    if kind == "distances" and "space.points" in result.mechanism:
        raise Unproved("there are points, but the metric under which the distances are theirs is not derived here")
    return f"each secret is at 0 from itself; the triangle inequality holds; they are those of the {kind}"


def require_triangles(distances: Array, secret: Callable[[int], str]) -> None:
    """Broken unless distances `(n, n)` are 0 on the diagonal and obey the triangle inequality, up to 1e-12."""
    wrong = np.flatnonzero(distances.diagonal())
    if len(wrong):
        raise Broken(f"secret {secret(int(wrong[0]))} is {distances[wrong[0], wrong[0]]:g} from itself")
    if np.isnan(distances).any() or (distances < 0).any():
        raise Broken("some distance is negative or no number")
    largest = float(np.max(distances, where=np.isfinite(distances), initial=0.0))
    for via in range(len(distances)):
        detour = distances[:, via, None] + distances[None, via, :]
        bad = np.argwhere(distances > detour * (1 + 1e-12) + 1e-12 * largest)
        if len(bad):
            x, other = bad[0].tolist()
            raise Broken(
                f"from secret {secret(x)} to {secret(other)} it is {distances[x, other]:.17g}, "
                f"but {detour[x, other]:.17g} by way of {secret(via)}"
            )


def _check_unit(result: Result) -> None:
    """Broken where distances on the Earth are said to be in another unit than that in which they are checked."""
    arrays = result.mechanism
    if str(arrays["space.kind"]) != "points" or str(arrays["space.metric"]) not in ON_EARTH:
        return
    units = result.named.get("units")
    told = units.get("distance") if isinstance(units, dict) else None
    known = parameters_of(arrays).get("unit")
    if told not in ("", known):
        raise Broken(f"claims.json: distances are said to be in {told!r}, but are in {known!r}")


def _points(arrays: Arrays, size: int, key: str) -> Points:
    """The points `(n, k)`, numbers or other values; Broken where they are not that."""
    points = arrays[key]
    if points.dtype.kind not in "fiuUb" or points.ndim != 2 or len(points) != size:
        raise Broken(f"{key} is an array {points.shape} of {points.dtype}")
    return points


def require_measured(
    measured: Measured, claimed: Array, secret: Callable[[int], str], there: Callable[[int], str]
) -> None:
    """Check that claimed distances `(n, m)` are those of some points; Broken names the first that is not."""
    for x, row in enumerate(claimed):
        bad = measured.off(x, row)
        if len(bad):
            other = int(bad[0])
            raise Broken(
                f"from secret {secret(x)} to {there(other)} it is {row[other]:.17g}, "
                f"but the {measured.metric} one of the points is {measured.shown(x, other):.17g}"
            )


def check_losses_to_reports(result: Result, name: str) -> None:
    """Losses by name are those of the points of secrets and reports; Unproved where there are no such points."""
    arrays = result.mechanism
    if name == "binary" or "report_points" not in arrays:
        raise Unproved(f"the {name} of reports that are not the secrets is not derived")
    others = _points(arrays, result.matrix.shape[1], "report_points")
    if str(arrays["space.kind"]) == "points":
        points = _points(arrays, result.size, "space.points")
        measured = Measured(str(arrays["space.metric"]), parameters_of(arrays), points, others)
    else:
        space = Space.read(arrays)
        if space.points is None:
            raise Unproved(f"there are no points, from which the {name} of reports would follow")
        measured = Measured(space.metric, {}, space.points, others, space.around)
    losses = result.all_losses
    if (losses < 0).any():
        raise Broken(f"the {name} is negative")
    claimed = np.sqrt(losses) if name == "squared" else losses
    require_measured(measured, claimed, result.secret, lambda z: f"report {result.report(z)}")


def check_described(result: Result, arrays: Arrays) -> str:
    """The distances that a description of the space gives are those of the result, up to 1e-9 relative: its kind.

    Unproved where they are not derived here.
    """
    kind = str(arrays["space.kind"])
    if kind == "points":
        metric = str(arrays["space.metric"])
        points = _points(arrays, result.size, "space.points")
        parameters = parameters_of(arrays)
        if {*parameters} != {*PARAMETERS.get(metric, ())}:
            raise Broken(f"a {metric} metric has no parameters {sorted(parameters)}")
        measured = Measured(metric, parameters, points, points)
        require_measured(measured, result.distances, result.secret, lambda x: f"secret {result.secret(x)}")
        return f"points, {metric}"
    distances = Space.read(arrays).distances
    known = result.distances
    if distances.shape != known.shape or not np.allclose(distances, known, rtol=AGREEMENT, atol=0.0):
        raise Broken("the distances of its space are not those of the result")
    return kind
