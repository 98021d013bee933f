"""Data about secrets: which secret each datum is at, and how much of the data is at each secret."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import Option, SpecError
from dxopt.model.check_ins import require_some_inside
from dxopt.runtime.shown import Shown
from dxopt.spaces.geo.located import known
from dxopt.spaces.geo.nearest import nearest, nearest_of
from dxopt.spaces.labels import Tuples
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]


def _none(columns: int = 0) -> Any:
    return np.empty((0, columns) if columns else 0)


@dataclass(frozen=True, eq=False, repr=False)
class Observed(Shown):
    """Counts of some data at each of n secrets.

    Attributes
    ----------
    name : str
        What the data are called.
    weights, squares : (n,) array
        The sum of the weights of the rows at each secret, and of their squares.
    rows : int
        How many rows of positive weight are at a secret.
    outside : float
        The weight of the rows that are at none.
    positions : (m, k) array or None
        Where they are, if data were coordinates; with their `secrets` `(m,)`, the weight of `each` `(m,)`, and how
        `often` each is there `(m,)`. They are not saved.
    """

    name: str
    weights: Array
    squares: Array
    rows: int
    outside: float
    positions: Array | None = field(default=None, repr=False)
    secrets: NDArray[np.int64] = field(default_factory=_none, repr=False)
    each: Array = field(default_factory=_none, repr=False)
    often: Array = field(default_factory=_none, repr=False)


def observed(
    space: MetricSpace,
    data: Any = None,
    *,
    label: Any = None,
    index: Any = None,
    point: Any = None,
    weights: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    within: float | None = None,
    name: str = "",
) -> Observed:
    """The secrets that data are at; parameters and errors are those of `dx.evaluate.on`."""
    given = {"data": data, "label": label, "index": index, "point": point}
    named = [key for key, value in given.items() if value is not None]
    if len(named) != 1:
        wrong = "is given twice" if named else "is missing"
        raise SpecError("data", wrong, "give labels or coordinates, ", Option("index"), " or ", Option("point"))
    # 1. Secrets by index, -1 for those outside, and positions where there are any.
    positions = _coordinates(space, data, point)
    near = None if positions is None or within is not None else nearest_of(space, positions)
    if near is not None:
        secrets = near.index
    elif positions is not None:
        secrets = nearest(space, positions, within=within, outside="drop")
    elif within is not None:
        raise SpecError("within", "goes with coordinates only", "leave it out")
    else:
        secrets = _named(space, data, label, index)
    # 2. What each row counts, and what is outside.
    each = _numbers("weights", weights, len(secrets))
    often = _numbers("counts", counts, len(secrets))
    if (often != np.floor(often)).any():
        raise SpecError("counts", "are not all whole numbers", "give how many data each row stands for, or weights")
    there = (secrets >= 0) & (each * often > 0)
    if not there.any():
        wrong = "are all outside" if (each * often > 0).any() else "are empty"
        raise SpecError("data", wrong, "give some that count; check the order of coordinates, and `within`")
    if near is not None and positions is not None:
        require_some_inside(space, positions, near, each * often, "data")
    size = len(space)
    at, kept, times = secrets[there], each[there], often[there]
    return Observed(
        name,
        np.bincount(at, weights=times * kept, minlength=size).astype(float),
        np.bincount(at, weights=times * kept**2, minlength=size).astype(float),
        int(times.sum()),
        float((each * often)[secrets < 0].sum()),
        None if positions is None else positions[there],
        at,
        kept,
        times,
    )


def _coordinates(space: MetricSpace, data: Any, point: Any) -> Array | None:
    """The coordinates `(m, k)` that are given; None where secrets are named otherwise.

    Bare rows of numbers are coordinates, unless they might as well be labels.
    """
    if point is None and data is None:
        return None
    bare = point is None
    try:
        given = np.asarray(data if bare else point)
    except ValueError:
        given = np.asarray(None)
    numeric = given.dtype.kind in "fiu"
    if bare and not (given.ndim == 2 and numeric):
        return None
    found = known(space)
    width = 2 if found is not None else 0 if space.points is None else space.points.shape[1]
    if given.ndim == 1 and width == 1:
        given = given[:, None]
    if not numeric or given.ndim != 2 or given.shape[1] != width:
        wrong = f"have shape {given.shape}" if width else "are coordinates, of which the space has none"
        fix = f"give rows of {width} coordinates" if width else "give labels or indices"
        raise SpecError("data", wrong, fix)
    if found is None and space.metric is None:
        raise SpecError("data", "are coordinates, and the space has no metric", "give labels or indices")
    whole = bool((given == np.floor(given)).all())
    same = found is None and space.structure.kind == "lattice" and space.structure.spacing == 1
    if bare and whole and isinstance(space.labels, Tuples) and not same:
        raise SpecError(
            "data", "may be labels or coordinates", "write ", Option("label"), " with tuples, or ", Option("point")
        )
    return given.astype(float)


def _named(space: MetricSpace, data: Any, label: Any, index: Any) -> NDArray[np.int64]:
    """Return the indices of secrets given by labels or indices, `(m,)`."""
    try:
        found = space.naming.find(_listed(data), label=_listed(label), index=index, called="data")
    except SpecError as error:
        raise error.at("data") from None
    return np.atleast_1d(found)


def _listed(given: Any) -> Any:
    """Several secrets as a list; a tuple alone would be one."""
    return list(given) if isinstance(given, tuple) and any(isinstance(part, tuple | str) for part in given) else given


def _numbers(name: str, given: ArrayLike | None, size: int) -> Array:
    """One number of 0 or more for each row; 1 where none are given."""
    try:
        each = np.ones(size) if given is None else np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise SpecError(name, "are not all numbers", "give one number for each row") from None
    if each.shape != (size,):
        raise SpecError(name, f"have shape {each.shape} for {size} rows", "give one for each")
    bad = np.flatnonzero(~(np.isfinite(each) & (each >= 0)))
    if len(bad):
        raise SpecError(name, f"number {bad[0]} is {each[bad[0]]:g}", "give finite numbers of 0 or more")
    return each
