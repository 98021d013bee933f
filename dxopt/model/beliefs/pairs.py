"""Ordered pairs of beliefs as numbers, checked; `notions` has how they are made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, required
from dxopt.model.moment_sets import Fitting
from dxopt.model.objective import ExpectedLoss, Objective, WorstExpectedLoss, WorstLoss
from dxopt.model.privacy import checked_level
from dxopt.numerics.number_syntax import Written
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
_TOLD = 2


@dataclass(frozen=True, eq=False, init=False)
class Pairs:
    """Ordered pairs of beliefs θ, θ' over n secrets, with their distances and level: what `BeliefPairs` holds.

    Parameters
    ----------
    first, second : (p, n) array
        θ and θ' of each pair, over n secrets: probabilities that sum to 1 (up to 1e-9), taken as they are.
    distances : (p,) array, optional
        d of each pair, positive and finite; 1 by default.
    epsilon : float, str or None
        Level per unit of these distances. A problem needs one; `at` gives it.
    names : sequence of str, optional
        What each pair is about.
    labels : sequence of str, optional
        Of the n secrets, where a problem is to make sure that they are the same.
    left_out : sequence of str
        What was asked for, but holds with probability 0 in a belief, so that nothing is conditioned on it.

    Raises
    ------
    SpecError
        If shapes differ, a belief is no distribution, a distance is not positive, or there is no pair.
    """

    first: Array
    second: Array
    distances: Array
    epsilon: float | None
    names: tuple[str, ...]
    labels: tuple[str, ...] | None
    left_out: tuple[str, ...]

    def __init__(
        self,
        first: ArrayLike,
        second: ArrayLike,
        *,
        distances: ArrayLike | None = None,
        epsilon: Written | None = None,
        names: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        left_out: Sequence[str] = (),
    ) -> None:
        one = _distributions(first, "first")
        other = _distributions(second, "second")
        if one.shape != other.shape:
            raise SpecError("beliefs", f"have shapes {one.shape} and {other.shape}", "give as many of both")
        if not len(one):
            raise SpecError("beliefs", "are no pairs" + why(left_out), "give secrets that some belief deems possible")
        apart = np.ones(len(one)) if distances is None else numbers(distances, "distances")
        if apart.shape != (len(one),) or not (np.isfinite(apart) & (apart > 0)).all():
            raise SpecError("distances", "are not one positive number for each pair", "give one, or leave them out")
        required("names", names, Iterable | None, "give one for each pair")
        called = tuple(f"pair {index}" for index in range(len(one))) if names is None else tuple(map(str, names))
        if len(called) != len(one):
            raise SpecError("names", f"are {len(called)} for {len(one)} pairs", "give one for each")
        required("labels", labels, Iterable | None, "give one for each secret")
        labels = None if labels is None else tuple(map(str, labels))
        if labels is not None and len(labels) != one.shape[1]:
            raise SpecError("labels", f"are {len(labels)} for {one.shape[1]} secrets", "give one for each")
        apart.flags.writeable = False
        fields = {
            "first": one,
            "second": other,
            "distances": apart,
            "epsilon": None if epsilon is None else checked_level(epsilon),
            "names": called,
            "labels": labels,
            "left_out": tuple(left_out),
        }
        for key, value in fields.items():
            object.__setattr__(self, key, value)

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        level = "" if self.epsilon is None else f", epsilon {self.epsilon:g}"
        out = f", {len(self.left_out)} left out" if self.left_out else ""
        return f"<{type(self).__name__}: {len(self)} ordered pairs over {self.secrets} secrets{level}{out}>"

    @property
    def secrets(self) -> int:
        """Number of secrets."""
        return self.first.shape[1]

    @property
    def level(self) -> float:
        """The level that was given.

        Raises
        ------
        SpecError
            If none was.
        """
        if self.epsilon is None:
            raise SpecError("beliefs", "have no level", "give one, as in pairs.at(epsilon)")
        return self.epsilon

    @property
    def budgets(self) -> Array:
        """ε·d of each pair, rounded to doubles, `(p,)`."""
        return self.level * self.distances

    def at(self, epsilon: Written) -> Self:
        """Return the same pairs at a level per unit of their distances.

        Examples
        --------
        >>> import dxopt as dx
        >>> pairs = dx.BeliefPairs.of(dx.line(2), [([0.9, 0.1], [0.5, 0.5])]).at("ln(2)")
        >>> print(round(pairs.level, 3), pairs.budgets.round(3).tolist())
        0.693 [0.693, 0.693]
        """
        changed = object.__new__(type(self))
        for key, value in {**vars(self), "epsilon": checked_level(epsilon)}.items():
            object.__setattr__(changed, key, value)
        return changed

    def described(self) -> str:
        """Describe the pairs in a few words.

        Examples
        --------
        >>> import dxopt as dx
        >>> dx.BeliefPairs.markov(["home", "work"], 2, [[0.9, 0.1], [0.1, 0.9]]).described()
        'at home against at work, time 0; at work against at home, time 0; and 2 more'
        """
        shown = "; ".join(self.names[:_TOLD])
        return shown if len(self) <= _TOLD else f"{shown}; and {len(self) - _TOLD:,} more"


def why(left_out: Sequence[str]) -> str:
    """Return the first thing that is left out, as the end of a message."""
    return f": {left_out[0]}" + (f" and {len(left_out) - 1} more" if len(left_out) > 1 else "") if left_out else ""


def numbers(given: Any, field: str) -> Array:
    """Return the argument as an array of doubles; SpecError where it is none."""
    try:
        return np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise SpecError(field, "are not numbers", "give numbers") from None


def _distributions(given: ArrayLike, field: str) -> Array:
    """Return rows of probabilities that sum to 1; SpecError where they cannot be made so."""
    array = numbers(given, field)
    if array.ndim != 2 or not array.shape[1]:
        raise SpecError(field, f"has shape {array.shape}", "give a row of n probabilities for each pair")
    for row in array:
        if not (np.isfinite(row) & (row >= 0)).all() or abs(math.fsum(row) - 1) > 1e-9:
            raise SpecError(field, "has a belief that is no distribution", "give probabilities that sum to 1")
    array.flags.writeable = False
    return array


def require_match(beliefs: Any, space: MetricSpace, delta: float, objective: Objective) -> None:
    """Raise SpecError unless these are pairs of beliefs about a space, with a level, that a problem may have."""
    if not isinstance(beliefs, Pairs):
        raise SpecError("beliefs", f"are of type {type(beliefs).__name__}", "give dx.BeliefPairs")
    if beliefs.epsilon is None:
        raise SpecError("beliefs", "have no level", "give one, as in pairs.at(epsilon)")
    if beliefs.secrets != len(space):
        wrong = f"are about {beliefs.secrets} secrets, the space about {len(space)}"
        raise SpecError("beliefs", wrong, "make them for this space")
    if beliefs.labels is not None and tuple(beliefs.labels) != tuple(space.labels):
        raise SpecError("beliefs", "are about secrets of other labels", "make them for this space")
    if delta:
        raise SpecError("delta", "does not go with beliefs", "leave out one of the two")
    if type(objective) not in (ExpectedLoss, WorstExpectedLoss, WorstLoss):
        raise SpecError("beliefs", f"do not go with {objective.name}", "ask for expected_loss or worst_loss")
    if isinstance(objective, WorstExpectedLoss) and isinstance(objective.priors, Fitting):
        raise SpecError("beliefs", "do not go with all priors that fit totals", "give another set, or one prior")
