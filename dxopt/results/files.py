"""The names of the files of a result, and what they hold: plain content, whoever writes it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

CLAIMS = "claims.json"
NOTES = "notes.json"
LEVEL = "level.json"
FRONTIER = "frontier.json"
SWEEP = "sweep.json"
SWEEP_TABLE = "sweep.csv"
COMPARISON = "comparison"
PARTS = "parts"
DESCRIPTION = "problem.yaml"
MECHANISM = "mechanism.npz"
PROBLEM = "problem.npz"
DUAL = "dual.npz"
TABLE = "table.npz"
HELD_OUT = "held_out.npz"
DIGESTS = "digests.json"
PAGE = "report.html"


class Storable(Protocol):
    """What knows its own file, as mechanisms and integer tables do."""

    def save(self, file: Path, /) -> object:
        """Write the file."""


Content = Mapping[str, Any] | str | bytes | Storable
"""Of a file: arrays of `*.npz`, entries of `*.json` and `*.yaml`, text, bytes. Of a name with no ending: a folder."""
Contents = dict[str, Content]
"""What a folder holds, by name."""


def finite(number: float) -> float | None:
    """The number as JSON knows it: None instead of infinity and nan."""
    return number if math.isfinite(number) else None


def numbers(array: NDArray[np.float64]) -> list[float | None]:
    """The entries of an array as JSON knows them."""
    return [finite(number) for number in array.tolist()]
