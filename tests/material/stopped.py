"""Solves that are stopped on the way."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx
from dxopt.runtime.stopping import Stop


def skewed(space: dx.MetricSpace) -> dx.Prior:
    return dx.Prior.from_weights(space, 1 + (11 * np.arange(len(space))) % 7)


def stop_after(monkeypatch: pytest.MonkeyPatch, questions: int) -> list[int]:
    """Ask every solve to stop from the given question whether to stop on; the count of questions."""
    asked = [0]

    def requested(stop: Stop) -> bool:
        asked[0] += 1
        stop.interrupted = stop.interrupted or asked[0] > questions
        return stop.interrupted

    monkeypatch.setattr(Stop, "requested", property(requested))
    return asked
