"""Usefulness of a mechanism: losses up to some α with probability 1 - δ (CABP13 Example 1)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.arguments import loss_of, matching
from dxopt.errors import SpecError
from dxopt.model.loss import Loss, LossLike
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import PriorLike
from dxopt.model.privacy import checked_delta

_SLACK = 1e-9


def usefulness(mechanism: Mechanism, alpha: float, loss: LossLike | Loss = "distance") -> NDArray[np.float64]:
    """Return the probability that the loss is at most α, for each secret, `(n,)`.

    The mechanism is (α, δ)-useful if that is at least 1 - δ for every secret (CABP13 Example 1).

    Parameters
    ----------
    mechanism : Mechanism
        Of n secrets.
    alpha : float
        In units of the loss; losses that are above it by 1e-9 of it at most, as by rounding, are not above it.
    loss : str, array `(n, m)`, callable or Loss
        See `Loss.of`.

    Raises
    ------
    SpecError
        If α is no number, or the loss does not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> print(dx.evaluate.usefulness(mechanism, alpha=0).round(3).tolist())
    [0.731, 0.462, 0.731]
    """
    if math.isnan(alpha):
        raise SpecError("alpha", "is no number", "give one, in units of the loss")
    losses = loss_of(mechanism, loss)
    most = alpha + _SLACK * abs(alpha)
    near = [(rows * (losses.rows(secrets) <= most)).sum(axis=1) for secrets, rows in mechanism.blocks()]
    return np.concatenate(near)


def smallest_alpha(mechanism: Mechanism, delta: float, loss: LossLike | Loss = "distance") -> float:
    """Return the smallest α for which the mechanism is (α, δ)-useful (CABP13 Example 1).

    In every secret the loss is at most α with probability 1 - δ, of which 1e-9 counts as rounding.

    Parameters
    ----------
    mechanism : Mechanism
    delta : float
        From 0 to below 1.
    loss : str, array `(n, m)`, callable or Loss
        See `Loss.of`.

    Raises
    ------
    SpecError
        If δ is out of range, or the loss does not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(9), epsilon=1.0)
    >>> print(dx.evaluate.smallest_alpha(mechanism, 0.05), "holds 95 % of the reports for every secret")
    3.0 holds 95 % of the reports for every secret
    """
    losses = loss_of(mechanism, loss)
    share = 1 - checked_delta(delta) - _SLACK
    worst = -math.inf
    for secrets, rows in mechanism.blocks():
        # The quantile of each secret: losses in rising order, up to the first at which the probability is enough.
        # Where rounding leaves the sum of a whole row below that, it is the last.
        costs = losses.rows(secrets)
        order = costs.argsort(axis=1)
        cumulative = np.take_along_axis(rows, order, axis=1).cumsum(axis=1)
        enough = np.minimum((cumulative < share).sum(axis=1), rows.shape[1] - 1)
        quantiles = np.take_along_axis(np.take_along_axis(costs, order, axis=1), enough[:, None], axis=1)
        worst = max(worst, float(quantiles.max()))
    return worst


def usefulness_curve(
    mechanism: Mechanism,
    alphas: ArrayLike,
    loss: LossLike | Loss = "distance",
    *,
    prior: PriorLike | None = None,
) -> NDArray[np.float64]:
    """Return the probability that the loss is at most each of k values α, `(k,)` (CABP13 Example 1, Fig 1).

    Parameters
    ----------
    mechanism : Mechanism
    alphas : (k,) array
        In units of the loss.
    loss : str, array `(n, m)`, callable or Loss
        See `Loss.of`.
    prior : Prior, optional
        For the probability on average; in the worst secret without it.

    Raises
    ------
    SpecError
        If an α is no number, or prior or loss do not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(5), epsilon=1.0)
    >>> print(dx.evaluate.usefulness_curve(mechanism, [0, 1, 2]).round(3).tolist())
    [0.462, 0.802, 0.964]
    """
    weights = None if prior is None else matching(mechanism, prior)
    shares = [usefulness(mechanism, float(alpha), loss) for alpha in np.asarray(alphas, dtype=float).ravel()]
    return np.array([share.min() if weights is None else weights @ share for share in shares])
