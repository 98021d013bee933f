"""What a report says of data that its prior was not made of, as plain content, and read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from dxopt.analysis.held_out import AtPositions, HeldOut, worth_on
from dxopt.analysis.observed import Observed
from dxopt.errors import SpecError
from dxopt.model.mechanism import Mechanism
from dxopt.model.problem import Problem
from dxopt.results.files import HELD_OUT, finite

Arrays = Mapping[str, Any]


def notes(several: Sequence[HeldOut]) -> list[dict[str, float | None] | None]:
    """Return the losses at positions for notes.json: the positions are not in the folder, so nothing proves them."""
    return [
        found.positions and {key: _finite(value) for key, value in asdict(found.positions).items()}
        for found in several
    ]


def pack(several: Sequence[HeldOut]) -> Arrays:
    """Return the arrays of held_out.npz: how much of the data is at each secret, from which its losses follow."""
    arrays: dict[str, Any] = {}
    for place, found in enumerate(several):
        for key in ("name", "weights", "squares", "rows", "outside"):
            arrays[f"{place}/{key}"] = getattr(found.data, key)
    return arrays


def unpack(
    arrays: Arrays, positions: Sequence[AtPositions | None], mechanism: Mechanism, problem: Problem
) -> tuple[HeldOut, ...]:
    """Return the inverse of `pack`, with all but the losses at positions computed again.

    Raises
    ------
    SpecError
        If the arrays are not about the secrets.
    """
    several = []
    for place, at in enumerate(positions):
        weights, squares = (np.asarray(arrays[f"{place}/{key}"], dtype=float) for key in ("weights", "squares"))
        rows, outside = int(arrays[f"{place}/rows"]), float(arrays[f"{place}/outside"])
        wanted = (len(mechanism.space),)
        good = all(found.shape == wanted and np.isfinite(found).all() for found in (weights, squares))
        if not (
            good and min(weights.min(), squares.min()) >= 0 and weights.any() and rows > 0 and 0 <= outside < np.inf
        ):
            raise SpecError(HELD_OUT, f"set {place} is no data about {wanted[0]} secrets", "solve the problem again")
        data = Observed(str(arrays[f"{place}/name"]), weights, squares, rows, outside)
        again = worth_on(data, mechanism, problem.loss, problem.prior.probabilities)
        several.append(replace(again, positions=at))
    return tuple(several)


def _finite(number: float | None) -> float | None:
    return None if number is None else finite(number)
