"""Arguments of other types than are meant, as notebooks give them: taken if they are plain, else a SpecError."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dxopt as dx

LINE = dx.line(4)
NOISE = dx.classic.geometric(LINE, epsilon=1.0)
IMPLICIT = dx.tight_constraints(LINE, 2.0)
PRODUCT = dx.tight_constraints(dx.grid((2, 2), metric="manhattan"), 2.0)
HUGE = 10**400
EVEN = [0.25] * 4


@pytest.mark.parametrize("mechanism", [NOISE, IMPLICIT, PRODUCT])
def test_lists_stand_for_arrays(mechanism: dx.Mechanism) -> None:
    assert mechanism.correct(EVEN) == mechanism.correct(np.array(EVEN))
    smoothed = dx.Smoothing(1).smoothed(LINE, [1, 0, 2, 3])
    assert smoothed.tolist() == [2, 1, 3, 4]


PUBLIC: Any = dx
"""Its names, with arguments of any type."""
CALLS: dict[str, Callable[[], Any]] = {
    "max_loss too small": lambda: PUBLIC.Problem(LINE, epsilon=1, prior="uniform", max_loss="1"),
    "max_loss no number": lambda: PUBLIC.Problem(LINE, epsilon=1, prior="uniform", max_loss="x"),
    "counts too few": lambda: dx.Smoothing(1).smoothed(LINE, [1, 0]),
    "counts no numbers": lambda: dx.Smoothing(1).smoothed(LINE, ["x"] * 4),
    "counts negative": lambda: dx.Smoothing(1).smoothed(LINE, [-1, 0, 0, 2]),
    "channel no numbers": lambda: NOISE.compose([["x"] * 2] * 4),
    "channel ragged": lambda: NOISE.compose([[1], [0, 1], [1], [1]]),
    "reports a list": lambda: PUBLIC.classic.moved_to_nearest(NOISE, ["0", "1"]),
    "individuals infinite": lambda: PUBLIC.regularity.database_leakage_bound(2, math.inf, 1.0),
    "individuals nan": lambda: PUBLIC.regularity.database_leakage_bound(2, math.nan, 1.0),
    "values huge": lambda: PUBLIC.regularity.database_leakage_bound(HUGE, 2, 1.0),
    "records text": lambda: PUBLIC.sanitisation.product_sanitisation(NOISE, "x"),
    "records infinite": lambda: PUBLIC.sanitisation.product_sanitisation(NOISE, math.inf),
    "step huge": lambda: dx.traces.IndependentNoise(dx.traces.on_line(), 1.0).stream().step(HUGE),
    "step in the plane huge": lambda: (
        dx.traces.IndependentNoise(dx.traces.on_plane(), 1.0).stream().step((HUGE, 0.0))
    ),
    "max_loss of the rate huge": lambda: PUBLIC.inference.rate_distortion(LINE, "uniform", max_loss=Fraction(HUGE)),
    "slope text": lambda: PUBLIC.inference.rate_distortion(LINE, "uniform", slope="x"),
    "slope huge": lambda: PUBLIC.inference.rate_distortion(LINE, "uniform", slope=HUGE),
    "max_loss of the rate text": lambda: PUBLIC.inference.rate_distortion(LINE, "uniform", max_loss="x"),
    **{
        f"prior {name} of {place}": lambda wrong=wrong, mechanism=mechanism: mechanism.correct(wrong)
        for place, mechanism in enumerate((NOISE, IMPLICIT, PRODUCT))
        for name, wrong in {"short": [0.5, 0.5], "negative": [2, -1, 0, 0], "text": ["x"] * 4, "none": None}.items()
    },
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_is_none_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(dx.SpecError):
        call()
