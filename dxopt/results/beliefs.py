"""Pairs of beliefs in what comes out: their arrays in a result folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dxopt.errors import SpecError
from dxopt.model.beliefs.notions import BeliefPairs
from dxopt.model.beliefs.pairs import Pairs

PREFIX = "belief_"
KEYS = ("first", "second", "distances", "epsilon", "names", "left_out")
NO_TABLE = "rounded to integers it would not be proven for the pairs of beliefs"


def pack_beliefs(pairs: Pairs | None) -> dict[str, Any]:
    """The arrays of problem.npz that pairs of beliefs are made of; none where there are none."""
    if pairs is None:
        return {}
    found = {key: getattr(pairs, key) for key in ("first", "second", "distances")}
    found |= {"epsilon": pairs.level, "names": np.array(pairs.names), "left_out": np.array(pairs.left_out, dtype=str)}
    return {PREFIX + key: found[key] for key in KEYS}


def unpack_beliefs(arrays: Mapping[str, Any], labels: Sequence[str]) -> BeliefPairs | None:
    """The pairs of `pack_beliefs`, about secrets of these labels.

    Raises
    ------
    SpecError
        If only some of the arrays are there, or they are no pairs of beliefs.
    """
    there = [key for key in KEYS if PREFIX + key in arrays]
    if not there:
        return None
    if len(there) < len(KEYS):
        raise SpecError("beliefs", f"lack {(set(KEYS) - {*there}).pop()}", "solve the problem again")
    found = {key: arrays[PREFIX + key] for key in KEYS}
    return BeliefPairs(
        found["first"],
        found["second"],
        distances=found["distances"],
        epsilon=float(found["epsilon"]),
        names=[str(name) for name in found["names"]],
        labels=labels,
        left_out=[str(name) for name in found["left_out"]],
    )
