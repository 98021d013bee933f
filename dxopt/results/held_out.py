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


def content(several: Sequence[HeldOut]) -> list[dict[str, Any]]:
    """What report.json holds."""
    return [
        {
            "name": found.data.name,
            "rows": found.data.rows,
            "loss": finite(found.loss),
            "standard_error": _finite(found.standard_error),
            "worst": finite(found.worst),
            "worst_at": found.worst_at,
            "prior_zero": found.prior_zero,
            "outside": found.outside,
            "positions": found.positions and {key: _finite(value) for key, value in asdict(found.positions).items()},
        }
        for found in several
    ]


def pack(several: Sequence[HeldOut]) -> Arrays:
    """What held_out.npz holds: how much of the data is at each secret, from which all but `positions` follows."""
    arrays: dict[str, Any] = {}
    for place, found in enumerate(several):
        data = found.data
        arrays |= {f"{place}/weights": data.weights, f"{place}/squares": data.squares}
        arrays |= {f"{place}/rows": data.rows, f"{place}/outside": data.outside}
    return arrays


def unpack(
    entries: Sequence[Mapping[str, Any]], arrays: Arrays, mechanism: Mechanism, problem: Problem
) -> tuple[HeldOut, ...]:
    """The inverse of `content` and `pack`: everything but what is said of positions is computed again.

    Raises
    ------
    SpecError
        If the arrays are not about the secrets.
    """
    several = []
    for place, entry in enumerate(entries):
        weights, squares = (np.asarray(arrays[f"{place}/{key}"], dtype=float) for key in ("weights", "squares"))
        rows, outside = int(arrays[f"{place}/rows"]), float(arrays[f"{place}/outside"])
        wanted = (len(mechanism.space),)
        good = all(found.shape == wanted and np.isfinite(found).all() for found in (weights, squares))
        if not (
            good and min(weights.min(), squares.min()) >= 0 and weights.any() and rows > 0 and 0 <= outside < np.inf
        ):
            raise SpecError(HELD_OUT, f"set {place} is no data about {wanted[0]} secrets", "solve the problem again")
        data = Observed(str(entry["name"]), weights, squares, rows, outside)
        again = worth_on(data, mechanism, problem.loss, problem.prior.probabilities)
        at = entry.get("positions")
        several.append(again if at is None else replace(again, positions=_at_positions(at)))
    return tuple(several)


def _at_positions(content: Mapping[str, Any]) -> AtPositions:
    loss, worst, moved = (np.inf if content[key] is None else content[key] for key in ("loss", "worst", "moved"))
    return AtPositions(loss, content["standard_error"], worst, moved, content.get("radius"))


def _finite(number: float | None) -> float | None:
    return None if number is None else finite(number)
