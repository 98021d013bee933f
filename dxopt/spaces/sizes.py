"""Limits on the number of points of a space."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dxopt.errors import SpecError

MOST_COORDINATES = 200_000_000
"""The most coordinates of points that are kept in memory: 1.6 GB."""


def require_room(field: str, sizes: Sequence[int], width: int, fix: str) -> None:
    """SpecError where all tuples of indices below these sizes, with `width` coordinates each, are too many."""
    count = math.prod(sizes)
    if count * max(width, 1) > MOST_COORDINATES:
        shape = f" ({' x '.join(map(str, sizes))})" if 1 < len(sizes) <= 4 else ""
        most = f"at most {MOST_COORDINATES // max(width, 1):,} fit in memory"
        makes = "make" if field.endswith("s") else "makes"
        raise SpecError(field, f"{makes} {_counted(count)} points{shape}; {most}", fix)


def _counted(count: int) -> str:
    return f"{count:,}" if count < 10**12 else f"{count:.2e}"
