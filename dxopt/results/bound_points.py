"""Whether the distances of a result folder are those of its points, as `dx.load` requires."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError, SpecError
from dxopt.model.loss import Loss
from dxopt.model.losses import LOSSES
from dxopt.results.restoring import AGREEMENT
from dxopt.spaces.globe import OnEarth
from dxopt.spaces.lattices import torus
from dxopt.spaces.matrices import between
from dxopt.spaces.metrics import METRICS, Metric, NormalisedManhattan
from dxopt.spaces.positions import Positions
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
_LEAST = 2.0**-1070
_NORMS = ("euclidean", "manhattan", "chebyshev")


def check_distances(
    points: NDArray[Any], distances: Array, metric: str, found: Positions | None, structure: Mapping[str, Any]
) -> None:
    """Raise CertificateError unless distances are those of the points under the metric that is named.

    Where the name is lost, as in what was loaded and saved again, some metric must give those of lattices, paths,
    tori and places on the Earth. Other distances are taken as given, which `dxopt verify` lists as not re-proved.

    Parameters
    ----------
    points : (n, k) array
    distances : (n, n) array
    metric : str
        By problem.yaml.
    found : Positions or None
        The unit of distances on the Earth.
    structure : mapping
        Of report.json.
    """
    regular = structure.get("kind") in ("lattice", "path", "torus")
    if metric in METRICS:
        names = [metric]
    elif regular or found is not None or metric.strip().casefold() in METRICS:
        names = [*METRICS]
    else:
        return
    if structure.get("kind") == "torus":
        shape, spacing = structure["shape"], float(structure["spacing"])
        rings = (torus(shape, spacing=spacing, metric=norm).distances for norm in _NORMS)
        if any(_agree(distances, ring) for ring in rings):
            return
    if not any(_agrees(points, points, distances, name, found) for name in names):
        raise CertificateError(f"distances are not the {metric} ones of the points")


def check_placed(points: NDArray[Any] | None, size: int, structure: Mapping[str, Any]) -> None:
    """Raise CertificateError unless a shape fits the points, and those of lattices and tori lie on it."""
    kind, shape, spacing = (structure[key] for key in ("kind", "shape", "spacing"))
    if kind not in ("lattice", "torus", "path") and spacing != 1:
        raise CertificateError(f"structure has a spacing of {spacing:g}, but is {kind}")
    if kind not in ("lattice", "torus", "path", "product"):
        return
    if math.prod(shape) != size:
        raise CertificateError(f"structure of shape {shape} has not {size} points")
    if points is None or kind == "product" or (kind == "path" and spacing == 1):
        return
    placed = np.stack(np.unravel_index(np.arange(size), shape), axis=1) * float(spacing)
    if points.shape != placed.shape or not (np.abs(points - placed) <= AGREEMENT * placed).all():
        raise CertificateError(f"structure is no {kind} of spacing {spacing:g}")


def check_loss(name: str, losses: Array, space: MetricSpace) -> None:
    """Raise CertificateError unless losses `(n, n)` of secrets as reports are what their name defines."""
    if name not in LOSSES:
        return
    known = Loss.of(name, space).rows(np.arange(len(space)))
    if losses.shape != known.shape:
        raise CertificateError(f"loss has shape {losses.shape}, not {known.shape}")
    if not _agree(losses, known):
        raise CertificateError(f"loss is not the {name}")


def check_loss_elsewhere(
    name: str, losses: Array, points: NDArray[Any], others: NDArray[Any], metric: str, found: Positions | None
) -> None:
    """Raise CertificateError unless losses `(n, m)` to reports at other points are what their name defines.

    Under a metric that is not registered they are taken as given.
    """
    if name in ("distance", "squared") and metric in METRICS:
        power = 2 if name == "squared" else 1
        if not _agrees(points, others, losses, metric, found, power):
            raise CertificateError(f"loss is not the {name} of the reports")


def _agrees(
    points: NDArray[Any], others: NDArray[Any], claimed: Array, name: str, found: Positions | None, power: int = 1
) -> bool:
    """Whether numbers `(n, m)` are distances of points under a metric, or their squares.

    Of the normalised metric they may be so up to the diameter of a record, which is not among the arrays.
    """
    metric: Metric = METRICS.get(name)()
    if isinstance(metric, OnEarth) and found is not None:
        metric = type(metric)(found.unit)
    try:
        computed = between(points, others, metric.prepare(points))
    except SpecError:
        return False
    with np.errstate(over="ignore"):
        computed = computed**power
    if isinstance(metric, NormalisedManhattan) and computed.any():
        computed = computed * (claimed.max() / computed.max())
    return _agree(claimed, computed)


def _agree(claimed: Array, known: Array) -> bool:
    """Whether numbers are known ones, infinite ones included, and subnormal ones up to their last digits."""
    if claimed.shape != known.shape:
        return False
    with np.errstate(invalid="ignore"):
        return bool(((claimed == known) | (np.abs(claimed - known) <= AGREEMENT * known + _LEAST)).all())
