"""What a result shows of where its points are, on a map or by their names: whether that contradicts the points.

A map in the plane is equirectangular: x = R cos(φ₀) (λ - λ₀) east and y = R (φ - φ₀) north, in radians, around the
middle (φ₀, λ₀) of the ranges of latitudes and longitudes; longitudes count from the first one, modulo 360.
"""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.files import Arrays, numbers
from dxopt.verify.folder import Result
from dxopt.verify.metrics import AGREEMENT, EARTH_RADIUS, ON_EARTH, cosine_of_degrees, on_sphere, ticks
from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_NUMBERS = re.compile(rf"{_NUMBER}|\({_NUMBER}(?:, {_NUMBER})+\)", re.IGNORECASE)
_FACTOR = re.compile(r"((?:\d+/)*space(?:\.\d+)+)\.labels")
_SHORTER = 1e-3
"""Lengths of roads are measured on other ellipsoids, and rounded."""


def check_places(result: Result) -> str:
    """Positions on the map are those of the points, and names that read as coordinates are as well."""
    arrays = result.mechanism
    points = coordinates(arrays, "points", "space.points")
    said = "there is no map"
    degrees = None
    start = next((start for start in ("", "space.") if f"{start}positions.degrees" in arrays), None)
    if start is not None:
        degrees = numbers(arrays, f"{start}positions.degrees", result.size, 2)
        said = _check_map(result, arrays, f"{start}positions", degrees, points)
    here = [array for array in (points, degrees, _indices(result)) if array is not None]
    reports = coordinates(arrays, "report_points")
    there = (
        here if result.summary.get("secrets_are_reports") else [array for array in (reports,) if array is not None]
    )
    for key, known in (("labels", here), ("space.labels", here), ("report_labels", there), ("reports", there)):
        if key in arrays:
            _check_names(key, arrays[key].tolist(), known)
    for key in arrays:
        # the factors of a product have names and points of their own
        if match := _FACTOR.fullmatch(key):
            own = coordinates(arrays, f"{match[1]}.points")
            _check_names(key, arrays[key].tolist(), [] if own is None else [own])
    return f"{said}; no name contradicts a point"


def coordinates(arrays: Arrays, *keys: str) -> Array | None:
    """The first of some arrays of coordinates that is there, if these are finite numbers."""
    found = next((arrays[key] for key in keys if key in arrays), None)
    if found is None or found.dtype.kind not in "fiu" or found.ndim != 2 or not np.isfinite(found).all():
        return None
    return found.astype(np.float64)


def _indices(result: Result) -> Array | None:
    """The indices `(n, k)` of the points of a lattice or torus, by which they are named."""
    structure = result.summary.get("structure")
    if not isinstance(structure, dict) or structure.get("kind") not in ("lattice", "torus"):
        return None
    return ticks(result.size, result.shape, 1.0)


def _check_map(result: Result, arrays: Arrays, key: str, degrees: Array, points: Array | None) -> str:
    """What holds of positions `(n, 2)` on the map, in words."""
    unit = str(arrays[f"{key}.unit"]) if f"{key}.unit" in arrays else None
    if unit not in EARTH_RADIUS:
        raise Broken(f"mechanism.npz: the unit of positions is {unit}")
    if f"{key}.outlines" in arrays:
        _check_outlines(result, degrees, numbers(arrays, f"{key}.outlines", result.size, None, 2))
    metric = (result.described.get("space") or {}).get("metric")
    directions = on_sphere(degrees)
    if points is None:
        return _check_ways(result, directions, EARTH_RADIUS[unit], unit)
    if _on_globe(points) and not (np.abs(on_sphere(points) - directions) > AGREEMENT).any():
        return "positions are the points"
    if metric in ON_EARTH:
        raise Broken("mechanism.npz: the positions on the map are not the points")
    plane = _plane(degrees, EARTH_RADIUS[unit])
    if points.shape != plane.shape or (np.abs(points - plane) > AGREEMENT * np.abs(plane).max()).any():
        raise Broken(
            f"mechanism.npz: the points are not the positions on the map, in {unit} in the plane around them"
        )
    return "points are the positions in the plane around them"


def _on_globe(points: Array) -> bool:
    """Whether they may be latitudes and longitudes in degrees."""
    return points.shape[1] == 2 and bool((np.abs(points) <= (90.0, 360.0)).all())


def _plane(degrees: Array, radius: float) -> Array:
    """The map `(n, 2)` in the plane, see the module."""
    latitude, longitude = degrees.T
    turns = np.floor((longitude - longitude[0] + 180.0) / 360.0)
    longitude = np.where(turns == 0, longitude, longitude - 360.0 * turns)
    middles = [0.5 * (float(values.min()) + float(values.max())) for values in (latitude, longitude)]
    shrunk = float(cosine_of_degrees(np.array([middles[0]]))[0])
    east = shrunk * (longitude - middles[1])
    return radius * math.pi / 180 * np.column_stack([east, latitude - middles[0]])


def _check_outlines(result: Result, degrees: Array, outlines: Array) -> None:
    """Each position is within the least box around the corners of its cell."""
    turned = outlines[..., 1] - 360.0 * np.floor((outlines[..., 1] - degrees[:, None, 1] + 180.0) / 360.0)
    for axis, corners in enumerate((outlines[..., 0], turned)):
        off = ~((corners.min(axis=1) <= degrees[:, axis]) & (degrees[:, axis] <= corners.max(axis=1)))
        if off.any():
            raise Broken(
                f"mechanism.npz: the position of secret {result.secret(int(off.argmax()))} is not in its cell"
            )


def _check_ways(result: Result, directions: Array, radius: float, unit: str) -> str:
    """No distance that was given, such as along roads, is shorter than the straight way through the Earth."""
    result.require_written()
    for x, row in enumerate(result.distances):
        straight = radius * np.sqrt(((directions - directions[x]) ** 2).sum(axis=1))
        near = np.flatnonzero(row < straight * (1 - _SHORTER))
        if len(near):
            raise Unproved(
                f"from secret {result.secret(x)} to {result.secret(int(near[0]))} the distance is {row[near[0]]:g}, "
                f"shorter than the straight way on the map, {straight[near[0]]:g} {unit}: it may be no length"
            )
    return "given distances are no shorter than straight ways on the map"


def _check_names(key: str, names: list[object], known: list[Array]) -> None:
    """Names that all read as coordinates are known ones; those of cells are whole numbers, in any order."""
    values = list(map(_read, names))
    if None in values or len({len(value) for value in values if value is not None}) != 1:
        return
    found = np.array(values, dtype=np.float64)
    fitting = [points for points in known if points.shape == found.shape]
    if not fitting or any((np.abs(found - points) <= AGREEMENT * np.abs(points)).all() for points in fitting):
        return
    whole = found.shape[1] > 1 and bool((found == np.floor(found)).all())
    if whole and not any((points == np.floor(points)).all() for points in fitting):
        return
    off = int(np.argwhere(np.abs(found - fitting[0]) > AGREEMENT * np.abs(fitting[0]))[0, 0])
    at = ", ".join(f"{value:.10g}" for value in fitting[0][off])
    raise Unproved(f"mechanism.npz: {key} may be names, but read as coordinates: {names[off]} is at {at}")


def _read(name: object) -> tuple[float, ...] | None:
    """The numbers that a name has, and nothing else; None where it has others."""
    text = str(name)
    if len(text) > 400 or not _NUMBERS.fullmatch(text):
        return None
    return tuple(map(float, text.strip("()").split(", ")))
