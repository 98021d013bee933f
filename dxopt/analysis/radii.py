"""Radii about reports that hold the true secret, and errors of one or several published values."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.mechanism import Mechanism
from dxopt.runtime.display import Shown

RARE = 0.999
"""Share of reports in the radius beyond which errors are called rare."""
SHARE = 0.95
"""Share of all reports that a radius holds."""
MOST_PAIRS = 2_000_000
"""Radii of all secrets are computed up to so many pairs of a secret and a report, else that of one secret."""
_MOST_REPORTS = 2_000_000
_BLOCK = 1_000_000
_ROUNDING = 1e-9
"""This is added to each share that is looked for, so that rounding never makes a radius too small."""

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Radii(Shown):
    """Radii about the truth, in the unit of distances; infinite where too many reports are infinitely far away.

    Of the `secrets` `(k,)`: all, or the likeliest one where there are too many. `each` is the smallest radius that
    holds 95 % of the reports of one; `all` holds 95 % of all reports under the prior and `half` half of them, or they
    are None without a prior, or where not all secrets were looked at.
    """

    secrets: NDArray[np.int64]
    each: Array
    all: float | None = None
    half: float | None = None

    @property
    def worst(self) -> float:
        """The largest of the radii of secrets."""
        return float(self.each.max())

    @property
    def worst_at(self) -> int:
        """The secret that has it, by index; the first of several."""
        return int(self.secrets[self.each.argmax()])


def radii(mechanism: Mechanism, prior: Array | None = None) -> Radii | None:
    """Compute the radii of the errors of reports; None where there are no distances between secrets and reports.

    Up to 2 million pairs of a secret and a report all secrets are looked at, beyond that the likeliest one.
    """
    size, reports = len(mechanism.space), len(mechanism.reports)
    few = size * reports <= MOST_PAIRS
    if not few and reports > _MOST_REPORTS:
        return None
    chosen = np.arange(size) if few else np.array([0 if prior is None else int(prior.argmax())])
    each, apart, weights = [], [], []
    step = max(1, _BLOCK // reports)
    for some in np.split(chosen, range(step, len(chosen), step)):
        distances = _to_reports(mechanism, some)
        if distances is None:
            return None
        rows = mechanism.rows(some)
        each += [smallest(far, chances, SHARE) for far, chances in zip(distances, rows, strict=True)]
        if few and prior is not None:
            joint = prior[some, None] * rows
            apart.append(distances[joint > 0])
            weights.append(joint[joint > 0])
    if not apart:
        return Radii(chosen, np.array(each))
    together = np.concatenate(apart), np.concatenate(weights)
    return Radii(chosen, np.array(each), smallest(*together, SHARE), smallest(*together, 0.5))


@dataclass(frozen=True)
class Tails:
    """Errors of a single report.

    The largest of the radii that hold 99.9 % of the reports of a secret is `rare`, and the largest distance of a
    possible report `most_off`; with each comes the largest probability of a report that is further, or as far,
    whatever the secret.
    """

    rare: float
    rare_chance: float
    most_off: float
    most_off_chance: float


def tails(mechanism: Mechanism) -> Tails | None:
    """Compute the errors of a single report; None without distances, or with over 2 million pairs."""
    if (found := _distances_and_rows(mechanism)) is None:
        return None
    apart, rows = found
    rare = max(smallest(far, chances, RARE) for far, chances in zip(apart, rows, strict=True))
    most = float(apart[rows > 0].max(initial=0.0))
    beyond, there = (float(np.where(where, rows, 0.0).sum(axis=1).max()) for where in (apart > rare, apart >= most))
    return Tails(rare, beyond, most, there)


def _distances_and_rows(mechanism: Mechanism) -> tuple[Array, Array] | None:
    """Return all distances from secrets to reports, and all probabilities, `(n, m)`; None as for `tails`."""
    secrets = np.arange(len(mechanism.space))
    few = len(secrets) * len(mechanism.reports) <= MOST_PAIRS
    apart = _to_reports(mechanism, secrets) if few else None
    return None if apart is None else (apart, mechanism.rows(secrets))


def _to_reports(mechanism: Mechanism, secrets: NDArray[np.int64]) -> Array | None:
    """Return the distances from some secrets to all reports, `(k, m)`; None where the space does not define them."""
    space, reports = mechanism.space, mechanism.reports
    if reports.secrets:
        return space.block(secrets, np.arange(len(space)))
    if reports.points is None or space.metric is None:
        return None
    try:
        return space.distances_to(reports.points, secrets)
    except (SpecError, ValueError):
        return None


class Distances:
    """A histogram of any number of distances with weights, in constant memory.

    Its classes are 0.1 % wide each; the first one holds the zeros, the last one what is infinite.
    """

    _WIDTH = math.log(1.001)
    _LEAST = math.floor(math.log(sys.float_info.min) / _WIDTH)
    _CLASSES = math.ceil(math.log(sys.float_info.max) / _WIDTH) - _LEAST + 2

    def __init__(self) -> None:
        self._weights = np.zeros(self._CLASSES)

    def add(self, apart: Array, weights: Array) -> None:
        """Add distances and their weights, two arrays of one shape."""
        with np.errstate(divide="ignore"):
            found = np.ceil(np.log(apart) / self._WIDTH) - self._LEAST
        places = np.clip(found, 0, self._CLASSES - 1).astype(np.int64)
        self._weights += np.bincount(places.ravel(), weights.ravel(), self._CLASSES)

    def smallest(self, share: float) -> float:
        """Return `smallest` over all distances added, rounded up by 0.1 % at most."""
        reached = np.cumsum(self._weights)
        place = int(np.searchsorted(reached, min(share + _ROUNDING, 1.0) * reached[-1]))
        if place >= self._CLASSES - 1:
            return math.inf
        return math.exp((place + self._LEAST) * self._WIDTH) if place else 0.0


def smallest(apart: Array, weights: Array, share: float) -> float:
    """Return the smallest distance within which there is a share of the weight, which need not sum to 1."""
    order = np.argsort(apart)
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, min(share + _ROUNDING, 1.0) * reached[-1]))
    return float(apart[order[min(place, len(order) - 1)]])


@dataclass(frozen=True)
class Several:
    """Errors of n values, each reported by an independent draw.

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
        The same where they are drawn independently from the prior, with s and b under it. None without a prior.
    """

    all_within: float
    total_off: float | None
    total_off_prior: float | None


def several(mechanism: Mechanism, number: int, prior: Array | None = None) -> Several:
    """Bound the errors of several values together, from the rows of a mechanism.

    Raises
    ------
    UnsupportedError
        If there are no distances between secrets and reports, or over 2 million pairs.
    """
    if (found := _distances_and_rows(mechanism)) is None:
        wrong = "cannot be told of a mechanism without distances to its reports, or with over 2 million pairs"
        raise UnsupportedError("values", wrong, "leave it out")
    apart, rows = found
    within = max(smallest(far, chances, SHARE ** (1 / number)) for far, chances in zip(apart, rows, strict=True))
    off = _differences(mechanism, apart)
    if off is None:
        return Several(within, None, None)
    bias, square = (rows * off).sum(axis=1), (rows * off**2).sum(axis=1)
    usual = None if prior is None else _rms_of_sum(number, float(prior @ bias), float(prior @ square))
    return Several(within, _rms_of_sum(number, float(np.abs(bias).max()), float(square.max())), usual)


def _rms_of_sum(number: int, bias: float, square: float) -> float:
    """Return the root mean square of a sum of independent errors with this bias and mean square."""
    return math.sqrt(number * square + number * (number - 1) * bias**2)


def _differences(mechanism: Mechanism, apart: Array) -> Array | None:
    """Return the report less the secret, `(n, m)`; None unless both are numbers and the distance is |z - x|."""
    secrets = mechanism.space.points
    reports = secrets if mechanism.reports.secrets else mechanism.reports.points
    if secrets is None or reports is None or secrets.shape[1:] != (1,) or reports.shape[1:] != (1,):
        return None
    off = reports[:, 0][None, :] - secrets[:, 0][:, None]
    return off if np.allclose(np.abs(off), apart, rtol=1e-9, atol=0.0) else None
