"""Evaluate a mechanism on data that its prior was not made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.at_positions import OF_DISTANCE, is_of_distance, measure
from dxopt.analysis.fitting import loss_of
from dxopt.analysis.observed import Observed, observed
from dxopt.analysis.radii import SHARE, Distances
from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.loss import Loss, LossLike
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.numerics.digits import three_digits
from dxopt.runtime.shown import Shown
from dxopt.spaces.matrices import BLOCK_CELLS, between
from dxopt.spaces.units import with_unit

Array = NDArray[np.float64]
PAIRS = 1_000_000_000
"""The most pairs of a datum and a report that are summed."""


class Solved(Protocol):
    """A mechanism with the problem that it answers, as a report has."""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism."""
        ...

    @property
    def problem(self) -> Problem:
        """Question that is answered."""
        ...


@dataclass(frozen=True, repr=False)
class AtPositions(Shown):
    """Losses between positions themselves and what is reported of them.

    Attributes
    ----------
    loss : float
        The mean.
    standard_error : float or None
        Of the mean; None for a single datum.
    worst : float
        The largest expected loss of a position.
    moved : float
        The mean distance from a position to its secret.
    radius : float or None
        Within which 95 % of all reports are from their positions, rounded up by 0.1 % at most; None in folders of
        results that were saved without it.
    """

    loss: float
    standard_error: float | None
    worst: float
    moved: float
    radius: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class HeldOut(Shown):
    """Costs of a mechanism on data, each datum counted as its secret; means are over the data that are not outside.

    Attributes
    ----------
    data : Observed
        How much of the data is at each secret.
    loss : float
        The mean of Σ_z K[x, z] l(x, z) over the data.
    standard_error : float or None
        Of that mean, rows taken as independent: √(k/(k-1) Σ w²(L - mean)²) / Σ w for k rows of weights w. None for
        a single row.
    worst : float
        The largest expected loss of a secret in the data.
    worst_at : str
        The label of that secret, the first of several.
    prior_zero : float or None
        The share of the data at secrets of prior 0; None where no prior is known.
    outside : float
        The share of all data that is further than `within` from every secret.
    positions : AtPositions or None
        The same between positions and reports, where both are known: for the losses distance and squared.
    unit, distance_unit : str
        Of the losses, and of distances; "" where they are not known.
    """

    data: Observed
    loss: float
    standard_error: float | None
    worst: float
    worst_at: str
    prior_zero: float | None
    outside: float
    positions: AtPositions | None = None
    unit: str = ""
    distance_unit: str = ""

    def _said(self) -> str:
        told = f"{self.data.name}: " if self.data.name else ""
        return f"{told}loss {self.loss:.3g} over {self.data.rows:,} rows, worst {self.worst:.3g} at {self.worst_at}"

    def __str__(self) -> str:
        told = f"{self.data.name}: " if self.data.name else ""
        return "; ".join([told + self.of_secrets, *filter(None, [self.of_positions])])

    @property
    def of_secrets(self) -> str:
        """The losses of secrets, in words."""
        told = f"mean loss {self._amount(self.loss, self.standard_error)} over {self.data.rows:,} rows"
        told += f", largest mean {self._amount(self.worst)} at {self.worst_at}"
        if self.prior_zero is not None:
            told += f"; {self.prior_zero:.2%} at secrets of prior 0"
        return f"{told}; {self.outside:.2%} outside"

    @property
    def of_positions(self) -> str:
        """The losses of positions, in words; blank where they are not known."""
        found = self.positions
        if found is None:
            return ""
        within = "" if found.radius is None else f"95 % within {self._distance(found.radius)}, "
        return (
            f"from the positions themselves {self._amount(found.loss, found.standard_error)}, "
            f"{within}largest mean {self._amount(found.worst)}; positions were moved by "
            f"{self._distance(found.moved)} on average, each to its secret"
        )

    def _distance(self, far: float) -> str:
        return with_unit(three_digits(far), self.distance_unit)

    def _amount(self, mean: float, error: float | None = None) -> str:
        spread = "" if error is None else f" ± {error:.2g}"
        return with_unit(f"{three_digits(mean)}{spread}", self.unit)


