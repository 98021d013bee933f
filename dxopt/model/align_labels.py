"""Match what is given with the points of a space: weights by their labels, and priors by their own space."""

from __future__ import annotations

from typing import Any

import numpy as np

from dxopt.errors import SpecError
from dxopt.runtime.identity import each
from dxopt.spaces.geo.points import known
from dxopt.spaces.space import MetricSpace

_CLOSE = 1e-9
"""Largest distance in degrees between positions that count as the same."""


def in_order(space: MetricSpace, weights: Any) -> Any:
    """Put the weights of a pandas Series in the order of the points, if its index has their labels.

    All else is returned unchanged: other types, and a Series whose index only numbers its rows, as 0, 1, …. SpecError
    about an index of other names.
    """
    index = getattr(weights, "index", None)
    # Of lists and tuples `index` is a method; another length is refused later, by the number of points.
    if index is None or callable(index) or not hasattr(weights, "to_numpy") or len(index) != len(space):
        return weights
    names = each(index, "prior")
    rows = space.naming.rows(names, "prior")
    stranger = next((name for name in rows if isinstance(name, str)), None)
    if stranger is None:
        return np.asarray(weights)[[rows[point] for point in range(len(names))]]
    if [*names] == [*range(len(names))]:
        return weights
    wrong = f"is a Series whose index has {stranger!r}, which is no label of the points"
    fix = "match it by dx.prior_from_frame, or give series.to_numpy() in the order of the points"
    raise SpecError("prior", wrong, fix)


def require_same(mine: MetricSpace, theirs: MetricSpace) -> None:
    """Raise SpecError if a prior made on the space `theirs` does not fit `mine`, as their points differ.

    Points are the same at the same positions on the Earth; of other spaces, with the same coordinates or labels.
    """
    # priors of another size are refused by their number of entries
    if mine is theirs or len(mine) != len(theirs):
        return
    here, there = known(mine), known(theirs)  # positions on the Earth, or None
    if here is not None and there is not None:
        off = np.abs(here.degrees - there.degrees).max(axis=1)
        if (off <= _CLOSE).all():
            return
        first = int((off > _CLOSE).argmax())
        seen = (f"{tuple(places.degrees[first].tolist())}" for places in (there, here))
    else:
        if mine.points is not None and theirs.points is not None and np.array_equal(mine.points, theirs.points):
            return
        differing = (i for i, pair in enumerate(zip(theirs.labels, mine.labels, strict=True)) if pair[0] != pair[1])
        first = next(differing, None)
        if first is None:
            return
        seen = (repr(labels[first]) for labels in (theirs.labels, mine.labels))
    their, my = seen
    raise SpecError(
        "prior",
        f"is of another space: its point {first} is {their}, here it is {my}",
        "make one on this space, or give dx.Prior(prior.probabilities) where these are the numbers meant",
    )
