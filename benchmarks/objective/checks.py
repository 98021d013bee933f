"""Checks on rows of a channel: probabilities, and inequalities between secrets."""

from __future__ import annotations

import math

import numpy as np

import dxopt as dx
from benchmarks.contract import Array, Places
from benchmarks.objective.verdict import Rejected
from dxopt.numerics.rounding import UNIT, factor_above
from dxopt.proofs.privacy import ROW_SUM_ERROR, prove_private

WHOLE_POINTS = 500
SAMPLE_CELLS = 20_000_000
_ROOM = 8 * UNIT
"""The room that a proof leaves for rounding (`prove_private`): its factors are above e^{-εd} by 16 units."""


def sampled(points: int) -> Places:
    """Return some secrets in neighbouring pairs, so many that their rows fit in memory."""
    pairs = min(max(SAMPLE_CELLS // (2 * points), 8), 200)
    first = np.random.default_rng(points).integers(0, points, pairs)
    return np.unique(np.concatenate([first, (first + 1) % points]))


def probabilities(rows: Array, slack: float) -> None:
    """Entries of 0 or more, and rows that sum to 1 within `slack`."""
    if not np.isfinite(rows).all() or (rows < 0).any():
        raise Rejected(f"{np.count_nonzero(~(rows >= 0)):,} entries are negative or no numbers")
    sums_to_one(np.array([math.fsum(row) for row in rows]), slack)


def sums_to_one(sums: Array, slack: float) -> None:
    """All sums are 1 within `slack`."""
    off = float(np.abs(sums - 1).max())
    if not off <= slack:
        raise Rejected(f"a row sums to 1 only within {off:.1e}")


def pairs(space: dx.MetricSpace, epsilon: float, rows: Array, places: Places, slack: float) -> None:
    """K[x, z] ≤ e^{εd(x, x')} K[x', z] (1 + slack) for the rows of some secrets.

    All pairs of a small space; else each of these secrets with its two neighbours among them and one at random.
    """
    everyone, generator = np.arange(len(places)), np.random.default_rng(len(places))
    for x in everyone:
        near = np.array([x - 1, (x + 1) % len(places), generator.integers(len(places))])
        others = everyone if len(space) <= WHOLE_POINTS else near
        factors = factor_above(epsilon, space.block(places[others], places[[x]])) * (1 - slack)
        needed = factors * rows[x]
        vanished = (rows[others] == 0) & (rows[x] > 0) & (factors > 0)
        if (vanished | (rows[others] < needed)).any():
            other = int(others[np.argwhere(vanished | (rows[others] < needed))[0][0]])
            raise Rejected(
                f"secrets {space.labels[places[x]]} and {space.labels[places[other]]} are told apart beyond the level"
            )


def refuted(problem: dx.Problem, matrix: Array) -> str | None:
    """Why the privacy of a channel cannot be proven, or None where it was."""
    try:
        prove_private(problem, matrix)
    except dx.CertificateError as error:
        return str(error)
    return None


def carries_proof(space: dx.MetricSpace, reports: int, epsilon: float, mechanism: dx.Mechanism) -> None:
    """Check the secrets and reports against the question, and the proof of privacy against the level."""
    if mechanism.privacy is None or not mechanism.privacy.epsilon <= epsilon:
        raise Rejected(f"carries no proof of privacy at epsilon = {epsilon:g}")
    if (len(mechanism.space), len(mechanism.reports)) != (len(space), reports):
        raise Rejected(f"has {len(mechanism.space):,} secrets and {len(mechanism.reports):,} reports")


def sample_holds(space: dx.MetricSpace, epsilon: float, mechanism: dx.Mechanism) -> int:
    """Check some rows as strictly as the proof, whose factors are above e^{-εd} by twice its room; their number."""
    places = sampled(len(space))
    rows = mechanism.rows(places)
    probabilities(rows, ROW_SUM_ERROR)
    pairs(space, epsilon, rows, places, _ROOM)
    return len(places)
