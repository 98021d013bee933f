"""Sweeps of which `make test` takes the first values, and `make test-full` the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def few(values: Iterable[Any], quick: int = 3) -> list[Any]:
    """Return the values of a parameter; those beyond the first few are marked `full`."""
    return [
        pytest.param(value, marks=pytest.mark.full if place >= quick else ()) for place, value in enumerate(values)
    ]
