"""Which claims are false of what refines what in a comparison: for `judges.figures`.

Imports nothing from the package that it judges.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from tests.judges.result import wrong

Matrix = np.ndarray


def order_deviations(
    claimed: list[dict[str, Any]], channels: dict[str, Matrix], found: dict[str, Any]
) -> Iterator[tuple[str, float]]:
    """By how much the shortfalls of some pairs are off."""
    for number, entry in enumerate(claimed):
        check = f"comparison: what {entry['better']} refines"
        proof = found.get(f"refined/{number}/{'remap' if entry['holds'] else 'gains'}")
        if not {entry["better"], entry["worse"]} <= channels.keys():
            yield check, 1.0
        elif entry["holds"] is None:
            yield check, wrong(entry["shortfall"] is not None)
        elif proof is None or not isinstance(entry["shortfall"], float | int) or not _is_sound(proof):
            yield check, 1.0
        elif entry["holds"]:
            better, worse = channels[entry["better"]], channels[entry["worse"]]
            short = np.maximum(worse - better @ proof, 0.0).sum(axis=1).max()
            yield check, max(0.0, short - entry["shortfall"]) + wrong(any(total > 1 for total in _totals(proof)))
        else:
            better, worse = channels[entry["better"]], channels[entry["worse"]]
            gained = [(proof.T @ channel).max(axis=0).sum() for channel in (worse, better)]
            yield check, max(0.0, entry["shortfall"] - (gained[0] - gained[1]) / proof.max(axis=1).sum())


def _is_sound(array: Matrix) -> bool:
    return bool((np.isfinite(array) & (array >= 0)).all())


def _totals(array: Matrix) -> list[Fraction]:
    return [sum(map(Fraction, row), Fraction(0)) for row in array.tolist()]
