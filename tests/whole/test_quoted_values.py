"""Errors about people's data say where they are wrong, and never what they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.material.people import counts, town

WORDS = dx.MetricSpace.from_points(["yes", "no"], "discrete")
NUMBER, TEXT = 23.456789, "canary"
CALLS: dict[str, Callable[[Any], Any]] = {
    "values on a line": lambda value: dx.evaluate.on(dx.classic.geometric(dx.line(7), epsilon=1.0), [value, 1]),
    "labels": lambda value: dx.evaluate.on(dx.classic.randomised_response(WORDS, epsilon=1.0), [value, "yes"]),
    "labels by name": lambda value: dx.evaluate.on(
        dx.classic.randomised_response(WORDS, epsilon=1.0), label=[value, "yes"]
    ),
    "one draw": lambda value: town().sample(value),
    "draws": lambda value: counts().sample([value, 1]),
    "nearest": lambda value: dx.geo.nearest(town().space, [[value, "x"]]),
    "check-ins": lambda value: dx.Prior.from_check_ins(town().space, [[value, "x"]]),
    "objects": lambda value: dx.geo.nearest(town().space, np.array([[value, "x"]], dtype=object)),
}


@pytest.mark.parametrize("value", [TEXT, NUMBER])
@pytest.mark.parametrize("call", CALLS)
def test_no_error_quotes_a_value(call: str, value: Any) -> None:
    with pytest.raises(dx.SpecError) as refused:
        CALLS[call](value)
    assert str(value) not in str(refused.value)
