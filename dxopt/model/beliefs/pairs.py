"""Pairs of beliefs that reports must not tell apart, and the notions of privacy that are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, UnsupportedError, required
from dxopt.model.beliefs.conditionals import (
    Conditional,
    Event,
    Secrets,
    as_given,
    by_records,
    conditionals,
    events_of,
    labels_of,
    markov_conditionals,
    observed_prior,
    priors_of,
    without_records,
)
from dxopt.model.moment_sets import Fitting
from dxopt.model.objective import ExpectedLoss, Objective, WorstExpectedLoss, WorstLoss
from dxopt.model.prior import PriorLike
from dxopt.model.privacy import checked_level
from dxopt.numerics.coerce import as_distributions, as_flag, as_numbers
from dxopt.numerics.number_syntax import Written, level_text
from dxopt.spaces.space import MetricSpace
from dxopt.spaces.universes import Universe, required_universe

Array = NDArray[np.float64]
_TOLD = 2  # pairs that `described` names
PAIR_CELLS = 20_000_000
"""The most entries of the beliefs of all pairs."""


@dataclass(frozen=True, eq=False, init=False)
class BeliefPairs:
    """Ordered pairs of beliefs θ, θ' over the secrets that reports must not tell apart: θK ≤ e^{εd} θ'K.

    Whoever holds θ and whoever holds θ' then expect any report with probabilities that differ by a factor of e^{εd}
    at most. So where θ and θ' are one belief given that something is so, or is not so, no report changes the odds of
    that by more than this factor (Kifer and Machanavajjhala 2014, Pufferfish). Beliefs that are certain of one secret
    each give the ordinary constraints of privacy. Other beliefs than these are promised nothing.

    Made by `of`, `pufferfish`, `bayesian`, `correlated`, `coupled_worlds` or `markov`, or from arrays:

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

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> rain = dx.BeliefPairs([[0.8, 0.2]], [[0.4, 0.6]], names=["rain or not"])
    >>> answers = np.array([[0.7, 0.3], [0.3, 0.7]])
    >>> print(rain.described())
    rain or not
    >>> print(round(dx.evaluate.belief_level(answers, rain).epsilon, 3))
    0.298
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
            raise SpecError("beliefs", "are no pairs", "give secrets that some belief deems possible")

        apart = np.ones(len(one)) if distances is None else as_numbers(distances, "distances", "give numbers")
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
        required("left_out", left_out, Iterable, "give a list of texts")
        apart.flags.writeable = False
        level = None if epsilon is None else checked_level(epsilon)
        # set in the dictionary, as a frozen class refuses assignment
        vars(self).update(first=one, second=other, distances=apart, epsilon=level)
        vars(self).update(names=called, labels=labels, left_out=tuple(left_out))

    @classmethod
    def of(
        cls,
        space: Secrets,
        pairs: Iterable[tuple[PriorLike, PriorLike]],
        *,
        distances: ArrayLike | None = None,
        both_ways: bool = True,
    ) -> BeliefPairs:
        """Return pairs of beliefs as they are given: priors, or arrays of n probabilities.

        Parameters
        ----------
        space : MetricSpace or Universe
            The n secrets.
        pairs : iterable of (prior, prior)
        distances : sequence of float, optional
            One for each of the pairs given; 1 by default.
        both_ways : bool
            True if each pair is meant in both orders.

        Examples
        --------
        >>> import dxopt as dx
        >>> print(dx.BeliefPairs.of(dx.line(2), [([0.9, 0.1], [0.5, 0.5])]).first.tolist())
        [[0.9, 0.1], [0.5, 0.5]]
        """
        return cls._made(space, as_given(space, pairs, distances), both_ways=both_ways)

    @classmethod
    def pufferfish(
        cls, space: Secrets, secrets: Iterable[tuple[Event, Event]], beliefs: PriorLike | Iterable[PriorLike]
    ) -> BeliefPairs:
        """Make pairs for Pufferfish privacy (Kifer and Machanavajjhala 2014; Des20 Def 35): a belief given S or T.

        Parameters
        ----------
        space : MetricSpace or Universe
            The n secrets x.
        secrets : iterable of (S, T)
            Pairs of events that must not be told apart, both ways. An event is a set of labels or indices of
            points, or a predicate: of a label, or of a secret of a universe.
        beliefs : prior, or iterable of priors
            What adversaries may believe of x. A pair is left out under a belief that gives S or T no probability,
            which `left_out` tells.

        Examples
        --------
        >>> import dxopt as dx
        >>> count = dx.line(3)
        >>> pairs = dx.BeliefPairs.pufferfish(count, [([0], [1, 2])], [dx.Prior.uniform(count), [0.5, 0.5, 0]])
        >>> print(pairs.second.tolist())
        [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
        """
        return cls._made(space, conditionals(events_of(space, secrets), priors_of(space, beliefs)))

    @classmethod
    def bayesian(
        cls, universe: Universe, beliefs: PriorLike | Iterable[PriorLike], *, known: int | None = None
    ) -> BeliefPairs:
        """Make pairs for Bayesian differential privacy (Yang et al. 2015, Des20): the record of one person is v or w.

        The other records follow what the adversary believes of correlations, given v or w and those records that he
        knows. Several beliefs make the family of adversaries of prior differential privacy (Des20).

        Parameters
        ----------
        universe : Universe
            Databases.
        beliefs : prior, or iterable of priors
            Over the databases.
        known : int, optional
            How many other records the adversary knows at most; any number by default. 0 is Pufferfish for the value
            of each record.

        Examples
        --------
        >>> import dxopt as dx
        >>> flu = dx.Universe.databases(["ill", "well"], 2)
        >>> household = [0.4, 0.1, 0.1, 0.4]
        >>> pairs = dx.BeliefPairs.bayesian(flu, household, known=0)
        >>> print(len(pairs.first), pairs.names[0])
        4 record 0 = ill against record 0 = well, under explicit
        >>> print(pairs.first[0].round(2).tolist(), pairs.second[0].round(2).tolist())
        [0.8, 0.2, 0.0, 0.0] [0.0, 0.0, 0.2, 0.8]
        """
        required_universe(universe)
        return cls._made(universe, by_records(universe, priors_of(universe, beliefs), known))

    @classmethod
    def correlated(
        cls, universe: Universe, observed: Iterable[Any], *, smoothing: float = 0.0, known: int | None = None
    ) -> BeliefPairs:
        """Make pairs for correlated differential privacy (Zhu et al. 2015, Des20): dependence from other datasets.

        The belief is how often each database of the universe is among those observed; the pairs are those of
        `bayesian`.

        Parameters
        ----------
        universe : Universe
            Databases.
        observed : iterable
            Databases of the universe, from elsewhere.
        smoothing : float
            Pseudo-counts for each database of the universe.
        known : int, optional
            As for `bayesian`.

        Examples
        --------
        >>> import dxopt as dx
        >>> flu = dx.Universe.databases(["ill", "well"], 2)
        >>> elsewhere = [("ill", "ill"), ("ill", "ill"), ("well", "well"), ("ill", "well"), ("well", "ill")]
        >>> pairs = dx.BeliefPairs.correlated(flu, elsewhere, known=0)
        >>> print(pairs.first[0].round(2).tolist())
        [0.67, 0.33, 0.0, 0.0]
        """
        required_universe(universe)
        return cls._made(universe, by_records(universe, [observed_prior(universe, observed, smoothing)], known))

    @classmethod
    def coupled_worlds(cls, universe: Universe, beliefs: PriorLike | Iterable[PriorLike]) -> BeliefPairs:
        """Make pairs for coupled-worlds privacy (Bassily et al. 2013; Des20 Def 44): one person's record taken out.

        For each belief, each person and each value of the record: the databases given that value against the same
        databases with that record absent. The definition asks for some simulator that sees the data without the
        person; here it is the mechanism itself, so that what is proven implies the definition.

        Parameters
        ----------
        universe : Universe
            Databases where records may be absent.
        beliefs : prior, or iterable of priors
            Over the databases.

        Examples
        --------
        >>> import dxopt as dx
        >>> flu = dx.Universe.databases(["ill"], 2, absent=True)
        >>> pairs = dx.BeliefPairs.coupled_worlds(flu, "uniform")
        >>> print(flu.labels[2:], pairs.second[0].tolist())
        ('(∅, ill)', '(∅, ∅)') [0.0, 0.0, 0.5, 0.5]
        """
        required_universe(universe)
        return cls._made(universe, without_records(universe, priors_of(universe, beliefs)))

    @classmethod
    def markov(
        cls,
        states: MetricSpace | Sequence[Any],
        length: int,
        transition: ArrayLike,
        start: ArrayLike | None = None,
        *,
        times: Iterable[int] | None = None,
    ) -> BeliefPairs:
        """Make pairs of traces of a Markov chain: being at a against being at b at one time.

        The secrets are all traces of so many steps, in the order of `dx.product` of as many spaces of states, and of
        `dx.Universe.streams`: the last time fastest. Pufferfish for Markov chains (Song, Wang and Chaudhuri 2017).

        Parameters
        ----------
        states : MetricSpace or sequence
            The k states, or what they are called.
        length : int
            How many times there are.
        transition : (k, k) array
            Row a has the probabilities of the next state after a.
        start : (k,) array, optional
            Probabilities of the first state; by default those that the chain keeps.
        times : iterable of int, optional
            Which times are secret, from 0 on; all by default.

        Examples
        --------
        >>> import dxopt as dx
        >>> pairs = dx.BeliefPairs.markov(["home", "work"], 2, [[0.9, 0.1], [0.1, 0.9]])
        >>> print(pairs.names[0], pairs.first[0].tolist(), pairs.second[0].tolist())
        at home against at work, time 0 [0.9, 0.1, 0.0, 0.0] [0.0, 0.0, 0.1, 0.9]
        """
        return cls._made(None, markov_conditionals(labels_of(states), length, transition, start, times))

    @classmethod
    def _made(cls, space: Secrets | None, found: Iterable[Conditional], *, both_ways: bool = True) -> BeliefPairs:
        """Make the object of the pairs, by default both ways; of those that occur twice the smaller distance counts.

        Pairs of equal beliefs are left out, as they ask for nothing; those with an impossible belief are `left_out`.
        """
        kept: dict[tuple[bytes, bytes], tuple[Array, Array, str, float]] = {}
        missing = []
        cells = 0
        both_ways = as_flag(both_ways, "both_ways")
        for pair in found:
            there = f"{pair.one} against {pair.other}{pair.under}"
            back = f"{pair.other} against {pair.one}{pair.under}"
            if pair.first is None or pair.second is None:
                impossible = pair.one if pair.first is None else pair.other
                missing.append(f"{there}: {impossible} has probability 0")
                continue
            ways = [(pair.first, pair.second, there), (pair.second, pair.first, back)]
            for first, second, name in ways if both_ways else ways[:1]:
                key = first.tobytes(), second.tobytes()
                if np.array_equal(first, second) or (key in kept and kept[key][-1] <= pair.distance):
                    continue
                cells += 0 if key in kept else 2 * len(first)
                kept[key] = first, second, name, pair.distance
                if cells > PAIR_CELLS:
                    wrong = f"have more than {PAIR_CELLS:,} entries over {len(first):,} secrets"
                    raise UnsupportedError("beliefs", wrong, "ask for fewer pairs, or take fewer secrets")
        if not kept:
            wrong = ": ".join(["are no pairs", *missing[:1]])
            raise SpecError("beliefs", wrong, "give events that some belief deems possible")

        firsts, seconds, names, distances = zip(*kept.values(), strict=True)
        labels = None if space is None else labels_of(space)
        both = np.array(firsts), np.array(seconds)
        return cls(*both, distances=distances, names=names, labels=labels, left_out=missing)

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        level = "" if self.epsilon is None else f", epsilon {level_text(self.epsilon, 6)}"
        out = f", {len(self.left_out)} left out" if self.left_out else ""
        return f"<{type(self).__name__}: {len(self)} ordered pairs over {self.secrets} secrets{level}{out}>"

    @property
    def secrets(self) -> int:
        """Number of secrets."""
        return self.first.shape[1]

    @property
    def level(self) -> float:
        """ε of the pairs.

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

    def at(self, epsilon: Written) -> BeliefPairs:
        """Return the same pairs at a level per unit of their distances.

        Examples
        --------
        >>> import dxopt as dx
        >>> pairs = dx.BeliefPairs.of(dx.line(2), [([0.9, 0.1], [0.5, 0.5])]).at("ln(2)")
        >>> print(round(pairs.level, 3), pairs.budgets.round(3).tolist())
        0.693 [0.693, 0.693]
        """
        changed = copy(self)
        vars(changed).update(epsilon=checked_level(epsilon))
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


def _distributions(given: ArrayLike, field: str) -> Array:
    """Return a read-only matrix whose rows are probabilities; SpecError where they are not."""
    array = as_distributions(given, field, "give a row of n probabilities for each pair", None, None)
    array.flags.writeable = False
    return array


def require_match(beliefs: Any, space: MetricSpace, delta: float, objective: Objective) -> None:
    """Raise SpecError unless a problem on this space, with this δ and objective, may have these pairs of beliefs."""
    required("beliefs", beliefs, BeliefPairs, "give dx.BeliefPairs")
    _ = beliefs.level  # an error where none was given
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
