"""Evaluate a mechanism on data that its prior was not made of."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.arguments import loss_of, matching
from dxopt.analysis.radii import SHARE, Distances
from dxopt.errors import Option, SpecError, UnsupportedError
from dxopt.model.loss import Loss, LossLike, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.observations import require_some_inside
from dxopt.model.prior import PriorLike
from dxopt.model.problem import Problem
from dxopt.numerics.coerce import as_numbers, as_weights, require_same_rows, require_values
from dxopt.numerics.number_syntax import three_digits
from dxopt.runtime.display import Shown
from dxopt.spaces.distances import BLOCK_CELLS, between
from dxopt.spaces.geo.nearest import nearest, nearest_of
from dxopt.spaces.geo.points import known
from dxopt.spaces.labels import Tuples
from dxopt.spaces.metrics import Haversine, OnEarth
from dxopt.spaces.positions import degrees_of_columns, names_of, require_same_order
from dxopt.spaces.space import MetricSpace
from dxopt.spaces.units import with_unit

Array = NDArray[np.float64]
OF_DISTANCE = {"distance": 1, "squared": 2}
"""The losses that are known between positions, as powers of the distance."""


def _is_of_distance(mechanism: Mechanism, loss: Loss) -> bool:
    """Return True if a loss is a power of the distance; a saved loss, a matrix with a name, is compared with it."""
    if loss.by_distance or loss.name not in OF_DISTANCE:
        return loss.name in OF_DISTANCE
    again = Loss.of(loss.name, mechanism.space, loss.reports)
    return np.allclose(loss.matrix, again.matrix, rtol=1e-6, atol=0.0)


def _metric_and_positions(space: MetricSpace, reports: Reports) -> tuple[Any, Array, Array] | None:
    """Return the metric, the positions of reports and those of secrets; None where one is not known.

    Distances on the Earth are those of great circles, also for spaces on a local map; along streets there are none
    between positions.
    """
    if space.metric is None or space.points is None:
        return None
    found = known(space)
    if found is None or isinstance(space.metric, OnEarth):
        if reports.points is None:
            return None
        return space.metric, cast("Array", reports.points), cast("Array", space.points)
    if not reports.secrets:
        return None
    return Haversine(found.unit), found.degrees, found.degrees


def _no_numbers() -> Any:
    return np.empty(0)


@dataclass(frozen=True, eq=False, repr=False)
class Observed(Shown):
    """Counts of some data at each of n secrets.

    Attributes
    ----------
    weights, squares : (n,) array
        The sum of the weights of the rows at each secret, and of their squares.
    rows : int
        Number of data of positive weight at a secret; a row stands for as many as its count.
    outside : float
        The weight of the rows that are at none.
    positions : (m, k) array or None
        Of coordinates, not saved; with their `secrets` `(m,)`, the weight of `each` `(m,)`, and how `often` each is
        there `(m,)`.
    """

    name: str
    weights: Array
    squares: Array
    rows: int
    outside: float
    positions: Array | None = field(default=None, repr=False)
    secrets: NDArray[np.int64] = field(default_factory=_no_numbers, repr=False)
    each: Array = field(default_factory=_no_numbers, repr=False)
    often: Array = field(default_factory=_no_numbers, repr=False)


def observed(
    space: MetricSpace,
    data: Any = None,
    *,
    label: Any = None,
    index: Any = None,
    point: Any = None,
    weights: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    within: float | None = None,
    name: str = "",
) -> Observed:
    """Count how much of some data is at each secret; parameters and errors are those of `dx.evaluate.on`."""
    given = {"data": data, "label": label, "index": index, "point": point}
    named = [key for key, value in given.items() if value is not None]
    if len(named) != 1:
        wrong = "is given twice" if named else "is missing"
        raise SpecError("data", wrong, "give labels or coordinates, ", Option("index"), " or ", Option("point"))
    require_values(given[named[0]], "data")
    require_same_rows(given[named[0]], weights, "weights")
    require_same_rows(given[named[0]], counts, "counts")
    # 1. Secrets by index, -1 for those outside, and positions where there are any.
    positions = _coordinates(space, data, point)
    near = None if positions is None or within is not None else nearest_of(space, positions)
    if near is not None:
        secrets = near.index
    elif positions is not None:
        secrets = nearest(space, positions, within=within, outside="drop")
    elif within is not None:
        raise SpecError("within", "goes with coordinates only", "leave it out")
    else:
        secrets = _named(space, data, label, index)
    # 2. What each row counts, and what is outside.
    ones = np.ones(len(secrets))
    each = ones if weights is None else as_weights(weights, "weights", "give one number for each row", len(ones))
    often = ones if counts is None else as_weights(counts, "counts", "give one number for each row", len(ones))
    if (often != np.floor(often)).any():
        raise SpecError("counts", "are not all whole numbers", "give how many data each row stands for, or weights")
    there = (secrets >= 0) & (each * often > 0)
    if not there.any():
        wrong = "are all outside" if (each * often > 0).any() else "are empty"
        raise SpecError("data", wrong, "give some that count; check the order of coordinates, and `within`")
    # Without a radius all coordinates count for the nearest secret, but not all may be outside of the whole space.
    if near is not None and positions is not None:
        require_some_inside(space, positions, near, each * often, "data")
    at, kept, times = secrets[there], each[there], often[there]
    total = np.bincount(at, weights=times * kept, minlength=len(space)).astype(float)
    squares = np.bincount(at, weights=times * kept**2, minlength=len(space)).astype(float)
    outside = float((each * often)[secrets < 0].sum())
    placed = None if positions is None else positions[there]
    return Observed(name, total, squares, int(times.sum()), outside, placed, at, kept, times)


def _coordinates(space: MetricSpace, data: Any, point: Any) -> Array | None:
    """Return the coordinates `(m, k)` that are given; None where secrets are named otherwise.

    Bare rows of numbers are coordinates, unless they might as well be labels.
    """
    if point is None and data is None:
        return None
    bare = point is None
    data = data if bare else point
    try:
        # columns of a frame may be of numbers that NumPy takes for objects
        given = as_numbers(data, "data", "give numbers") if names_of(data) else np.asarray(data)
    except ValueError:
        given = np.asarray(None)  # rows of different lengths are no coordinates
    numeric = given.dtype.kind in "fiu"
    if bare and not (given.ndim == 2 and numeric):
        return None
    found = known(space)
    # Two coordinates on the Earth, else as many as the points have; 0 where there are no points.
    width = 2 if found is not None else 0 if space.points is None else space.points.shape[1]
    if given.ndim == 1 and width == 1:
        given = given[:, None]
    if not numeric or given.ndim != 2 or given.shape[1] != width:
        wrong = f"have shape {given.shape}" if width else "are coordinates, of which the space has none"
        fix = f"give rows of {width} coordinates" if width else "give labels or indices"
        raise SpecError("data", wrong, fix)
    if found is None and space.metric is None:
        raise SpecError("data", "are coordinates, and the space has no metric", "give labels or indices")
    # On a lattice of spacing 1 labels are coordinates, so that both readings agree.
    whole = bool((given == np.floor(given)).all())
    same = found is None and space.structure.kind == "lattice" and space.structure.spacing == 1
    if bare and whole and isinstance(space.labels, Tuples) and not same:
        fix = "write ", Option("label"), " with tuples, or ", Option("point")
        raise SpecError("data", "may be labels or coordinates", *fix)
    require_same_order(names_of(data), space.axes, "data")
    located = given.astype(float)
    return located if found is None else degrees_of_columns(data, located, "data")


def _named(space: MetricSpace, data: Any, label: Any, index: Any) -> NDArray[np.int64]:
    """Return the indices of secrets given by labels or indices, `(m,)`."""
    try:
        found = space.naming.find(_as_list(data), label=_as_list(label), index=index, called="data", quoted=False)
    except SpecError as error:
        raise error.at("data") from None
    return np.atleast_1d(found)


def _as_list(given: Any) -> Any:
    """Return a tuple of labels as a list of them, as a tuple is read as the label of one secret."""
    return list(given) if isinstance(given, tuple) and any(isinstance(part, tuple | str) for part in given) else given


PAIRS = 1_000_000_000
"""The most pairs of a datum and a report that are summed."""


class Solved(Protocol):
    """A mechanism with the problem that it answers, such as a report."""

    @property
    def mechanism(self) -> Mechanism: ...

    @property
    def problem(self) -> Problem: ...


@dataclass(frozen=True, repr=False)
class AtPositions(Shown):
    """Losses between positions themselves and what is reported of them: the mean with its error, and the worst.

    The mean distance from a position to its secret is `moved`. Within `radius` of their positions are 95 % of all
    reports, rounded up by 0.1 % at most.
    """

    loss: float
    standard_error: float | None
    worst: float
    moved: float
    radius: float


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
        radius, moved = (with_unit(three_digits(far), self.distance_unit) for far in (found.radius, found.moved))
        return (
            f"from the positions themselves {self._amount(found.loss, found.standard_error)}, "
            f"95 % within {radius}, largest mean {self._amount(found.worst)}; "
            f"positions were moved by {moved} on average, each to its secret"
        )

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
    prior: PriorLike | None = None,
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
    mechanism = subject if isinstance(subject, Mechanism) else getattr(subject, "mechanism", None)
    if not isinstance(mechanism, Mechanism):
        raise SpecError("subject", f"is of type {type(subject).__name__}", "give a mechanism, or a report")
    named = {"label": label, "index": index, "point": point}
    found = observed(mechanism.space, data, **named, weights=weights, counts=counts, within=within, name=name)
    if not isinstance(subject, Mechanism):
        loss = subject.problem.loss if loss is None else loss
        prior = subject.problem.prior if prior is None else prior
    losses = loss_of(mechanism, "distance" if loss is None else loss)
    return worth_on(found, mechanism, losses, None if prior is None else matching(mechanism, prior))


def worth_on(data: Observed, mechanism: Mechanism, loss: Loss, prior: Array | None) -> HeldOut:
    """Evaluate a mechanism on data about its n secrets, under a loss and beside a prior `(n,)`."""
    seen = np.flatnonzero(data.weights)
    losses = _losses(mechanism, loss, seen)
    mean, error = _weighted_mean(losses, data.weights[seen], data.squares[seen], data.rows)
    worst = int(losses.argmax())
    total = math.fsum(data.weights)
    unlikely = None if prior is None else math.fsum(data.weights[prior == 0]) / total
    outside = data.outside / (data.outside + total)
    where, at_positions = mechanism.space.labels[int(seen[worst])], _at_positions(data, mechanism, loss)
    units = loss.unit, mechanism.space.unit
    return HeldOut(data, mean, error, float(losses[worst]), where, unlikely, outside, at_positions, *units)


def _weighted_mean(values: Array, weights: Array, squares: Array, rows: int) -> tuple[float, float | None]:
    """Return the mean of groups of rows `(k,)`, given sums of weights and of squares, and its standard error."""
    total = math.fsum(weights)
    mean = math.fsum(weights * values) / total
    if rows < 2:
        return mean, None
    if not math.isfinite(mean):
        return mean, math.inf
    return mean, math.sqrt(rows / (rows - 1) * math.fsum(squares * (values - mean) ** 2)) / total


def _losses(mechanism: Mechanism, loss: Loss, secrets: NDArray[np.int64]) -> Array:
    """Return the expected losses of some secrets, `(k,)`: by their rows where these are few, else by structure."""
    if len(secrets) * len(mechanism.reports) <= PAIRS:
        return mechanism.losses(loss, secrets)
    found = mechanism.structured_losses(loss)
    if found is None:
        wrong = f"need {len(secrets):,} times {len(mechanism.reports):,} losses, over the limit of {PAIRS:,}"
        raise UnsupportedError("data", wrong, "give fewer secrets")
    return found[secrets]


def _at_positions(data: Observed, mechanism: Mechanism, loss: Loss) -> AtPositions | None:
    """Return the losses between positions of the data and of the reports; None where not known, or too many."""
    if data.positions is None or not _is_of_distance(mechanism, loss):
        return None
    measured = _metric_and_positions(mechanism.space, loss.reports)
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
    # How far each position is from its own secret.
    moved = np.empty(len(losses))
    for secret in np.unique(data.secrets).tolist():
        there = data.secrets == secret
        moved[there] = between(data.positions[there], secrets[[secret]], metric)[:, 0]
    # for each position, the sum of the weights of its data, and of their squares
    mean, error = _weighted_mean(losses, counted, counted * data.each, data.rows)
    far = math.fsum(counted * moved) / math.fsum(counted)
    return AtPositions(mean, error, float(losses.max()), far, distances.smallest(SHARE))