def on(
    subject: Mechanism | Solved,
    data: Any = None,
    weights: ArrayLike | None = None,
    *,
    label: Any = None,
    index: Any = None,
    point: Any = None,
    loss: LossLike | Loss | None = None,
    prior: Prior | None = None,
    counts: ArrayLike | None = None,
    within: float | None = None,
    name: str = "data",
) -> HeldOut:
    """Evaluate a mechanism on data that its prior was not made of: the mean loss with its error, and the worst.

    Parameters
    ----------
    subject : Mechanism or Report
    data : (m, k) array of coordinates, or a sequence of m secrets
        Coordinates, (latitude, longitude) on the Earth, count for the nearest secret; other secrets are named as for
        `Mechanism.sample`. Where the two may be confused, give one of the next three instead.
    weights : (m,) array, optional
        How much each datum matters beside the others; 1 by default. Of rows that stand for several, give `counts`.
    label, index, point
        m secrets by labels, or by coordinates `(m, k)` that are moved to the nearest secret.
    loss : str, array `(n, m)`, callable or Loss, optional
        That of the problem of a report; the distance by default.
    prior : Prior, optional
        For the share of data at secrets of prior 0; that of the problem of a report by default.
    counts : (m,) array, optional
        How many data each row stands for; 1 by default. The standard error takes these as independent. Where both are
        given, each of the data of a row has its weight.
    within : float, optional
        Coordinates further than this from every secret are outside, and left out; in the unit of the positions of the
        space, or of its coordinates. Without it all count for the nearest.
    name : str
        What the data are called.

    Raises
    ------
    SpecError
        If there are none, they are no secrets or coordinates of the space, or loss or prior do not fit.
    UnsupportedError
        If more than a billion pairs of a datum and a report would be needed.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(5), epsilon=1.0)
    >>> found = dx.evaluate.on(mechanism, label=["0", "0", "1", "4"])
    >>> print(round(found.loss, 3), "on average,", round(found.worst, 3), "at", found.worst_at)
    0.482 on average, 0.673 at 1
    """
    mechanism, problem = _solved(subject)
    found = observed(
        mechanism.space,
        data,
        label=label,
        index=index,
        point=point,
        weights=weights,
        counts=counts,
        within=within,
        name=name,
    )
    if loss is None:
        loss = "distance" if problem is None else problem.loss
    if prior is None and problem is not None:
        prior = problem.prior
    if prior is not None and len(prior) != len(mechanism.space):
        raise SpecError("prior", f"has {len(prior)} entries for {len(mechanism.space)} secrets", "match them")
    return worth_on(found, mechanism, loss_of(mechanism, loss), None if prior is None else prior.probabilities)


def _solved(subject: Mechanism | Solved) -> tuple[Mechanism, Problem | None]:
    """A mechanism, and the problem that it answers, where that is known."""
    if isinstance(subject, Mechanism):
        return subject, None
    if not isinstance(getattr(subject, "mechanism", None), Mechanism):
        raise SpecError("subject", f"is of type {type(subject).__name__}", "give a mechanism, or a report")
    return subject.mechanism, subject.problem


def worth_on(data: Observed, mechanism: Mechanism, loss: Loss, prior: Array | None) -> HeldOut:
    """Evaluate a mechanism on data about its n secrets, under a loss and beside a prior `(n,)`."""
    seen = np.flatnonzero(data.weights)
    losses = _losses(mechanism, loss, seen)
    mean, error = weighted_mean(losses, data.weights[seen], data.squares[seen], data.rows)
    worst = int(losses.argmax())
    total = math.fsum(data.weights)
    unlikely = None if prior is None else math.fsum(data.weights[prior == 0]) / total
    return HeldOut(
        data,
        mean,
        error,
        float(losses[worst]),
        mechanism.space.labels[int(seen[worst])],
        unlikely,
        data.outside / (data.outside + total),
        _at_positions(data, mechanism, loss),
        loss.unit,
        mechanism.space.unit,
    )


def weighted_mean(values: Array, weights: Array, squares: Array, rows: int) -> tuple[float, float | None]:
    """The mean of groups of rows `(k,)` with their weights and squared weights summed, and its standard error."""
    total = math.fsum(weights)
    mean = math.fsum(weights * values) / total
    if rows < 2:
        return mean, None
    if not math.isfinite(mean):
        return mean, math.inf
    return mean, math.sqrt(rows / (rows - 1) * math.fsum(squares * (values - mean) ** 2)) / total


def _losses(mechanism: Mechanism, loss: Loss, secrets: NDArray[np.int64]) -> Array:
    """The expected losses of some secrets, `(k,)`: by their rows where these are few, else by structure."""
    if len(secrets) * len(mechanism.reports) <= PAIRS:
        return mechanism.losses(loss, secrets)
    found = mechanism.structured_losses(loss)
    if found is None:
        wrong = f"need {len(secrets):,} times {len(mechanism.reports):,} losses, over the limit of {PAIRS:,}"
        raise UnsupportedError("data", wrong, "give fewer secrets")
    return found[secrets]


def _at_positions(data: Observed, mechanism: Mechanism, loss: Loss) -> AtPositions | None:
    """Losses between the positions of the data and the positions of the reports, where these are known."""
    if data.positions is None or not is_of_distance(mechanism, loss):
        return None
    measured = measure(mechanism.space, loss.reports)
    if measured is None or len(data.positions) * len(mechanism.reports) > PAIRS:
        return None
    metric, places, secrets = measured
    losses, distances = np.empty(len(data.positions)), Distances()
    counted = data.often * data.each
    step = max(1, BLOCK_CELLS // len(places))
    for start in range(0, len(losses), step):
        some = slice(start, start + step)
        rows = mechanism.rows(data.secrets[some])
        apart = between(data.positions[some], places, metric)
        losses[some] = (rows * apart ** OF_DISTANCE[loss.name]).sum(axis=1)
        distances.add(apart, rows * counted[some, None])
    moved = np.empty(len(losses))
    for secret in np.unique(data.secrets).tolist():
        there = data.secrets == secret
        moved[there] = between(data.positions[there], secrets[[secret]], metric)[:, 0]
    mean, error = weighted_mean(losses, counted, counted * data.each, data.rows)
    far = math.fsum(counted * moved) / math.fsum(counted)
    return AtPositions(mean, error, float(losses.max()), far, distances.smallest(SHARE))
