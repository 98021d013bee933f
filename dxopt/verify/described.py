"""What the arrays of a space say beside its distances: the entries of its kind and no others, which agree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.cells import require_positions
from dxopt.verify.files import Arrays, indices
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.metrics import (
    AGREEMENT,
    EARTH_RADIUS,
    KNOWN,
    NORMS,
    ON_EARTH,
    PARAMETERS,
    Measured,
    parameters_of,
    points_of,
    require_measured,
    require_triangles,
)
from dxopt.verify.verdict import Broken, Unproved

_ENTRIES = {
    "lattice": {"shape", "spacing", "metric"},
    "torus": {"shape", "spacing", "metric"},
    "product": {"factors"},
    "tree": {"edges", "lengths", "labels"},
    "points": {"points", "metric", "parameters", "labels"},
    "distances": {"distances", "labels"},
}
"""The arrays that a space of each kind has, beside those of factors and positions, and its unit."""
_LONGEST = 24
"""Letters of a unit."""
_MAY = {"unit", *(f"positions.{name}" for name in ("degrees", "outlines", "streets", "unit"))}


def require_described(arrays: Arrays, prefix: str = "space") -> str:
    """Return the unit of a space, blank where it has none; Broken unless its arrays are those of its kind, and agree.

    The unit is that of its metric, of its factors and of its positions, where these have some.
    """
    kind = _text(arrays, f"{prefix}.kind")
    if kind not in _ENTRIES:
        raise Broken(f"{prefix}.kind is {kind!r:.40}")
    # 1. the entries: factors are spaces themselves
    count = indices(arrays, f"{prefix}.factors", len(arrays)).item() if kind == "product" else 0
    units = {require_described(arrays, f"{prefix}.{index}") for index in range(count)}
    parts = tuple(f"{prefix}.{index}." for index in range(count))
    own = {
        key.removeprefix(f"{prefix}.")
        for key in arrays
        if key.startswith(f"{prefix}.") and not key.startswith(parts or "\0")
    } - {"kind"}
    wrong = (own ^ _ENTRIES[kind]) - _MAY - ({"points"} if kind == "distances" else set())
    if wrong:
        raise Broken(f"{prefix}: a space of {kind} with {', '.join(sorted(wrong))}, or without")
    if "labels" in own:
        labels = arrays[f"{prefix}.labels"]
        if len(set(labels.tolist())) < len(labels):
            raise Broken(f"{prefix}.labels are not different names")
        for key in {"points", "distances"} & own:
            if arrays[f"{prefix}.{key}"].ndim != 2 or len(arrays[f"{prefix}.{key}"]) != len(labels):
                raise Broken(f"{prefix}.{key} are not one row for each of {len(labels)} labels")
    # 2. the metric, and what it is measured by
    unit = _text(arrays, f"{prefix}.unit") if "unit" in own else ""
    if unit != unit.strip() or len(unit) > _LONGEST or not unit.isprintable() or unit[:1].isdecimal():
        raise Broken(f"{prefix}.unit is {unit!r:.40}, no word to stand after a number")
    metric = _text(arrays, f"{prefix}.metric") if "metric" in own else ""
    if kind in ("lattice", "torus") and metric not in NORMS:
        raise Broken(f"{prefix}.metric of a {kind} is {metric!r:.40}")
    if kind == "points":
        parameters = parameters_of(arrays, prefix)
        if metric in KNOWN and {*parameters} != {*PARAMETERS.get(metric, ())}:
            raise Broken(f"a {metric} metric has no parameters {sorted(parameters)}")
        if metric in ON_EARTH:
            if unit:
                raise Broken(f"{prefix}.unit is {unit!r}, but the metric has its own")
            unit = parameters["unit"]
    # 3. positions on the Earth: ways along roads may be in minutes, but not in miles where their ends are in km
    if places := {key for key in own if key.startswith("positions.")}:
        if not {"positions.degrees", "positions.unit"} <= places:
            raise Broken(f"{prefix}: there are {', '.join(sorted(places))} alone")
        located = _text(arrays, f"{prefix}.positions.unit")
        require_positions(arrays, prefix, located)
        units |= {located} if "points" in own or unit in EARTH_RADIUS else set()
    if unit and units - {"", unit}:
        raise Broken(f"{prefix}: distances in {unit!r}, but those of its parts in {', '.join(sorted(units))}")
    return unit or (units.pop() if len(units) == 1 and kind == "product" else "")


def require_distances(arrays: Arrays, distances: NDArray[np.float64], secret: Callable[[int], str]) -> str:
    """Check the triangle inequality, and that distances `(n, n)` are those of the space, to 1e-9 relative.

    Given distances without points count as given. Unproved where the metric is not derived here.
    """
    require_triangles(distances, secret)
    kind = str(arrays["space.kind"])
    if kind == "points":
        metric = str(arrays["space.metric"])
        points = points_of(arrays, len(distances), "space.points")
        measured = Measured(metric, parameters_of(arrays), points, points)
        require_measured(measured, distances, secret, lambda x: f"secret {secret(x)}")
        kind = f"points, {metric}"
    else:
        derived = Space.read(arrays).distances
        if derived.shape != distances.shape or not np.allclose(derived, distances, rtol=AGREEMENT, atol=0.0):
            raise Broken("the distances of its space are others")
        if kind == "distances" and "space.points" in arrays:
            raise Unproved("there are points, but their metric is not derived here")
    told = "given, not derived from any places" if kind == "distances" else f"those of the {kind}"
    return f"each secret is at 0 from itself; the triangle inequality holds; they are {told}"


def _text(arrays: Arrays, key: str) -> str:
    """Return a name among the arrays; Broken where it is none."""
    found = arrays.get(key, np.asarray(None))
    if found.dtype.kind != "U" or not str(found).strip():
        raise Broken(f"{key} is no name")
    return str(found)
