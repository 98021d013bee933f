"""Columns beside the secrets, of rows that are all drawn for one secret of the space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dxopt.release.applying.place_like import Beside


def look(beside: Beside, columns: Iterable[tuple[str, Any]], secrets: Sequence[Any]) -> None:
    """Look at columns, which so cannot tell which secret of the space a row has."""
    beside.look(columns, secrets, np.zeros(len(secrets[0]), dtype=np.int64))
