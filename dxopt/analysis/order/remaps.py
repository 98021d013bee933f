"""The best randomised remap for losses in the worst case, with a bound on every remap (CABP13 §4.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.order.evidence import exact_channel, minimised
from dxopt.errors import CertificateError, SpecError, UnsupportedError
from dxopt.model.loss import Loss, LossLike, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior
from dxopt.model.sampling import required_mechanism
from dxopt.numerics.coerce import as_list, as_numbers
from dxopt.numerics.rounding import SMALLEST, UNIT
from dxopt.runtime.display import Shown

Array = NDArray[np.float64]
MOST_CELLS = 2_000_000
"""The most k·m·w: cases, reports, and what they are replaced by."""


@dataclass(frozen=True, eq=False, repr=False)
class RandomRemap(Shown):
    """A channel from reports to what is reported instead, for the least loss in the worst of some cases.

    Attributes
    ----------
    channel : (m, w) array
        R; its rows sum to 1 exactly. Post-processing by it keeps privacy: `mechanism.compose(found.channel,
        found.reports)`, or `dx.classic.remapped`, which proves the result.
    reports : Reports
        The w reports that may be given instead.
    value : float
        The loss of the worst case.
    bound : float
        No remap has less: proven.
    weights : (k,) array
        How likely each case is in a prior over cases, of any sum, for which no remap has less than the bound.
    """

    channel: Array
    reports: Reports
    value: float
    bound: float
    weights: Array


def optimal_random_remap(
    mechanism: Mechanism,
    loss: LossLike | Loss = "distance",
    *,
    priors: ArrayLike | Sequence[Prior] | None = None,
    offsets: ArrayLike | None = None,
    reports: Reports | None = None,
) -> RandomRemap:
    """Return the channel R of the least worst loss min_R max_x Σ_z Σ_w K[x, z] R[z, w] l(x, w), by a linear program.

    For the expected loss one table is best for each prior (`optimal_remap`). In the worst case a remap that draws may
    be better than any table: on a line, the truncated geometric mechanism with the best such remap is the optimum for
    risk-averse users (CABP13 §4.2; Gupte and Sundararajan 2010).

    Parameters
    ----------
    mechanism : Mechanism
        n secrets, m reports.
    loss : str, array `(n, w)`, callable or Loss
        See `Loss.of`.
    priors : k priors or (k, n) array, optional
        Cases of which the worst counts: the expected loss under each. By default each secret alone: the worst loss.
    offsets : (k,) array, optional
        What is taken off the loss of each case, such as its own optimum for the worst regret; nothing by default.
    reports : Reports, optional
        For a named loss, what may be reported instead; the secrets by default.

    Raises
    ------
    SpecError
        If the loss, priors or offsets do not fit, or after some report every replacement costs infinitely much.
    UnsupportedError
        If k·m·w is over 2 million.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=0.5)
    >>> best = dx.evaluate.optimal_random_remap(mechanism)
    >>> print(round(dx.evaluate.worst_loss(mechanism), 3), round(best.value, 3))
    0.755 0.657
    """
    required_mechanism(mechanism, Mechanism)
    losses = Loss.of(loss, mechanism.space, reports)
    size = len(mechanism.space)
    cases = np.eye(size) if priors is None else _cases(priors, mechanism)
    fix = f"give a finite number for each of {len(cases)} cases"
    less = np.zeros(len(cases)) if offsets is None else as_numbers(offsets, "offsets", fix)
    if less.shape != (len(cases),) or not np.isfinite(less).all():
        raise SpecError("offsets", f"have shape {less.shape}", fix)
    cells = len(cases) * len(mechanism.reports) * len(losses.reports)
    if max(cells, size * len(mechanism.reports)) > MOST_CELLS:
        wrong = f"has {cells:,} products of cases, reports and replacements"
        raise UnsupportedError("mechanism", wrong, f"take fewer: {MOST_CELLS:,} at most")
    matrix = losses.matrix
    # the replacements with infinite cost after each report, `(m, w)`
    possible = (mechanism.matrix > 0) & (cases.max(axis=0) > 0)[:, None]
    forbidden = (possible.T.astype(float) @ np.isinf(matrix).astype(float)) > 0
    if forbidden.all(axis=1).any():
        report = int(forbidden.all(axis=1).argmax())
        wrong = f"is infinite after report {report}, whatever is reported instead"
        raise SpecError("loss", wrong, "give finite losses, or more reports")
    finite = np.where(np.isinf(matrix), 0.0, matrix)
    # C[i, z, w] = Σ_x P[i, x] K[x, z] l(x, w)
    costs = np.stack([mechanism.matrix.T @ (case[:, None] * finite) for case in cases])
    found = _solve_program(costs, less, ~forbidden)
    # without a solution, any remap that is allowed; its bound tells what it is worth
    rough, weights = (np.where(forbidden, 0.0, 1.0), np.ones(len(cases))) if found is None else found
    # rows that have nothing left are spread over what is allowed, never over what is not
    rough = np.where(forbidden, 0.0, rough)
    rough = np.where(rough.sum(axis=1, keepdims=True) > 0, rough, ~forbidden)
    channel = exact_channel(rough)
    value = _worst_case(mechanism.matrix @ channel, finite, cases, less)
    if channel.shape[0] == channel.shape[1] and not forbidden.diagonal().any():
        # a mechanism that is the best one already stays as it is: the linear program is right to some digits alone
        as_it_is = _worst_case(mechanism.matrix, finite, cases, less)
        value, channel = (as_it_is, np.eye(len(channel))) if as_it_is <= value else (value, channel)
    bound = bound_of_weights(mechanism.matrix, matrix, weights @ cases, math.fsum(weights), weights * less)
    return RandomRemap(channel, losses.reports, value, min(value, bound), weights)


def proven_worst_case(matrix: Array, remap: Array, losses: Array, weights: Array) -> tuple[float, float]:
    """Return the worst loss after a remap `(m, w)`, losses `(n, w)`, perhaps infinite, and the bound of its weights.

    CertificateError where they are more than 1e-6 of it and 1e-8 of the largest loss apart, as no solver leaves them.
    """
    made = matrix @ remap
    value = max(math.fsum(row) for row in made * np.where(made > 0, losses, 0.0))
    bound = min(value, bound_of_weights(matrix, losses, weights))
    if not value - bound <= 1e-6 * abs(value) + 1e-8 * np.abs(losses[np.isfinite(losses)]).max():
        raise CertificateError(f"a remap loses {value:.10g} in the worst case, its weights prove {bound:.10g} alone")
    return value, bound


def bound_of_weights(
    matrix: Array, losses: Array, weights: Array, total: float | None = None, less: Array | None = None
) -> float:
    """Return (Σ_z min_w Σ_x p_x K[x, z] l(x, w) - Σ less) / Σ p, rounded down: no remap has less in the worst case.

    Each of the weights p `(n,)` may be off by n roundings. `total` is the sum of those of the cases, where these are
    no single secrets, and `less` their weights times offsets.
    """
    mass = math.fsum(weights) if total is None else total
    joint = weights[:, None] * matrix
    forbidden = (joint > 0).T.astype(float) @ np.isinf(losses).astype(float) > 0
    finite = np.where(np.isinf(losses), 0.0, losses)
    # A sum of n products of three doubles is off by n + 3 roundings of the sum of sizes to first order, and the
    # weights are such sums themselves; twice that is taken off, and what underflow may have taken.
    terms = 2 * len(weights) + 8
    off = 2 * terms * UNIT * (joint.T @ np.abs(finite)) + terms * SMALLEST * (1 + np.abs(finite).max(initial=0.0))
    low = math.fsum(np.where(forbidden, np.inf, joint.T @ finite - off).min(axis=1))
    offset = [] if less is None else less.tolist()
    bound = (low - math.fsum(offset)) / mass
    size = abs(bound) + (abs(low) + math.fsum(map(abs, offset))) / mass
    return bound - 16 * UNIT * size - SMALLEST


def _cases(priors: ArrayLike | Sequence[Prior], mechanism: Mechanism) -> Array:
    """Return the probabilities of some priors, `(k, n)`."""
    listed = as_list(priors, "priors", "give a list of priors")
    if not listed:
        raise SpecError("priors", "are none", "give one at least, or leave them out for the worst secret")
    return np.stack([Prior.of(prior, mechanism.space).probabilities for prior in listed])


def _solve_program(costs: Array, less: Array, allowed: NDArray[np.bool_]) -> tuple[Array, Array] | None:
    """Solve min t, Σ C[i] R - t ≤ offset i, Σ_w R = 1 for the remap `(m, w)` and weights of cases `(k,)`.

    None where the solver has no answer. Costs C `(k, m, w)` are shifted to 0 or more, and the offsets to at most
    0: then t is 0 or more, as all variables of `minimised` are, and Σ_w R ≥ 1 is enough.
    """
    from scipy import sparse as sp

    cases = len(costs)
    reports = costs.shape[1]
    spread = float(np.ptp(costs)) or 1.0
    shifted = (costs - costs.min()) / spread
    # each report is replaced by something once, so that a shift of all its costs moves every case by the same
    rise = (less - less.max()) / spread
    # the variables are the allowed entries of R, flat, each in the row of its report, and then t
    places = np.flatnonzero(allowed)
    rows = places // costs.shape[2]
    used = shifted.reshape(cases, -1)[:, places]
    sums = sp.csr_array((-np.ones(len(places)), (rows, np.arange(len(places)))), shape=(reports, len(places)))
    matrix = sp.block_array([[sp.csr_array(used), -np.ones((cases, 1))], [sums, None]])
    cost = np.zeros(len(places) + 1)
    cost[-1] = 1.0
    found = minimised(cost, matrix, np.concatenate([rise, -np.ones(reports)]))
    if found is None or not found.multipliers[:cases].sum() > 0:
        return None
    remap = np.zeros(allowed.size)
    remap[places] = found.variables[:-1]
    return remap.reshape(allowed.shape), found.multipliers[:cases]


def _worst_case(channel: Array, losses: Array, cases: Array, less: Array) -> float:
    """Return the largest expected loss of a channel `(n, w)` over the cases, each less its offset."""
    paid = [math.fsum(row) for row in channel * losses]
    return max(math.fsum([*(case * paid), -offset]) for case, offset in zip(cases, less, strict=True))
