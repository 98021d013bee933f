"""A space as a few arrays, and back: by its structure where it has one, by its points or distances otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError, SpecError
from dxopt.numerics.coerce import checked_count
from dxopt.runtime.archive import names_in
from dxopt.spaces.distances import TRIANGLE_SLACK, checked_matrix, metric_matrix
from dxopt.spaces.lattices import Wrapped, grid, torus
from dxopt.spaces.metrics import METRICS, Metric, OnEarth
from dxopt.spaces.positions import Positions, local_plane, on_sphere
from dxopt.spaces.products import product
from dxopt.spaces.space import MetricSpace

Arrays = dict[str, NDArray[Any]]
_AGAIN = "save it again"  # the advice in errors about arrays that contradict each other
_SAME_DISTANCE = 1e-9
"""Relative tolerance of a saved distance against that of the points; other libraries round cosines otherwise."""
SAME_PLACE = 1e-9
"""Largest distance between two unit vectors of one place: 6 mm on the Earth."""


def pack(space: MetricSpace, prefix: str = "space") -> Arrays:
    """Write a space as arrays for `unpack`; lattices take no memory, other structured spaces O(n)."""
    structure = space.structure
    metric = space.metric
    if structure.kind in ("lattice", "torus") and metric is not None:
        flat = metric.flat if isinstance(metric, Wrapped) else metric
        own = {"kind": structure.kind, "shape": structure.shape, "spacing": structure.spacing, "metric": flat.name}
    elif structure.kind == "product" and metric is None:
        own = {"kind": "product", "factors": len(structure.factors)}
        for index, factor in enumerate(structure.factors):
            own |= pack(factor, f"{prefix}.{index}")
    elif structure.kind == "tree":
        own = {"kind": "tree", "edges": structure.edges, "lengths": structure.lengths, "labels": list(space.labels)}
    elif space.points is not None and space.points.dtype.kind in "fU" and _is_registered(metric):
        own = {"kind": "points", "points": space.points, "metric": metric.name, "labels": list(space.labels)}
        own["parameters"] = json.dumps(asdict(metric))
    else:
        own = {"kind": "distances", "distances": space.distances, "labels": list(space.labels)}
        if space.points is not None:
            own["points"] = space.points.astype(str) if space.points.dtype == object else space.points
    # a metric on the Earth has the unit among its parameters
    if space.unit and getattr(metric, "unit", "") != space.unit:
        own["unit"] = space.unit
    if (found := _positions_to_save(space)) is not None:
        arrays = {key: getattr(found, key) for key in ("degrees", "outlines", "streets", "unit")}
        own |= {f"{prefix}.positions.{key}": array for key, array in arrays.items() if array is not None}
    # the arrays of factors and positions have the prefix already
    return {key if "." in key else f"{prefix}.{key}": np.asarray(value) for key, value in own.items()}


def are_same(one: MetricSpace, other: MetricSpace) -> bool:
    """Return True if two spaces have the same labels and distances, without a matrix where both have a structure."""
    if one is other:
        return True
    return not _differing(pack(one), pack(other))


def _differing(ours: Mapping[str, NDArray[Any]], theirs: Mapping[str, NDArray[Any]]) -> list[str]:
    """Return the names of arrays that only one of two spaces has, or that differ; NaN is equal to NaN."""

    def alike(one: NDArray[Any], other: NDArray[Any]) -> bool:
        return np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f")

    return [
        key for key in {**ours, **theirs} if key not in ours or key not in theirs or not alike(ours[key], theirs[key])
    ]


def _positions_to_save(space: MetricSpace) -> Positions | None:
    """Return the positions of a space; None where it has none, or its points and metric say the same."""
    found, metric = space.positions, space.metric
    if found is None or found.outlines is not None or found.streets is not None or not isinstance(metric, OnEarth):
        return found
    return None if found.unit == metric.unit and np.array_equal(found.degrees, np.asarray(space.points)) else found


def unpack(arrays: Mapping[str, NDArray[Any]], prefix: str = "space") -> MetricSpace:
    """Make the space that `pack` wrote; KeyError or SpecError unless it has these arrays, and no others."""
    space = _without_positions(arrays, prefix)
    if f"{prefix}.unit" in arrays:
        space = replace(space, unit=str(arrays[f"{prefix}.unit"]))
    places = f"{prefix}.positions"
    if f"{places}.degrees" in arrays:
        areas = arrays.get(f"{places}.outlines"), arrays.get(f"{places}.streets")
        found = Positions(arrays[f"{places}.degrees"], *areas, str(arrays[f"{places}.unit"]))
        _check_positions(space, found)
        space = replace(space, positions=found)
    own = {key: array for key, array in arrays.items() if key.startswith(f"{prefix}.")}
    if wrong := _differing(own, pack(space, prefix)):
        raise SpecError(wrong[0], "is not that of the space that the others make", _AGAIN)
    return space


def with_distances(space: MetricSpace, distances: NDArray[np.float64]) -> MetricSpace:
    """Return a space with saved distances, which proofs are about, in place of those of its points.

    CertificateError where they differ by more than rounding, SpecError where they are no metric.
    """
    if np.array_equal(space.distances, distances):
        return space
    fits = distances.shape == (len(space), len(space))
    if not fits or not np.allclose(space.distances, distances, rtol=_SAME_DISTANCE, atol=0.0):
        raise CertificateError("the saved distances are not those of the space")
    largest = float(distances.max(where=np.isfinite(distances), initial=0.0))
    metric_matrix(checked_matrix(distances), space.labels, close=False, slack=TRIANGLE_SLACK * largest)
    distances.flags.writeable = False
    return replace(space, given=distances)


def _check_positions(space: MetricSpace, found: Positions) -> None:
    """Raise SpecError unless positions are the points, in the unit of the space, or the points are their plane."""
    points, degrees = space.points, found.degrees
    if len(degrees) != len(space):
        raise SpecError("positions", f"are not {len(space)} locations", _AGAIN)
    if isinstance(space.metric, OnEarth) and found.unit != space.metric.unit:
        raise SpecError("positions", "contradict the points or their unit", _AGAIN)
    if points is None:
        return
    if points.shape != degrees.shape or points.dtype.kind not in "fiu":
        raise SpecError("positions", "are on the Earth, but the points are not", _AGAIN)
    # a longitude may be written a full turn away
    if (np.abs(points) <= (90, 360)).all() and np.abs(on_sphere(degrees) - on_sphere(points)).max() <= SAME_PLACE:
        return
    plane = local_plane(degrees, found.unit)
    if not (np.abs(points - plane) <= SAME_PLACE * np.abs(plane).max()).all():
        raise SpecError("positions", "contradict the points or their unit", _AGAIN)


def _without_positions(arrays: Mapping[str, NDArray[Any]], prefix: str) -> MetricSpace:
    """Make the space that arrays describe, by its kind; its unit and positions are left to `unpack`."""

    def of(key: str) -> NDArray[Any]:
        return arrays[f"{prefix}.{key}"]

    match str(of("kind")):
        case "lattice" | "torus" as kind:
            build = grid if kind == "lattice" else torus
            return build(of("shape").tolist(), spacing=float(of("spacing")), metric=str(of("metric")))
        case "product":
            count = checked_count("factors", of("factors").item())
            return product(*(unpack(arrays, f"{prefix}.{index}") for index in range(count)))
        case "tree":
            import networkx as nx

            graph = nx.Graph()
            # a forest may have any number of points
            size = len(arrays["matrix"]) if "matrix" in arrays and prefix == "space" else None
            names = dict(enumerate(names_in(arrays, f"{prefix}.labels", size)))
            graph.add_nodes_from(names.values())
            edges = zip(of("edges").tolist(), of("lengths").tolist(), strict=True)
            graph.add_weighted_edges_from((names[start], names[end], length) for (start, end), length in edges)
            return MetricSpace.from_graph(graph, weight="weight")
        case "points":
            metric = METRICS.get(str(of("metric")))(**json.loads(str(of("parameters"))))
            labels = names_in(arrays, f"{prefix}.labels", len(of("points")))
            return _evenly_spaced(MetricSpace.from_points(of("points"), metric, labels=labels))
        case kind if kind != "distances":
            raise SpecError("kind", f"is {kind!r:.40}", _AGAIN)
    labels = names_in(arrays, f"{prefix}.labels", len(of("distances")))
    space = MetricSpace.from_distances(of("distances"), labels=labels)
    points = arrays.get(f"{prefix}.points")
    if points is not None and (points.ndim != 2 or len(points) != len(space)):
        raise SpecError("points", f"have shape {points.shape} for {len(space)} secrets", _AGAIN)
    return space if points is None else replace(space, points=points)


def _evenly_spaced(space: MetricSpace) -> MetricSpace:
    """Give a path the spacing of its points where these are even and start at 0, as those of `line`."""
    if space.structure.kind != "path" or space.points is None or len(space) < 2:
        return space
    spacing = float(space.points[1, 0])
    even = np.array_equal(space.points[:, 0], np.arange(len(space)) * spacing)
    return replace(space, structure=replace(space.structure, spacing=spacing)) if even and spacing > 0 else space


def _is_registered(metric: Metric | None) -> TypeGuard[Any]:
    """Return True if a metric can be rebuilt from its name and parameters."""
    return metric is not None and metric.name in METRICS and type(metric) is METRICS.get(metric.name)
