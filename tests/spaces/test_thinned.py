"""A space of some of the points of another, far from each other."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx

SPACES = {
    "places": lambda: dx.geo.points([[45 + 0.01 * (i % 7), -73 + 0.02 * (i % 5)] for i in range(35)]),
    "cells": lambda: dx.geo.h3_cells(6, box=(45.0, -73.5, 45.3, -73.0)),
    "grid": lambda: dx.grid((4, 5), spacing=0.5),
    "distances": lambda: dx.MetricSpace.from_distances(np.abs(np.subtract.outer(*[np.arange(9.0) ** 2] * 2))),
    "one_way": lambda: dx.MetricSpace.from_distances([[0, 1, 4], [3, 0, 3], [4, 3, 0]], labels=["A", "B", "C"]),
    "called": lambda: dx.MetricSpace.from_points([1.0, 2.0, 4.0, 8.0], lambda x, y: abs(x - y) / 2),
}


@pytest.mark.parametrize("kind", SPACES)
def test_thinned(kind: str) -> None:
    space = SPACES[kind]()
    for count in (1, 2, 3, len(space)):
        few, nearest = space.thinned(count)
        kept = [space.index(label=label) for label in few.labels]
        assert len(set(kept)) == count
        assert kept == sorted(kept)
        assert few.unit == space.unit
        assert few.distances == pytest.approx(space.block(kept, kept), rel=1e-12)

        # 1. each point goes to the nearest one that is kept, and those kept to themselves
        apart = np.maximum(space.distances, space.distances.T)
        assert nearest[kept].tolist() == list(range(count))
        assert apart[np.arange(len(space)), np.take(kept, nearest)] == pytest.approx(apart[:, kept].min(axis=1))

        # 2. no choice covers all within less than half of how far this one is
        radius = apart[:, kept].min(axis=1).max()
        among = apart[np.ix_(kept, kept)][~np.eye(count, dtype=bool)]
        assert not len(among) or among.min() >= radius
        if space.positions is not None:
            assert few.positions is not None
            assert few.positions.degrees.tolist() == space.positions.degrees[kept].tolist()


def test_counts_that_are_none() -> None:
    for wrong in (0, 5, 2.5, True):
        with pytest.raises(dx.SpecError) as caught:
            dx.line(4).thinned(wrong)  # pyright: ignore[reportArgumentType]
        assert caught.value.field == "count"
