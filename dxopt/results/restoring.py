"""The space of a saved matrix, made again with its metric and structure.

A matrix is saved with all distances, which are what is proven. What they follow from is named by problem.yaml, or is
in table.npz: a space made of that is taken where it has the same labels, points and distances, and the distances
alone where none has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.results.files import DESCRIPTION, TABLE
from dxopt.runtime.archive import DAMAGED
from dxopt.runtime.reading import MOST_DESCRIPTION, content, is_file, read_arrays
from dxopt.spaces.archive import unpack
from dxopt.spaces.globe import METRICS_ON_EARTH, on_earth
from dxopt.spaces.lattices import LATTICE_METRICS, grid, line, torus
from dxopt.spaces.metrics import METRICS
from dxopt.spaces.space import MetricSpace

GIVEN = "given distances"
"""The metric where none computes the distances."""
AGREEMENT = 1e-9
"""How far a distance may be from that of the points, relative; other libraries round cosines otherwise."""


def restored(folder: Path, plain: MetricSpace, structure: Mapping[str, Any]) -> MetricSpace:
    """A space that has the distances of `plain`, and the metric and structure that they follow from where it can.

    Parameters
    ----------
    folder : Path
        A result folder.
    plain : MetricSpace
        With the labels, distances and, where there are any, points that were saved.
    structure : dict
        `kind`, `shape` and `spacing`, as report.json has them.
    """
    for space in _candidates(folder, plain, structure):
        if _agree(space, plain):
            same = np.array_equal(space.distances, plain.distances)
            kept = replace(space, positions=plain.positions, unit=plain.unit or space.unit)
            return kept if same else replace(kept, given=plain.distances)
    return plain


def described_metric(folder: Path) -> str:
    """The metric that problem.yaml names; "given distances" where it names none."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        read = YAML(typ="safe").load(content(folder / DESCRIPTION, MOST_DESCRIPTION))
        metric = read["space"]["metric"]
    except (OSError, KeyError, TypeError, ValueError, RecursionError, YAMLError):
        return GIVEN
    return metric if isinstance(metric, str) else GIVEN


def _candidates(folder: Path, plain: MetricSpace, structure: Mapping[str, Any]) -> Iterator[MetricSpace]:
    """Spaces that may be the one that was saved; what is damaged makes none."""
    with suppress(*DAMAGED):
        yield from _described(described_metric(folder), plain, **structure)
    with suppress(*DAMAGED):
        yield from _of_table(folder / TABLE, len(plain))


def _of_table(file: Path, size: int) -> Iterator[MetricSpace]:
    """The space in table.npz, unless it has nothing but distances."""
    if not is_file(file):
        return
    arrays = read_arrays(file, start="space.", most=_most(size))
    if str(arrays["space.kind"]) != "distances":
        yield unpack(arrays)


def _most(size: int) -> int:
    """Bytes of the arrays of a space of so many points: no labels or coordinates take more."""
    return (1 << 20) + (1 << 16) * size


def _described(metric: str, plain: MetricSpace, kind: str, shape: list[int], spacing: float) -> Iterator[MetricSpace]:
    """Spaces on the saved points under a metric of which the name is known, and not its parameters."""
    points = plain.points
    if points is None:
        return
    if kind == "torus":
        for norm in LATTICE_METRICS:
            yield torus(shape, spacing=spacing, metric=norm)
    elif kind == "lattice":
        yield grid(shape, spacing=spacing, metric=metric)
    elif kind == "path" and spacing != 1:
        yield line(len(plain), step=spacing)
    elif metric in METRICS_ON_EARTH:
        yield MetricSpace.from_points(points, on_earth(metric, _unit(plain)), labels=plain.labels)
    elif metric in METRICS:
        yield MetricSpace.from_points(points, metric, labels=plain.labels)


def _unit(space: MetricSpace) -> str:
    return "km" if space.positions is None else space.positions.unit


def _agree(space: MetricSpace, plain: MetricSpace) -> bool:
    """Whether labels and points are the same, and distances are up to rounding."""
    if len(space) != len(plain) or list(space.labels) != list(plain.labels):
        return False
    if plain.points is not None and not (space.points is not None and _same(space.points, plain.points)):
        return False
    return np.allclose(space.distances, plain.distances, rtol=AGREEMENT, atol=0.0)


def _same(points: NDArray[Any], saved: NDArray[Any]) -> bool:
    return points.shape == saved.shape and bool((points == saved).all())
