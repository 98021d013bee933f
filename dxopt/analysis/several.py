"""Errors of several published values together: of all of them, and of their total."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.radii import MOST_PAIRS, SHARE, smallest, to_reports
from dxopt.errors import UnsupportedError
from dxopt.model.mechanism import Mechanism

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Several:
    """Errors of n values of which each is reported by an independent draw.

    Attributes
    ----------
    all_within : float
        The distance within which all of them are with a probability of at least 95 %, whatever they are: a share of
        0.95^{1/n} of the reports of every secret lies within it.
    total_off : float or None
        What the mean error of their total is at most, whatever they are. Its root mean square is at most
        √(n·s + n(n - 1)·b²), where s is the largest mean square of a secret's error and b the largest bias. None
        where distances are not differences of numbers.
    total_off_prior : float or None
        The same where they are drawn independently from the prior: √(n·s + n(n - 1)·b²) with the mean square s and
        the bias b under the prior. None without a prior.
    """

    all_within: float
    total_off: float | None
    total_off_prior: float | None


def several(mechanism: Mechanism, number: int, prior: Array | None = None) -> Several:
    """Bound the errors of several values together, from the rows of a mechanism.

    Parameters
    ----------
    mechanism : Mechanism
        Of n secrets and m reports.
    number : int
        How many values are published; at least 1.
    prior : (n,) array, optional

    Raises
    ------
    UnsupportedError
        If there are no distances between secrets and reports, or over 2 million pairs.

    Examples
    --------
    >>> import dxopt as dx
    >>> from dxopt.analysis.several import several
    >>> found = several(dx.classic.geometric(dx.line(31), epsilon=1.0), 12)
    >>> print(found.all_within, found.total_off_prior)
    6.0 None
    """
    secrets = np.arange(len(mechanism.space))
    apart = to_reports(mechanism, secrets) if len(secrets) * len(mechanism.reports) <= MOST_PAIRS else None
    if apart is None:
        wrong = "cannot be told of a mechanism without distances to its reports, or with over 2 million pairs"
        raise UnsupportedError("values", wrong, "leave it out")
    rows = mechanism.rows(secrets)
    within = max(smallest(far, chances, SHARE ** (1 / number)) for far, chances in zip(apart, rows, strict=True))
    off = _errors(mechanism, apart)
    if off is None:
        return Several(within, None, None)
    bias, square = (rows * off).sum(axis=1), (rows * off**2).sum(axis=1)
    usual = None if prior is None else _total(number, float(prior @ bias), float(prior @ square))
    return Several(within, _total(number, float(np.abs(bias).max()), float(square.max())), usual)


def _total(number: int, bias: float, square: float) -> float:
    """The root mean square of a sum of independent errors."""
    return math.sqrt(number * square + number * (number - 1) * bias**2)


def _errors(mechanism: Mechanism, apart: Array) -> Array | None:
    """The report less the secret, `(n, m)`; None where they are no numbers that are as far apart as that."""
    secrets = mechanism.space.points
    reports = secrets if mechanism.reports.secrets else mechanism.reports.points
    if secrets is None or reports is None or secrets.shape[1:] != (1,) or reports.shape[1:] != (1,):
        return None
    off = reports[:, 0][None, :] - secrets[:, 0][:, None]
    return off if np.allclose(np.abs(off), apart, rtol=1e-9, atol=0.0) else None
