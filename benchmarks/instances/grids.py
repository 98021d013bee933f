"""Lines and square grids: L1 and Euclidean, every prior, loss and level that matters. Sizes are points or sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dxopt as dx
from benchmarks.contract import FULL, SCALE, SCALE_LARGE, SMALL, SMOKE, TARGETS
from benchmarks.instances.families import asked, full, heavy, register, scale, skewed, sparse, uniform
from benchmarks.instances.tight import square

LONG, LONGEST = 3600.0, 5400.0
_SMALL, _SMOKE, _TARGET = (SMALL, FULL), (SMOKE, SMALL, FULL), (TARGETS, FULL)


def blocks(side: int) -> dx.MetricSpace:
    """Return a square L1 grid: city blocks."""
    return dx.grid((side, side), metric="manhattan")


def skewed_twice(points: int) -> NDArray[np.float64]:
    """Return a product of two skewed priors, for a square grid."""
    along = skewed(round(points**0.5))
    return np.outer(along, along).ravel()


register(
    "line",
    "line, skewed prior, ε = 0.1",
    asked(dx.line, 0.1),
    {4: _SMALL, 8: _SMALL, 16: _SMALL, 30: _SMOKE, **full(100, 300, 1_000), 10_000: _TARGET},
    warm_up=(4, 30),
)
register(
    "l1",
    "L1 grid, skewed prior, ε = 0.5",
    asked(blocks, 0.5),
    {
        **dict.fromkeys((2, 3, 4, 5, 6, 7), _SMALL),
        8: (*_SMOKE, SCALE),
        **full(10, 20),
        **scale(15, large=(32,)),
        64: (*_TARGET, SCALE_LARGE),
    },
    warm_up=(3, 5),
    limits={64: LONG},
    tolerances={64: 1e-4},
)
register(
    "l1-product",
    "L1 grid, prior a product of skewed ones, ε = 0.1",
    asked(blocks, 0.1, skewed_twice),
    {**full(8, 20, 32, 100, 300), 1_000: _TARGET},
    warm_up=(3, 5),
)
register(
    "euclidean",
    "Euclidean grid, skewed prior, ε = 0.5",
    asked(square, 0.5),
    {
        **dict.fromkeys((2, 3, 4, 7), _SMALL),
        6: _SMOKE,
        **dict.fromkeys((5, 8), (*_SMOKE, SCALE)),
        20: (FULL,),
        **scale(10, 15, large=(100,)),
        32: (*_TARGET, SCALE_LARGE),
    },
    warm_up=(3, 5),
    limits={32: LONG, 100: LONGEST},
    tolerances={100: 1e-2},
)
register(
    "euclidean-heavy",
    "Euclidean grid, heavy-tailed prior, ε = 0.5",
    asked(square, 0.5, heavy),
    scale(10, large=(32, 100)),
    warm_up=(3, 5),
    limits={32: LONG, 100: LONGEST},
    tolerances={100: 1e-2},
)
for _epsilon in (0.1, 0.2, 1.0, 2.0, 5.0):
    register(
        f"euclidean-level-{_epsilon:g}",
        f"Euclidean grid, skewed prior, ε = {_epsilon:g}",
        asked(square, _epsilon),
        full(10),
        warm_up=(3, 5),
    )
register(
    "euclidean-uniform",
    "Euclidean grid, uniform prior, ε = 0.5",
    asked(square, 0.5, uniform),
    full(5, 10, 15, 20),
    warm_up=(3, 5),
)
register(
    "euclidean-sparse",
    "Euclidean grid, prior 0 at four points of five, ε = 0.5",
    asked(square, 0.5, sparse),
    {5: _SMOKE, **full(7, 10, 15)},
    warm_up=(3, 5),
)
for _loss in ("squared", "binary"):
    register(
        f"euclidean-{_loss}",
        f"Euclidean grid, skewed prior, {_loss} loss, ε = 0.5",
        asked(square, 0.5, loss=_loss),
        full(7, 10, 15),
        warm_up=(3, 5),
    )
