"""The only judge: recomputes from an answer whether it is private, and what it is worth.

A candidate's word counts for nothing. Who fails here gets no time. The rules stand in README.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import kstest

import dxopt as dx
from benchmarks.contract import Answer, Array, Draws, Instance, Matrix, Places, Weights
from dxopt.certify import ROW_SUM_ERROR, prove_private
from dxopt.rounding import factor_above

ROUNDING = 1e-9
WORTH = 1e-6
WHOLE_POINTS = 500
ROW_POINTS = 20_000
SAMPLE_CELLS = 20_000_000
LEAST_CHANCE = 1e-9
_FITTED = 16


class Rejected(Exception):
    """Why an answer gets no time."""


@dataclass(frozen=True)
class Score:
    """What the objective found.

    Attributes
    ----------
    failure : str or None
        Why the answer does not count; None where it does.
    proven : bool
        Private and a probability distribution in every row, with all rounding counted; else within 1e-9.
    utility : float or None
        Recomputed: Σ_z max_x K[x, z] / n, the binary utility under the uniform prior.
    note : str
        What was checked.
    """

    failure: str | None
    proven: bool = False
    utility: float | None = None
    note: str = ""


def score(instance: Instance, space: dx.MetricSpace, answer: Answer) -> Score:
    """Judge an answer."""
    try:
        found = _judged(space, instance.epsilon, answer)
        if found.utility is None or not abs(found.utility - instance.value) <= WORTH * instance.value:
            raise Rejected(f"utility {found.utility:.9g}, known to be {instance.value:.9g}")
        if isinstance(answer, Draws):
            _fits(answer, found.utility)
    except Rejected as reason:
        return Score(str(reason))
    return found


def _judged(space: dx.MetricSpace, epsilon: float, answer: Answer) -> Score:
    match answer:
        case Weights(values):
            return _weights(space, epsilon, values)
        case Matrix(values):
            return _matrix(space, epsilon, values)
        case Draws(mechanism):
            return _mechanism(space, epsilon, mechanism)
        case _:
            return _mechanism(space, epsilon, answer)


def _mechanism(space: dx.MetricSpace, epsilon: float, mechanism: dx.Mechanism) -> Score:
    if mechanism.privacy is None or not mechanism.privacy.epsilon <= epsilon:
        raise Rejected(f"carries no proof of privacy at epsilon = {epsilon:g}")
    if (len(mechanism.space), len(mechanism.reports)) != (len(space), len(space)):
        raise Rejected(f"has {len(mechanism.space):,} secrets and {len(mechanism.reports):,} reports")
    if len(space) <= WHOLE_POINTS:
        refuted = _refuted(space, epsilon, mechanism.matrix)
        if refuted is not None:
            raise Rejected(refuted)
        note = "every pair proven again"
    else:
        places = _sampled(len(space))
        rows = mechanism.rows(places)
        _probabilities(rows, ROW_SUM_ERROR)
        _pairs(space, epsilon, rows, places, 0.0)
        note = f"{mechanism.privacy.how}; {len(places):,} rows checked again, strictly"
    return Score(None, True, dx.evaluate.utility(mechanism, dx.Prior.uniform(space)), note)


def _weights(space: dx.MetricSpace, epsilon: float, weights: Array) -> Score:
    """K = Φ·diag(w) is private by the triangle inequality wherever w ≥ 0, up to the rounding of Φ."""
    if weights.shape != (len(space),) or not np.isfinite(weights).all() or (weights < 0).any():
        raise Rejected(
            f"{np.count_nonzero(~(weights >= 0)):,} weights of {len(weights):,} are negative or no numbers"
        )
    places = np.arange(len(space)) if len(space) <= ROW_POINTS else _sampled(len(space))
    step = max(1, SAMPLE_CELLS // len(space))
    sums = [
        np.exp(-epsilon * space.block(places[i : i + step], np.arange(len(space)))) @ weights
        for i in range(0, len(places), step)
    ]
    _sums_to_one(np.concatenate(sums), ROUNDING)
    return Score(None, False, math.fsum(weights) / len(space), f"w ≥ 0, {len(places):,} row sums within {ROUNDING:g}")


def _matrix(space: dx.MetricSpace, epsilon: float, matrix: Array) -> Score:
    if matrix.shape != (len(space), len(space)):
        raise Rejected(f"has shape {matrix.shape}")
    worth = math.fsum(matrix.max(axis=0)) / len(space)
    if len(space) <= WHOLE_POINTS and _refuted(space, epsilon, matrix) is None:
        return Score(None, True, worth, "every pair proven")
    _probabilities(matrix, ROUNDING)
    _pairs(space, epsilon, matrix, np.arange(len(space)), ROUNDING)
    checked = "every pair" if len(space) <= WHOLE_POINTS else "three pairs for each secret"
    return Score(None, False, worth, f"{checked} and all row sums within {ROUNDING:g}")


def _refuted(space: dx.MetricSpace, epsilon: float, matrix: Array) -> str | None:
    """Why privacy cannot be proven, or None where it was."""
    problem = dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), loss="binary")
    try:
        prove_private(problem, matrix)
    except dx.CertificateError as error:
        return str(error)
    return None


def _sampled(points: int) -> Places:
    """Some secrets in neighbouring pairs, so many that their rows fit in memory."""
    pairs = min(max(SAMPLE_CELLS // (2 * points), 8), 200)
    first = np.random.default_rng(points).integers(0, points, pairs)
    return np.unique(np.concatenate([first, (first + 1) % points]))


def _probabilities(rows: Array, slack: float) -> None:
    if not np.isfinite(rows).all() or (rows < 0).any():
        raise Rejected(f"{np.count_nonzero(~(rows >= 0)):,} entries are negative or no numbers")
    _sums_to_one(np.array([math.fsum(row) for row in rows]), slack)


def _sums_to_one(sums: Array, slack: float) -> None:
    off = float(np.abs(sums - 1).max())
    if not off <= slack:
        raise Rejected(f"a row sums to 1 only within {off:.1e}")


def _pairs(space: dx.MetricSpace, epsilon: float, rows: Array, places: Places, slack: float) -> None:
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


def _fits(answer: Draws, truthful: float) -> None:
    """Draws follow the rows: no deviation that a true sampler shows less often than once in 10^9 runs.

    The places of draws in the cumulated row, spread over their own cell at random, are uniform (Kolmogorov-Smirnov).
    With every secret drawn for, the true ones are counted as well: the report x has its largest probability at x.
    """
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
