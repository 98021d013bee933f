"""A million reports, drawn with the operating system's randomness from a mechanism of a million locations."""

from __future__ import annotations

import numpy as np

from benchmarks.contract import INSTANCES, DrawsInstance
from benchmarks.instances.euclidean import square

INSTANCES.register("draws-one-secret")(
    DrawsInstance(
        "a million draws for one of a million locations",
        square,
        size=1000,
        small=8,
        epsilon=0.8,
        value=0.10053531,
        secrets=lambda points: np.array([points // 2]),
        draws=1_000_000,
    )
)
INSTANCES.register("draws-every-secret")(
    DrawsInstance(
        "one draw for each of a million locations",
        square,
        size=1000,
        small=8,
        epsilon=0.8,
        value=0.10053531,
        secrets=np.arange,
        draws=1,
    )
)
