"""Scores tight-constraints mechanisms, and draws from them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import dxopt as dx
from benchmarks.contract import Array, Draws, Matrix, TightInstance, Weights
from benchmarks.objective.checks import (
    SAMPLE_CELLS,
    WHOLE_POINTS,
    carries_proof,
    pairs,
    probabilities,
    refuted,
    sample_holds,
    sampled,
    sums_to_one,
)
from benchmarks.objective.verdict import PROVEN, Rejected, Score

ROUNDING = 1e-9
WORTH = 1e-6
ROW_POINTS = 20_000
LEAST_CHANCE = 1e-9
_FITTED = 16


def judged(instance: TightInstance, space: dx.MetricSpace, answer: Any) -> Score:
    """Whether a mechanism, weights or a matrix are private, and worth what is known."""
    match answer:
        case Weights(values):
            found = _weights(space, instance.epsilon, values)
        case Matrix(values):
            found = _matrix(space, instance.epsilon, values)
        case Draws(mechanism) | mechanism:
            found = _mechanism(space, instance.epsilon, mechanism)
    if not abs(found.value - instance.value) <= WORTH * instance.value:
        raise Rejected(f"utility {found.value:.9g}, known to be {instance.value:.9g}")
    return found


def _mechanism(space: dx.MetricSpace, epsilon: float, mechanism: dx.Mechanism) -> Score:
    carries_proof(space, len(space), epsilon, mechanism)
    if len(space) <= WHOLE_POINTS:
        reason = refuted(_binary(space, epsilon), mechanism.matrix)
        if reason is not None:
            raise Rejected(reason)
        note = "every pair proven again"
    else:
        rows = sample_holds(space, epsilon, mechanism)
        note = f"{rows:,} rows checked again, strictly"
    return Score(None, PROVEN, dx.evaluate.utility(mechanism, dx.Prior.uniform(space)), note=note)


def _weights(space: dx.MetricSpace, epsilon: float, weights: Array) -> Score:
    """K = Φ·diag(w) is private by the triangle inequality wherever w ≥ 0, up to the rounding of Φ."""
    if weights.shape != (len(space),) or not np.isfinite(weights).all() or (weights < 0).any():
        raise Rejected(
            f"{np.count_nonzero(~(weights >= 0)):,} weights of {len(weights):,} are negative or no numbers"
        )
    places = np.arange(len(space)) if len(space) <= ROW_POINTS else sampled(len(space))
    step = max(1, SAMPLE_CELLS // len(space))
    sums = [
        np.exp(-epsilon * space.block(places[i : i + step], np.arange(len(space)))) @ weights
        for i in range(0, len(places), step)
    ]
    sums_to_one(np.concatenate(sums), ROUNDING)
    note = f"w ≥ 0, {len(places):,} row sums within {ROUNDING:g}"
    return Score(None, "not proven", math.fsum(weights) / len(space), note=note)


def _matrix(space: dx.MetricSpace, epsilon: float, matrix: Array) -> Score:
    if matrix.shape != (len(space), len(space)):
        raise Rejected(f"has shape {matrix.shape}")
    worth = math.fsum(matrix.max(axis=0)) / len(space)
    if len(space) <= WHOLE_POINTS and refuted(_binary(space, epsilon), matrix) is None:
        return Score(None, PROVEN, worth, note="every pair proven")
    probabilities(matrix, ROUNDING)
    pairs(space, epsilon, matrix, np.arange(len(space)), ROUNDING)
    checked = "every pair" if len(space) <= WHOLE_POINTS else "three pairs for each secret"
    return Score(None, "not proven", worth, note=f"{checked} and all row sums within {ROUNDING:g}")


def _binary(space: dx.MetricSpace, epsilon: float) -> dx.Problem:
    return dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), loss="binary")


def fits(answer: Draws, truthful: float) -> None:
    """Draws follow the rows: no deviation that a true sampler shows less often than once in 10^9 runs.

    The places of draws in the cumulated row, spread over their own cell at random, are uniform (Kolmogorov-Smirnov).
    With every secret drawn for, the true ones are counted as well: the report x has its largest probability at x.
    """
    from scipy.stats import kstest

    mechanism, secrets, reports = answer.mechanism, answer.secrets, answer.reports
    if reports.shape[0] != len(secrets) or reports.min() < 0 or reports.max() >= len(mechanism.reports):
        raise Rejected("draws are no reports for the secrets")
    generator, positions = np.random.default_rng(len(secrets)), []
    for which in generator.permutation(len(secrets))[:_FITTED]:
        row = mechanism.rows(secrets[[which]])[0]
        above = np.cumsum(row)
        drawn = reports[which]
        positions.append((above[drawn] - row[drawn] * generator.random(len(drawn))) / above[-1])
    chance = float(kstest(np.concatenate(positions), "uniform").pvalue)
    if chance < LEAST_CHANCE:
        raise Rejected(f"draws do not follow the mechanism: a chance of {chance:.1e}")
    if len(secrets) == len(mechanism.space):
        spread = math.sqrt(truthful * (1 - truthful) * reports.size)
        off = abs(np.count_nonzero(reports == secrets[:, None]) - truthful * reports.size) / spread
        if off > 6.5:
            raise Rejected(f"draws are true {off:.1f} standard deviations off what the mechanism says")
