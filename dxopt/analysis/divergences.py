"""Divergences between the reports of neighbours (Des20, adjacency relation divergence)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.model.mechanism import Mechanism
from dxopt.numerics.excess import bound_pairs

Array = NDArray[np.float64]
Divergence = Callable[[Array, Array], float]


def _max(p: Array, q: Array) -> float:
    return max(float(_log_ratio(p, q)[p > 0].max(initial=0.0)), 0.0)


def _kullback_leibler(p: Array, q: Array) -> float:
    return max(math.fsum(p[p > 0] * _log_ratio(p, q)[p > 0]), 0.0)


def _total_variation(p: Array, q: Array) -> float:
    return 0.5 * math.fsum(np.abs(p - q))


def _chi_squared(p: Array, q: Array) -> float:
    if ((q == 0) & (p > 0)).any():
        return math.inf
    return math.fsum((p - q)[q > 0] ** 2 / q[q > 0])


def _hellinger(p: Array, q: Array) -> float:
    return math.sqrt(0.5 * math.fsum((np.sqrt(p) - np.sqrt(q)) ** 2))


DIVERGENCES: dict[str, Divergence] = {
    "max": _max,
    "kullback_leibler": _kullback_leibler,
    "total_variation": _total_variation,
    "chi_squared": _chi_squared,
    "hellinger": _hellinger,
}
RENYI = "renyi"


def divergence(
    mechanism: Mechanism, kind: str | Divergence, *, order: float | None = None, pairs: str = "adjacent"
) -> float:
    """The largest divergence of the reports of one secret from those of another, over all that are related.

    Any relation goes with any divergence (Des20, adjacency relation divergence): the relation is that of the space of
    the mechanism, such as one of `dx.neighbours`. Computed in doubles, and not proven.

    Parameters
    ----------
    mechanism : Mechanism
    kind : str or callable
        "max" (what ε bounds), "kullback_leibler", "renyi", "total_variation", "chi_squared", "hellinger"; or a
        function of two distributions p, q `(m,)`. In nats; infinite where p has a report that q has not, if the
        divergence is.
    order : float, optional
        α of "renyi", positive and not 1.
    pairs : {"adjacent", "all"}
        Which ordered pairs of secrets are related, as for `dx.Problem`.

    Raises
    ------
    SpecError
        If there is no such divergence, or its order is wrong.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> for kind in ("max", "kullback_leibler", "total_variation"):
    ...     print(kind, round(dx.evaluate.divergence(mechanism, kind), 3))
    max 1.0
    kullback_leibler 0.462
    total_variation 0.462
    """
    chosen = _chosen(kind, order)
    channel = mechanism.matrix
    related = np.argwhere(bound_pairs(mechanism.space.distances, pairs))
    return max((float(chosen(channel[x], channel[other])) for x, other in related), default=0.0)


def _chosen(kind: str | Divergence, order: float | None) -> Divergence:
    if kind == RENYI:
        if order is None or not (0 < order < math.inf) or order == 1:
            raise SpecError("order", f"is {order}", "give a positive number other than 1")
        return lambda p, q: _renyi(p, q, order)
    if order is not None:
        raise SpecError("order", f"is {order} for {kind}", "leave it out, or ask for renyi")
    if callable(kind):
        return kind
    if kind not in DIVERGENCES:
        raise SpecError("kind", f"there is no {kind!r}", f"choose one of {', '.join([*DIVERGENCES, RENYI])}")
    return DIVERGENCES[kind]


def _renyi(p: Array, q: Array, order: float) -> float:
    """ln Σ p^α q^{1-α} / (α - 1), over the reports that p has, from logarithms so that no power overflows."""
    there = p > 0
    if order > 1 and (q[there] == 0).any():
        return math.inf
    both = there & (q > 0)
    if not both.any():
        return math.inf
    logs = order * np.log(p[both]) + (1 - order) * np.log(q[both])
    highest = float(logs.max())
    return max((highest + math.log(math.fsum(np.exp(logs - highest)))) / (order - 1), 0.0)


def _log_ratio(p: Array, q: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(p) - np.log(q)
