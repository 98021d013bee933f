"""Pairs of beliefs in what comes out: their arrays in a result folder, and what is proven for them in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dxopt.errors import SpecError
from dxopt.model.beliefs.notions import BeliefPairs
from dxopt.model.beliefs.pairs import Pairs
from dxopt.model.problem import Problem
from dxopt.proofs.certify import Certificate
from dxopt.spaces.units import per

PREFIX = "belief_"
KEYS = ("first", "second", "distances", "epsilon", "names", "left_out")
NO_TABLE = "rounded to integers it would not be proven for the pairs of beliefs"
_SHOWN = 6


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


def privacy_line(problem: Problem, proof: Certificate) -> str:
    """What is proven of single secrets, in a few words."""
    if not problem.private:
        return "not asked for" if problem.beliefs is None else "for pairs of beliefs alone, see there"
    level = f"ε proven {proof.epsilon:.10g} {per(problem.space.unit)} (asked {problem.epsilon:.10g})"
    if problem.delta:
        level += f", δ proven {proof.delta:.6g} (asked {problem.delta:.6g})"
    return level


def lines_of_beliefs(problem: Problem, proof: Certificate) -> list[tuple[str, str]]:
    """What is proven of pairs of beliefs, as lines of a name and a text; none where there are none."""
    pairs = problem.beliefs
    if pairs is None or proof.belief_level is None:
        return []
    proven = f"ε proven {proof.belief_level:.10g} (asked {pairs.level:.10g})"
    lines = [("beliefs", f"{proven}, {len(pairs):,} ordered pairs: {pairs.described()}")]
    if pairs.left_out:
        lines.append(("not in beliefs", f"{len(pairs.left_out):,} left out, as {pairs.left_out[0]}"))
    return lines


def promise(problem: Problem, proof: Certificate) -> str:
    """What is proven of pairs of beliefs, in plain words."""
    pairs = problem.beliefs
    if pairs is None or proof.belief_level is None:
        return ""
    level = proof.belief_level
    one = len(np.unique(pairs.distances)) == 1
    unit = float(pairs.distances[0]) if one else 1.0
    factor = math.exp(min(level * unit, 700.0))
    by = f"a factor of {factor:.5g}" if one else f"e^(εd), which is a factor of {factor:.5g} at distance 1"
    some = "; ".join(pairs.names[:_SHOWN])
    more = f"; and {len(pairs) - _SHOWN:,} more" if len(pairs) > _SHOWN else ""
    out = ""
    if pairs.left_out:
        out = f" Left out are {len(pairs.left_out):,} that nobody deems possible: {pairs.left_out[0]}."
    alone = "" if problem.private else " Nothing is promised against anybody who believes something else."
    return (
        f"Nobody who holds one of these beliefs can change the odds between the two sides of a pair by more than "
        f"{by}, whatever is reported. Proven for {len(pairs):,} ordered pairs with ε = {level:.10g}, of "
        f"{pairs.level:.10g} allowed: {some}{more}.{out}{alone}"
    )
