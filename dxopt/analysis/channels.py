"""The probabilities of mechanisms and of integer tables, which stand above this room."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.model.mechanism import Mechanism
from dxopt.model.sampling import Sampler


def channel_of(given: Sampler) -> NDArray[np.float64]:
    """The probabilities `(n, m)`, those of a table right to 2^-53 of each.

    Raises
    ------
    SpecError
        If it is neither a mechanism nor a table.
    """
    if isinstance(given, Mechanism):
        return given.matrix
    table: Any = given
    if not isinstance(given, Sampler) or not hasattr(table, "counts"):
        wrong = f"is of type {type(given).__name__}"
        raise SpecError("mechanism", wrong, "give a mechanism or a table of integers")
    # A quotient of integers is rounded once.
    return np.array([[count / table.total for count in row] for row in table.counts.tolist()])


def exact_rows(given: Sampler) -> list[Any]:
    """Return a key of each secret's row: equal rows have equal keys, and no others."""
    if isinstance(given, Mechanism):
        return [row.tobytes() for row in given.matrix]
    table: Any = given
    return [tuple(row) for row in table.counts.tolist()]
