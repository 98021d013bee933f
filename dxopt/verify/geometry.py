"""Whether distances obey the triangle inequality, and are those of the points; whether these are a lattice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.files import TABLE, Arrays, read_arrays
from dxopt.verify.folder import Result
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.metrics import (
    AGREEMENT,
    GIVEN,
    KNOWN,
    NORMS,
    ON_EARTH,
    PARAMETERS,
    Measured,
    Points,
    parameters_of,
    ticks,
)
from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]


def check_distances(result: Result) -> str:
    """0 on the diagonal, the triangle inequality up to 1e-12, relative and of the largest finite one.

    Where there are points, they are those of the points under the metric that problem.yaml names, up to 1e-9
    relative, and points of a lattice lie where report.json has them. Unproved where the metric is not derived here.
    """
    require_triangles(result.distances, result.secret)
    return "; ".join(["each secret is at 0 from itself", "the triangle inequality holds", *_check_points(result)])


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


def _check_points(result: Result) -> list[str]:
    """What holds of the points and their distances, in words; nothing where there are none."""
    described = result.described.get("space")
    if not isinstance(described, dict):
        raise Broken("problem.yaml does not describe the space")
    metric = described.get("metric")
    _check_unit(result, described)
    if "space.kind" in result.mechanism:
        points = Space.read(result.mechanism).points if _has_numbers(result.mechanism) else None
        if points is not None:
            check_placed(result, points)
        check_described(result, result.mechanism)
        if str(result.mechanism["space.kind"]) in ("product", "tree", "distances") and metric != GIVEN:
            raise Unproved(f"there are no points, from which {metric!r} distances would follow")
        return [f"they are those of the {result.mechanism['space.kind']} in mechanism.npz"]
    if "points" not in result.mechanism:
        if metric != GIVEN or described.get("structure") in ("path", "lattice", "torus"):
            raise Unproved(f"there are no points, from which {metric!r} distances would follow")
        return []
    points = _points(result.mechanism, result.size)
    if points.dtype.kind in "fiu":
        check_placed(result, points.astype(np.float64))
    return [_check_metric(result, metric, points)]


def _check_unit(result: Result, described: Mapping[str, Any]) -> None:
    """Broken where distances on the Earth are said to be in another unit than that in which they are checked."""
    if described.get("metric") not in ON_EARTH:
        return
    keys = (key for key in ("positions.unit", "space.positions.unit") if key in result.mechanism)
    checked = next((str(result.mechanism[key]) for key in keys), None)
    units = result.summary.get("units")
    reported = units.get("distance") if isinstance(units, dict) else None
    told = {"problem.yaml": described.get("unit"), "report.json": reported}
    for file, unit in told.items():
        if checked is not None and unit not in (None, "", checked):
            raise Broken(f"{file}: distances are said to be in {unit!r}, but are in {checked!r}")


def _has_numbers(arrays: Arrays) -> bool:
    """Whether points, if there are any, are numbers, and not other values."""
    return "space.points" not in arrays or arrays["space.points"].dtype.kind in "fiu"


def _points(arrays: Arrays, size: int, key: str = "points") -> Points:
    """The points `(n, k)`, numbers or other values; Broken where they are not that."""
    points = arrays[key]
    if points.dtype.kind not in "fiuUb" or points.ndim != 2 or len(points) != size:
        raise Broken(f"{key} is an array {points.shape} of {points.dtype}")
    return points


def _check_metric(result: Result, metric: object, points: Points) -> str:
    """That distances are those of the points, in words; Unproved where the metric is not derived from points."""
    found = _require(result, _measured(result, metric, points, points), result.distances)
    return f"they are the {found} ones of the points"


def _measured(result: Result, metric: object, points: Points, others: Points) -> list[Measured]:
    """Points under the metric of problem.yaml; under all that suit them where that is lost, or the norm of a torus.

    The name of a metric is lost in a result that was loaded and saved again; its points are not.
    """
    parameters = _parameters(result)
    wrapped = result.described["space"].get("structure") == "torus"
    found = []
    if wrapped:
        around = _around(result, points)
        found = [Measured(norm, {}, points, others, around) for norm in NORMS]
    if metric == "wrapped" and wrapped:
        return found
    if metric != GIVEN:
        return [Measured(metric, parameters, points, others)]
    for one in KNOWN:
        try:
            found.append(Measured(one, parameters, points, others))
        except (Broken, Unproved):
            continue
    return found


def _require(result: Result, candidates: list[Measured], claimed: Array) -> str:
    """The metric, of some, whose distances `(n, m)` are claimed; Broken, or Unproved where there is a choice."""
    broken = None
    for measured in candidates:
        broken = _contradiction(result, measured, claimed)
        if broken is None:
            return measured.metric
    if broken is not None and len(candidates) == 1:
        raise Broken(broken)
    raise Unproved("there are points, but the distances are those of no metric that is derived from points")


def _contradiction(result: Result, measured: Measured, claimed: Array) -> str | None:
    """Where a claimed distance `(n, m)` is not that of the points, in words."""
    for x, row in enumerate(claimed):
        bad = measured.off(x, row)
        if len(bad):
            other = int(bad[0])
            square = claimed is result.distances
            there = f"secret {result.secret(other)}" if square else f"report {result.report(other)}"
            return (
                f"from secret {result.secret(x)} to {there} it is {row[other]:.17g}, "
                f"but the {measured.metric} one of the points is {measured.shown(x, other):.17g}"
            )
    return None


def check_losses_to_reports(result: Result, name: str) -> None:
    """Losses by name are those of the points of secrets and reports; Unproved where there are no such points."""
    arrays = result.mechanism
    metric = result.described["space"].get("metric")
    if name == "binary" or "report_points" not in arrays:
        raise Unproved(f"the {name} of reports that are not the secrets is not derived")
    points = _points(arrays, result.size) if "points" in arrays else Space.read(arrays).points
    if points is None:
        raise Unproved(f"there are no points, from which the {name} of reports would follow")
    others = _points(arrays, result.matrix.shape[1], "report_points")
    losses = result.all_losses
    if (losses < 0).any():
        raise Broken(f"the {name} is negative")
    measured = _measured(result, metric, points, others)
    _require(result, measured, np.sqrt(losses) if name == "squared" else losses)


def _around(result: Result, points: Points) -> Array:
    """The way round the torus of report.json along each axis."""
    structure = result.summary.get("structure")
    if not isinstance(structure, dict) or structure.get("kind") != "torus":
        raise Broken("problem.yaml: the metric is wrapped, but report.json describes no torus")
    around = np.array(result.shape, dtype=np.float64) * float(structure["spacing"])
    if points.ndim != 2 or around.shape != (points.shape[1],) or not (np.isfinite(around) & (around > 0)).all():
        raise Broken(f"report.json: a torus of shape {list(result.shape)} for points {points.shape}")
    return around


def _parameters(result: Result) -> dict[str, object]:
    """The parameters of the metric: the unit of positions, and what table.npz has where there is one."""
    found: dict[str, object] = {}
    if (result.folder / TABLE).is_file():
        found = parameters_of(read_arrays(result.folder, TABLE))
    if "positions.unit" in result.mechanism:
        found["unit"] = str(result.mechanism["positions.unit"])
    return found


def check_described(result: Result, arrays: Arrays) -> None:
    """The distances that a description of the space gives are those of the result, up to 1e-9 relative.

    Unproved where they are not derived here; Broken where the metric is not that of problem.yaml.
    """
    kind = str(arrays["space.kind"])
    described = result.described.get("space")
    metric = described.get("metric") if isinstance(described, dict) else None
    if kind in ("points", "lattice") and metric != str(arrays["space.metric"]):
        raise Broken(f"problem.yaml: the metric is {metric!r}, in the arrays of the space {arrays['space.metric']}")
    if kind == "torus" and metric != "wrapped":
        raise Broken(f"problem.yaml: the metric is {metric!r}, but the space is a torus")
    if kind == "points":
        points = _points(arrays, result.size, "space.points")
        parameters = parameters_of(arrays)
        if {*parameters} != {*PARAMETERS.get(str(metric), ())}:
            raise Broken(f"a {metric} metric has no parameters {sorted(parameters)}")
        _require(result, [Measured(metric, parameters, points, points)], result.distances)
        return
    distances = Space.read(arrays).distances
    known = result.distances
    if distances.shape != known.shape or not np.allclose(distances, known, rtol=AGREEMENT, atol=0.0):
        raise Broken("the distances of its space are not those of the result")


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
    off = np.argwhere(~(np.abs(points - placed) <= AGREEMENT * np.abs(placed)))
    if len(off):
        x, axis = off[0].tolist()
        raise Broken(
            f"coordinate {axis} of secret {result.secret(x)} is {points[x, axis]:.17g}, "
            f"on the lattice of report.json {placed[x, axis]:.17g}"
        )
